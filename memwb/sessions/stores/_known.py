"""What one process knows of the files of sessions in a folder, whichever of its stores has read them."""

from __future__ import annotations

import os
import threading
import weakref

from ... import _files
from ._damage import Telling
from ._lines import Lines
from ._noted import Notes, leave


class Known:
    """The lines of a folder's files, shared by all stores on the folder: running a cell again parses nothing again.

    Attributes:
        lines: What is known of each file, by its path.
        ids: The file in which each id was seen last.
        telling: Which damage was told of.
        scanned: The state of files in which an id was sought without reading the lines.
        notes: What an earlier process has left.
        lock: Held while a file is looked at and what is known of it changes.
    """

    def __init__(self, folder: str) -> None:
        self.lines: dict[str, Lines] = {}
        self.ids: dict[str, str] = {}
        self.scanned: dict[str, _files.Signature] = {}
        self.notes = Notes(folder)
        self.telling = Telling()
        self.lock = threading.RLock()


_folders: weakref.WeakValueDictionary[str, Known] = weakref.WeakValueDictionary()


def known_of(folder: str) -> Known:
    """Return what is known of a folder, given by its absolute path, as long as any store on it lives."""
    known = _folders.get(folder)
    if known is None:
        known = _folders.setdefault(folder, Known(folder))
        weakref.finalize(known, leave, folder, known.lines)  # at the program's end, too
    return known


def _after_fork_in_child() -> None:
    """Forget locks that other threads of the parent may hold: those threads do not exist here."""
    for known in list(_folders.values()):
        known.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
