"""Reads memory out of the Strands Agents SDK, 1.48 to the newest, without changing anything in it.

Reading goes by attributes and imports no SDK. The one exception is an installed SDK that does not tell its version:
then its own code is asked where it puts a block.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import ConfigError
from ...memory.messages import copied
from ...memory.settings import INJECTION_KEYS, check_injection_value, refuse_unknown
from ...memory.types import MemoryInjectionConfig, Message, Placement
from .listing import file_of, is_test_store
from .plugin import StrandsPlugin

PACKAGE = "strands-agents"
APPENDS_SINCE = (1, 54)
"""The first release that puts the block behind the user's words instead of before them."""

SETS_APART = ((1, 54), (1, 58))
"""From which to which release an appended block is set off by an empty line from a tool's result or a picture too."""

MANAGER_NAME = "strands:memory-manager"

MARK = "records_for_memwb"
"""The attribute of a handler that only records."""


@dataclass(frozen=True)
class Reading:
    """What was read.

    Attributes:
        stores: The stores themselves, in their order.
        injection: True, False or a config: what a memwb manager needs in order to inject what the agent injects.
        messages: A copy of the agent's conversation; empty for a manager.
        placement: Where the installed SDK puts the block.
        label: What was read, in a few words.
        notes: Sentences about what a reader would not expect, such as a setting that the SDK ignores.
        state: A copy of the agent's state, which a trigger predicate sees; None for a manager.
        agent: The agent itself, which a trigger predicate sees too; None for a manager.
        plugin: memwb's plugin where that is the agent's memory, else None.
    """

    stores: tuple[Any, ...]
    injection: bool | MemoryInjectionConfig
    messages: list[Message] = field(default_factory=list)
    placement: Placement = "prepend"
    label: str = ""
    notes: tuple[str, ...] = ()
    state: Any = None
    agent: Any = None
    plugin: StrandsPlugin | None = None


def is_strands(value: Any) -> bool:
    """Whether ``value`` is an object of the SDK or of a class derived from one, or a config for its memory manager."""
    if isinstance(value, Mapping):
        return "stores" in value
    return any(owner.__module__.split(".")[0] == "strands" for owner in type(value).__mro__)


def read(source: Any) -> Reading:
    """Read a Strands Agent, its MemoryManager, or a config dict for one.

    Raises:
        ConfigError: The agent has no memory manager, or ``source`` is none of these.
    """
    if isinstance(source, Mapping) and "stores" in source:
        return _reading(source["stores"], _shorthand(source.get("injection", True)), "Strands MemoryManagerConfig")
    if _is_manager(source):
        return _reading(source._stores, source._injection_config, "Strands MemoryManager")
    if not hasattr(source, "messages") or not hasattr(source, "_plugin_registry"):
        raise ConfigError(
            f"bridge.strands: cannot read {type(source).__name__} {source!r:.80}. Give a Strands Agent, a Strands "
            "MemoryManager or a dict with 'stores'.",
            key="source",
            value=source,
        )
    return _read_agent(source)


def placement() -> Placement:
    """Return where the installed SDK puts the block; ``"prepend"``, the documented place, where none is installed."""
    release = installed()
    if release is None:
        return _probed()
    return "append" if release >= APPENDS_SINCE else "prepend"


def installed() -> tuple[int, int] | None:
    """Return the installed release; None without one, and for a checkout without a release's number."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        numbers = re.match(r"(\d+)\.(\d+)", version(PACKAGE))
    except PackageNotFoundError:
        return None
    return (int(numbers[1]), int(numbers[2])) if numbers is not None and int(numbers[1]) else None


def _probed() -> Placement:
    """Fold a block into a message with the SDK's own code, and see where it went."""
    try:
        from strands.injection._message_injection import _fold_into_last_user_message
    except ImportError:
        return "prepend"
    folded = _fold_into_last_user_message([{"role": "user", "content": [{"text": "words"}]}], "block")
    messages = folded[0] if isinstance(folded, tuple) else folded
    return "append" if messages[0]["content"][0]["text"] == "words" else "prepend"


def _is_manager(value: Any) -> bool:
    return hasattr(value, "_stores") and hasattr(value, "_injection_config")


def manager_of(source: Any) -> Any:
    """Return an agent's memory manager or the plugin in its place, None without one; a manager is its own."""
    if _is_manager(source):
        return source
    plugins: Mapping[str, Any] = getattr(getattr(source, "_plugin_registry", None), "_plugins", {})
    return getattr(source, "memory_manager", None) or plugins.get(MANAGER_NAME)


def _read_agent(agent: Any) -> Reading:
    manager = manager_of(agent)
    name = getattr(agent, "name", None)
    label = f"Strands Agent {name!r}" if name and name != "Strands Agents" else "Strands Agent"
    if isinstance(manager, StrandsPlugin):
        return _read_plugin(agent, manager, label)
    if not _is_manager(manager):
        raise ConfigError(
            f"bridge.strands: this {label} has no memory manager, so nothing is injected into its prompts. Build it "
            "with Agent(memory_manager=MemoryManager(stores=[...])), or give your stores and agent.messages.",
            key="source",
            value=agent,
        )
    reading = _reading(manager._stores, manager._injection_config, label, copied(list(agent.messages)))
    return _of_agent(reading, agent, manager._injection_config is not False)


