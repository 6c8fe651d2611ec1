"""The records of a TestMemoryStore at one moment, and what makes a record a valid one."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import _json
from .._collector import without_collector
from .._time import parse_stamp
from ..catalog import Record
from ..errors import DamagedFileError
from ._table import Columns, RawRecord, Table, cut

WHERE = "TestMemoryStore"
PREFIX = f"{WHERE}: "

_ADVICE = (
    "Repair it by hand, save what is readable by 'await store.salvage(\"rescued.json\")', or move it away to start "
    "with an empty store."
)

_TEXTS = len(("id", "content", "createdAt"))


class Contents:
    """What a store holds at one moment: the first rows of a table. Never changed: a write makes another one.

    Records are counted from 0, in the order of adding.

    Attributes:
        table: Where they are; later contents may share it.
        size: How many records there are.
        source: The bytes of the file that they were read from, where that has another layout than the documented one.
    """

    def __init__(self, table: Table | None = None, size: int = 0, source: bytes | None = None) -> None:
        self.table, self.size, self.source = table or Table(), size, source
        self._sorted: dict[tuple[str, bool], array[int]] = {}
        self._holding: tuple[str, array[int]] = "", array("I")

    @classmethod
    def of(cls, records: Sequence[RawRecord]) -> Contents:
        """Return contents with these records.

        Raises:
            NotJsonError: They hold what JSON cannot, or nest too deep.
        """
        return cls().extended(records)

    def __len__(self) -> int:
        return self.size

    @property
    def contents(self) -> list[str]:
        """The content of each record; the list may go on with those of later contents."""
        return self.table.contents

    def id(self, place: int) -> str:
        """Return a record's id."""
        return self.table.ids[place]

    def records(self, places: Iterable[int]) -> list[RawRecord]:
        """Return new copies of records.

        Raises:
            NotJsonError: One nests too deep to be read by itself.
        """
        return self.table.records(places)

    def place_of_id(self, id: str) -> int | None:
        """Return the place of the first record with this id, or None."""
        return self.table.place_of_id(id, self.size)

    def places_of_id(self, id: str) -> list[int]:
        """Return the places of all records with this id."""
        if not self.has_repeated_ids:
            place = self.place_of_id(id)
            return [] if place is None else [place]
        return [place for place, other in enumerate(self.table.ids[: self.size]) if other == id]

    def holder(self, text: str) -> int | None:
        """Return the place of the first record with this content, blanks around it left out, or None."""
        return self.table.place_of_text(text, self.size)

    @cached_property
    def latest(self) -> datetime | None:
        """The latest time of all records; what is no time does not count."""
        times = self.table.times[: self.size]
        try:
            latest = max(map(datetime.fromisoformat, times), default=None)
        except (ValueError, TypeError):  # some are no times, or some have a zone and some have none
            latest = None
        if latest is None or latest.tzinfo is None:
            return max(filter(None, map(_time_of, times)), default=None)
        return latest.astimezone(UTC)

    @cached_property
    def has_repeated_ids(self) -> bool:
        """Whether two records have one id."""
        return self.table.distinct_ids(self.size) != self.size

    def repeated_ids(self) -> list[tuple[str, int, int]]:
        """Return ``(id, first place, later place)`` for each record whose id an earlier one has."""
        if not self.has_repeated_ids:
            return []
        firsts: dict[str, int] = {}
        repeated = []
        for place, id in enumerate(self.table.ids[: self.size]):
            if (first := firsts.setdefault(id, place)) != place:
                repeated.append((id, first, place))
        return repeated

    def column(self, field: str) -> list[str]:
        """Return the ``content``, ``id`` or ``created_at`` (as text) of each record; the list may go on after them."""
        return {"content": self.table.contents, "id": self.table.ids, "created_at": self.table.times}[field]

    def places_holding(self, folded: str) -> Sequence[int]:
        """Return the places of the records whose content holds a text that is not empty, whatever the case."""
        known, places = self._holding  # a screen asks for how many there are, then for some of them
        if known != folded:
            texts = self.table.contents[: self.size]
            places = array("I", [place for place, text in enumerate(texts) if folded in text.casefold()])
            self._holding = folded, places
        return places

    def sorted_places(self, field: str, descending: bool) -> Sequence[int]:
        """Return the places of all records sorted by a column; what is equal stays in the order of adding."""
        places = self._sorted.get((field, descending))
        if places is None:
            every = range(self.size)
            places = array("I", sorted(every, key=self.column(field).__getitem__, reverse=descending))
            self._sorted[field, descending] = places
        return places

    # Writing: each of these returns other contents, whose file differs in nothing but what was asked for

    def written_anew(self) -> Contents:
        """Return these contents as this program writes them: the same records, and the same bytes where they can stay.

        Raises:
            NotJsonError: A record nests too deep to be written.
        """
        if self.source is not None:
            return Contents(self.table, self.size)
        return self if self.table.check(self.size) else Contents.of(self.records(range(self.size)))

    def extended(self, records: Sequence[RawRecord]) -> Contents:
        """Return contents with more records at the end."""
        if not records:
            return self
        text = _json.dumps(list(records), texts_alone=all(len(record) == _TEXTS for record in records))
        new = self._with(text, _columns(records), exact=_json.is_plain(text), checked=True)
        if "latest" in self.__dict__ and len(records) == 1:  # of many, it is faster found when it is asked for
            times = (self.latest, _time_of(records[0]["createdAt"]))
            new.__dict__["latest"] = max(filter(None, times), default=None)
        return new

    def grown_to(self, data: bytes) -> Contents | None:
        """Return what a file holds to which a foreign program has added records; None where it did anything else."""
        text = self.table.more_in(data, self.size) if self.size and self.source is None else None
        more = None if text is None else cut(text)
        if text is None or more is None:
            return None
        columns = more.contents, more.ids, more.times
        return self._with(text, columns, exact=_json.is_plain(text), checked=False)

    def _with(self, text: bytes, columns: Columns, *, exact: bool, checked: bool) -> Contents:
        table = self.table if self.table.take(self.size) else self.table.copy(self.size)
        table.add(text, columns, exact=exact, checked=checked)
        return Contents(table, self.size + len(columns[0]))

    def replaced(self, place: int, record: RawRecord) -> Contents:
        """Return contents in which one record is another one, of the same id and time."""
        text = _json.dumps([record])
        own = text[len("[\n  ") : -len("\n]")]
        table = self.table.replaced(self.size, place, own, exact=_json.is_plain(text))
        table.contents[place] = record["content"]
        if self.table.finder is not None:
            table.finder = self.table.finder.replaced(self, place, record["content"])
        new = Contents(table, self.size)
        if "latest" in self.__dict__:
            new.__dict__["latest"] = self.latest
        return new

    def without(self, place: int) -> Contents:
        """Return contents that lack one record."""
        if self.size == 1:
            return Contents()
        table = self.table.replaced(self.size, place, None)
        if self.table.finder is not None:
            table.finder = self.table.finder.without(self, place)
        return Contents(table, self.size - 1)

    # Bytes

    def parts(self) -> list[bytes | memoryview]:
        """Return the bytes of a file with these records."""
        return self.table.parts(self.size)

    def file(self) -> bytes:
        """Return the bytes of the file that these contents were read from, or written to."""
        if self.source is not None:
            return self.source
        whole = self.size == len(self.table.ends) > 0 and isinstance(self.table.text, bytes)
        return bytes(self.table.text) if whole else b"".join(self.parts())  # as it was read, blanks at its end too

    def is_file(self, data: bytes) -> bool:
        """Whether a file with these bytes is the one that these contents were read from, or written to."""
        return data == self.source if self.source is not None else self.table.is_file(data, self.size)


