"""The types of extraction: turning finished conversation turns into entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

if TYPE_CHECKING:
    from ..types import Message, Metadata

MemoryContentBlockType = Literal[
    "text",
    "toolUse",
    "toolResult",
    "image",
    "document",
    "reasoningContent",
    "video",
    "guardContent",
    "citationsContent",
    "cachePoint",
]
"""The kinds of content block that a filter can name."""


@dataclass
class ExtractionResult:
    """One fact that an extractor found, ready to be added to a store."""

    content: str
    metadata: Metadata | None = None


@dataclass
class ExtractorContext:
    """What an extractor is told beside the messages.

    Attributes:
        default_model: The agent's model, for an extractor that was given none.
        report: Takes what the extractor asks, hears and notices, for the extraction log; None outside a manager.
            memwb's own.
    """

    default_model: Any = None
    report: ExtractionReport | None = None


class ExtractionReport(Protocol):
    """By which an extractor tells what it does. An extractor that tells nothing extracts as well."""

    def asked(self, system: str, transcript: str) -> None:
        """Tell what the model is asked: the system prompt and the user turn."""

    def answered(self, text: str, seconds: float) -> None:
        """Tell what the model answered."""

    def noted(self, note: str) -> None:
        """Tell, in a sentence, what the extracted facts do not show."""

    def unreadable(self, text: str, reason: str) -> None:
        """Tell that nothing could be read in the answer; the messages are kept for ``retry_unreadable``."""


class Extractor(Protocol):
    """Turns messages into facts. A store with an extractor needs ``add``."""

    async def extract(self, messages: list[Message], context: ExtractorContext | None = None) -> list[ExtractionResult]:
        """Return the facts found in the messages."""
        ...


@dataclass
class MemoryMessageFilter:
    """Drops kinds of content blocks before extraction; a message left empty is dropped with them.

    Attributes:
        exclude: The kinds to drop. Default: tool calls and their results.
    """

    exclude: Sequence[MemoryContentBlockType] = field(default_factory=lambda: ["toolUse", "toolResult"])


@dataclass
class ExtractionTriggerContext:
    """What a trigger is attached with.

    Attributes:
        agent: The agent whose hooks the trigger may use.
        fire: Starts a save of this store's messages in the background and returns at once.
    """

    agent: Any
    fire: Callable[[], None]


class ExtractionTrigger(ABC):
    """Decides when a store's messages are extracted."""

    name: str

    @abstractmethod
    def attach(self, context: ExtractionTriggerContext) -> None:
        """Register the hooks that call ``context.fire``; called once for each store and agent."""


class ExtractionConfig(TypedDict, total=False):
    """How one store extracts.

    Attributes:
        trigger: One trigger or a list of them, each of which starts a save. Absent: every 5 invocations.
        extractor: Absent: a model-based one for a store with ``add`` alone, none for a store with ``add_messages``.
        filter: Absent: tool calls and their results are dropped.
    """

    trigger: ExtractionTrigger | list[ExtractionTrigger]
    extractor: Extractor
    filter: MemoryMessageFilter