def _read_plugin(agent: Any, plugin: StrandsPlugin, label: str) -> Reading:
    """Read an agent with memwb's memory: its manager says where the block goes, whatever the SDK does."""
    manager = plugin.manager
    injection = manager.injection
    reading = Reading(
        stores=manager.stores,
        injection=injection or False,
        messages=copied(list(agent.messages)),
        placement=injection.get("placement", "prepend") if injection else placement(),
        label=label,
        plugin=plugin,
    )
    return _of_agent(reading, agent, injection is not None)


def _of_agent(reading: Reading, agent: Any, injects: bool) -> Reading:
    """Add what an agent has beside its memory."""
    reading = replace(reading, state=copy.deepcopy(getattr(agent, "state", None)), agent=agent)
    others = _other_handlers(agent, injects)
    if not others:
        return reading
    note = (
        f"the agent has {others} more {'handler' if others == 1 else 'handlers'} that can change the messages before a "
        "model call; the preview shows the memory manager's part alone"
    )
    return replace(reading, notes=(*reading.notes, note))


def _other_handlers(agent: Any, injects: bool) -> int:
    """Count the handlers before the model call that are not the memory manager's."""
    stages: Mapping[Any, Sequence[Any]] = getattr(getattr(agent, "_middleware_registry", None), "_handlers", {})
    handlers = [
        handler
        for stage, registered in stages.items()
        if getattr(stage, "name", "") == "invokeModel"
        for handler in registered
        if getattr(handler, "phase", "") != "output" and not getattr(getattr(handler, "handler", None), MARK, False)
    ]
    return max(0, len(handlers) - injects)


def _reading(stores: Sequence[Any], injection: Any, label: str, messages: list[Message] | None = None) -> Reading:
    setting, notes = _equivalent(injection)
    return Reading(
        stores=tuple(stores),
        injection=setting,
        messages=messages or [],
        placement=placement(),
        label=label,
        notes=(*notes, *_shared_files(stores), *_set_apart(setting)),
    )


def _set_apart(setting: Any) -> list[str]:
    """Tell of the one way in which some releases write the block that memwb does not."""
    release = installed()
    if setting is False or release is None or not SETS_APART[0] <= release <= SETS_APART[1]:
        return []
    name = ".".join(map(str, release))
    return [
        f"strands-agents {name} begins the block with an empty line in a message without text too, such as a tool's "
        "result; the preview does so after text alone, like 1.59 and later"
    ]


def _shorthand(setting: Any) -> Any:
    """Read ``injection=`` as the SDK does: a dict counts even when it is empty, anything else by its truth."""
    return setting if isinstance(setting, Mapping) else {} if setting else False


def _equivalent(config: Any) -> tuple[bool | MemoryInjectionConfig, list[str]]:
    """Return the setting with which memwb injects what the SDK injects with ``config``, and what is odd about that.

    The SDK takes whatever it is given: it ignores a key that it does not know, and with a value that it cannot use it
    injects nothing, without a word.
    """
    if config is False:
        return False, []
    given: dict[str, Any] = {}
    notes: list[str] = []
    for key, value in config.items():
        if value is None:
            continue
        if key == "placement":  # memwb's own key
            if value != placement():
                notes.append(f"the agent ignores the placement {value!r}: its SDK does {placement()!r}")
            continue
        fault = _fault(key, value)
        if fault is None:
            given[key] = value
        elif key not in INJECTION_KEYS:
            notes.append(f"the agent ignores a setting: {fault}")
        elif key == "max_entries" and value is True:
            given[key] = 1
        elif key == "trigger" and callable(value):
            given[key] = "everyTurn"
            notes.append(f"the agent injects at every turn: {fault}")
        else:
            breaks = key == "format" and callable(value)
            effect = "breaks off its call as soon as an entry is found" if breaks else "injects nothing"
            return False, [*notes, f"the agent {effect}: {fault}"]
    return (given or True), notes  # type: ignore[return-value]


def _fault(key: Any, value: Any) -> str | None:
    """Return what memwb has against a setting, or None."""
    try:
        refuse_unknown({key: value}, INJECTION_KEYS, "injection")
        check_injection_value(key, value, "")
    except ConfigError as error:
        return str(error)
    return None


def _shared_files(stores: Sequence[Any]) -> list[str]:
    """Tell of stores that share a file; the SDK lets them, and each then finds what the other was given."""
    names: dict[str, list[str]] = {}
    for store in stores:
        if is_test_store(store) and (path := file_of(store)) is not None:
            names.setdefault(os.path.realpath(path), []).append(store.name)
    return [
        f"the stores {' and '.join(map(repr, sharing))} share the file {path}: each finds what the other holds"
        for path, sharing in names.items()
        if len(sharing) > 1
    ]
