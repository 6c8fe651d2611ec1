"""Records as they stand in the documented file, with the fields that are asked for most beside them.

A table holds the text of the file and where each record ends in it, so that a record is read out by itself, a new one
is added without touching the others, and metadata needs no room of its own. Rows are only ever added at the end: many
views of one table, each of its first ``n`` rows, can be in use at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

from .. import _json

if TYPE_CHECKING:
    from ._finder import Finder

RawRecord = dict[str, Any]
"""A record as it stands in the file: id, content, createdAt, metadata where there is some, and foreign fields."""

_HEAD, _BETWEEN, _FOOT, _TAIL = b"[\n  {\n", b"\n  },\n  {\n", b"\n  }", b"\n]"
_Reader = Callable[[bytes | bytearray], Any]
Columns = tuple[list[str], list[str], list[str]]
"""The contents, ids and times of some records."""

_GAP = len(",\n  ")  # between the end of a record and the brace of the next; as many bytes stand before the first one
_BLOCK = 1 << 15  # bytes that are cut and read at a time, so that they stay in the processor's cache

_WHITE = b" \t\r\n"


class Table:
    """Records in the documented layout.

    Attributes:
        text: The file's bytes up to the last record's closing brace at least.
        ends: Where in the text each record ends.
        contents: The content of each record.
        ids: The id of each record.
        times: The createdAt of each record, as text.
        checked: How many records from the start are known to be written as this program writes them.
        finder: What has been prepared for searching, if anything.
    """

    def __init__(self, text: bytes | bytearray = b"", *, checked: int = 0) -> None:
        self.text = text
        self.ends: array[int] = array("Q")
        self.contents: list[str] = []
        self.ids: list[str] = []
        self.times: list[str] = []
        self.checked = checked
        self.finder: Finder | None = None
        self._read: _Reader | None = None  # what reads all of the text exactly, once that is known
        self._asked = False
        self._taken: dict[int, object] = {}
        self._id_places: dict[str, int] = {}
        self._text_places: dict[str, int] = {}
        self._id_count = self._text_count = 0

    # Reading

    def records(self, places: Iterable[int]) -> list[RawRecord]:
        """Return new copies of records.

        Raises:
            NotJsonError: One nests too deep to be read by itself.
        """
        text, ends, read = self.text, self.ends, self._read
        if read is None:
            read = self.reader() if self._asked else _json.loads  # looking through all of it is not worth it at once
            self._asked = True
        return [read(text[(ends[place - 1] if place else 0) + _GAP : ends[place]]) for place in places]

    def reader(self) -> _Reader:
        """Return what reads the text, or any part of it, exactly."""
        if self._read is None:
            self._read = _json.loads_plain if _json.is_plain(self.text) else _json.loads
        return self._read

    def place_of_id(self, id: str, size: int) -> int | None:
        """Return the place of the first of the first ``size`` records with this id."""
        self._id_count = _catch_up(self._id_places, self.ids, self._id_count, size)
        place = self._id_places.get(id)
        return place if place is not None and place < size else None

    def distinct_ids(self, size: int) -> int:
        """Return how many different ids the first ``size`` records have."""
        return len(set(self.ids[:size]))

    def place_of_text(self, text: str, size: int) -> int | None:
        """Return the place of the first of the first ``size`` records with this content, stripped."""
        self._text_count = _catch_up(self._text_places, self.contents, self._text_count, size, strip=True)
        place = self._text_places.get(text)
        return place if place is not None and place < size else None

    # Adding

    def take(self, size: int) -> bool:
        """Claim the right to add after the first ``size`` rows; it is given once, and only at the table's end."""
        if len(self.ends) != size or not (len(self.contents) == len(self.ids) == len(self.times) == size):
            return False
        mine = object()
        return self._taken.setdefault(size, mine) is mine  # one step, so that of two threads one gets it

    def copy(self, size: int) -> Table:
        """Return a table of its own with the first ``size`` records."""
        end = self.ends[size - 1] if size else 0
        new = Table(bytearray(memoryview(self.text)[:end]), checked=min(self.checked, size))
        new._read = self._read
        new.ends, new.contents = self.ends[:size], self.contents[:size]
        new.ids, new.times = self.ids[:size], self.times[:size]
        return new

    def add(self, text: bytes, columns: Columns, *, exact: bool, checked: bool) -> None:
        """Add rows; the caller has taken the right to.

        Args:
            text: The records as an array in the documented layout.
            columns: Their contents, ids and times.
            exact: Whether the plain reader reads them exactly.
            checked: Whether they are written as this program writes them.
        """
        size, start = len(self.ends), self.ends[-1] if self.ends else 0
        if not size:
            self.text, self._read = text, _json.loads_plain
        else:
            if not isinstance(self.text, bytearray):
                self.text = bytearray(memoryview(self.text)[:start])
            self.text += b"," + text[1 : -len(_TAIL)]
        if not exact:
            self._read = _json.loads
        for column, more in zip((self.contents, self.ids, self.times), columns, strict=True):
            column.extend(more)
        if checked and self.checked == size:
            self.checked = len(self.contents)
        self.ends.extend(_ends(text, start))  # the last step: the rows count from here on

    def replaced(self, size: int, place: int, text: bytes | None, *, exact: bool = True) -> Table:
        """Return another table of the first ``size`` rows, in which one is another record, or (None) is left out.

        Contents, ids and times of another record are the caller's to adapt.
        """
        if not self.take(size):  # nobody may add to the text while it is being copied
            return self.copy(size).replaced(size, place, text, exact=exact)
        stop = self.ends[place]
        start = self.ends[place - 1] if place else 0
        view = memoryview(self.text)
        if text is not None:
            middle = view[start : start + _GAP].tobytes() + text
        elif place == 0 and size > 1:  # what opened the array now stands before the second record
            middle, stop = view[:_GAP].tobytes(), stop + _GAP
        else:
            middle = b""
        new = Table(bytearray(b"".join((view[:start], middle, view[stop : self.ends[size - 1]]))), checked=size)
        new._read = self._read if exact else _json.loads
        shift = start + len(middle) - stop
        kept = [] if text is None else [start + len(middle)]
        new.ends = self.ends[:place] + array("Q", kept + [end + shift for end in self.ends[place + 1 : size]])
        new.contents, new.ids, new.times = self.contents[:size], self.ids[:size], self.times[:size]
        if text is None:
            new.checked -= 1
            for column in (new.contents, new.ids, new.times):
                del column[place]
        return new

    # Bytes

    def parts(self, size: int) -> list[bytes | memoryview]:
        """Return the bytes of a file with the first ``size`` records."""
        return [memoryview(self.text)[: self.ends[size - 1]], _TAIL] if size else [b"[]"]

    def is_file(self, data: bytes, size: int) -> bool:
        """Whether a file with these bytes is what the first ``size`` rows were read from, or written to."""
        if not size:
            return data == b"[]"
        if isinstance(self.text, bytes):
            return size == len(self.ends) and data == self.text
        end = self.ends[size - 1]
        if len(data) != end + len(_TAIL) or not data.endswith(_TAIL):
            return False
        return data.startswith(self.text) if len(self.text) == end else data[:end] == self.text[:end]

    def more_in(self, data: bytes, size: int) -> bytes | None:
        """Return the further records, as an array, of a file that begins with the first ``size`` rows; else None."""
        end = self.ends[size - 1]
        if len(data) <= end or not data.endswith(_TAIL):
            return None
        mine = self.text if len(self.text) == end else self.text[:end]
        return b"[" + data[end + 1 :] if data.startswith(mine) and data.startswith(b",", end) else None

    def check(self, size: int) -> bool:
        """Whether the first ``size`` records are written, byte for byte, as this program writes them."""
        while self.checked < size:
            start = self.checked
            stop = min(start + 500, size)
            first = (self.ends[start - 1] if start else 0) + _GAP
            text = b"[\n  " + bytes(self.text[first : self.ends[stop - 1]]) + _TAIL
            try:
                same = _json.dumps(self.reader()(text)) == text
            except _json.NotJsonError:
                same = False
            if not same or self.checked != start:
                return False
            self.checked = stop
        return True


