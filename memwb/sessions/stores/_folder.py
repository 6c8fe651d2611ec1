"""A folder of files of sessions: which file belongs to whom, and where an id is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from io import FileIO
from typing import NamedTuple, TypeVar

from ... import _files
from ..types import MemoryEntry
from . import _lines
from ._lines import NO_KEY, Key
from ._looked import ENDING, Looked, entry_in, places_of
from ._names import encoded, folded, is_safe, names_of, native

GONE = ".memwb-gone-"  # the folder of a session that is being removed

_T = TypeVar("_T")


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
        return entry_in(self.path, self.data, self.begin, self.end)


class Folder(Looked):
    """The files ``<session>/<user>.jsonl`` of a store: which is whose, and which holds an id."""

    def files(self) -> Iterator[str]:
        """Give every file."""
        for folder in listed(self.path):
            if not folder.name.startswith(GONE):
                for file in self.spared(folder.path, partial(_within, folder)) or ():
                    if file.name.endswith(ENDING):
                        yield file.path

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
        for path in places_of(self.path, key):
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

    def _holder(self, path: str) -> Key | None:
        """Return whose entries a file holds; None: there is no file."""
        known, fit = self._lines.get(path), partial(self._fit, path)
        signature = self._look(path)
        if signature is None or (known is not None and known.signature == signature):
            return None if known is None or signature is None else known.key
        if known is None and (noted := self._known.notes.of(path, signature)):
            return noted.key
        with suppress(FileNotFoundError), FileIO(path) as file:
            key, certain = _lines.key_in_head(file, fit)
            if certain:
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


def _within(folder: os.DirEntry[str]) -> list[os.DirEntry[str]]:
    return listed(folder.path) if folder.is_dir() else []


def listed(folder: str) -> list[os.DirEntry[str]]:
    """Return what is in a folder; nothing where it is missing or no folder."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
