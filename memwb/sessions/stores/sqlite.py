"""SQLiteStore: sessions in one SQLite database."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ... import _json
from ..._collector import without_collector
from ..._settings import checked_flag, checked_path, checked_seconds
from ...errors import DuplicateEntryError, EntryNotFoundError
from .._entries import (
    Row,
    checked_id,
    checked_key,
    checked_limit,
    entry_from,
    entry_of,
    row_of,
    rows_for,
    rows_of,
    updated_row,
)
from ..types import MemoryEntry, SessionInfo
from ._damage import DamagedRows
from ._database import COLUMNS, Action, Database, Transaction, fetched
from ._opened import Opened

if TYPE_CHECKING:
    import sqlite3

_INSERT = f"INSERT INTO session_entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_OF_SESSION = "session_id = ? AND user_id = ?"
_OLDEST_FIRST, _NEWEST_FIRST = "ORDER BY created_at, rowid", "ORDER BY created_at DESC, rowid DESC"
_PAGE = 500  # entries that iter_entries holds at a time
_CHECKED_AT_ONCE = 2000

_T = TypeVar("_T")

_Key = tuple[str, str]


class SQLiteStore(Opened):
    """A store of sessions in a SQLite database: the choice for thousands of sessions on one machine.

    The database has one table, ``session_entries``, in the layout of Definable: each opens what the other wrote. It is
    kept in WAL mode, so that readers and a writer do not wait for each other.

    - It can be used from any number of threads, event loops and processes at once. What a call has acknowledged is
      kept, also when the process is killed or interrupted; through a power cut only with ``durable=True``. No
      transaction stays open after a call, however it ends, and nothing has to be closed for a process to end.
    - Where another program holds the database, calls wait without stopping the event loop, and then raise
      :class:`~memwb.errors.StoreBusyError`.
    - A row that cannot be an entry (changed by another program, say) is left out, warned of once, listed in
      :attr:`damage`, and never changed.
    - A file that is removed, renamed or replaced meanwhile is noticed by the next call, which opens what the path names
      by then, or makes a new database: nothing is written into a file that no path leads to.

    ::

        async with SQLiteStore("memory.db") as store:
            await store.add(MemoryEntry("session-1", user_id="alice", content="I prefer Python."))
            await store.get_entries("session-1", "alice")

    Attributes:
        path: The file, fixed when the store is built; None for ``":memory:"``.
    """

    def __init__(
        self, db_path: str | os.PathLike[str] = "./memory.db", *, durable: bool = False, timeout: float = 30.0
    ) -> None:
        """Build the store; no file is touched yet.

        Args:
            db_path: The file; it and its folders are made when they are first needed. ``~`` is your home. With
                ``":memory:"`` the entries last until the store is closed.
            durable: Wait at each write until it is on the disk, so that it outlives a power cut too.
            timeout: How many seconds to wait for a locked database, at least 0.

        Raises:
            ConfigError: A value that its argument cannot take. A ValueError.
        """
        where = "SQLiteStore"
        self.path: Path | None = None if db_path == ":memory:" else checked_path(db_path, "db_path", where)
        self._where = f"{where}({str(self.path or ':memory:')!r})"
        self._database = Database(
            self.path,
            durable=checked_flag(durable, "durable", where),
            timeout=checked_seconds(timeout, "timeout", where),
            where=self._where,
        )
        self._file: object = None  # the one that what follows is known of
        self._damage = DamagedRows("session_entries", self._where)
        # Up to which rowid the rows of a session, or with None those of all, have been found good or named as damage.
        self._checked: dict[_Key | None, int] = {}
        self._counts: dict[_Key, tuple[object, list[int], int]] = {}  # with the revision and the damage they belong to

    def __repr__(self) -> str:
        return self._where

    @property
    def damage(self) -> list[tuple[str, str, str]]:
        """The rows that were met and cannot be read, as ``("session_entries", key, reason)``."""
        return self._damage.listed()

    async def initialize(self) -> None:
        """Open the database and make what is missing in it; each first use does the same.

        Raises:
            StoreBusyError: It stayed locked. A TimeoutError, hence an OSError.
            DamagedFileError: The file is no database, or its table another one. A ValueError.
            OSError: It cannot be opened.
        """
        await self._run(lambda connection: None)

    async def close(self) -> None:
        """Close the connection. The next use opens it again."""
        self._database.close()

    async def add(self, entry: MemoryEntry) -> None:
        """Store a new entry.

        Raises:
            ConfigError: It cannot be stored; the message names the field. A ValueError.
            DuplicateEntryError: Its id is taken. A ValueError.
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """
        values = _values(row_of(entry, self._where))
        await self._write([values], lambda connection: connection.execute(_INSERT, values))

    async def add_many(self, entries: Iterable[MemoryEntry]) -> None:
        """Store new entries in one transaction: all of them, or none where one is refused.

        Raises:
            ConfigError: As for :meth:`add`; the message names the entry, counted from 1.
            DuplicateEntryError: As for :meth:`add`, or two of the entries have one id.
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """
        with without_collector():
            rows = [_values(row) for row in rows_of(entries, self._where)]

        def add(connection: sqlite3.Connection) -> None:
            with Transaction(connection):
                connection.executemany(_INSERT, rows)

        await self._write(rows, add)

    async def get_entries(
        self, session_id: str, user_id: str = "default", limit: int | None = None
    ) -> list[MemoryEntry]:
        """Return the entries of a user's session by ``created_at``, oldest first; of equal times, the earlier added.

        Args:
            session_id: The session.
            user_id: The user.
            limit: Only the newest so many, in the same order; 0 gives none.

        Raises:
            ConfigError: An empty id, or a bad limit. A ValueError.
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """
        key = checked_key(session_id, user_id, self._where)
        if checked_limit(limit, self._where) is None:
            rows = await self._rows(f"WHERE {_OF_SESSION} {_OLDEST_FIRST}", key)
            self._damage.forget(*key)
            return self._entries(rows)
        asked = limit or 0
        while True:
            # Each damaged row may take the place of a good one.
            wanted = min(asked + len(self._damage.rowids(key)), 2**62)
            rows = await self._rows(f"WHERE {_OF_SESSION} {_NEWEST_FIRST} LIMIT ?", (*key, wanted))
            entries = self._entries(rows[::-1])
            if len(entries) >= asked or len(rows) < wanted:
                return entries[len(entries) - asked :] if len(entries) > asked else entries

    async def iter_entries(self, session_id: str, user_id: str = "default") -> AsyncIterator[MemoryEntry]:
        """Give the entries of a user's session one after the other, some hundreds in memory at a time.

        Entries that are added meanwhile are given, if their time is not before the one that was given last.

        Raises:
            ConfigError: An empty id.
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """
        key = checked_key(session_id, user_id, self._where)
        after = ""
        place: tuple[Any, ...] = ()
        while True:
            rows = await self._rows(f"WHERE {_OF_SESSION} {after} {_OLDEST_FIRST} LIMIT {_PAGE}", (*key, *place))
            for entry in self._entries(rows):
                yield entry
            if len(rows) < _PAGE:
                return
            after, place = "AND (created_at, rowid) > (?, ?)", (rows[-1][7], rows[-1][0])

    async def get_entry(self, memory_id: str) -> MemoryEntry | None:
        """Return the entry with this id, or None.

        Raises:
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """
        rows = await self._rows("WHERE memory_id = ?", (checked_id(memory_id, self._where),))
        entries = self._entries(rows)
        return entries[0] if entries else None

    async def update(self, entry: MemoryEntry) -> None:
        """Replace role, content and message data of the entry that has the same id.

        Its ``created_at`` stays, its ``updated_at`` becomes now. Message data that repeats the content or the role
        follows a change of these, unless it is changed too.

        Raises:
            EntryNotFoundError: No entry has this id. A KeyError.
            ConfigError: It cannot be stored, or names another session or user. A ValueError.
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """
        new = row_of(entry, self._where)

        def update(connection: sqlite3.Connection) -> None:
            with Transaction(connection):
                held = self._entries(fetched(connection, "WHERE memory_id = ?", (new[0],)))
                if not held:
                    raise EntryNotFoundError(new[0], self._where)
                values = _values(updated_row(row_of(held[0], self._where), new, self._where))
                statement = "UPDATE session_entries SET role = ?, content = ?, message_data = ?, updated_at = ?"
                connection.execute(f"{statement} WHERE memory_id = ?", (*values[3:6], values[7], new[0]))

        await self._run(update)

    async def delete(self, memory_id: str) -> None:
        """Remove the entry with this id, if there is one, also a damaged one.

        Raises:
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """
        await self._execute("DELETE FROM session_entries WHERE memory_id = ?", (checked_id(memory_id, self._where),))
        self._damage.forget_id(memory_id)

    async def delete_session(self, session_id: str, user_id: str | None = "default") -> None:
        """Remove all entries of a user's session, or with ``user_id=None`` those of all its users.

        Raises:
            ConfigError: An empty id.
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """
        key = checked_key(session_id, "default" if user_id is None else user_id, self._where)
        if user_id is None:
            await self._execute("DELETE FROM session_entries WHERE session_id = ?", (session_id,))
        else:
            await self._execute(f"DELETE FROM session_entries WHERE {_OF_SESSION}", key)
        self._damage.forget(session_id, user_id)

    async def count(self, session_id: str, user_id: str = "default") -> int:
        """Return how many entries a user's session has.

        Raises:
            ConfigError: An empty id.
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """
        key = checked_key(session_id, user_id, self._where)
        revision = await self.revision()  # asked before: a change while the rows are counted shows at the next call
        *known, number = self._counts.get(key, (None, None, 0))
        if known == [revision, self._damage.rowids(key)]:
            return number
        await self._check(key)
        damaged = self._damage.rowids(key)
        counting = f"SELECT count(*) FROM session_entries WHERE {_OF_SESSION} AND {_other_than(damaged)}"
        ((number,),) = await self._execute(counting, key)
        self._counts[key] = revision, damaged, int(number)
        return int(number)

    async def sessions(self) -> list[SessionInfo]:
        """Return what users' sessions there are, by session and user.

        Raises:
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """
        await self._check(None)
        found = await self._execute(
            "SELECT session_id, user_id, count(*), min(created_at), max(created_at) FROM session_entries "
            f"WHERE {_other_than(self._damage.rowids())} GROUP BY session_id, user_id ORDER BY session_id, user_id"
        )
        return [SessionInfo(*values) for values in found]

    async def revision(self, session_id: str | None = None) -> tuple[object, ...]:
        """Return what is another after each change, of whichever session, whoever made it: SQLite counts them.

        Raises:
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """

        def look(connection: sqlite3.Connection) -> tuple[object, ...]:
            return connection, connection.total_changes, connection.execute("PRAGMA data_version").fetchone()[0]

        return await self._run(look)

    async def replace_session(
        self,
        session_id: str,
        user_id: str,
        entries: Sequence[MemoryEntry],
        expected: Sequence[MemoryEntry] | None = None,
    ) -> bool:
        """Put these entries in the place of all that a user's session holds: all of them or, if one is refused, none.

        It is one transaction. Damaged rows stay.

        Args:
            session_id: The session.
            user_id: The user.
            entries: All that the session shall hold.
            expected: What the caller has seen there. If the session holds anything else by now, nothing is written.

        Returns:
            Whether it was written.

        Raises:
            ConfigError: One cannot be stored, or is of another session or user. A ValueError.
            DuplicateEntryError: An id is taken outside the session, or two entries have one id. A ValueError.
            StoreBusyError, DamagedFileError, OSError: As for :meth:`initialize`.
        """
        rows = [_values(row) for row in rows_for(session_id, user_id, entries, self._where)]
        seen = None if expected is None else [entry_of(row) for row in rows_of(expected, self._where)]

        def replace(connection: sqlite3.Connection) -> bool:
            with Transaction(connection):
                held = fetched(connection, f"WHERE {_OF_SESSION} {_OLDEST_FIRST}", (session_id, user_id))
                read = [(row[:1], entry_from(*row[1:])) for row in held]
                good = [(rowid, entry) for rowid, entry in read if not isinstance(entry, str)]
                if seen is not None and seen != [entry for _, entry in good]:
                    return False
                connection.executemany("DELETE FROM session_entries WHERE rowid = ?", [rowid for rowid, _ in good])
                connection.executemany(_INSERT, rows)
            return True

        return await self._write(rows, replace, (session_id, user_id))

    async def _run(self, action: Action[_T]) -> _T:
        result = await self._database.run(action)
        if self._file != self._database.file:
            if self._file is not None:  # what is known of the rows was true of another file
                self._damage, self._checked, self._counts = DamagedRows("session_entries", self._where), {}, {}
            self._file = self._database.file
        return result

    async def _execute(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return await self._run(lambda connection: connection.execute(statement, values).fetchall())

    async def _rows(self, clauses: str, values: Sequence[Any]) -> list[Any]:
        return await self._run(lambda connection: fetched(connection, clauses, values))

    async def _write(self, rows: list[tuple[Any, ...]], action: Action[_T], replaced: _Key | None = None) -> _T:
        """Write rows; ``replaced``: the user's session whose ids are free, since its entries go."""
        import sqlite3

        try:
            return await self._run(action)
        except sqlite3.IntegrityError as error:
            for row in rows:
                holder = await self._execute(
                    "SELECT session_id, user_id FROM session_entries WHERE memory_id = ?", row[:1]
                )
                if holder and holder[0] != replaced:
                    raise DuplicateEntryError(row[0], self._where) from None
            raise DuplicateEntryError(rows[0][0], self._where) from error  # it was there then, and is gone again

    def _entries(self, rows: Sequence[Sequence[Any]]) -> list[MemoryEntry]:
        found = []
        with without_collector():
            data = [row[6] for row in rows if type(row[6]) is str]
            plain = _json.is_plain("\n".join(data).encode())  # one look for all of them
            loads = _json.loads_plain if plain else _json.loads
            for row in rows:
                entry = entry_from(*row[1:], loads=loads)
                if isinstance(entry, str):
                    self._damage.add(row, entry)
                else:
                    found.append(entry)
        return found

    async def _check(self, key: _Key | None) -> None:
        """Look at the rows that nobody has looked at yet, so that damaged ones are known and not counted."""
        ((newest,),) = await self._execute("SELECT max(rowid) FROM session_entries")
        start = max(self._checked.get(key, 0), self._checked.get(None, 0))
        where, values = ("", ()) if key is None else ("AND +session_id = ? AND +user_id = ?", key)
        if key is not None and not start:  # by the index
            self._entries(await self._rows(f"WHERE {_OF_SESSION}", key))
            start = newest or 0
        while start < (newest or 0):
            rows = await self._rows(
                f"WHERE rowid > ? {where} ORDER BY rowid LIMIT {_CHECKED_AT_ONCE}", (start, *values)
            )
            self._entries(rows)
            start = rows[-1][0] if len(rows) == _CHECKED_AT_ONCE else newest
        self._checked[key] = start


def _other_than(rowids: Sequence[int]) -> str:
    return f"rowid NOT IN ({', '.join(map(str, rowids))})" if rowids else "true"


def _values(row: Row) -> tuple[Any, ...]:
    message = row[5]
    return row if not isinstance(message, bytes) else (*row[:5], message.decode(), *row[6:])