def _columns(records: Sequence[RawRecord]) -> Columns:
    return tuple([record[key] for record in records] for key in ("content", "id", "createdAt"))  # type: ignore[return-value]


def parse(data: bytes, path: Path) -> Contents:
    """Read the bytes of a store's file.

    Raises:
        DamagedFileError: They are no list of valid records.
    """
    table = cut(data)
    if table is not None:
        return Contents(table, len(table.ends))
    try:
        records = _checked(data, path)
        contents = Contents.of(records)
    except _json.NotJsonError as error:
        raise damaged(path, error.place, error.cause) from error
    contents.source = data
    return contents


def _checked(data: bytes, path: Path) -> list[RawRecord]:
    if data in (b"", b"\xef\xbb\xbf"):
        return []
    with without_collector():
        value = _json.loads(data)
    if not isinstance(value, list):
        raise damaged(path, "", f"expected a JSON array of records, found {_kind(value)}")
    for number, record in enumerate(value, 1):
        _check(record, number, path)
    return value


def _check(record: Any, number: int, path: Path) -> None:
    if not isinstance(record, dict):
        raise damaged(path, f"record {number}", f"expected a JSON object, found {_kind(record)}")
    for field in ("id", "content", "createdAt"):
        if not isinstance(record.get(field), str):
            found = f"is {_kind(record[field])}" if field in record else "is missing"
            raise damaged(path, f"record {number}, {field}", f"the field {found}; it must be a text")
    metadata = record.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise damaged(path, f"record {number}, metadata", f"the field is {_kind(metadata)}; it must be an object")


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    for kind, name in ((str, "a text"), (dict, "an object"), (list, "an array")):
        if isinstance(value, kind):
            return name
    return "a number"


def damaged(path: Path, place: str, cause: str) -> DamagedFileError:
    """Return the error for a file that cannot be read as a store."""
    return DamagedFileError(path, place, cause, prefix=PREFIX, advice=_ADVICE)


def _time_of(text: str) -> datetime | None:
    """Return a record's time, or None where the text is none."""
    try:
        return parse_stamp(text)
    except ValueError:
        return None


def as_record(record: RawRecord, store: str) -> Record:
    """Return a record for a person to browse, taking over its metadata."""
    made = Record.__new__(Record)
    made.__dict__.update(  # a listing makes thousands, and setting frozen fields one by one takes twice as long
        id=record["id"],
        content=record["content"],
        created_at=_time_of(record["createdAt"]),
        updated_at=None,
        store=store,
        owner=None,
        role=None,
        metadata=record.get("metadata"),
    )
    return made
