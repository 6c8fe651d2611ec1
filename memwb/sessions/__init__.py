"""Session memory, after Definable: what was said in a session, entry by entry, and the stores that keep it.

A program written against Definable's documents runs on these names after its import lines are changed.
"""

from __future__ import annotations

from .memory import Memory
from .messages import ContextMessage
from .preview import SummaryEvent, SummaryPreview
from .stores import FileStore, InMemoryStore, SQLiteStore
from .summarize import MemoryStrategy, SummarizeStrategy, SummaryPlan
from .types import MemoryEntry, MemoryStore, SessionInfo, SupportsReplace, SupportsRevision, SupportsSessions

__all__ = [
    "ContextMessage",
    "FileStore",
    "InMemoryStore",
    "Memory",
    "MemoryEntry",
    "MemoryStore",
    "MemoryStrategy",
    "SQLiteStore",
    "SessionInfo",
    "SummarizeStrategy",
    "SummaryEvent",
    "SummaryPlan",
    "SummaryPreview",
    "SupportsReplace",
    "SupportsRevision",
    "SupportsSessions",
]
