"""What lies at a path: memories in a file, or sessions in a database or folder; told by looking, not by name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..sessions import FileStore, SQLiteStore

_SQLITE = b"SQLite format 3\0"
_DATABASES = (".db", ".sqlite", ".sqlite3")
_TABLE = "session_entries"


def open_path(path: Path) -> Any:
    """Return the store for a path: of memories in a JSON file or a database, or of sessions in a database or folder.

    Which of both a database holds, its tables tell. Nothing is changed, and of a JSON file nothing is read yet; a name
    that ends in .json need not exist.

    Raises:
        ConfigError: There is something else, or nothing where a database, or any kind of store, may be meant.
    """
    path = path.expanduser()
    if path.is_dir():
        return _folder(path)
    if _is_database(path):
        return _database(path)
    if path.suffix in _DATABASES and not _has_bytes(path):
        raise _refused(
            path,
            "is empty" if path.exists() else "does not exist",
            "give the path of a database of memories or sessions; SQLiteMemoryStore(path) makes one of memories",
        )
    if path.suffix == ".jsonl":
        raise _refused(
            path,
            "is a JSONL file",
            "give the folder of sessions that it lies in, or as a conversation: Workbench(..., messages=Path(...))",
        )
    if not path.suffix and not path.exists():
        raise _refused(path, f"does not exist; {_beside(path)}", "for a new file of memories give a name with .json")
    from ..stores import TestMemoryStore

    return TestMemoryStore(name=path.stem or "memory", path=str(path))


def _beside(path: Path) -> str:
    """Say what lies where something is missing, what has a like name first."""
    folder = path.absolute().parent
    try:
        names = [each.name + "/" * each.is_dir() for each in folder.iterdir() if not each.name.startswith(".")]
    except OSError:
        return f"there is no folder {str(folder)!r} either"
    likeness = {name: SequenceMatcher(None, path.name, name).ratio() for name in names}
    return f"beside it: {_listed(sorted(names, key=lambda name: (-likeness[name], name)))}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more if names else "nothing"


def _folder(path: Path) -> FileStore:
    if any(path.glob("*/*.jsonl")):
        return FileStore(path)
    inside = sorted(each.name for each in path.iterdir() if not each.name.startswith("."))
    if not inside:
        return FileStore(path)
    if any(path.glob("agents/agent_*")):
        raise _refused(path, "is a session of the Strands SDK", "open it by Workbench(..., messages=Path(...))")
    raise _refused(
        path,
        f"is a folder without sessions (<session>/<user>.jsonl); it holds {_listed(inside)}",
        "give a folder or a database of sessions, or the path of a file of memories",
    )


def _has_bytes(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _database(path: Path) -> Any:
    """Return the store of a database; one that holds something else is refused, since a store would add its tables."""
    import sqlite3
    from contextlib import closing

    from ..stores import SQLiteMemoryStore
    from ..stores.sqlite import is_memory_file

    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    except sqlite3.Error:  # locked or damaged: the store says so when it is read
        return SQLiteStore(path)
    if is_memory_file(set(tables)):
        return SQLiteMemoryStore(path)
    if _TABLE not in tables:
        held = ", ".join(map(repr, tables[:5])) or "no table"
        fault = f"is a database without memories and without sessions (the table {_TABLE}); it holds {held}"
        raise _refused(path, fault, "give another")
    return SQLiteStore(path)


def _refused(path: Path, fault: str, advice: str) -> ConfigError:
    return ConfigError(f"Workbench: {str(path)!r} {fault}; {advice}.", key="source", value=str(path))
