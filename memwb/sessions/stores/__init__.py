"""Where sessions are kept: in memory, in a SQLite database, or in files."""

from __future__ import annotations

from .in_memory import InMemoryStore

__all__ = ["InMemoryStore"]
