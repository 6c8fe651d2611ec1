"""The tables of an SQLiteMemoryStore.

- ``memories``: a row an entry. ``place`` counts up and is never given twice: it is the order of adding.
- ``words``: each token that an entry has, and how many entries have it.
- ``postings``: which entries have a token: for each token and block of places 12 bytes an entry, of three unsigned
  integers, low byte first: its place, how often it holds the token, how many tokens it has in all.
- ``blocks``: how many entries there are in each block of places, so that the millionth is found without counting.
- ``about``: the tokenizer, and what all entries come to.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from ...errors import DamagedFileError
from ...sessions.stores._database import CANTOPEN, READONLY, Database, Transaction, code_of

WHERE = "SQLiteMemoryStore"
TABLES = frozenset({"memories", "words", "postings", "blocks", "about"})
BLOCK_BITS = 10
"""A block is of 1,024 places: what an added entry rewrites for each of its words is 12 kB at most."""

_VERSION = 1
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS memories (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    digest BLOB NOT NULL,
    content TEXT NOT NULL,
    metadata TEXT,
    role TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT,
    UNIQUE (owner, digest)
)""",
    "CREATE INDEX IF NOT EXISTS memories_by_time ON memories (created_at DESC)",
    "CREATE TABLE IF NOT EXISTS words (number INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, entries INT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS postings (key INTEGER PRIMARY KEY, held BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS blocks (block INTEGER PRIMARY KEY, entries INT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
)
_BEGINNING = {"version": _VERSION, "next_place": 1, "entries": 0, "words": 0, "in_order": 1, "revision": 0}


class MemoryFile(Database):
    """The file, with its tables. Everything else about it is as for the files of sessions."""

    _of_folders = ""

    def __init__(self, path: Path | None, *, durable: bool, timeout: float) -> None:
        super().__init__(path, durable=durable, timeout=timeout, where=WHERE)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        self._refuse_another_kind(names)
        try:
            if not names:
                connection.execute("PRAGMA page_size = 8192")
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            if not names >= TABLES:
                with Transaction(connection):
                    for statement in _SCHEMA:
                        connection.execute(statement)
                    connection.executemany("INSERT OR IGNORE INTO about VALUES (?, ?)", _BEGINNING.items())
        except sqlite3.OperationalError as error:
            if code_of(error) not in (READONLY, CANTOPEN) or not names >= TABLES:
                raise
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        version = about(connection).get("version")
        if version != _VERSION:
            cause = f"it is of version {version!r}, and this memwb reads version {_VERSION}"
            raise DamagedFileError(self.path or ":memory:", "table about", cause, prefix=f"{WHERE}: ")

    def _refuse_another_kind(self, names: set[str]) -> None:
        """Refuse a file without this store's tables; what others put beside them later locks no memories away."""
        if not is_memory_file(names) and names - TABLES - {"sqlite_stat1", "sqlite_stat4"}:
            held = ", ".join(sorted(names))
            cause = f"it is a database of something else, with the tables {held}"
            advice = "Give a file of its own."
            raise DamagedFileError(self.path or ":memory:", "", cause, prefix=f"{WHERE}: ", advice=advice)


def about(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return what all entries come to."""
    return dict(connection.execute("SELECT key, value FROM about").fetchall())


def add_up(connection: sqlite3.Connection, **differences: int) -> None:
    """Add to what all entries come to; each change makes another revision."""
    differences["revision"] = 1
    connection.executemany(
        "UPDATE about SET value = value + ? WHERE key = ?", [(n, key) for key, n in differences.items()]
    )


def set_about(connection: sqlite3.Connection, **values: Any) -> None:
    """Set what all entries come to, or how they are searched."""
    connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", values.items())


def is_memory_file(tables: set[str]) -> bool:
    """Whether a database with these tables is one of an SQLiteMemoryStore."""
    return tables >= TABLES