def _catch_up(places: dict[str, int], column: Sequence[str], known: int, size: int, strip: bool = False) -> int:
    """Note the first place of each text down to row ``size``. Doing it twice, in two threads, changes nothing."""
    if known < size:
        for place in range(known, size):
            places.setdefault(column[place].strip() if strip else column[place], place)
    return max(known, size)


def _ends(text: bytes, start: int) -> Iterator[int]:
    """Say where each record of an array in the documented layout ends once the array follows ``start`` other bytes."""
    return _ends_of(text[len(_HEAD) : -len(_FOOT + _TAIL)].split(_BETWEEN), start)


def _ends_of(pieces: Iterable[bytes], start: int) -> Iterator[int]:
    """Say where records end of which these are the texts between the braces, after ``start`` other bytes."""
    around = _GAP + len(b"{\n" + _FOOT)
    return islice(accumulate(map(around.__add__, map(len, pieces)), initial=start), 1, None)


def cut(data: bytes) -> Table | None:
    """Read a file in the documented layout: two blanks of indent, whatever the records hold.

    Each record is read by itself, so that what lies between them is sure to be what lies between records.

    Returns:
        The table, or None where the file has another layout or is damaged: a slower way finds out which.
    """
    end = len(data)
    while end and data[end - 1] in _WHITE:
        end -= 1
    position, stop = len(_HEAD), end - len(_FOOT + _TAIL)
    if not data.startswith(_HEAD) or not data.endswith(_FOOT + _TAIL, 0, end) or position > stop:
        return None
    table = Table(data)
    try:
        while position <= stop:
            close = data.find(_BETWEEN, position + _BLOCK, stop)
            close = stop if close < 0 else close
            _add_block(table, data[position:close], table.ends[-1] if table.ends else 0)
            position = close + len(_BETWEEN)
    except (ValueError, KeyError, TypeError):
        return None
    return table


def _add_block(table: Table, block: bytes, start: int) -> None:
    read, first = _json.loads_plain, len(table.ids)
    add_content, add_id, add_time = table.contents.append, table.ids.append, table.times.append
    pieces = block.split(_BETWEEN)
    for piece in pieces:
        record = read(b"{" + piece + b"}")
        add_content(record["content"])
        add_id(record["id"])
        add_time(record["createdAt"])
        metadata = record.get("metadata")
        if metadata is not None and metadata.__class__ is not dict:
            raise TypeError
    for column in (table.contents, table.ids, table.times):
        "".join(column[first:])  # a TypeError where one of them is no text
    table.ends.extend(_ends_of(pieces, start))
