"""A conversation out of whatever was copied somewhere else, told by looking at it: JSON, JSONL or plain lines."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from .. import conversations
from .._json import NotJsonError, loads
from .._text import counted
from ..errors import ConfigError
from ..memory.types import Message
from .source import read_messages

_LOOKS_LIKE_DATA = re.compile(r"""\s*(?:\[\s*[\[{"'\]]|\{\s*["'}])""")
_SPEAKERS = {
    **dict.fromkeys(("user", "human", "you"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "chatgpt", "claude"), "assistant"),
    "system": "system",
}
_SPEAKER = re.compile(rf"\s*[*_]*({'|'.join(_SPEAKERS)})(?: said)?[*_]*\s*:[*_]*(?:\s+|$)(.*)", re.IGNORECASE)
_FENCE = re.compile(r"\A\s*```\w*[ \t]*$|^[ \t]*```\s*\Z", re.MULTILINE)
_OPENAI = frozenset({"tool_calls", "tool_call_id", "refusal"})
_OF_MESSAGE = frozenset({"role", "content", "message", "memory_id", "type"})
_OPENAI_ROLES = frozenset({"system", "developer", "tool", "function"})
_BLOCKS = {
    **dict.fromkeys(("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"), "Anthropic"),
    **dict.fromkeys(("input_text", "output_text", "image_url", "input_audio", "refusal", "file"), "OpenAI"),
}


@dataclass(frozen=True, repr=False)
class Pasted:
    """What a pasted text was recognised as.

    Attributes:
        form: ``"Strands list"``, ``"OpenAI list"``, ``"Anthropic list"``, ``"lines of a dialogue"``, ``"one text"``...
        messages: The conversation in it.
        left_out: How many messages at its start are instructions (system messages), which are no conversation.
    """

    form: str
    messages: list[Message]
    left_out: int = 0

    @property
    def tool_calls(self) -> int:
        """How many calls of tools it holds."""
        return sum("toolUse" in block for message in self.messages for block in message["content"])

    def __str__(self) -> str:
        parts = [f"{self.form}, {counted(len(self.messages), 'message')}"]
        if self.tool_calls:
            parts.append(counted(self.tool_calls, "tool call"))
        if self.left_out:
            parts.append(f"{counted(self.left_out, 'system message')} at the start left out")
        return ", ".join(parts)

    def __repr__(self) -> str:
        return f"Pasted({self})"


def recognise(text: Any) -> Pasted:
    """Read a conversation out of a text.

    Args:
        text: A list of messages as the Strands Agents SDK, OpenAI or Anthropic have them, or an object that holds one
            under ``messages``, in JSON or as Python prints it; the input and output items of OpenAI's newer API; JSONL
            with a message a line; lines that begin with ``User:`` and ``Assistant:``; or any other text, which is then
            one message of the user. Fences of Markdown around it do not count.

    Raises:
        ConfigError: It begins like data and is none that can be read; the error names the line and the reason.
    """
    if not isinstance(text, str) or not text.strip():
        given = "empty" if isinstance(text, str) else type(text).__name__
        _refuse(text, f"the text is {given}; paste a list of messages, lines such as 'User: hello', or a text")
    text = _FENCE.sub("", text.lstrip("\ufeff")) or text
    if not _LOOKS_LIKE_DATA.match(text):
        return _plain(text)
    form, items, begins = _data(text)
    if items and all(isinstance(item, str) for item in items):
        return Pasted("list of texts", read_messages(items))
    unpacked = [_of_responses(conversations.unpacked(item)) for item in items]
    try:
        messages = conversations.read(unpacked)
    except ConfigError as error:
        reason = str(error).removeprefix("conversation: ").removesuffix(".")
        _refuse(text, f"{_line_of(text, unpacked, begins, error)}{reason}")
    if not messages:
        _refuse(text, "there is no message of the user or the assistant in it")
    return Pasted(f"{_kind(items)} {form}", messages, _instructions(items))


# -- data --------------------------------------------------------------------------------------------------------------


def _data(text: str) -> tuple[str, list[Any], list[int]]:
    """Return the form of a text that holds data, the items in it, and for JSONL the line of each."""
    try:
        return "list", _items(text, _loads(text)), []
    except NotJsonError as error:
        fault = error
    numbered = [(at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(numbered) > 1 and _is_json(numbered[0][1]):
        return "JSONL", [_of_line(text, at, line) for at, line in numbered], [at for at, _ in numbered]
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        _refuse(text, f"{fault.place or 'the text'}: it begins like JSON, but {fault.cause}")
    return "list", _items(text, value), []


def _loads(text: str) -> Any:
    try:
        return loads(text.encode())
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise NotJsonError(f"line {line}", "there is half of a character pair (a lone surrogate)") from None


def _is_json(line: str) -> bool:
    try:
        return isinstance(_loads(line), Mapping)
    except NotJsonError:
        return False


def _of_line(text: str, at: int, line: str) -> Any:
    try:
        return _loads(line)
    except NotJsonError as error:
        _refuse(text, f"line {at}: {error.cause}")


def _items(text: str, value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        held = next((value[key] for key in ("messages", "input", "output") if isinstance(value.get(key), list)), None)
        if held is None and not value.keys() & _OF_MESSAGE:
            keys = ", ".join(map(repr, list(value)[:5]))
            _refuse(
                text, f"it is an object with {keys}; a message has 'role' and 'content', a list is under 'messages'"
            )
        value = [value] if held is None else held
    if not isinstance(value, list) or not value:
        _refuse(text, "the list is empty" if value == [] else f"it holds {type(value).__name__}, no list of messages")
    return value


def _line_of(text: str, items: Sequence[Any], lines: Sequence[int], error: ConfigError) -> str:
    """Return ``"line 7: "`` for the message that an error is about; ``""`` where that cannot be known."""
    at = next((at for at, item in enumerate(items) if item is error.value), None)
    if at is None:
        return ""
    begins = lines or _beginnings(text)
    return f"line {begins[at]}: " if at < len(begins) else ""


def _beginnings(text: str) -> list[int]:
    """Return the lines at which the items of a JSON list begin; of any other text none."""
    return list(_scan(text)) if text.lstrip().startswith("[") else []


def _scan(text: str) -> Iterator[int]:
    decoder, blank = json.JSONDecoder(), re.compile(r"[\s,]*")
    at = text.index("[") + 1
    while True:
        at = blank.match(text, at).end()  # type: ignore[union-attr]
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield text.count("\n", 0, at) + 1
        at = end


def _of_responses(item: Any) -> Any:
    """Return an item of OpenAI's newer API, where calls and results stand beside the messages, as a message."""
    kind = item.get("type") if isinstance(item, Mapping) and "role" not in item else None
    if kind == "function_call":
        return {"role": "assistant", "content": None, "tool_calls": [{**item, "id": item.get("call_id")}]}
    if kind == "function_call_output":
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
    return item


def _kind(items: Sequence[Any]) -> str:
    """Return whose messages these are, as far as they tell."""
    found = {kind for item in items if isinstance(item, Mapping) for kind in _signs(item)}
    if len(found) == 1:
        return found.pop()
    return "mixed" if found else "OpenAI or Anthropic"


def _signs(item: Mapping[str, Any]) -> Iterator[str]:
    if "memory_id" in item:
        yield "session"
        return
    message = conversations.unpacked(item)
    if message is not item:
        yield "Strands session"
        return
    if (
        message.keys() & _OPENAI
        or message.get("type") in ("function_call", "function_call_output")
        or message.get("role") in _OPENAI_ROLES
    ):
        yield "OpenAI"
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping):
            kind = block.get("type")
            if kind is None:
                yield "Strands"
            elif kind in _BLOCKS:
                yield _BLOCKS[kind]


def _instructions(items: Sequence[Any]) -> int:
    roles = [item.get("role") if isinstance(item, Mapping) else None for item in items]
    return next((at for at, role in enumerate(roles) if role not in ("system", "developer")), len(roles))


# -- plain text --------------------------------------------------------------------------------------------------------


def _plain(text: str) -> Pasted:
    spoken: list[tuple[str, list[str]]] = []
    for line in text.strip().split("\n"):
        speaker = _SPEAKER.match(line)
        if speaker:
            spoken.append((_SPEAKERS[speaker[1].lower()], [speaker[2]]))
        elif not spoken:
            return Pasted("one text", read_messages(text.strip()))
        else:
            spoken[-1][1].append(line)
    said = [{"role": role, "content": "\n".join(lines).strip()} for role, lines in spoken]
    said = [message for message in said if message["content"]]
    messages = conversations.read(said)
    if not messages:
        _refuse(text, "there is no message of the user or the assistant in it")
    return Pasted("lines of a dialogue", messages, _instructions(said))


def _refuse(text: Any, fault: str) -> NoReturn:
    raise ConfigError(f"Paste: {fault}. Nothing was changed.", key="text", value=text)
