"""What all stores of sessions do alike: the checks of what comes in, and rows that share nothing with a caller.

A row is a tuple of an entry's fields, in the order of the documented table. Its message data is JSON: as bytes that
orjson writes and reads back exactly, or as text where only the standard library does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, NoReturn

from .. import _json, _time
from ..errors import ConfigError, DuplicateEntryError
from .types import MemoryEntry

_UNWRITTEN = " Nothing was written."  # what a refusal ends with where something was to be

FIELDS = ("memory_id", "session_id", "user_id", "role", "content", "message_data", "created_at", "updated_at")

_fields = attrgetter(*FIELDS)
_new = MemoryEntry.__new__
LAST = 1e300  # what is larger may not even be a float

Row = tuple[str, str, str, str, str, bytes | str | None, float, float]


def row_of(entry: Any, where: str, place: str = "") -> Row:
    """Check an entry, memwb's own or Definable's, and return it as a row.

    Args:
        entry: The entry.
        where: What errors call the store.
        place: What errors say before the field, such as ``entry 2: ``.

    Raises:
        ConfigError: A field cannot be stored; the message names it.
    """
    try:
        row = _fields(entry)
    except AttributeError as error:
        raise ConfigError(f"{where}: {place}{entry!r:.80} is no MemoryEntry: {error}.", value=entry) from None
    id, session_id, user_id, role, content, data, created, updated = row
    if not (
        type(id) is type(session_id) is type(user_id) is type(role) is type(content) is str
        and id
        and session_id
        and user_id
        and id.isascii()
        and session_id.isascii()
        and user_id.isascii()
        and role.isascii()
        and content.isascii()
        and type(created) is type(updated) is float
        and -LAST < created < LAST
        and -LAST < updated < LAST
    ):
        for name, value in zip(FIELDS[:5], row, strict=False):
            checked_text(value, name, where, place, empty=name in ("role", "content"))
        id, session_id, user_id, role, content = map(str.__str__, row[:5])
        created, updated = _time_of(created, "created_at", where, place), _time_of(updated, "updated_at", where, place)
    message = None if data is None else _message(data, where, place)
    return id, session_id, user_id, role, content, message, created, updated


def entry_of(row: Row) -> MemoryEntry:
    """Return a row as an entry that shares nothing with it."""
    id, session_id, user_id, role, content, message, created, updated = row
    data = None if message is None else _json.loads_plain(message) if type(message) is bytes else json.loads(message)
    return _entry(id, session_id, user_id, role, content, data, created, updated)


def entry_from(
    id: Any,
    session_id: Any,
    user_id: Any,
    role: Any,
    content: Any,
    message: Any,
    created: Any,
    updated: Any,
    *,
    loads: Callable[[bytes], Any] = _json.loads,
) -> MemoryEntry | str:
    """Return what was stored, by whichever program, as an entry; or in words why it cannot be one.

    Message data may be JSON text, for ``loads`` to read, or a dict. An integer is a time too.
    """
    if not (
        type(id) is type(session_id) is type(user_id) is type(role) is type(content) is str
        and id
        and session_id
        and user_id
        and type(created) is type(updated) is float
        and -LAST < created < LAST
        and -LAST < updated < LAST
    ):
        for name, value in zip(FIELDS[:5], (id, session_id, user_id, role, content), strict=True):
            if not isinstance(value, str):
                return f"{name} is {value!r:.60}, no text"
            if not value and name not in ("role", "content"):
                return f"{name} is empty"
        for name, value in (("created_at", created), ("updated_at", updated)):
            if not _is_time(value):
                return f"{name} is {value!r:.60}, no time"
        created, updated = float(created), float(updated)
    if message is not None and type(message) is not dict:
        if not isinstance(message, str):
            return f"message_data is {message!r:.60}, no JSON text"
        try:
            message = loads(message.encode())
        except ValueError as error:
            return f"message_data is no JSON: {error}"
        if type(message) is not dict:
            return f"message_data is {message!r:.60}, no JSON object"
    return _entry(id, session_id, user_id, role, content, message, created, updated)


def _entry(
    id: str,
    session_id: str,
    user_id: str,
    role: str,
    content: str,
    data: dict[str, Any] | None,
    created: float,
    updated: float,
) -> MemoryEntry:
    """Make an entry in half the time that its constructor takes; there is nothing left to fill in."""
    entry = _new(MemoryEntry)
    entry.session_id = session_id
    entry.memory_id = id
    entry.user_id = user_id
    entry.role = role
    entry.content = content
    entry.message_data = data
    entry.created_at = created
    entry.updated_at = updated
    return entry


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LAST


def rows_of(entries: Iterable[Any], where: str) -> list[Row]:
    """Check entries that are to be written together; errors count them from 1.

    Raises:
        ConfigError: One of them cannot be stored.
        DuplicateEntryError: Two have one id.
    """
    if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):
        told = f"{where}: entries is {entries!r:.80}; it must be a list of entries.{_UNWRITTEN}"
        raise ConfigError(told, key="entries", value=entries)
    rows = [row_of(entry, where, f"entry {number}: ") for number, entry in enumerate(entries, 1)]
    ids: set[str] = set()
    for row in rows:
        if row[0] in ids:
            raise DuplicateEntryError(row[0], f"the list of entries for {where}")
        ids.add(row[0])
    return rows


def rows_for(session_id: str, user_id: str, entries: Iterable[Any], where: str) -> list[Row]:
    """Check entries that are to be all that a user's session holds.

    Raises:
        ConfigError: One cannot be stored, or is of another session or user.
        DuplicateEntryError: Two have one id.
    """
    checked_key(session_id, user_id, where)
    rows = rows_of(entries, where)
    for row in rows:
        if row[1:3] != (session_id, user_id):
            raise ConfigError(
                f"{where}: entry {row[0]!r} is of session {row[1]!r} and user {row[2]!r}, not of {session_id!r} and "
                f"{user_id!r}. Nothing was written.",
                key="session_id",
                value=row[1],
            )
    return rows


def updated_row(old: Row, new: Row, where: str) -> Row:
    """Return what an update makes of a row: the time it was made stays, the time of change is now.

    Message data that repeats the content or the role follows a change of these, unless it was changed itself.

    Raises:
        ConfigError: The update names another session or user.
    """
    if old[1:3] != new[1:3]:
        raise ConfigError(
            f"{where}: entry {old[0]!r} is of session {old[1]!r} and user {old[2]!r}; an update cannot move it to "
            f"{new[1]!r} and {new[2]!r}. Nothing was written: delete it and add another one there.",
            key="session_id",
            value=new[1],
        )
    message = new[5]
    if message is not None and old[5] is not None and old[3:5] != new[3:5]:
        message = _in_step(old, new)
    return (*new[:5], message, old[6], _time.now().timestamp())


def _in_step(old: Row, new: Row) -> bytes | str | None:
    before, after = entry_of(old).message_data, entry_of(new).message_data
    assert before is not None
    assert after is not None
    for name, at in (("role", 3), ("content", 4)):
        mirrored = isinstance(after.get(name), str) and after[name] == before.get(name)
        if mirrored and old[at] != new[at]:
            after[name] = new[at]
    return _message(after, "", "")


def checked_key(session_id: Any, user_id: Any, where: str) -> tuple[str, str]:
    """Return what names a user's session, else raise :class:`ConfigError`."""
    if not (type(session_id) is type(user_id) is str and session_id and user_id and f"{session_id}{user_id}".isascii()):
        checked_text(session_id, "session_id", where, end="")
        checked_text(user_id, "user_id", where, end="")
    return session_id, user_id


