"""Session memory, after Definable: what was said in a session, entry by entry, and the stores that keep it.

A program written against Definable's documents runs on these names after its import lines are changed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Load a name's module at its first use (PEP 562): a program needs one of the stores, not all."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    value: object = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
