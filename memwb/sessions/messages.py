"""What passes through session memory: messages of any form on the way in, one form on the way out, tool calls kept.

An entry's ``message_data`` holds what its ``content`` cannot: ``{"role", "content"}`` with ``tool_calls`` (a list, in
the form in which it came) or ``tool_call_id``, and ``content`` as a list of blocks where the message had one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._json import NotJsonError, check_metadata
from .._redact import fields_shown
from .._text import shortened
from ..errors import ConfigError
from .types import MemoryEntry

SUMMARY = "summary"
"""The role of an entry that stands for others."""


@dataclass
class ContextMessage:
    """One message of a session, ready for a model.

    Attributes:
        role: ``user``, ``assistant``, ``tool`` or ``system``.
        content: Its text, or its blocks where it was added with a list of them.
        tool_calls: The calls that it makes, in the form in which they were added; None without any.
        tool_call_id: The call that it answers; None where it answers none.
    """

    role: str
    content: Any = ""
    tool_calls: list[Any] | None = None
    tool_call_id: str | None = None

    def __repr__(self) -> str:
        return fields_shown(self, "content", "tool_calls")

    def to_dict(self) -> dict[str, Any]:
        """Return it as a dict; what it does not have is left out."""
        data = {"role": self.role, "content": self.content}
        if self.tool_calls is not None:
            data["tool_calls"] = self.tool_calls
        if self.tool_call_id is not None:
            data["tool_call_id"] = self.tool_call_id
        return data


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool, whatever form it came in.

    Attributes:
        id: Its id, "" where it has none.
        name: The tool's name, "" where it is not told.
        arguments: The arguments; as text they are JSON.
    """

    id: str
    name: str = ""
    arguments: Any = None

    def __str__(self) -> str:
        arguments = self.arguments
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False, default=repr)
        return f"{self.name or self.id}({arguments})"


def message_parts(message: Any, session_id: str, user_id: str) -> dict[str, Any]:
    """Return the fields of the entry that holds a message: an object or a dict with role and content.

    Raises:
        ConfigError: It has no role, a content that is neither text, None nor a list, or holds what JSON cannot; the
            error names the field.
    """
    role, content = _field(message, "role"), _field(message, "content")
    calls, answered = _field(message, "tool_calls"), _field(message, "tool_call_id")
    if not isinstance(role, str) or not role:
        _refuse(message, "role", f"its role is {role!r}; a message is an object or a dict with role and content")
    if not (content is None or isinstance(content, str | list | tuple)):
        _refuse(message, "content", f"its content is {type(content).__name__}, not a text or a list of blocks")
    if not (answered is None or isinstance(answered, str)):
        _refuse(message, "tool_call_id", f"its tool_call_id is {answered!r}, not a text")
    if calls and not isinstance(calls, list | tuple):
        _refuse(message, "tool_calls", f"its tool_calls is {calls!r:.80}, not a list")
    text = content if isinstance(content, str) else text_of(content or ())
    data: dict[str, Any] = {}
    if calls:
        data["tool_calls"] = [plain(call) for call in calls]
    if answered:
        data["tool_call_id"] = answered
    if content and not isinstance(content, str):
        data["content"] = [plain(block) for block in content]
    if data:
        data = {"role": role, "content": text, **data}
        try:
            data = check_metadata(data, "message")
        except NotJsonError as error:
            raise ConfigError(f"Memory: {error}.", key="message", value=message) from error
    return {
        "session_id": session_id,
        "user_id": user_id,
        "role": role,
        "content": text,
        "message_data": data or None,
    }


