"""Where sessions are kept: in memory, in a SQLite database, or in files."""

from __future__ import annotations

from .file import FileStore
from .in_memory import InMemoryStore
from .sqlite import SQLiteStore

__all__ = ["FileStore", "InMemoryStore", "SQLiteStore"]
