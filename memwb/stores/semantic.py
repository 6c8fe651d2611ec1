"""Search by meaning, alone or fused with a search by words, over any store that can list its entries."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .._time import stamp
from ..catalog import Record
from ..errors import ConfigError
from ..memory.settings import at_least_one, checked_query
from ..memory.types import RELEVANCE_SCORE, MemoryEntry, has_method, identified
from ..ranking import FUSION_K, Embedder, fuse
from ..ranking.embedder import embedded
from ._filters import Narrowed, narrowed
from ._listing import is_meant
from .protocols import BulkWritable, Editable, Exchangeable, FilteredSearchOptions, Listable, ScoreKind

if TYPE_CHECKING:
    from ..ranking.embedder import Vectors

__all__ = ["Hybrid", "Semantic"]

DEFAULT_MAX_SEARCH_RESULTS = 10
MAX_ENTRIES = 100_000
"""Entries that are compared one by one in well under a second, in about 150 MB of vectors of 384 numbers."""

_NEVER = datetime.min.replace(tzinfo=UTC)

Ranked = list[tuple[Record, float]]


class _Adds:
    store: Any

    async def add(self, content: str, metadata: dict[str, Any] | None = None, **more: Any) -> Any:
        """Store a text, as the store beneath does."""
        return await self.store.add(content, metadata, **more)


class _AddsMany:
    store: Any

    async def add_many(self, items: Iterable[Any]) -> Sequence[Any]:
        """Store all the items or none, as the store beneath does."""
        results: Sequence[Any] = await self.store.add_many(items)
        return results


class _Edits:
    store: Any

    async def update(self, id: str, content: str | None = None, metadata: dict[str, Any] | None = None) -> Record:
        """Change a record of the store beneath."""
        record: Record = await self.store.update(id, content, metadata)
        return record

    async def delete(self, id: str) -> bool:
        """Remove a record of the store beneath; return whether there was one."""
        return bool(await self.store.delete(id))

    async def clear(self) -> None:
        """Remove all records of the store beneath."""
        await self.store.clear()


class _Owns:
    store: Any

    @property
    def owner(self) -> str | None:
        """Whose entries the store beneath is confined to; None: everybody's."""
        owner: str | None = self.store.owner
        return owner


class _Exchanges:
    store: Any

    @property
    def fixed(self) -> str:
        """Why records cannot be exchanged here; "" where they can."""
        return str(getattr(self.store, "fixed", ""))

    async def exchange(self, before: Sequence[Record], after: Sequence[Record], *, only_check: bool = False) -> Any:
        """Put records in the place of others in the store beneath."""
        return await self.store.exchange(before, after, only_check=only_check)

    async def take_back(self, done: Any) -> None:
        """Undo an exchange in the store beneath."""
        await self.store.take_back(done)


@lru_cache(maxsize=64)
def _able(kind: type, abilities: tuple[type, ...]) -> type:
    """Return the class with what its store can do besides being listed, so that it promises no more than that."""
    return type(kind.__name__, (kind, *abilities), {"__doc__": kind.__doc__, "__module__": kind.__module__})


def _abilities(store: object) -> tuple[type, ...]:
    has = {
        _Adds: has_method(store, "add"),
        _AddsMany: isinstance(store, BulkWritable),
        _Edits: isinstance(store, Editable),
        _Exchanges: isinstance(store, Exchangeable),
        _Owns: hasattr(store, "owner"),
    }
    return tuple(ability for ability, there in has.items() if there)


@dataclass(frozen=True)
class _Seen:
    """What a store held when it was last looked at.

    Attributes:
        revision: What the store called this state; None where it has no names for its states.
        records: The most recent first, of equal ones in the order of adding: the order in which ties are broken.
        vectors: Their vectors, a row each.
        embedder: What made them.
    """

    revision: Any
    records: tuple[Record, ...]
    vectors: Vectors
    embedder: Embedder


