"""Long-term memory, after the Strands Agents SDK: types, MemoryManager, injection and extraction, as data.

A program written against the SDK's documents runs on these names after its import lines are changed, and what
:meth:`MemoryManager.inject` returns is what the SDK's agent would give its model, byte for byte.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .._lazy import loading

if TYPE_CHECKING:
    from .._text import estimate_tokens
    from ..errors import AggregateMemoryError
    from .events import AfterInvocation, BeforeModelCall, MessageAdded
    from .explain import Explanation, Ranking, Suggestion, ranking_of
    from .extraction.batches import ExtractionStatus
    from .extraction.happenings import (
        Answered,
        Asked,
        Buffered,
        Failed,
        Filtered,
        Fired,
        Flushed,
        Noted,
        Proposed,
        Reviewed,
        Saved,
        Skipped,
        TurnEnded,
        Unreadable,
    )
    from .extraction.log import ExtractionLog
    from .extraction.model_extractor import ModelExtractor
    from .extraction.triggers import IntervalTrigger, InvocationTrigger
    from .extraction.types import (
        ExtractionConfig,
        ExtractionReport,
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
        Model,
        Placement,
        SearchOptions,
    )

__all__ = [
    "AddMessagesContext",
    "AfterInvocation",
    "AggregateMemoryError",
    "Answered",
    "Asked",
    "BeforeModelCall",
    "Buffered",
    "Call",
    "Explanation",
    "ExtractionConfig",
    "ExtractionLog",
    "ExtractionReport",
    "ExtractionResult",
    "ExtractionStatus",
    "ExtractionTrigger",
    "ExtractionTriggerContext",
    "Extractor",
    "ExtractorContext",
    "Failed",
    "Filtered",
    "Fired",
    "Flushed",
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
    "Model",
    "ModelExtractor",
    "Note",
    "Noted",
    "Placement",
    "Proposed",
    "Ranking",
    "Reviewed",
    "Saved",
    "SearchOptions",
    "SearchResult",
    "Skipped",
    "Stage",
    "Suggestion",
    "TurnEnded",
    "Unreadable",
    "default_format",
    "estimate_tokens",
    "model_calls",
    "ranking_of",
    "text",
]

# A library stays silent unless its user asks: without this, Python prints warnings of unconfigured loggers.
logging.getLogger("memwb").addHandler(logging.NullHandler())

_MODULES = {
    ".._text": "estimate_tokens",
    "..errors": "AggregateMemoryError",
    ".events": "AfterInvocation BeforeModelCall MessageAdded",
    ".explain": "Explanation Ranking Suggestion ranking_of",
    ".extraction.batches": "ExtractionStatus",
    ".extraction.happenings": "Answered Asked Buffered Failed Filtered Fired Flushed Noted Proposed Reviewed Saved "
    "Skipped TurnEnded Unreadable",
    ".extraction.log": "ExtractionLog",
    ".extraction.model_extractor": "ModelExtractor",
    ".extraction.triggers": "IntervalTrigger InvocationTrigger",
    ".extraction.types": "ExtractionConfig ExtractionReport ExtractionResult ExtractionTrigger "
    "ExtractionTriggerContext Extractor ExtractorContext MemoryContentBlockType MemoryMessageFilter",
    ".injection": "Call default_format",
    ".manager": "MemoryManager",
    ".messages": "model_calls text",
    ".search": "SearchResult",
    ".tools": "MemoryTool",
    ".trace": "Hit InjectionTrace Note Stage",
    ".types": "AddMessagesContext InjectionConfig InjectionContext InjectionFormatCallback InjectionFormatContext "
    "InjectionQueryCallback InjectionQueryContext InjectionTrigger MemoryAddOptions MemoryAddToolConfig "
    "MemoryEntry MemoryInjectionConfig MemoryManagerConfig MemorySearchOptions MemoryStore "
    "MemoryStoreConfig MemoryToolConfig Message Metadata Model Placement SearchOptions",
}
__getattr__, __dir__ = loading(__name__, _MODULES)
