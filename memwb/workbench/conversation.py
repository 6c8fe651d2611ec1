"""The conversation of a workbench as a person edits it: messages added, changed, removed and pasted, and undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from .. import conversations
from .._json import NotJsonError, loads
from .._text import counted, shortened
from ..errors import ConfigError
from ..memory.messages import copied, model_calls
from ..memory.types import Message
from .pasting import Pasted, recognise

if TYPE_CHECKING:
    from ..memory import InjectionTrace
    from .state import WorkbenchState

STEPS = 100
"""So many changes can be undone; what the workbench opened with is always ``await wb.set(messages=None)``."""

ROLES = ("user", "assistant")


@dataclass(frozen=True)
class Moment:
    """A conversation, the call that is chosen in it, and what is expected at which call."""

    messages: list[Message]
    call: int
    expected: tuple[str, ...]
    expected_at: int


@dataclass(frozen=True)
class Doubt:
    """Something about a message that a provider's API would refuse; the workbench goes on with it.

    Attributes:
        index: Of the message, from 0.
        text: A sentence.
    """

    index: int
    text: str


class Conversation:
    """Edits the conversation of a workbench; the messages of its source, such as an agent's history, never change.

    Each change keeps the model call that is chosen where it was in the conversation. A message of the user that is
    added at the end opens the call that answers it.
    """

    def __init__(self, bench: WorkbenchState) -> None:
        self._bench = bench
        self._past: list[Moment] = []

    @property
    def messages(self) -> list[Message]:
        """A copy of all messages, those after the chosen call included."""
        return copied(self._bench.messages)

    @property
    def steps(self) -> int:
        """How many changes :meth:`undo` can take back."""
        return len(self._past)

    @property
    def doubts(self) -> list[Doubt]:
        """Tool calls without a result, and results without a call, in the order of the messages."""
        return doubts_of(self._bench.messages)

    # -- in a cell ---------------------------------------------------------------------------------------------------

    async def add(self, message: Any, at: int | None = None, role: str = "user") -> InjectionTrace:
        """Add a message and return the fresh trace.

        Args:
            message: Its text, its blocks in a list, or a message in any form that ``memwb.conversations.read`` takes.
            at: The index of the message before which it comes; default at the end.
            role: Who says it, where ``message`` does not tell: ``"user"`` or ``"assistant"``.

        Raises:
            ConfigError: It is no message, or there is no such place; nothing was changed.
        """
        self.insert(message, at, role)
        return await self._fresh()

    async def edit(self, index: int, message: Any = None, role: str | None = None) -> InjectionTrace:
        """Change a message and return the fresh trace.

        Args:
            index: Of the message, from 0; negative from the end.
            message: Its new text, which takes the place of its text blocks while others stay; or its blocks in a list;
                or a whole message. Default: as it is.
            role: Who says it; default as it is.

        Raises:
            ConfigError: It is no message, or there is none at this index; nothing was changed.
        """
        self.replace(index, message, role)
        return await self._fresh()

    async def delete(self, index: int) -> InjectionTrace:
        """Remove the message at an index, from 0, negative from the end, and return the fresh trace.

        Raises:
            ConfigError: There is none; nothing was changed.
        """
        self.remove(index)
        return await self._fresh()

    async def paste(self, text: str) -> Pasted:
        """Put a conversation that was copied elsewhere in the place of this one, and return what it was recognised as.

        Args:
            text: See :func:`memwb.workbench.pasting.recognise`.

        Raises:
            ConfigError: It cannot be read; the error names line and reason, and nothing was changed.
        """
        pasted = self.take(text)
        await self._bench.settled()
        return pasted

    async def undo(self) -> InjectionTrace:
        """Take back the last change of the messages, ``wb.set(messages=...)`` and ``wb.say`` included.

        Raises:
            ConfigError: There is nothing to take back.
        """
        self.go_back()
        return await self._fresh()

    async def _fresh(self) -> InjectionTrace:
        await self._bench.settled()
        return self._bench.trace

    # -- without waiting for the refresh, as the page does it --------------------------------------------------------

    def insert(self, message: Any, at: int | None = None, role: str = "user") -> int:
        """Do what :meth:`add` does and return the new message's index."""
        old = self._bench.messages
        place = len(old) if at is None else self._checked(at, len(old))
        self._change([*old[:place], message_of(message, role), *old[place:]], place, 1)
        return place

    def replace(self, index: int, message: Any = None, role: str | None = None) -> None:
        """Do what :meth:`edit` does."""
        old = self._bench.messages
        place = self._checked(index, len(old) - 1)
        self._change([*old[:place], edited(old[place], message, role), *old[place + 1 :]], place, 0)

    def remove(self, index: int) -> None:
        """Do what :meth:`delete` does."""
        old = self._bench.messages
        place = self._checked(index, len(old) - 1)
        self._change([*old[:place], *old[place + 1 :]], place, -1)

    def take(self, text: str) -> Pasted:
        """Do what :meth:`paste` does."""
        pasted = recognise(text)
        self.remember()
        self._bench.return_to(Moment(pasted.messages, len(model_calls(pasted.messages)), (), 0))
        return pasted

    def go_back(self) -> None:
        """Do what :meth:`undo` does."""
        if not self._past:
            raise ConfigError("Conversation: there is no change to undo.", key="undo")
        self._bench.return_to(self._past.pop())

    def remember(self) -> None:
        """Keep the conversation as it stands, to be brought back by :meth:`undo`: what follows changes it."""
        self._past.append(self._bench.moment())
        del self._past[:-STEPS]

    def _change(self, messages: list[Message], place: int, grown: int) -> None:
        """Put messages in force that differ at ``place``; chosen call and expectation stay at their messages."""
        before = self._bench.moment()
        self.remember()
        at_end = grown == 1 and place == len(messages) - 1 and messages[place]["role"] == "user"
        calls = [_moved(before.messages, call, messages, place, grown) for call in (before.call, before.expected_at)]
        call = len(model_calls(messages)) if at_end else calls[0]
        self._bench.return_to(Moment(messages, call, before.expected, calls[1]))

    def _checked(self, index: Any, last: int) -> int:
        count = len(self._bench.messages)
        if not isinstance(index, int) or isinstance(index, bool) or not -count <= index <= last:
            allowed = f"indexes are 0 to {last}" if last >= 0 else "there is no message yet"
            raise ConfigError(
                f"Conversation: there is no message {index!r}; {allowed}, and negative ones count from the end.",
                key="index",
                value=index,
            )
        return index if index >= 0 else count + index

    def __repr__(self) -> str:
        messages = self._bench.messages
        calls = sum("toolUse" in block for message in messages for block in message["content"])
        parts = [counted(len(messages), "message") + (f", {counted(calls, 'tool call')}" if calls else "")]
        ends = len(model_calls(messages))
        parts.append(f"model call {self._bench.call} of {ends}" if ends else "no model call")
        parts += [counted(len(self.doubts), "doubt")] if self.doubts else []
        parts += [f"{counted(self.steps, 'change')} can be undone"] if self._past else []
        return f"Conversation({'; '.join(parts)})"


