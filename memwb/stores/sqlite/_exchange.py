"""Entries of an SQLiteMemoryStore exchanged for others in one transaction, and taken back."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ...catalog import Record
from ...errors import ConflictError, DuplicateEntryError
from .._exchange import difference
from .._exchanged import Exchanged
from .._items import draft, give_times, told_by
from . import _rows
from ._access import FileAccess
from ._file import WHERE, about, set_about
from ._rows import Row

_T = TypeVar("_T")


@dataclass
class SQLiteExchange(Exchanged):
    """What an exchange of an SQLiteMemoryStore wrote, with its rows."""

    old: dict[str, Row] = field(default_factory=dict, repr=False)
    new: dict[str, Row] = field(default_factory=dict, repr=False)


class _OnlyChecked(Exception):
    """Ends a transaction that shall write nothing."""

    def __init__(self, done: SQLiteExchange) -> None:
        self.done = done


class SQLiteExchanging(FileAccess):
    """The part of ``SQLiteMemoryStore`` that makes several changes at once, and takes them back."""

    @property
    def fixed(self) -> str:
        """Why entries cannot be exchanged here; "" where they can."""
        return "" if self.writable else "it was built with writable=False"

    async def exchange(
        self, before: Sequence[Record], after: Sequence[Record], *, only_check: bool = False
    ) -> SQLiteExchange:
        """Put entries in the place of others, in one transaction: all of it, or nothing.

        An entry of both lists (by its id) gets the text and metadata of the second, and keeps its place, its time, its
        owner and its role. One of ``before`` alone is removed, one of ``after`` alone is added at the end.

        Args:
            before: Entries as they were seen. If one is not so any more, nothing is written.
            after: What there is to be of them.
            only_check: Write nothing, only see whether it could be done now.

        Returns:
            What was done, for :meth:`take_back`.

        Raises:
            ConflictError: An entry of ``before`` is gone, or was changed; it says which, and how.
            DuplicateEntryError: Another entry holds a new text or a new id. A ValueError.
            ConfigError, StoreBusyError, DamagedFileError, OSError: As for ``add``.
        """
        self._require_writable("exchange")
        wanted = {record.id: record for record in after}
        with told_by(WHERE):
            drafts = {id: self._draft(record) for id, record in wanted.items()}
        now = self._sources.any_time()

        def edit(connection: sqlite3.Connection) -> SQLiteExchange:
            old = self._as_seen(connection, before)
            made = SQLiteExchange(tuple(before), (), old)
            for id in old.keys() - wanted.keys():
                _rows.remove(connection, old[id], self.tokenizer)
            for id in (id for id in wanted if id in old):
                written = _rows.written_metadata(drafts[id].get("metadata"))
                row = replace(old[id], content=drafts[id]["content"], metadata=written)
                made.new[id] = row if row == old[id] else replace(row, updated_at=now)
            self._change(connection, [(old[id], row) for id, row in made.new.items()])
            added = [record for id, record in wanted.items() if id not in old]
            made.new.update((row.id, row) for row in self._add_rows(connection, added, drafts))
            made.after = tuple(made.new[id].record(self.name) for id in wanted)
            if only_check:
                raise _OnlyChecked(made)
            return made

        try:
            return await self._write(edit)
        except _OnlyChecked as checked:
            return checked.done

    async def take_back(self, done: SQLiteExchange) -> None:
        """Undo an exchange: the entries are as they were, at their places; what others wrote meanwhile stays.

        Raises:
            ConflictError: One of these was changed since then. Nothing is written.
            DuplicateEntryError: A text that would come back is held by a new entry. A ValueError.
            ConfigError, StoreBusyError, DamagedFileError, OSError: As for ``add``.
        """
        self._require_writable("take_back")

        def undo(connection: sqlite3.Connection) -> None:
            conflicts = []
            for id in done.old.keys() | done.new.keys():
                seen, now = done.new.get(id), self._row(connection, id)
                if seen != now:
                    said = "is there again" if seen is None else "is no longer there"
                    conflicts.append((id, f"now says {now.content!r:.80}" if seen and now else said))
            if conflicts:
                raise ConflictError(self._where, sorted(conflicts))
            for id in done.new.keys() - done.old.keys():
                _rows.remove(connection, done.new[id], self.tokenizer)
            self._change(connection, [(row, done.old[id]) for id, row in done.new.items() if id in done.old])
            gone = [done.old[id] for id in done.old.keys() - done.new.keys()]
            for row in gone:
                self._check_free(connection, row)
            _rows.insert(connection, sorted(gone, key=lambda row: row.place), self.tokenizer)

        await self._write(undo)

    def _change(self, connection: sqlite3.Connection, pairs: Sequence[tuple[Row, Row]]) -> None:
        """Change entries, which may take each other's texts."""
        moved = [(before, after) for before, after in pairs if after.digest != before.digest]
        connection.executemany(
            "UPDATE memories SET digest = randomblob(16) WHERE place = ?", ((before.place,) for before, _ in moved)
        )
        for before, after in moved:
            self._check_free(connection, after)
            _rows.change(connection, before, after, self.tokenizer)
        for before, after in pairs:
            if after != before and after.digest == before.digest:
                _rows.change(connection, before, after, self.tokenizer)

    def _as_seen(self, connection: sqlite3.Connection, before: Sequence[Record]) -> dict[str, Row]:
        rows, conflicts = {}, []
        for record in before:
            row = self._row(connection, record.id)
            told = difference(record, None if row is None else row.record(self.name))
            if row is None or told:
                conflicts.append((record.id, told))
            else:
                rows[record.id] = row
        if conflicts:
            raise ConflictError(self._where, conflicts)
        return rows

    @staticmethod
    def _draft(record: Record) -> dict[str, Any]:
        where = f"entry {record.id!r:.80}: "
        return draft(record.content, record.metadata, record.id, record.created_at, where)

    def _add_rows(
        self, connection: sqlite3.Connection, records: Sequence[Record], drafts: dict[str, dict[str, Any]]
    ) -> list[Row]:
        entries = [drafts[record.id] for record in records]
        give_times(entries, _rows.latest(connection), self._sources)
        place = int(about(connection)["next_place"])
        rows = []
        for at, (record, entry) in enumerate(zip(records, entries, strict=True)):
            metadata = _rows.written_metadata(entry.get("metadata"))
            owner = self._owner_of(record.owner)
            time = entry["createdAt"]
            row = Row(place + at, record.id, owner, entry["content"], metadata, record.role, time, None)
            if connection.execute("SELECT 1 FROM memories WHERE id = ?", (row.id,)).fetchone():
                raise DuplicateEntryError(row.id, self._where)
            self._check_free(connection, row)
            _rows.insert(connection, [row], self.tokenizer)
            rows.append(row)
        set_about(connection, next_place=place + len(rows))
        return rows
