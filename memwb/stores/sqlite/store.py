"""SQLiteMemoryStore: long-term memory in an SQLite file, ranked by BM25."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ... import _time
from ..._settings import checked_flag, checked_path, checked_seconds
from ..._time import Clock, IdFactory
from ...catalog import Record
from ...errors import ConfigError, EntryNotFoundError
from ...memory.settings import at_least_one, checked_query
from ...memory.types import RELEVANCE_SCORE, MemoryEntry, Metadata, identified
from ...ranking import Tokenizer
from .._edits import Change, checked_id
from .._filters import Narrowed, narrowed
from .._items import Sources, checked_text, told_by
from .._listing import checked_page, folded_where
from ..protocols import FilteredSearchOptions, ScoreKind
from . import _rows
from ._adding import Adding
from ._exchange import SQLiteExchanging
from ._file import WHERE, MemoryFile, about, add_up, set_about
from ._index import Ranking
from ._rows import Row

if TYPE_CHECKING:
    from ...memory.extraction.types import ExtractionConfig

_T = TypeVar("_T")

DEFAULT_MAX_SEARCH_RESULTS = 10
_MOST_PLACES = (1 << 63) - 1  # of SQLite's whole numbers
_TOKENIZERS = ("tokenize", "tokenize_any_script", "tokenize_without_stop_words")
_SORTED_BY = {"created_at": "created_at", "content": "content", "id": "id"}


class SQLiteMemoryStore(Adding, SQLiteExchanging):
    """Long-term memory in one SQLite file: opened at once, searched and browsed at any size.

    - Entries are ranked by BM25 over the tokens of a tokenizer, or by how many distinct tokens of the query they hold
      (``ranking="overlap"``, as TestMemoryStore does). Of equal scores the most recent entry comes first. The index is
      exact: what a write has acknowledged, the next search finds.
    - Threads, event loops and processes may use the file at once: readers and a writer do not wait for each other, and
      writers take turns. What a write has acknowledged outlives the process; a power cut only with ``durable=True``.
    - Each entry may have an owner. A store with ``owner=`` sees, changes and adds that owner's entries alone; any other
      store sees all, and a search is narrowed down by ``{"owner": ..., "metadata": {...}}``.
    - An owner's text is kept once; blanks around it do not count.

    ::

        store = SQLiteMemoryStore("notes.db")
        await store.add("User prefers dark mode")
        await store.search("which mode does the user like?")

    Attributes:
        path: The file; None for a store in memory.
        name: Names the store in tools, blocks and options.
        description: Told to the model.
        max_search_results: Entries that a search returns where the call does not say; None: 10.
        writable: Whether entries may be added and changed.
        extraction: Whether and how a manager extracts memories into this store.
        provenance: Whether a search tells each entry's id and time in its metadata.
        owner: Whose entries it is confined to; None: everybody's.
        ranking: ``"bm25"`` or ``"overlap"``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        owner: str | None = None,
        description: str | None = None,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: bool | ExtractionConfig | None = None,
        ranking: Ranking = "bm25",
        tokenizer: Tokenizer | None = None,
        provenance: bool = False,
        durable: bool = False,
        timeout: float = 30,
        clock: Clock | None = None,
        new_id: IdFactory | None = None,
    ) -> None:
        """Build the store; no file is touched yet.

        Args:
            path: The file, made by the first call; ``":memory:"`` for none.
            name: The file's name without its ending, where it is left out.
            owner: See above.
            description: See above.
            max_search_results: See above.
            writable: See above.
            extraction: See above.
            ranking: See above.
            tokenizer: Turns queries and contents into tokens, see :mod:`memwb.ranking`. A new file takes
                ``tokenize_any_script`` where none is given, so that text without spaces is found; a file that is there
                already is searched by its own: with another one :meth:`reindex` it first.
            provenance: See above.
            durable: True: a write is acknowledged once it is on the disk.
            timeout: Seconds to wait for another program that is writing.
            clock: Gives the time of new entries, aware.
            new_id: Gives the id of new entries.

        Raises:
            ConfigError: A value that its setting cannot take.
        """
        self.path: Path | None = None if path == ":memory:" else checked_path(path, "path", WHERE)
        with told_by(WHERE):
            self.name = (
                checked_text("memory" if self.path is None else self.path.stem, "name")
                if name is None
                else checked_text(name, "name")
            )
            self.owner = None if owner is None else checked_text(owner, "owner")
        for key, value in (("clock", clock), ("new_id", new_id), ("tokenizer", tokenizer)):
            if value is not None and not callable(value):
                raise ConfigError(f"{WHERE}: {key} is {value!r:.80}; it must be a function.", key=key, value=value)
        if ranking not in ("bm25", "overlap"):
            told = f"{WHERE}: ranking is {ranking!r:.80}; it must be 'bm25' or 'overlap'."
            raise ConfigError(told, key="ranking", value=ranking, allowed=("bm25", "overlap"))
        if description is not None and not isinstance(description, str):
            told = f"{WHERE}: description is {description!r:.80}; it must be a text."
            raise ConfigError(told, key="description", value=description)
        if max_search_results is not None:
            at_least_one(max_search_results, f"{WHERE}: max_search_results", "max_search_results")
        self.description, self.max_search_results, self.extraction = description, max_search_results, extraction
        self.writable = checked_flag(writable, "writable", WHERE)
        self.provenance = checked_flag(provenance, "provenance", WHERE)
        self.ranking: Ranking = ranking
        self.score_kind: ScoreKind = "bm25" if ranking == "bm25" else "count"
        self._given, self._own = tokenizer, tokenizer
        self._sources = Sources(clock or _time.now, new_id or _time.new_id)
        durable, timeout = checked_flag(durable, "durable", WHERE), checked_seconds(timeout, "timeout", WHERE)
        self._file = MemoryFile(self.path, durable=durable, timeout=timeout)
        self._where = f"{WHERE} {str(self.path or ':memory:')!r}"

    def __repr__(self) -> str:
        owner = f", owner={self.owner!r}" if self.owner is not None else ""
        return f"SQLiteMemoryStore({str(self.path or ':memory:')!r}{owner})"

    async def search(self, query: str, options: FilteredSearchOptions | None = None) -> list[MemoryEntry]:
        """Return the entries that match the query best; see the class for how they are ranked.

        Args:
            query: Its tokens are looked for. Without any token nothing is found.
            options: ``max_search_results``, at least 1; ``owner`` and ``metadata`` narrow the search down.

        Returns:
            New entries with their id; their metadata hold the score as ``_relevanceScore``.

        Raises:
            ConfigError: An unknown option or a bad value, or the file has another tokenizer. A ValueError.
            StoreBusyError, DamagedFileError, OSError: The file cannot be read; the message names it.
        """
        asked = self._confined(narrowed(options, WHERE))
        limit = asked.limit or self.max_search_results or DEFAULT_MAX_SEARCH_RESULTS
        checked_query(query, f"{WHERE}: ")

        def find(connection: sqlite3.Connection) -> list[tuple[Row, float]]:
            search, state = self._search(connection, query, asked)
            in_order = bool(state["in_order"])
            return _rows.best_rows(connection, search.best(limit), limit, in_order=in_order)

        return [self._entry(row, score) for row, score in await self._read(find)]

    async def count_matches(self, query: str) -> int:
        """Return how many entries hold a token of the query: what :meth:`search` finds without any limit."""
        checked_query(query, f"{WHERE}: ")
        asked = self._confined(Narrowed())
        return await self._read(lambda connection: len(self._search(connection, query, asked)[0].best().places))

    async def best_match(
        self, query: str, *, id: str | None = None, content: str | None = None, where: str = ""
    ) -> tuple[int, MemoryEntry] | None:
        """Find an entry among all that :meth:`search` would return without any limit, however deep it lies.

        Args:
            query: As for :meth:`search`.
            id: Only an entry with this id.
            content: Only an entry with this content; blanks around it do not count.
            where: Only an entry whose content holds this, whatever the case.

        Returns:
            The best entry that is as asked and its rank, from 1; None where there is none among the matches.
        """
        checked_query(query, f"{WHERE}: ")
        with told_by(WHERE):
            folded = folded_where(where)

        def find(connection: sqlite3.Connection) -> tuple[int, MemoryEntry] | None:
            search, state = self._search(connection, query, self._confined(Narrowed()))
            scored, in_order = search.best(), bool(state["in_order"])
            clause, values = self._meant(connection, id, content, folded)
            meant = [place for (place,) in connection.execute(f"SELECT place FROM memories {clause}", values)]
            best = _rows.best_rows(connection, scored.at(meant), 1, in_order=in_order)
            if not best:
                return None
            row, score = best[0]
            return _rows.rank_of(connection, scored, row, score, in_order=in_order), self._entry(row, score)

        return await self._read(find)

    async def update(self, id: str, content: str | None = None, metadata: Metadata | None = None) -> Record:
        """Give an entry another text, other metadata, or both; None leaves what there is.

        Returns:
            The entry as it is now; ``updated_at`` is the time of this change.

        Raises:
            EntryNotFoundError: No entry has this id. A KeyError.
            DuplicateEntryError: Another entry of its owner holds the text. A ValueError.
            ConfigError, StoreBusyError, DamagedFileError, OSError: As for :meth:`add`.
        """
        self._require_writable("update")
        with told_by(WHERE):
            checked_id(id)
            wanted = Change.checked(content, metadata)
        now = self._sources.any_time()

        def edit(connection: sqlite3.Connection) -> Record:
            before = self._row(connection, id)
            if before is None:
                raise EntryNotFoundError(id, self._where)
            after = _rows.changed(before, wanted.content, wanted.metadata, now)
            if after is not before:
                if after.digest != before.digest:
                    self._check_free(connection, after)
                _rows.change(connection, before, after, self.tokenizer)
            return after.record(self.name)

        return await self._write(edit)

    async def delete(self, id: str) -> bool:
        """Remove an entry; return whether there was one.

        Raises:
            ConfigError, StoreBusyError, DamagedFileError, OSError: As for :meth:`add`.
        """
        self._require_writable("delete")
        with told_by(WHERE):
            checked_id(id)

        def remove(connection: sqlite3.Connection) -> bool:
            row = self._row(connection, id)
            if row is not None:
                _rows.remove(connection, row, self.tokenizer)
            return row is not None

        return await self._write(remove)

    async def clear(self) -> None:
        """Remove all entries: of a store with an owner that owner's alone.

        Raises:
            ConfigError, StoreBusyError, DamagedFileError, OSError: As for :meth:`add`.
        """
        self._require_writable("clear")

        def clear(connection: sqlite3.Connection) -> None:
            if self.owner is not None:
                for row in _rows.read(connection, "memories WHERE owner = ?", (self.owner,)):
                    _rows.remove(connection, row, self.tokenizer)
                return
            for table in ("memories", "words", "postings", "blocks"):
                connection.execute(f"DELETE FROM {table}")
            set_about(connection, entries=0, words=0, in_order=1)
            add_up(connection)

        await self._write(clear)

    async def count(self, where: str = "") -> int:
        """Return how many entries there are, or how many hold ``where`` in their content, whatever the case."""
        with told_by(WHERE):
            folded = folded_where(where)

        def count(connection: sqlite3.Connection) -> int:
            if self.owner is None and not folded:
                return int(about(connection)["entries"])
            clause, values = self._meant(connection, None, None, folded)
            return int(connection.execute(f"SELECT count(*) FROM memories {clause}", values).fetchone()[0])

        return await self._read(count)

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Record]:
        """Return some of the entries, in the order of adding or sorted.

        Args:
            offset: How many to leave out at the start.
            limit: The most to return, at least 1.
            sort: ``created_at``, ``content`` or ``id`` (compared as text), with ``-`` before it for descending.
            where: Only entries whose content holds this, whatever the case.

        Raises:
            ConfigError: A bad offset, limit or sort.
        """
        with told_by(WHERE):
            key, folded = checked_page(offset, limit, sort, where)

        def page(connection: sqlite3.Connection) -> list[Row]:
            if key is None and self.owner is None and not folded:
                place, left_out = _rows.first_of_page(connection, offset)
                values = (place, limit, left_out)
                return _rows.read(connection, "memories WHERE place >= ? ORDER BY place LIMIT ? OFFSET ?", values)
            clause, given = self._meant(connection, None, None, folded)
            order = "place"
            if key is not None:
                order = f"{_SORTED_BY[key.field]} {'DESC' if key.descending else 'ASC'}, place"
            clauses = f"memories {clause} ORDER BY {order} LIMIT ? OFFSET ?"
            return _rows.read(connection, clauses, (*given, limit, min(offset, _MOST_PLACES)))

        return [row.record(self.name) for row in await self._read(page)]

    async def get(self, id: str) -> Record | None:
        """Return the entry with this id, or None.

        Raises:
            ConfigError: The id is no text.
        """
        with told_by(WHERE):
            checked_id(id)
        row = await self._read(lambda connection: self._row(connection, id))
        return None if row is None else row.record(self.name)

    async def revision(self) -> Hashable:
        """Return what names the present state: as long as it is the same, the store holds the same."""
        return await self._read(lambda connection: (self._file.file, about(connection)["revision"]))

    async def owners(self) -> list[str]:
        """Return the owners of entries, sorted."""
        if self.owner is not None:
            return [self.owner]
        found = "SELECT DISTINCT owner FROM memories WHERE owner > '' ORDER BY owner"
        return await self._read(lambda connection: [owner for (owner,) in connection.execute(found)])

    def _entry(self, row: Row, score: float) -> MemoryEntry:
        metadata = _rows.read_metadata(row.metadata) or {}
        if self.provenance:
            metadata = {"id": row.id, "createdAt": row.created_at, **metadata}
        metadata[RELEVANCE_SCORE] = round(score, 6) if self.ranking == "bm25" else int(score)
        return identified(MemoryEntry(row.content, metadata=metadata), row.id)
