"""TestMemoryStore: long-term memory in one JSON file, searched by shared words."""

from __future__ import annotations

import copy
import os
from collections.abc import Collection, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from .. import _time
from .._collector import without_collector
from .._json import NotJsonError
from .._settings import checked_path
from ..catalog import Record
from ..errors import ConfigError
from ..memory.settings import at_least_one, checked_options, checked_query
from ..memory.types import RELEVANCE_SCORE, MemoryEntry, MemoryStore, Metadata, SearchOptions, identified
from ..ranking import Index, Tokenizer, query_tokens, tokenize
from ._config import TestMemoryStoreConfig, check_config, file_of
from ._edits import Change, check_content, check_number, checked_id, found, place_of
from ._exchange import Exchanging
from ._finder import Finder
from ._items import Sources, TestMemoryAddResult, draft, drafts, known, new_records
from ._listing import checked_page, folded_where, meant, ordered
from ._record_file import RecordFile, RecordList, writable
from ._records import PREFIX, WHERE, Contents, as_record, damaged
from ._salvage import Salvage, Salvager, salvage, salvageable
from ._table import RawRecord
from .protocols import BulkItem, ScoreKind

if TYPE_CHECKING:
    from ..memory.extraction.types import ExtractionConfig

DEFAULT_MAX_SEARCH_RESULTS = 10
"""Entries that a search returns where neither the call nor the store says."""


