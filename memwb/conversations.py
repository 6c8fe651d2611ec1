"""Conversations from elsewhere, as messages for a workbench, a replay or an evaluation; their tool calls are kept.

:func:`read` takes a list of messages as the Strands Agents SDK, OpenAI, Anthropic or a session store have them,
:func:`load` a file or a folder of the Strands SDK's sessions, :func:`from_session` a session out of a store.

A conversation is made of messages of the user and the assistant, so what has another role becomes one of them: the
results of tools are the user's, in one message for those of one answer; so is a summary, quoted, and a system message
in the midst. System messages at the start are instructions, not conversation: they are left out.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ._json import NotJsonError, loads
from ._text import shortened
from ._time import parse_stamp, stamp
from .catalog import is_session_store, time_of
from .errors import ConfigError, DamagedFileError
from .memory.messages import copied
from .memory.types import Message
from .sessions.messages import SUMMARY, context_message, plain
from .sessions.types import MemoryEntry

__all__ = ["from_session", "load", "read"]

_STRANDS = frozenset(
    "text toolUse toolResult image document video reasoningContent guardContent citationsContent cachePoint".split()
)
_RESULTS = frozenset({"tool", "function"})
_INSTRUCTIONS = frozenset({"system", "developer"})
_ROLES = frozenset({"user", "assistant", SUMMARY}) | _RESULTS | _INSTRUCTIONS
_READ = frozenset({"role", "content", "tool_calls", "tool_call_id", "refusal"})


def read(messages: Sequence[Any]) -> list[Message]:
    """Return messages of any form as message dicts that share nothing with them.

    Args:
        messages: Dicts or objects with role and content: the content a text, None or a list of blocks; with
            ``tool_calls`` or ``tool_call_id`` as OpenAI has them; ``tool_use`` and ``tool_result`` blocks as Anthropic
            has them; or the entries of a session. Keys beside these stay. A list of texts alone takes turns, and its
            last one is the user's.

    Raises:
        ConfigError: It is no such message; the error names it by its place, counted from 0, and its field.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        told = f"conversation: {messages!r:.80} is {type(messages).__name__}, not a list of messages."
        raise ConfigError(told, key="messages", value=messages)
    messages = list(messages)
    if messages and all(isinstance(each, str) for each in messages):
        roles = ("user", "assistant")
        messages = [{"role": roles[(len(messages) - at) % 2], "content": text} for at, text in enumerate(messages, 1)]
    found: list[Message] = []
    results = False  # whether the last message holds results of tools that more may join
    for at, given in enumerate(messages):
        message = _Given(at, given)
        if message.role in _INSTRUCTIONS and not found:
            continue
        content = message.blocks()
        if message.role in _RESULTS and results:
            found[-1]["content"] += content
            continue
        results = message.role in _RESULTS
        role = "assistant" if message.role == "assistant" else "user"
        found.append({"role": role, "content": content, **message.rest})
    return found


def load(path: str | os.PathLike[str], *, agent: str | None = None) -> list[Message]:
    """Return the conversation that a file or a folder holds; see :func:`read` for the forms.

    Args:
        path: A JSONL file with a message a line, a JSON file with a list of messages or an object that has them under
            ``messages``, or the folder of a session or an agent that the Strands SDK has written.
        agent: The agent's id, for a session of several agents.

    Raises:
        ConfigError: There is no such file, no conversation in it, or several agents'.
        DamagedFileError: The file cannot be read; the error names the line.
    """
    if not isinstance(path, str | os.PathLike):
        told = f"conversation: the path is {path!r:.80}; it must be a text or a Path."
        raise ConfigError(told, key="path", value=path)
    path = Path(path).expanduser()
    if path.is_dir():
        return _strands_session(path, agent)
    if not path.is_file():
        raise ConfigError(f"conversation: there is no file or folder {str(path)!r}.", key="path", value=str(path))
    if path.suffix == ".jsonl":
        return read([unpacked(line) for line in _lines(path)])
    value = _json_of(path, path.read_bytes())
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if not isinstance(value, list):
        raise ConfigError(
            f"conversation: {str(path)!r} holds neither a list of messages nor an object with 'messages'.",
            key="path",
            value=str(path),
        )
    return read([unpacked(item) for item in value])


