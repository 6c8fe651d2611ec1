"""Where a TestMemoryStore keeps its records: a JSON file that others may write as well, or memory alone."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from .. import _files, _json
from ..errors import DamagedFileError
from ._records import PREFIX, Contents, damaged, parse

_T = TypeVar("_T")

_SETTLED_NS = 2_000_000_000
"""A file that changed less than this before a look may change again without its times showing it."""


class _Seen(NamedTuple):
    """What the last look at the file found; ``data`` is None once the signature alone proves it unchanged."""

    signature: _files.Signature
    contents: Contents
    data: bytes | None


class RecordFile:
    """A JSON file of records. Every look sees what is in the file then; it is parsed again only after a change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: _Seen | None = None
        self._warned: set[str] = set()

    def contents(self) -> Contents:
        """Return what the file holds; no file, or an empty one, holds nothing.

        Raises:
            DamagedFileError: It is no list of valid records.
            OSError: It could not be read; the message names the file.
        """
        try:
            return self._look()
        except OSError as error:
            raise self._described(error, "read") from error

    def exclusively(self, action: Callable[[], _T]) -> _T:
        """Do something while no other thread, store or process that uses memwb changes the file."""
        try:
            return _files.exclusively(self.path, action)
        except OSError as error:
            raise self._described(error, "write", " (its lock could not be taken)") from error

    def write(self, contents: Contents) -> None:
        """Replace the file, whole or not at all; called inside :meth:`exclusively`.

        Raises:
            DamagedFileError: It holds what can be read but not written: lists and objects that nest too deep.
            OSError: It could not be written; the message names the file.
        """
        try:
            data = _json.dumps(list(contents.records))
            signature = _files.replace(self.path, data)
        except _json.NotJsonError as error:
            raise damaged(self.path, error.place, error.cause) from error
        except OSError as error:
            raise self._described(error, "write") from error
        self._seen = _Seen(signature, contents, data)

    def damage(self) -> list[tuple[str, str, str]]:
        """Return ``(file, place, reason)`` for what the last look found odd, though readable."""
        repeated = self._seen.contents.repeated_ids() if self._seen is not None else []
        return [
            (str(self.path), f"record {later + 1}", f"the id {id!r} is that of record {first + 1} too")
            for id, first, later in repeated
        ]

    def _look(self) -> Contents:
        seen = self._seen
        if seen is not None and seen.data is None and _files.look(self.path) == seen.signature:
            return seen.contents
        self._seen = self._load(seen)
        self._warn_once()
        return self._seen.contents if self._seen is not None else Contents()

    def _load(self, seen: _Seen | None) -> _Seen | None:
        now = time.time_ns()
        data = None
        while (found := _files.read(self.path)) is not None:
            before, (data, signature) = data, found
            try:
                contents = seen.contents if seen is not None and seen.data == data else parse(data, self.path)
            except DamagedFileError:
                if data == before:
                    raise
                continue  # a foreign writer may have been half-way: damaged is what reads so twice
            settled = all(now - changed >= _SETTLED_NS for changed in signature[3:])
            return _Seen(signature, contents, None if settled else data)
        return None

    def _warn_once(self) -> None:
        for file, place, reason in self.damage():
            if reason not in self._warned:
                self._warned.add(reason)
                warnings.warn(f"{PREFIX}{file} at {place}: {reason}. Both are kept.", stacklevel=2)

    def _described(self, error: OSError, verb: str, detail: str = "") -> OSError:
        if "path" in error.__dict__:  # from a step inside, which has said what it could not do
            return error
        cause = error.strerror or str(error)
        return _files.described(error, f"{PREFIX}could not {verb} {self.path}{detail}: {cause}.", self.path)


class RecordList:
    """Records in memory alone, with the methods of :class:`RecordFile`."""

    path = None

    def __init__(self) -> None:
        self._contents = Contents()
        self._lock = threading.Lock()

    def contents(self) -> Contents:
        """Return what is held."""
        return self._contents

    def exclusively(self, action: Callable[[], _T]) -> _T:
        """Do something while no other thread changes the records."""
        with self._lock:
            return action()

    def write(self, contents: Contents) -> None:
        """Hold these from now on."""
        self._contents = contents

    def damage(self) -> list[tuple[str, str, str]]:
        """Return an empty list: only a file can be damaged."""
        return []
