"""The pane of the conversation: read, and written in forms that open in its place."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

from .._dom import sendable
from ..errors import ConfigError
from ..workbench.checks import state_values
from ..workbench.conversation import blocks_of, json_of
from . import panes
from .panel import as_coroutine
from .panes.conversation import Said
from .panes.forms import BLOCKS, Field, Form, titled
from .view import TreeView

if TYPE_CHECKING:
    from ..workbench import WorkbenchState

_EDITED_CHARACTERS = 100_000  # of one block; a longer one is edited by its twin in a cell


class Chat:
    """Shows the conversation, or the form that is open; what it does has its twin on ``state.conversation``.

    Attributes:
        view: The widget.
    """

    def __init__(self, state: WorkbenchState) -> None:
        self._state = state
        self._form: Form | None = None
        self._said = Said()
        self._counter = count(1)
        self.view = TreeView(self._act)

    def draw(self) -> None:
        """Show the conversation as it stands, or the form."""
        if self._form is None:
            self.view.show(panes.conversation(self._state, self._said))
        else:
            self.view.show(panes.form(self._form, self._said.taking("form")))

    def _act(self, message: dict[str, Any]) -> None:
        action = getattr(self, f"_do_{message['do']}", None)
        if action is not None:
            self._state.spawn(as_coroutine(action, message))

    # -- opening and leaving -----------------------------------------------------------------------------------------

    def _open(self, kind: str, fields: list[Field], **more: Any) -> None:
        number = next(self._counter)
        self._form = Form(kind, number, fields, count=len(self._state.messages), **more)
        self._said = Said(take=("form", number))
        self.draw()

    def _close(self, key: str, told: str = "") -> None:
        """Show the conversation again; the element of this key gets the keyboard."""
        self._form = None
        later = 0
        if key.startswith("m") and key[1:].isdigit() and int(key[1:]) >= len(self._state.seen):
            later = next(self._counter)
        self._said = Said(told, (key, next(self._counter)), later)
        self.draw()

    def _do_add(self, _message: dict[str, Any], at: int | None = None) -> None:
        before = self._state.messages[:at]
        role = "assistant" if before and before[-1]["role"] == "user" else "user"
        self._open("message", [Field("text", "", "text")], at=at, role=role)

    def _do_edit(self, message: dict[str, Any]) -> None:
        at, messages = message["at"], self._state.messages
        if 0 <= at < len(messages):
            old = messages[at]
            fields = [_field_of(block) for block in old["content"]] or [Field("text", "", "text")]
            self._open("message", fields, index=at, message=old, role=old["role"])

    def _do_paste(self, _message: dict[str, Any]) -> None:
        self._open("paste", [Field("text", "", "A conversation")])

    def _do_state(self, _message: dict[str, Any]) -> None:
        values = state_values(self._state.agent_state)
        self._open("state", [Field("json", _as_json({} if values is None else values) or "{}", "state")])

    def _do_cancel(self, _message: dict[str, Any]) -> None:
        if self._form is not None:
            kind, index = self._form.kind, self._form.index
            self._close(kind if kind != "message" else "add" if index is None else f"m{index}")

    # -- in the form -------------------------------------------------------------------------------------------------

    def _take(self, form: Form, values: Any) -> None:
        """Keep what is written in the form."""
        values = values if isinstance(values, dict) else {}
        form.role = str(values.get("role", form.role))
        for at, field in enumerate(form.fields):
            if field.kind != "kept":
                field.value = str(values.get(f"f{at}", field.value))

    def _do_block(self, message: dict[str, Any]) -> None:
        form = self._form
        if form is not None and message["kind"] in BLOCKS:
            self._take(form, message.get("values"))
            kind, value = BLOCKS[message["kind"]]
            form.fields.append(Field(kind, value, message["kind"]))
            self.draw()

    def _do_after(self, message: dict[str, Any]) -> None:
        form = self._form
        if form is not None and form.index is not None and self._saved(form, message):
            self._do_add(message, self._place(form) + 1)

    def _do_delete(self, _message: dict[str, Any]) -> None:
        form = self._form
        if form is not None and form.index is not None:
            try:
                index = self._place(form)
            except ConfigError as error:
                return self._fail(form, error)
            self._state.conversation.remove(index)
            left = len(self._state.messages)
            self._close(f"m{min(index, left - 1)}" if left else "add", f"Message {index + 1} is deleted.")
        return None

    def _do_save(self, message: dict[str, Any]) -> None:
        form = self._form
        if form is not None and self._saved(form, message):
            if form.kind == "message":
                assert form.index is not None
                self._close(f"m{form.index}")
            elif form.kind == "state":
                self._close("state")

    def _saved(self, form: Form, message: dict[str, Any]) -> bool:
        """Put what is written in force; where it cannot be, say so at its field and return False."""
        self._take(form, message.get("values"))
        try:
            getattr(self, f"_save_{form.kind}")(form)
        except ConfigError as error:
            self._fail(form, error)
            return False
        return True

    def _save_message(self, form: Form) -> None:
        content = blocks_of([(each.kind, each.block if _unchanged(each) else each.value) for each in form.fields])
        talk = self._state.conversation
        if form.index is None:
            form.index = talk.insert(content, form.at, form.role)
        else:
            form.index = self._place(form)
            talk.replace(form.index, content, form.role)
        form.message = self._state.messages[form.index]

    def _save_paste(self, form: Form) -> None:
        self._close("undo", f"Pasted: {self._state.conversation.take(form.fields[0].value)}.")

    def _save_state(self, form: Form) -> None:
        text = form.fields[0].value
        self._state.put(state=json_of("content[0]", text) if text.strip() else None)

    def _place(self, form: Form) -> int:
        """Return where the message that is edited stands by now."""
        for at, message in enumerate(self._state.messages):
            if message is form.message:
                return at
        raise ConfigError(
            "Conversation: this message was changed meanwhile, from a cell or by undo. Copy your text, and cancel.",
            key="index",
        )

    def _fail(self, form: Form, error: ConfigError) -> None:
        key = str(error.key)
        at = int(key[8:-1]) if key.startswith("content[") and key[8:-1].isdigit() else 0
        form.error = (str(error), min(at, len(form.fields) - 1))
        self._said = Said(take=("form", next(self._counter)))
        self.draw()

    # -- without a form ----------------------------------------------------------------------------------------------

    def _do_undo(self, _message: dict[str, Any]) -> None:
        if self._state.conversation.steps:
            self._state.conversation.go_back()
            self._said = Said("The messages are as before.", ("undo", next(self._counter)))
            self.draw()

    def _do_say(self, message: dict[str, Any]) -> None:
        if str(message.get("value", "")).strip():
            self._state.say(str(message["value"]))


def _field_of(block: dict[str, Any]) -> Field:
    """Return the field in which a block is edited."""
    kind = next(iter(block), "empty")
    is_text = set(block) == {"text"} and isinstance(block["text"], str)
    value = block["text"] if is_text else _as_json(block)
    if value is None:
        return Field("kept", "", f"{kind}: it holds what no text can show; it stays as it is", block)
    if len(value) > _EDITED_CHARACTERS:
        return Field("kept", "", titled(len(value), kind), block)
    name = block[kind].get("name") if isinstance(block[kind], dict) else None
    return Field("text" if is_text else "json", value, f"{kind} {name}" if name else kind, block)


def _as_json(value: Any) -> str | None:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None


def _unchanged(field: Field) -> bool:
    """Whether a field says what its block does, as a page can say it; then the block itself stays, to the byte."""
    if field.block is None:
        return False
    if field.kind == "kept":
        return True
    shown = field.block["text"] if field.kind == "text" else _as_json(field.block)
    return _on_a_page(field.value) == _on_a_page(shown or "")


def _on_a_page(text: str) -> str:
    return str(sendable(text)).replace("\r\n", "\n").replace("\r", "\n")
