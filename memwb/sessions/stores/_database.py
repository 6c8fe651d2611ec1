"""A SQLite file as a store uses it: one connection, never an open transaction, and no waiting inside the event loop."""

from __future__ import annotations

import errno
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ... import _files
from ...errors import DamagedFileError, StoreBusyError
from .._entries import FIELDS

if TYPE_CHECKING:
    import sqlite3

_T = TypeVar("_T")

Action = Callable[["sqlite3.Connection"], _T]

COLUMNS: Final = ", ".join(FIELDS)

_TABLE = """
CREATE TABLE IF NOT EXISTS session_entries (
    memory_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    user_id TEXT NOT NULL DEFAULT 'default',
    role TEXT NOT NULL DEFAULT 'user',
    content TEXT NOT NULL DEFAULT '',
    message_data TEXT,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
)"""
_INDEX_NAME = "session_entries_in_order"
# The rowid, which counts up, is the last column of every index: so equal times stay in the order of adding.
_INDEX = f"CREATE INDEX IF NOT EXISTS {_INDEX_NAME} ON session_entries (session_id, user_id, created_at)"

_BUSY, _LOCKED, READONLY, _IOERR, _CORRUPT, _FULL, CANTOPEN, _NOTADB = 5, 6, 8, 10, 11, 13, 14, 26
_ERRNO = {READONLY: errno.EROFS, _IOERR: errno.EIO, _FULL: errno.ENOSPC, CANTOPEN: errno.ENOENT}
_FIRST_WAIT, _LONGEST_WAIT = 0.001, 0.02

_databases: weakref.WeakSet[Database] = weakref.WeakSet()


class Database:
    """One file, or a database in memory.

    The connection is opened by the first action and shared by all threads, which take turns: each action is one visit
    that opens, uses and ends its transaction. Where another program holds the file, the action is tried again later,
    and the event loop runs meanwhile.
    """

    _of_folders = "; FileStore keeps sessions in folders"

    def __init__(self, path: Path | None, *, durable: bool, timeout: float, where: str) -> None:
        self.path, self.where = path, where
        self._durable, self._timeout = durable, timeout
        self._connection: sqlite3.Connection | None = None
        self._close: Callable[[], object] = _nothing
        self.file: object = None  # which one was opened last, whatever its name
        self._passing = False  # whether the connection must not outlive an action
        self.lock = threading.Lock()
        _databases.add(self)

    async def run(self, action: Action[_T]) -> _T:
        """Do something with the connection and return what it gives; see :func:`transaction` for several writes.

        Raises:
            StoreBusyError: Another program held the file until the time was over. Nothing was changed.
            DamagedFileError: The file is no database, or a broken one.
            OSError: It cannot be opened, read or written; the message names it.
        """
        import sqlite3

        deadline, wait = 0.0, _FIRST_WAIT
        while True:
            try:
                with self.lock:
                    return self._visit(action)
            except sqlite3.IntegrityError:
                raise
            except sqlite3.Error as error:
                if code_of(error) not in (_BUSY, _LOCKED):
                    told = self._told(error)
                    if told is None:
                        raise
                    raise told from error
                now = time.monotonic()
                deadline = deadline or now + self._timeout
                if now >= deadline:
                    raise StoreBusyError(self.path or ":memory:", self._timeout, self.where) from error
            import asyncio

            await asyncio.sleep(wait)
            wait = min(wait * 1.5, _LONGEST_WAIT)

    def close(self) -> None:
        """Close the connection; the next action opens a new one."""
        with self.lock:
            self.drop()

    def drop(self) -> None:
        """Close the connection; the caller holds the lock."""
        self._connection = None
        self._close()
        self._close = _nothing

    def _visit(self, action: Action[_T]) -> _T:
        if self._connection is not None and self.path is not None and self._found() != self.file:
            self.drop()  # removed or replaced: the open one would take writes that nobody finds again
        connection = self._connection
        if connection is None:
            connection = self._opened()
        elif connection.in_transaction:  # an interrupt came just as one was being ended
            connection.rollback()
        try:
            return action(connection)
        finally:
            if self._passing:
                self.drop()

    def _opened(self) -> sqlite3.Connection:
        if self.path is not None and not self.path.exists():
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self._failed(error, "make the folder of") from error
        if self.path is not None and self.path.is_dir():
            told = f"{self.where}: {self.path} is a folder, not a database{self._of_folders}."
            raise _files.described(IsADirectoryError(errno.EISDIR, "it is a folder"), told, self.path)
        connection = self._connected()
        self.file = self._found()
        # Closed with the store, also when nobody closes it: nothing keeps the process alive or warns at its end.
        self._close = weakref.finalize(self, _closed, connection)
        try:
            self._prepare(connection)
        except BaseException:
            self.drop()
            raise
        self._connection = connection
        return connection

    def _found(self) -> object:
        """Return which file the path names, None where it names none; in memory each opening is another one."""
        if self.path is None:
            return object()
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _connected(self) -> sqlite3.Connection:
        import sqlite3

        self._passing = self._is_out_of_reach()
        name = ":memory:" if self.path is None else str(self.path)
        if self._passing:
            name = f"{Path(name).as_uri()}?immutable=1"
        return sqlite3.connect(
            name, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=64, uri=self._passing
        )

    def _is_out_of_reach(self) -> bool:
        """Whether nothing can be written beside the file, as on a read-only disk: SQLite cannot lock it then."""
        if self.path is None or os.access(self.path.parent, os.W_OK) or not self.path.exists():
            return False
        return not os.path.exists(f"{self.path}-wal")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        import sqlite3

        known = connection.execute("SELECT name FROM sqlite_master").fetchall()
        names = {name for (name,) in known}
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            if not {"session_entries", _INDEX_NAME} <= names:
                with Transaction(connection):
                    connection.execute(_TABLE)
                    self._check_columns(connection)
                    connection.execute(_INDEX)
        except sqlite3.OperationalError as error:
            if code_of(error) not in (READONLY, CANTOPEN) or "session_entries" not in names:
                raise
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        self._check_columns(connection)

    def _check_columns(self, connection: sqlite3.Connection) -> None:
        found = {row[1] for row in connection.execute("PRAGMA table_info(session_entries)")}
        missing = [name for name in FIELDS if name not in found]
        if missing:
            cause = f"it has no column {', '.join(missing)}, so it is no table of sessions"
            raise DamagedFileError(self.path or ":memory:", "table session_entries", cause, prefix=f"{self.where}: ")

    def _told(self, error: sqlite3.Error) -> Exception | None:
        code = code_of(error)
        if code in (_NOTADB, _CORRUPT):
            return DamagedFileError(self.path or ":memory:", "", str(error), prefix=f"{self.where}: ")
        if code in _ERRNO:
            return self._failed(OSError(_ERRNO[code], str(error)), "use")
        return None

    def _failed(self, error: OSError, verb: str) -> OSError:
        path = self.path or Path(":memory:")
        return _files.described(error, f"{self.where}: could not {verb} {path}: {error.strerror or error}.", path)


