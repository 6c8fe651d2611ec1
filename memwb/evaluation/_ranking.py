"""Where the expected entries of a case stand in the full ranking, found once for all settings that search alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..datasets import Case
from ..memory import Hit, InjectionTrace, MemoryManager, ranking_of
from ..memory.deeper import finds
from ..memory.notes import stop_words_only
from ..memory.search import ask_stores
from ..memory.trace import matching_by, tokens_of
from ..memory.types import RELEVANCE_SCORE, has_method
from ..ranking import STOP_WORDS, held, tokenize
from ..stores import TestMemoryStore
from . import metrics

Figures = dict[str, float | None]
"""Name -> value; None where a figure is not defined for the case."""

OF_PROMPT = (*metrics.figures_of_prompt((), ()), "entries", "tokens", "stop_words")
"""The figures of a run that its prompt earns; those of the ranking stand before them."""

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
    """What one case's settings share: a look at the full ranking for each query and group of stores.

    A store that finds single entries by itself is asked for the expected ones alone; of another one the first 1,000
    places are made. Either is done once for all settings that search the same stores for the same text.

    Attributes:
        messages: The case's messages, which it would copy at each look.
        expected: What it calls the entries that it needs.
    """

    def __init__(self, case: Case, cutoffs: Sequence[int]) -> None:
        self.messages = case.messages
        self.expected = case.expected
        self._cutoffs = cutoffs
        self._ids = frozenset(case.expected)
        self._texts = {text.strip(): text for text in case.expected}
        self._by_id: dict[tuple[int, str], bool] = {}
        self._looks: dict[Any, Look] = {}
        self._made: dict[Any, tuple[Hit, ...]] = {}

    async def look(self, manager: MemoryManager, trace: InjectionTrace) -> Look:
        """Return what is known of the ranking of an injection's query; of nothing where it did not search.

        Raises:
            Failed: A store fails when it is asked for more, or gives less than before.
        """
        stores = manager.stores if trace.answers and trace.query is not None else ()
        key = trace.query if stores else None, *map(id, stores)
        look = self._looks.get(key)
        if look is None:
            found = await self._find(stores, trace.query or "")
            look = self._looks[key] = Look(stores, trace.query or "", found, self._figures(found))
        if self._made:
            self._check(stores, trace)
        return look

    async def score_after(self, look: Look, store: str, rank: int) -> float | None:
        """Return the score of the entry that a store ranks next after this rank; None where there is none."""
        key = store, rank
        if key not in look.after:
            asked = look.store(store)
            made = self._made.get((look.query, id(asked)))
            if made is None:
                (answer,) = await ask_stores([asked], look.query, [rank + 1])
                scores = [score_of(entry) for entry in answer.entries]
            else:
                scores = [hit.score for hit in made[: rank + 1]]
            look.after[key] = scores[rank] if len(scores) > rank else None
        return look.after[key]

    def name_of(self, entry: Any) -> str | None:
        """Return what the case calls an entry that it needs: its id, else its text; None for every other entry."""
        id = entry.id
        if id in self._ids:
            return str(id)
        return self._texts.get(entry.content.strip()) if self._texts else None

    def _figures(self, found: Sequence[Found]) -> dict[str, float | None]:
        figures = metrics.figures_at([each.place for each in found], len(self.expected), self._cutoffs)
        return {**figures, **dict.fromkeys(OF_PROMPT)}

    async def _find(self, stores: Sequence[Any], query: str) -> tuple[Found, ...]:
        """Return the expected entries in the stores' joint ranking, best first, each once."""
        if not self.expected:
            for store in stores:  # what fails here fails the case, whether it needs an entry or not
                if not finds(store):
                    await self._hits(store, query)
            return ()
        first: dict[str, Found] = {}
        before = 0
        for at, store in enumerate(stores):
            for name, rank, score in sorted(await self._in_store(store, query), key=lambda each: each[1]):
                if rank <= RANKED:
                    first.setdefault(name, Found(name, before + rank, store.name, rank, score))
            if at < len(stores) - 1:
                before += min(RANKED, await self._size(store, query))
        return tuple(sorted(first.values(), key=lambda each: each.place))

    async def _in_store(self, store: Any, query: str) -> list[tuple[str, int, float | None]]:
        """Return the expected entries that a store ranks: what the case calls each, its rank and its score."""
        if not finds(store):
            hits = await self._hits(store, query)
            return [(name, hit.rank, hit.score) for hit in hits if (name := self.name_of(hit)) is not None]
        named = []
        for expected in self.expected:
            meant = {"id" if await self._is_id(store, expected) else "content": expected}
            best = await store.best_match(query, **meant)
            if best is not None:
                named.append((expected, best[0], score_of(best[1])))
        return named

    async def _is_id(self, store: Any, expected: str) -> bool:
        """Whether a store has an entry of this id; if not, it is an entry's text."""
        key = id(store), expected
        if key not in self._by_id:
            self._by_id[key] = has_method(store, "get") and await store.get(expected) is not None
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

    def _check(self, stores: Sequence[Any], trace: InjectionTrace) -> None:
        """Refuse a store that gave the injection more than it gives now: its ranking is not the one that was used."""
        for store, answer in zip(stores, trace.answers, strict=bool(stores)):
            made = self._made.get((trace.query, id(store)))
            before = min(len(answer.entries), RANKED)
            if made is not None and len(made) < before:
                gave = f"gave {len(made)}, not {before} as before"
                raise Failed(f"search: store {store.name!r}, asked for {RANKED} entries, {gave}")