class Semantic:
    """Another store's entries, found by meaning: those first whose vectors are nearest to that of the query.

    ::

        notes = Semantic(TestMemoryStore(name="notes"), CachedEmbedder(MiniLMEmbedder()))

    It stands in the place of the store, under its name: whatever that can do (list, add, edit) this can. Before each
    search it looks at what the store holds now, and embeds only texts that are new. Every entry is compared, so the
    ranking is exact; that serves up to 100,000 entries.

    The score is the cosine similarity, 1 for the same text and about 0 for texts that have nothing to do with each
    other; entries at ``least`` and below are not found. Of equal scores the most recent entry comes first.

    Attributes:
        store: The store beneath.
        embedder: What makes the vectors.
        least: An entry is found if its similarity is above this.
        name: The store's name, or the one given, as the following.
        description: Told to the model.
        max_search_results: Entries that a search returns where the call does not say; None: 10.
    """

    score_kind: ScoreKind = "similarity"

    def __new__(cls, store: Any = None, *_: Any, **__: Any) -> Any:
        """Make an object of the abilities that the store has."""
        kind: Any = cls
        return object.__new__(kind if store is None else _able(kind, _abilities(store)))

    def __init__(
        self,
        store: Any,
        embedder: Embedder,
        *,
        least: float = 0.0,
        name: str | None = None,
        description: str | None = None,
        max_search_results: int | None = None,
        max_entries: int = MAX_ENTRIES,
    ) -> None:
        """Put search by meaning over a store; nothing is read or embedded yet.

        Args:
            store: A store that can list its entries.
            embedder: Makes the vectors, see :mod:`memwb.ranking`.
            least: See above; a number from -1 to 1.
            name: What to call it; the store's name where it is left out.
            description: As ``name``.
            max_search_results: As ``name``.
            max_entries: With more entries than this a search is refused.

        Raises:
            ConfigError: The store cannot list its entries, or a setting cannot be used.
        """
        where = self._where = type(self).__name__
        if not isinstance(store, Listable) or not has_method(store, "search"):
            raise ConfigError(
                f"{where}: {type(store).__name__} cannot be searched by meaning: it must have the methods search, "
                "count, page and get.",
                key="store",
                value=store,
            )
        if not isinstance(embedder, Embedder):
            message = f"{where}: embedder is {embedder!r:.80}; it must have a name, dimensions and embed(texts)."
            raise ConfigError(message, key="embedder", value=embedder)
        if not isinstance(least, int | float) or isinstance(least, bool) or not -1 <= least <= 1:
            message = f"{where}: least is {least!r:.80}; it must be a number from -1 to 1."
            raise ConfigError(message, key="least", value=least)
        at_least_one(max_entries, f"{where}: max_entries", "max_entries")
        if max_search_results is not None:
            at_least_one(max_search_results, f"{where}: max_search_results", "max_search_results")
        beneath: Any = store
        self.store, self.embedder, self.least = beneath, embedder, least
        self.name: str = beneath.name if name is None else name
        self.description: str | None = getattr(beneath, "description", None) if description is None else description
        own = getattr(beneath, "max_search_results", None)
        self.max_search_results: int | None = own if max_search_results is None else max_search_results
        self.writable: bool = bool(getattr(beneath, "writable", False))
        self.extraction: Any = getattr(beneath, "extraction", None)
        self._max_entries = max_entries
        self._kept = _Seen(None, (), None, embedder)  # type: ignore[arg-type]  # of no entries no vector is looked at
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"{self._where}({self.store!r}, {self.embedder!r})"

    async def search(self, query: str, options: FilteredSearchOptions | None = None) -> list[MemoryEntry]:
        """Return the entries that are nearest to the query, the nearest first.

        Args:
            query: A blank one finds nothing.
            options: ``max_search_results``; ``owner`` and ``metadata`` narrow the search down.

        Returns:
            New entries with their id; their metadata hold the score as ``_relevanceScore``.

        Raises:
            ConfigError: An unknown option or a bad value, or the store holds too many entries.
        """
        asked = narrowed(options, self._where)
        limit = asked.limit or self.max_search_results or DEFAULT_MAX_SEARCH_RESULTS
        return [self._entry(record, score) for record, score in await self._ranked(query, limit, asked)]

    async def count_matches(self, query: str) -> int:
        """Return how many entries :meth:`search` finds without any limit."""
        return len(await self._ranked(query, None, Narrowed()))

    async def best_match(
        self, query: str, *, id: str | None = None, content: str | None = None, where: str = ""
    ) -> tuple[int, MemoryEntry] | None:
        """Find an entry among all that :meth:`search` would return without any limit.

        Args:
            query: As for :meth:`search`.
            id: Only an entry with this id.
            content: Only an entry with this content; blanks around it do not count.
            where: Only an entry whose content holds this, whatever the case.

        Returns:
            The best entry that is as asked and its rank, from 1; None where none is found.
        """
        for rank, (record, score) in enumerate(await self._ranked(query, None, Narrowed()), 1):
            if is_meant(record, id, content, where.casefold()):
                return rank, self._entry(record, score)
        return None

    async def count(self, where: str = "") -> int:
        """Return how many records there are, or how many hold ``where`` in their content, whatever the case."""
        return int(await self.store.count(where))

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Record]:
        """Return some of the records of the store beneath."""
        records: list[Record] = await self.store.page(offset, limit, sort, where)
        return records

    async def get(self, id: str) -> Record | None:
        """Return the record with this id, or None."""
        record: Record | None = await self.store.get(id)
        return record

    async def _ranked(self, query: str, limit: int | None, asked: Narrowed) -> Ranked:
        """Return the best records with their scores; None: all that are found."""
        checked_query(query, f"{self._where}: ")
        if not query.strip():
            return []
        seen = await self._seen()
        return self._nearest(seen, (await embedded(seen.embedder, [query]))[0], limit, asked) if seen.records else []

    def _nearest(self, seen: _Seen, vector: Any, limit: int | None, asked: Narrowed) -> Ranked:
        import numpy

        scores = seen.vectors @ vector
        found = scores > self.least
        if not asked.all:
            found &= numpy.fromiter((asked.takes(each.owner, each.metadata) for each in seen.records), bool)
        rows = numpy.flatnonzero(found)
        if limit is not None and limit < len(rows):
            least = numpy.partition(scores[rows], len(rows) - limit)[len(rows) - limit]
            rows = rows[scores[rows] >= least]
        rows = rows[numpy.argsort(-scores[rows], kind="stable")][:limit]
        return [(seen.records[row], round(float(scores[row]), 6)) for row in rows]

    async def _seen(self) -> _Seen:
        """Return what the store holds now; searches of one event loop wait for each other here."""
        lock = self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with lock:
            revision = await self.store.revision() if hasattr(self.store, "revision") else None
            kept = self._kept
            if kept.embedder is not self.embedder:  # another one was set: vectors of two do not compare
                kept = _Seen(None, (), None, self.embedder)  # type: ignore[arg-type]
            if revision is None or revision != kept.revision:
                kept = self._kept = await self._looked_at(kept, revision)
            return kept

    async def _looked_at(self, before: _Seen, revision: Any) -> _Seen:
        import numpy

        total = await self.store.count()
        if total > self._max_entries:
            raise ConfigError(
                f"{self._where}: {self.name!r} holds {total:,} entries; max_entries is {self._max_entries:,}, since "
                "each of them is compared at each search. For more take a store with an index of vectors, such as "
                "PostgresMemoryStore.",
                key="max_entries",
                value=total,
            )
        records = await self.store.page(0, max(1, total))
        records.sort(key=lambda record: record.created_at or _NEVER, reverse=True)  # equal ones stay in their order
        rows = {record.content: row for row, record in enumerate(before.records)}
        new = dict.fromkeys(record.content for record in records if record.content not in rows)
        vectors = await embedded(before.embedder, list(new))
        if before.records:
            vectors = numpy.concatenate([before.vectors, vectors])
        rows.update((content, row) for row, content in enumerate(new, len(before.records)))
        order = [rows[record.content] for record in records]
        ordered = vectors[order] if order != list(range(len(vectors))) else vectors
        return _Seen(revision, tuple(records), ordered, before.embedder)

    def _entry(self, record: Record, score: float) -> MemoryEntry:
        metadata = copy.deepcopy(record.metadata) or {}
        if getattr(self.store, "provenance", False) is True:
            time = None if record.created_at is None else stamp(record.created_at)
            metadata = {"id": record.id, "createdAt": time, **metadata}
        metadata[RELEVANCE_SCORE] = score
        return identified(MemoryEntry(record.content, metadata=metadata), record.id)


