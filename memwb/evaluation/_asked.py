"""Searches that settings share: who asks the same text of a store for fewer entries gets the first of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..memory import MemoryEntry, SearchOptions
from ..stores import TestMemoryStore

__all__ = ["Sharing"]

_KEPT = 64
"""Queries whose entries are kept: those of the cases that run at once."""

_MOST = 100
"""Who asks for more entries than this is answered apart: the others would pay for it."""


class Sharing:
    """Gives stores that answer a query once for all settings.

    It is for stores of which that is known to change nothing: a :class:`~memwb.stores.TestMemoryStore` ranks without
    regard to how many entries are asked for. Any other store is asked each time, as an agent would.

    Args:
        limits: How many entries each setting asks for.
    """

    def __init__(self, limits: Iterable[int]) -> None:
        # One more, since the entry after the cut tells whether order alone decided what was cut.
        self._most = 1 + max((limit for limit in limits if limit <= _MOST), default=1)
        self._made: dict[int, tuple[Any, Any]] = {}  # with the store itself, so that no other one gets its id

    def store(self, store: Any) -> Any:
        """Return what is searched in place of a store, always the same one; itself where nothing is shared."""
        if type(store) is not TestMemoryStore or "search" in store.__dict__:
            return store
        if id(store) not in self._made:
            self._made[id(store)] = store, _Asked.of(store, self._most)
        return self._made[id(store)][1]


class _Asked(TestMemoryStore):
    """The same store, with its records and its settings, that keeps what it found for the latest queries."""

    __slots__ = ("_found", "_most")
    _found: dict[str, list[MemoryEntry]]
    _most: int

    @classmethod
    def of(cls, store: TestMemoryStore, most: int) -> _Asked:
        made = cls.__new__(cls)
        made.__dict__ = store.__dict__
        made._found, made._most = {}, most
        return made

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        limit = (options or {}).get("max_search_results")
        if limit is None or limit > self._most:
            return await super().search(query, options)
        found = self._found.get(query)
        if found is None:
            found = await super().search(query, {"max_search_results": self._most})
            if len(self._found) >= _KEPT:
                self._found.clear()
            self._found[query] = found
        return found[:limit]

    best_match = TestMemoryStore.best_match  # it belongs to this search, too
