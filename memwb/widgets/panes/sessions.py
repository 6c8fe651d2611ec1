"""The screen of sessions: what was said in one, what a model gets of it, and what a summary would do to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._text import counted, quoted, shortened
from ...catalog import time_of
from ...sessions.messages import SUMMARY, ToolCall, calls, results
from ...sessions.summarize import count_tokens
from .parts import FOLDED_CHARACTERS, as_json, cropped, frame

if TYPE_CHECKING:
    from ...sessions import ContextMessage, MemoryEntry, SummaryPreview
    from ...workbench.sessions import SessionsState

TABS = {"conversation": "Conversation", "context": "Context", "summary": "Summary"}

_FOLDED_FROM = 280  # characters: a longer text is folded
_SHOWN_DAMAGE = 20
_SHOWN_CONTEXT = 100
_SHOWN_PART = 50  # entries of each part of a summary's preview


def sessions_top(state: SessionsState) -> Node:
    """Return the sentence on top, and what could not be read or done."""
    banners = [el("div", "memwb-banner", text) for text in (state.failure, state.refused) if text]
    here = state.chosen is not None
    buttons = [
        el("button", "", "Read again", action={"do": "refresh"}, title="Read the store again"),
        el("button", "", "Open in the workbench", action={"do": "bench"}) if here and state.bench is not None else None,
    ]
    return el(
        "div",
        "memwb-pending" if state.pending else "",
        el(
            "div",
            "memwb-verdict",
            el("span", "memwb-sentence", _sentence(state), role="status", aria_live="polite"),
            *buttons,
        ),
        *banners,
        _damage(state),
        data_revision=state.revision,
    )


def _sentence(state: SessionsState) -> str:
    if not state.revision:
        return "Reading the sessions…"
    if not state.sessions:
        return "There are no sessions yet: an agent's memory writes them, or `await memory.add(message, session_id)`."
    chosen = state.chosen
    if chosen is None:
        users = counted(state.users, "user")
        return f"{counted(len(state.sessions), 'session')} of {users}. Choose one to read it."
    first, last = minute(chosen.first), minute(chosen.last)
    if first != last:
        first += f" to {last[11:] if first[:10] == last[:10] else last}"
    entries = counted(len(state.entries), "entry", "entries")
    tokens = f"~{count_tokens(state.entries):,} tokens"
    return f"{quoted(chosen.session_id)} of {quoted(chosen.user_id)}: {entries}, {tokens}, {first}."


def minute(seconds: float) -> str:
    """Return a session's time to the minute, in UTC."""
    time = time_of(seconds)
    return "no readable time" if time is None else f"{time:%Y-%m-%d %H:%M}"


def _damage(state: SessionsState) -> Node | None:
    if not state.damage:
        return None
    shown = [el("div", "", f"{place} of {where}: {reason}") for where, place, reason in state.damage[:_SHOWN_DAMAGE]]
    more = len(state.damage) - _SHOWN_DAMAGE
    text = f"{counted(len(state.damage), 'place')} of the store cannot be read; what is there was left as it is."
    rest = el("div", "", f"and {more:,} more") if more > 0 else None
    return el("details", "memwb-banner", el("summary", "", text), *shown, rest)


def sessions_tabs(state: SessionsState, tab: str) -> Node:
    """Return the row of tabs, and what belongs to the open one."""
    count = f" {len(state.entries):,}" if state.entries else ""
    buttons = [
        el(
            "button",
            "",
            title + (count if name == "conversation" else ""),
            action={"do": "tab", "to": name},
            role="tab",
            aria_selected=str(name == tab).lower(),
        )
        for name, title in TABS.items()
    ]
    return el("div", "memwb-tabs", *buttons, role="tablist", aria_label="Session")


def sessions_pane(state: SessionsState, tab: str) -> Node:
    """Return the session that is shown, under its tabs."""
    bar = el("div", "memwb-head", sessions_tabs(state, tab))
    if state.chosen is None:
        text = "Choose a session in the table: its conversation, the messages that a model gets, and its summary."
        return frame(bar, el("div", "memwb-empty", text if state.sessions else ""), label="Session")
    if tab == "context":
        return _context(state, bar)
    if tab == "summary":
        return _summary(state, bar)
    return _conversation(state, bar)


# --- conversation -----------------------------------------------------------------------------------------------------


