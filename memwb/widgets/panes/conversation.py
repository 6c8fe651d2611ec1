"""The conversation up to the chosen call, where the block lands in it, and what comes later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..._dom import Node, el
from ..._text import counted, shortened
from ...memory.messages import has_tool_result, latest_index
from ...workbench.checks import state_values
from .parts import FOLDED_CHARACTERS, SHOWN_MESSAGES, as_json, block_text, cropped, earlier, frame, head

if TYPE_CHECKING:
    from ...workbench import WorkbenchState

_FOLDED_FROM = 280  # characters: a longer text is folded, the user's last words never are


@dataclass(frozen=True)
class Said:
    """What the pane says beside the conversation.

    Attributes:
        told: What the last action did, in a sentence.
        take: The key of the element that gets the keyboard (``add``, ``state``, ``m3``), and a number for each time.
        later: Whether the later messages are unfolded: a number for each time, 0 for not.
    """

    told: str = ""
    take: tuple[str, int] = ("", 0)
    later: int = 0

    def taking(self, key: str) -> int | None:
        """Return the number with which an element takes the keyboard, None where it does not."""
        return self.take[1] if self.take[0] == key else None


def conversation(state: WorkbenchState, said: Said = Said()) -> Node:
    """Return the messages, the last one of the user marked, and an input line where nobody has spoken yet."""
    seen = state.seen
    now = latest_index(seen, "user")
    lands = state.preview is not None and state.preview.trace.injected
    last = len(seen) - 1
    doubts: dict[int, list[str]] = {}
    for doubt in state.conversation.doubts:
        doubts.setdefault(doubt.index, []).append(doubt.text)
    rows = [
        _message(message, at, said, doubts.get(at, ()), now=at == now, lands=lands and at == now, last=at == last)
        for at, message in list(enumerate(seen))[-SHOWN_MESSAGES:]
    ]
    later = [
        _message(message, at, said, doubts.get(at, ()))
        for at, message in list(enumerate(state.messages))[len(seen) : len(seen) + SHOWN_MESSAGES]
    ]
    told = el("div", "memwb-told", said.told, role="status") if said.told else None
    ask = _ask() if now is None else None
    content = (told, _agent(state, said), earlier(seen), *rows, ask, _later(state, later, said))
    return frame(_bar(state, said), *content, label="Conversation")


def _bar(state: WorkbenchState, said: Said) -> Node:
    steps = state.conversation.steps
    add = el(
        "button",
        "memwb-push",
        "add",
        action={"do": "add"},
        aria_label="Add a message",
        title="Add a message at the end: await wb.conversation.add(...)",
        data_take=said.taking("add"),
    )
    paste = el(
        "button",
        "",
        "paste",
        action={"do": "paste"},
        aria_label="Paste a conversation",
        title="Paste a conversation: await wb.conversation.paste(...)",
        data_take=said.taking("paste"),
    )
    undo = el(
        "button",
        "",
        "undo",
        action={"do": "undo"},
        aria_label="Undo the last change of the messages",
        title=f"{counted(steps, 'change')} can be undone: await wb.conversation.undo()",
        aria_disabled=None if steps else "true",
        data_take=said.taking("undo"),
    )
    return head("Conversation", add, paste, undo)


def _agent(state: WorkbenchState, said: Said) -> Node | None:
    """Show, folded, what a trigger predicate sees beside the messages: the agent and its state."""
    agent, values = state.source.agent, state.agent_state
    if agent is None and values is None and state.slots["trigger"].function is None:
        return None
    plain = state_values(values)
    name = str(getattr(agent, "name", None) or type(agent).__name__) if agent is not None else "no agent: None"
    shown = cropped(as_json(values if plain is None else plain))
    kind = f"{type(agent).__name__} {as_json(repr(agent))}" if agent is not None else None
    edit = el(
        "button",
        "",
        "edit state…",
        action={"do": "state"},
        title="await wb.set(state={...})",
        data_take=said.taking("state"),
    )
    about = el("small", "", "A trigger predicate gets both, as context.agent and context.state. ")
    return el(
        "details",
        "memwb-message",
        el("summary", "", "state and agent"),
        el("pre", "", f"{name}\n{shown}"),
        el("pre", "memwb-dim", shortened(kind, 300)) if kind else None,
        el("p", "", about, edit),
        data_key="state",
    )


def _later(state: WorkbenchState, rows: Sequence[Node], said: Said) -> Node | None:
    if not rows:
        return None
    hidden = state.left_out - len(rows)
    more = el("div", "memwb-more", f"{counted(hidden, 'more message')}") if hidden else None
    summary = el("summary", "", f"{counted(state.left_out, 'later message')} not shown to the model")
    opened = {"open": str(said.later), "data-key": f"later {said.later}"} if said.later else {"data-key": "later"}
    return Node("details", "memwb-later", (summary, *rows, *((more,) if more else ())), opened)


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


def _message(
    message: dict[str, Any],
    at: int,
    said: Said,
    doubts: Sequence[str],
    *,
    now: bool = False,
    lands: bool = False,
    last: bool = False,
) -> Node:
    role = "tool result" if has_tool_result(message) else message["role"]
    edit = el(
        "button",
        "memwb-change",
        "edit",
        action={"do": "edit", "at": at},
        aria_label=f"Edit message {at + 1}",
        title=f"Edit or delete: await wb.conversation.edit({at}, ...)",
        data_take=said.taking(f"m{at}"),
    )
    return el(
        "div",
        "memwb-message memwb-now" if now else "memwb-message",
        el("div", "memwb-role", role, edit),
        *(_block(block, now) for block in message["content"]),
        *(el("div", "memwb-warn memwb-doubt", f"⚠ {doubt}") for doubt in doubts),
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
