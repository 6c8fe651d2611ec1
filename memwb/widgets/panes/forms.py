"""What opens in the conversation's place: a message to write, a text to paste, the state that predicates see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..._dom import Node, el
from ..._text import counted
from .parts import frame, head

ROLES = ("user", "assistant")

BLOCKS = {
    "text": ("text", ""),
    "tool call": ("json", '{"toolUse": {"toolUseId": "t1", "name": "", "input": {}}}'),
    "tool result": (
        "json",
        '{"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": ""}]}}',
    ),
}
"""What can be added to a message: the kind of its field, and what stands in it at first."""


@dataclass
class Field:
    """One field of a form.

    Attributes:
        kind: ``text``, ``json``, or ``kept`` for a block that cannot be written in a page.
        value: What stands in it.
        title: What it is.
        block: The block that it was made of, None for a new one.
    """

    kind: str
    value: str
    title: str
    block: dict[str, Any] | None = None


@dataclass
class Form:
    """What is open.

    Attributes:
        kind: ``message``, ``paste`` or ``state``.
        number: Of the form, so that the page makes new fields for each.
        fields: What is written in it.
        index: Of the message, None for a new one.
        at: Where a new message comes, None for the end.
        message: The message that is edited.
        role: Who says it.
        error: Why it could not be saved, and in which field.
    """

    kind: str
    number: int
    fields: list[Field]
    index: int | None = None
    at: int | None = None
    message: dict[str, Any] | None = None
    role: str = "user"
    error: tuple[str, int] | None = None
    count: int = field(default=0)


def form(opened: Form, take: int | None) -> Node:
    """Return the pane of what is open; ``take``: its first field gets the keyboard, once for each number."""
    parts = {"message": _message, "paste": _paste, "state": _state}[opened.kind](opened)
    fields = [_field(opened, at, each, take) for at, each in enumerate(opened.fields)]
    title, before, after, buttons = parts
    keys = el("small", "memwb-push", el("kbd", "", "Ctrl Enter"), " saves, ", el("kbd", "", "Esc"), " cancels")
    bar = head(title, keys)
    inside = el("div", "memwb-fields", before, *fields, after, data_key=f"form {opened.number}")
    foot = el("div", "memwb-foot", *buttons)
    return el("div", "memwb-writing", frame(bar, inside, label=title), foot, role="form", aria_label=title)


def _button(text: str, do: str, classes: str = "", **more: Any) -> Node:
    title = "Ctrl + Enter" if do == "save" else None
    return el("button", classes, text, action={"do": do, "form": True, **more}, title=title)


def _save(text: str) -> list[Node]:
    cancel = el("button", "memwb-cancel", "Cancel", action={"do": "cancel"}, title="Escape")
    return [_button(text, "save", "memwb-save"), cancel]


def _message(opened: Form) -> tuple[str, Node, Node, list[Node]]:
    new = opened.index is None
    place = "at the end" if opened.at is None else f"as message {opened.at + 1}"
    title = f"New message {place}" if opened.index is None else f"Message {opened.index + 1} of {opened.count}"
    options = [el("option", "", role, value=role, selected="" if role == opened.role else None) for role in ROLES]
    role = el("label", "", "role ", el("select", "", *options, data_field="role", aria_label="Role"))
    blocks = [_button(f"+ {name}", "block", kind=name) for name in BLOCKS]
    more = el("div", "memwb-more-blocks", *blocks)
    others = [] if new else [_button("Add after", "after"), el("button", "", "Delete", action={"do": "delete"})]
    return title, role, more, [*_save("Add" if new else "Save"), *others]


def _paste(_opened: Form) -> tuple[str, Node, None, list[Node]]:
    about = el(
        "p",
        "",
        "Takes the place of the conversation; undo brings that back. A list of messages as Strands, OpenAI or "
        "Anthropic have them (JSON, JSONL or as Python prints it), lines that begin with ",
        el("code", "", "User:"),
        " and ",
        el("code", "", "Assistant:"),
        ", or one text of the user.",
    )
    return "Paste a conversation", about, None, _save("Paste")


def _state(_opened: Form) -> tuple[str, Node, None, list[Node]]:
    about = el(
        "p",
        "",
        "What a trigger predicate finds under ",
        el("code", "", "context.state"),
        ", as a JSON object. It is a copy: the agent's own state stays as it is, and previews do not count in it. A "
        "blank field brings back what the source has.",
    )
    return "State of the agent", about, None, _save("Set state")


def _field(opened: Form, at: int, given: Field, take: int | None) -> Node:
    error = opened.error[0] if opened.error is not None and opened.error[1] == at else None
    told = el("div", "memwb-bad", error, role="alert") if error else None
    if given.kind == "kept":
        return el("div", "memwb-field", el("small", "", given.title), told, data_key=f"field {at}")
    writing = el(
        "textarea",
        "memwb-json" if given.kind == "json" else "",
        value=given.value,
        rows=str(
            min(max(given.value.count("\n") + 1 + len(given.value) // 44, 8 if opened.kind == "paste" else 3), 14)
        ),
        aria_label=given.title,
        aria_invalid="true" if error else None,
        spellcheck="false" if given.kind == "json" else None,
        data_field=f"f{at}",
        data_take=take if take is not None and at == (opened.error[1] if opened.error else 0) else None,
    )
    if given.kind == "text" or len(opened.fields) == 1:
        return el("div", "memwb-field", el("small", "", given.title), writing, told, data_key=f"field {at}")
    folded = el("details", "memwb-field", el("summary", "", given.title), writing, told, data_key=f"field {at}")
    if error or given.block is None:
        folded.attributes["open"] = f"{opened.number} {error or ''}"
    return folded


def titled(count: int, what: str) -> str:
    """Return what a block is that is too large for a field."""
    return f"{what}, {counted(count, 'character')}: too long for a page; it stays as it is"
