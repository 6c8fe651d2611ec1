"""A file of sessions as lines of JSON: what is in it, where, and what of it cannot be read."""

from __future__ import annotations

import json
import os
import re
import zlib
from array import array
from collections.abc import Callable, Iterator
from io import FileIO
from itertools import accumulate, chain, repeat
from operator import itemgetter, le
from typing import Any, Final

import orjson

from ... import _files, _json
from .._entries import FIELDS, LAST, Row, entry_from
from ..types import MemoryEntry

Key = tuple[str, str]

BOM: Final = b"\xef\xbb\xbf"
_NEVER_ESCAPED = re.compile(r"[A-Za-z0-9_.:-]+")  # characters that no writer of JSON gives another form
NO_KEY: Final[Key] = ("", "")
EXACT, ALIKE, NOT = 2, 1, 0
"""How a file's name fits a session and user: as it is, but for letter case or Unicode form, or not at all."""

HEAD: Final = 1 << 16
"""Bytes at a file's beginning in which the first line that fits its name is looked for."""
_PART = 1 << 18

Fit = Callable[[Key], int]
_in_columns = itemgetter(*FIELDS)


def _fits_any(key: Key) -> int:
    return EXACT


class Lines:
    """Where the entries of one file are; their texts are not kept.

    A good line is one entry. All of a file's entries are of one user's session, the one that :func:`key_of` tells.

    Attributes:
        key: Session and user, or :data:`NO_KEY` without any good line.
        ids: The places of the entries, from 0, by id.
        starts: Where each entry's line starts, in bytes.
        ends: Where it ends, without the newline.
        times: Its ``created_at``.
        in_order: Whether the entries are in order of time.
        damage: What cannot be read: the line's number from 1, the bytes it lies at, and the reason.
        size: How many bytes have been read.
        crc: Their CRC-32.
        signature: The file's, when it was read.
        proven: Whether an equal signature proves the file unchanged; else its bytes are compared.
        common: Whether each line was read as :meth:`_read_common` does, so that it can be read again without checks.
    """

    def __init__(self) -> None:
        self.key = NO_KEY
        self.ids: dict[str, int] = {}
        self.starts, self.ends, self.times = array("q"), array("q"), array("d")
        self.in_order = True
        self.damage: list[tuple[int, int, int, str]] = []
        self.size = self.crc = self.lines = 0
        self.signature: _files.Signature | None = None
        self.proven = self.common = True
        self._order: list[int] = []  # where they are not in order
        self._open_at = -1  # where a last line without newline starts

    def read(self, data: bytes, fit: Fit = _fits_any) -> list[MemoryEntry]:
        """Read the file, or what has been added to it since; return the entries that are new.

        Args:
            data: All of the file's bytes. So many as have been read before are the same.
            fit: How the file's name fits a session and user.
        """
        start, size = self.size, len(data)
        if self._open_at >= 0 and start < size:  # the last line was not complete; now it is
            start = self._open_at
            self._take_back(start)
        begin = len(BOM) if start == 0 and data.startswith(BOM) else start
        added = data[begin:]
        if self.key == NO_KEY:
            self.key = key_of(added, fit)
        entries = self._read_common(added, begin)
        if not entries and added:
            self.common = False
            entries = self._read_each(added, begin)
        self.crc = zlib.crc32(memoryview(data)[self.size :], self.crc)
        self.size = size
        self._open_at = -1 if not size or data.endswith(b"\n") else data.rfind(b"\n") + 1
        return entries

    def _read_common(self, data: bytes, begin: int) -> list[MemoryEntry]:
        """Read lines by column, if each is a good one with just the known fields and ends in a newline.

        That takes two thirds of the time. Where it cannot be done, nothing is changed and no entry returned.
        """
        *lines, rest = data.split(b"\n")
        try:
            records = list(map(_json.loads_plain, lines))
            columns = tuple(zip(*map(_in_columns, records), strict=True))
            ids, sessions, users, _, _, messages, created, updated = columns
            places = dict(zip(ids, range(len(self.starts), len(self.starts) + len(ids)), strict=True))
        except (ValueError, TypeError, KeyError):
            return []
        key, count = (sessions[0], users[0]), len(ids)
        if not (
            not rest
            and {str} == set(map(type, chain(*columns[:5])))
            and {float} == set(map(type, created)) == set(map(type, updated))
            and {dict, type(None)} >= set(map(type, messages))
            and {len(FIELDS)} == set(map(len, records))
            and -LAST < min(*created, *updated) <= max(*created, *updated) < LAST
            and all((*key, *ids))
            and sessions.count(key[0]) == users.count(key[1]) == len(places) == count
            and self.key == key
            and self.ids.keys().isdisjoint(places)
            and _json.is_plain(data)
        ):
            return []
        times = (*self.times[-1:], *created)
        self.in_order = self.in_order and all(map(le, times, times[1:]))
        steps = map((1).__add__, map(len, lines))  # without a step of Python's own for each line
        starts = array("q", accumulate(steps, initial=begin))
        self.ids.update(places)
        self.starts.extend(starts[:-1])
        self.ends.extend(array("q", map((-1).__add__, starts[1:])))
        self.times.extend(created)
        self.lines += count
        return _entries_of(records)

    def read_again(self, data: bytes) -> list[MemoryEntry]:
        """Return the entries of a file that is as it was read, in its order."""
        if self.common and self.starts:
            return _entries_of(list(map(_json.loads_plain, data[self.starts[0] : self.ends[-1]].split(b"\n"))))
        found = [entry_at(data, begin, end) for begin, end in zip(self.starts, self.ends, strict=True)]
        return [entry for entry in found if isinstance(entry, MemoryEntry)]

    def _read_each(self, data: bytes, begin: int) -> list[MemoryEntry]:
        """Read line after line."""
        entries: list[MemoryEntry] = []
        session_id, user_id = self.key
        for line in data.split(b"\n"):
            end = begin + len(line)
            self.lines += 1
            entry = _entry_in(line)
            if isinstance(entry, MemoryEntry) and (
                entry.session_id != session_id or entry.user_id != user_id or entry.memory_id in self.ids
            ):
                entry = self._flaw(entry)
            if isinstance(entry, str):
                self.damage.append((self.lines, begin, end, entry))
            elif entry is not None:
                time: Any = entry.created_at
                self.in_order = self.in_order and (not self.times or self.times[-1] <= time)
                self.ids[entry.memory_id] = len(self.starts)  # type: ignore[index]
                self.starts.append(begin)
                self.ends.append(end)
                self.times.append(time)
                entries.append(entry)
            begin = end + 1
        self.lines -= data.endswith(b"\n") or not data  # nothing stands behind the last newline
        return entries

    def extend(self, row: Row, added: bytes) -> None:
        """Note a good line that has just been added at the file's end, with the newline that was missing before it."""
        if self.key == NO_KEY:
            self.key = (row[1], row[2])
        self.in_order = self.in_order and (not self.times or self.times[-1] <= row[6])
        self.ids[row[0]] = len(self.starts)
        self.starts.append(self.size + (added[:1] == b"\n"))
        self.ends.append(self.size + len(added) - 1)
        self.times.append(row[6])
        self.lines += 1
        self.crc = zlib.crc32(added, self.crc)
        self.size += len(added)
        self.common = self.common and added[:1] != b"\n" and _json.is_plain(added)
        self._open_at = -1

    def is_start_of(self, data: bytes) -> bool:
        """Whether these bytes are those that were read, or begin with them."""
        return len(data) >= self.size and zlib.crc32(memoryview(data)[: self.size]) == self.crc

    def newest(self, count: int) -> list[int]:
        """Return the places of the newest entries, in order of time."""
        places = self.ordered()
        return list(places[max(0, len(places) - count) :])

    def ordered(self) -> range | list[int]:
        """Return the places of all entries in order of time; of equal times, in that of the file."""
        places = range(len(self.starts))
        if self.in_order:
            return places
        if len(self._order) != len(places):
            self._order = sorted(places, key=self.times.__getitem__)
        return self._order

    def _flaw(self, entry: MemoryEntry) -> str:
        if self.key[0] != entry.session_id or self.key[1] != entry.user_id:
            line = f"it is of session {entry.session_id!r:.60} and user {entry.user_id!r:.60}"
            if self.key == NO_KEY:
                return f"{line}, whose place is another file"
            return f"{line}, the file of {self.key[0]!r:.60} and {self.key[1]!r:.60}"
        return f"its memory_id {entry.memory_id!r:.60} is that of an earlier line"

    def _take_back(self, start: int) -> None:
        """Forget the last line, which starts here."""
        self.lines -= 1
        if self.damage and self.damage[-1][1] >= start:
            self.damage.pop()
        elif self.starts and self.starts[-1] >= start:
            self._order = []
            self.ids = {id: place for id, place in self.ids.items() if place < len(self.starts) - 1}
            for values in (self.starts, self.ends, self.times):
                values.pop()
            if not self.starts:
                self.key = NO_KEY


