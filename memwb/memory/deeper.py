"""A look below the cut: the stores are asked again, for more than the injection asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import filterfalse
from typing import Any, Protocol

from .search import StoreAnswer, ask_stores, entries_of, is_the_stores_own
from .trace import Hit, InjectionTrace, hits_of

DEEP_LIMIT = 100
"""Entries asked of a store that cannot say how many of its entries match."""


class HasStores(Protocol):
    """What holds the stores to ask, such as a MemoryManager."""

    @property
    def stores(self) -> tuple[Any, ...]:
        """The stores, in order."""
        ...


class Ranking(tuple[Hit, ...]):
    """The hits of several stores, in store order and each store's own ranking; equal to a plain tuple of them.

    Attributes:
        failures: The exception of each store that failed when it was asked again, by store name. Of such a store the
            ranking holds what the injection had of it.
    """

    failures: dict[str, BaseException]

    def __new__(cls, hits: Iterable[Hit] = (), failures: Mapping[str, BaseException] | None = None) -> Ranking:
        """Join hits and failures."""
        ranking = super().__new__(cls, hits)
        ranking.failures = dict(failures or {})
        return ranking


async def ranking_of(
    manager: HasStores, query: str, limit: int | None = None, *, trace: InjectionTrace | None = None
) -> Ranking:
    """Ask the stores deeper than an injection does and return every hit, in store order and each store's ranking.

    Args:
        manager: Whose stores are asked.
        query: The text to search.
        limit: The most entries of each store; None: as many as match where the store can say, else 100.
        trace: Marks the hits that this injection kept (``kept``) and says what cut the others. A store that failed in
            it is not asked again; of one that fails only now, its hits are given.

    Returns:
        A tuple of hits; its ``failures`` names the stores that failed now.
    """
    down = failed_stores(trace)
    stores = [store for store in manager.stores if store.name not in down]
    limits = [limit or await matching(store, query) or DEEP_LIMIT for store in stores]
    answers = await ask_stores(stores, query, limits)
    earlier = trace.hits if trace is not None and trace.query == query else ()
    marks = _Marks(trace)
    hits: list[Hit] = []
    for answer in answers:
        if answer.error is not None:
            hits.extend(hit for hit in earlier if hit.store == answer.store.name)
        else:
            hits.extend(marks.hits(answer, query))
    return Ranking(hits, {answer.store.name: answer.error for answer in answers if answer.error is not None})


class _Marks:
    """What an injection kept, to be found again among the hits of a deeper look."""

    def __init__(self, trace: InjectionTrace | None) -> None:
        self._answered = {} if trace is None else {answer.store.name: len(answer.entries) for answer in trace.answers}
        self._asked = trace.settings.max_entries if trace is not None and trace.settings else 0
        self._hits = [hit for hit in (trace.hits if trace else ()) if hit.kept]
        self._kept: dict[str, Counter[str]] = {}
        for hit in self._hits:
            self._kept.setdefault(hit.store, Counter())[hit.content] += 1

    def hit(self, store: Any, query: str, rank: int, entry: Any) -> Hit:
        """Describe one entry of a store, of which the others are not known."""
        answer = StoreAnswer(store, rank, entries_of([entry], store.name))
        kept = [(hit.id, hit.content) == (entry.id, entry.content) for hit in self._hits if hit.store == store.name]
        return hits_of(answer, query, [any(kept)], self._below(store.name), first=rank)[0]

    def hits(self, answer: StoreAnswer, query: str) -> list[Hit]:
        """Describe a store's answer, each kept entry marked once."""
        left = self._kept.get(answer.store.name, Counter())
        kept = [False] * len(answer.entries)
        for place, entry in enumerate(answer.entries):
            if left.get(entry.content):
                left[entry.content] -= 1
                kept[place] = True
        return hits_of(answer, query, kept, self._below(answer.store.name))

    def _below(self, store: str) -> range:
        """Return the ranks that the injection asked of a store and did not get."""
        return range(self._answered.get(store, self._asked) + 1, self._asked + 1)


@dataclass(frozen=True)
class Meaning:
    """What tells an entry from others: whatever is given has to be so.

    Attributes:
        id: Its id.
        content: Its text, blanks around it left out.
        where: What its text holds, whatever the case.
    """

    id: str | None = None
    content: str | None = None
    where: str = ""

    def __call__(self, entry: Any) -> bool:
        """Whether an entry is as it has to be."""
        return (
            self.id in (None, entry.id)
            and (self.content is None or entry.content.strip() == self.content)
            and self.where.casefold() in entry.content.casefold()
        )


class Depths:
    """Finds single entries among all the hits of an injection's query, however many there are.

    A store that can find one by itself (``best_match``) is asked for that one. Of another store all hits are made.

    Attributes:
        failures: As for :class:`Ranking`.
    """

    def __init__(self, stores: Sequence[Any], trace: InjectionTrace, made: Ranking) -> None:
        self._trace, self._query, self._marks = trace, trace.query or "", _Marks(trace)
        self.failures = made.failures
        self._stores = stores
        self._made: dict[str, list[Hit]] = {store.name: [] for store in stores if not finds(store)}
        self._made.update((name, []) for name in failed_stores(trace))
        for hit in made:
            self._made[hit.store].append(hit)

    @classmethod
    async def of(cls, stores: Sequence[Any], trace: InjectionTrace) -> Depths:
        """Look below the cut of an injection over these stores that has searched."""
        made = await ranking_of(OnlyStores(tuple(filterfalse(finds, stores))), trace.query or "", trace=trace)
        return cls(stores, trace, made)

    async def first(self, store: Any, meant: Meaning) -> Hit | None:
        """Return the best hit of a store that is as meant, or None."""
        if store.name not in self._made:
            try:
                found = await store.best_match(self._query, id=meant.id, content=meant.content, where=meant.where)
                return None if found is None else self._marks.hit(store, self._query, *found)
            except BaseException as error:
                if not is_the_stores_own(error):
                    raise
                self.failures[store.name] = error
                self._made[store.name] = [hit for hit in self._trace.hits if hit.store == store.name]
        return next(filter(meant, self._made[store.name]), None)

    async def place(self, hit: Hit) -> int:
        """Return a hit's place among the hits of all stores, from 1."""
        before = 0
        for store in self._stores:
            if store.name == hit.store:
                break
            made = self._made.get(store.name)
            before += (await matching(store, self._query) or 0) if made is None else len(made)
        return before + hit.rank


def finds(store: Any) -> bool:
    """Whether a store has a ``best_match`` that belongs to its ``search``: a search of a subclass is another one."""
    for owner in type(store).__mro__:
        if "best_match" in owner.__dict__:
            return "search" not in getattr(store, "__dict__", ())
        if "search" in owner.__dict__:
            return False
    return False


@dataclass(frozen=True)
class OnlyStores:
    """Stores to ask, without a manager."""

    stores: tuple[Any, ...]


def failed_stores(trace: InjectionTrace | None) -> dict[str, BaseException]:
    """Return the exception of each store that failed in an injection, by store name."""
    answers = () if trace is None else trace.answers
    return {answer.store.name: answer.error for answer in answers if answer.error is not None}


async def matching(store: Any, query: str) -> int | None:
    """Return how many of the store's entries match the query, or None where it cannot say."""
    count = getattr(store, "count_matches", None)
    if not callable(count):
        return None
    try:
        return int(await count(query))
    except BaseException as error:  # a store that fails here fails its search too, and that failure is reported
        if not is_the_stores_own(error):
            raise
        return None