def checked_id(memory_id: Any, where: str) -> str:
    """Return an id that is asked for; a text that no entry can have as its id is allowed, and finds nothing."""
    if not isinstance(memory_id, str):
        raise ConfigError(
            f"{where}: memory_id is {memory_id!r:.80}; it must be a text.", key="memory_id", value=memory_id
        )
    return memory_id if _json.lone_surrogate(memory_id) is None else ""


def checked_limit(limit: Any, where: str) -> int | None:
    """Return a limit, else raise :class:`ConfigError`: None, or a whole number that is not negative."""
    if limit is None or (isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0):
        return limit
    raise ConfigError(
        f"{where}: limit is {limit!r:.80}; it must be a whole number, at least 0, or None for all entries.",
        key="limit",
        value=limit,
    )


def checked_text(
    value: Any, name: str, where: str, place: str = "", *, empty: bool = False, end: str = _UNWRITTEN
) -> None:
    """Raise :class:`ConfigError` unless the value is a text without lone surrogates, and not empty."""
    if not isinstance(value, str):
        _refuse(f"is {value!r:.80}; it must be a text", name, value, where, place, end)
    if not value and not empty:
        _refuse("is empty; any other text is allowed", name, value, where, place, end)
    at = _json.lone_surrogate(value)
    if at is not None:
        cause = f"holds a lone surrogate, {value[at]!r} at character {at}, which UTF-8 cannot hold"
        _refuse(f"{cause}; replace it, for instance by U+FFFD", name, value, where, place, end)


def _time_of(value: Any, name: str, where: str, place: str) -> float:
    if _is_time(value):
        return float(value) + 0.0  # -0.0 is 0.0
    return _refuse(f"is {value!r:.80}; it must be a number of seconds since 1970", name, value, where, place)


def _message(data: Any, where: str, place: str) -> bytes | str:
    try:
        return _json.dumps_dict(data, "message_data")
    except _json.NotJsonError as error:
        message = f"{where}: {place}{error.place} {error.cause}. Nothing was written."
        raise ConfigError(message, key=error.place, value=data) from None


def _refuse(cause: str, name: str, value: Any, where: str, place: str, end: str = _UNWRITTEN) -> NoReturn:
    raise ConfigError(f"{where}: {place}{name} {cause}.{end}", key=name, value=value)