def _field(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _refuse(message: Any, key: str, fault: str) -> None:
    raise ConfigError(f"Memory: {shortened(repr(message), 80)} cannot be added: {fault}.", key=key, value=message)


def plain(value: Any) -> Any:
    """Return an SDK's object as the dict that it stands for; anything else as it is."""
    if value is None or isinstance(value, str | int | float | Mapping | list | tuple):
        return value
    for name in ("model_dump", "to_dict", "dict"):
        dump = getattr(value, name, None)
        if callable(dump):
            return dump()
    return dict(vars(value)) if hasattr(value, "__dict__") else value


def text_of(blocks: Sequence[Any]) -> str:
    """Return the text of a list of blocks: texts, and what tools returned, joined by line breaks."""
    return "\n".join(text for block in blocks for text in _texts(plain(block)))


def _texts(block: Any) -> list[str]:
    if isinstance(block, str):
        return [block]
    if not isinstance(block, Mapping):
        return []
    if isinstance(block.get("text"), str):
        return [block["text"]]
    if "json" in block and len(block) == 1:
        return [json.dumps(block["json"], ensure_ascii=False, default=repr)]
    inner = block.get("toolResult", block if block.get("type") == "tool_result" else None)
    if not isinstance(inner, Mapping):
        return []
    content = inner.get("content")
    if isinstance(content, str):
        return [content]
    return [text for part in content or () for text in _texts(plain(part))] if isinstance(content, list) else []


def with_content(entry: MemoryEntry, content: str) -> dict[str, Any] | None:
    """Return the message data of an entry whose content becomes another text: its calls and ids stay."""
    data = entry.message_data
    if not data or "content" not in data:
        return data
    if not isinstance(data["content"], list):
        return {**data, "content": content}
    others = [block for block in data["content"] if not (isinstance(block, str) or "text" in block)]
    if any(_texts(block) for block in others):  # what a tool returned was part of the text
        raise ConfigError(
            "Memory: this entry holds what a tool returned, in blocks of its own; it cannot be replaced by one text. "
            "Delete it, or add another.",
            key="content",
            value=content,
        )
    return {**data, "content": [{"text": content}, *others]}


def calls(entry: MemoryEntry) -> list[ToolCall]:
    """Return the tool calls that an entry makes, in order."""
    data = entry.message_data or {}
    found = [_call(call) for call in data.get("tool_calls") or ()]
    for block in _blocks(data):
        inner = block.get("toolUse", block if block.get("type") == "tool_use" else None)
        if isinstance(inner, Mapping):
            id = inner.get("toolUseId", inner.get("id"))
            found.append(ToolCall(str(id or ""), str(inner.get("name") or ""), inner.get("input")))
    return found


def _call(call: Any) -> ToolCall:
    if not isinstance(call, Mapping):
        return ToolCall(str(call))
    inner = call.get("function")
    inner = inner if isinstance(inner, Mapping) else call
    arguments = inner.get("arguments", inner.get("input"))
    return ToolCall(str(call.get("id") or call.get("toolUseId") or ""), str(inner.get("name") or ""), arguments)


def results(entry: MemoryEntry) -> list[str]:
    """Return the ids of the calls that an entry answers; "" for one whose id is not told."""
    data = entry.message_data or {}
    if isinstance(data.get("tool_call_id"), str) and data["tool_call_id"]:
        return [data["tool_call_id"]]
    found = []
    for block in _blocks(data):
        inner = block.get("toolResult", block if block.get("type") == "tool_result" else None)
        if isinstance(inner, Mapping):
            found.append(str(inner.get("toolUseId", inner.get("tool_use_id")) or ""))
    return found or ([""] if entry.role == "tool" else [])


def _blocks(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = data.get("content")
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def context_message(entry: MemoryEntry) -> ContextMessage:
    """Return an entry as a model gets it.

    A summary is a system message that quotes it, since it was made from what users and tools said. The text
    stands between ``<summary>`` and ``</summary>``, with & < > escaped, so that nothing in it can end the quotation.
    """
    if entry.role == SUMMARY:
        from html import escape

        quoted = escape(entry.content, quote=False)
        return ContextMessage("system", f"The conversation so far, summarised:\n<summary>\n{quoted}\n</summary>")
    data = entry.message_data or {}
    content = data["content"] if isinstance(data.get("content"), list) else entry.content
    return ContextMessage(entry.role, content, data.get("tool_calls"), data.get("tool_call_id"))
