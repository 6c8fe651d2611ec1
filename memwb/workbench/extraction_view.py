"""What an extraction log says, in the form that a screen shows: by message, by question to the model, by store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from .._text import counted
from ..errors import AggregateMemoryError
from ..memory.extraction.happenings import (
    Answered,
    Asked,
    BatchEvent,
    Buffered,
    Event,
    Failed,
    Filtered,
    Fired,
    Flushed,
    Noted,
    Proposed,
    Saved,
    Skipped,
    TurnEnded,
    Unreadable,
    error_told,
    numbers_told,
)

MarkState = Literal["waiting", "saving", "saved", "dropped", "failed", "unread"]


@dataclass(frozen=True)
class Mark:
    """Where a message stands with one store.

    Attributes:
        state: ``waiting`` (buffered), ``saving`` (a save is under way, or waits for a decision), ``saved``,
            ``dropped`` (the filter left nothing of it), ``failed`` (it waits for another try) or ``unread`` (the
            model's answer could not be read).
        without: The kinds of blocks that the filter dropped from it.
    """

    state: MarkState
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Happening:
    """Something that happened between two messages.

    Attributes:
        text: A short sentence.
        bad: Whether it is a failure.
    """

    text: str
    bad: bool = False


@dataclass
class Line:
    """One message of the timeline.

    Attributes:
        number: Its sequence number, from 0.
        marks: Where it stands, by store.
        after: What happened after it and before the next one.
    """

    number: int
    marks: dict[str, Mark] = field(default_factory=dict)
    after: list[Happening] = field(default_factory=list)


@dataclass(frozen=True)
class Exchange:
    """One question to a model, and its answer.

    Attributes:
        store: The store that it was asked for.
        numbers: The messages that it was about.
        system: The system prompt.
        transcript: What went with it.
        answer: What the model said; None while it has not.
        problem: Why the answer, or the save that followed, is no good; "" where it is.
        notes: What was odd about the answer.
    """

    store: str
    numbers: tuple[int, ...]
    system: str
    transcript: str
    answer: str | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()


@dataclass
class Tally:
    """How many facts one store was given so far, and how many of them it held already.

    A store that takes messages is given no facts.
    """

    written: int = 0
    known: int = 0


class Story:
    """What has happened so far, kept up to date event by event.

    Args:
        stores: The names of the stores that extract.

    Attributes:
        events: All events, in order.
        lines: A line for each message that joined; its number is its place.
        exchanges: Every question to a model, in the order of asking.
        tallies: What each store was given.
    """

    def __init__(self, stores: Sequence[str]) -> None:
        self.events: list[Event] = []
        self.lines: list[Line] = []
        self.exchanges: list[Exchange] = []
        self.tallies = {store: Tally() for store in stores}
        self._asked: dict[tuple[str, tuple[int, ...]], int] = {}  # the newest question about a batch
        self._read: set[tuple[str, tuple[int, ...]]] = set()  # the batches in which facts were looked for

    def take(self, event: Event) -> None:
        """Take in the next event."""
        self.events.append(event)
        if isinstance(event, Buffered):
            self.lines.append(Line(event.number, {store: Mark("waiting") for store in self.tallies}))
        elif isinstance(event, Filtered):
            self._mark(event.store, [event.number], "dropped" if event.whole else None, event.kinds)
        elif isinstance(event, Fired):
            self._mark(event.store, event.pending, "saving")
        elif isinstance(event, Saved):
            self._mark(event.store, event.numbers, "dropped")
            self._mark(event.store, event.kept, "saved")
            self.tallies[event.store].written += len(event.written)
            self.tallies[event.store].known += len(event.deduplicated)
        elif isinstance(event, Unreadable):
            self._mark(event.store, event.numbers, "unread")
        elif isinstance(event, Failed):
            self._mark(event.store, event.numbers, "failed")
        if isinstance(event, BatchEvent):
            self._exchange(event)
        if isinstance(event, Proposed):
            self._read.add((event.store, event.numbers))
        if (happening := self._happening(event)) is not None and self.lines:
            self.lines[-1].after.append(happening)

    def _mark(self, store: str, numbers: Sequence[int], state: MarkState | None, without: tuple[str, ...] = ()) -> None:
        for number in numbers:
            before = self.lines[number].marks[store]
            if before.state != "dropped" or state == "saved":
                self.lines[number].marks[store] = Mark(state or before.state, without or before.without)

    def _happening(self, event: Event) -> Happening | None:
        if isinstance(event, Saved) and event.kept and not (event.written or event.deduplicated):
            about = (event.store, event.numbers)
            what = "read" if about in self._read else "saved"
            none = ": nothing to keep" if about in self._read else ""
            return Happening(f"{event.store}: {what} {numbers_told(event.kept)}{none}")
        return _happening(event)

    def _exchange(self, event: BatchEvent) -> None:
        about = (event.store, event.numbers)
        if isinstance(event, Asked):
            self._asked[about] = len(self.exchanges)
            self.exchanges.append(Exchange(event.store, event.numbers, event.system, event.transcript))
        elif (at := self._asked.get(about)) is not None:
            self.exchanges[at] = _told_of(self.exchanges[at], event)


def _told_of(exchange: Exchange, event: Event) -> Exchange:
    """Add to an exchange what became of it."""
    if isinstance(event, Answered):
        return replace(exchange, answer=event.text)
    if isinstance(event, Noted):
        return replace(exchange, notes=(*exchange.notes, event.note))
    if isinstance(event, Unreadable):
        return replace(exchange, problem=event.reason)
    if isinstance(event, Failed) and exchange.answer is None:
        return replace(exchange, problem=_cause(event))
    return exchange


def _happening(event: Event) -> Happening | None:
    if isinstance(event, TurnEnded):
        return Happening(f"turn {event.turn} ended")
    if isinstance(event, Fired):
        return Happening(f"{event.store}: {_fired_told(event)}") if event.pending else None
    if isinstance(event, Skipped):
        return Happening(f"{event.store}: {event.reason}", bad=True)
    if isinstance(event, Saved):
        return Happening(f"{event.store}: {saved_told(event)}")
    if isinstance(event, Unreadable):
        return Happening(f"{event.store}: the answer could not be read, {event.reason}", bad=True)
    if isinstance(event, Failed):
        what = f"{counted(len(event.unwritten), 'fact')} not written" if event.unwritten else "not saved"
        told = f"{what}, {_cause(event)} ({counted(event.failures, 'failure')} in a row)"
        return Happening(f"{event.store}: {told}", bad=True)
    if isinstance(event, Flushed):
        kept = f"; {numbers_told(event.unreadable)} kept, the answer was unreadable" if event.unreadable else ""
        return Happening(f"flushed, {numbers_told(event.left)} left{kept}")
    return None


def _cause(event: Failed) -> str:
    """Say what a save failed of: of several writes, the first one's error."""
    errors = event.error.errors if isinstance(event.error, AggregateMemoryError) else []
    return "cut off" if event.cancelled else error_told(errors[0] if errors else event.error)


def _fired_told(event: Fired) -> str:
    if event.trigger in ("flush", "retry"):
        return f"{event.trigger} of {numbers_told(event.pending)}"
    return f"trigger {event.trigger} fires for {numbers_told(event.pending)}"


def saved_told(event: Saved) -> str:
    """Return what a save did, in a few words."""
    if not event.kept:
        return f"nothing to save, the filter dropped {numbers_told(event.numbers)}"
    known = f", {len(event.deduplicated)} held already" if event.deduplicated else ""
    return f"saved {numbers_told(event.kept)}: {counted(len(event.written), 'fact')} written{known}"
