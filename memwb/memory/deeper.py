"""A look below the cut: the stores are asked again, for more than the injection asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from .search import StoreAnswer, ask_stores, is_the_stores_own
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
        self._kept: dict[str, Counter[str]] = {}
        for hit in trace.hits if trace else ():
            if hit.kept:
                self._kept.setdefault(hit.store, Counter())[hit.content] += 1

    def hits(self, answer: StoreAnswer, query: str) -> list[Hit]:
        """Describe a store's answer, each kept entry marked once."""
        left = self._kept.get(answer.store.name, Counter())
        kept = [False] * len(answer.entries)
        for place, entry in enumerate(answer.entries):
            if left.get(entry.content):
                left[entry.content] -= 1
                kept[place] = True
        answered = self._answered.get(answer.store.name, self._asked)
        return hits_of(answer, query, kept, below=range(answered + 1, self._asked + 1))


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
