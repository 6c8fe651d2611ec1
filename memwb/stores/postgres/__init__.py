"""Long-term memory in a Postgres database that a team shares."""

from __future__ import annotations

from .store import PostgresMemoryStore

__all__ = ["PostgresMemoryStore"]
