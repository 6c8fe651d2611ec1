"""Finds the entry that a question is about, whether it was given as an entry, a hit, a record, an id or a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._text import quoted
from ..errors import ConfigError
from .deeper import DEEP_LIMIT, Depths, HasStores, Meaning, OnlyStores, failed_stores, matching
from .search import ask_stores, is_the_stores_own
from .trace import Hit, InjectionTrace
from .types import MemoryEntry

LISTED = 1000
"""Records that hold the words asked for, among which the very text is looked for."""

OTHERS = 20
"""So many further entries that hold the text asked for are told."""


@dataclass(frozen=True)
class Wanted:
    """The entry that is asked about.

    Attributes:
        content: Its text; the text given where it was not found.
        id: Its id, where the store tells it.
        store: The store that holds it; None where it was not found.
        named: The store that the question named, if any.
        known: Whether there is such an entry at all, as far as can be told.
        held: The text given, where it is a part of the entry and may be one of others too; else "".
        needed: The max_entries that would reach it, past the hits of its store and of those before it; None where
            its store does not return it for the query.
    """

    content: str
    id: str | None = None
    store: str | None = None
    named: str | None = None
    known: bool = True
    held: str = ""
    needed: int | None = None

    def is_hit(self, hit: Hit) -> bool:
        """Whether this hit is the entry. Where the store tells ids, another entry of the same text is not."""
        same_id = self.id == hit.id or self.id is None or hit.id is None
        return same_id and hit.content == self.content and self.store in (None, hit.store)

    def is_entry(self, entry: MemoryEntry) -> bool:
        """Whether an entry that a format is given is this one."""
        same_id = self.id == entry.id or self.id is None or entry.id is None
        return same_id and entry.content == self.content and self.store in (None, entry.store_name)

    def is_record(self, record: Any) -> bool:
        """Whether a record of its store is this one."""
        return bool(record.content == self.content and (self.id is None or record.id == self.id))

    @property
    def name(self) -> str:
        """Its text as sentences call it."""
        return quoted(self.content)


@dataclass(frozen=True)
class Target:
    """What was asked about, as it was given.

    Attributes:
        content: The entry's text; of a mere text, what may be an id, an entry's text or a part of one.
        id: The entry's id, None where it has none.
        store: The name of its store, None where it tells none.
        bare: Whether a mere text was given.
    """

    content: str
    id: str | None = None
    store: str | None = None
    bare: bool = False

    @classmethod
    def of(cls, given: Any) -> Target:
        """Read a hit, an entry, a record or a text; whatever has a ``content`` is one of the former.

        Raises:
            ConfigError: It is none of these.
        """
        if isinstance(given, str):
            return cls(given, bare=True)
        if not hasattr(given, "content"):
            raise ConfigError(
                f"why: target must be an entry (a hit, an entry or a record), its id, or a text that it holds, "
                f"not {given!r:.80}.",
                key="target",
                value=given,
            )
        names = (getattr(given, "store_name", None), getattr(given, "store", None))
        store = next((name for name in names if isinstance(name, str)), None)
        content = given.content
        return cls(content if isinstance(content, str) else str(content), getattr(given, "id", None), store)

    def arrived(self, trace: InjectionTrace) -> Wanted | None:
        """Return the entry if it is surely one that the injection kept, so that nothing else need be asked."""
        surest = next(self._meanings())
        kept = (hit for hit in trace.hits if hit.kept and self.store in (None, hit.store))
        hit = next(filter(surest, kept), None) if trace.injected else None
        return None if hit is None else Wanted(hit.content, hit.id, hit.store, self.store)

    async def find(self, manager: HasStores, depths: Depths | None, trace: InjectionTrace) -> tuple[Wanted, Hit | None]:
        """Look the entry up among all hits, then in the stores: in the one that was named, else in all.

        An entry of a store that is not here is looked for by its text alone: ids mean nothing in another store.

        Returns:
            The entry, and its hit where it is one.
        """
        foreign = self.store is not None and self.store not in [store.name for store in manager.stores]
        stores = [store for store in manager.stores if foreign or self.store in (None, store.name)]
        held: dict[str, tuple[Sequence[Any], bool]] = {}
        for is_meant in self._meanings(foreign):
            for store in stores if depths else ():
                assert depths is not None
                if hit := await depths.first(store, is_meant):
                    place = await depths.place(hit)
                    return Wanted(hit.content, hit.id, hit.store, self.store, held=is_meant.where, needed=place), hit
            for store in stores:
                if store.name not in held:
                    held[store.name] = await self._held(store, trace)
                if (entry := next(filter(is_meant, held[store.name][0]), None)) is not None:
                    return Wanted(entry.content, entry.id, store.name, self.store, held=is_meant.where), None
        if self.store in held and not held[self.store][1]:  # it cannot be looked up there, so it is taken to be there
            return Wanted(self.content, self.id, self.store, self.store), None
        return Wanted(self.content, self.id, named=self.store, known=not self.bare), None

    async def elsewhere(self, stores: Sequence[Any], trace: InjectionTrace) -> Wanted | None:
        """Look the entry up in stores that the injection does not ask; None where they do not hold it."""
        wanted, _ = await self.find(OnlyStores(tuple(stores)), None, trace)
        return wanted if wanted.store is not None else None

    def _meanings(self, foreign: bool = False) -> Iterator[Meaning]:
        """Yield what tells the entry that is meant from others, the surest first."""
        words = self.content.strip()
        if self.bare:
            yield Meaning(id=self.content)
        elif self.id is not None:
            yield Meaning(id=self.id, content=words)
        yield Meaning(content=words)
        if not self.bare and self.id is not None and not foreign:
            yield Meaning(id=self.id)  # its text has changed since
        if words and (self.bare or (self.id is None and self.store is None)):
            yield Meaning(where=words)

    async def _held(self, store: Any, trace: InjectionTrace) -> tuple[Sequence[Any], bool]:
        """Return entries of the store among which the one that is meant would be, and whether it can be looked up."""
        words = self.content.strip()
        if hasattr(store, "page") and hasattr(store, "get"):
            try:
                keys = [self.content] if self.bare else [self.id]
                records = [await store.get(key) for key in keys if key]
                page = await store.page(0, LISTED, where=words) if words else []
                return [record for record in (*records, *page) if record is not None], True
            except BaseException as error:  # it holds nothing that could be explained; the trace names its failure
                if not is_the_stores_own(error):
                    raise
        if not words or store.name in failed_stores(trace):
            return (), False
        # A store that cannot list may still find the entry by its own words.
        (answer,) = await ask_stores([store], words, [await matching(store, words) or DEEP_LIMIT])
        return answer.entries, False


async def others_of(stores: Sequence[Any], wanted: Wanted) -> tuple[int, tuple[Any, ...]]:
    """Return how many entries hold the text by which this one was found, and the first of the others.

    Only stores that can list are looked into; where there are none, or one fails, nothing is told.
    """
    total = 0
    others: list[Any] = []
    try:
        for store in stores:
            if wanted.held and hasattr(store, "page") and hasattr(store, "count"):
                total += await store.count(wanted.held)
                others += [(store.name, record) for record in await store.page(0, OTHERS + 1, where=wanted.held)]
    except BaseException as error:  # what cannot be counted is not told; the trace names a store that fails
        if not is_the_stores_own(error):
            raise
        return 0, ()
    left = [record for name, record in others if not (name == wanted.store and wanted.is_record(record))]
    return (total, tuple(left[:OTHERS])) if total > 1 else (0, ())
