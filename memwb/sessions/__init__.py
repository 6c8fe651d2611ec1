"""Session memory, after Definable: what was said in a session, entry by entry, and the stores that keep it.

A program written against Definable's documents runs on these names after its import lines are changed.
"""

from __future__ import annotations

from .stores import InMemoryStore
from .types import MemoryEntry, MemoryStore, SessionInfo, SupportsReplace, SupportsSessions

__all__ = [
    "InMemoryStore",
    "MemoryEntry",
    "MemoryStore",
    "SessionInfo",
    "SupportsReplace",
    "SupportsSessions",
]
