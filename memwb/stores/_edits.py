"""Changing and removing records of a TestMemoryStore: which one is meant, and whether it may be done."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _json
from ..errors import ConfigError, DuplicateEntryError, EntryNotFoundError
from ._items import checked_metadata, checked_text
from ._records import PREFIX, Contents
from ._table import RawRecord


class Change(NamedTuple):
    """What is to be different in a record; None: nothing."""

    content: str | None
    metadata: dict[str, Any] | None

    @classmethod
    def checked(cls, content: Any, metadata: Any) -> Change:
        """Check what a caller gives.

        Raises:
            ConfigError: It cannot be stored.
        """
        return cls(None if content is None else checked_text(content), checked_metadata(metadata))

    def to(self, record: RawRecord) -> RawRecord | None:
        """Return the changed record, or None where nothing changes; whatever else it holds stays as it is."""
        given = {key: value for key, value in self._asdict().items() if value is not None}
        changed = {**record, **given}
        return None if _json.dumps([changed]) == _json.dumps([record]) else changed  # 1, 1.0 and True are different


def check_number(number: Any) -> int | None:
    """Return ``number=``, the place of a record counted from 1, as a place counted from 0."""
    if number is None:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        message = f"{PREFIX}number is {number!r:.80}; it must be the number of a record, at least 1, or None."
        raise ConfigError(message, key="number", value=number)
    return number - 1


def checked_id(id: Any) -> None:
    """Raise :class:`ConfigError` where what is given as an id is no text."""
    if not isinstance(id, str):
        raise ConfigError(f"{PREFIX}id must be a text, not {type(id).__name__} {id!r:.80}.", key="id", value=id)


def place_of(contents: Contents, id: str, number: int | None, where: str) -> int | None:
    """Return the place of the record with this id, or None.

    Args:
        contents: Where to look.
        id: The record's id.
        number: The place it must have, for an id that several records have.
        where: What errors call the store.

    Raises:
        ConfigError: Several records have the id, and ``number`` does not say which is meant.
    """
    checked_id(id)
    places = contents.places_of_id(id)
    if number is None and len(places) < 2:
        return places[0] if places else None
    if number in places or not places:
        return number if places else None
    numbers = [str(place + 1) for place in places]
    named = " and ".join(f"record {place + 1} ({contents.contents[place]!r:.60})" for place in places[:3])
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    have = "have" if len(places) > 1 else "has"
    choice = " or ".join(f"number={number}" for number in numbers[:3])
    message = f"{where}: {named}{more} {have} the id {id!r}. Nothing was written: say which one is meant by {choice}."
    raise ConfigError(message, key="number", value=number, allowed=numbers)


def found(contents: Contents, id: str, number: int | None, where: str) -> int:
    """Return the place of the record with this id.

    Raises:
        EntryNotFoundError: There is none.
        ConfigError: As for :func:`place_of`.
    """
    place = place_of(contents, id, number, where)
    if place is None:
        raise EntryNotFoundError(id, where)
    return place


def check_content(contents: Contents, place: int, content: str, where: str) -> None:
    """Refuse a content, for the record at a place, that another record holds.

    Raises:
        DuplicateEntryError: One does. Blanks around it do not count.
    """
    text = content.strip()
    if text == contents.contents[place].strip():
        return
    holder = contents.holder(text)
    if holder is not None:
        raise DuplicateEntryError(contents.id(holder), where, "content")
