"""Turning what a caller gives into records: checks first, so that nothing is written when one of them fails."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .. import _json
from .._time import Clock, IdFactory, parse_stamp, stamp
from ..catalog import Record
from ..errors import ConfigError, DuplicateEntryError
from ..memory.settings import refuse_unknown
from ._records import PREFIX, Contents, next_time
from ._table import RawRecord

ITEM_KEYS = ("content", "metadata", "id", "createdAt")


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


def checked_text(value: Any, name: str = "content") -> str:
    """Return a text that a store takes, else raise :class:`ConfigError`: not blank, no lone surrogates."""
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


def checked_metadata(value: Any, name: str = "metadata") -> dict[str, Any] | None:
    """Return a copy of metadata that JSON can hold, else raise :class:`ConfigError` naming the key."""
    if value is None:
        return None
    try:
        return _json.check_metadata(value, name)
    except _json.NotJsonError as error:
        message = f"{PREFIX}{error.place} {error.cause}. Nothing was written."
        raise ConfigError(message, key=error.place, value=value) from None


@dataclass
class Draft:
    """A checked entry that has no place among the records yet."""

    content: str
    metadata: dict[str, Any] | None = None
    id: str | None = None
    created_at: str | None = None


def drafts(items: Iterable[Any]) -> list[Draft]:
    """Check the items of a bulk write; errors count them from 1."""
    if isinstance(items, str | bytes | Mapping):
        raise ConfigError(
            f"{PREFIX}items must be a list of texts or dicts, not {items!r:.80}.", key="items", value=items
        )
    return [_draft(item, f"item {number}: ") for number, item in enumerate(items, 1)]


def _draft(item: Any, where: str) -> Draft:
    if isinstance(item, Record):
        item = {"content": item.content, "metadata": item.metadata, "id": item.id, "createdAt": item.created_at}
    elif isinstance(item, str):
        item = {"content": item}
    elif not isinstance(item, Mapping):
        kind = type(item).__name__
        raise ConfigError(f"{PREFIX}{where}must be a text or a dict, not {kind} {item!r:.80}.", value=item)
    refuse_unknown(item, ITEM_KEYS, f"{PREFIX}{where}an item")
    id = item.get("id")
    return Draft(
        content=checked_text(item.get("content"), f"{where}content"),
        metadata=checked_metadata(item.get("metadata"), f"{where}metadata"),
        id=None if id is None else checked_text(id, f"{where}id"),
        created_at=_checked_time(item.get("createdAt"), f"{where}createdAt"),
    )


def _checked_time(value: Any, name: str) -> str | None:
    if value is None:
        return None
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

    def id(self, taken: Container[str], tries: int, where: str) -> str:
        """Return a new id; for one that is taken, as after the restart of a counter, the source is asked again."""
        for _ in range(tries):
            id = self.any_id()
            if id not in taken:
                return id
        raise DuplicateEntryError(id, where)


def new_records(
    entries: Sequence[Draft], contents: Contents, sources: Sources, where: str, *, deduplicate: bool = True
) -> tuple[list[TestMemoryAddResult], list[RawRecord]]:
    """Give entries their ids and times, as if each were added after the one before it.

    Args:
        entries: What to add.
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
        text = entry.content.strip()
        known = texts.get(text, _holder(text, contents)) if deduplicate else None
        if known is not None:
            results.append(TestMemoryAddResult(known, deduplicated=True))
            continue
        id = entry.id or taken.new(sources)
        texts[text] = id
        record: RawRecord = {"id": id, "content": entry.content, "createdAt": entry.created_at}
        if entry.metadata is not None:
            record["metadata"] = entry.metadata
        records.append(record)
        results.append(TestMemoryAddResult(id))
    if any(record["createdAt"] is None for record in records):
        _give_times(records, contents.latest, sources)
    return results, records


class _Taken:
    """The ids that a new record cannot have: those of the records and those that the entries bring along."""

    def __init__(self, entries: Sequence[Draft], contents: Contents, where: str) -> None:
        self._contents, self._where = contents, where
        self._own: set[str] = set()
        for entry in entries:
            if entry.id is not None:
                if entry.id in self:
                    raise DuplicateEntryError(entry.id, where)
                self._own.add(entry.id)

    def __contains__(self, id: object) -> bool:
        return id in self._own or (isinstance(id, str) and self._contents.place_of_id(id) is not None)

    def new(self, sources: Sources) -> str:
        """Return a new id, taken from now on."""
        id = sources.id(self, len(self._contents) + len(self._own) + 1, self._where)
        self._own.add(id)
        return id


def known(entry: Draft, contents: Contents) -> TestMemoryAddResult | None:
    """Return the result for an entry whose text the contents hold already."""
    id = _holder(entry.content.strip(), contents)
    return None if id is None else TestMemoryAddResult(id, deduplicated=True)


def _holder(text: str, contents: Contents) -> str | None:
    place = contents.holder(text)
    return None if place is None else contents.id(place)


def _give_times(records: list[RawRecord], latest: datetime | None, sources: Sources) -> None:
    """Date the records that have no time yet: rising, later than all before them, the last one now if possible."""
    to_come = sum(record["createdAt"] is None for record in records)
    now = sources.now()
    for record in records:
        if record["createdAt"] is None:
            to_come -= 1
            time = next_time(latest, now, to_come)
            record["createdAt"] = stamp(time)
        else:
            time = parse_stamp(record["createdAt"])
        latest = time if latest is None else max(latest, time)
