"""What a store has met that cannot be read: told once, and listed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

Damage = tuple[str, str, str]
"""File or table, line or key, and the reason."""


class Telling:
    """Warns of each damage once, however often it is met."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._told: set[int] = set()

    def tell(self, damage: Damage, key: object) -> None:
        """Warn of it, unless that has been done for this key."""
        if hash(key) in self._told:
            return
        self._told.add(hash(key))
        place, at, reason = damage
        warnings.warn(f"{self._where}: {place}, {at}: {reason}. It is left out, and left as it is.", stacklevel=2)


class _DamagedRow(NamedTuple):
    key: tuple[Any, Any]
    id: Any
    told: Damage


class DamagedRows:
    """The damaged rows of a table that have been met, by rowid."""

    def __init__(self, table: str, where: str) -> None:
        self._table = table
        self._telling = Telling(where)
        self._rows: dict[int, _DamagedRow] = {}

    def add(self, row: Sequence[Any], reason: str) -> None:
        """Note and tell of a row, given with its rowid in front."""
        rowid, id, session_id, user_id = row[:4]
        at = f"memory_id {id!r:.60}" if isinstance(id, str) else f"rowid {rowid}"
        self._rows[rowid] = _DamagedRow((session_id, user_id), id, (self._table, at, reason))
        self._telling.tell(self._rows[rowid].told, self._rows[rowid])

    def listed(self) -> list[Damage]:
        """Return them in the order of the table."""
        return [row.told for _, row in sorted(self._rows.items())]

    def rowids(self, key: tuple[str, str] | None = None) -> list[int]:
        """Return the rowids of all, or of those of one user's session."""
        return [rowid for rowid, row in self._rows.items() if key is None or row.key == key]

    def forget(self, session_id: str, user_id: str | None) -> None:
        """Forget those of a session, or of one user's: they are gone, or are about to be met again."""
        self._rows = {
            rowid: row
            for rowid, row in self._rows.items()
            if row.key[0] != session_id or user_id not in (None, row.key[1])
        }

    def forget_id(self, memory_id: str) -> None:
        """Forget those with this id: they are gone."""
        self._rows = {rowid: row for rowid, row in self._rows.items() if row.id != memory_id}