async def from_session(store: Any, session_id: str = "default", user_id: str = "default") -> list[Message]:
    """Return a session as a conversation; each message tells its time, under ``created_at`` of its metadata.

    Args:
        store: A store of sessions, or a Memory.
        session_id: The session.
        user_id: Its user.

    Raises:
        ConfigError: It is no store of sessions.
    """
    if not (is_session_store(store) or hasattr(store, "get_context_messages")):
        raise ConfigError(f"conversation: {type(store).__name__} is no store of sessions.", key="store", value=store)
    return read(await store.get_entries(session_id, user_id))


class _Given:
    """A message as it was given: its role, its content as blocks, and what else it has."""

    def __init__(self, at: int, given: Any) -> None:
        self.at, self.given = at, given
        rest: dict[str, Any] = {}
        if _is_entry(given):
            entry = given if hasattr(given, "message_data") else MemoryEntry.from_dict(given)
            time = time_of(entry.created_at)
            rest = {"metadata": {"created_at": stamp(time)}} if time else {}
            given = context_message(entry)
            role: Any = entry.role if entry.role in _ROLES else "user"  # in a session any text may be a role
        elif isinstance(given, Mapping):
            rest = {key: copied(value) for key, value in given.items() if key not in _READ}
            role = given.get("role")
        else:
            role = getattr(given, "role", None)
            if role is None:
                self._refuse(None, f"is {type(given).__name__}, not a dict")
        if role not in _ROLES:
            self._refuse("role", f"has the role {role!r}; it must be 'user' or 'assistant'")
        self.role, self.rest, self._source = role, rest, given

    def blocks(self) -> list[dict[str, Any]]:
        content = self._field("content")
        calls, answered = self._field("tool_calls"), self._field("tool_call_id")
        if isinstance(content, str):
            content = [{"text": content}] if content or not (calls or self.role == "assistant") else []
        elif content is None and self.role == "assistant" and (calls or self._has("content")):
            content = []
        elif isinstance(content, list | tuple):
            content = [self._block(place, plain(block)) for place, block in enumerate(content)]
        else:
            self._refuse("content", "needs 'content': a text, or a list of blocks, such as [{'text': 'hello'}]")
        if self.role in _RESULTS:
            id = answered or self._field("name") or ""
            content = [{"toolResult": {"toolUseId": id, "status": "success", "content": content}}]
        return [*content, *(self._call(place, plain(call)) for place, call in enumerate(calls or ()))]

    def _has(self, name: str) -> bool:
        return name in self._source if isinstance(self._source, Mapping) else hasattr(self._source, name)

    def _field(self, name: str) -> Any:
        source = self._source
        return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)

    def _block(self, place: int, block: Any) -> dict[str, Any]:
        where = f"content[{place}]"
        if isinstance(block, str):
            return {"text": block}
        if not isinstance(block, Mapping):
            self._refuse(where, f"needs 'content' as a list of blocks; block {place} is {type(block).__name__}")
        kind = block.get("type")
        if kind is None and (len(block) == 1 or block.keys() & _STRANDS):
            kind = next((key for key in block if key in _STRANDS), next(iter(block)))
            if kind == "text":
                self._check_text(where, block["text"])
            return copied(dict(block))
        if not isinstance(kind, str):
            self._refuse(where, f"has the block {shortened(repr(block), 70)}, which has no kind")
        return self._typed(where, kind, block)

    def _typed(self, where: str, kind: str, block: Mapping[str, Any]) -> dict[str, Any]:
        """Return a block that tells its kind as ``type``, as OpenAI and Anthropic have them."""
        if kind in ("text", "input_text", "output_text"):
            self._check_text(where, block.get("text"))
            return {"text": block["text"]}
        if kind == "tool_use":
            use = {"toolUseId": block.get("id"), "name": block.get("name"), "input": copied(block.get("input"))}
            return {"toolUse": use}
        if kind == "tool_result":
            content = block.get("content")
            parts = [{"text": content}] if isinstance(content, str) else content or []
            results = [self._block(place, plain(part)) for place, part in enumerate(parts)]
            status = "error" if block.get("is_error") else "success"
            return {"toolResult": {"toolUseId": block.get("tool_use_id"), "status": status, "content": results}}
        if kind == "thinking":
            thought = {"text": block.get("thinking", ""), "signature": block.get("signature")}
            return {
                "reasoningContent": {"reasoningText": {key: each for key, each in thought.items() if each is not None}}
            }
        return {kind: {key: copied(each) for key, each in block.items() if key != "type"}}

    def _check_text(self, where: str, text: Any) -> None:
        if not isinstance(text, str):
            self._refuse(where, f"has a text block that holds {type(text).__name__}, not text")

    def _call(self, place: int, call: Any) -> dict[str, Any]:
        if isinstance(call, str):
            return {"toolUse": {"toolUseId": call, "name": "", "input": {}}}
        if not isinstance(call, Mapping):
            self._refuse(f"tool_calls[{place}]", f"has the tool call {call!r:.60}, which is no dict")
        inner = call.get("function")
        inner = inner if isinstance(inner, Mapping) else call
        given = inner.get("arguments", inner.get("input"))
        if isinstance(given, str):
            with suppress(ValueError):  # a model may write what is no JSON: that is what it called the tool with
                given = json.loads(given) if given.strip() else {}
        return {"toolUse": {"toolUseId": call.get("id") or "", "name": inner.get("name") or "", "input": copied(given)}}

    def _refuse(self, field: str | None, fault: str) -> Any:
        place = f" ({field})" if field and field not in fault else ""
        raise ConfigError(f"conversation: message {self.at}{place} {fault}.", key="messages", value=self.given)