class Transaction:
    """Several statements, all of them or none; with the right to write from the beginning."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            if self._connection.in_transaction:
                self._connection.rollback()
            return
        try:
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.rollback()
            raise


def fetched(connection: sqlite3.Connection, clauses: str, values: Sequence[Any]) -> list[Any]:
    """Return rows with their rowid; a text that is no UTF-8 comes as bytes."""
    import sqlite3

    try:
        return connection.execute(f"SELECT rowid, {COLUMNS} FROM session_entries {clauses}", values).fetchall()
    except sqlite3.OperationalError as error:
        if "decode to UTF-8" not in str(error):
            raise
    factory = connection.text_factory
    try:
        connection.text_factory = _text
        return connection.execute(f"SELECT rowid, {COLUMNS} FROM session_entries {clauses}", values).fetchall()
    finally:
        connection.text_factory = factory


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def code_of(error: sqlite3.Error) -> int:
    """Return SQLite's number for the kind of an error."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _closed(connection: sqlite3.Connection) -> None:
    with suppress(Exception):  # it may be in use by a thread that the end of the process has stopped
        connection.close()


def _nothing() -> None:
    pass


_held: list[Database] = []


def _all() -> list[Database]:
    while True:
        with suppress(RuntimeError):  # another thread has made a store meanwhile
            return list(_databases)


def _before_fork() -> None:
    """Close connections: SQLite's locks belong to one process, and neither side could tell which it still has."""
    for database in sorted(_all(), key=id):  # in one order, should two threads fork at once
        database.lock.acquire()
        _held.append(database)
        if database.path is not None:
            database.drop()


def _after_fork() -> None:
    while _held:
        _held.pop().lock.release()


if hasattr(os, "register_at_fork"):
    # In the child, too, the thread that forked holds the locks.
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
