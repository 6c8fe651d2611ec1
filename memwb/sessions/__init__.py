"""Session memory, after Definable: what was said in a session, entry by entry, and the stores that keep it.

A program written against Definable's documents runs on these names after its import lines are changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import loading

if TYPE_CHECKING:
    from .memory import Memory
    from .messages import ContextMessage
    from .preview import SummaryEvent, SummaryPreview
    from .stores.file import FileStore
    from .stores.in_memory import InMemoryStore
    from .stores.sqlite import SQLiteStore
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

_MODULES = {
    ".memory": "Memory",
    ".messages": "ContextMessage",
    ".preview": "SummaryEvent SummaryPreview",
    ".stores.file": "FileStore",
    ".stores.in_memory": "InMemoryStore",
    ".stores.sqlite": "SQLiteStore",
    ".summarize": "MemoryStrategy SummarizeStrategy SummaryPlan",
    ".types": "MemoryEntry MemoryStore SessionInfo SupportsReplace SupportsRevision SupportsSessions",
}
__getattr__, __dir__ = loading(__name__, _MODULES)