def _moved(before: list[Message], call: int, after: list[Message], place: int, grown: int) -> int:
    """Return which call of a changed conversation stands where ``call`` stood: the same one, else the next one.

    A call is at home at the last message that its model sees. Where that one is gone and the user's message before it
    ends the same turn now, that is its place.
    """
    ends = model_calls(before)
    home = ends[call - 1] - 1 if 0 < call <= len(ends) else len(before) - 1
    if place < home or (grown > 0 and place == home):
        home += grown
    home = min(home, len(after) - 1)
    if home > 0 and after[home]["role"] != "user" and after[home - 1]["role"] == "user":
        home -= 1
    ends = model_calls(after)
    return next((number for number, end in enumerate(ends, 1) if end > home), len(ends))


# -- one message -------------------------------------------------------------------------------------------------------


def message_of(given: Any, role: str = "user") -> Message:
    """Return a message that shares nothing with what was given: a text, blocks in a list, or a whole message.

    Raises:
        ConfigError: It is none of these.
    """
    if role not in ROLES:
        _refuse("role", role, f"the role is {shortened(repr(role), 60)}; it must be 'user' or 'assistant'")
    if isinstance(given, str | list | tuple):
        given = {"role": role, "content": given}
    if given is None:
        _refuse("message", None, "the message is None; give its text, its blocks in a list, or a message")
    read = conversations.read([given])
    if not read:
        _refuse("message", given, "it is a system message; instructions are no part of a conversation")
    return read[0]


