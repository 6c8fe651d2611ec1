"""Reading a conversation: texts, turns, model calls, and copies that share nothing that can change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from .._text import shortened
from ..errors import ConfigError
from .types import Message

_Value = TypeVar("_Value")


def text(message: Message) -> str:
    """Return the message's text: its text blocks joined by a line break, stripped; ``""`` without any."""
    return "\n".join(block["text"] for block in message["content"] if "text" in block).strip()


def has_tool_result(message: Message) -> bool:
    """Whether the message answers a tool call."""
    return any("toolResult" in block for block in message["content"])


def check_messages(messages: Sequence[Message]) -> None:
    """Refuse what is no conversation, naming the message: other SDKs' messages have a text as their content.

    Raises:
        ConfigError: A message is no dict, has no role, or its content is no list of dicts.
    """
    for at, message in enumerate(messages):
        content = message.get("content") if isinstance(message, dict) else None
        if (
            not isinstance(content, list)
            or "role" not in message
            or not all(isinstance(block, dict) for block in content)
        ):
            raise ConfigError(
                f"message {at} is {shortened(repr(message), 70)}; a message has a role and its blocks in a list, "
                "such as {'role': 'user', 'content': [{'text': 'hello'}]}",
                key="messages",
                value=message,
            )


def check_conversation(messages: Any) -> None:
    """Refuse what is no list at all; its messages are looked at by :func:`check_messages`, where they are used."""
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise ConfigError(
            f"messages must be a list of messages, such as [{{'role': 'user', 'content': [{{'text': 'hello'}}]}}], "
            f"not {messages!r:.80}",
            key="messages",
            value=messages,
        )


def is_user_turn(messages: Sequence[Message]) -> bool:
    """Whether the last message is a user's own words: role ``user`` and no tool result in it."""
    return bool(messages) and messages[-1]["role"] == "user" and not has_tool_result(messages[-1])


def latest(messages: Sequence[Message], role: str) -> Message | None:
    """Return the last message of a role, or None."""
    return next((message for message in reversed(messages) if message["role"] == role), None)


def latest_index(messages: Sequence[Message], role: str) -> int | None:
    """Return the position of the last message of a role, or None."""
    return next((at for at in range(len(messages) - 1, -1, -1) if messages[at]["role"] == role), None)


def model_calls(messages: Sequence[Message]) -> list[int]:
    """Return how many messages the model sees at each of its calls, in order.

    A model is called when the conversation has come to the end of a run of user messages (a user's words or tool
    results), so a call inside a tool loop counts like any other. A conversation without a user message has none.
    """
    ends = []
    for at, message in enumerate(messages):
        followed = at + 1 < len(messages) and messages[at + 1]["role"] == "user"
        if message["role"] == "user" and not followed:
            ends.append(at + 1)
    return ends


def copied(value: _Value) -> _Value:
    """Copy dicts and lists all the way down; everything else (texts, numbers, bytes, foreign objects) is shared."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}  # type: ignore[return-value]
    if isinstance(value, list):
        return [copied(item) for item in value]  # type: ignore[return-value]
    return value


def fold(messages: Sequence[Message], block: str, placement: str) -> list[Message] | None:
    """Return the conversation with ``block`` as a new text block of its last user message, or None without one.

    The list and the message that changed are new; the other messages are the caller's own.

    - ``"prepend"`` (Strands 1.48): the block comes first, but last where the message holds a tool result, which
      providers want to see first.
    - ``"append"`` (Strands 1.54 and later): always last, set off by an empty line from text that stands before it.
    """
    at = latest_index(messages, "user")
    if at is None:
        return None
    target = messages[at]
    content: list[dict[str, Any]] = list(target["content"])
    if placement == "append":
        after_text = any("text" in part for part in content) and not block.startswith("\n")
        content.append({"text": f"\n\n{block}" if after_text else block})
    elif has_tool_result(target):
        content.append({"text": block})
    else:
        content.insert(0, {"text": block})
    folded = {"role": target["role"], "content": content}
    if "metadata" in target:
        folded["metadata"] = target["metadata"]
    return [*messages[:at], folded, *messages[at + 1 :]]