class Look:
    """What is known of the stores' ranking for one query.

    Attributes:
        stores: The stores that are searched.
        query: What they are searched for.
        found: The expected entries in it, best first.
        figures: The figures of the ranking, and a place for those of a prompt.
        after: (store, rank) -> the score of the entry after this rank.
    """

    def __init__(self, stores: Sequence[Any], query: str, found: tuple[Found, ...], figures: Figures) -> None:
        self.stores, self.query, self.found, self.figures = stores, query, found, figures
        self.after: dict[tuple[str, int], float | None] = {}
        self._judge: dict[str | None, Callable[[Any], tuple[bool, bool]]] = {}
        self._words: dict[tuple[str | None, str], tuple[bool, bool]] = {}

    def store(self, name: str | None) -> Any:
        """Return a store by its name."""
        return next(store for store in self.stores if store.name == name)

    def stop_words(self, entries: Sequence[Any]) -> float | None:
        """Return how many entries were found by stop words alone; None where none was found by its words."""
        known, lexical, number = self._words, not entries, 0
        for entry in entries:
            key = entry.store_name, entry.content
            words = known.get(key)
            if words is None:
                words = known[key] = self._judged(entry)
            lexical = lexical or words[0]
            number += words[1]
        return float(number) if lexical else None

    def _judged(self, entry: Any) -> tuple[bool, bool]:
        """Return whether an entry was found by its words, and whether these are stop words alone."""
        name = entry.store_name
        if name not in self._judge:
            self._judge[name] = _judge_of(self.store(name), self.query)
        return self._judge[name](entry)


def _judge_of(store: Any, query: str) -> Callable[[Any], tuple[bool, bool]]:
    """Return what tells whether an entry was found by its words, and whether these are stop words alone."""
    tokens = tokens_of(store, query)
    if isinstance(store, TestMemoryStore) and finds(store) and store.tokenizer is tokenize:  # its scores count words
        telling = tuple(token for token in tokens if token not in STOP_WORDS)
        others = len(tokens) - len(telling)
        # Who has more words of the query than there are stop words in it has another one: no need to look which.
        return lambda entry: (True, (score_of(entry) or 0) <= others and not held(telling, entry.content))
    matching = matching_by(store, query)

    def judge(entry: Any) -> tuple[bool, bool]:
        hit = Hit(store.name, 1, score_of(entry), entry.id, entry, matching(entry.content))
        return hit.score is not None and hit.score == len(hit.matched), stop_words_only(hit)

    return judge


@dataclass(frozen=True)
class _One:
    stores: tuple[Any, ...]


def score_of(entry: Any) -> float | None:
    """Return what a store's measure gave an entry, None where it gives none."""
    score = entry.metadata.get(RELEVANCE_SCORE) if isinstance(entry.metadata, dict) else None
    return score if isinstance(score, int | float) and not isinstance(score, bool) else None
