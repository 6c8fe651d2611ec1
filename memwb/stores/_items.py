"""Turning what a caller gives into records: checks first, so that nothing is written when one of them fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from .. import _json
from .._time import Clock, IdFactory, parse_stamp, stamp
from ..catalog import Record
from ..errors import ConfigError, DuplicateEntryError
from ..memory.settings import refuse_unknown
from ._records import PREFIX, Contents
from ._table import RawRecord

ITEM_KEYS = ("content", "metadata", "id", "createdAt")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_END = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND  # somebody may write it: there is no time after it
_ITEM_KEYS = frozenset(ITEM_KEYS)


@dataclass
class TestMemoryAddResult:
    """What became of one added text.

    Attributes:
        id: The id of the record that now holds the text.
        deduplicated: True when an earlier record held the text already. Nothing was written then, and metadata
            given with the repeat is dropped: the first record keeps its own.
    """

    __test__ = False

    id: str
    deduplicated: bool = False


@contextmanager
def told_by(where: str) -> Iterator[None]:
    """Let errors of these checks begin with the name of the store that makes them."""
    try:
        yield
    except ConfigError as error:
        error.args = (str(error).replace(PREFIX, f"{where}: ", 1),)
        raise


def checked_text(value: Any, name: str = "content", where: str = "") -> str:
    """Return a text that a store takes, else raise :class:`ConfigError`: not blank, no lone surrogates.

    Args:
        value: The text.
        name: What errors call it.
        where: What errors begin with, such as ``item 2: ``.
    """
    if type(value) is str and value.isascii() and value.strip():
        return value
    name = where + name
    if not isinstance(value, str):
        raise ConfigError(
            f"{PREFIX}{name} must be a text, not {type(value).__name__} {value!r:.80}.", key=name, value=value
        )
    if not value.strip():
        raise ConfigError(f"{PREFIX}{name} must not be empty or blank; it is {value!r:.80}.", key=name, value=value)
    place = _json.lone_surrogate(value)
    if place is not None:
        raise ConfigError(
            f"{PREFIX}{name} holds a lone surrogate, {value[place]!r} at character {place}, which UTF-8 cannot hold. "
            "Nothing was written; replace it, for instance by U+FFFD.",
            key=name,
            value=value,
        )
    return str.__str__(value)


def checked_metadata(value: Any, where: str = "") -> dict[str, Any] | None:
    """Return a copy of metadata that JSON can hold, else raise :class:`ConfigError` naming the key."""
    if value is None:
        return None
    try:
        return _json.check_metadata(value)
    except _json.NotJsonError as error:
        place = where + error.place
        raise ConfigError(f"{PREFIX}{place} {error.cause}. Nothing was written.", key=place, value=value) from None


def draft(content: Any, metadata: Any = None, id: Any = None, time: Any = None, where: str = "") -> RawRecord:
    """Check what shall become a record; its id and createdAt are None where they are still to be given.

    Raises:
        ConfigError: It cannot be stored.
    """
    record: RawRecord = {
        "id": None if id is None else checked_text(id, "id", where),
        "content": checked_text(content, "content", where),
        "createdAt": None if time is None else _checked_time(time, f"{where}createdAt"),
    }
    if metadata is not None:
        record["metadata"] = checked_metadata(metadata, where)
    return record


def drafts(items: Iterable[Any]) -> list[RawRecord]:
    """Check the items of a bulk write; errors count them from 1."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise ConfigError(
            f"{PREFIX}items must be a list of texts or dicts, not {items!r:.80}.", key="items", value=items
        )
    return [_draft(item, f"item {number}: ") for number, item in enumerate(items, 1)]


def _draft(item: Any, where: str) -> RawRecord:
    if isinstance(item, str):
        return draft(item, where=where)
    if isinstance(item, Record):
        return draft(item.content, item.metadata, item.id, item.created_at, where)
    if not isinstance(item, Mapping):
        kind = type(item).__name__
        raise ConfigError(f"{PREFIX}{where}must be a text or a dict, not {kind} {item!r:.80}.", value=item)
    if not item.keys() <= _ITEM_KEYS:
        refuse_unknown(item, ITEM_KEYS, f"{PREFIX}{where}an item")
    get = item.get
    return draft(get("content"), get("metadata"), get("id"), get("createdAt"), where)


def _checked_time(value: Any, name: str) -> str:
    try:
        if isinstance(value, datetime):
            return stamp(value)
        if isinstance(value, str):
            parse_stamp(value)
            return str.__str__(value)
    except ValueError as error:
        raise ConfigError(f"{PREFIX}{name}: {error}", key=name, value=value) from None
    raise ConfigError(f"{PREFIX}{name} is {value!r:.80}; it must be a time or its text.", key=name, value=value)


