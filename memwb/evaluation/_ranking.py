"""Where the expected entries of a case stand in the full ranking, found once for all settings that search alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..memory import Hit, InjectionTrace, MemoryManager, ranking_of
from ..memory.deeper import finds
from ..memory.search import ask_stores
from ..memory.types import RELEVANCE_SCORE
from ..stores import Listable

RANKED = 1000
"""How many places of each store's ranking are looked at, the depth of a run in TREC."""


class Failed(Exception):
    """The pipeline ran but what it did is no answer of the stores."""


@dataclass(frozen=True)
class Found:
    """An expected entry in the full ranking.

    Attributes:
        expected: What the case calls it.
        place: Its place among the hits of all stores, from 1.
        store: The store that it was found in.
        rank: Its place in that store's own ranking, from 1.
        score: That store's score of it, None without one.
    """

    expected: str
    place: int
    store: str
    rank: int
    score: float | None


class Rankings:
    """The full rankings of one case, kept while its settings run.

    A store that finds single entries by itself is asked for the expected ones alone; of another one the first 1,000
    places are made. Either is done once for all settings that search the same stores for the same text.
    """

    def __init__(self, expected: Sequence[str]) -> None:
        self._expected = tuple(expected)
        self._by_id: dict[tuple[int, str], bool] = {}
        self._found: dict[Any, tuple[Found, ...]] = {}
        self._made: dict[Any, tuple[Hit, ...]] = {}
        self._next: dict[Any, float | None] = {}

    async def found(self, manager: MemoryManager, trace: InjectionTrace) -> tuple[Found, ...]:
        """Return the expected entries in the ranking of an injection's query, best first, each once.

        Raises:
            Failed: A store fails when it is asked for more, or gives less than before.
        """
        if not trace.answers or trace.query is None:
            return ()
        key = trace.query, *map(id, manager.stores)
        if key not in self._found:
            found: list[Found] = []
            before = 0
            for store in manager.stores:
                named = await self._in_store(store, trace.query)
                found += [
                    Found(name, before + rank, store.name, rank, score) for name, rank, score in named if rank <= RANKED
                ]
                before += min(RANKED, await self._size(store, trace.query))
            self._found[key] = _first_ones(found)
        self._check(manager, trace)
        return self._found[key]

    async def score_after(self, store: Any, query: str, rank: int) -> float | None:
        """Return the score of the entry that a store ranks next after this rank; None where there is none."""
        key = query, id(store), rank
        if key not in self._next:
            made = self._made.get((query, id(store)))
            if made is None:
                (answer,) = await ask_stores([store], query, [rank + 1])
                scores = [score_of(entry) for entry in answer.entries]
            else:
                scores = [hit.score for hit in made[: rank + 1]]
            self._next[key] = scores[rank] if len(scores) > rank else None
        return self._next[key]

    async def _in_store(self, store: Any, query: str) -> list[tuple[str, int, float | None]]:
        if not finds(store):
            hits = await self._hits(store, query)
            names = zip(names_of(hits, self._expected), hits, strict=True)
            return [(name, hit.rank, hit.score) for name, hit in names if name in self._expected]
        named = []
        for expected in self._expected:
            meant = {"id" if await self._is_id(store, expected) else "content": expected}
            best = await store.best_match(query, **meant)
            if best is not None:
                named.append((expected, best[0], score_of(best[1])))
        return named

    async def _is_id(self, store: Any, expected: str) -> bool:
        """Whether a store has an entry of this id; if not, it is an entry's text."""
        key = id(store), expected
        if key not in self._by_id:
            self._by_id[key] = isinstance(store, Listable) and await store.get(expected) is not None
        return self._by_id[key]

    async def _size(self, store: Any, query: str) -> int:
        if finds(store):
            size: int = await store.count_matches(query)
            return size
        return len(await self._hits(store, query))

    async def _hits(self, store: Any, query: str) -> tuple[Hit, ...]:
        key = query, id(store)
        if key not in self._made:
            hits = await ranking_of(_One((store,)), query, RANKED)
            for name, error in hits.failures.items():
                raise Failed(f"search: store {name!r}, asked for {RANKED} entries, raised {error!r}")
            self._made[key] = tuple(hits)
        return self._made[key]

    def _check(self, manager: MemoryManager, trace: InjectionTrace) -> None:
        """Refuse a store that gave the injection more than it gives now: its ranking is not the one that was used."""
        for store, answer in zip(manager.stores, trace.answers, strict=True):
            made = self._made.get((trace.query, id(store)))
            before = min(len(answer.entries), RANKED)
            if made is not None and len(made) < before:
                gave = f"gave {len(made)}, not {before} as before"
                raise Failed(f"search: store {store.name!r}, asked for {RANKED} entries, {gave}")


@dataclass(frozen=True)
class _One:
    stores: tuple[Any, ...]


def names_of(hits: Sequence[Hit], expected: Sequence[str]) -> list[str]:
    """Name each hit by what the case calls it: its id, or its text where the case expects a text."""
    names = []
    texts = {text.strip(): text for text in expected}
    for hit in hits:
        by_text = texts.get(hit.content.strip())
        names.append(
            hit.id if hit.id is not None and (hit.id in expected or by_text is None) else by_text or hit.content
        )
    return names


def score_of(entry: Any) -> float | None:
    """Return what a store's measure gave an entry, None where it gives none."""
    score = entry.metadata.get(RELEVANCE_SCORE) if isinstance(entry.metadata, dict) else None
    return score if isinstance(score, int | float) and not isinstance(score, bool) else None


def _first_ones(found: Sequence[Found]) -> tuple[Found, ...]:
    first: dict[str, Found] = {}
    for each in sorted(found, key=lambda each: each.place):
        first.setdefault(each.expected, each)
    return tuple(first.values())


def kept_of(trace: InjectionTrace) -> Counter[str]:
    """Return how many entries of each store survived the cut."""
    return Counter(hit.store for hit in trace.hits if hit.kept)
