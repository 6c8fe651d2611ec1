"""What a process has learned of the files of sessions in a folder, left there for the next one.

A line of JSON may be damaged, and damage is never counted: to count a session, each of its lines must have been read
once. So that each program need not do it again, the last one leaves a note of what it found, ``.memwb.known`` in the
folder. A note holds for one state of a file: where the file's signature is another one, it says nothing. It is a help
and nothing more: it can be removed at any time, one that cannot be read counts as missing, and it is only left where a
writer of memwb has been.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import orjson

from ... import _files
from ._lines import Key, Lines

NAME = ".memwb.known"
_VERSION = b"memwb 1 "
_TYPES = (int, int, int, int, int, int, str, str, float, float, bool, bool)


class Noted(NamedTuple):
    """What is known of a file without damage.

    Attributes:
        entries: How many there are.
        key: Session and user.
        first: The earliest ``created_at``.
        last: The latest.
        in_order: Whether the entries are in order of time.
        common: As for :class:`Lines`: it can be read again without checks.
    """

    entries: int
    key: Key
    first: float
    last: float
    in_order: bool
    common: bool


def told_by(lines: Lines) -> Noted:
    """Return what is known of a file whose lines have been read."""
    first, last = (min(lines.times), max(lines.times)) if lines.times else (0.0, 0.0)
    return Noted(len(lines.starts), lines.key, first, last, lines.in_order, lines.common)


class Notes:
    """The notes of a folder as they were found, read again after a change.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: str) -> None:
        self._folder, self._path = folder, os.path.join(folder, NAME)
        self._seen: _files.Signature | None = None
        self._rows: dict[str, list[Any]] = {}

    def of(self, path: str, signature: _files.Signature | None) -> Noted | None:
        """Return what is noted of a file in this state, or None."""
        with suppress(OSError):
            seen = _files.look(self._path)
            if seen != self._seen:
                self._seen, self._rows = seen, _read(self._path)
        row = self._rows.get(os.path.relpath(path, self._folder)) if self._rows else None
        if row is None or signature is None or tuple(row[:5]) != signature:
            return None
        count, session_id, user_id, first, last, in_order, common = row[5:]
        return Noted(count, (session_id, user_id), first, last, in_order, common)


def leave(folder: str, lines: Mapping[str, Lines]) -> None:
    """Note what is known of files that have no damage; what was noted of others stays, as long as they are there.

    The note is written in its place and holds a sum of its bytes: one that was cut off, or written by two at once,
    does not hold.
    """
    rows = {
        os.path.relpath(path, folder): _row(known.signature, told_by(known))
        for path, known in list(lines.items())
        if known.proven and known.signature is not None and known.starts and not known.damage
    }
    if not rows or not os.path.exists(os.path.join(folder, ".memwb.lock")):
        return
    path = os.path.join(folder, NAME)
    with suppress(OSError, ValueError, TypeError):  # a folder that may not be written is read without notes
        old = _read(path)
        kept = {name: row for name, row in old.items() if os.path.exists(os.path.join(folder, name))}
        new = {**kept, **rows}
        if new != old:
            _write(path, orjson.dumps(new))


def _row(signature: _files.Signature, noted: Noted) -> list[Any]:
    count, key, first, last, in_order, common = noted
    return [*signature, count, *key, float(first), float(last), in_order, common]


def _read(path: str) -> dict[str, list[Any]]:
    """Return the rows of a note by the files' names; none where it is missing, cut off or not one of these."""
    try:
        found = _files.read(path)
        data = b"" if found is None else found[0]
        head, _, body = data.partition(b"\n")
        if head != _VERSION + b"%08x" % zlib.crc32(body):
            return {}
        rows = orjson.loads(body)
    except (OSError, ValueError):
        return {}
    if type(rows) is not dict:
        return {}
    return {
        name: row
        for name, row in rows.items()
        if type(row) is list and tuple(map(type, row)) == _TYPES and row[5] > 0 and row[6] and row[7]
    }


def _write(path: str, body: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.truncate(descriptor, 0)
            os.write(descriptor, _VERSION + b"%08x\n" % zlib.crc32(body) + body)
    finally:
        os.close(descriptor)
