"""Why a store is silent: a missing file, an empty store and a query without a match are three things."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .._text import counted
from ..stores.session_search import SessionSearch

_LARGEST_LOOKED_INTO = 20_000_000  # bytes: a bigger file is named without its count of entries
_SHOWN = 5


@dataclass(frozen=True)
class Neighbour:
    """A store's file that lies beside a missing one.

    Attributes:
        path: The file.
        holds: How many entries it holds, in words.
    """

    path: Path
    holds: str


def never_written(stores: Sequence[Any]) -> str:
    """Say why stores that hold no entry are empty, as far as it can be seen."""
    if told := without_files(stores):
        return told
    for store in stores:
        if isinstance(store, SessionSearch) and (damage := store.damage):
            place, at, reason = damage[0]
            more = f", and {counted(len(damage) - 1, 'other')}" if len(damage) > 1 else ""
            return f"{store.name!r} holds nothing that can be read: {Path(place).name}, {at}: {reason}{more}"
    for store in stores:
        if isinstance(getattr(store, "path", None), Path):
            return f"{store.path.name} holds no entry, so {store.name!r} is empty"
    return f"nothing was ever written to {' and '.join(repr(store.name) for store in stores)}"


def without_files(stores: Sequence[Any]) -> str:
    """Name the stores that have no file, each with its path; "" where none lacks one."""
    paths = [(store.name, missing_file(store)) for store in stores]
    told = [f"store {name!r} has no file at {path}" for name, path in paths if path is not None]
    return f"{', '.join(told)} (nothing was ever written there, or the path is wrong)" if told else ""


def missing_file(store: Any) -> Path | None:
    """Return the file that a store would read, if there is none yet."""
    path = getattr(store, "path", None)
    return path if isinstance(path, Path) and not path.exists() else None


def neighbours(stores: Sequence[Any]) -> tuple[Neighbour, ...]:
    """Return the first five files of entries beside each missing one, by name."""
    found: list[Neighbour] = []
    for path in filter(None, map(missing_file, stores)):
        found.extend(_beside(path))
    return tuple(found)


def _beside(path: Path) -> list[Neighbour]:
    try:
        files = sorted(file for file in path.parent.iterdir() if file.suffix == ".json" and file.is_file())
    except OSError:
        return []
    counts = [(file, _count_in(file)) for file in files[:_SHOWN]]
    return [Neighbour(file, holds) for file, holds in counts if holds is not None]


def _count_in(file: Path) -> str | None:
    """Return how many entries a file holds, in words; None when it is no store's file."""
    try:
        found = file.stat()
        return _entries_in(file, found.st_size, found.st_mtime_ns)
    except (OSError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=32)  # looked at in each refresh, read once
def _entries_in(file: Path, size: int, _changed: int) -> str | None:
    if size > _LARGEST_LOOKED_INTO:
        return "very many entries"
    records = json.loads(file.read_bytes())
    if not isinstance(records, list) or not all(isinstance(item, dict) and "content" in item for item in records):
        return None
    return counted(len(records), "entry", "entries")