def _conversation(state: SessionsState, bar: Node) -> Node:
    found = state.found
    filters = el("div", "memwb-filters", _find(state), _roles(state), _pages(state))
    rows = [_entry(entry) for entry in state.shown]
    if not found:
        rows = [el("div", "memwb-empty", "No entry of this session is as the filter asks.")]
    head = el("div", "memwb-heads", bar, filters)
    return frame(head, *rows, label=f"Entries of {_name(state)}, page {state.page + 1}")


def _name(state: SessionsState) -> str:
    assert state.chosen is not None
    return f"{state.chosen.session_id} of {state.chosen.user_id}"


def _find(state: SessionsState) -> Node:
    return el(
        "input",
        "",
        action={"do": "find"},
        value=state.where,
        placeholder="find text",
        aria_label="find text in the session",
        type="text",
        data_key="find",
    )


def _roles(state: SessionsState) -> Node:
    every = {"": len(state.entries), **state.roles}
    buttons = [
        el(
            "button",
            "",
            f"{role or 'all'} {count:,}",
            action={"do": "role", "to": role},
            aria_pressed=str(role == state.role).lower(),
        )
        for role, count in every.items()
    ]
    return el("span", "memwb-chips", *buttons)


def _pages(state: SessionsState) -> Node | None:
    if state.pages == 1:
        return None
    back, on = state.page > 0, state.page < state.pages - 1
    return el(
        "span",
        "memwb-calls",
        _turn("◀", "earlier entries", state.page - 1, back),
        f"{state.page + 1}/{state.pages}",
        _turn("▶", "later entries", state.page + 1, on),
    )


def _turn(text: str, label: str, to: int, enabled: bool) -> Node:
    disabled = None if enabled else "disabled"
    return el("button", "", text, action={"do": "page", "to": to}, aria_label=label, disabled=disabled)


def _entry(entry: MemoryEntry, key: str = "e") -> Node:
    time = time_of(entry.created_at)
    stamp = el("span", "memwb-marks", f"{time:%Y-%m-%d %H:%M:%S}" if time else "")
    answered = [id for id in results(entry) if id]
    said = f"{entry.role}, answers {', '.join(answered)}" if answered else entry.role
    return el(
        "div",
        "memwb-message memwb-now" if entry.role == SUMMARY else "memwb-message",
        el("div", "memwb-role", said, stamp),
        _words(entry.content) if entry.content else None,
        *(_folded(f"calls {shortened(str(call), 90)}", _call_text(call)) for call in calls(entry)),
        data_key=f"{key}{entry.memory_id}",
    )


def _call_text(call: ToolCall) -> str:
    arguments = call.arguments if isinstance(call.arguments, str) else as_json(call.arguments)
    return f"{call.name or call.id}\n{arguments}\nid {call.id}"


def _words(text: str) -> Node:
    if len(text) <= _FOLDED_FROM:
        return el("div", "memwb-words", text)
    return _folded(shortened(text, 160), text)


def _folded(title: str, text: str) -> Node:
    summary = el("summary", "", el("span", "memwb-short", title))
    return el("details", "", summary, el("div", "memwb-words", cropped(text, FOLDED_CHARACTERS)))


# --- context ----------------------------------------------------------------------------------------------------------


def _context(state: SessionsState, bar: Node) -> Node:
    messages = state.context
    hidden = max(0, len(messages) - _SHOWN_CONTEXT)
    note = el("div", "memwb-more", f"{counted(hidden, 'earlier message')}") if hidden else None
    rows = [_context_message(message, at) for at, message in list(enumerate(messages))[hidden:]]
    return frame(bar, note, *rows, label=f"Messages that a model gets of {_name(state)}")


def _context_message(message: ContextMessage, at: int) -> Node:
    content = message.content if isinstance(message.content, str) else as_json(message.content)
    answers = f", tool_call_id {message.tool_call_id}" if message.tool_call_id else ""
    called = _folded(f"tool_calls {shortened(as_json(message.tool_calls), 90)}", as_json(message.tool_calls))
    return el(
        "div",
        "memwb-message",
        el("div", "memwb-role", f"{message.role}{answers}"),
        el("pre", "", cropped(content, FOLDED_CHARACTERS)) if content or not message.tool_calls else None,
        called if message.tool_calls else None,
        data_key=f"c{at}",
    )


# --- summary ----------------------------------------------------------------------------------------------------------


