"""What can happen while memories are extracted: one type of event for each thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..._redact import masked_words, texts_in
from ..._text import counted, cropped, quoted, said, visible
from ..messages import text

if TYPE_CHECKING:
    from ..types import Message
    from .types import ExtractionResult


@dataclass(frozen=True, repr=False)
class Event:
    """The parent of all events.

    Attributes:
        agent: Which of the manager's agents, from 1, in the order of ``init_agent``.
        turn: The agent's invocation, from 1; what happens between two invocations belongs to the earlier one.
    """

    agent: int = field(default=1, kw_only=True)
    turn: int = field(default=1, kw_only=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({masked_words(self.told, texts_in(self))})"

    @property
    def told(self) -> str:
        """What happened, in a few words that are the same at every run."""
        return ""


@dataclass(frozen=True, repr=False)
class StoreEvent(Event):
    """The parent of the events that concern one store: ``store`` is its name."""

    store: str

    @property
    def _named(self) -> str:
        return visible(self.store)


@dataclass(frozen=True, repr=False)
class Buffered(Event):
    """A message joined the agent's history and waits to be saved.

    Attributes:
        number: Its sequence number, from 0 for each agent.
        message: The agent's own message.
    """

    number: int
    message: Message = field(compare=False)

    @property
    def told(self) -> str:
        """The number, the role and the beginning of the text, or the kinds of blocks where there is none."""
        kinds = ", ".join(dict.fromkeys(kind for block in self.message["content"] for kind in block)) or "empty"
        words = text(self.message)
        return f"{self.number} {self.message['role']}: {quoted(words) if words else kinds}"


@dataclass(frozen=True, repr=False)
class TurnEnded(Event):
    """The agent finished an invocation, which is what the triggers count."""

    @property
    def told(self) -> str:
        """The number of the invocation."""
        return f"turn {self.turn}"


@dataclass(frozen=True, repr=False)
class Fired(StoreEvent):
    """Something asked for a save of the store's messages.

    Attributes:
        trigger: The trigger's name, ``"flush"`` or ``"retry"``.
        pending: The numbers of the messages that wait for this store.
    """

    trigger: str
    pending: tuple[int, ...]

    @property
    def told(self) -> str:
        """The store, the trigger and what waits."""
        return f"{self._named} by {visible(self.trigger)}: {numbers_told(self.pending)}"


@dataclass(frozen=True, repr=False)
class Skipped(StoreEvent):
    """A save that was asked for did not begin; its messages wait on.

    Attributes:
        failures: How many saves of the store have failed in a row.
        reason: Why it did not begin.
    """

    failures: int
    reason: str

    @property
    def told(self) -> str:
        """The store and the reason."""
        return f"{self._named}: {self.reason}"


@dataclass(frozen=True, repr=False)
class Filtered(StoreEvent):
    """Content blocks of a message were dropped before it was saved.

    Attributes:
        number: The message.
        kinds: The kinds of the dropped blocks, in their order; ``"injected memory"`` for a block that the injection
            had put into the message.
        whole: Whether nothing was left, so that the message is not saved at all.
    """

    number: int
    kinds: tuple[str, ...]
    whole: bool

    @property
    def told(self) -> str:
        """The store, the message and what was dropped."""
        dropped = ", ".join(self.kinds) or "empty"
        return f"{self._named}: {self.number} {'dropped whole' if self.whole else 'without'}: {dropped}"


@dataclass(frozen=True, repr=False)
class BatchEvent(StoreEvent):
    """The parent of what happens to one batch: ``numbers`` are those of all its messages, dropped ones included."""

    numbers: tuple[int, ...]

    @property
    def _batch(self) -> str:
        return f"{self._named} {numbers_told(self.numbers)}"


@dataclass(frozen=True, repr=False)
class Asked(BatchEvent):
    """The extractor asked its model.

    Attributes:
        system: The whole system prompt.
        transcript: The user turn that went with it.
    """

    system: str
    transcript: str

    @property
    def told(self) -> str:
        """The batch and how much was asked."""
        return f"{self._batch}: {counted(len(self.system) + len(self.transcript), 'character')}"


@dataclass(frozen=True, repr=False)
class Answered(BatchEvent):
    """The model answered.

    Attributes:
        text: The answer as it came.
        seconds: How long it took.
    """

    text: str
    seconds: float = field(default=0.0, compare=False)

    @property
    def told(self) -> str:
        """The batch and the beginning of the answer."""
        return f"{self._batch}: {quoted(self.text)}"


@dataclass(frozen=True, repr=False)
class Noted(BatchEvent):
    """Something about the answer that its facts do not show, such as an item of an unknown shape.

    Attributes:
        note: One sentence.
    """

    note: str

    @property
    def told(self) -> str:
        """The batch and the note."""
        return f"{self._batch}: {self.note}"


@dataclass(frozen=True, repr=False)
class Unreadable(BatchEvent):
    """The answer held no list of facts. The mark moves on; ``retry_unreadable`` extracts the messages again.

    Attributes:
        text: The answer as it came.
        reason: What is wrong with it.
        kept: The numbers of the messages that were asked about.
        messages: These messages, as the filter left them.
    """

    text: str
    reason: str
    kept: tuple[int, ...]
    messages: tuple[Message, ...] = field(compare=False)

    @property
    def told(self) -> str:
        """The batch and the reason."""
        return f"{self._batch}: {self.reason}"


@dataclass(frozen=True, repr=False)
class Proposed(BatchEvent):
    """Facts were found; nothing is written yet.

    Attributes:
        facts: The facts in the answer's order.
    """

    facts: tuple[ExtractionResult, ...]

    @property
    def told(self) -> str:
        """The batch and the facts."""
        return f"{self._batch}: {_listed([fact.content for fact in self.facts]) or 'nothing worth keeping'}"


@dataclass(frozen=True, repr=False)
class Reviewed(BatchEvent):
    """The manager's ``review`` looked through the proposed facts.

    Attributes:
        facts: The facts that are to be written, in its order.
    """

    facts: tuple[ExtractionResult, ...]

    @property
    def told(self) -> str:
        """The batch and the facts that stayed."""
        return f"{self._batch}: {_listed([fact.content for fact in self.facts]) or 'none kept'}"


@dataclass(frozen=True, repr=False)
class Saved(BatchEvent):
    """The batch has reached the store. Only now it counts as saved.

    Attributes:
        kept: The numbers of the messages that were saved or asked about; the others were dropped by the filter.
        written: The facts that were added over all tries, empty where the store takes messages.
        deduplicated: The facts that the store says it held already.
        seconds: How long the last try took.
        as_messages: Whether the store took the messages themselves.
    """

    kept: tuple[int, ...]
    written: tuple[str, ...] = ()
    deduplicated: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    as_messages: bool = field(default=False, kw_only=True)

    @property
    def told(self) -> str:
        """The batch and what was written."""
        if not self.kept:
            return f"{self._batch}: nothing, all was dropped"
        if self.as_messages:
            return f"{self._batch}: {counted(len(self.kept), 'message, as it is', 'messages, as they are')}"
        known = f"; held already: {_listed(self.deduplicated)}" if self.deduplicated else ""
        return f"{self._batch}: {_listed(self.written) or 'no new fact'}{known}"


@dataclass(frozen=True, repr=False)
class Failed(BatchEvent):
    """A try to save the batch failed; the next request or flush tries again what is left of it.

    Attributes:
        error: What was raised.
        failures: How many saves of the store have failed in a row, this one counted.
        unwritten: The facts that are still to be written; empty where none had been found yet.
        cancelled: Whether the save was cut off, as by the end of its event loop.
        seconds: How long the try took.
    """

    error: BaseException = field(compare=False)
    failures: int
    unwritten: tuple[str, ...] = ()
    cancelled: bool = False
    seconds: float = field(default=0.0, compare=False)

    @property
    def told(self) -> str:
        """The batch, the error and what is still to be written."""
        what = "cut off" if self.cancelled else error_told(self.error)
        left = f"; still to write: {_listed(self.unwritten)}" if self.unwritten else ""
        return f"{self._batch}: {what}, {counted(self.failures, 'failure')} in a row{left}"


@dataclass(frozen=True, repr=False)
class Flushed(Event):
    """A flush came to its end.

    Attributes:
        left: The numbers of the messages that are still not saved in every store.
        unreadable: The numbers of the messages that are kept, since the answer to them could not be read:
            ``retry_unreadable`` asks again.
    """

    left: tuple[int, ...]
    unreadable: tuple[int, ...] = ()

    @property
    def told(self) -> str:
        """What is left."""
        kept = f"; kept with an unreadable answer: {numbers_told(self.unreadable)}" if self.unreadable else ""
        return f"left: {numbers_told(self.left)}{kept}"


def numbers_told(numbers: Sequence[int]) -> str:
    """Return message numbers with runs joined: ``message 4``, ``messages 0-3, 7``, ``no message``."""
    if not numbers:
        return "no message"
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    listed = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)
    return f"message{'' if len(numbers) == 1 else 's'} {listed}"


def error_told(error: BaseException) -> str:
    """Return an exception's type and text, shortened."""
    words = visible(cropped(said(error), 120))
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _listed(texts: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(quoted(fact, 40) for fact in texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most:,} more"
