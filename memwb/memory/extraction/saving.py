"""The way of one batch into one store: extract, review, write. Each step is done once, however often it is tried."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..._json import NotJsonError, check_metadata, lone_surrogate
from ..._text import counted, shortened
from ...errors import AggregateMemoryError, ConfigError
from ..types import AddMessagesContext, Message
from .batches import Batch, Fact
from .happenings import Answered, Asked, Noted, Proposed, Reviewed, Unreadable, error_told
from .resolve import Extraction
from .types import ExtractionResult, ExtractorContext

Review = Callable[[Proposed], Awaitable[Sequence[ExtractionResult]]]
"""Returns those of the proposed facts, changed or not, that are to be written."""


@dataclass(frozen=True)
class Sink:
    """Where a batch goes, and what helps it there.

    Attributes:
        store: The store.
        settings: Its extraction settings.
        model: The default model.
        review: Looks through the facts, or None.
        tell: Logs an event of the store, ``tell(kind, *fields)``, and returns it.
    """

    store: Any
    settings: Extraction
    model: Any
    review: Review | None
    tell: Callable[..., Any]


async def save_batch(sink: Sink, batch: Batch, found: Callable[[Batch], None]) -> Unreadable | None:
    """Do what is still to be done for a batch, and return the event of an answer that could not be read, if it was.

    Args:
        sink: Where it goes.
        batch: What goes there.
        found: Called as soon as the batch's facts are known.

    Raises:
        AggregateMemoryError: Facts could not be written; the others stand.
        BaseException: What the extractor, the review or ``add_messages`` raised.
    """
    if batch.facts is None:
        if not batch.kept:
            return None
        extractor = sink.settings.extractor
        messages = [item.message for item in batch.kept]
        numbers = [item.number for item in batch.kept]
        if extractor is None:
            await sink.store.add_messages(messages, AddMessagesContext(sequence_numbers=numbers))
            return None
        report = _Report(sink, batch)
        results = await extractor.extract(messages, ExtractorContext(default_model=sink.model, report=report))
        if report.event is not None:
            return report.event
        facts = [Fact(_checked(result, report)) for result in results]
        batch.facts = facts
        found(batch)
        batch.proposed = sink.tell(Proposed, batch.numbers, tuple(fact.result for fact in facts))
    await _review(sink, batch)
    await _write(sink.store, batch.facts)
    return None


class _Report:
    """What the extractor tells about a batch, made into events."""

    def __init__(self, sink: Sink, batch: Batch) -> None:
        self._sink, self._batch = sink, batch
        self.event: Unreadable | None = None

    def asked(self, system: str, transcript: str) -> None:
        self._sink.tell(Asked, self._batch.numbers, system, transcript)

    def answered(self, text: str, seconds: float) -> None:
        self._sink.tell(Answered, self._batch.numbers, text, seconds)

    def noted(self, note: str) -> None:
        self._sink.tell(Noted, self._batch.numbers, note)

    def unreadable(self, text: str, reason: str) -> None:
        kept = tuple(item.number for item in self._batch.kept)
        messages: tuple[Message, ...] = tuple(item.message for item in self._batch.kept)
        self.event = self._sink.tell(Unreadable, self._batch.numbers, text, reason, kept, messages)


def _checked(result: Any, report: _Report) -> ExtractionResult:
    """Return a fact of any extractor; one whose metadata no store could keep goes without it."""
    content = getattr(result, "content", None)
    if not isinstance(content, str):
        raise TypeError(
            f"the extractor returned {shortened(repr(result), 60)}; a list of ExtractionResult(content, metadata) is "
            "expected, with a text as content"
        )
    metadata = getattr(result, "metadata", None)
    if metadata is not None and not isinstance(metadata, dict):
        report.noted(f"the metadata {shortened(repr(metadata), 60)} is no object and was left out")
        metadata = None
    return ExtractionResult(content, metadata)


async def _review(sink: Sink, batch: Batch) -> None:
    if batch.reviewed or sink.review is None or not batch.facts:
        batch.reviewed = True
        return
    assert batch.proposed is not None
    kept: Any = await sink.review(batch.proposed)
    if not isinstance(kept, Sequence) or not all(isinstance(fact, ExtractionResult) for fact in kept):
        raise TypeError(f"review returned {shortened(repr(kept), 60)}; a list of ExtractionResult is expected")
    for fact in kept:
        if fact not in batch.proposed.facts:
            _refuse_what_no_store_keeps(fact)
    batch.facts = [Fact(fact) for fact in kept]
    batch.reviewed = True
    sink.tell(Reviewed, batch.numbers, tuple(kept))


def _refuse_what_no_store_keeps(fact: ExtractionResult) -> None:
    """Raise :class:`ConfigError` for a fact of a review that would be tried for ever; the review is asked again."""
    content, cause = fact.content, ""
    if not isinstance(content, str) or not content.strip():
        cause = "its content must be a text that is not blank"
    elif lone_surrogate(content) is not None:
        cause = "its content holds a lone surrogate, which UTF-8 cannot hold"
    elif fact.metadata is not None:
        try:
            check_metadata(fact.metadata)
        except NotJsonError as error:
            cause = str(error)
    if cause:
        raise ConfigError(
            f"MemoryManager: review returned the fact {shortened(repr(content), 60)}, which cannot be stored: {cause}. "
            "Nothing was written; it is asked again at the next save.",
            key="review",
            value=fact,
        )


async def _write(store: Any, facts: Sequence[Fact]) -> None:
    """Write the facts that are not written yet, all at the same time."""
    import asyncio

    open_facts = [fact for fact in facts if not fact.written]
    outcomes = await asyncio.gather(*(_add(store, fact) for fact in open_facts), return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise AggregateMemoryError(
            f"MemoryManager: {len(errors)} of {counted(len(open_facts), 'fact')} could not be written to "
            f"{store.name!r}: {'; '.join(map(error_told, errors))}",
            errors,
            [store.name],
        )


async def _add(store: Any, fact: Fact) -> None:
    result = await store.add(fact.result.content, fact.result.metadata)
    fact.written, fact.deduplicated = True, getattr(result, "deduplicated", None) is True