def _summary(state: SessionsState, bar: Node) -> Node:
    preview = state.preview
    head = el("div", "memwb-heads", bar, _controls(state))
    if preview is None:
        return frame(head, el("div", "memwb-empty", _invitation(state)), label=f"Summary of {_name(state)}")
    parts = [
        _figures(preview),
        _answer(preview),
        _part(f"Pinned {len(preview.pinned):,}", _pinned(preview, state), preview.pinned),
        _part(f"Replaced {len(preview.replaced):,}", "become the one summary", preview.replaced, open=True),
        _part(f"Kept {len(preview.kept):,}", _kept(preview, state), preview.kept),
        _prompt(preview) if preview.replaced else None,
    ]
    return frame(head, *parts, label=f"Summary of {_name(state)}")


def _invitation(state: SessionsState) -> str:
    asks = "asks the model and shows its answer" if state.memory.model is not None else "shows the prompt"
    undo = " Undo brings back what the session's summary replaced." if state.undoable else ""
    return f"Preview {asks}, and what would be pinned, replaced and kept. Nothing is replaced before Apply.{undo}"


def _controls(state: SessionsState) -> Node:
    preview = state.preview
    ready = preview is not None and preview.answer is not None and bool(preview.replaced)
    asks = state.memory.model is not None
    return el(
        "div",
        "memwb-filters",
        *(_number(state, name) for name in ("pin_count", "recent_count")),
        el(
            "button",
            "",
            state.busy or ("Ask the model" if asks else "Preview"),
            action={"do": "preview"},
            disabled="disabled" if state.busy else None,
            data_key="preview",
        ),
        el(
            "button",
            "memwb-fix" if ready else "",
            "Apply",
            action={"do": "apply"},
            disabled=None if ready else "disabled",
            data_key="apply",
        ),
        el(
            "button",
            "",
            "Undo",
            action={"do": "undo"},
            title="Bring back what the session's summary replaced",
            disabled=None if state.undoable else "disabled",
            data_key="undo",
        ),
    )


def _number(state: SessionsState, name: str) -> Node:
    box = el(
        "input",
        "memwb-few",
        action={"do": "set", "name": name, "enter": True},
        value=str(getattr(state.memory, name)),
        aria_label=name,
        title="Enter sets it",
        type="text",
        data_key=name,
    )
    return el("label", "", f"{name} ", box)


def _figures(preview: SummaryPreview) -> Node:
    parts = f"{len(preview.pinned)} pinned, {len(preview.replaced)} replaced, {len(preview.kept)} kept"
    after = f" → ~{preview.tokens_after:,}" if preview.summary is not None else ""
    tokens = el("strong", "", f"~{preview.tokens_before:,}{after} tokens")
    return el("p", "", f"{parts}: ", tokens, el("small", "", " estimated: characters // 4"))


def _answer(preview: SummaryPreview) -> Node | None:
    if not preview.replaced:
        return el("p", "memwb-warn", f"There is nothing to replace: {preview.problem}.")
    problem = el("p", "memwb-bad", f"No answer: {preview.problem.rstrip('.')}.") if preview.problem else None
    told = el("pre", "memwb-injected memwb-part", cropped(preview.answer)) if preview.answer is not None else None
    own = el(
        "input",
        "memwb-wide",
        action={"do": "write", "enter": True},
        placeholder="or write the summary yourself: Enter takes it",
        aria_label="write the summary yourself",
        type="text",
        data_key="own",
    )
    return el("div", "", el("h4", "", "The summary"), problem, told, own, data_key="answer")


def _pinned(preview: SummaryPreview, state: SessionsState) -> str:
    more = len(preview.pinned) > state.memory.pin_count
    return f"stay at the start, word for word{'; a call stays with its results' if more else ''}"


def _kept(preview: SummaryPreview, state: SessionsState) -> str:
    more = len(preview.kept) > state.memory.recent_count
    return f"stay{'; a call stays with its results, and the last message of the user stays' if more else ''}"


def _part(title: str, what: str, entries: Sequence[MemoryEntry], *, open: bool = False) -> Node:
    more = len(entries) - _SHOWN_PART
    return el(
        "details",
        "memwb-section",
        el("summary", "", el("strong", "", title), el("small", "", f" {what}")),
        *(_entry(entry, title) for entry in entries[:_SHOWN_PART]),
        el("div", "memwb-more", f"{more:,} more") if more > 0 else None,
        open="open" if open else None,
        data_key=title.partition(" ")[0],
    )


def _prompt(preview: SummaryPreview) -> Node:
    return el(
        "details",
        "memwb-section",
        el("summary", "", el("strong", "", "Prompt"), el("small", "", " as the model gets it")),
        el("div", "memwb-role", "system"),
        el("pre", "", preview.system),
        el("div", "memwb-role", "user"),
        el("pre", "", cropped(preview.prompt)),
        data_key="prompt",
    )
