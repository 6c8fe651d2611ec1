"""Entries of sessions and records as the lines of JSONL files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from .. import _time
from .._files import expand, look, replace, resolve
from .._json import NotJsonError, loads
from ..catalog import Record
from ..errors import ConfigError, DamagedFileError
from ..sessions.types import MemoryEntry

Item = MemoryEntry | Record
"""An entry of a session, or a record of long-term memory."""

_DATABASE = b"SQLite format 3\0"
_DATABASES = frozenset({".db", ".db3", ".sqlite", ".sqlite3"})
_TIMES = ("created_at", "updated_at")


def read_jsonl(path: str | os.PathLike[str]) -> list[Item]:
    """Return the entries or records that the lines of a file hold.

    Raises:
        ConfigError: There is no such file.
        DamagedFileError: A line is none; the error names it.
    """
    path = expand(path)
    check_form(path, "source")
    if not path.is_file():
        raise ConfigError(f"transfer: there is no file {str(path)!r}.", key="path", value=str(path))
    found: list[Item] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line.strip(b" \t\r\xef\xbb\xbf"):
            continue
        try:
            found.append(_item(loads(line)))
        except (NotJsonError, ConfigError, ValueError, TypeError) as error:
            cause = error.cause if isinstance(error, NotJsonError) else str(error)
            raise DamagedFileError(path, f"line {number}", cause, prefix="transfer: ") from error
    return found


def _item(data: Any) -> Item:
    if not isinstance(data, dict) or not isinstance(data.get("content"), str):
        raise ValueError("neither an entry nor a record: both are objects with a text as content")
    if "session_id" in data:
        return MemoryEntry.from_dict(data)
    known = {each.name: data[each.name] for each in fields(Record) if each.name in data}
    for name in _TIMES:
        if known.get(name) is not None:
            known[name] = _time.parse_stamp(known[name])
    return Record(**{"id": _time.new_id(), **known})


def write_jsonl(path: str | os.PathLike[str], items: Iterable[Item]) -> Path:
    """Write entries or records as the lines of a new file, whole or not at all, and return its path.

    Raises:
        ConfigError: There is such a file already, or an item holds what JSON cannot.
    """
    target = resolve(expand(path))
    check_form(Path(target), "target")
    if look(target) is not None:
        raise ConfigError(f"transfer: {target} exists; take another name, or remove it.", key="path", value=target)
    lines = [line_of(item) for item in items]
    replace(target, "".join(lines).encode(), over=None)
    return Path(target)


def check_form(path: Path, key: str) -> None:
    """Refuse what is a store's file or folder by its name or its content: it is no JSONL file and becomes none."""
    if path.is_dir():
        fault, hint = "is a folder, not a JSONL file", f"FileStore({str(path)!r})"
    elif path.suffix.casefold() in _DATABASES or (path.is_file() and _begins_as_database(path)):
        fault, hint = "is a database by its name or content, not a JSONL file", f"SQLiteStore({str(path)!r})"
    else:
        return
    told = f"transfer: {str(path)!r} {fault}; give memwb.sessions.{hint} for sessions kept there."
    raise ConfigError(told, key=key, value=str(path))


def _begins_as_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_DATABASE)) == _DATABASE


def line_of(item: Item) -> str:
    """Return an item as a line.

    Raises:
        ConfigError: It holds what JSON cannot.
    """
    if isinstance(item, Record):
        data = {each.name: getattr(item, each.name) for each in fields(Record)}
        data = {name: value for name, value in data.items() if value is not None}
        data |= {name: data[name].isoformat() for name in _TIMES if name in data}
    else:
        data = item.to_dict()
    try:
        line = json.dumps(data, ensure_ascii=False, allow_nan=False)
        line.encode()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"transfer: {id_of(item)!r} cannot be written as JSON: {error}.", value=item) from error
    return line + "\n"


def id_of(item: Item) -> str:
    """Return an item's id."""
    return item.id if isinstance(item, Record) else str(item.memory_id)
