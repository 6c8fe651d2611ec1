"""A labelled case: a conversation, and the entries that its next model call should be given."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .._text import counted
from ..errors import ConfigError
from ..memory.types import Message

_T = TypeVar("_T")


class _Copied(Generic[_T]):
    """A field that is copied on its way in and on its way out, so that no caller can change what the case holds."""

    def __init__(self, *default: _T) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, case: object | None, owner: type | None = None) -> _T:
        if case is not None:
            held: _T = copy.deepcopy(case.__dict__[self.name])
            return held
        if not self.default:
            raise AttributeError(self.name)  # tells the dataclass that the field has no default
        return self.default[0]

    def __set__(self, case: object, value: _T) -> None:
        case.__dict__[self.name] = copy.deepcopy(value)


@dataclass(frozen=True, repr=False)
class Case:
    """One turn of a conversation, and the entries that it needs.

    What is handed out is a copy: changing ``case.messages`` changes no case.

    Attributes:
        id: Names the case in reports; unique within one evaluation.
        messages: The conversation before the model call, as message dicts; never empty.
        expected: The entries that the call should be given, by id or by text (blanks around it do not count), which
            outlives ids where memories are extracted anew; empty for a turn that needs no memory.
        owner: Whose memories are searched, or None where there is one store for all.
        category: What kind of case it is, for figures by kind.
        metadata: Anything else that is known of the case.

    Raises:
        ConfigError: A field has the wrong form; the message names the case and the field, ``key`` holds the field.
    """

    id: str
    messages: _Copied[list[Message]] = _Copied()
    expected: tuple[str, ...] = ()
    owner: str | None = None
    category: str | None = None
    metadata: _Copied[dict[str, Any] | None] = _Copied(None)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise ConfigError(f"A case's id must be a text, not {self.id!r}.", key="id", value=self.id)
        _check_messages(self)
        _check_expected(self)
        for field in ("owner", "category"):
            value = getattr(self, field)
            if value is not None and not isinstance(value, str):
                raise _fault(self.id, field, value, "must be a text or None")
        metadata = self.__dict__["metadata"]
        if metadata is not None and not isinstance(metadata, dict):
            raise _fault(self.id, "metadata", metadata, "must be a dict or None")

    def __hash__(self) -> int:
        return hash((self.id, self.owner, self.expected))

    def __repr__(self) -> str:
        wants = counted(len(self.expected), "entry", "entries") if self.expected else "no entry"
        parts = [counted(len(self.__dict__["messages"]), "message"), f"expects {wants}"]
        parts += [f"owner {self.owner!r}"] if self.owner is not None else []
        parts += [f"category {self.category!r}"] if self.category is not None else []
        return f"Case({self.id!r}: {', '.join(parts)})"


def _check_messages(case: Case) -> None:
    messages = case.__dict__["messages"]
    if not isinstance(messages, list) or not messages:
        raise _fault(case.id, "messages", messages, "must be a list of at least one message dict")
    for at, message in enumerate(messages):
        form = isinstance(message, dict) and isinstance(message.get("content"), list)
        if not form or message.get("role") not in ("user", "assistant"):
            ask = 'must be a dict like {"role": "user" or "assistant", "content": [{"text": "..."}]}'
            raise _fault(case.id, f"messages[{at}]", message, ask)
        for place, block in enumerate(message["content"]):
            if not isinstance(block, dict) or not isinstance(block.get("text", ""), str):
                ask = 'must be a block like {"text": "..."}'
                raise _fault(case.id, f"messages[{at}]['content'][{place}]", block, ask)


def _check_expected(case: Case) -> None:
    expected = case.expected
    if isinstance(expected, str) or not isinstance(expected, (list, tuple)):
        raise _fault(case.id, "expected", expected, "must be a list of ids; [] says that the turn needs none")
    for at, item in enumerate(expected):
        if not isinstance(item, str) or not item.strip():
            raise _fault(case.id, f"expected[{at}]", item, "must be an id (or, for a store without ids, a text)")
        if item in expected[:at]:
            raise _fault(case.id, f"expected[{at}]", item, "is listed twice; each entry counts once")
    object.__setattr__(case, "expected", tuple(expected))


def _fault(case: str, field: str, value: object, ask: str) -> ConfigError:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:79]}…"
    return ConfigError(f"Case {case!r}: {field} is {shown}; it {ask}.", key=field, value=value)
