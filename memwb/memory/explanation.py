"""What ``why`` answers: an explanation, and the changes that were tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._redact import masked_words, texts_in
from .._text import quoted

if TYPE_CHECKING:
    from .trace import Hit
    from .wanted import Wanted

NAMED_BEFORE = 8
"""So many entries are named that took the places before the one that was asked about."""


@dataclass(frozen=True)
class Suggestion:
    """A change of settings that was tried and brings the entry in.

    Attributes:
        text: The change in words, with the place the entry then takes.
        settings: The change itself. Beside the keys of an injection it may hold ``injection`` (switched on),
            ``stores`` (names, in the order in which they are searched), ``messages`` (the conversation, with words that
            the user would have to say) and ``tokenizer`` (a name of ``memwb.memory.suggestions.TOKENIZERS``, for the
            stores that take one): all of them are settings of a workbench. ``edit`` (store, id and content) is a change
            of the entry itself, which a workbench stages.
        rank: The entry's place in the block after the change, from 1.
        also: How many entries that were not injected before come in with it.
        brings: The beginning of the text of each of them, in the block's order.
        drops: The beginning of the text of each entry that is injected now and would not be any more.
    """

    text: str
    settings: dict[str, Any]
    rank: int
    also: int
    brings: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Suggestion({masked_words(self.text, texts_in([self.brings, self.drops, self.settings]))})"


@dataclass(frozen=True)
class Explanation:
    """The answer to "why did this entry arrive, or why not?".

    Attributes:
        target: What was asked about: the entry's text, as far as it was found, else the text given.
        arrived: Whether the model gets it.
        sentence: The answer in one sentence.
        stage: Where it was decided: a stage of the injection, or ``"store"`` when no store holds the entry.
        rank: Its place in its store's answer, from 1; None where it did not match or nothing was searched.
        limit: The max_entries in force, None where injection is off.
        matched: Query tokens that the entry holds.
        missing: Query tokens that it does not hold.
        suggestions: Changes that bring it in, the smallest first; empty when it arrived or none was found.
        store: The store that holds the entry, None where none was found to.
        id: The entry's id where its store tells it; unique within that store only.
        words: Tokens of the entry that the query does not hold, where none is shared.
        near: Pairs of a query's token and one of the entry that nearly match, such as ``("walnut", "walnuts")``.
        before: The hits that its store ranks before it, at most eight, where it is cut.
        others: Further entries that hold the text that was asked for, each fit to be asked about itself; at most 20.
        among: How many entries hold that text; 0 where one entry was meant.
        newer: Whether it was written after the model call that was asked about, where the times of both are known.
        advice: What to do where no change of settings can help; "" where there is nothing to say.
    """

    target: str
    arrived: bool
    sentence: str
    stage: str
    rank: int | None = None
    limit: int | None = None
    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = field(default=())
    store: str | None = None
    id: str | None = None
    words: tuple[str, ...] = ()
    near: tuple[tuple[str, str], ...] = ()
    before: tuple[Hit, ...] = ()
    others: tuple[Any, ...] = ()
    among: int = 0
    newer: bool = False
    advice: str = ""
    _wanted: Wanted | None = field(default=None, repr=False, compare=False)  # what the changes are tried for

    @property
    def suggestible(self) -> bool:
        """Whether there is an entry that changes could be tried for: it is known, and did not arrive."""
        return not self.arrived and (self._wanted is None or self._wanted.known)

    @property
    def ambiguous(self) -> bool:
        """Whether a part of a text was given, which other entries may hold too."""
        return self._wanted is not None and bool(self._wanted.held)

    @property
    def secrets(self) -> Iterator[str]:
        """The texts that its sentences may quote."""
        yield from (self.target, *self.words, *self.matched, *(word for _, word in self.near))
        yield from (each.content for each in (*self.before, *self.others))
        for suggestion in self.suggestions:
            yield from texts_in([suggestion.brings, suggestion.drops, suggestion.settings])

    @property
    def details(self) -> list[str]:
        """What is known beside the sentence, a line an item, without the suggestions."""
        lines = []
        if self.before:
            lines.append(f"before it: {', '.join(quoted(hit.content, 30) for hit in self.before)}")
        if self.others:
            lines.append(f"others that hold it: {', '.join(quoted(other.content, 30) for other in self.others[:5])}")
        if self.advice:
            lines.append(self.advice)
        return lines

    def __repr__(self) -> str:
        tried = [f"try: {suggestion.text}" for suggestion in self.suggestions]
        return "\n  ".join([masked_words(line, self.secrets) for line in (self.sentence, *self.details, *tried)])

    def _repr_html_(self) -> str:
        from ._html import explanation_html

        return explanation_html(self)
