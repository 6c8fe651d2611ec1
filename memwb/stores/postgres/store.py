"""PostgresMemoryStore: the memories of a team, in the Postgres that it runs already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, LiteralString, TypeVar

from ... import _time
from ..._settings import checked_flag, checked_seconds
from ...catalog import Record
from ...errors import ConfigError, EntryNotFoundError
from ...memory.settings import at_least_one, checked_query
from ...memory.types import RELEVANCE_SCORE, MemoryEntry, Metadata, identified
from ...ranking import Embedder, Tokenizer, tokenize_any_script
from ...ranking.embedder import embedded
from .._filters import narrowed
from .._items import Sources, TestMemoryAddResult, told_by
from .._listing import sort_key
from ..protocols import BulkItem, FilteredSearchOptions, ScoreKind
from . import _searching as searching
from ._arguments import checked_change, checked_drafts, checked_id, checked_where
from ._rows import READ, Row, checked_short, encoded, json_of, read, storable, time_of
from ._schema import Schema
from ._server import WHERE, Server
from ._writing import Exchanged, exchanged, inserted, taken_back, updated, with_vectors

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

    from ...memory.extraction.types import ExtractionConfig

_T = TypeVar("_T")

Search = Literal["words", "meaning", "fused"]
SEARCHES: dict[str, ScoreKind] = {"words": "count", "meaning": "similarity", "fused": "fused"}
DEFAULT_MAX_SEARCH_RESULTS = 10
_BATCH = 256  # texts that are embedded at a time where many wait


class PostgresMemoryStore:
    """A store in a table of a Postgres database, for any number of programs on any number of machines.

    ::

        notes = PostgresMemoryStore("postgresql://memwb@db.example.org/team")
        await notes.add("User prefers dark mode")
        await notes.search("which mode does the user like?")

    - The table is made at the first use; see :meth:`initialize` for a user who must not make any.
    - A text is held once (once for each owner), whoever adds it: the database itself sees to that.
    - By words, those entries are found that share most distinct words with the query, of equal ones the latest first;
      words are those of :func:`memwb.ranking.tokenize_any_script`. By meaning, those whose vectors lie nearest.
    - Content is any text that is not blank and holds no lone surrogates. Metadata are JSON values and come back exactly
      as they were given. Of a text with more than about 900 kB of distinct words, a part of the words is found.
    - Calls wait in threads of their own. A call that is cancelled in the midst of a write may still be written.

    Attributes:
        name: Names the store; the name of its table where none is given.
        description: Told to the model in the tools' descriptions.
        max_search_results: Entries a search returns where the call does not say; None: 10.
        writable: Whether the store takes writes.
        extraction: Whether and how a manager extracts memories into this store.
        owner: Whose memories these are: what is added gets this owner, and only what has it is found, listed and
            changed. None: everybody's, and what is added has no owner but its own.
        search_by: ``"words"``, ``"meaning"`` or ``"fused"``; another one can be set at any time.
        least: By meaning, only entries more similar than this are found.
        tokenizer: Gives the words of a query; with :func:`memwb.ranking.tokenize_without_stop_words`, words that are in
            most entries are not looked for, which is a lot faster in a large table.
        embedder: Makes the vectors; None: the store searches by words alone.
    """

    name: str
    description: str | None
    max_search_results: int | None
    writable: bool
    extraction: bool | ExtractionConfig | None

    def __init__(
        self,
        dsn: str,
        table: str = "memories",
        embedder: Embedder | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: bool | ExtractionConfig | None = None,
        owner: str | None = None,
        search_by: Search | None = None,
        least: float = 0.0,
        tokenizer: Tokenizer | None = None,
        connect_timeout: float = 5.0,
        connections: int = 4,
        clock: _time.Clock | None = None,
        new_id: _time.IdFactory | None = None,
    ) -> None:
        """Build the store; the server is not asked yet.

        Args:
            dsn: Where the database is, as libpq takes it: ``postgresql://user@host/database``, ``host=... dbname=...``,
                or ``""`` for what the environment says (``PGHOST``, ``PGDATABASE``, ...). A password is best left to
                ``PGPASSWORD`` or ``~/.pgpass``; one in here is never shown.
            table: The table, in the first schema of the search path.
            embedder: See above; it needs the extension pgvector in the database.
            name: See above, as for the following.
            description: See above.
            max_search_results: See above.
            writable: See above.
            extraction: See above.
            owner: See above.
            search_by: Default: ``"fused"`` with an embedder, else ``"words"``.
            least: See above; a number from -1 to 1.
            tokenizer: See above. Default: :func:`memwb.ranking.tokenize_any_script`.
            connect_timeout: Seconds that an attempt to connect may take, rounded up, at least 2. A call to a server
                that is away fails at most a second later; where it refuses connections, after a second.
            connections: The most that this store keeps open; right after an outage there may be twice as many. They
                close after a minute without use.
            clock: Gives the time of new records, aware.
            new_id: Gives the id of new records, a text.

        Raises:
            ConfigError: psycopg is not installed, or a value cannot be used. The text does not quote the dsn.
        """
        at_least_one(connections, f"{WHERE}: connections", "connections")
        self._server = Server(dsn, connections, checked_seconds(connect_timeout, "connect_timeout", WHERE))
        if embedder is not None and not isinstance(embedder, Embedder):
            message = f"{WHERE}: embedder is {embedder!r:.80}; it must have a name, dimensions and embed(texts)."
            raise ConfigError(message, key="embedder", value=embedder)
        if search_by is None:
            search_by = "words" if embedder is None else "fused"
        if search_by not in SEARCHES or (embedder is None and search_by != "words"):
            names = ", ".join(map(repr, SEARCHES if embedder is not None else ("words",)))
            needs = "" if embedder is not None else " where there is no embedder"
            told = f"{WHERE}: search_by is {search_by!r:.80}; it must be one of {names}{needs}."
            raise ConfigError(told, key="search_by", value=search_by, allowed=tuple(SEARCHES))
        if not isinstance(least, int | float) or isinstance(least, bool) or not -1 <= least <= 1:
            message = f"{WHERE}: least is {least!r:.80}; it must be a number from -1 to 1."
            raise ConfigError(message, key="least", value=least)
        if max_search_results is not None:
            at_least_one(max_search_results, f"{WHERE}: max_search_results", "max_search_results")
        narrowed({"owner": owner}, WHERE)
        self._schema = Schema(table, embedder)
        self.name = table if name is None else name
        self.description, self.max_search_results, self.extraction = description, max_search_results, extraction
        self.writable, self.owner = checked_flag(writable, "writable", WHERE), checked_short(owner, "owner")
        self.search_by: Search = search_by
        self.least, self.tokenizer, self.embedder = least, tokenizer or tokenize_any_script, embedder
        self._sources = Sources(clock or _time.now, new_id or _time.new_id)
        self._where = f"{WHERE}: {self._server.address}, table {table!r}"
        self._ready = False

    def __repr__(self) -> str:
        owner = "" if self.owner is None else f", owner={self.owner!r}"
        return f"PostgresMemoryStore({self._server.address!r}, {self._schema.table!r}{owner})"

    @property
    def score_kind(self) -> ScoreKind:
        """What the scores are: shared words counted, cosine similarities, or places fused."""
        return SEARCHES[self.search_by]

    @property
    def fixed(self) -> str:
        """Why records cannot be exchanged here; "" where they can."""
        return "" if self.writable else "it was built with writable=False"

    async def initialize(self) -> None:
        """Make what is missing in the database, and see that it can be used; the first other call does the same.

        Raises:
            StoreUnavailableError: The server cannot be reached.
            ConfigError: The tables must not be made here, were made by a newer memwb, or pgvector is not there.
        """
        await self._run(lambda connection: None)

    async def close(self) -> None:
        """Close the store's connections. The store can be used again: it opens new ones."""
        import asyncio

        await asyncio.to_thread(self._server.close)

    async def search(self, query: str, options: FilteredSearchOptions | None = None) -> list[MemoryEntry]:
        """Return the entries that match best, the best first.

        Args:
            query: A blank one finds nothing.
            options: ``max_search_results``; ``owner`` and ``metadata`` narrow the search down.

        Returns:
            New entries with their id. Their metadata hold the score as ``_relevanceScore``: the number of distinct
            words of the query in the content, the cosine similarity, or the fused places.

        Raises:
            ConfigError: An unknown option or a bad value.
            StoreUnavailableError: The server is away.
        """
        asked = narrowed(options, WHERE)
        checked_query(query, f"{WHERE}: ")
        if not query.strip() or self.owner not in (None, asked.owner or self.owner):
            return []
        asked = asked._replace(owner=asked.owner or self.owner)
        limit = asked.limit or self.max_search_results or DEFAULT_MAX_SEARCH_RESULTS
        tokens = set(self.tokenizer(query))
        depth = limit if self.search_by != "fused" else max(limit, searching.DEPTH)
        work = words = searching.by_words(self._schema, sorted(tokens), asked, depth)
        if self.search_by != "words":
            assert self.embedder is not None
            vector = (await embedded(self.embedder, [query]))[0]
            work = searching.by_meaning(self._schema, vector, asked, depth, self.least)
            if self.search_by == "fused":
                work = searching.fused(words, work, limit)
        ranked = await self._run(work)
        if self.search_by == "words":
            ranked = [(row, len(tokens & tokenize_any_script(row.content))) for row, _ in ranked]
        return [self._entry(row, score) for row, score in ranked]

    async def add(
        self, content: str, metadata: Metadata | None = None, *, owner: str | None = None
    ) -> TestMemoryAddResult:
        """Store one text.

        Args:
            content: The text.
            metadata: Kept beside it.
            owner: Whose it is; the store's owner where it is left out.

        Returns:
            The id of the entry that holds the text, and whether it was there already: then nothing is written.

        Raises:
            ConfigError: It cannot be stored, or the store is not writable. A ValueError.
            StoreUnavailableError: The server is away; whether the text was stored is not known where it left in the
                midst. Adding it again does no harm.
        """
        self._require_writable("add")
        item = {"content": content, "metadata": metadata, "owner": owner}
        return (await self._add(checked_drafts([item], numbered=False)))[0]

    async def add_many(self, items: Iterable[str | BulkItem | Record]) -> list[TestMemoryAddResult]:
        """Store many texts in one transaction by COPY: all of them or none.

        Args:
            items: Texts, dicts ``{content, metadata?, id?, createdAt?, owner?}`` or records, which keep their role too.

        Returns:
            One result for each item, in order, as by :meth:`add`.

        Raises:
            ConfigError: As for :meth:`add`; the message names the item, counted from 1.
            DuplicateEntryError: A given id is taken.
            StoreUnavailableError: As for :meth:`add`.
        """
        self._require_writable("add_many")
        entries = checked_drafts(items)
        return await self._add(entries) if entries else []

    async def update(self, id: str, content: str | None = None, metadata: Metadata | None = None) -> Record:
        """Give a record another text, other metadata, or both; None leaves what there is.

        Raises:
            EntryNotFoundError: No record has this id. A KeyError.
            DuplicateEntryError: Another record holds the text; blanks around it do not count. A ValueError.
            ConfigError: As for :meth:`add`.
            StoreUnavailableError: As for :meth:`add`.
        """
        self._require_writable("update")
        checked_id(id)
        change = checked_change(content, metadata)
        text = json_of(change.metadata)
        vectors = await self._vectors([] if change.content is None else [change.content])
        now = self._sources.now()

        def changed(row: Row) -> Row:
            new = replace(
                row,
                content=row.content if change.content is None else change.content,
                metadata=row.metadata if text is None else text,
            )
            return row if new == row else replace(new, updated_at=now)

        def work(connection: Connection[Any]) -> Row:
            return updated(connection, self._schema, id, self.owner, changed, vectors, self._where)

        if not storable(id):
            raise EntryNotFoundError(id, self._where)
        return (await self._run(work)).record(self.name)

    async def delete(self, id: str) -> bool:
        """Remove a record; return whether there was one."""
        self._require_writable("delete")
        checked_id(id)
        if not storable(id):
            return False
        statement = self._statement("DELETE FROM {table} t WHERE t.id = %(id)s AND {own}")
        return await self._run(lambda c: c.execute(statement, self._own(id=encoded(id))).rowcount > 0)

    async def clear(self) -> None:
        """Remove all records, of a store with an owner all of this owner."""
        self._require_writable("clear")
        statement = self._statement("DELETE FROM {table} t WHERE {own}")
        await self._run(lambda connection: connection.execute(statement, self._own()))

    async def count(self, where: str = "") -> int:
        """Return how many records there are, or how many hold ``where`` in their content, whatever the case."""
        folded = checked_where(where)
        statement = self._statement("SELECT count(*) FROM {table} t WHERE {own} AND {holding}", where=folded)
        found = await self._run(lambda c: c.execute(statement, self._own(where=encoded(folded))).fetchone())
        return int(found[0]) if found else 0

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Record]:
        """Return some of the records, in the order of adding or sorted.

        Args:
            offset: How many to leave out at the start.
            limit: The most to return, at least 1.
            sort: ``created_at``, ``content`` or ``id``, with ``-`` before it for descending.
            where: Only records whose content holds this, whatever the case.

        Raises:
            ConfigError: A bad offset, limit or sort.
        """
        if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
            raise ConfigError(f"{WHERE}: offset is {offset!r}; it must be a whole number, at least 0.", key="offset")
        at_least_one(limit, f"{WHERE}: limit", "limit")
        with told_by(WHERE):
            key = sort_key(sort)
        folded = checked_where(where)
        order = _ORDERS[key]
        statement = self._statement(
            # What is left out is counted in an index where it can be, and not read.
            "SELECT {read} FROM {table} t JOIN (SELECT t.place FROM {table} t WHERE {own} AND {holding} "
            "ORDER BY {order} LIMIT %(limit)s OFFSET %(offset)s) p ON p.place = t.place ORDER BY {order}",
            where=folded,
            order=order,
        )
        given = self._own(where=encoded(folded), limit=limit, offset=offset)
        rows = await self._run(lambda connection: [read(found) for found in connection.execute(statement, given)])
        return [row.record(self.name) for row in rows]

    async def get(self, id: str) -> Record | None:
        """Return the record with this id, or None."""
        checked_id(id)
        if not storable(id):
            return None
        statement = self._statement("SELECT {read} FROM {table} t WHERE t.id = %(id)s AND {own}")
        found = await self._run(lambda c: c.execute(statement, self._own(id=encoded(id))).fetchone())
        return None if found is None else read(found).record(self.name)

    async def exchange(
        self, before: Sequence[Record], after: Sequence[Record], *, only_check: bool = False
    ) -> Exchanged:
        """Put records in the place of others, in one transaction: all of it, or nothing.

        A record of both lists (by its id) gets the text and metadata of the second, and keeps its place and its time.
        One of ``before`` alone is removed, one of ``after`` alone is added at the end.

        Raises:
            ConflictError: A record of ``before`` is not as it was seen. Nothing is written.
            DuplicateEntryError: A text or an id of ``after`` is held by another record.
            ConfigError: As for :meth:`add`.
        """
        self._require_writable("exchange")
        vectors = await self._vectors([] if only_check else [record.content for record in after])
        drafts, now = [self._row(entry) for entry in checked_drafts(after, numbered=False)], self._sources.now()

        def work(connection: Connection[Any]) -> Exchanged:
            return exchanged(
                connection,
                self._schema,
                before,
                drafts,
                vectors,
                now,
                self._where,
                self.name,
                owner=self.owner,
                only_check=only_check,
            )

        return await self._run(work)

    async def take_back(self, done: Exchanged) -> None:
        """Undo an exchange; what others have written meanwhile stays.

        Raises:
            ConflictError: One of the exchanged records was changed since then. Nothing is written.
            DuplicateEntryError: A text that would come back is held by a record that is new.
        """
        self._require_writable("take_back")
        vectors = await self._vectors([record.content for record in done.before])
        await self._run(lambda c: taken_back(c, self._schema, done, vectors, self._where, self.name, self.owner))

    async def embed_missing(self, progress: Callable[[int, int], Any] | None = None) -> int:
        """Make the vectors of entries that have none of this embedder: those that were added without it.

        Args:
            progress: Told how many are done, and of how many.

        Returns:
            How many were made.
        """
        self._require_writable("embed_missing")
        if self.embedder is None:
            raise ConfigError(f"{WHERE}: the store has no embedder; build it with one.", key="embedder")
        lacking: LiteralString = (
            "FROM {table} t WHERE {own} AND NOT EXISTS (SELECT 1 FROM {vectors} v WHERE v.place = t.place AND "
            "v.digest = t.digest AND v.model = %(model)s)"
        )
        given = self._own(model=self._schema.model, batch=_BATCH, after=0)
        counting = self._statement("SELECT count(*) " + lacking)
        reading = self._statement(
            "SELECT {read} " + lacking + " AND t.place > %(after)s ORDER BY t.place LIMIT %(batch)s"
        )
        total = await self._run(lambda connection: int((connection.execute(counting, given).fetchone() or (0,))[0]))
        done = 0
        while True:
            rows = await self._run(lambda c: [read(found) for found in c.execute(reading, given)])
            if not rows:
                return done
            vectors = await self._vectors([row.content for row in rows])
            done += await self._run(partial(with_vectors, schema=self._schema, rows=rows, vectors=vectors))
            given["after"] = rows[-1].place
            if progress is not None:
                progress(done, max(done, total))

    # --- inside --------------------------------------------------------------------------------------------------

    async def _run(self, work: Callable[[Connection[Any]], _T]) -> _T:
        def prepared(connection: Connection[Any]) -> _T:
            if not self._ready:
                self._schema.prepare(connection, may_create=self.writable)
                self._ready = True
            return work(connection)

        return await self._server.run(prepared)

    async def _vectors(self, texts: Sequence[str]) -> dict[str, str]:
        """Return the vector of each text as Postgres reads it; none without an embedder."""
        if self.embedder is None or not texts:
            return {}
        texts = list(dict.fromkeys(texts))
        return dict(zip(texts, map(searching.vector_text, await embedded(self.embedder, texts)), strict=True))

    async def _add(self, entries: list[dict[str, Any]]) -> list[TestMemoryAddResult]:
        rows = [self._row(entry) for entry in entries]
        vectors = await self._vectors([row.content for row in rows])
        results = await self._run(
            lambda connection: inserted(connection, self._schema, rows, vectors, self._sources.any_id, self._where)
        )
        return [TestMemoryAddResult(id, held) for id, held in results]

    def _row(self, entry: dict[str, Any]) -> Row:
        """Return a checked entry as a row; its id is "" where one is still to be given."""
        owner = checked_short(entry.get("owner"), "owner")
        if self.owner not in (None, owner or self.owner):
            told = f"{WHERE}: owner is {owner!r:.80}; this store holds the memories of {self.owner!r:.80} alone."
            raise ConfigError(told, key="owner", value=owner)
        return Row(
            None,
            checked_short(entry["id"], "id") or "",
            entry["content"],
            json_of(entry.get("metadata")),
            time_of(entry["createdAt"], self._sources.now()),
            None,
            owner or self.owner,
            entry.get("role"),
        )

    def _statement(self, text: LiteralString, *, where: str = "", order: LiteralString = "t.place") -> Composed:
        from psycopg.sql import SQL

        own = SQL("true") if self.owner is None else SQL("t.owner = %(owner)s")
        if not storable(where):
            holding = SQL("false")
        else:
            holding = SQL("strpos(t.folded, %(where)s) > 0") if where else SQL("true")
        return self._schema.sql(text, read=SQL(READ), own=own, holding=holding, order=SQL(order))

    def _own(self, **given: Any) -> dict[str, Any]:
        if not storable(given.get("where") or ""):
            given["where"] = ""
        return {**given, "owner": encoded(self.owner)}

    def _require_writable(self, method: str) -> None:
        if not self.writable:
            message = (
                f"{WHERE}: the store {self.name!r} is not writable. Build it with writable=True to use {method}()."
            )
            raise ConfigError(message, key="writable", value=self.writable)

    @staticmethod
    def _entry(row: Row, score: float) -> MemoryEntry:
        metadata = {**(row.record("").metadata or {}), RELEVANCE_SCORE: score}
        return identified(MemoryEntry(row.content, metadata=metadata), row.id)


_ORDERS: dict[Any, LiteralString] = {
    None: "t.place",
    ("created_at", False): "t.created_at, t.place",
    ("created_at", True): "t.created_at DESC, t.place",
    ("content", False): "t.content, t.place",
    ("content", True): "t.content DESC, t.place",
    ("id", False): "t.id",
    ("id", True): "t.id DESC",
}
