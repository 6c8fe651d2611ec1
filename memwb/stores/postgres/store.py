"""PostgresMemoryStore: the memories of a team, in the Postgres that it runs already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, LiteralString

from ... import _time
from ..._settings import checked_flag, checked_seconds
from ...catalog import Record
from ...errors import ConfigError
from ...memory.settings import at_least_one, checked_query
from ...memory.types import RELEVANCE_SCORE, MemoryEntry, Metadata, identified
from ...ranking import Embedder, Tokenizer, tokenize_any_script
from ...ranking.embedder import embedded
from .._filters import narrowed
from .._items import Sources, TestMemoryAddResult
from .._listing import is_meant
from ..protocols import BulkItem, FilteredSearchOptions, ScoreKind
from . import _searching as searching
from ._arguments import checked_drafts, checked_where
from ._entries import Entries
from ._rows import Row, checked_short, read
from ._schema import Schema
from ._server import WHERE, Server
from ._writing import inserted, with_vectors

if TYPE_CHECKING:
    from ...memory.extraction.types import ExtractionConfig

Search = Literal["words", "meaning", "fused"]
SEARCHES: dict[str, ScoreKind] = {"words": "count", "meaning": "similarity", "fused": "fused"}
DEFAULT_MAX_SEARCH_RESULTS = 10
_DEEPEST = 1000  # places of a ranking by meaning that are looked at for one entry
_BATCH = 256  # texts that are embedded at a time where many wait


class PostgresMemoryStore(Entries):
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

    async def count_matches(self, query: str) -> int:
        """Return how many entries share a word with the query; by meaning, how many of the first 1,000 are found."""
        checked_query(query, f"{WHERE}: ")
        if self.search_by != "words":
            return len(await self.search(query, {"max_search_results": _DEEPEST}))
        return await self._run(searching.counted(self._schema, sorted(self.tokenizer(query)), self.owner))

    async def best_match(
        self, query: str, *, id: str | None = None, content: str | None = None, where: str = ""
    ) -> tuple[int, MemoryEntry] | None:
        """Find an entry among all that :meth:`search` would return without any limit; by meaning, in the first 1,000.

        Args:
            query: As for :meth:`search`.
            id: Only an entry with this id.
            content: Only an entry with this content; blanks around it do not count.
            where: Only an entry whose content holds this, whatever the case.

        Returns:
            The best entry that is as asked and its rank, from 1; None where there is none among the matches.
        """
        checked_query(query, f"{WHERE}: ")
        folded = checked_where(where)
        if self.search_by == "words":
            tokens = set(self.tokenizer(query))
            work = searching.placed(self._schema, sorted(tokens), self.owner, id, content, folded)
            found = await self._run(work)
            return found and (found[0], self._entry(found[1], len(tokens & tokenize_any_script(found[1].content))))
        for rank, entry in enumerate(await self.search(query, {"max_search_results": _DEEPEST}), 1):
            if is_meant(entry, id, content, folded):
                return rank, entry
        return None

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

    async def _add(self, entries: list[dict[str, Any]]) -> list[TestMemoryAddResult]:
        rows = [self._row(entry) for entry in entries]
        vectors = await self._vectors([row.content for row in rows])
        results = await self._run(
            lambda connection: inserted(connection, self._schema, rows, vectors, self._sources.any_id, self._where)
        )
        return [TestMemoryAddResult(id, held) for id, held in results]

    @staticmethod
    def _entry(row: Row, score: float) -> MemoryEntry:
        metadata = {**(row.record("").metadata or {}), RELEVANCE_SCORE: score}
        return identified(MemoryEntry(row.content, metadata=metadata), row.id)
