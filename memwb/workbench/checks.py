"""The settings of a workbench as a person writes them, read into settings that are known to be good."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from .._json import NotJsonError, dumps, loads
from .._text import counted, quoted, shortened
from ..errors import ConfigError, nearest
from ..memory import MemoryManager
from ..memory.messages import copied
from ..memory.settings import INJECTION_KEYS, Injection, at_least_one, check_injection_value, resolve_injection
from ..memory.suggestions import TOKENIZERS, tokenizer_named
from ..tokens import checked_counter
from .source import Source, read_messages
from .timeline import said_at

if TYPE_CHECKING:
    from ..memory import Message
    from ..ranking import Tokenizer

SETTINGS = tuple(
    "max_entries trigger query format placement stores tokenizer token_counter call messages injection state".split()
)

_CALLS_TOLD = 5
"""So many calls of a conversation are named where another one was asked for."""


def checked_setting(source: Source, key: str, value: Any) -> Any:
    """Return what ``value`` means for the setting ``key``; None means what the source has.

    Raises:
        ConfigError: There is no such setting, or it does not take the value.
    """
    if key not in SETTINGS:
        raise ConfigError(
            f"Workbench: unknown setting {key!r}; the settings are {', '.join(SETTINGS)}.{nearest(key, SETTINGS)}",
            key=key,
            value=value,
            allowed=SETTINGS,
        )
    if key == "injection":
        return resolved(source, source.injection if value is None else value)
    if key == "messages":
        return source.messages if value is None else read_messages(value)
    if key == "state":
        return source.state if value is None else checked_state(source, value)
    if key == "stores":
        return _checked_stores([store.name for store in source.stores], value)
    if key == "tokenizer":
        return None if value is None else _checked_tokenizer(source, value)
    if key == "token_counter":
        return checked_counter(value, "Workbench: ")
    if key == "placement" and value is None:
        return source.placement or Injection().placement
    assert key in INJECTION_KEYS
    return getattr(Injection(), key) if value is None else check_injection_value(key, value, "Workbench: ")


def resolved(source: Source, given: Any) -> Injection | None:
    """Read an injection setting; where it says no placement, the source's SDK does."""
    settings = resolve_injection(given, prefix="Workbench: ")
    if settings and source.placement and not (isinstance(given, dict) and given.get("placement")):
        return replace(settings, placement=source.placement)
    return settings


def checked_call(value: Any, messages: Sequence[Message], ends: Sequence[int]) -> int:
    """Return a model call's number, from 1; None means the last one.

    Args:
        value: What was given.
        messages: The conversation.
        ends: How many of its messages each model call sees.
    """
    if value is None:
        return len(ends)
    if type(value) is int and abs(value) <= sys.maxsize and not 1 <= value <= len(ends):
        raise ConfigError(
            f"Workbench: call is {value}; this conversation has {counted(len(ends), 'model call')}"
            f"{_calls_told(messages, ends)}.",
            key="call",
            value=value,
            allowed=tuple(map(str, range(1, len(ends) + 1))),
        )
    return at_least_one(value, "Workbench: call", "call")


def _calls_told(messages: Sequence[Message], ends: Sequence[int]) -> str:
    """Name what the calls answer, of many the last ones."""
    if not ends:
        return ": there is no message of the user yet"
    told = [f"call {number} answers {quoted(said_at(messages[:end]), 40)}" for number, end in enumerate(ends, 1)]
    left_out = "…, " if len(told) > _CALLS_TOLD else ""
    return f": {left_out}{', '.join(told[-_CALLS_TOLD:])}"


def checked_state(source: Source, value: Any) -> Any:
    """Return a copy of the state that trigger predicates see, in the form that the source's agent has it."""
    if not isinstance(value, dict):
        _refuse_state(value, "it must be a dict, such as {'visits': 3}")
    try:
        kept = loads(dumps([value]))
    except NotJsonError as error:
        _refuse_state(value, f"an agent keeps its state as JSON, which cannot hold it: {error}")
    if kept != [value]:
        _refuse_state(value, f"an agent keeps its state as JSON, which would make it {shortened(repr(kept[0]), 80)}")
    plain = source.state is None or isinstance(source.state, dict)
    return copied(value) if plain else type(source.state)(copied(value))


def state_values(state: Any) -> dict[str, Any] | None:
    """Return the values of an agent's state, which the SDK keeps behind ``get``."""
    values = state.get() if hasattr(state, "get") and not isinstance(state, dict) else state
    return values if isinstance(values, dict) else None


def _refuse_state(value: Any, fault: str) -> NoReturn:
    raise ConfigError(f"Workbench: state is {shortened(repr(value), 80)}; {fault}.", key="state", value=value)


def checked_time_limit(value: Any) -> float:
    """Return seconds above 0."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= threading.TIMEOUT_MAX:
        raise ConfigError(
            f"Workbench: time_limit is {value!r}; it must be a number of seconds above 0.",
            key="time_limit",
            value=value,
        )
    return float(value)


def checked_expected(value: Any) -> tuple[str, ...]:
    """Return the ids or texts of the entries that should arrive."""
    given = (value,) if isinstance(value, str) else value
    items = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(item, str) and item.strip() for item in items):
        raise ConfigError(
            f"Workbench: expected is {value!r}; it must be ids or texts of entries, none of them blank.",
            key="expected",
            value=value,
        )
    return items


def check_stores(source: Source) -> None:
    """Refuse stores that do not go together, in a manager's own words; what a Strands agent holds, it has taken."""
    if source.placement is None:
        MemoryManager(source.stores, search_tool_config=False)


def _checked_tokenizer(source: Source, value: Any) -> Tokenizer:
    """Return the tokenizer with which the stores are searched that take one."""
    if isinstance(value, str) and value in TOKENIZERS:
        tokenizer = tokenizer_named(value)
    elif not isinstance(value, str) and callable(value):
        tokenizer = value
    else:
        names = ", ".join(TOKENIZERS)
        raise ConfigError(
            f"Workbench: tokenizer is {value!r:.80}; it is one of {names}, a function from a text to its tokens, or "
            f"None for each store's own.{nearest(str(value), tuple(TOKENIZERS))}",
            key="tokenizer",
            value=value,
            allowed=tuple(TOKENIZERS),
        )
    if not any(hasattr(store, "with_tokenizer") for store in source.stores):
        raise ConfigError(
            "Workbench: no store here takes a tokenizer: they rank by a way of their own.", key="tokenizer", value=value
        )
    return tokenizer


def _checked_stores(known: list[str], value: Any) -> tuple[str, ...]:
    if value is None:
        return tuple(known)
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Iterable):
        raise ConfigError(
            f"Workbench: stores must be names of stores, in order, not {value!r}.", key="stores", value=value
        )
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            raise ConfigError(
                f"Workbench: no store {name!r}; the stores are {', '.join(known)}.{nearest(str(name), known)}",
                key="stores",
                value=name,
                allowed=known,
            )
    if not chosen:
        raise ConfigError(
            "Workbench: stores is empty; name at least one store, or give None for all.", key="stores", value=[]
        )
    return chosen
