"""What a store has met that cannot be read: told once, and listed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._text import counted

Damage = tuple[str, str, str]
"""File or table, line or key, and the reason."""


class Telling:
    """Warns of each damage once, however often it is met."""

    def __init__(self) -> None:
        self._told: set[int] = set()

    def tell(self, where: str, found: Sequence[Damage], keys: Sequence[object]) -> None:
        """Warn of what is damaged in one file or table: once of all that was not told of before.

        Args:
            where: The store.
            found: The damage.
            keys: What makes each the same as before.
        """
        new = [one for one, key in zip(found, keys, strict=True) if hash(key) not in self._told]
        self._told.update(map(hash, keys))
        if new:
            place, at, reason = new[0]
            rest = f" and {counted(len(new) - 1, 'more place')}" if len(new) > 1 else ""
            left = "They are left out, and left as they are" if rest else "It is left out, and left as it is"
            text = f"{where}: {place}, {at}: {reason}{rest}. {left}; `damage` of the store lists all."
            warnings.warn(text, stacklevel=2)


class _DamagedRow(NamedTuple):
    key: tuple[Any, Any]
    id: Any
    told: Damage


class DamagedRows:
    """The damaged rows of a table that have been met, by rowid."""

    def __init__(self, table: str, where: str) -> None:
        self._table, self._where = table, where
        self._telling = Telling()
        self._rows: dict[int, _DamagedRow] = {}

    def add(self, row: Sequence[Any], reason: str) -> None:
        """Note and tell of a row, given with its rowid in front."""
        rowid, id, session_id, user_id = row[:4]
        at = f"memory_id {id!r:.60}" if isinstance(id, str) else f"rowid {rowid}"
        self._rows[rowid] = _DamagedRow((session_id, user_id), id, (self._table, at, reason))
        self._telling.tell(self._where, [self._rows[rowid].told], [self._rows[rowid]])

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
