"""Where sessions are kept: in memory, in a SQLite database, or in files."""

from __future__ import annotations

from .in_memory import InMemoryStore
from .sqlite import SQLiteStore

__all__ = ["InMemoryStore", "SQLiteStore"]