class Hybrid(Semantic):
    """Another store's entries, found by words and by meaning: its own ranking and :class:`Semantic`'s, fused.

    ::

        notes = Hybrid(SQLiteMemoryStore("notes.db"), CachedEmbedder(MiniLMEmbedder()))

    An entry's score is the sum of ``1 / (60 + place)`` over the two rankings, see :func:`memwb.ranking.fuse`: at most
    2 / 61 = 0.033. Of equal scores that comes first which the store's own ranking has, then the nearer one.

    Attributes:
        depth: How many places of each ranking are fused.
        k: The constant, 60.
    """

    score_kind: ScoreKind = "fused"

    def __init__(
        self, store: Any, embedder: Embedder, *, depth: int = 1000, k: int = FUSION_K, **settings: Any
    ) -> None:
        """Put both searches over a store; nothing is read or embedded yet.

        Args:
            store: A store that can list its entries.
            embedder: Makes the vectors.
            depth: See above.
            k: See above; at least 0.
            **settings: ``least``, ``name``, ``description``, ``max_search_results`` and ``max_entries``, as for
                :class:`Semantic`.

        Raises:
            ConfigError: As for :class:`Semantic`.
        """
        super().__init__(store, embedder, **settings)
        at_least_one(depth, f"{self._where}: depth", "depth")
        fuse((), k)
        self.depth, self.k = depth, k

    async def _ranked(self, query: str, limit: int | None, asked: Narrowed) -> Ranked:
        """Return the best of both rankings with their scores."""
        near = await super()._ranked(query, self.depth, asked)
        if not query.strip():
            return []
        held = self._kept.records
        depth = self.depth if asked.all else max(self.depth, len(held))  # those left out below take no places
        worded = await self.store.search(query, {"max_search_results": depth})
        found = self._found_in(held)
        records = [record for record in map(found, worded) if record is not None]
        if not asked.all:
            records = [each for each in records if asked.takes(each.owner, each.metadata)][: self.depth]
        known = {record.id: record for record in (*records, *(record for record, _ in near))}
        fused = fuse([[record.id for record in records], [record.id for record, _ in near]], self.k)
        return [(known[id], score) for id, score in fused[:limit]]

    @staticmethod
    def _found_in(records: Sequence[Record]) -> Callable[[MemoryEntry], Record | None]:
        """Return what gives the record of an entry, by its id or, where its store tells none, by its text."""
        by_id = {record.id: record for record in records}
        by_text: dict[str, Record] = {}

        def record_of(entry: MemoryEntry) -> Record | None:
            id = getattr(entry, "id", None)
            if id is not None:
                return by_id.get(id)
            if not by_text:
                by_text.update((record.content, record) for record in reversed(records))
            return by_text.get(entry.content)

        return record_of