def _is_entry(value: Any) -> bool:
    if isinstance(value, Mapping):
        return "memory_id" in value and "session_id" in value
    return hasattr(value, "message_data") and hasattr(value, "session_id")


# -- files -------------------------------------------------------------------------------------------------------------


def _lines(path: Path) -> list[Any]:
    lines = path.read_bytes().split(b"\n")
    return [_json_of(path, line, at) for at, line in enumerate(lines, 1) if line.strip(b" \t\r\xef\xbb\xbf")]


def _json_of(path: Path, data: bytes, line: int | None = None) -> Any:
    try:
        return loads(data)
    except NotJsonError as error:
        place = error.place if line is None else f"line {line}"
        raise DamagedFileError(path, place, error.cause, prefix="conversation: ") from error


def _strands_session(folder: Path, agent: str | None) -> list[Message]:
    messages = folder / "messages"
    if not messages.is_dir():
        agents = {each.name.removeprefix("agent_"): each for each in sorted((folder / "agents").glob("agent_*"))}
        if agent is None and len(agents) == 1:
            agent = next(iter(agents))
        if agent not in agents:
            told = (
                f"give agent=, one of {', '.join(map(repr, agents))}" if agents else "it has no agents/agent_*/messages"
            )
            raise ConfigError(
                f"conversation: {str(folder)!r} is no session of one agent that the Strands SDK has written; {told}.",
                key="agent" if agents else "path",
                value=agent,
                allowed=tuple(agents),
            )
        messages = agents[agent] / "messages"
    numbered = {path.stem.removeprefix("message_"): path for path in messages.glob("message_*.json")}
    paths = [numbered[number] for number in sorted((each for each in numbered if each.isdigit()), key=int)]
    return read([unpacked(_json_of(path, path.read_bytes())) for path in paths])


def unpacked(item: Any) -> Any:
    """Return the message in a line or file of a Strands session; what is none as it is."""
    if not isinstance(item, Mapping) or not isinstance(item.get("message"), Mapping) or "role" in item:
        return item
    message = dict(_with_bytes(item.get("redact_message") or item["message"]))
    try:
        time = stamp(parse_stamp(item["created_at"]))
    except (KeyError, TypeError, ValueError):
        return message
    return {**message, "metadata": {**(message.get("metadata") or {}), "created_at": time}}


def _with_bytes(value: Any) -> Any:
    if isinstance(value, Mapping):
        if value.get("__bytes_encoded__") is True and isinstance(value.get("data"), str):
            return base64.b64decode(value["data"])
        return {key: _with_bytes(each) for key, each in value.items()}
    return [_with_bytes(each) for each in value] if isinstance(value, list) else value