def _entries_of(records: list[dict[str, Any]]) -> list[MemoryEntry]:
    """Return entries of which the records hold just the known fields."""
    entries = list(map(MemoryEntry.__new__, repeat(MemoryEntry, len(records))))
    for entry, record in zip(entries, records, strict=True):
        entry.__dict__ = record
    return entries


def read_checked(data: bytes) -> list[MemoryEntry]:
    """Return the entries in a file's bytes that :class:`Lines` has read as ``common`` before; none where they are not.

    What made it so is not looked at again.
    """
    *lines, _ = data.removeprefix(BOM).split(b"\n")
    try:
        return _entries_of(list(map(_json.loads_plain, lines)))
    except (ValueError, TypeError):
        return []


def spans(data: bytes, start: int = 0) -> Iterator[tuple[int, int]]:
    """Give where each line starts and ends; a carriage return belongs to it."""
    size = len(data)
    while start < size:
        end = data.find(b"\n", start)
        if end < 0:
            end = size
        yield start, end
        start = end + 1


def line_of(row: Row, kept: dict[str, Any] | None = None) -> bytes:
    """Return a row as a line, with its newline; ``kept``: the record it replaces, whose other fields stay."""
    message = row[5]
    fields: dict[str, Any] = dict(zip(FIELDS, row, strict=True))
    if message is not None:
        fields["message_data"] = orjson.Fragment(message)
    if kept is None:
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
    try:
        return orjson.dumps({**kept, **fields}, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a foreign field holds an integer beyond 64 bits
        fields["message_data"] = None if message is None else json.loads(message)
        return json.dumps({**kept, **fields}, ensure_ascii=False).encode() + b"\n"


def entry_at(data: bytes, begin: int, end: int) -> MemoryEntry | str | None:
    """Return the entry in a line, or why it is none, or None for a blank line."""
    return _entry_in(data[begin:end])


def find(data: bytes, id: str, fit: Fit) -> tuple[int, int] | bool | None:
    """Look for the line of an id without reading the others.

    Returns:
        Where it starts and ends, None if there is none; False if that cannot be told in this way.
    """
    if not _NEVER_ESCAPED.fullmatch(id) or (b"\\" in data and b"\\u00" in data):
        return False
    needle, key, at = b'"%b"' % id.encode(), NO_KEY, -1
    while (at := data.find(needle, at + 1)) >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        if begin == 0 and data.startswith(BOM):
            begin = len(BOM)
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        entry = entry_at(data, begin, end)
        if isinstance(entry, MemoryEntry) and entry.memory_id == id:
            key = key_of(data, fit) if key == NO_KEY else key
            if (entry.session_id, entry.user_id) == key:
                return begin, end
    return None


def sought(file: FileIO, id: str, fit: Fit) -> MemoryEntry | bool | None:
    """Return the entry with an id as :func:`find` finds its line, with only a part of the file in memory at a time."""
    if not _NEVER_ESCAPED.fullmatch(id):
        return False
    needle, key, kept, start = b'"%b"' % id.encode(), NO_KEY, 0, 0
    overlap = len(needle) + len(BOM)
    part = bytearray(_PART + overlap)
    view = memoryview(part)
    while read := file.readinto(view[kept:]):
        size, at = kept + read, -1
        if part.find(b"\\", 0, size) >= 0 and part.find(b"\\u00", 0, size) >= 0:
            return False
        while (at := part.find(needle, at + 1, size)) >= 0:
            entry = _entry_in(_line_around(file, start + at))
            if isinstance(entry, MemoryEntry) and entry.memory_id == id:
                if key == NO_KEY:
                    key, certain = key_in_head(file, fit)
                    if not certain:
                        return False
                if (entry.session_id, entry.user_id) == key:
                    return entry
        kept = min(overlap, size)
        view[:kept] = view[size - kept : size]
        start += size - kept
    return None


def key_in_head(file: FileIO, fit: Fit) -> tuple[Key, bool]:
    """Return whose entries a file holds, as :func:`key_of` tells by its first lines, and whether that is certain."""
    head = os.pread(file.fileno(), HEAD, 0)
    whole = len(head) < HEAD
    key = key_of(head if whole else head[: head.rfind(b"\n") + 1], fit)
    return key, whole or fit(key) == EXACT


def _line_around(file: FileIO, at: int) -> bytes:
    """Return the line of a file that holds the byte here."""
    reach = 1 << 12
    while True:
        first = max(0, at - reach)
        data = os.pread(file.fileno(), at - first + reach, first)
        begin, end = data.rfind(b"\n", 0, at - first) + 1, data.find(b"\n", at - first)
        if (begin or first == 0) and (end >= 0 or len(data) < at - first + reach):
            line = data[begin : len(data) if end < 0 else end]
            return line.removeprefix(BOM) if first == begin == 0 else line
        reach *= 8


def key_of(data: bytes, fit: Fit) -> Key:
    """Return whose entries a file holds, or :data:`NO_KEY`: session and user of the first good line that fits its name.

    A line of somebody else's, wherever it stands, does not make the file his. Where no line fits exactly, one that is
    alike tells: some file systems find a file under such a name, too.
    """
    alike = NO_KEY
    for begin, end in spans(data, len(BOM) if data.startswith(BOM) else 0):
        entry = entry_at(data, begin, end)
        if isinstance(entry, MemoryEntry):
            key = (entry.session_id, entry.user_id)
            fitting = fit(key)
            if fitting == EXACT:
                return key
            if fitting == ALIKE and alike == NO_KEY:
                alike = key
    return alike


def _entry_in(line: bytes) -> MemoryEntry | str | None:
    try:
        record = _json.loads_plain(line)
        if record["message_data"] is not None and not _json.is_plain(line):
            record = _json.loads(line)  # which keeps integers beyond 64 bits
    except (ValueError, TypeError, KeyError):
        if not line.strip():
            return None
        try:
            record = _json.loads(line)
        except _json.NotJsonError as error:
            return f"no JSON: {error}"
    if type(record) is not dict:
        return f"it is {record!r:.60}, no JSON object"
    get = record.get
    created, message = get("created_at"), get("message_data")
    if message is not None and type(message) is not dict:
        return f"message_data is {message!r:.60}, no JSON object"
    return entry_from(
        get("memory_id"),
        get("session_id"),
        get("user_id", "default"),
        get("role", "user"),
        get("content", ""),
        message,
        created,
        created if (updated := get("updated_at")) is None else updated,
    )
