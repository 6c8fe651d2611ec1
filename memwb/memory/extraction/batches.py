"""One store's share of one agent's extraction: what waits, what is under way, what is left of failed tries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..._text import counted
from .filter import Numbered
from .resolve import Extraction
from .types import ExtractionResult

if TYPE_CHECKING:
    import asyncio

    from .happenings import Proposed, Unreadable

FAILURES_BEFORE_BACKOFF = 10
"""After so many failed saves in a row a store is asked less often (Strands' figure)."""

TRIED_EVERY = 3
"""While a store is asked less often, every so manyth request is tried (Strands' figure)."""


@dataclass(eq=False)
class Fact:
    """One fact on its way into the store."""

    result: ExtractionResult
    written: bool = False
    deduplicated: bool = False


@dataclass(eq=False)
class Batch:
    """Messages that are saved together.

    Attributes:
        numbers: Those of all its messages.
        kept: What the filter left of them.
        facts: What the extractor found; None before it has answered, and where the store takes messages.
        proposed: The event that told of them, which a review gets.
        reviewed: Whether the facts are those to be written.
        before: The mark before the batch was taken; None for a batch that is extracted again.
        again: The unreadable answer that it was made from, for a batch that is extracted again.
    """

    numbers: tuple[int, ...]
    kept: list[Numbered]
    before: int | None
    facts: list[Fact] | None = None
    proposed: Proposed | None = None
    reviewed: bool = False
    again: Unreadable | None = None

    @property
    def unwritten(self) -> tuple[str, ...]:
        """The facts that are still to be written."""
        return tuple(fact.result.content for fact in self.facts or () if not fact.written)


@dataclass(eq=False)
class Request:
    """One wish for a save, in the queue of its store until its task is done."""

    work: Callable[[Request], Awaitable[None]]
    task: asyncio.Task[None] = field(init=False)
    batch: Batch | None = None
    failed: bool = False
    given_up: bool = False


@dataclass(frozen=True, repr=False)
class ExtractionStatus:
    """How far one store has come with the messages of one agent.

    Attributes:
        agent: The agent, from 1.
        store: The store's name.
        turns: How many invocations of the agent have ended, which is what an interval counts.
        buffered: How many messages the agent's buffer holds, those included that other stores still need.
        mark: The high-water mark: the number of the last message that was taken for a save, -1 at first. It is set
            before a save begins and goes back where it fails.
        saved: Every message up to this number has been saved, dropped by the filter or kept as unreadable; -1 at first.
        pending: What a flush would still save: the numbers of the messages that are not saved yet.
        saving: Those of them that are being saved at this moment.
        unwritten: Facts whose write failed: they are written again, without asking the model.
        unreadable: The numbers of the messages whose answer held no list of facts.
        failures: How many saves have failed in a row.
        backing_off: Whether only every third request is tried, after ten failures in a row. A flush always is.
    """

    agent: int
    store: str
    turns: int
    buffered: int
    mark: int
    saved: int
    pending: tuple[int, ...]
    saving: tuple[int, ...]
    unwritten: tuple[str, ...]
    unreadable: tuple[int, ...]
    failures: int
    backing_off: bool

    def __repr__(self) -> str:
        from .happenings import numbers_told

        failed = f", {counted(self.failures, 'failure')} in a row" if self.failures else ""
        return (
            f"ExtractionStatus(agent {self.agent}, {self.store!r}: saved up to {self.saved}, "
            f"pending {numbers_told(self.pending)}{failed})"
        )


class Line:
    """The saves of one store for one agent, one at a time and in the order in which they were asked for.

    Attributes:
        store: The store.
        settings: Its extraction settings, looked at anew for each save.
        taken: The number of the last message that was taken into a batch.
        open: Batches whose facts are known and not all written.
        queue: The requests that are under way or wait for those before them.
        failures: Saves that failed in a row.
    """

    def __init__(self, store: Any, settings: Extraction) -> None:
        self.store, self.settings = store, settings
        self.name: str = store.name
        self.taken = -1
        self.open: list[Batch] = []
        self.queue: list[Request] = []
        self.failures = 0
        self._requests = 0
        self._told = -1

    @property
    def backing_off(self) -> bool:
        """Whether the store has failed so often that most requests are skipped."""
        return self.failures >= FAILURES_BEFORE_BACKOFF

    def is_due(self) -> bool:
        """Count a request, and tell whether it is tried."""
        if not self.backing_off:
            return True
        self._requests += 1
        return self._requests % TRIED_EVERY == 0

    def succeeded(self) -> None:
        """End a run of failures."""
        self.failures = self._requests = 0

    @property
    def current(self) -> Batch | None:
        """The batch that is being saved at this moment."""
        return self.queue[0].batch if self.queue else None

    @property
    def mark(self) -> int:
        """The high-water mark."""
        current = self.current
        stuck = [batch.before for batch in self.open if batch is not current and batch.before is not None]
        return min([self.taken, *stuck])

    @property
    def saved(self) -> int:
        """The number up to which everything is settled."""
        current = self.current
        before = [batch.before for batch in self.open if batch.before is not None]
        return min([self.taken, *before, *([current.before] if current and current.before is not None else [])])

    def pending(self, buffer: Sequence[Numbered]) -> tuple[int, ...]:
        """Return the numbers of the messages that are not saved."""
        numbers = {item.number for item in buffer if item.number > self.taken}
        for batch in [*self.open, *([self.current] if self.current else [])]:
            numbers.update(batch.numbers)
        return tuple(sorted(numbers))

    def change_unwritten(self, content: str, to: ExtractionResult | None) -> bool:
        """Put another fact in the place of one whose write failed, or none; return whether there was one."""
        for batch in self.open:
            if batch is self.current or not batch.reviewed:
                continue  # it is being written, or a review is asked about it anyway
            for fact in batch.facts or ():
                if not fact.written and fact.result.content == content:
                    batch.facts = [each for each in batch.facts or () if each is not fact or to is not None]
                    fact.result = to or fact.result
                    return True
        return False

    def untold(self, number: int) -> bool:
        """Whether this is the first time that the filter sees a message; a retry does not tell of it again."""
        first, self._told = number > self._told, max(number, self._told)
        return first
