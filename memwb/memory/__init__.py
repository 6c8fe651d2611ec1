"""Long-term memory, after the Strands Agents SDK: types, MemoryManager and the injection, as data.

A program written against the SDK's documents runs on these names after its import lines are changed, and what
:meth:`MemoryManager.inject` returns is what the SDK's agent would give its model, byte for byte.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING

from .._text import estimate_tokens
from ..errors import AggregateMemoryError
from .events import AfterInvocation, BeforeModelCall, MessageAdded
from .extraction.triggers import IntervalTrigger, InvocationTrigger
from .extraction.types import (
    ExtractionConfig,
    ExtractionResult,
    ExtractionTrigger,
    ExtractionTriggerContext,
    Extractor,
    ExtractorContext,
    MemoryContentBlockType,
    MemoryMessageFilter,
)
from .injection import Call, default_format
from .manager import MemoryManager
from .messages import model_calls, text
from .search import SearchResult
from .tools import MemoryTool
from .trace import Hit, InjectionTrace, Note, Stage
from .types import (
    AddMessagesContext,
    InjectionConfig,
    InjectionContext,
    InjectionFormatCallback,
    InjectionFormatContext,
    InjectionQueryCallback,
    InjectionQueryContext,
    InjectionTrigger,
    MemoryAddOptions,
    MemoryAddToolConfig,
    MemoryEntry,
    MemoryInjectionConfig,
    MemoryManagerConfig,
    MemorySearchOptions,
    MemoryStore,
    MemoryStoreConfig,
    MemoryToolConfig,
    Message,
    Metadata,
    Placement,
    SearchOptions,
)

if TYPE_CHECKING:
    from .explain import Explanation, Ranking, Suggestion, ranking_of

__all__ = [
    "AddMessagesContext",
    "AfterInvocation",
    "AggregateMemoryError",
    "BeforeModelCall",
    "Call",
    "Explanation",
    "ExtractionConfig",
    "ExtractionResult",
    "ExtractionTrigger",
    "ExtractionTriggerContext",
    "Extractor",
    "ExtractorContext",
    "Hit",
    "InjectionConfig",
    "InjectionContext",
    "InjectionFormatCallback",
    "InjectionFormatContext",
    "InjectionQueryCallback",
    "InjectionQueryContext",
    "InjectionTrace",
    "InjectionTrigger",
    "IntervalTrigger",
    "InvocationTrigger",
    "MemoryAddOptions",
    "MemoryAddToolConfig",
    "MemoryContentBlockType",
    "MemoryEntry",
    "MemoryInjectionConfig",
    "MemoryManager",
    "MemoryManagerConfig",
    "MemoryMessageFilter",
    "MemorySearchOptions",
    "MemoryStore",
    "MemoryStoreConfig",
    "MemoryTool",
    "MemoryToolConfig",
    "Message",
    "MessageAdded",
    "Metadata",
    "Note",
    "Placement",
    "Ranking",
    "SearchOptions",
    "SearchResult",
    "Stage",
    "Suggestion",
    "default_format",
    "estimate_tokens",
    "model_calls",
    "ranking_of",
    "text",
]

# A library stays silent unless its user asks: without this, Python prints warnings of unconfigured loggers.
logging.getLogger("memwb").addHandler(logging.NullHandler())

_EXPLAINING = ("Explanation", "Ranking", "Suggestion", "ranking_of")


def __getattr__(name: str) -> object:
    """Load what explains an injection at its first use (PEP 562): an agent never needs it."""
    if name not in _EXPLAINING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    value: object = getattr(import_module(".explain", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
