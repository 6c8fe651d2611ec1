"""The lower right: the block, the messages as the model gets them, and the stored entries."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..._dom import Node, el
from ..._text import counted
from ...tokens import sized
from ...workbench.block import entry_lines
from .entries import Opened, entries_pane
from .hits import hit_key
from .parts import FOLDED_CHARACTERS, SHOWN_CHARACTERS, SHOWN_MESSAGES, block_text, cropped, earlier, frame, signed

if TYPE_CHECKING:
    from ...memory import InjectionTrace
    from ...tokens import TokenCounter
    from ...workbench import Preview, WorkbenchState

_SHOWN_LINES = 500
"""Lines of the block that are shown; how many more there are is said."""

TABS = {"block": "Block", "input": "Model input", "entries": "Entries"}


def lower(state: WorkbenchState, tab: str = "block", opened: Opened | None = None) -> Node:
    """Return the tab that is open under the row of tabs; ``opened``: in the place of the table of entries."""
    preview = state.preview
    total = "" if preview is None or preview.entries is None else f" {preview.entries:,}"
    buttons = [
        el(
            "button",
            "",
            title + (total if name == "entries" else ""),
            action={"do": "tab", "to": name},
            role="tab",
            aria_selected=str(name == tab).lower(),
        )
        for name, title in TABS.items()
    ]
    tabs = el("div", "memwb-tabs", *buttons, role="tablist", aria_label="Result")
    if preview is None:
        return frame(el("div", "memwb-head", tabs), label="Result")
    if tab == "entries":
        return entries_pane(state, tabs, opened or Opened())
    trace = preview.trace
    content = _block(state, trace) if tab == "block" else _model_input(state, trace)
    size = el(
        "span",
        "memwb-push",
        _size(preview) if tab == "block" else counted(len(trace.messages), "message"),
        title=_counter_told(preview.counter) if tab == "block" else None,
    )
    copy = el("button", "memwb-copy", "copy", action={"do": "copy", "what": tab}, data_key="copy")
    head = el("div", "memwb-head", tabs, size, copy)
    bar = head if tab == "block" else el("div", "", head, _cache(state))
    pane = frame(bar, *content, label=TABS[tab])
    return el("div", "memwb-pending memwb-frame", *pane.children) if state.pending else pane


def _size(preview: Preview) -> str:
    if not preview.trace.injected:
        return "nothing injected"
    form = "" if preview.block.fault is not None else f" · {preview.block.kind}"
    return f"{counted(len(preview.trace.entries), 'entry', 'entries')}, {preview.size} tokens{form}"


def _counter_told(counter: TokenCounter) -> str:
    return f"tokens {'counted by' if counter.exact else 'estimated:'} {counter.name}"


def _block(state: WorkbenchState, trace: InjectionTrace) -> list[Node]:
    if not trace.injected or trace.text is None:
        reason = (state.preview.unwritten if state.preview else "") or trace.reason
        return [el("div", "memwb-empty", f"No block: {reason}. The model gets the conversation as it is.")]
    lines = cropped(trace.text).split("\n")
    links = [None if hit is None else hit_key(hit) for hit in entry_lines(trace, lines)]
    form = state.preview.block if state.preview is not None else None
    told = form.sentence if form is not None and (form.fault or form.hidden) else ""
    shown = [el("div", "memwb-more memwb-warn", f"⚠ {told}", role="status")] if told else []
    sizes = _sizes(lines, links, state.token_counter)
    told = _counter_told(state.token_counter)
    rows = [_line(at, *row, told) for at, row in enumerate(zip(lines[:_SHOWN_LINES], links, sizes, strict=False))]
    shown.append(el("div", "", *rows, role="list", aria_label="Lines of the block, by arrow keys"))
    if len(lines) > _SHOWN_LINES:
        shown.append(el("div", "memwb-more", f"{len(lines) - _SHOWN_LINES:,} more lines"))
    return shown


def _sizes(lines: list[str], links: list[str | None], counter: TokenCounter) -> list[str]:
    """Return the tokens that stand beside each line: those of an entry of several lines beside its first."""
    sizes = [""] * len(lines)
    for link, places in groupby(range(min(len(lines), len(links))), key=links.__getitem__):
        for part in [list(places)] if link is not None else [[at] for at in places]:
            sizes[part[0]] = sized(counter, counter.count("\n".join(lines[part[0] : part[-1] + 1])))
    return sizes


def _line(at: int, line: str, link: str | None, size: str, told: str) -> Node:
    """One line; Tab reaches the first, arrow keys the others, and where the keyboard is, its hit is marked."""
    of = "entry" if link is not None else "line"
    beside = el("small", "", size, title=f"of this {of}: {told}" if size else None)
    return el(
        "div",
        "memwb-line",
        el("pre", "", *signed(line or " ")),
        beside,
        data_link=link,
        role="listitem",
        tabindex="-1" if at else "0",
    )


def _cache(state: WorkbenchState) -> Node:
    """Say what a prompt cache keeps; the place is there from the start, so that nothing moves."""
    view = state.caching.view
    told = view.sentence if view is not None and view.call == state.call else "…"
    return el("div", "memwb-cachebar", told, role="status")


def _model_input(state: WorkbenchState, trace: InjectionTrace) -> list[Node | None]:
    last = len(trace.messages) - 1
    sent = state.live.as_sent(trace.messages[-SHOWN_MESSAGES:])
    shown = enumerate(sent, last + 1 - len(sent))
    return [earlier(trace.messages), *(_message(message, trace, at, last=at == last) for at, message in shown)]


def _message(message: dict[str, Any], trace: InjectionTrace, at: int, *, last: bool) -> Node:
    parts = []
    for block in message["content"]:
        kind, text = block_text(block)
        injected = trace.injected and kind == "text" and text.removeprefix("\n\n") == trace.text
        shown = text if kind == "text" else f"{kind}: {text}"
        classes, view = ("memwb-part memwb-injected", f"block in {at}") if injected else ("memwb-part", None)
        limit = SHOWN_CHARACTERS if injected or last else FOLDED_CHARACTERS
        parts.append(el("pre", classes, *signed(cropped(shown, limit) or " "), data_view=view))
    return el("div", "memwb-message", el("div", "memwb-role", message["role"]), *parts, data_key=f"i{at}")
