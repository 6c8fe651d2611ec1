"""Proposed facts wait here until a person has accepted, edited or rejected them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .._text import quoted, shortened
from ..errors import ConfigError, EntryNotFoundError
from ..memory import ExtractionResult
from ..memory.extraction.happenings import Event, Failed, Proposed, Saved

if TYPE_CHECKING:
    import asyncio

FactState = Literal["proposed", "accepted", "rejected", "written", "known", "failed"]


@dataclass
class Fact:
    """One fact that an extractor proposed.

    Attributes:
        id: ``f1``, ``f2`` and so on, in the order of proposal.
        store: The store that it is for.
        numbers: The messages that it was found in.
        content: Its text, as edited.
        metadata: What is to be kept beside it.
        proposed: The text that the extractor gave.
        state: ``proposed`` (it waits for a decision), ``accepted`` (it is being written), ``rejected``, ``written``,
            ``known`` (the store held it already) or ``failed`` (the write failed, and is tried again). A failed one
            can be edited, accepted or rejected like one that waits.
    """

    id: str
    store: str
    numbers: tuple[int, ...]
    content: str
    metadata: dict[str, Any] | None = None
    proposed: str = ""
    state: FactState = "proposed"

    @property
    def open(self) -> bool:
        """Whether it can be decided on: it waits for that, or its write failed."""
        return self.state in ("proposed", "failed")

    @property
    def edited(self) -> bool:
        """Whether its text is not the extractor's."""
        return self.content != self.proposed

    def __repr__(self) -> str:
        return f"Fact({self.id} for {self.store!r}, {self.state}: {quoted(self.content)})"


@dataclass(eq=False)
class _Batch:
    """The facts of one answer; ``decided`` is there while a save waits for them."""

    proposed: Proposed
    facts: list[Fact]
    decided: asyncio.Future[None] | None = None

    @property
    def undecided(self) -> bool:
        return any(fact.state == "proposed" for fact in self.facts)


class Desk:
    """Looks through what extractors propose: at once, or when a person has decided.

    Args:
        changed: Called after each change.
        asks: Whether facts wait for a decision; else they are accepted as they come.

    Attributes:
        facts: Every fact so far.
    """

    def __init__(self, changed: Callable[[], None], *, asks: bool) -> None:
        self._changed, self._asks = changed, asks
        self.facts: list[Fact] = []
        self._batches: list[_Batch] = []
        self._found: dict[tuple[str, tuple[int, ...]], list[Fact]] = {}  # by the batch that they were found in

    @property
    def waiting(self) -> list[Fact]:
        """The facts that wait for a decision."""
        return [fact for fact in self.facts if fact.state == "proposed"]

    def holds(self, store: str) -> bool:
        """Whether a save of this store waits here."""
        waits = (batch for batch in self._batches if batch.decided is not None and batch.undecided)
        return any(batch.proposed.store == store for batch in waits)

    async def review(self, proposed: Proposed) -> list[ExtractionResult]:
        """Return the facts that are to be written, when they have been decided on.

        A save that was cut off asks again about the same facts, which keep what was decided meanwhile.
        """
        import asyncio

        batch = next((each for each in self._batches if each.proposed is proposed), None) or self._take(proposed)
        if batch.undecided:
            batch.decided = asyncio.get_running_loop().create_future()
            self._changed()
            try:
                await batch.decided
            finally:
                batch.decided = None
        self._changed()
        kept = [fact for fact in batch.facts if fact.state in ("accepted", "failed")]
        return [ExtractionResult(fact.content, fact.metadata) for fact in kept]

    def _take(self, proposed: Proposed) -> _Batch:
        facts = [
            Fact(f"f{at}", proposed.store, proposed.numbers, found.content, found.metadata, found.content)
            for at, found in enumerate(proposed.facts, len(self.facts) + 1)
        ]
        for fact in facts if not self._asks else ():
            fact.state = "accepted"
        batch = _Batch(proposed, facts)
        self.facts += facts
        self._batches.append(batch)
        self._found[proposed.store, proposed.numbers] = facts
        return batch

    def decide(self, facts: Iterable[Fact], state: FactState) -> bool:
        """Accept or reject facts; a save whose facts are all decided on goes on.

        Returns:
            Whether a save must be asked for: none waits for one of these facts, since it failed or was cut off.

        Raises:
            ConfigError: One was decided on already, or an accepted one has no text that can be written; none was
                decided on.
        """
        facts = list(facts)
        for fact in facts:
            _check_open(fact)
            if state == "accepted":
                checked_text(fact.content, f"fact {fact.id}")
        for fact in facts:
            fact.state = state
        asks = False
        for batch in self._batches:
            if batch.decided is None:
                asks = asks or any(fact is each for fact in facts for each in batch.facts)
            elif not batch.decided.done() and not batch.undecided:
                batch.decided.set_result(None)
        self._changed()
        return asks

    def edit(self, fact: Fact, content: str) -> None:
        """Change the text of a fact that waits, or whose write failed. A blank one can be typed on, and not accepted.

        Raises:
            ConfigError: It was decided on already, or no store can keep the text.
        """
        _check_open(fact)
        checked_text(content, f"fact {fact.id}", blank=True)
        fact.content = content
        self._changed()

    def find(self, fact: Fact | str | None) -> list[Fact]:
        """Return a fact by itself, its id or its text; for None all that wait.

        Raises:
            EntryNotFoundError: There is no such fact.
        """
        if fact is None:
            return self.waiting
        found = [each for each in reversed(self.facts) if each is fact or fact in (each.id, each.content)]
        if not found:
            ids = (
                f"There are {', '.join(each.id for each in self.facts[-12:])}." if self.facts else "There is none yet."
            )
            raise EntryNotFoundError(fact.id if isinstance(fact, Fact) else fact, "the proposed facts", advice=ids)
        return found[:1]

    def take_note(self, event: Event) -> None:
        """Learn from the log what became of accepted facts."""
        if not isinstance(event, Saved | Failed):
            return
        for fact in self._found.get((event.store, event.numbers), ()):
            if fact.state not in ("accepted", "failed"):
                continue
            if isinstance(event, Failed):
                fact.state = "failed" if fact.content in event.unwritten else "written"
            else:
                fact.state = "known" if fact.content in event.deduplicated else "written"

    def close(self) -> None:
        """Give up what waits: the saves behind it are cut off."""
        for batch in self._batches:
            if batch.decided is not None:
                batch.decided.cancel()


def checked_text(content: Any, what: str, *, blank: bool = False) -> None:
    """Check that a store can keep a text.

    Raises:
        ConfigError: It is no text, holds a lone surrogate, or is blank where that is not allowed.
    """
    why = ""
    if not isinstance(content, str):
        why = f"the text of {what} must be a text, not {shortened(repr(content), 60)}"
    elif not content.strip() and not blank:
        why = f"{what} has no text; give it one, or reject it"
    elif any("\ud800" <= character <= "\udfff" for character in content):
        why = (
            f"the text of {what} holds half a character (a lone surrogate), which no store can keep: {quoted(content)}"
        )
    if why:
        raise ConfigError(f"Extraction: {why}.", key="content", value=content)


def _check_open(fact: Fact) -> None:
    if not fact.open:
        raise ConfigError(
            f"Extraction: fact {fact.id} is {fact.state} already; only one that waits, or whose write failed, can be "
            "decided on.",
            key="fact",
            value=fact.id,
        )
