"""Proposed facts wait here until a person has accepted, edited or rejected them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .._text import quoted
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
            ``known`` (the store held it already) or ``failed`` (the write failed, and is tried again).
    """

    id: str
    store: str
    numbers: tuple[int, ...]
    content: str
    metadata: dict[str, Any] | None = None
    proposed: str = ""
    state: FactState = "proposed"

    @property
    def edited(self) -> bool:
        """Whether its text is not the extractor's."""
        return self.content != self.proposed

    def __repr__(self) -> str:
        return f"Fact({self.id} for {self.store!r}, {self.state}: {quoted(self.content)})"


@dataclass
class _Batch:
    facts: list[Fact]
    decided: asyncio.Future[None] = field(repr=False)


class Desk:
    """Looks through what extractors propose: at once, or when a person has decided.

    Args:
        changed: Called after each change.

    Attributes:
        asks: Whether facts wait for a decision; else they are accepted as they come.
        facts: Every fact so far.
    """

    def __init__(self, changed: Callable[[], None], *, asks: bool) -> None:
        self._changed, self.asks = changed, asks
        self.facts: list[Fact] = []
        self._open: list[_Batch] = []
        self._found: dict[tuple[str, tuple[int, ...]], list[Fact]] = {}  # by the batch that they were found in

    @property
    def waiting(self) -> list[Fact]:
        """The facts that wait for a decision."""
        return [fact for batch in self._open for fact in batch.facts if fact.state == "proposed"]

    def holds(self, store: str) -> bool:
        """Whether a save of this store waits here."""
        return any(fact.store == store for fact in self.waiting)

    async def review(self, proposed: Proposed) -> list[ExtractionResult]:
        """Return the facts that are to be written, when they have been decided on."""
        import asyncio

        facts = [
            Fact(f"f{at}", proposed.store, proposed.numbers, found.content, found.metadata, found.content)
            for at, found in enumerate(proposed.facts, len(self.facts) + 1)
        ]
        self.facts += facts
        self._found[proposed.store, proposed.numbers] = facts
        if not self.asks:
            for fact in facts:
                fact.state = "accepted"
        if waiting := [fact for fact in facts if fact.state == "proposed"]:
            batch = _Batch(waiting, asyncio.get_running_loop().create_future())
            self._open.append(batch)
            self._changed()
            try:
                await batch.decided
            finally:
                self._open.remove(batch)
        self._changed()
        return [ExtractionResult(fact.content, fact.metadata) for fact in facts if fact.state == "accepted"]

    def decide(self, facts: Iterable[Fact], state: FactState) -> None:
        """Accept or reject facts that wait; a save whose facts are all decided on goes on.

        Raises:
            ConfigError: One was decided on already, or an accepted one has no text; none was decided on.
        """
        facts = list(facts)
        for fact in facts:
            _check_open(fact)
            if state == "accepted" and not fact.content.strip():
                raise ConfigError(
                    f"Extraction: fact {fact.id} has no text; give it one, or reject it.",
                    key="content",
                    value=fact.content,
                )
        for fact in facts:
            fact.state = state
        for batch in tuple(self._open):
            if not batch.decided.done() and all(fact.state != "proposed" for fact in batch.facts):
                batch.decided.set_result(None)
        self._changed()

    def edit(self, fact: Fact, content: str) -> None:
        """Change the text of a fact that waits.

        Raises:
            ConfigError: It was decided on already.
        """
        _check_open(fact)
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
            raise EntryNotFoundError(fact.id if isinstance(fact, Fact) else fact, "the proposed facts")
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
        for batch in tuple(self._open):
            batch.decided.cancel()


def _check_open(fact: Fact) -> None:
    if fact.state != "proposed":
        raise ConfigError(
            f"Extraction: fact {fact.id} is {fact.state} already; only a proposed one can be decided on.",
            key="fact",
            value=fact.id,
        )
