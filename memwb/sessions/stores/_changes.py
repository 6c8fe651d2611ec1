"""How the files of sessions are changed: one writer at a time, by lines at the end or by a new file in the place."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from io import FileIO
from typing import Any, TypeVar

import orjson

from ... import _files
from ...errors import DamagedFileError, DuplicateEntryError, StoreBusyError
from .._entries import Row
from ._folder import GONE, Folder, listed
from ._lines import NO_KEY, Key, Lines, line_of
from ._looked import ENDING
from ._names import names_of

_T = TypeVar("_T")

_PAGE = 4096  # bytes; a kill can come between two pages of one write

_PAUSE, _LONGEST_PAUSE = 0.0005, 0.02  # seconds between two tries to get the lock; the first and the longest

_TRIES = 50
"""How often a change begins again because a program that takes no lock changed the file meanwhile."""


class Changes:
    """The one who changes the files of a folder.

    All of it happens under one lock, that of the file ``.memwb`` in the folder. The file itself is there only while
    several lines or a long one are being added: it tells how to take them back if that is cut off.
    """

    def __init__(self, folder: Folder, *, durable: bool, timeout: float, where: str) -> None:
        self._folder, self._durable, self._timeout, self._where = folder, durable, timeout, where
        self._notes = folder.lock_target
        self._all_known = False  # whether every id is in folder.ids: so it was when the lock's turn was this one
        self._turn: int | None = None
        self._exact = False  # whether the file system keeps the turn as it is written, to the nanosecond
        self._checked_ids = self._swept = False

    async def make(self, action: Callable[[], _T]) -> _T:
        """Change something while no other thread, store or process that uses memwb does; return what the action gives.

        Where a program that takes no lock changes a file meanwhile, the action is done again.

        Raises:
            StoreBusyError: Another process held the lock for too long.
        """

        def change() -> _T:
            turn = _files.turn(self._notes)
            if turn is None or turn != self._turn:  # else nobody has changed anything since this store did
                self._take_back()
                self._all_known = False
            marked = _files.mark(self._notes, turn)
            for _ in range(_TRIES):
                try:
                    result = action()
                except _files.FileChangedError:
                    continue
                self._turn = marked if self._exact else _files.turn(self._notes)
                self._exact = self._turn is not None and self._turn == marked
                return result
            raise OSError(f"{self._where}: another program, which takes no lock, keeps changing a file")

        if not self._swept:
            await self._alone(self._sweep)
        return await self._alone(change)

    async def _alone(self, action: Callable[[], _T]) -> _T:
        """Do it under the lock; while another process holds that, the event loop goes on."""
        began, tries = time.monotonic(), 0
        while True:
            try:
                return _files.exclusively(self._notes, action, wait=False)
            except _files.LockedError:
                tries += 1
            await self._pause(began, tries)

    async def _pause(self, began: float, tries: int) -> None:
        if time.monotonic() - began >= self._timeout:
            raise StoreBusyError(f"{self._notes}.lock", self._timeout, self._where)
        import asyncio  # here, since it takes long to load, and is loaded by whoever has an event loop

        await asyncio.sleep(min(tries * _PAUSE, _LONGEST_PAUSE))

    async def finish_what_was_cut_off(self, session_id: str | None = None) -> None:
        """Take back what a killed program has added in part, before a session, or with None all of them, are read.

        Where another process is adding several entries just now, that is waited for, since all of them are seen or
        none; not for those of other sessions.

        Raises:
            StoreBusyError: It took too long.
        """
        began, tries = time.monotonic(), 0
        while self._is_noted():
            try:
                _files.exclusively(self._notes, self._take_back, wait=False)
            except PermissionError:  # who may not write reads what is there
                return
            except _files.LockedError:
                if session_id is not None and not self._is_adding_to(session_id):
                    return
                tries += 1
                await self._pause(began, tries)

    def _is_noted(self) -> bool:
        return os.path.exists(self._notes)

    def _is_adding_to(self, session_id: str) -> bool:
        names = names_of(session_id)
        return any(os.path.basename(os.path.dirname(path)) in names for path, *_ in self._read_notes())

    def refuse_known(self, rows: Sequence[Row], but: str | None = None) -> dict[Key, str]:
        """Raise :class:`DuplicateEntryError` for the first id that is taken, in any file or any ``but`` one.

        Returns:
            The files of the rows' sessions, as far as they were looked at.
        """
        ids, found = [row[0] for row in rows], {}
        if self._all_known:  # unless a program that takes no lock has added to these very files
            for key in {(row[1], row[2]) for row in rows}:
                if path := self._folder.find(key, read=True):
                    found[key] = path
        elif self._checked_ids or len(ids) > 1:
            for path in self._folder.files():
                self._folder.spared(path, partial(self._folder.looked, path))
            self._all_known = True
        for id in ids:
            if self._all_known and self._folder.ids.get(id) in (None, but):
                continue
            path = self._folder.known_place(id)
            if path is None and (place := self._folder.locate(id)):
                path = place.path
            if path not in (None, but):
                raise DuplicateEntryError(id, self._where)
        self._checked_ids = True  # the first time an id is sought in the bytes alone, which is faster
        return found

    def path_for(self, key: Key, planned: Collection[str] = ()) -> str:
        """Return the file of a user's session, or the place for a new one, in a folder that is there.

        Args:
            key: Session and user.
            planned: Files that are about to be made, too.
        """
        folder = self._folder
        path = folder.find(key)
        if path is not None:
            return path
        place = folder.made(folder.free_name(folder.path, key[0]))
        soon = [os.path.basename(path) for path in planned if os.path.dirname(path) == place]
        path = os.path.join(place, folder.free_name(place, key[1], ENDING, soon))
        lines = folder.looked(path)
        if lines is not None and lines.key not in (NO_KEY, key):
            cause = f"it holds session {lines.key[0]!r:.60} and user {lines.key[1]!r:.60}, not {key[0]!r:.60}"
            raise DamagedFileError(path, "", cause, prefix=f"{self._where}: ", advice="Move it to another place.")
        return path

    def append(self, rows: Sequence[Row], keys: dict[Key, str]) -> None:
        """Add entries whose ids are not taken: all of them or none; ``keys``: files that are known to be theirs."""
        by_file: dict[str, list[Row]] = {}
        for row in rows:
            key = (row[1], row[2])
            path = keys.get(key) or keys.setdefault(key, self.path_for(key, by_file))
            by_file.setdefault(path, []).append(row)
        written = {path: [line_of(row) for row in rows] for path, rows in by_file.items()}
        noted = len(rows) > 1 or any(len(line) > _PAGE for lines in written.values() for line in lines)
        if noted:
            self._write_notes(written)
        try:
            for path, lines in written.items():
                self._append(path, by_file[path], lines)
            if noted:
                os.unlink(self._notes)
        except BaseException:
            self._take_back()
            raise

    def replace(self, path: str, parts: Sequence[bytes | memoryview], over: _files.Signature | None) -> None:
        """Put other bytes in a file's place.

        Raises:
            FileChangedError: It is not as ``over`` says.
        """
        target = _files.resolve(path)
        self._folder.taken(path)
        _files.replace(target, parts, durable=self._durable, over=over, under=self._notes)
        self._folder.forget(path)

    def remove(self, paths: Sequence[str], over: object = _files.UNSEEN) -> None:
        """Remove files; those of one folder, with nothing else in it, at one stroke.

        Raises:
            FileChangedError: The file is not as ``over`` says.
        """
        if over is not _files.UNSEEN and [_files.look(path) for path in paths] != [over]:
            raise _files.FileChangedError(paths[0])
        folders = {os.path.dirname(path) for path in paths}
        for folder in folders:
            here = [path for path in paths if os.path.dirname(path) == folder]
            others = {entry.path for entry in listed(folder)} - set(here)
            if len(here) > 1 and not others and not os.path.islink(folder):
                gone = os.path.join(self._folder.path, GONE + os.urandom(6).hex())
                os.rename(folder, gone)
                _clear(gone)
            else:
                for path in here:
                    os.unlink(path)
                with suppress(OSError):  # not empty
                    os.rmdir(folder)
        for path in paths:
            self._folder.forget(path, gone=True)

    def _append(self, path: str, rows: list[Row], lines: list[bytes]) -> None:
        folder = self._folder
        written = _files.append(_files.resolve(path), b"".join(lines), durable=self._durable)
        known = folder.taken(path, written.before)
        if known is None and written.before[2] == 0:
            known = Lines()
        if known is not None:
            if len(written.data) > sum(map(len, lines)):
                lines = [b"\n" + lines[0], *lines[1:]]
            for row, line in zip(rows, lines, strict=True):
                known.extend(row, line)
            folder.put(path, known, _files.Written(written.signature, written.sealed))
        for row in rows:
            folder.ids[row[0]] = path

    def _write_notes(self, added: dict[str, list[bytes]]) -> None:
        notes = []
        for path, lines in added.items():
            size = os.path.getsize(path) if os.path.exists(path) else None
            names = os.path.relpath(path, self._folder.path).split(os.sep)
            notes.append([*names, size, sum(map(len, lines)), list(map(zlib.crc32, lines))])
        _files.replace(self._notes, orjson.dumps(notes))

    def _take_back(self) -> None:
        """Take back what was added in part, as the notes say."""
        if not self._is_noted():
            return
        for path, before, length, sums in self._read_notes():
            with suppress(FileNotFoundError):
                size = os.path.getsize(path)
                most = (before or 0) + length + (before is not None)  # with the newline that was missing
                if (before or 0) <= size <= most and _is_start_of(sums, _tail(path, before or 0)):
                    if before is None:
                        os.unlink(path)
                    elif size > before:
                        os.truncate(path, before)
                # else another program has added to it since: all of it stays, a line that was cut off is damage
            self._folder.forget(path, gone=True)
        os.unlink(self._notes)
        self._all_known = False

    def _read_notes(self) -> list[tuple[str, int | None, int, list[int] | None]]:
        found = _files.read(self._notes)
        try:
            notes: Any = orjson.loads(found[0] if found else b"[]")
            return [
                (
                    os.path.join(self._folder.path, os.path.basename(session), os.path.basename(user)),
                    size,
                    int(length),
                    list(sums[0]) if sums else None,  # earlier versions of memwb note none
                )
                for session, user, size, length, *sums in notes
            ]
        except (ValueError, TypeError) as error:
            cause = "it is no note of memwb's, whose place this is"
            raise DamagedFileError(
                self._notes, "", cause, prefix=f"{self._where}: ", advice="Move it to another place."
            ) from error

    def _sweep(self) -> None:
        """Remove the folders that killed programs were removing."""
        for entry in listed(self._folder.path):
            if entry.name.startswith(GONE):
                _clear(entry.path)
        _files.keep_notes(self._notes)
        self._swept = True


def _tail(path: str, start: int) -> bytes:
    with FileIO(path) as file:
        file.seek(start)
        return file.readall()


def _is_start_of(sums: list[int] | None, added: bytes) -> bool:
    """Whether bytes begin what was to be added, as the CRC-32 of its lines tells; the last one may be cut."""
    *whole, rest = added.removeprefix(b"\n").split(b"\n")
    if sums is None:
        return True
    found = [zlib.crc32(line + b"\n") for line in whole]
    return found == sums[: len(found)] and (not rest or len(found) < len(sums))


def _clear(folder: str) -> None:
    for entry in listed(folder):
        with suppress(OSError):
            os.unlink(entry.path)
    with suppress(OSError):
        os.rmdir(folder)
