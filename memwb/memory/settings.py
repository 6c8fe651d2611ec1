"""Turns the settings that a user writes into settings that are known to be good.

Each shorthand (``True``, ``None``, a dict) is read here and nowhere else. What would only lose or hide something
in silence - an unknown key, a misspelt trigger, a limit below 1, an async callback - is refused here, when it is set.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import ConfigError, nearest
from .types import InjectionFormatCallback, InjectionQueryCallback, MemoryInjectionConfig, Placement, TriggerPredicate

DEFAULT_MAX_ENTRIES = 5
"""Entries injected where the settings do not say (Strands' default)."""

DEFAULT_MAX_SEARCH_RESULTS = 3
"""Entries a manager asks of a store where neither the caller nor the store says (Strands' default)."""

TRIGGERS = ("userTurn", "everyTurn")
PLACEMENTS = ("prepend", "append")
CALLBACKS = ("query", "format", "trigger")
INJECTION_KEYS = ("max_entries", "trigger", "query", "format", "placement")


@dataclass(frozen=True)
class Injection:
    """A checked :class:`~memwb.memory.MemoryInjectionConfig` with every default filled in."""

    max_entries: int = DEFAULT_MAX_ENTRIES
    trigger: str | TriggerPredicate = "userTurn"
    query: InjectionQueryCallback | None = None
    format: InjectionFormatCallback | None = None
    placement: Placement = "prepend"

    def config(self) -> MemoryInjectionConfig:
        """Return the settings in the form that a manager takes; callbacks appear where they are set."""
        config: dict[str, Any] = {
            "max_entries": self.max_entries,
            "trigger": self.trigger,
            "placement": self.placement,
        }
        config.update({key: getattr(self, key) for key in ("query", "format") if getattr(self, key) is not None})
        return config  # type: ignore[return-value]


def resolve_injection(value: object, *, prefix: str = "MemoryManager: ") -> Injection | None:
    """Read ``injection=``: True or a config (``{}`` included) is on, False or None is off.

    Raises:
        ConfigError: An unknown key, or a value that its key does not take.
    """
    if value is None or value is False:
        return None
    if value is True:
        return Injection()
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"{prefix}injection must be True, False or a dict of settings, not {value!r}.",
            key="injection",
            value=value,
        )
    refuse_unknown(value, INJECTION_KEYS, f"{prefix}injection")
    given = {key: check_injection_value(key, item, prefix) for key, item in value.items() if item is not None}
    return Injection(**given)


def check_injection_value(key: str, value: Any, prefix: str = "MemoryManager: ") -> Any:
    """Return ``value`` when the injection setting ``key`` takes it, else raise :class:`ConfigError`."""
    if key == "max_entries":
        return at_least_one(value, f"{prefix}injection key 'max_entries'", key)
    if key in ("query", "format"):
        return sync_callable(value, f"{prefix}injection key {key!r}", key)
    names = TRIGGERS if key == "trigger" else PLACEMENTS
    if key == "trigger" and not isinstance(value, str):
        return sync_callable(value, f"{prefix}injection key 'trigger'", key, f", or one of {', '.join(names)}")
    if value not in names:
        hint = nearest(value, names) if isinstance(value, str) else ""
        also = " or a function of the context" if key == "trigger" else ""
        raise ConfigError(
            f"{prefix}injection key {key!r} is {value!r}; it takes {' or '.join(map(repr, names))}{also}.{hint}",
            key=key,
            value=value,
            allowed=names,
        )
    return value


def refuse_unknown(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Raise :class:`ConfigError` for the first key of ``given`` that is not among ``known``."""
    for key in given:
        if key not in known:
            raise ConfigError(
                f"{where} has no key {key!r}; the keys are {', '.join(known)}.{nearest(str(key), known)}",
                key=str(key),
                value=given[key],
                allowed=known,
            )


def checked_options(given: Any, known: tuple[str, ...], where: str) -> Mapping[str, Any]:
    """Return the options of a call, which may be left out, else raise :class:`ConfigError`: they are a dict."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        keys = " and ".join(map(repr, known))
        raise ConfigError(
            f"{where}: options must be a dict (it may have {keys}) or None, not {given!r:.80}.",
            key="options",
            value=given,
            allowed=known,
        )
    refuse_unknown(given, known, where)
    return given


def checked_query(query: Any, where: str) -> str:
    """Return what is searched for, else raise :class:`ConfigError`: it is a text."""
    if not isinstance(query, str):
        raise ConfigError(f"{where}query must be a text, not {query!r:.80}.", key="query", value=query)
    return query


def at_least_one(value: Any, what: str, key: str) -> int:
    """Return an int of at least 1 that a list can count to, else raise :class:`ConfigError` (bool is no int here)."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"{what} is {value!r}; it must be a whole number, at least 1.", key=key, value=value)
    if value > sys.maxsize:
        raise ConfigError(f"{what} is {value:.3g}; more than {sys.maxsize:,} cannot be counted.", key=key, value=value)
    return value


def sync_callable(value: Any, what: str, key: str, also: str = "") -> Any:
    """Return a callable that is not async, else raise :class:`ConfigError`.

    Strands calls these callbacks without awaiting them: an async query never injects there, an async trigger always
    fires, and an async format stops the agent's call.
    """
    if not callable(value):
        raise ConfigError(f"{what} is {value!r}; it must be a function of the context{also}.", key=key, value=value)
    inner = _unwrapped(value)
    if _is_async(inner) or _is_async(type(inner).__call__):
        name = getattr(inner, "__name__", type(inner).__name__)
        raise ConfigError(
            f"{what} is the async function {name!r}; callbacks are called without await. Write it with plain 'def'.",
            key=key,
            value=value,
        )
    return value


def checked_review(value: Any) -> Any:
    """Return a manager's ``review``, else raise :class:`ConfigError`: None, or an async function."""
    inner = _unwrapped(value)
    if value is None or (callable(inner) and (_is_async(inner) or _is_async(type(inner).__call__))):
        return value
    raise ConfigError(
        f"MemoryManager: review is {value!r:.80}; it must be None or an async function that is given the proposed "
        "facts and returns those to write: async def review(proposed): return proposed.facts",
        key="review",
        value=value,
    )


def _unwrapped(value: Any) -> Any:
    while isinstance(value, partial):
        value = value.func
    return value


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
