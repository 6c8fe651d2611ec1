"""What every call of a PostgresMemoryStore goes through: the tables made, the owner minded, texts turned into rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

from ...errors import ConfigError
from ...ranking import Embedder
from ...ranking.embedder import embedded
from .._items import Sources
from . import _searching as searching
from ._rows import READ, Row, checked_short, encoded, json_of, storable, time_of
from ._schema import Schema
from ._server import WHERE, Server

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

_T = TypeVar("_T")


class Access:
    """A store's way to its tables."""

    name: str
    writable: bool
    owner: str | None
    embedder: Embedder | None
    _server: Server
    _schema: Schema
    _sources: Sources
    _where: str
    _ready: bool

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
