"""A summary before it is made, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .. import _time
from .summarize import PROMPT, SummaryPlan, count_tokens, summary_entry
from .swap import with_backup
from .types import MemoryEntry

Outcome = Literal["written", "failed", "undone"]


@dataclass(frozen=True)
class SummaryEvent:
    """What became of a summary.

    Attributes:
        session_id: The session.
        user_id: Its user.
        outcome: ``written``, ``failed`` (the session is as it was) or ``undone``.
        text: A sentence about it.
    """

    session_id: str
    user_id: str
    outcome: Outcome
    text: str


@dataclass(frozen=True)
class SummaryPreview:
    """What a summary would do to a session, before it does.

    Another answer is tried by ``dataclasses.replace(preview, answer="...")``.

    Attributes:
        session_id: The session.
        user_id: Its user.
        plan: What it pins, replaces and keeps.
        answer: The model's answer, None where it gave none or was not asked.
        problem: Why there is no answer, in words, or "".
        summary_id: The id that the summary's entry gets.
    """

    session_id: str
    user_id: str
    plan: SummaryPlan
    answer: str | None = None
    problem: str = ""
    summary_id: str = field(default_factory=_time.new_id)

    @property
    def pinned(self) -> tuple[MemoryEntry, ...]:
        """The entries that stay at the start."""
        return self.plan.pinned

    @property
    def replaced(self) -> tuple[MemoryEntry, ...]:
        """The entries whose place the summary takes; empty where nothing would be gained."""
        return self.plan.replaced

    @property
    def kept(self) -> tuple[MemoryEntry, ...]:
        """The entries that stay besides."""
        return self.plan.kept

    @property
    def system(self) -> str:
        """The system prompt under which the model is asked."""
        return PROMPT

    @property
    def prompt(self) -> str:
        """The transcript that the model is asked to summarise."""
        return self.plan.prompt

    @property
    def summary(self) -> MemoryEntry | None:
        """The entry that would be written, with what it replaces in its message data; None without an answer."""
        if self.answer is None or not self.replaced:
            return None
        made = summary_entry(self.replaced, self.answer, id=self.summary_id)
        return with_backup(made, self.replaced, self.plan.before)

    @property
    def entries(self) -> list[MemoryEntry]:
        """The session as it would be; as it is where there is no answer."""
        summary = self.summary
        return list(self.plan.before) if summary is None else self.plan.after(summary)

    @property
    def tokens_before(self) -> int:
        """The tokens of the session as it is, estimated: characters // 4."""
        return count_tokens(self.plan.before)

    @property
    def tokens_after(self) -> int:
        """The tokens of the session as it would be, estimated likewise."""
        return count_tokens(self.entries)

    def __repr__(self) -> str:
        parts = f"{len(self.pinned)} pinned, {len(self.replaced)} replaced, {len(self.kept)} kept"
        if self.problem:
            return f"SummaryPreview({parts}; {self.problem})"
        if self.answer is None:
            return f"SummaryPreview({parts}; the model has not been asked)"
        return f"SummaryPreview({parts}; tokens {self.tokens_before:,} -> {self.tokens_after:,})"
