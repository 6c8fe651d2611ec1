"""The extraction's screen: the conversation with what became of each message, the stores, and what they were given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._text import counted, shortened
from ...memory.extraction.happenings import numbers_told
from ...memory.messages import has_tool_result
from .parts import FOLDED_CHARACTERS, block_text, cropped, head

if TYPE_CHECKING:
    from ...memory import Message
    from ...memory.extraction.batches import ExtractionStatus
    from ...workbench.extraction import ExtractionState
    from ...workbench.extraction_view import Line, Mark

SHOWN = 120
"""Messages of the timeline that are shown: those before and a few after the one that joined last."""

_AHEAD = 20
_FOLDED_FROM = 280
_MARKS = {
    "waiting": ("○", "memwb-dim", "waits"),
    "saving": ("◐", "memwb-warn", "being saved"),
    "saved": ("●", "memwb-good", "saved"),
    "dropped": ("–", "memwb-dim", "filtered away"),
    "failed": ("✗", "memwb-bad", "not saved"),
    "unread": ("?", "memwb-bad", "answer unreadable"),
}


def extraction_top(state: ExtractionState) -> Node:
    """Return how things stand, the buttons, and where is written."""
    sentence = el("span", "memwb-sentence", state.sentence, role="status", aria_live="polite")
    return el(
        "div",
        "memwb-pending" if state.busy else "",
        el(
            "div",
            "memwb-verdict",
            sentence,
            _button("Step", "step", title="the next message joins"),
            _button("Run", "run", title="on to the end, or to facts that wait for you"),
            _button("Flush", "flush", title="save what is left, as a program must at its end"),
            _button("Start over", "restart", title="the conversation from its beginning, on new copies"),
        ),
        el("div", "memwb-banner", f"That could not be done: {state.refused}", role="alert") if state.refused else None,
        el("div", "memwb-stages", *_where(state)),
        data_revision=state.revision,
    )


def _button(text: str, do: str, title: str) -> Node:
    return el("button", "", text, action={"do": do}, title=title, data_key=do)


def _where(state: ExtractionState) -> list[Node]:
    real = state.settings.write_to == "stores"
    target = (
        "writes go to the stores themselves" if real else "writes go to copies in memory, your stores stay as they are"
    )
    parts = [
        el("span", "memwb-warn" if real else "memwb-good", ("⚠ " if real else "✓ ") + target),
        el("span", "memwb-dim", f"asks {shortened(state.model_name, 120)}"),
    ]
    lacks = state.replay.lacks if state.replay else {}
    parts += [el("span", "memwb-warn", f"{store}: {lack}", data_key=f"lack {store}") for store, lack in lacks.items()]
    return parts


def extraction_timeline(state: ExtractionState) -> Node:
    """Return the conversation: what has joined, with its marks, and what is still to come."""
    lines = {line.number: line for line in state.lines}
    messages = state.shown_messages
    last = len(lines) - 1
    end = min(len(messages), max(last + 1 + _AHEAD, SHOWN))
    first = max(0, end - SHOWN)
    held = {fact.store for fact in state.waiting}
    rows = [_message(messages[at], at, lines.get(at), held, now=at == last) for at in range(first, end)]
    return el(
        "div",
        "memwb-frame",
        head("Conversation", el("span", "memwb-push", f"{state.position} of {counted(len(messages), 'message')}")),
        el(
            "div",
            "memwb-scroll",
            el("div", "memwb-more", counted(first, "earlier message")) if first else None,
            *rows,
            el("div", "memwb-more", counted(len(messages) - end, "later message")) if end < len(messages) else None,
            role="region",
            aria_label="Conversation",
            tabindex="0",
            data_key="timeline",
        ),
    )


def _message(message: Message, at: int, line: Line | None, held: set[str], *, now: bool) -> Node:
    role = "tool result" if has_tool_result(message) else message["role"]
    marks = el("span", "memwb-marks", *_marks(line, held)) if line is not None else None
    after = [
        el("div", "memwb-after memwb-bad" if happening.bad else "memwb-after", shortened(happening.text, 240))
        for happening in (line.after if line is not None else ())
    ]
    classes = "memwb-message" + (" memwb-now" if now else "") + (" memwb-later" if line is None else "")
    return el(
        "div",
        classes,
        el("div", "memwb-role", el("span", "", f"{at} {role}"), marks),
        *(_block(block) for block in message["content"]),
        *after,
        data_key=f"m{at}",
        data_view=f"at {at}, {len(after)}" if now else None,
    )


def _marks(line: Line, held: set[str]) -> list[Node]:
    several = len(line.marks) > 1
    return [_chip(store, mark, named=several, held=store in held) for store, mark in line.marks.items()]


def _chip(store: str, mark: Mark, *, named: bool, held: bool) -> Node:
    sign, kind, words = _MARKS[mark.state]
    if held and mark.state == "saving":
        words = "facts wait for you"
    without = f", without {', '.join(mark.without)}" if mark.without and mark.state != "dropped" else ""
    told = f"{store}: {words}{without}" if named else f"{words}{without}"
    return el("span", f"memwb-chip {kind}", f"{sign} {shortened(told, 60)}", title=f"{store}: {words}{without}")


def _block(block: dict[str, object]) -> Node:
    kind, text = block_text(block)
    if kind == "text" and len(text) <= _FOLDED_FROM:
        return el("div", "memwb-words", text)
    title = shortened(text, 120) if kind == "text" else f"{kind}: {shortened(text, 90)}"
    summary = el("summary", "", el("span", "memwb-short", title))
    return el("details", "", summary, el("div", "memwb-words", cropped(text, FOLDED_CHARACTERS)))


_TITLES = (
    ("store", None),
    ("wait", "messages that wait in the buffer"),
    ("mark", "the high-water mark: the last message that was taken for a save"),
    ("written", "facts, or messages, that the store was given"),
    ("known", "facts that the store held already"),
    ("failures", "failed saves in a row"),
    ("flush would save", None),
)


def _title(title: str, hint: str | None) -> Node:
    number = "memwb-number" if title not in ("store", "flush would save") else ""
    return el("th", number, title, scope="col", title=hint)


def extraction_stores(state: ExtractionState) -> Node:
    """Return a line for each store that extracts: what waits, how far it is, and what a flush would still save."""
    rows = []
    tallies = state.tallies
    for status in state.status:
        tally = tallies[status.store]
        failing = el(
            "span", "memwb-bad", f"{status.failures}, backing off" if status.backing_off else str(status.failures)
        )
        rows.append(
            el(
                "tr",
                "",
                el("th", "memwb-name", status.store, scope="row"),
                el("td", "memwb-number", str(len(status.pending))),
                el("td", "memwb-number", "none" if status.mark < 0 else str(status.mark)),
                el("td", "memwb-number", f"{tally.written:,}"),
                el("td", "memwb-number", f"{tally.known:,}"),
                el("td", "memwb-number", failing if status.failures else "0"),
                el("td", "", shortened(_left(status), 90)),
                data_key=f"store {status.store}",
            )
        )
    if not rows:
        names = ", ".join(state.will_extract) or "no store"
        content: list[Node] = [el("div", "memwb-empty", f"Extracted into: {names}. Nothing has been gone through yet.")]
    else:
        titles = el("tr", "", *(_title(title, hint) for title, hint in _TITLES))
        content = [el("table", "memwb-lines", el("thead", "", titles), el("tbody", "", *rows))]
    inside = el("div", "memwb-scroll", *content, role="region", aria_label="Stores", tabindex="0", data_key="stores")
    return el("div", "memwb-frame", head("Stores"), inside)


def _left(status: ExtractionStatus) -> str:
    """Say what a flush would still save; facts that wait for a decision are part of a save that is under way."""
    if status.unwritten and not status.saving:
        return f"{counted(len(status.unwritten), 'fact')} whose write failed, without asking again"
    return numbers_told(status.pending) if status.pending else "nothing"
