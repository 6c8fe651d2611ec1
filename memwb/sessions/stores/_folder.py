"""A folder of files of sessions: which file belongs to whom, what is known of each, and where an id is."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from io import FileIO
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeVar

from ... import _files
from ..._collector import without_collector
from ...errors import DamagedFileError
from ..types import MemoryEntry
from . import _lines
from ._damage import Damage
from ._known import known_of
from ._lines import NO_KEY, Key, Lines
from ._names import encoded, folded, is_safe, names_of, native
from ._noted import Noted, leave, told_by

ENDING = ".jsonl"
GONE = ".memwb-gone-"  # the folder of a session that is being removed
_SETTLED_NS = 2_000_000_000
"""A file that changed less than this before a look may change again without its times showing it."""
_AGAIN, _AGAINS = 0.003, 200  # seconds until a last line that is not complete is read again, and how often
_TRIES = 5
_OUT_OF_MEANS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # which says nothing of the file

_T = TypeVar("_T")

_id_of, _created_at = attrgetter("memory_id"), attrgetter("created_at")


class Place(NamedTuple):
    """Where an entry is: a line of a file in a certain state."""

    path: str
    data: bytes
    signature: _files.Signature
    begin: int
    end: int

    @property
    def entry(self) -> MemoryEntry:
        """The entry."""
        return _entry(self.path, self.data, self.begin, self.end)


class Folder:
    """The files ``<session>/<user>.jsonl`` of a store, as a reader sees them; it takes no lock that others know of.

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

    def files(self) -> Iterator[str]:
        """Give every file."""
        for folder in listed(self.path):
            if not folder.name.startswith(GONE):
                for file in self.spared(folder.path, partial(_within, folder)) or ():
                    if file.name.endswith(ENDING):
                        yield file.path

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

    def state(self, paths: Sequence[str] | None = None) -> tuple[object, ...] | None:
        """Return the signatures of some or all files; None where one of them does not prove its file unchanged."""
        found: list[object] = []
        for path in self.files() if paths is None else paths:
            signature, known = self.spared(path, partial(self._look, path)), self._lines.get(path)
            holds = known is not None and known.proven and known.signature == signature
            holds = holds or (known is None and self._known.notes.of(path, signature) is not None)
            if not holds and path not in self._unreadable:
                return None  # it has not been read in this state, or too soon after it was changed
            found.append((path, signature))
        return tuple(found)

    def find(self, key: Key, *, read: bool = False) -> str | None:
        """Return the file of a user's session, or None: the one whose entries say so, else one without entries.

        Args:
            key: Session and user.
            read: Whether all of it is to be read, if it has changed.
        """
        unclaimed = None
        for path in _places_of(self.path, key):
            lines = self.looked(path) if read else None
            holder = lines.key if lines else self._holder(path)
            if holder == key:
                return path
            if holder == NO_KEY and unclaimed is None:
                unclaimed = path
        return unclaimed

    def of_session(self, session_id: str) -> list[str]:
        """Return the files of all users of a session, and those without entries in its folder."""
        files = [file for name in names_of(session_id) for file in listed(os.path.join(self.path, name))]
        paths = [file.path for file in files if file.name.endswith(ENDING)]
        holders = [self.spared(path, partial(self._holder, path)) for path in paths]
        own = (session_id, NO_KEY[0])
        return [path for path, holder in zip(paths, holders, strict=True) if holder is not None and holder[0] in own]

    def free_name(self, folder: str, id: str, ending: str = "", soon: Sequence[str] = ()) -> str:
        """Return the name for an id in a folder: that of its own folder, or one for a new file or folder.

        Args:
            folder: The folder.
            id: The id.
            ending: What a file's name ends in; "" for a folder.
            soon: Names that will be in the folder, too.
        """
        names, forms = self._names_in(folder)
        if soon:
            names, forms = names.union(soon), forms.union(map(folded, soon))
        own = native(id) + ending
        if own in names and not ending and id[0] != "%" and os.path.isdir(os.path.join(folder, own)):
            return own
        if own not in names and is_safe(id) and folded(own) not in forms:
            return own
        return encoded(id) + ending

    def made(self, name: str) -> str:
        """Make the folder of a session, if it is not there, and return its path."""
        path = os.path.join(self.path, name)
        names, forms = self._names_in(self.path)
        if name not in names:
            os.mkdir(path)
            names.add(name)
            forms.add(folded(name))
            self._names = (_files.signature(os.stat(self.path)), names, forms)
        return path

    def _names_in(self, folder: str) -> tuple[set[str], set[str]]:
        """Return the names in a folder and their folded forms; those of the sessions are kept as long as they hold."""
        is_own = folder == self.path
        signature = _files.signature(os.stat(folder))
        if is_own and self._names is not None and self._names[0] == signature:
            return self._names[1:]
        names = {entry.name for entry in listed(folder)}
        forms = set(map(folded, names))
        if is_own:
            self._names = (signature, names, forms)
        return names, forms

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
        return [_entry(path, loaded[1], loaded[0].starts[at], loaded[0].ends[at]) for at in choose(loaded[0])]

    def read_at(self, path: str, file: FileIO, spans: Sequence[tuple[int, int]]) -> list[MemoryEntry]:
        """Read the entries in these places of an open file; in one step where they lie near each other."""
        if not spans:
            return []
        start, end = min(begin for begin, _ in spans), max(to for _, to in spans)
        if end - start <= 2 * sum(to - begin for begin, to in spans) + 4096:
            file.seek(start)
            data = file.read(end - start)
            return [_entry(path, data, begin - start, to - start) for begin, to in spans]
        return [entry for span in spans for entry in self.read_at(path, file, [span])]

    def entry(self, id: str) -> MemoryEntry | None:
        """Return the entry with this id, or None."""
        return self._first(id, (), self._sought)

    def locate(self, id: str, first: Sequence[str] = ()) -> Place | None:
        """Return where an entry is, or None; it is sought in certain files first."""
        return self._first(id, first, self._place)

    def _first(self, id: str, paths: Sequence[str], look: Callable[[str, str], _T | None]) -> _T | None:
        """Return what is found first: in the file that held the id last, in these, in all others."""
        seen = set()
        hint = self.ids.get(id)
        for path in (*([hint] if hint else ()), *paths):
            seen.add(path)
            if found := self.spared(path, partial(look, path, id)):
                return found
        for path in self.files():
            if path not in seen and (found := self.spared(path, partial(look, path, id))):
                return found
        return None

    def known_place(self, id: str) -> str | None:
        """Return the file that holds an entry if that is known without reading; None says nothing."""
        path = self.ids.get(id)
        if path is None:
            return None
        with self._known.lock:
            known = self._lines.get(path)
            holds = known is not None and known.proven and id in known.ids and self._look(path) == known.signature
            return path if holds else None

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

    def _holder(self, path: str) -> Key | None:
        """Return whose entries a file holds; None: there is no file."""
        known, fit = self._lines.get(path), partial(self._fit, path)
        signature = self._look(path)
        if signature is None or (known is not None and known.signature == signature):
            return None if known is None or signature is None else known.key
        if known is None and (noted := self._known.notes.of(path, signature)):
            return noted.key
        with suppress(FileNotFoundError), FileIO(path) as file:
            head = file.read(_lines.HEAD)
            key = _lines.key_of(head[: head.rfind(b"\n") + 1] if len(head) == _lines.HEAD else head, fit)
            if len(head) < _lines.HEAD or fit(key) == _lines.EXACT:
                return key
        lines = self.looked(path)
        return None if lines is None else lines.key

    def _sought(self, path: str, id: str) -> MemoryEntry | None:
        """Return an entry of a file; where this process has not looked into it yet, without taking it into memory."""
        with self._known.lock:
            signature = self._look(path)
            if signature is not None and path not in self._lines and self._scanned.get(path) != signature:
                with suppress(FileNotFoundError), FileIO(path) as file:
                    found = _lines.sought(file, id, partial(self._fit, path))
                    if not isinstance(found, bool) and _files.signature(os.fstat(file.fileno())) == signature:
                        self._scanned[path] = signature
                        return found
            place = self._place(path, id)
        return place and place.entry

    def _place(self, path: str, id: str) -> Place | None:
        with self._known.lock:
            known = self._lines.get(path)
            if known is not None and known.proven and id not in known.ids and self._look(path) == known.signature:
                return None
            found = _files.read(path) if self._look(path) else None
            if found is None:
                return None
            data, signature = found
            young = known is not None and not known.proven  # its bytes would all be compared
            if young or (known is None and self._scanned.get(path) != signature):
                span = _lines.find(data, id, partial(self._fit, path))  # without reading all lines
                if not isinstance(span, bool):
                    self._scanned[path] = signature
                    return span and Place(path, data, signature, *span)
            loaded = self._load(path)
            if loaded is None or id not in loaded[0].ids:
                return None
            lines, data, _ = loaded
            at = lines.ids[id]
            assert lines.signature is not None
            return Place(path, data, lines.signature, lines.starts[at], lines.ends[at])

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
        places = _places_of(self.path, key)
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
def _places_of(folder: str, key: Key) -> list[str]:
    """Return the paths at which the file of a user's session may be, the one to try first in front."""
    users = [name + ENDING for name in names_of(key[1])]
    return [os.path.join(folder, session, user) for session in names_of(key[0]) for user in users]


def _entry(path: str, data: bytes, begin: int, end: int) -> MemoryEntry:
    entry = _lines.entry_at(data, begin, end)
    if isinstance(entry, MemoryEntry):
        return entry
    raise DamagedFileError(path, "", "it was changed by another program while it was being read")


def _within(folder: os.DirEntry[str]) -> list[os.DirEntry[str]]:
    return listed(folder.path) if folder.is_dir() else []


def listed(folder: str) -> list[os.DirEntry[str]]:
    """Return what is in a folder; nothing where it is missing or no folder."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
