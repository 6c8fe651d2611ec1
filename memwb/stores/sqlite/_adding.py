"""New entries of an SQLiteMemoryStore: their ids, times, owners and places."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...catalog import Record
from ...errors import DuplicateEntryError
from ...memory.types import Metadata
from .._items import Sources, TestMemoryAddResult, draft, drafts, give_times, told_by
from ..protocols import BulkItem
from . import _rows
from ._access import FileAccess
from ._file import WHERE, about, set_about
from ._rows import Row


class Adding(FileAccess):
    """The part of ``SQLiteMemoryStore`` that adds entries."""

    async def add(
        self, content: str, metadata: Metadata | None = None, *, owner: str | None = None
    ) -> TestMemoryAddResult:
        """Store a text, unless an entry of the same owner holds it already (blanks around it do not count).

        Args:
            content: The text, kept as it is.
            metadata: Kept beside it.
            owner: Whose it is; the store's owner where it is left out.

        Raises:
            ConfigError: The store is not writable, or content or metadata cannot be stored. A ValueError.
            StoreBusyError, DamagedFileError, OSError: The file cannot be written. Nothing was stored.
        """
        self._require_writable("add")
        with told_by(WHERE):
            entry = draft(content, metadata)
        return (await self._added([(entry, self._owner_of(owner), None)]))[0]

    async def add_many(self, items: Iterable[str | BulkItem | Record]) -> list[TestMemoryAddResult]:
        """Store many texts in one write: all of them or, when one is refused, none.

        Args:
            items: Texts, dicts ``{content, metadata?, id?, createdAt?, owner?}`` or records. Given ids, times, owners
                and roles are kept.

        Returns:
            One result for each item, in order. An item whose text its owner has already is left out, as by :meth:`add`.

        Raises:
            ConfigError: As for :meth:`add`; the message names the item, counted from 1.
            DuplicateEntryError: A given id is taken.
            StoreBusyError, DamagedFileError, OSError: As for :meth:`add`.
        """
        self._require_writable("add_many")
        if not isinstance(items, str | bytes | Mapping) and isinstance(items, Iterable):
            items = list(items)
        with told_by(WHERE):
            plain = [_without_owner(item) for item in items] if isinstance(items, list) else items
            entries = drafts(plain)
            about_them = [_owner_and_role(item) for item in items]
            whole = [
                (entry, self._owner_of(owner, f"item {number}: "), role)
                for number, (entry, (owner, role)) in enumerate(zip(entries, about_them, strict=True), 1)
            ]
        return await self._added(whole) if whole else []

    async def _added(self, entries: Sequence[tuple[dict[str, Any], str, str | None]]) -> list[TestMemoryAddResult]:
        def add(connection: sqlite3.Connection) -> list[TestMemoryAddResult]:
            ids = _Ids(connection, [entry["id"] for entry, _, _ in entries], self._where)
            known: dict[tuple[str, str], str] = {}
            results, new = [], []
            for entry, owner, role in entries:
                key = owner, entry["content"].strip()
                held = known.get(key) or _rows.by_owner_and_text(connection, owner, entry["content"])
                id = known[key] = held or entry["id"] or ids.new(self._sources)
                results.append(TestMemoryAddResult(id, held is not None))
                if held is None:
                    new.append(({**entry, "id": id}, owner, role))
            self._insert(connection, new)
            return results

        return await self._write(add)

    def _insert(
        self, connection: sqlite3.Connection, entries: Sequence[tuple[dict[str, Any], str, str | None]]
    ) -> None:
        with told_by(WHERE):
            give_times([entry for entry, _, _ in entries], _rows.latest(connection), self._sources)
        place = int(about(connection)["next_place"])
        rows = [
            Row(
                place + at,
                entry["id"],
                owner,
                entry["content"],
                _rows.written_metadata(entry.get("metadata")),
                role,
                entry["createdAt"],
                None,
            )
            for at, (entry, owner, role) in enumerate(entries)
        ]
        _rows.insert(connection, rows, self.tokenizer)
        set_about(connection, next_place=place + len(rows))


class _Ids:
    """The ids that entries bring along, and new ones for the others.

    Raises:
        DuplicateEntryError: One of those that are brought along is taken.
    """

    def __init__(self, connection: sqlite3.Connection, given: Iterable[str | None], where: str) -> None:
        self._connection, self._where = connection, where
        self._own: set[str] = set()
        for id in given:
            if id is not None:
                if self._taken(id):
                    raise DuplicateEntryError(id, where)
                self._own.add(id)

    def new(self, sources: Sources) -> str:
        """Return a new id; for one that is taken, as after the restart of a counter, another is asked for."""
        for _ in range(len(self._own) + int(about(self._connection)["entries"]) + 1):
            with told_by(WHERE):
                id = sources.any_id()
            if not self._taken(id):
                self._own.add(id)
                return id
        raise DuplicateEntryError(id, self._where)

    def _taken(self, id: str) -> bool:
        found = self._connection.execute("SELECT 1 FROM memories WHERE id = ?", (id,)).fetchone()
        return id in self._own or found is not None


def _without_owner(item: Any) -> Any:
    if isinstance(item, Mapping) and "owner" in item:
        return {key: value for key, value in item.items() if key != "owner"}
    return item


def _owner_and_role(item: Any) -> tuple[str | None, str | None]:
    if isinstance(item, Record):
        return item.owner, item.role
    return (item.get("owner"), None) if isinstance(item, Mapping) else (None, None)
