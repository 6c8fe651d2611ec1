"""FileStore: sessions as files of lines, one for each user of a session."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import partial
from io import FileIO
from pathlib import Path

from ... import _json
from ..._collector import without_collector
from ..._settings import checked_flag, checked_path, checked_seconds
from ...errors import ConfigError, EntryNotFoundError
from .._entries import (
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
from . import _lines
from ._changes import Changes
from ._folder import Folder
from ._opened import Opened

_PAGE = 500  # entries that iter_entries holds at a time


class FileStore(Opened):
    """A store of sessions in files that a person can read: ``<base_dir>/<session_id>/<user_id>.jsonl``.

    Each line is one entry as JSON, in the layout of Definable: each opens what the other wrote. An id that is no safe
    file name on every system is encoded, so that no id leads out of the folder, and no two to the same file.

    - It can be used from any number of threads, event loops and processes at once; writers take turns by a lock on
      ``.memwb.lock`` in the folder, without stopping the event loop, and raise
      :class:`~memwb.errors.StoreBusyError` where it is held for too long. Readers wait only while another process adds
      several entries to what they read: they see all of these or none. What a call has acknowledged is kept, also when
      the process is killed or interrupted; through a power cut only with ``durable=True``. Definable takes no lock:
      what it writes at the same moment can be lost.
    - A line that cannot be read is left out, warned of once and listed in :attr:`damage`; it stays in the file. Fields
      that memwb does not know are kept. A file that the system does not let be read is listed there too, and the
      others are served: an id that it alone holds counts as free.
    - Files that have not changed are not read again, nor by the next program: where a writer has been, the last one
      leaves what it found in ``.memwb.known`` in the folder, which may be removed at any time. An entry is added by
      one write at the file's end; ``update`` and ``delete`` write the file anew. So sessions of some thousand entries
      are served well; for larger ones take :class:`SQLiteStore`.

    ::

        store = FileStore("memory_data")
        await store.add(MemoryEntry("session-1", user_id="alice", content="I prefer Python."))
        await store.get_entries("session-1", "alice")

    Attributes:
        path: The folder, fixed when the store is built.
    """

    path: Path

    def __init__(
        self, base_dir: str | os.PathLike[str] = ".memory", *, durable: bool = False, timeout: float = 30.0
    ) -> None:
        """Build the store; no file is touched yet.

        Args:
            base_dir: The folder; it is made when it is first needed. ``~`` is your home.
            durable: Wait at each write until it is on the disk, so that it outlives a power cut too.
            timeout: How many seconds a write waits while another process holds the lock, at least 0.

        Raises:
            ConfigError: A value that its argument cannot take, or the path of a file. A ValueError.
        """
        self.path = checked_path(base_dir, "base_dir", "FileStore")
        if self.path.is_file():
            raise ConfigError(
                f"FileStore: base_dir {str(self.path)!r} is a file; it must be a folder, where each session has one. "
                "A database is opened by SQLiteStore(path); entries in JSON lines come into a store by "
                "`await memwb.transfer.transfer(path, store)`.",
                key="base_dir",
                value=str(self.path),
            )
        self._where = f"FileStore({str(self.path)!r})"
        self._folder = Folder(self.path, self._where)
        self._changes = Changes(
            self._folder,
            durable=checked_flag(durable, "durable", "FileStore"),
            timeout=checked_seconds(timeout, "timeout", "FileStore"),
            where=self._where,
        )
        self._begun: set[str] = set()  # files of sessions that replace_session began

    def __repr__(self) -> str:
        return self._where

    @property
    def damage(self) -> list[tuple[str, str, str]]:
        """What was met and cannot be read, as ``(file, "line 3", reason)``; of a whole file: ``"all lines"``."""
        return self._folder.damage()

    async def initialize(self) -> None:
        """Make the folder, if it is not there; each first write does the same.

        Raises:
            OSError: It cannot be made.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        await self._changes.finish_what_was_cut_off()

    async def close(self) -> None:
        """Leave what is known of the files for the next program; no file stays open between calls."""
        self._folder.leave_notes()

    async def add(self, entry: MemoryEntry) -> None:
        """Store a new entry, by one write at the end of its file.

        Raises:
            ConfigError: It cannot be stored; the message names the field. A ValueError.
            DuplicateEntryError: Its id is taken. A ValueError.
            StoreBusyError: Another process held the lock for too long. A TimeoutError, hence an OSError.
            OSError: It could not be written. Nothing was stored.
        """
        row = row_of(entry, self._where)

        def add() -> None:
            self._changes.append([row], self._changes.refuse_known([row]))

        await self._changes.make(add)

    async def add_many(self, entries: Iterable[MemoryEntry]) -> None:
        """Store new entries: all of them, or none where one is refused or the process is killed.

        Raises:
            ConfigError: As for :meth:`add`; the message names the entry, counted from 1.
            DuplicateEntryError: As for :meth:`add`, or two of the entries have one id.
            OSError: As for :meth:`add`.
        """
        with without_collector():
            rows = rows_of(entries, self._where)

        def add() -> None:
            self._changes.append(rows, self._changes.refuse_known(rows))

        await self._changes.make(add)

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
            StoreBusyError: Another process kept adding to it for too long. A TimeoutError, hence an OSError.
            OSError: The file could not be read.
        """
        path = await self._file(session_id, user_id)
        newest = checked_limit(limit, self._where)
        if path is None:
            return []
        return self._folder.entries(path) if newest is None else self._folder.some(path, lambda it: it.newest(newest))

    async def iter_entries(self, session_id: str, user_id: str = "default") -> AsyncIterator[MemoryEntry]:
        """Give the entries of a user's session one after the other, some hundreds in memory at a time.

        Raises:
            ConfigError: An empty id.
            DamagedFileError: Another program changes the file in its place meanwhile.
            StoreBusyError: Another process kept adding to it for too long. A TimeoutError, hence an OSError.
            OSError: The file could not be read.
        """
        path = await self._file(session_id, user_id)
        lines = None if path is None else self._folder.looked(path)
        if path is None or lines is None:
            return
        order, starts, ends = lines.ordered(), lines.starts[:], lines.ends[:]
        with FileIO(path) as file:
            for first in range(0, len(order), _PAGE):
                spans = [(starts[place], ends[place]) for place in order[first : first + _PAGE]]
                for entry in self._folder.read_at(path, file, spans):
                    yield entry

    async def get_entry(self, memory_id: str) -> MemoryEntry | None:
        """Return the entry with this id, or None.

        Raises:
            StoreBusyError: Another process kept adding to it for too long. A TimeoutError, hence an OSError.
            OSError: A file could not be read.
        """
        id = checked_id(memory_id, self._where)
        await self._changes.finish_what_was_cut_off()
        path = self._folder.known_place(id)
        if path is not None:
            found = self._folder.some(path, lambda lines: [lines.ids[id]] if id in lines.ids else [])
            if found:
                return found[0]
        return self._folder.entry(id)

    async def update(self, entry: MemoryEntry) -> None:
        """Replace role, content and message data of the entry that has the same id.

        Its ``created_at`` stays, its ``updated_at`` becomes now. Message data that repeats the content or the role
        follows a change of these, unless it is changed too. The file is replaced by a new one, whole or not at all.

        Raises:
            EntryNotFoundError: No entry has this id. A KeyError.
            ConfigError: It cannot be stored, or names another session or user. A ValueError.
            StoreBusyError: Another process held the lock for too long. A TimeoutError, hence an OSError.
            OSError: It could not be written. Nothing was changed.
        """
        new = row_of(entry, self._where)

        def update() -> None:
            own = self._folder.find((new[1], new[2]))
            place = self._folder.locate(new[0], () if own is None else (own,))
            if place is None:
                raise EntryNotFoundError(new[0], self._where)
            kept = _json.loads(place.data[place.begin : place.end])
            row = updated_row(row_of(place.entry, self._where), new, self._where)
            line = _lines.line_of(row, kept)[:-1]
            data = memoryview(place.data)
            self._changes.replace(place.path, [data[: place.begin], line, data[place.end :]], place.signature)

        await self._changes.make(update)

    async def delete(self, memory_id: str) -> None:
        """Remove the entry with this id, if there is one. The file is replaced by a new one, whole or not at all.

        Raises:
            StoreBusyError: Another process held the lock for too long. A TimeoutError, hence an OSError.
            OSError: It could not be written. Nothing was changed.
        """
        id = checked_id(memory_id, self._where)

        def delete() -> None:
            place = self._folder.locate(id)
            if place is not None:
                data = memoryview(place.data)
                parts = [data[: place.begin], data[place.end + 1 :]]
                self._changes.replace(place.path, parts, place.signature)
                self._folder.ids.pop(id, None)

        await self._changes.make(delete)

    async def delete_session(self, session_id: str, user_id: str | None = "default") -> None:
        """Remove all entries of a user's session, or with ``user_id=None`` those of all its users.

        Their damaged lines go with them.

        Raises:
            ConfigError: An empty id.
            StoreBusyError: As for :meth:`add`.
            OSError: A file could not be removed.
        """
        key = checked_key(session_id, "default" if user_id is None else user_id, self._where)

        def delete() -> None:
            if user_id is None:
                self._changes.remove(self._folder.of_session(session_id))
            else:
                path = self._folder.find(key)
                self._changes.remove([] if path is None else [path])

        await self._changes.make(delete)

    async def count(self, session_id: str, user_id: str = "default") -> int:
        """Return how many entries a user's session has.

        Raises:
            ConfigError: An empty id.
            StoreBusyError: Another process kept adding to it for too long. A TimeoutError, hence an OSError.
            OSError: The file could not be read.
        """
        path = await self._file(session_id, user_id)
        return 0 if path is None else self._folder.count(path)

    async def sessions(self) -> list[SessionInfo]:
        """Return what users' sessions there are, by session and user.

        Raises:
            StoreBusyError: Another process kept adding to it for too long. A TimeoutError, hence an OSError.
            OSError: A file could not be read.
        """
        await self._changes.finish_what_was_cut_off()
        infos = [self._folder.spared(path, partial(self._info, path)) for path in self._folder.files()]
        return sorted(filter(None, infos), key=lambda info: (info.session_id, info.user_id))

    async def revision(self, session_id: str | None = None) -> tuple[object, ...] | None:
        """Return what is another after each change, whoever made it: the state of every file, or of a session's files.

        It is None while a file has changed so lately that it may change again without its times showing it.

        Raises:
            StoreBusyError: Another process kept adding to it for too long. A TimeoutError, hence an OSError.
            OSError: A folder could not be read.
        """
        await self._changes.finish_what_was_cut_off(session_id)
        return self._folder.state(None if session_id is None else self._folder.of_session(session_id))

    async def replace_session(
        self,
        session_id: str,
        user_id: str,
        entries: Sequence[MemoryEntry],
        expected: Sequence[MemoryEntry] | None = None,
    ) -> bool:
        """Put these entries in the place of all that a user's session holds: all of them or, if one is refused, none.

        The file is replaced by a new one, whole or not at all. Its damaged lines stay, at its end. A session that was
        begun so, and has lost all its entries in the same way, leaves no file, as if it had never been there; any other
        leaves an empty one.

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
            StoreBusyError: Another process held the lock for too long. A TimeoutError, hence an OSError.
            OSError: It could not be written. Nothing was changed.
        """
        rows = rows_for(session_id, user_id, entries, self._where)
        seen = None if expected is None else [entry_of(row) for row in rows_of(expected, self._where)]

        def replace() -> bool:
            path = self._folder.find((session_id, user_id))
            if seen is not None and seen != ([] if path is None else self._folder.entries(path)):
                return False
            self._changes.refuse_known(rows, but=path)
            is_new = path is None
            path = self._changes.path_for((session_id, user_id))
            damaged, signature = self._folder.damaged_lines(path)
            if path in self._begun and not rows and not damaged:
                self._changes.remove([path], signature)
                self._begun.discard(path)
                return True
            self._changes.replace(path, [*map(_lines.line_of, rows), *damaged], signature)
            if is_new:
                self._begun.add(path)
            for row in rows:
                self._folder.ids[row[0]] = path
            return True

        return await self._changes.make(replace)

    def _info(self, path: str) -> SessionInfo | None:
        held = self._folder.held(path)
        if held is None or not held.entries:
            return None
        if self._folder.find(held.key) == path:
            return SessionInfo(*held.key, held.entries, held.first, held.last)
        if self._folder.held(path) == held:  # it was not removed just now
            session_id, user_id = held.key
            reason = f"it holds entries of session {session_id!r:.60} and user {user_id!r:.60}, but not in their place"
            self._folder.note(path, [(path, "all lines", reason)])
        return None

    async def _file(self, session_id: str, user_id: str) -> str | None:
        key = checked_key(session_id, user_id, self._where)
        await self._changes.finish_what_was_cut_off(session_id)
        return self._folder.find(key)
