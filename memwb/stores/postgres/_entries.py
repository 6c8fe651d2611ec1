"""The entries of a PostgresMemoryStore one by one: listed, changed, removed, exchanged for others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, LiteralString

from ...catalog import Record
from ...errors import EntryNotFoundError
from ...memory.types import Metadata
from .._items import told_by
from .._listing import checked_page
from ._access import Access
from ._arguments import checked_change, checked_drafts, checked_id, checked_where
from ._rows import Row, encoded, json_of, read, storable
from ._server import WHERE
from ._writing import PostgresExchange, exchanged, taken_back, updated

if TYPE_CHECKING:
    from psycopg import Connection

_ORDERS: dict[Any, LiteralString] = {
    None: "t.place",
    ("created_at", False): "t.created_at, t.place",
    ("created_at", True): "t.created_at DESC, t.place",
    ("content", False): "t.content, t.place",
    ("content", True): "t.content DESC, t.place",
    ("id", False): "t.id",
    ("id", True): "t.id DESC",
}


class Entries(Access):
    """The part of a store that lists and edits its entries."""

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
        with told_by(WHERE):
            key, folded = checked_page(offset, limit, sort, where)
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

    async def exchange(
        self, before: Sequence[Record], after: Sequence[Record], *, only_check: bool = False
    ) -> PostgresExchange:
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

        def work(connection: Connection[Any]) -> PostgresExchange:
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

    async def take_back(self, done: PostgresExchange) -> None:
        """Undo an exchange; what others have written meanwhile stays.

        Raises:
            ConflictError: One of the exchanged records was changed since then. Nothing is written.
            DuplicateEntryError: A text that would come back is held by a record that is new.
        """
        self._require_writable("take_back")
        vectors = await self._vectors([record.content for record in done.before])
        await self._run(lambda c: taken_back(c, self._schema, done, vectors, self._where, self.name, self.owner))
