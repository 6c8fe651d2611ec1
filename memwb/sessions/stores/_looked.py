"""The files of sessions in a folder, looked into: what is in each, what is damaged, what is known without reading."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from io import FileIO
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from ... import _files
from ..._collector import without_collector
from ...errors import DamagedFileError
from ..types import MemoryEntry
from . import _lines
from ._damage import Damage
from ._known import known_of
from ._lines import NO_KEY, Key, Lines
from ._names import folded, names_of
from ._noted import Noted, leave, told_by

ENDING = ".jsonl"
_SETTLED_NS = 2_000_000_000
"""A file that changed less than this before a look may change again without its times showing it."""
_AGAIN, _AGAINS = 0.003, 200  # seconds until a last line that is not complete is read again, and how often
_TRIES = 5
_OUT_OF_MEANS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # which says nothing of the file

_T = TypeVar("_T")

_id_of, _created_at = attrgetter("memory_id"), attrgetter("created_at")


class Looked:
    """What is in the files of a folder, as a reader sees them; it takes no lock that others know of.

    What has been learned of a file is kept and holds as long as its signature stays. What is being changed is taken
    out before and put back after, so that an interrupt makes it unknown, but never wrong.
    """

    def __init__(self, path: Path, where: str) -> None:
        self.path = str(path)
        self.lock_target = _files.Target(os.path.join(self.path, ".memwb"))
        self._known = known_of(self.path)
        self._lines = self._known.lines
        self._damage: dict[str, list[Damage]] = {}
        self._noted: dict[str, Lines] = {}  # the lines with damage that was noted here
        self._scanned = self._known.scanned
        self._names: tuple[_files.Signature, set[str], set[str]] | None = None
        self._unreadable: set[str] = set()
        self._where = where
        self.ids = self._known.ids

    def spared(self, path: str, look: Callable[[], _T]) -> _T | None:
        """Look at one file or folder of all; None, and noted as damage, where the system does not let it be read."""
        try:
            return look()
        except FileNotFoundError:  # it has just been removed
            return None
        except OSError as error:
            if error.errno in _OUT_OF_MEANS:
                raise
            self._unreadable.add(path)
            self.note(path, [(path, "all lines", f"it cannot be read: {error.strerror or error}")])
            return None

    def leave_notes(self) -> None:
        """Note for the next process what is known, where a writer of memwb has been."""
        leave(self.path, self._lines)

    def looked(self, path: str) -> Lines | None:
        """Return what is in a file now, or None where there is none; it is read only after a change."""
        with self._known.lock:
            known = self._lines.get(path)
            if known is not None and known.proven and self._looks_like(path, known):
                return known
            loaded = self._load(path)
            return None if loaded is None else loaded[0]

    def count(self, path: str) -> int:
        """Return how many entries a file holds; it is read only where nobody has noted that."""
        noted = self._noted_of(path)
        lines = None if noted else self.looked(path)
        return noted.entries if noted else len(lines.starts) if lines else 0

    def held(self, path: str) -> Noted | None:
        """Return what a file holds now, or None where there is none; it is read only where nobody has noted that."""
        noted = self._noted_of(path)
        lines = None if noted else self.looked(path)
        return noted if lines is None else told_by(lines)

    def _noted_of(self, path: str) -> Noted | None:
        """Return what an earlier process has noted of a file, while it is unknown to this one."""
        return None if path in self._lines else self._known.notes.of(path, self._look(path))

    def entries(self, path: str) -> list[MemoryEntry]:
        """Return all entries of a file in order of time."""
        with self._known.lock:
            noted = self._noted_of(path)
            if noted and (entries := self._again(path, noted)):
                return entries
            loaded = self._load(path)
        if loaded is None:
            return []
        lines, data, entries = loaded
        if entries is None:
            with without_collector():
                entries = lines.read_again(data)
        return entries if lines.in_order else [entries[place] for place in lines.ordered()]

    def _again(self, path: str, noted: Noted) -> list[MemoryEntry] | None:
        """Return the entries of a file of which all lines have been checked before; None: they have to be again."""
        found = _files.read(path) if noted.common else None
        if found is None or self._known.notes.of(path, found[1]) != noted:
            return None
        with without_collector():
            entries = _lines.read_checked(found[0])
        if len(entries) != noted.entries:
            return None
        return entries if noted.in_order else sorted(entries, key=_created_at)

    def damaged_lines(self, path: str) -> tuple[list[bytes], _files.Signature | None]:
        """Return the lines of a file that cannot be read, and the state that it has; None: there is no file."""
        with self._known.lock:
            loaded = self._load(path)
        if loaded is None:
            return [], None
        lines, data, _ = loaded
        return [data[begin:end] + b"\n" for _, begin, end, _ in lines.damage], lines.signature

    def some(self, path: str, choose: Callable[[Lines], Sequence[int]]) -> list[MemoryEntry]:
        """Return some of a file's entries, of which only the lines are read."""
        for _ in range(_TRIES):  # again when the file is changed meanwhile
            lines = self.looked(path)
            if lines is None:
                return []
            with suppress(FileNotFoundError), FileIO(path) as file:
                if _files.signature(os.fstat(file.fileno())) == lines.signature:
                    spans = [(lines.starts[place], lines.ends[place]) for place in choose(lines)]
                    return self.read_at(path, file, spans)
        with self._known.lock:
            loaded = self._load(path)
        if loaded is None:
            return []
        return [entry_in(path, loaded[1], loaded[0].starts[at], loaded[0].ends[at]) for at in choose(loaded[0])]

    def read_at(self, path: str, file: FileIO, spans: Sequence[tuple[int, int]]) -> list[MemoryEntry]:
        """Read the entries in these places of an open file; in one step where they lie near each other."""
        if not spans:
            return []
        start, end = min(begin for begin, _ in spans), max(to for _, to in spans)
        if end - start <= 2 * sum(to - begin for begin, to in spans) + 4096:
            file.seek(start)
            data = file.read(end - start)
            return [entry_in(path, data, begin - start, to - start) for begin, to in spans]
        return [entry for span in spans for entry in self.read_at(path, file, [span])]

    def taken(self, path: str, before: _files.Signature | None = None) -> Lines | None:
        """Take out what is known of a file, in order to change it and, if it was in this state, to put it back."""
        known = self._lines.pop(path, None)
        return known if known is not None and known.signature == before else None

    def put(self, path: str, lines: Lines, written: _files.Written) -> None:
        """Put back what is known of a file."""
        lines.signature, lines.proven = written.signature, written.sealed
        self._lines[path] = lines

    def forget(self, path: str, *, gone: bool = False) -> None:
        """Forget what is known of a file that was changed; its damage is looked up again, unless it is gone."""
        self._lines.pop(path, None)
        self._scanned.pop(path, None)
        if self._damage.pop(path, None) and not gone:
            self.looked(path)

    def note(self, path: str, found: list[Damage], keys: Sequence[object] = ()) -> None:
        """Note what is damaged in a file, in the place of what was noted before, and tell of what is new.

        Args:
            path: The file.
            found: Its damage.
            keys: What makes each the same as before, although its line has moved.
        """
        if found:
            self._damage[path] = found
        else:
            self._damage.pop(path, None)
        self._known.telling.tell(self._where, found, [(path, key) for key in keys or found])

    def damage(self) -> list[Damage]:
        """Return what is known to be damaged, by file; what is gone or can be read by now is looked at again."""
        for path in list(self._damage):
            if path in self._unreadable or not os.path.lexists(path):
                self._damage.pop(path)
                self._unreadable.discard(path)
                self.spared(path, partial(self.looked if path.endswith(ENDING) else os.listdir, path))
        return [one for _, found in sorted(self._damage.items()) for one in found]

    def _load(self, path: str) -> tuple[Lines, bytes, list[MemoryEntry] | None] | None:
        """Read a file; return its lines, its bytes and, where all lines had to be read, the entries in their order."""
        for again in range(_AGAINS):
            free = again > 0 and not _files.is_being_changed(self.lock_target)  # asked before the file is read
            now = time.time_ns()
            found = _files.read(path) if self._look(path) else None
            if found is None:
                self.forget(path, gone=True)
                return None
            data, signature = found
            known = self._lines.get(path)
            if known is not None and known.proven and known.signature == signature:
                self._note(path, known, data)
                return known, data, None
            lines = known if known is not None and self._goes_on(path, known, data) else Lines()
            whole = lines is not known
            self._lines.pop(path, None)
            with without_collector():
                entries = lines.read(data, partial(self._fit, path))
            cut = lines.damage and lines.damage[-1][2] == len(data)
            if not cut or free:
                break
            time.sleep(_AGAIN)  # somebody is writing that line just now, or has left it like this
        self._unreadable.discard(path)
        settled = all(now - changed >= _SETTLED_NS for changed in signature[3:])
        self.put(path, lines, _files.Written(signature, settled))
        self.ids.update(dict.fromkeys(lines.ids if whole else map(_id_of, entries), path))
        self._note(path, lines, data)
        return lines, data, entries if whole else None

    def _looks_like(self, path: str, lines: Lines) -> bool:
        """Whether a file is still as it was read, and its damage noted here: another store may have read it."""
        if self._look(path) != lines.signature:
            return False
        if not lines.damage:
            self._damage.pop(path, None)
            self._unreadable.discard(path)
        return not lines.damage or self._noted.get(path) is lines

    def _note(self, path: str, lines: Lines, data: bytes) -> None:
        damage = [(path, f"line {number}", reason) for number, _, _, reason in lines.damage]
        texts = [data[begin:end] for _, begin, end, _ in lines.damage]
        self.note(path, damage, [(text, texts[:at].count(text)) for at, text in enumerate(texts)])
        self._noted.pop(path, None)
        if damage:
            self._noted[path] = lines

    def _goes_on(self, path: str, known: Lines, data: bytes) -> bool:
        """Whether these are the bytes that are known, with or without more, and more cannot make the file another's."""
        return known.is_start_of(data) and (known.key == NO_KEY or self._fit(path, known.key) == _lines.EXACT)

    def _fit(self, path: str, key: Key) -> int:
        """Return how a file's name fits a session and user."""
        places = places_of(self.path, key)
        if path in places:
            return _lines.EXACT
        return _lines.ALIKE if folded(path) in map(folded, places) else _lines.NOT

    @staticmethod
    def _look(path: str) -> _files.Signature | None:
        try:
            return _files.look(path)
        except NotADirectoryError:  # a file is in the folder's place
            return None


@lru_cache(1024)
def places_of(folder: str, key: Key) -> list[str]:
    """Return the paths at which the file of a user's session may be, the one to try first in front."""
    users = [name + ENDING for name in names_of(key[1])]
    return [os.path.join(folder, session, user) for session in names_of(key[0]) for user in users]


def entry_in(path: str, data: bytes, begin: int, end: int) -> MemoryEntry:
    entry = _lines.entry_at(data, begin, end)
    if isinstance(entry, MemoryEntry):
        return entry
    raise DamagedFileError(path, "", "it was changed by another program while it was being read")