class Sources:
    """Where the ids and times of new records come from: a store's ``clock=`` and ``new_id=``."""

    def __init__(self, clock: Clock, new_id: IdFactory) -> None:
        self._clock, self._new_id = clock, new_id

    def now(self) -> datetime:
        """Return the clock's time."""
        time = self._clock()
        if not isinstance(time, datetime) or time.utcoffset() is None:
            message = f"{PREFIX}clock() gave {time!r:.80}; it must give an aware datetime, as datetime.now(UTC) does."
            raise ConfigError(message, key="clock", value=time)
        return time

    def any_time(self) -> str:
        """Return the clock's time as a record holds it."""
        return stamp(self.now())

    def any_id(self) -> str:
        """Return an id, new as far as its source knows."""
        return checked_text(self._new_id(), "new_id()")


def new_records(
    entries: Sequence[RawRecord], contents: Contents, sources: Sources, where: str, *, deduplicate: bool = True
) -> tuple[list[TestMemoryAddResult], list[RawRecord]]:
    """Give entries their ids and times, as if each were added after the one before it.

    Args:
        entries: What to add, as :func:`draft` gives it.
        contents: What the store holds so far.
        sources: Where new ids and times come from.
        where: What errors call the store.
        deduplicate: Leave out what the contents, or an earlier entry, hold already.

    Returns:
        A result for each entry, and the records to add.

    Raises:
        DuplicateEntryError: A given id is taken, by a record or by an earlier entry.
    """
    taken = _Taken(entries, contents, where)
    texts: dict[str, str] = {}
    results: list[TestMemoryAddResult] = []
    records: list[RawRecord] = []
    for entry in entries:
        text = entry["content"].strip()
        if deduplicate:
            held = texts.get(text)
            held = _holder(text, contents) if held is None else held
            if held is not None:
                results.append(TestMemoryAddResult(held, deduplicated=True))
                continue
        record = dict(entry)
        id = record["id"]
        if id is None:
            id = record["id"] = taken.new(sources)
        texts[text] = id
        records.append(record)
        results.append(TestMemoryAddResult(id))
    if any(record["createdAt"] is None for record in records):
        give_times(records, contents.latest, sources)
    return results, records


class _Taken:
    """The ids that a new record cannot have: those of the records and those that the entries bring along."""

    def __init__(self, entries: Sequence[RawRecord], contents: Contents, where: str) -> None:
        self._contents, self._where = contents, where
        self._own: set[str] = set()
        for entry in entries:
            if (id := entry["id"]) is not None:
                if id in self:
                    raise DuplicateEntryError(id, where)
                self._own.add(id)

    def __contains__(self, id: object) -> bool:
        return id in self._own or self._contents.place_of_id(str(id)) is not None

    def new(self, sources: Sources) -> str:
        """Return a new id, taken from now on; for a taken one, as after the restart of a counter, another is asked for.

        Raises:
            DuplicateEntryError: The source gives nothing but ids that are taken.
        """
        id = ""
        for _ in range(len(self._contents) + len(self._own) + 1):
            id = sources.any_id()
            if id not in self:
                self._own.add(id)
                return id
        raise DuplicateEntryError(id, self._where)


def known(entry: RawRecord, contents: Contents) -> TestMemoryAddResult | None:
    """Return the result for an entry whose text the contents hold already."""
    id = _holder(entry["content"].strip(), contents)
    return None if id is None else TestMemoryAddResult(id, deduplicated=True)


def _holder(text: str, contents: Contents) -> str | None:
    place = contents.holder(text)
    return None if place is None else contents.id(place)


def give_times(records: list[RawRecord], latest: datetime | None, sources: Sources) -> None:
    """Date the records that have no time yet: a millisecond apart and ending at now, but later than all before them."""
    last = None if latest is None else _milliseconds(latest)
    time = _milliseconds(sources.now()) - sum(record["createdAt"] is None for record in records)
    second, text = None, ""
    for record in records:
        if record["createdAt"] is not None:
            given = _milliseconds(parse_stamp(record["createdAt"]))
            last = given if last is None else max(last, given)
            continue
        time += 1
        last = time if last is None or time > last else min(last + 1, _END)
        if second != last // 1000:
            second = last // 1000
            text = stamp(_EPOCH + timedelta(seconds=second))[: -len("000Z")]
        record["createdAt"] = f"{text}{last % 1000:03}Z"


def _milliseconds(time: datetime) -> int:
    """Return how many whole milliseconds a time is after the start of 1970."""
    return (time - _EPOCH) // _MILLISECOND