class TestMemoryStore(Exchanging, MemoryStore):
    """A store without any service behind it: a JSON file of your own, or memory alone with ``persist=False``.

    The file is the one that the Strands Agents SDKs use: a UTF-8 JSON array of ``{id, content, createdAt, metadata?}``,
    indented by two blanks. It is written as a whole at each add, so this serves thousands of entries, not millions.

    - Every call sees what others have written meanwhile. Writers that use memwb (threads, event loops, store objects,
      processes) take turns by a lock on ``<file>.lock``, and what a write has acknowledged is kept, also when a process
      is killed or interrupted; through a power cut only with ``durable=True``. The SDKs take no lock: what they write
      at the same moment can be lost.
    - A damaged file is never overwritten: every call raises :class:`~memwb.errors.DamagedFileError` with the place,
      and :meth:`salvage` is the way out. NaN and infinity count as damage, since they are no JSON. Fields that memwb
      does not know are kept.
    - Content is any text that is not blank and holds no lone surrogates; there is no limit to its length. Texts that
      differ in letter case or in composed and decomposed accents are different ones.
    - Metadata is a dict of JSON values with texts as keys, nested up to 100 deep. Integers stay exact. Tuples are
      stored as lists. Dates, decimals, sets, bytes, NaN and infinity are refused, naming the key.

    ::

        store = TestMemoryStore(name="notes")  # ~/.strands/memory/notes.json
        await store.add("User prefers dark mode")
        await store.search("which mode does the user like?")

    Attributes:
        name: See :class:`TestMemoryStoreConfig`, as for the following.
        description: Told to the model in the tools' descriptions.
        max_search_results: Entries a search returns where the call does not say; None: 10.
        writable: Whether :meth:`add` and :meth:`add_many` are allowed.
        extraction: Whether and how a manager extracts memories into this store.
        path: The file, fixed when the store is built; None for a store in memory.
        provenance: Whether a search tells each entry's id and time in its metadata.
        tokenizer: Turns queries and contents into tokens; another one can be set at any time.
    """

    __test__ = False  # its name would make pytest collect it
    score_kind: ScoreKind = "count"

    name: str
    description: str | None
    max_search_results: int | None
    writable: bool
    extraction: bool | ExtractionConfig | None
    path: Path | None
    provenance: bool
    tokenizer: Tokenizer

    def __init__(self, **config: Unpack[TestMemoryStoreConfig]) -> None:
        """Build the store; no file is touched yet.

        Args:
            **config: ``name`` (required), ``path`` (default: ``~/.strands/memory/<name>.json``), ``persist=True``,
                ``description``, ``max_search_results``, ``writable=True``, ``extraction``, ``durable=False``,
                ``provenance=False``, ``tokenizer``, ``clock``, ``new_id``; their meanings are in
                :class:`TestMemoryStoreConfig`.

        Raises:
            ConfigError: An unknown keyword, or a value that its keyword cannot take. A ValueError.
        """
        check_config(config)
        self.name = config["name"]
        self.description = config.get("description")
        self.max_search_results = config.get("max_search_results")
        self.writable = config.get("writable", True)
        self.extraction = config.get("extraction")
        self.path = file_of(config)
        self.tokenizer = config.get("tokenizer") or tokenize
        self._sources = Sources(config.get("clock") or _time.now, config.get("new_id") or _time.new_id)
        self.provenance = config.get("provenance", False)
        self._views: dict[Tokenizer, Self] = {}
        self._finder_of: tuple[object, Finder] | None = None
        self._where = f"{PREFIX}{self.path or repr(self.name)}"
        self._records: RecordFile | RecordList
        self._records = (
            RecordList() if self.path is None else RecordFile(self.path, durable=config.get("durable", False))
        )

    @classmethod
    def from_records(cls, records: Iterable[str | BulkItem | Record], **config: Unpack[TestMemoryStoreConfig]) -> Self:
        """Build a store in memory that holds these records already, as they are and in their order.

        It holds what a store on a file with these records would hold: a repeated content is kept twice. Of a
        ``Record``, its id, content, created_at and metadata are taken.

        Args:
            records: As the items of :meth:`add_many`.
            **config: As for the constructor, without ``persist`` and ``path``.

        Raises:
            ConfigError: As for the constructor, or a record is no valid one.
            DuplicateEntryError: Two records have one id.
        """
        for key in ("persist", "path"):
            if key in config:
                raise ConfigError(f"{PREFIX}from_records makes a store in memory; it takes no {key!r}.", key=key)
        if hasattr(records, "columns") and hasattr(records, "to_dict"):  # going through a DataFrame gives its columns
            raise ConfigError(
                f"{PREFIX}from_records: a DataFrame is no list of records. `Workbench(frame)` reads one as it is; "
                'for a store take `from_records(frame.to_dict("records"), name=...)`.',
                key="records",
                value=records,
            )
        config["persist"] = False
        store = cls(**config)
        with without_collector():
            _, new = new_records(drafts(records), Contents(), store._sources, store._where, deduplicate=False)
            store._records.change(lambda nothing: (None, nothing.extended(new)))
        return store

    def __repr__(self) -> str:
        return f"TestMemoryStore({self.name!r}{', persist=False' if self.path is None else ''})"

    @property
    def damage(self) -> list[tuple[str, str, str]]:
        """What the last call found odd in the file although it could be read, as ``(file, place, reason)``.

        That is records with the id of an earlier one: both are kept and found. A warning tells of it once.
        """
        return self._records.damage()

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the entries that share most words with the query; of equal ones, the most recent first.

        Args:
            query: Its tokens are looked for. Without any token nothing is found.
            options: ``max_search_results``, the most entries to return, at least 1. Default: the store's, else 10.

        Returns:
            New entries with their id. Their metadata is a copy with ``_relevanceScore`` added, the number of
            distinct query tokens in the content; a stored value of that name is hidden by it.

        Raises:
            ConfigError: An unknown option or a bad limit. A ValueError.
            DamagedFileError: The file cannot be read as a store. A ValueError.
            OSError: The file cannot be read.
        """
        limit = self._limit(options)
        tokens = self._tokens(query)
        if not tokens:
            return []
        contents = self._records.contents()
        hits = self._index(contents, tokens).top(tokens, limit)
        records = self._read(contents, [place for place, _ in hits])
        return [_entry(record, score, self.provenance) for record, (_, score) in zip(records, hits, strict=True)]

    async def count_matches(self, query: str) -> int:
        """Return how many entries share a word with the query: what :meth:`search` finds without any limit."""
        tokens = self._tokens(query)
        return self._index(self._records.contents(), tokens).count(tokens) if tokens else 0

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
        tokens, folded = self._tokens(query), folded_where(where)
        if not tokens:
            return None
        contents = self._records.contents()
        best = self._index(contents, tokens).best(tokens, meant(contents, id, content, folded))
        if best is None:
            return None
        place, score, rank = best
        return rank, _entry(self._read(contents, [place])[0], score, self.provenance)

    async def add(self, content: str, metadata: Metadata | None = None) -> TestMemoryAddResult:
        """Store a text, unless an entry holds it already (blanks around it do not count).

        The new entry's time is now, or just after the store's last one where the clock is behind that.

        Args:
            content: The text, kept as it is.
            metadata: Kept beside it. The key ``_relevanceScore`` is kept, but a search hides it behind its own.

        Raises:
            ConfigError: The store is not writable, or content or metadata cannot be stored. A ValueError.
            DamagedFileError: The file cannot be read as a store; it is left as it is. A ValueError.
            OSError: The file cannot be written. Nothing was stored.
        """
        self._require_writable("add")
        entry = draft(content, metadata)
        if known(entry, self._records.last) and (result := known(entry, self._records.contents())):
            return result  # without the lock: the file holds it now
        return self._write([entry])[0]

    async def add_many(self, items: Iterable[str | BulkItem | Record]) -> list[TestMemoryAddResult]:
        """Store many texts in one write: all of them or, when one is refused, none.

        New times are a millisecond apart and end at now; they reach ahead of it only where the store's last time
        forces that.

        Args:
            items: Texts, dicts ``{content, metadata?, id?, createdAt?}`` or records. Given ids and times are kept.

        Returns:
            One result for each item, in order. An item whose text is held already is left out, as by :meth:`add`.

        Raises:
            ConfigError: As for :meth:`add`; the message names the item, counted from 1.
            DuplicateEntryError: A given id is taken.
            DamagedFileError: As for :meth:`add`.
            OSError: As for :meth:`add`.
        """
        self._require_writable("add_many")
        with without_collector():
            entries = drafts(items)
            return self._write(entries) if entries else []

    async def update(
        self, id: str, content: str | None = None, metadata: Metadata | None = None, *, number: int | None = None
    ) -> Record:
        """Give a record another text, other metadata, or both; None leaves what there is.

        Id, createdAt and all else that the file keeps in the record stay, and so does its place. The documented file
        has no field for the time of a change: ``updated_at`` stays None.

        Args:
            id: The record's id.
            content: The new text.
            metadata: The new metadata, in the place of all the old.
            number: Which record is meant where a foreign program has written several with one id: its place in the
                file, counted from 1.

        Returns:
            The record as it is now.

        Raises:
            EntryNotFoundError: No record has this id. A KeyError.
            DuplicateEntryError: Another record holds the text (blanks around it do not count). A ValueError.
            ConfigError: As for :meth:`add`, or several records have the id; the message names them. A ValueError.
            DamagedFileError: As for :meth:`add`.
            OSError: As for :meth:`add`.
        """
        self._require_writable("update")
        change, number = Change.checked(content, metadata), check_number(number)

        def update(contents: Contents) -> tuple[Record, Contents | None]:
            place = found(contents, id, number, self._where)
            if change.content is not None:
                check_content(contents, place, change.content, self._where)
            contents = writable(contents, self.path)
            before = self._read(contents, [place])[0]
            after = change.to(before)
            new = None if after is None else contents.replaced(place, after)
            return as_record(after or before, self.name), new

        return self._records.change(update)

    async def delete(self, id: str, *, number: int | None = None) -> bool:
        """Remove a record; return whether there was one.

        Args:
            id: The record's id.
            number: As for :meth:`update`.

        Raises:
            ConfigError: The store is not writable, or several records have the id. A ValueError.
            DamagedFileError: As for :meth:`add`.
            OSError: As for :meth:`add`.
        """
        self._require_writable("delete")
        number = check_number(number)

        def delete(contents: Contents) -> tuple[bool, Contents | None]:
            place = place_of(contents, id, number, self._where)
            return place is not None, None if place is None else writable(contents, self.path).without(place)

        return self._records.change(delete)

    async def clear(self) -> None:
        """Remove all records. The file stays, with an empty list.

        Raises:
            ConfigError: The store is not writable. A ValueError.
            DamagedFileError: As for :meth:`add`: what cannot be read is not removed either.
            OSError: As for :meth:`add`.
        """
        self._require_writable("clear")
        self._records.change(lambda contents: (None, Contents() if len(contents) else None))

    async def salvage(self, to: str | os.PathLike[str]) -> Salvage:
        """Write what is readable of a damaged file to a new one; the damaged file is not touched.

        A copy of it is put beside the new file, as ``<to>.damaged``. Look at what was left out, then build a store on
        the new file or move it into the place of the old one.

        What is readable: each object with a text as its content, wherever it stands. A missing id or time is made, what
        is no JSON in UTF-8 is replaced (by null or U+FFFD), metadata that is no object is left out; all of it is told.

        Args:
            to: The new file.

        Raises:
            ConfigError: ``to`` is no path, or the store has no file.
            OSError: The file cannot be read, or ``to`` or its copy cannot be written or is there already.
        """
        target = checked_path(to, "to", WHERE)
        if not isinstance(self._records, RecordFile):
            raise ConfigError(f"{PREFIX}the store {self.name!r} is kept in memory; it has no file.", key="persist")
        try:
            return salvage(self._records.path, target, self._sources.any_id, self._sources.any_time)
        except OSError as error:
            raise self._records.described(error, "salvage") from error

    def salvageable(self) -> Salvager:
        """Return what :meth:`salvage` would keep, leave out and change; nothing is written."""
        if self.path is None:
            raise ConfigError(f"{PREFIX}the store {self.name!r} is kept in memory; it has no file.", key="persist")
        return salvageable(self.path, self._sources.any_id, self._sources.any_time)

    async def count(self, where: str = "") -> int:
        """Return how many records there are, or how many hold ``where`` in their content, whatever the case."""
        folded = folded_where(where)
        contents = self._records.contents()
        return len(contents.places_holding(folded)) if folded else len(contents)

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Record]:
        """Return some of the records, in the order of adding or sorted.

        Args:
            offset: How many to leave out at the start.
            limit: The most to return, at least 1.
            sort: ``created_at``, ``content`` or ``id`` (compared as text), with ``-`` before it for descending.
            where: Only records whose content holds this, whatever the case.

        Raises:
            ConfigError: A bad offset, limit or sort.
        """
        key, folded = checked_page(offset, limit, sort, where)
        contents = self._records.contents()
        places = ordered(contents, key, contents.places_holding(folded) if folded else None)
        return [as_record(record, self.name) for record in self._read(contents, places[offset : offset + limit])]

    async def revision(self) -> Hashable:
        """Return what names the present state: as long as it is the same, the store holds the same."""
        return self._records.contents()

    async def get(self, id: str) -> Record | None:
        """Return the record with this id, the first one where several have it, or None.

        Raises:
            ConfigError: The id is no text.
        """
        checked_id(id)
        contents = self._records.contents()
        place = contents.place_of_id(id)
        return None if place is None else as_record(self._read(contents, [place])[0], self.name)

    def with_tokenizer(self, tokenizer: Tokenizer) -> Self:
        """Return a view of this store that searches by other tokens: the same records, also those that come later.

        It is for trying a tokenizer out. The store itself takes one when it is built, or by ``store.tokenizer = ...``.
        """
        view = self._views.get(tokenizer)
        if view is None:
            view = self._views[tokenizer] = copy.copy(self)
            view.tokenizer, view._views, view._finder_of = tokenizer, {}, (None, Finder(tokenizer))
        return view

    def _limit(self, options: SearchOptions | None) -> int:
        limit = checked_options(options, ("max_search_results",), f"{PREFIX}search").get("max_search_results")
        if limit is not None:
            at_least_one(limit, f"{PREFIX}max_search_results", "max_search_results")
        return limit or self.max_search_results or DEFAULT_MAX_SEARCH_RESULTS

    def _tokens(self, query: str) -> Collection[str]:
        checked_query(query, PREFIX)
        return query_tokens(query) if self.tokenizer is tokenize else set(self.tokenizer(query))

    def _index(self, contents: Contents, tokens: Collection[str]) -> Index:
        if self._finder_of is not None:  # a view: what the store itself has prepared stays
            if self._finder_of[0] is not contents.table:
                self._finder_of = contents.table, Finder(self.tokenizer)
            return self._finder_of[1].index(contents, tokens)
        finder = contents.table.finder
        if finder is None or finder.tokenizer is not self.tokenizer:
            finder = contents.table.finder = Finder(self.tokenizer)
        return finder.index(contents, tokens)

    def _read(self, contents: Contents, places: Sequence[int]) -> list[RawRecord]:
        try:
            return contents.records(places)
        except NotJsonError as error:  # one nests too deep to be read by itself
            assert self.path is not None  # what add takes is never that deep
            raise damaged(self.path, error.place, error.cause) from error

    def _require_writable(self, method: str) -> None:
        if not self.writable:
            message = f"{PREFIX}the store {self.name!r} is not writable. Build it with writable=True to use {method}()."
            raise ConfigError(message, key="writable", value=self.writable)

    def _write(self, entries: list[RawRecord]) -> list[TestMemoryAddResult]:
        def add(contents: Contents) -> tuple[list[TestMemoryAddResult], Contents | None]:
            results, new = new_records(entries, contents, self._sources, self._where)
            return results, writable(contents, self.path).extended(new) if new else None

        return self._records.change(add)


def _entry(record: RawRecord, score: int, provenance: bool) -> MemoryEntry:
    metadata = record.get("metadata") or {}
    if provenance:
        metadata = {"id": record["id"], "createdAt": record["createdAt"], **metadata}
    metadata[RELEVANCE_SCORE] = score
    return identified(MemoryEntry(record["content"], metadata=metadata), record["id"])
