"""The conversation up to the chosen call, and where the block lands in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._dom import Node, el
from ..._text import counted, shortened
from ...memory.messages import has_tool_result, latest_index
from .parts import FOLDED_CHARACTERS, SHOWN_MESSAGES, as_json, block_text, cropped, earlier, frame, head

if TYPE_CHECKING:
    from ...workbench import WorkbenchState

_FOLDED_FROM = 280  # characters: a longer text is folded, the user's last words never are


def conversation(state: WorkbenchState) -> Node:
    """Return the messages, the last one of the user marked, and an input line where nobody has spoken yet."""
    seen = state.seen
    now = latest_index(seen, "user")
    lands = state.preview is not None and state.preview.trace.injected
    last = len(seen) - 1
    rows = [
        _message(message, at, now=at == now, lands=lands and at == now, last=at == last)
        for at, message in list(enumerate(seen))[-SHOWN_MESSAGES:]
    ]
    later = counted(state.left_out, "later message") if state.left_out else None
    bar = head("Conversation", el("span", "memwb-push", f"{later} not shown to the model") if later else None)
    ask = _ask() if now is None else None
    return frame(bar, _agent(state), earlier(seen), *rows, ask, label="Conversation")


def _agent(state: WorkbenchState) -> Node | None:
    """Show, folded, what a trigger predicate sees beside the messages: the agent and its state."""
    agent = state.source.agent
    if agent is None:
        return None
    name = str(getattr(agent, "name", None) or type(agent).__name__)
    shown = cropped(as_json(state.source.state))
    return el("details", "memwb-message", el("summary", "", "state and agent"), el("pre", "", f"{name}\n{shown}"))


def _ask() -> Node:
    return el(
        "div",
        "memwb-empty",
        el("p", "", el("strong", "", "There is no user message yet.")),
        el(
            "input",
            "memwb-wide",
            action={"do": "say", "enter": True},
            placeholder="What would the user say?",
            aria_label="What would the user say?",
            type="text",
        ),
        el("small", "", "Enter adds it as the user's message."),
    )


def _message(message: dict[str, Any], at: int, *, now: bool, lands: bool, last: bool) -> Node:
    role = "tool result" if has_tool_result(message) else message["role"]
    return el(
        "div",
        "memwb-message memwb-now" if now else "memwb-message",
        el("div", "memwb-role", role),
        *(_block(block, now) for block in message["content"]),
        el("div", "memwb-lands", "↳ the block lands here") if lands else None,
        data_key=f"m{at}",
        data_view=f"end of {at}" if last else None,
    )


def _block(block: dict[str, Any], now: bool) -> Node:
    kind, text = block_text(block)
    if kind == "text" and (now or len(text) <= _FOLDED_FROM):
        return el("div", "memwb-words", cropped(text))
    text = cropped(text, FOLDED_CHARACTERS)
    title = shortened(text, 120) if kind == "text" else f"{kind}: {shortened(text, 90)}"
    summary = el("summary", "", el("span", "memwb-short", title))
    return el("details", "", summary, el("div", "memwb-words", text))
