"""What is doubtful about a callback, by its text and by what it gave in the preview: nothing is run for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, ClassVar, Literal

from .._text import counted, quoted
from ..callbacks.complete import unknown_names
from ..callbacks.filters import not_said, said
from ..memory.messages import text as text_of
from ..memory.notes import LARGE_TOKENS
from .lint_calls import calls_outside, changing_names
from .lint_markup import unescaped
from .lint_messages import misread_messages

if TYPE_CHECKING:
    from ..memory import InjectionTrace, MemoryEntry, Message
    from .editor import Slot

TOKEN_BUDGET = LARGE_TOKENS
"""Tokens of a block above which lint speaks, where the workbench is not told otherwise."""

ESCAPE = "Write `escape(entry.content)`, with `from html import escape`."

Kind = Literal["unescaped", "closed", "repeats", "budget", "differs", "notebook", "outside", "message"]


@dataclass(frozen=True)
class Finding:
    """Something doubtful about a callback that runs.

    Attributes:
        callback: ``query``, ``format`` or ``trigger``.
        kind: ``unescaped`` (markup without escaping), ``closed`` (the block is closed by an entry's content),
            ``repeats`` (what the conversation says already), ``budget`` (too many tokens), ``differs`` (two runs give
            two results), ``notebook`` (a name that only this notebook has), ``outside`` (files, network, processes) or
            ``message`` (something that a message does not have, such as ``messages[-1].text``).
        message: What is doubtful, in a sentence.
        fix: What to do about it.
        line: The line in the callback's source, from 1; None where it has no place.
    """

    callback: str
    kind: Kind
    message: str
    fix: str
    line: int | None = None
    severity: ClassVar[str] = "warning"  # how an editor marks the line

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{self.callback}: {place}{self.message}. {self.fix}"


class Findings(tuple[Finding, ...]):
    """What is doubtful about the callbacks; prints as lines."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "nothing doubtful"


def findings(
    slot: Slot, trace: InjectionTrace | None, messages: Sequence[Message] = (), token_budget: int = TOKEN_BUDGET
) -> tuple[Finding, ...]:
    """Return what is doubtful about a callback, in the order of its lines; what has no line comes last.

    Args:
        slot: The callback and its text.
        trace: What it gave at the model call that is shown, None where that is not known for the text as it stands.
        messages: The conversation before that call.
        token_budget: The most tokens that a block should have.
    """
    found = list(_by_text(slot))
    if trace is not None and not slot.ahead:
        found += _by_result(slot, trace, messages, token_budget, found)
    found.sort(key=lambda one: (one.line is None, one.line or 0))
    return tuple(dict.fromkeys(found))


# -- by the text ----------------------------------------------------------------------------------------------------


def _by_text(slot: Slot) -> Iterator[Finding]:
    try:
        tree = ast.parse(slot.source)
    except (SyntaxError, ValueError):
        return  # the editor says so
    if slot.function is None and not slot.ahead:
        return  # the default
    for name, line in unknown_names(slot.source, tree):
        if slot.problem is None or name not in slot.problem.message:
            yield Finding(
                slot.name,
                "notebook",
                f"{name!r} exists only in this notebook, so `wb.export` would refuse it",
                "Import or define it inside the function.",
                line,
            )
    for read, instead, line in misread_messages(tree):
        yield Finding(
            slot.name,
            "message",
            f"{read}: a message is a dict of a role and a list of blocks",
            f"Write {instead}.",
            line,
        )
    for call, what, line in calls_outside(tree):
        yield Finding(
            slot.name,
            "outside",
            f"{call} {what}, and every model call waits for it",
            "Do it before, and keep what the callback needs in a variable of its module.",
            line,
        )
    for name, line in changing_names(tree):
        yield Finding(
            slot.name,
            "differs",
            f"{name} may give another result at each run, so a preview need not be what an agent gets",
            "Take it from the context, or sort: `sorted(...)`.",
            line,
        )
    if slot.name == "format":
        for line in unescaped(tree):
            what = "what an entry holds is put beside markup as it is"
            yield Finding(slot.name, "unescaped", what, ESCAPE, line)


# -- by the result --------------------------------------------------------------------------------------------------


def _by_result(
    slot: Slot, trace: InjectionTrace, messages: Sequence[Message], token_budget: int, known: Sequence[Finding]
) -> Iterator[Finding]:
    if slot.differed:
        yield Finding(
            slot.name,
            "differs",
            f"two runs on the same {_given(slot.name)} gave two results",
            "Let the result follow from the context alone.",
        )
    if slot.name != "format" or trace.text is None:
        return
    for content, closing in _closed_by(trace):
        yield Finding(
            slot.name,
            "closed",
            f"the memory {quoted(content)} closes the block: its {closing} stands in the text as it is",
            ESCAPE,
            next((one.line for one in known if one.kind == "unescaped"), None),
        )
    repeated = repeats(trace, messages)
    if repeated:
        more = len(repeated) - 1
        say = f" and {counted(more, 'other memory', 'other memories')} say" if more else " says"
        yield Finding(
            slot.name,
            "repeats",
            f"the conversation says already what {quoted(repeated[0])}{say}",
            "Choose the filter 'not said'.",
        )
    if trace.tokens > token_budget:
        yield Finding(
            slot.name,
            "budget",
            f"the block has about {trace.tokens:,} tokens, above the budget of {token_budget:,}",
            "Choose 'token budgeted', or lower max_entries.",
        )


def _given(name: str) -> str:
    return "entries" if name == "format" else "conversation"


def _closed_by(trace: InjectionTrace) -> Iterator[tuple[str, str]]:
    """Yield the memories whose content has a closing tag of the block's own, and stands in it unescaped."""
    text = trace.text or ""
    for entry in trace.entries:
        if entry.content not in text:
            continue
        around = text.replace(entry.content, "")
        tags = re.findall(r"</\s*([\w:.-]{1,40})\s*>", entry.content)
        closing = next((tag for tag in tags if f"<{tag}" in around), None)
        if closing is not None:
            yield entry.content, f"</{closing}>"


def repeats(trace: InjectionTrace, messages: Sequence[Message]) -> list[str]:
    """Return the contents in the block that a message of the conversation says already, word by word."""
    shown = _among(trace.entries, [unescape(trace.text or "")])
    return [entry.content for entry in _among(shown, [text_of(message) for message in messages])]


def _among(entries: Sequence[MemoryEntry], texts: list[str]) -> list[MemoryEntry]:
    """Return the entries that one of the texts says already."""
    before = said.set(texts)
    try:
        new = {id(entry) for entry in not_said(list(entries))}
    finally:
        said.reset(before)
    return [entry for entry in entries if id(entry) not in new]
