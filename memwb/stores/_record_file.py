"""Where a TestMemoryStore keeps its records: a JSON file that others may write as well, or memory alone."""

from __future__ import annotations

import os
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

Edit = Callable[[Contents], tuple[_T, Contents | None]]
"""Takes what a store holds; gives a result, and what the store is to hold from now on, or None: no change."""


class Step(NamedTuple):
    """A change that was written, so that it can be taken back.

    Attributes:
        before: What was held before.
        after: What was held after it.
        was_file: Whether there was a file before.
    """

    before: Contents
    after: Contents
    was_file: bool = True


_SETTLED_NS = 2_000_000_000
"""A file that changed less than this before a look may change again without its times showing it."""

_TRIES = 50
"""How often a write begins again because a program that takes no lock changed the file meanwhile."""


class _Seen(NamedTuple):
    """What the last look at the file found.

    Attributes:
        signature: The file's, or None where there is no file.
        contents: What it holds.
        proven: Whether an equal signature proves the file unchanged; else its bytes are compared.
    """

    signature: _files.Signature | None
    contents: Contents
    proven: bool


class RecordFile:
    """A JSON file of records. Every look sees what is in the file then; it is parsed again only after a change."""

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self.path = path
        self._durable = durable
        self._name = str(path)
        self._seen = _Seen(None, Contents(), proven=True)
        self._warned: set[str] = set()

    def contents(self) -> Contents:
        """Return what the file holds; no file, or an empty one, holds nothing.

        Raises:
            DamagedFileError: It is no list of valid records.
            OSError: It could not be read; the message names the file.
        """
        return self._looked().contents

    @property
    def last(self) -> Contents:
        """What the last look found; others may have written since."""
        return self._seen.contents

    def change(self, edit: Edit[_T]) -> _T:
        """Change the contents while no other thread, store or process that uses memwb does; return the edit's result.

        The file is replaced whole or not at all. Where a program that takes no lock changes it meanwhile, the edit is
        done again with the new contents.

        Raises:
            DamagedFileError: The file is no list of valid records, or holds what cannot be written: lists and objects
                that nest too deep.
            OSError: It could not be read or written; the message names the file.
        """
        return self.step(edit)[0]

    def step(self, edit: Edit[_T]) -> tuple[_T, Step | None]:
        """Do what :meth:`change` does; return the step as well, None where nothing changed."""
        return self._alone(lambda target: self._changed(edit, target))

    def step_back(self, step: Step) -> bool:
        """Give the file the bytes that it had before a step; return False where it is not as the step left it."""

        def back(target: _files.Target) -> bool:
            found = _files.read(self._name)
            if found is None or not step.after.is_file(found[0]):
                return False
            try:
                if step.was_file:
                    _files.replace(target, [step.before.file()], durable=self._durable, over=found[1])
                else:
                    os.unlink(target)
            except _files.FileChangedError:
                return False
            self._seen = _Seen(None, Contents(), proven=False)
            return True

        return self._alone(back)

    def _alone(self, action: Callable[[_files.Target], _T]) -> _T:
        try:
            target = _files.resolve(self._name)
            return _files.exclusively(target, lambda: action(target))
        except OSError as error:
            raise self.described(error, "write", " (its lock could not be taken)") from error

    def damage(self) -> list[tuple[str, str, str]]:
        """Return ``(file, place, reason)`` for what the last look found odd, though readable."""
        return [
            (self._name, f"record {later + 1}", f"the id {id!r} is that of record {first + 1} too")
            for id, first, later in self._seen.contents.repeated_ids()
        ]

    def described(self, error: OSError, verb: str, detail: str = "") -> OSError:
        """Return an error that names the file and what could not be done to it; as it is if it says so already."""
        if "path" in error.__dict__:
            return error
        cause = error.strerror or str(error)
        return _files.described(error, f"{PREFIX}could not {verb} {self.path}{detail}: {cause}.", self.path)

    def _changed(self, edit: Edit[_T], target: _files.Target) -> tuple[_T, Step | None]:
        for _ in range(_TRIES):
            before = self._looked()
            result, after = edit(before.contents)
            if after is None:
                return result, None
            try:
                self._write(before, after, target)
            except _files.FileChangedError:
                continue
            return result, Step(before.contents, after, before.signature is not None)
        message = "another program, which takes no lock, keeps changing it"
        raise self.described(OSError(message), "write")

    def _write(self, before: _Seen, after: Contents, target: _files.Target) -> None:
        try:  # the parts are gone when the call is over: nothing could be added to the table while they are in use
            written = _files.replace(target, after.parts(), durable=self._durable, over=before.signature)
        except OSError as error:
            raise self.described(error, "write") from error
        self._seen = _Seen(written.signature, after, written.sealed)

    def _looked(self) -> _Seen:
        try:
            return self._look()
        except OSError as error:
            raise self.described(error, "read") from error

    def _look(self) -> _Seen:
        seen = self._seen
        if not seen.proven or _files.look(self._name) != seen.signature:
            self._seen = seen = self._load(seen)
            self._warn_once()
        return seen

    def _load(self, seen: _Seen) -> _Seen:
        now = time.time_ns()
        data = None
        while (found := _files.read(self._name)) is not None:
            before, (data, signature) = data, found
            try:
                contents = self._parsed(data, seen.contents)
            except DamagedFileError:
                if data == before:
                    raise
                continue  # a foreign writer may have been half-way: damaged is what reads so twice
            settled = all(now - changed >= _SETTLED_NS for changed in signature[3:])
            return _Seen(signature, contents, settled)
        return _Seen(None, Contents(), proven=True)

    def _parsed(self, data: bytes, known: Contents) -> Contents:
        if known.is_file(data):
            return known
        grown = known.grown_to(data)
        return parse(data, self.path) if grown is None else grown

    def _warn_once(self) -> None:
        if not self._seen.contents.has_repeated_ids:
            return
        for file, place, reason in self.damage():
            if reason not in self._warned:
                self._warned.add(reason)
                warnings.warn(f"{PREFIX}{file} at {place}: {reason}. Both are kept.", stacklevel=2)


class RecordList:
    """Records in memory alone, with the methods of :class:`RecordFile`."""

    path = None

    def __init__(self) -> None:
        self._contents = Contents()
        self._lock = threading.Lock()

    def contents(self) -> Contents:
        """Return what is held."""
        return self._contents

    @property
    def last(self) -> Contents:
        """What is held."""
        return self._contents

    def change(self, edit: Edit[_T]) -> _T:
        """Change what is held while no other thread does; return the edit's result."""
        return self.step(edit)[0]

    def step(self, edit: Edit[_T]) -> tuple[_T, Step | None]:
        """Do what :meth:`change` does; return the step as well, None where nothing changed."""
        with self._lock:
            before = self._contents
            result, after = edit(before)
            if after is None:
                return result, None
            self._contents = after
            return result, Step(before, after)

    def step_back(self, step: Step) -> bool:
        """Hold what was held before a step; return False where something else is held than the step left."""
        with self._lock:
            if self._contents is not step.after:
                return False
            self._contents = step.before
            return True

    def damage(self) -> list[tuple[str, str, str]]:
        """Return an empty list: only a file can be damaged."""
        return []


def writable(contents: Contents, path: Path | None) -> Contents:
    """Return the same contents in the form in which they are written.

    Raises:
        DamagedFileError: They hold what can be read but not written: lists and objects that nest too deep.
    """
    try:
        return contents.written_anew()
    except _json.NotJsonError as error:
        assert path is not None  # what a store in memory holds can always be written
        raise damaged(path, error.place, error.cause) from error
