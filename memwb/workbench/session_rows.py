"""The sessions of a store as rows of a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..sessions import SessionInfo
from .rows import ListRows


@dataclass(frozen=True)
class SessionRow:
    """A session in the table of sessions.

    Attributes:
        id: Names it in the table.
        info: The session.
    """

    id: str
    info: SessionInfo


class SessionRows:
    """The sessions of a store as rows of a table: by session and user, or sorted by any of their columns.

    Args:
        store: The store, which lists its sessions.
    """

    def __init__(self, store: Any) -> None:
        self.store = store
        self._found: Sequence[SessionInfo] | None = None
        self._rows = ListRows([])
        self._by_id: dict[str, SessionRow] = {}

    async def read(self) -> Sequence[SessionInfo]:
        """Read the sessions anew and return them."""
        found = await self.store.sessions()
        if found != self._found:
            rows = [SessionRow(self.id_of(info), info) for info in found]
            self._found, self._by_id = found, {row.id: row for row in rows}
            self._rows = ListRows(rows, text=_text_of, sorts=_SORTS)
        return self._found or ()

    async def count(self, where: str = "") -> int:
        """Read the sessions anew; return how many there are, or how many have ``where`` in one of their ids."""
        await self.read()
        return await self._rows.count(where)

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> Sequence[SessionRow]:
        """Return some of the sessions; ``sort`` is session_id, user_id, count, first or last, with ``-`` descending."""
        if self._found is None:
            await self.read()
        return await self._rows.page(offset, limit, sort, where)

    async def get(self, id: str) -> SessionRow | None:
        """Return the session whose row has this id, or None."""
        return self._by_id.get(id)

    def id_of(self, info: SessionInfo) -> str:
        """Return the id of a session's row: session and user in one text, of which no two have the same."""
        return json.dumps([info.session_id, info.user_id], ensure_ascii=False)


def _text_of(row: SessionRow) -> str:
    return f"{row.info.session_id}\n{row.info.user_id}"


_SORTS: dict[str, Callable[[SessionRow], Any]] = {
    "session_id": lambda row: row.info.session_id,
    "user_id": lambda row: row.info.user_id,
    "count": lambda row: row.info.count,
    "first": lambda row: row.info.first,
    "last": lambda row: row.info.last,
}
