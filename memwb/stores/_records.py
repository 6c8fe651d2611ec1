"""The records of a TestMemoryStore at one moment, and what makes a record a valid one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import _json
from .._time import parse_stamp
from ..catalog import Record
from ..errors import DamagedFileError

PREFIX = "TestMemoryStore: "

RawRecord = dict[str, Any]
"""A record as it stands in the file: id, content, createdAt, metadata where there is some, and foreign fields."""

_MILLISECOND = timedelta(milliseconds=1)


class Contents:
    """What a store holds at one moment. Never changed: a write makes another one.

    Attributes:
        records: The records in the order of adding. Whoever hands one out copies it first.
    """

    def __init__(self, records: Sequence[RawRecord] = ()) -> None:
        self.records = records

    @cached_property
    def ids(self) -> dict[str, int]:
        """The position of the first record with each id."""
        return _first_positions(record["id"] for record in self.records)

    @cached_property
    def texts(self) -> dict[str, int]:
        """The position of the first record with each content, blanks around it left out."""
        return _first_positions(record["content"].strip() for record in self.records)

    @cached_property
    def latest(self) -> datetime | None:
        """The latest time of all records; what is no time does not count."""
        times = (created_at(record) for record in self.records)
        return max((time for time in times if time is not None), default=None)

    def extended(self, added: Sequence[RawRecord]) -> Contents:
        """Return the contents with records added at the end."""
        new = Contents([*self.records, *added])
        tail = Contents(added)
        new.__dict__["ids"] = _joined(self.ids, tail.ids, len(self.records))
        new.__dict__["texts"] = _joined(self.texts, tail.texts, len(self.records))
        new.__dict__["latest"] = max((time for time in (self.latest, tail.latest) if time is not None), default=None)
        return new

    def repeated_ids(self) -> list[tuple[str, int, int]]:
        """Return ``(id, first position, later position)`` for each record whose id an earlier one has."""
        if len(self.ids) == len(self.records):
            return []
        firsts = self.ids
        return [
            (record["id"], firsts[record["id"]], position)
            for position, record in enumerate(self.records)
            if firsts[record["id"]] != position
        ]


def _first_positions(keys: Iterable[str]) -> dict[str, int]:
    positions: dict[str, int] = {}
    for position, key in enumerate(keys):
        positions.setdefault(key, position)
    return positions


def _joined(first: dict[str, int], second: dict[str, int], offset: int) -> dict[str, int]:
    return {**{key: position + offset for key, position in second.items() if key not in first}, **first}


def parse(data: bytes, path: Path) -> Contents:
    """Read the bytes of a store's file.

    Raises:
        DamagedFileError: They are no list of valid records.
    """
    if data in (b"", b"\xef\xbb\xbf"):
        return Contents()
    try:
        value = _json.loads(data)
    except _json.NotJsonError as error:
        raise damaged(path, error.place, error.cause) from error
    if not isinstance(value, list):
        raise damaged(path, "", f"expected a JSON array of records, found {_kind(value)}")
    for number, record in enumerate(value, 1):
        _check(record, number, path)
    return Contents(value)


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
    return DamagedFileError(
        path, place, cause, prefix=PREFIX, advice="Repair it by hand, or move it away to start with an empty store."
    )


def created_at(record: RawRecord) -> datetime | None:
    """Return a record's time, or None where it is no time."""
    try:
        return parse_stamp(record["createdAt"])
    except ValueError:
        return None


def as_record(record: RawRecord, store: str, metadata: dict[str, Any] | None) -> Record:
    """Return a record for a person to browse, with a copy of its metadata."""
    return Record(record["id"], record["content"], created_at(record), store=store, metadata=metadata)


def next_time(latest: datetime | None, now: datetime, still_to_come: int = 0) -> datetime:
    """Return the time of a new record: now, or a millisecond after the latest one where now is not later than that.

    Args:
        latest: The store's latest time so far.
        now: The current time.
        still_to_come: How many more records the same call makes; they, too, should end at now.
    """
    wanted = _whole_millisecond(now) - still_to_come * _MILLISECOND
    if latest is None or wanted > latest:
        return wanted
    try:
        return _whole_millisecond(latest) + _MILLISECOND
    except OverflowError:  # somebody has written the last moment of the year 9999: there is none after it
        return latest


def _whole_millisecond(time: datetime) -> datetime:
    time = time.astimezone(UTC)
    return time.replace(microsecond=time.microsecond // 1000 * 1000)
