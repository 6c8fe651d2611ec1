"""Asks several stores at the same time and keeps apart what was found, what was empty and what failed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from ..errors import BrokenStoreError
from .types import MemoryEntry, identified

_log = logging.getLogger("memwb.memory")


@dataclass(frozen=True)
class StoreAnswer:
    """What one store said to one query.

    Attributes:
        store: The store that was asked.
        limit: The most entries it was asked for.
        entries: What it returned, best first, each with ``store_name`` set; empty when it failed.
        error: The exception, or None.
        seconds: How long it took.
    """

    store: Any
    limit: int
    entries: tuple[MemoryEntry, ...] = ()
    error: BaseException | None = None
    seconds: float = 0.0


class SearchResult(list[MemoryEntry]):
    """The entries of several stores, in store order; equal to a plain list of them.

    Attributes:
        failures: The exception of each store that failed, by store name.
    """

    def __init__(self, answers: Sequence[StoreAnswer]) -> None:
        super().__init__(entry for answer in answers for entry in answer.entries)
        self.failures = {answer.store.name: answer.error for answer in answers if answer.error is not None}


async def ask_stores(stores: Sequence[Any], query: str, limits: Sequence[int]) -> list[StoreAnswer]:
    """Search all stores concurrently; a store that raises is logged and its answer holds the exception.

    The first store is asked in the running task, each other one in a task of its own: one store needs no task.
    """
    pairs = list(zip(stores, limits, strict=True))
    if len(pairs) < 2:
        return [await _ask(store, query, limit) for store, limit in pairs]
    import asyncio

    start = asyncio.get_running_loop().create_task
    tasks = [start(_ask(store, query, limit)) for store, limit in pairs[1:]]
    try:
        return [await _ask(stores[0], query, limits[0]), *[await task for task in tasks]]
    except BaseException:  # an interrupt, or a cancellation of the task that is asking: nobody waits for the others
        for task in tasks:
            task.cancel()
        raise


async def _ask(store: Any, query: str, limit: int) -> StoreAnswer:
    started = perf_counter()
    try:
        entries = entries_of(await _begun(store, query, limit), store.name)
    except BaseException as error:
        if not is_the_stores_own(error):
            raise
        _log.warning("store %r failed to search: %r; the other stores' entries are used", store.name, error)
        return StoreAnswer(store, limit, (), error, perf_counter() - started)
    return StoreAnswer(store, limit, entries, None, perf_counter() - started)


def _begun(store: Any, query: str, limit: int) -> Any:
    """Call the store's search and return what there is to await."""
    try:
        pending = store.search(query, {"max_search_results": limit})
    except Exception as error:
        raise BrokenStoreError(store.name, f"raised {error!r} before it could be awaited") from error
    if not hasattr(pending, "__await__"):
        raise BrokenStoreError(store.name, f"returned {type(pending).__name__}, nothing to await")
    return pending


def entries_of(found: Any, store_name: str) -> tuple[MemoryEntry, ...]:
    """Return copies of the entries that a store gave, each with its name.

    Raises:
        BrokenStoreError: They are no entries.
    """
    entries = []
    try:
        for entry in found:
            if not isinstance(entry.content, str):
                raise TypeError(f"an entry's content is {type(entry.content).__name__}, no text")
            named = MemoryEntry(entry.content, store_name, entry.metadata)
            entries.append(identified(named, getattr(entry, "id", None)))
    except Exception as error:
        raise BrokenStoreError(store_name, f"returned something unreadable ({error})") from error
    return tuple(entries)


def is_the_stores_own(error: BaseException) -> bool:
    """Tell a store's failure from an interrupt or from a cancellation of the task that is asking.

    A store that raises SystemExit has failed like any other: it must not end the program, or the kernel, around it.
    """
    if isinstance(error, Exception | SystemExit):
        return True
    import asyncio

    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return task is not None and not task.cancelling()
