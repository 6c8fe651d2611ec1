"""Copies of stores in memory, to write to where nobody has asked for the stores themselves to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._text import said
from ..memory.types import MemoryEntry, has_method
from ..stores import Listable, TestMemoryStore
from ..testing import FaultyStore

_PAGE = 5_000


class Sink:
    """Stands for a store that takes messages alone: it keeps the batches, and finds nothing.

    Attributes:
        batches: What it was given: messages and their sequence numbers.
    """

    writable = True
    extraction: Any = None

    def __init__(self, store: Any) -> None:
        self.name, self.description = store.name, store.description
        self.max_search_results = store.max_search_results
        self.batches: list[tuple[list[Any], list[int]]] = []

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        """Find nothing: what a backend would make of the messages is not known here."""
        return []

    async def add_messages(self, messages: list[Any], context: Any = None) -> None:
        """Keep a batch."""
        self.batches.append((messages, list(getattr(context, "sequence_numbers", None) or ())))


async def copy_of(store: Any, listing: Any = None) -> tuple[Any, str]:
    """Return a writable copy of a store in memory, and what it lacks, in words, "" where it lacks nothing.

    It has the store's name, settings and entries, and takes what the store takes. The faults of a
    :class:`~memwb.testing.FaultyStore` come with it, from their beginning.

    Args:
        store: Any store; nothing is written to it.
        listing: A store over the same entries that can list them, where the store itself cannot.
    """
    if isinstance(store, FaultyStore):
        inner, lacks = await copy_of(store.store, listing)
        return store.around(inner), lacks
    if has_method(store, "add_messages") and not has_method(store, "add"):
        return Sink(store), "it takes messages, which its backend turns into entries: here they are only kept"
    source = store if isinstance(store, Listable) else listing
    records: list[Any] = []
    lacks = ""
    if source is None:
        lacks = "the store cannot list its entries: the copy starts empty, so nothing counts as known already"
    else:
        try:
            while page := await source.page(len(records), _PAGE):
                records.extend(page)
        except Exception as error:
            records, lacks = [], f"the store could not be read, so the copy starts empty: {said(error)}"
    return _like(store, records), lacks


async def edited_copy(store: TestMemoryStore, id: str, content: str) -> TestMemoryStore:
    """Return a copy in memory in which one entry has another text."""
    records = await store.page(0, await store.count())
    return _like(store, [replace(record, content=content) if record.id == id else record for record in records])


def _like(store: Any, records: Sequence[Any]) -> TestMemoryStore:
    return TestMemoryStore.from_records(
        records,
        name=store.name,
        description=store.description,
        max_search_results=store.max_search_results,
        provenance=getattr(store, "provenance", None) is True,
        **({"tokenizer": store.tokenizer} if callable(getattr(store, "tokenizer", None)) else {}),
    )
