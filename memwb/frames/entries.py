"""Entries of sessions as DataFrames, and back again without loss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, nearest
from ..memory.messages import copied
from .records import Cell, checked_names, column_of, is_missing, objects, time_of

if TYPE_CHECKING:
    import pandas

    from .. import sessions

_ENTRY_TEXTS = ("memory_id", "session_id", "user_id", "role", "content")
_TIMES = ("created_at", "updated_at")


def entries_frame(entries: Iterable[sessions.MemoryEntry]) -> pandas.DataFrame:
    """Return entries of sessions as a DataFrame, one row an entry, a column for each field, in their order.

    ``message_data`` is a :class:`Cell`, or None. The times are UTC timestamps; where one of a column does not fit a
    timestamp exactly, all of the column are seconds. :func:`entries_from_frame` turns it back into equal entries.
    """
    import pandas as pd

    rows = list(entries)
    cells: dict[str, Any] = {name: objects([getattr(row, name) for row in rows]) for name in _ENTRY_TEXTS}
    cells["message_data"] = objects([None if row.message_data is None else Cell(row.message_data) for row in rows])
    cells |= {name: _stamps([getattr(row, name) for row in rows]) for name in _TIMES}
    return pd.DataFrame(cells, index=range(len(rows)))


def entries_from_frame(
    frame: pandas.DataFrame, session_id: str | None = None, user_id: str = "default"
) -> list[sessions.MemoryEntry]:
    """Return the entries that a frame holds: the inverse of :func:`entries_frame`.

    A frame of one's own needs the column ``content`` alone, and ``session_id`` as a column or an argument. What it does
    not have is as for a new entry: an id is made, the role is ``user``, the times are now.

    Args:
        frame: The frame; columns that no entry has are refused.
        session_id: The session of rows without one.
        user_id: The user of rows without one.

    Raises:
        ConfigError: A column or a cell that no entry has, or no session; the message names row and column.
    """
    from ..sessions import MemoryEntry

    known = (*_ENTRY_TEXTS, "message_data", *_TIMES)
    names = checked_names(frame)
    if strange := [name for name in names if name not in known]:
        raise ConfigError(
            f"The frame has the column {strange[0]!r}, which entries of sessions do not have; they have "
            f"{', '.join(known)}.{nearest(strange[0], known)}",
            key="columns",
            value=strange,
            allowed=known,
        )
    columns = {name: column_of(frame, name) for name in names}
    found = []
    for row in range(len(frame)):
        given = {name: _entry_value(name, row, cells[row]) for name, cells in columns.items()}
        given = {name: value for name, value in given.items() if value is not None}
        if "session_id" not in given and session_id is None:
            raise ConfigError(
                f"Row {row}: there is no session_id; give it as a column or an argument.", key="session_id"
            )
        found.append(MemoryEntry(**{"session_id": session_id, "user_id": user_id, **given}))
    return found


def sessions_frame(found: Iterable[sessions.SessionInfo]) -> pandas.DataFrame:
    """Return a list of sessions as a DataFrame: session_id, user_id, count, first and last (UTC)."""
    import pandas as pd

    rows = list(found)
    cells = {name: objects([getattr(row, name) for row in rows]) for name in ("session_id", "user_id")}
    cells["count"] = pd.Series([row.count for row in rows], dtype="int64")
    cells |= {name: _stamps([getattr(row, name) for row in rows]) for name in ("first", "last")}
    return pd.DataFrame(cells, index=range(len(rows)))


def _stamps(times: list[float | None]) -> Any:
    """Return seconds since 1970 as timestamps, or as they are where one of them would not come back equal."""
    import pandas as pd

    stamps = [None if time is None else _nanoseconds(time) for time in times]
    if any(stamp is None for stamp in stamps):
        return objects(list(times))
    return pd.to_datetime(pd.Series(stamps, dtype="int64"), unit="ns", utc=True)


def _nanoseconds(time: float) -> int | None:
    if not -9e9 < time < 9e9:  # beyond that they do not fit
        return None
    whole = int(time // 1)
    nanoseconds = whole * 10**9 + round((time - whole) * 1e9)
    return nanoseconds if nanoseconds / 10**9 == time else None


def _entry_value(name: str, row: int, cell: Any) -> Any:
    """Return the value of an entry's field, None where the cell is missing."""
    value = cell.value if isinstance(cell, Cell) else cell
    if isinstance(value, str) and name in _ENTRY_TEXTS:
        return value
    if name == "message_data" and isinstance(value, dict):
        return copied(value)
    if is_missing(value) and name != "content":
        return None
    if name in _TIMES:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        return value.value / 10**9 if hasattr(value, "value") else time_of(name, row, value).timestamp()
    wanted = "a dict" if name == "message_data" else "a text"
    raise ConfigError(f"Row {row}: {name} is {value!r:.80}; it must be {wanted}.", key=name, value=value)