def edited(old: Message, given: Any, role: str | None) -> Message:
    """Return a message as :meth:`Conversation.edit` changes it."""
    role = old["role"] if role is None else role
    rest = {key: value for key, value in old.items() if key not in ("role", "content")}
    if given is None:
        given = old["content"]
    elif isinstance(given, str):
        at = next((at for at, block in enumerate(old["content"]) if "text" in block), len(old["content"]))
        others = [block for block in old["content"] if "text" not in block]
        given = [*others[:at], {"text": given}, *others[at:]]
    if isinstance(given, Mapping):
        return message_of(given, role)
    return {**rest, **message_of(given, role)}


def blocks_of(fields: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks that a person wrote into the fields of a message: ``("text", "hello")``, ``("json", "{...}")``.

    A blank field is no block; a block in place of a text stays as it is.

    Raises:
        ConfigError: A field holds no block; ``key`` is ``content[N]``, counting the fields from 0.
    """
    blocks = []
    for at, (kind, value) in enumerate(fields):
        if isinstance(value, dict):
            blocks.append(value)
            continue
        if not value.strip():
            continue
        blocks.append({"text": value} if kind == "text" else _block(f"content[{at}]", value))
    if not blocks:
        _refuse("content[0]", fields, "there is nothing in this message; write something, or delete it")
    return blocks


def _block(key: str, text: str) -> dict[str, Any]:
    value = json_of(key, text)
    if not isinstance(value, dict) or len(value) != 1:
        _refuse(key, text, 'a block is an object with one kind as its key, such as {"toolUse": {...}}')
    ((kind, held),) = value.items()
    needed = {"toolUse": ("toolUseId", "name", "input"), "toolResult": ("toolUseId", "content")}.get(kind, ())
    missing = [name for name in needed if not isinstance(held, dict) or name not in held]
    if missing:
        _refuse(key, text, f"{kind} needs {' and '.join(map(repr, missing))}")
    if kind == "toolResult" and not isinstance(held["content"], list):
        _refuse(key, text, 'the content of a toolResult is a list of blocks, such as [{"text": "19 EUR"}]')
    message_of([value])
    return value


def json_of(key: str, text: str) -> Any:
    """Read JSON that a person typed.

    Raises:
        ConfigError: It is none; the error names the place and the reason.
    """
    try:
        return loads(text.encode("utf-8", "surrogatepass"))
    except NotJsonError as error:
        _refuse(key, text, f"this is no JSON: {error}")


def doubts_of(messages: Sequence[Message]) -> list[Doubt]:
    """Return the tool calls without a result, and the results without a call."""
    calls: dict[Any, tuple[int, str]] = {}
    found = []
    for at, message in enumerate(messages):
        for block in message["content"]:
            use, result = block.get("toolUse"), block.get("toolResult")
            if isinstance(use, dict):
                calls[_id(use)] = (at, str(use.get("name")))
            if isinstance(result, dict) and calls.pop(_id(result), None) is None:
                found.append(Doubt(at, f"the result {_id(result)} has no tool call before it"))
    found += [Doubt(at, f"the call of {name!r} ({id}) has no result after it") for id, (at, name) in calls.items()]
    return sorted(found, key=lambda doubt: doubt.index)


def _id(part: Mapping[str, Any]) -> str:
    return shortened(repr(part.get("toolUseId")), 60)


def _refuse(key: str, value: Any, fault: str) -> NoReturn:
    raise ConfigError(f"Conversation: {fault}.", key=key, value=value)
