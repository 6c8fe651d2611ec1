"""Long-term memory in an SQLite file: a million entries, searched and browsed at once."""

from __future__ import annotations

from ._file import is_memory_file
from .store import SQLiteMemoryStore

__all__ = ["SQLiteMemoryStore", "is_memory_file"]
