"""InMemoryStore: sessions in memory alone."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice

from ..._collector import without_collector
from ...errors import DuplicateEntryError, EntryNotFoundError
from .._entries import (
    Row,
    checked_id,
    checked_key,
    checked_limit,
    entry_of,
    row_of,
    rows_for,
    rows_of,
    updated_row,
)
from ..types import MemoryEntry, SessionInfo
from ._opened import Opened

_WHERE = "InMemoryStore"

_Key = tuple[str, str]


class InMemoryStore(Opened):
    """A store of sessions that lasts as long as the object: for tests and trials.

    What it is given and what it gives are copies: changing them changes nothing in the store. It can be used from any
    number of threads and event loops. Closing it forgets nothing.

    ::

        store = InMemoryStore()
        await store.add(MemoryEntry("session-1", user_id="alice", content="I prefer Python."))
        await store.get_entries("session-1", "alice")

    Attributes:
        damage: Always empty: only what is kept in files can be damaged.
    """

    damage: Sequence[tuple[str, str, str]] = ()

    def __init__(self) -> None:
        # Each session maps ids to rows in order of time. A row counts only if it is found there: so each change
        # happens by one step in one dict, and one that is interrupted has happened or has not.
        self._sessions: dict[_Key, dict[str, Row]] = {}
        self._keys: dict[str, _Key] = {}  # the session of each id, and of some that are gone
        self._late: set[_Key] = set()  # sessions whose last entry is not the newest: sorted when they are read
        self._lock = threading.Lock()
        self._changes = 0  # counted before each change, under the lock: so whoever is interrupted, it is never too low

    def __repr__(self) -> str:
        return "InMemoryStore()"

    async def initialize(self) -> None:
        """Do nothing: there is nothing to prepare."""

    async def close(self) -> None:
        """Do nothing: what the store holds stays."""

    async def add(self, entry: MemoryEntry) -> None:
        """Store a new entry.

        Raises:
            ConfigError: It cannot be stored; the message names the field. A ValueError.
            DuplicateEntryError: Its id is taken. A ValueError.
        """
        row = row_of(entry, _WHERE)
        with self._lock:
            self._changes += 1
            self._refuse_known(row[0])
            self._put(row)

    async def add_many(self, entries: Iterable[MemoryEntry]) -> None:
        """Store new entries: all of them, or none where one is refused.

        Raises:
            ConfigError: As for :meth:`add`; the message names the entry, counted from 1.
            DuplicateEntryError: As for :meth:`add`, or two of the entries have one id.
        """
        with without_collector():
            rows = rows_of(entries, _WHERE)
            with self._lock:
                self._changes += 1
                for row in rows:
                    self._refuse_known(row[0])
                changed = {row[1:3]: dict(self._sessions.get(row[1:3], ())) for row in rows}
                for row in rows:
                    self._keys[row[0]] = row[1:3]
                    changed[row[1:3]][row[0]] = row
                self._late.update(changed)
                self._sessions.update(changed)

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
        """
        checked_key(session_id, user_id, _WHERE)
        if checked_limit(limit, _WHERE) is None:
            rows = self._rows((session_id, user_id))
            with without_collector():
                return [entry_of(row) for row in rows]
        return [entry_of(row) for row in self._rows((session_id, user_id), limit)]

    async def iter_entries(self, session_id: str, user_id: str = "default") -> AsyncIterator[MemoryEntry]:
        """Give the entries of a user's session one after the other, as they are at the start.

        Raises:
            ConfigError: An empty id.
        """
        checked_key(session_id, user_id, _WHERE)
        for row in self._rows((session_id, user_id)):
            yield entry_of(row)

    async def get_entry(self, memory_id: str) -> MemoryEntry | None:
        """Return the entry with this id, or None."""
        row = self._row(checked_id(memory_id, _WHERE))
        return None if row is None else entry_of(row)

    async def update(self, entry: MemoryEntry) -> None:
        """Replace role, content and message data of the entry that has the same id.

        Its ``created_at`` stays, its ``updated_at`` becomes now. Message data that repeats the content or the role
        follows a change of these, unless it is changed too.

        Raises:
            EntryNotFoundError: No entry has this id. A KeyError.
            ConfigError: It cannot be stored, or names another session or user. A ValueError.
        """
        new = row_of(entry, _WHERE)
        with self._lock:
            self._changes += 1
            old = self._row(new[0])
            if old is None:
                raise EntryNotFoundError(new[0], _WHERE)
            self._sessions[old[1:3]][old[0]] = updated_row(old, new, _WHERE)

    async def delete(self, memory_id: str) -> None:
        """Remove the entry with this id, if there is one."""
        with self._lock:
            self._changes += 1
            key = self._keys.get(checked_id(memory_id, _WHERE))
            if key is not None:
                self._sessions.get(key, {}).pop(memory_id, None)
                self._keys.pop(memory_id, None)

    async def delete_session(self, session_id: str, user_id: str | None = "default") -> None:
        """Remove all entries of a user's session, or with ``user_id=None`` those of all its users.

        Raises:
            ConfigError: An empty id.
        """
        checked_key(session_id, "default" if user_id is None else user_id, _WHERE)
        with self._lock:
            self._changes += 1
            gone = (
                [(session_id, user_id)]
                if user_id is not None
                else [key for key in self._sessions if key[0] == session_id]
            )
            before, kept = self._sessions, dict(self._sessions)
            for key in gone:
                kept.pop(key, None)
            self._sessions = kept
            for key in gone:
                self._forget(before.get(key, ()))

    async def count(self, session_id: str, user_id: str = "default") -> int:
        """Return how many entries a user's session has.

        Raises:
            ConfigError: An empty id.
        """
        checked_key(session_id, user_id, _WHERE)
        return len(self._sessions.get((session_id, user_id), ()))

    async def sessions(self) -> list[SessionInfo]:
        """Return what users' sessions there are, by session and user."""
        held = [(key, rows) for key in sorted(self._sessions) if (rows := self._rows(key))]
        return [SessionInfo(*key, len(rows), rows[0][6], rows[-1][6]) for key, rows in held]

    async def revision(self, session_id: str | None = None) -> int:
        """Return a number that is another after each change, of whichever session."""
        with self._lock:
            return self._changes

    async def replace_session(
        self,
        session_id: str,
        user_id: str,
        entries: Sequence[MemoryEntry],
        expected: Sequence[MemoryEntry] | None = None,
    ) -> bool:
        """Put these entries in the place of all that a user's session holds: all of them or, if one is refused, none.

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
        """
        rows = rows_for(session_id, user_id, entries, _WHERE)
        seen = None if expected is None else rows_for(session_id, user_id, expected, _WHERE)
        key = (session_id, user_id)
        with self._lock:
            self._changes += 1
            if seen is not None and seen != self._ordered(key):
                return False
            for row in rows:
                if self._keys.get(row[0]) != key:
                    self._refuse_known(row[0])
            old = self._sessions.get(key, {})
            self._keys.update((row[0], key) for row in rows)
            self._late.add(key)
            self._sessions[key] = new = {row[0]: row for row in rows}
            self._forget(old.keys() - new.keys())
        return True

    def _refuse_known(self, id: str) -> None:
        if id in self._keys and self._row(id) is not None:
            raise DuplicateEntryError(id, _WHERE)

    def _row(self, id: str) -> Row | None:
        key = self._keys.get(id)
        return None if key is None else self._sessions.get(key, {}).get(id)

    def _put(self, row: Row) -> None:
        key = row[1:3]
        rows = self._sessions.get(key)
        if rows is None:
            rows = self._sessions[key] = {}
        elif rows and rows[next(reversed(rows))][6] > row[6]:
            self._late.add(key)
        self._keys[row[0]] = key
        rows[row[0]] = row

    def _rows(self, key: _Key, limit: int | None = None) -> list[Row]:
        with self._lock:
            if limit is None:
                return self._ordered(key)
            self._sort(key)
            return list(islice(reversed(self._sessions.get(key, {}).values()), limit))[::-1]

    def _ordered(self, key: _Key) -> list[Row]:
        """Return a session's rows in order of time; call it under the lock."""
        self._sort(key)
        return list(self._sessions.get(key, {}).values())

    def _sort(self, key: _Key) -> None:
        if key in self._late and key in self._sessions:
            rows = self._sessions[key]
            self._sessions[key] = dict(sorted(rows.items(), key=_time))  # stable: equal times in the order of adding
        self._late.discard(key)

    def _forget(self, ids: Iterable[str]) -> None:
        for id in ids:
            self._keys.pop(id, None)


def _time(item: tuple[str, Row]) -> float:
    return item[1][6]
