"""What of a conversation the SDK hands to a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...memory.messages import copied
from ...memory.types import Message

BLANK = "[blank text]"
BAD_NAME = "INVALID_TOOL_NAME"

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_\-]+$")
_LONGEST_NAME = 64


def sent(messages: Sequence[Message]) -> list[Message]:
    """Return copies of messages as the SDK hands them to a model.

    Role and content are left, without the SDK's own keys (``metadata``, ``tracking_id``). An assistant's blank text is
    replaced, or left out beside a tool call, and so is a tool name that no provider takes.
    """
    return [{"role": message["role"], "content": _content(message)} for message in messages]


def _content(message: Message) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = copied(message["content"])
    if message["role"] != "assistant":
        return content
    calls = [block["toolUse"] for block in content if "toolUse" in block]
    for call in calls:
        name = str(call.get("name", ""))
        if not _TOOL_NAME.match(name) or len(name) > _LONGEST_NAME:
            call["name"] = BAD_NAME
    if calls:
        return [block for block in content if not _is_blank(block)]
    return [{**block, "text": BLANK} if _is_blank(block) else block for block in content] or [{"text": BLANK}]


def _is_blank(block: dict[str, Any]) -> bool:
    return "text" in block and not str(block["text"] or "").strip()
