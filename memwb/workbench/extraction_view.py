"""What an extraction log says, in the form that a screen shows: by message, by question to the model, by store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from .._text import counted
from ..memory.extraction.happenings import (
    Answered,
    Asked,
    Buffered,
    Event,
    Failed,
    Filtered,
    Fired,
    Flushed,
    Noted,
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
    """What one store was given so far: facts (or messages) written, held already, and saves that failed."""

    written: int = 0
    known: int = 0
    failed: int = 0
    asked: int = 0


def lines_of(events: Iterable[Event], stores: Sequence[str]) -> list[Line]:
    """Return a line for each message that joined, with its marks for the stores that extract."""
    lines: list[Line] = []
    for event in events:
        if isinstance(event, Buffered):
            lines.append(Line(event.number, {store: Mark("waiting") for store in stores}))
        elif isinstance(event, Filtered):
            _mark(lines, event.store, [event.number], "dropped" if event.whole else None, without=event.kinds)
        elif isinstance(event, Fired):
            _mark(lines, event.store, event.pending, "saving")
        elif isinstance(event, Saved):
            _mark(lines, event.store, event.numbers, "dropped")
            _mark(lines, event.store, event.kept, "saved")
        elif isinstance(event, Unreadable):
            _mark(lines, event.store, event.numbers, "unread")
        elif isinstance(event, Failed):
            _mark(lines, event.store, event.numbers, "failed")
        if (happening := _happening(event)) is not None and lines:
            lines[-1].after.append(happening)
    return lines


def _mark(
    lines: list[Line], store: str, numbers: Sequence[int], state: MarkState | None = None, without: tuple[str, ...] = ()
) -> None:
    for number in numbers:
        before = lines[number].marks.get(store) if number < len(lines) else None
        if before is None or (before.state == "dropped" and state != "saved"):
            continue
        lines[number].marks[store] = Mark(state or before.state, without or before.without)


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
        cause = "cut off" if event.cancelled else error_told(event.error)
        return Happening(f"{event.store}: not saved, {cause} ({counted(event.failures, 'failure')} in a row)", bad=True)
    if isinstance(event, Flushed):
        return Happening(f"flushed, {numbers_told(event.left)} left")
    return None


def _fired_told(event: Fired) -> str:
    if event.trigger in ("flush", "retry"):
        return f"{event.trigger} of {numbers_told(event.pending)}"
    return f"trigger {event.trigger} fires for {numbers_told(event.pending)}"


def saved_told(event: Saved) -> str:
    """Return what a save did, in a few words."""
    if not event.kept:
        return f"nothing to save, the filter dropped {numbers_told(event.numbers)}"
    if not event.written and not event.deduplicated:
        return f"saved {numbers_told(event.kept)}"
    known = f", {len(event.deduplicated)} held already" if event.deduplicated else ""
    return f"saved {numbers_told(event.kept)}: {counted(len(event.written), 'fact')} written{known}"


def exchanges_of(events: Iterable[Event]) -> list[Exchange]:
    """Return every question to a model, in the order of asking."""
    found: list[Exchange] = []
    for event in events:
        if isinstance(event, Asked):
            found.append(Exchange(event.store, event.numbers, event.system, event.transcript))
            continue
        at = next((at for at in range(len(found) - 1, -1, -1) if _about(found[at], event)), None)
        if at is None:
            continue
        if isinstance(event, Answered):
            found[at] = replace(found[at], answer=event.text)
        elif isinstance(event, Noted):
            found[at] = replace(found[at], notes=(*found[at].notes, event.note))
        elif isinstance(event, Unreadable):
            found[at] = replace(found[at], problem=event.reason)
        elif isinstance(event, Failed) and found[at].answer is None:
            found[at] = replace(found[at], problem="cut off" if event.cancelled else error_told(event.error))
    return found


def _about(exchange: Exchange, event: Event) -> bool:
    return (exchange.store, exchange.numbers) == (getattr(event, "store", None), getattr(event, "numbers", None))


def tallies_of(events: Iterable[Event], stores: Sequence[str]) -> dict[str, Tally]:
    """Return what each store was given so far."""
    found = {store: Tally() for store in stores}
    for event in events:
        tally = found.get(getattr(event, "store", ""))
        if tally is None:
            continue
        if isinstance(event, Saved):
            facts = len(event.written) + len(event.deduplicated)
            tally.written += len(event.written) if facts else 0
            tally.known += len(event.deduplicated)
        tally.failed += isinstance(event, Failed)
        tally.asked += isinstance(event, Asked)
    return found
