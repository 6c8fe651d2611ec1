"""The memory tools that a model can call, without any SDK."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .._text import visible
from ..errors import AggregateMemoryError, ConfigError, nearest
from .settings import refuse_unknown
from .types import MemoryAddToolConfig, MemoryToolConfig

if TYPE_CHECKING:
    from .manager import MemoryManager

_log = logging.getLogger("memwb.memory")

Provider = Literal["bedrock", "openai", "anthropic"]
PROVIDERS = ("bedrock", "openai", "anthropic")

SEARCH_DESCRIPTION = (
    "Look up what is remembered about the user and earlier conversations: facts, preferences, decisions. "
    "Call it when an answer may depend on something that was said before."
)
ADD_DESCRIPTION = (
    "Remember facts, preferences or decisions for later conversations. "
    "Call it when the user says something that will still matter another day; write one statement an entry."
)

_TEXTS = {"type": "array", "items": {"type": "string"}}
_JSON_TYPES: dict[str, type | tuple[type, ...]] = {"string": str, "integer": int, "array": list}


@dataclass(frozen=True)
class MemoryTool:
    """A tool: what the model is told of it, and an async call.

    Attributes:
        name: The name under which the model calls it.
        description: What the model is told it does.
        input_schema: JSON Schema of its arguments.
        run: The function behind it.
        stores: Names of the stores that it may use.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Callable[..., Awaitable[Any]]
    stores: tuple[str, ...] = ()

    async def __call__(self, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
        """Call the tool with a dict of arguments, as a model gives them, or with keyword arguments.

        Raises:
            ConfigError: An argument is missing, unknown or of the wrong type.
            Exception: What the tool itself raises.
        """
        given = {**(arguments or {}), **named}
        self._check(given)
        return await self.run(**given)

    def spec(self, provider: Provider) -> dict[str, Any]:
        """Return the tool's description in the form that a provider's API takes.

        Raises:
            ConfigError: The provider is none of ``bedrock``, ``openai``, ``anthropic``.
        """
        if provider == "bedrock":
            schema = {"json": self.input_schema}
            return {"toolSpec": {"name": self.name, "description": self.description, "inputSchema": schema}}
        if provider == "openai":
            function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
            return {"type": "function", "function": function}
        if provider == "anthropic":
            return {"name": self.name, "description": self.description, "input_schema": self.input_schema}
        raise ConfigError(
            f"No form of tool specs is known for {provider!r}; there are {', '.join(PROVIDERS)}."
            + nearest(str(provider), PROVIDERS),
            key="provider",
            value=provider,
            allowed=PROVIDERS,
        )

    def _check(self, given: Mapping[str, Any]) -> None:
        known = self.input_schema["properties"]
        for name in given:
            if name not in known:
                raise ConfigError(
                    f"{self.name}: unknown argument {name!r}; it takes {', '.join(known)}.{nearest(name, known)}",
                    key=name,
                    value=given[name],
                    allowed=tuple(known),
                )
        for name in self.input_schema["required"]:
            if given.get(name) is None:
                raise ConfigError(f"{self.name}: the argument {name!r} is missing.", key=name)
        for name, value in given.items():
            if value is not None:
                self._check_type(name, value, known[name])

    def _check_type(self, name: str, value: Any, schema: Mapping[str, Any]) -> None:
        fits = isinstance(value, _JSON_TYPES[schema["type"]]) and not isinstance(value, bool)
        if fits and schema["type"] == "array":
            fits = all(isinstance(item, str) for item in value)
        if not fits:
            expected = "a list of texts" if schema["type"] == "array" else f"of type {schema['type']}"
            raise ConfigError(
                f"{self.name}: the argument {name!r} must be {expected}, not {value!r}.", key=name, value=value
            )


def search_tool(manager: MemoryManager, config: MemoryToolConfig) -> MemoryTool:
    """Build ``search_memory`` over all stores of the manager."""
    names = [store.name for store in manager.stores]

    async def search_memory(
        query: str, max_search_results: int | None = None, stores: list[str] | None = None
    ) -> list[dict[str, Any]]:
        found = await manager.search(
            query, {"stores": in_scope("search_memory", names, stores), "max_search_results": max_search_results}
        )
        return [_payload(entry.content, entry.store_name, entry.metadata) for entry in found]

    properties = {
        "query": {"type": "string", "description": "What to look for."},
        "max_search_results": {"type": "integer", "minimum": 1, "description": "The most entries from each store."},
        "stores": {**_TEXTS, "description": "Names of the stores to search; leave out to search all."},
    }
    return MemoryTool(
        config.get("name") or "search_memory",
        _described(config.get("description", SEARCH_DESCRIPTION), manager.stores, "search"),
        {"type": "object", "properties": properties, "required": ["query"]},
        search_memory,
        tuple(names),
    )


def add_tool(manager: MemoryManager, config: MemoryAddToolConfig, stores: Sequence[Any]) -> MemoryTool:
    """Build ``add_memory`` over ``stores``, which all have ``add``."""
    names = [store.name for store in stores]
    wait = config.get("wait_for_writes", True)

    async def add_memory(entries: list[str], stores: list[str] | None = None) -> dict[str, int]:
        if not entries:
            raise ConfigError("MemoryManager: add_memory needs at least one entry; 'entries' is empty.", key="entries")
        targets = in_scope("add_memory", names, stores)
        if not wait:
            for content in entries:
                manager.accept_write(content, targets)
            return {"accepted": len(entries)}
        await _add_all(manager, entries, targets)
        return {"stored": len(entries)}

    properties = {
        "entries": {**_TEXTS, "minItems": 1, "description": "The statements to remember, one an item."},
        "stores": {**_TEXTS, "description": "Names of the stores to write to; leave out to write to all."},
    }
    return MemoryTool(
        config.get("name") or "add_memory",
        _described(config.get("description", ADD_DESCRIPTION), stores, "write to"),
        {"type": "object", "properties": properties, "required": ["entries"]},
        add_memory,
        tuple(names),
    )


async def _add_all(manager: MemoryManager, entries: Sequence[str], targets: list[str]) -> None:
    import asyncio

    outcomes = await asyncio.gather(
        *(manager.add(content, {"stores": targets}) for content in entries), return_exceptions=True
    )
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if failures:
        causes = [cause for failure in failures for cause in _leaves(failure)]
        stores = [name for failure in failures for name in getattr(failure, "stores", ())]
        raise AggregateMemoryError(
            f"MemoryManager: {len(failures)} of {len(entries)} entries could not be stored: "
            + "; ".join(map(str, causes)),
            causes,
            list(dict.fromkeys(stores)),
        )


def _leaves(failure: BaseException) -> list[BaseException]:
    """Return the causes inside an aggregate of failures, however deep; a plain failure is its own cause."""
    causes = getattr(failure, "errors", None)
    if not isinstance(causes, list) or not causes:
        return [failure]
    return [leaf for cause in causes for leaf in _leaves(cause)]


def in_scope(tool: str, names: list[str], requested: Sequence[str] | None) -> list[str]:
    """Return the stores a tool call means: all in scope for None or an empty list, else the known ones of those named.

    Raises:
        ConfigError: None of the names is in scope.
    """
    if not requested:
        return list(names)
    known = [name for name in requested if name in names]
    unknown = [name for name in requested if name not in names]
    if not known:
        raise ConfigError(
            f"MemoryManager: {tool} cannot use {', '.join(map(repr, unknown))}; "
            f"the stores it may use are {', '.join(map(repr, names))}.{nearest(unknown[0], names)}",
            key="stores",
            value=list(requested),
            allowed=names,
        )
    if unknown:
        _log.warning("%s: stores %s are out of the tool's scope and ignored", tool, unknown)
    return known


def _described(description: str, stores: Sequence[Any], verb: str) -> str:
    """Add the stores' own descriptions, each kept to its line: a description is data and must not read as more."""
    lines = [f"- {_line(store.name)}: {_line(store.description)}" for store in stores if store.description]
    if not lines:
        return description
    return (
        f"{description}\n\nStores to {verb}:\n"
        + "\n".join(lines)
        + f"\n\nName the stores to {verb} where you know which ones fit; leave 'stores' out for all of them."
    )


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


def _payload(content: str, store_name: str | None, metadata: dict[str, Any] | None) -> dict[str, Any]:
    item: dict[str, Any] = {"content": content}
    if store_name:
        item["store_name"] = store_name
    if metadata:
        item["metadata"] = metadata
    return item


def tool_config(value: Any, where: str, keys: tuple[str, ...]) -> Mapping[str, Any] | None:
    """Read a tool setting: None and False are off, True and ``{}`` are the defaults."""
    if value is None or value is False:
        return None
    if value is True:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"MemoryManager: {where} must be True, False or a dict, not {value!r}.", key=where, value=value
        )
    refuse_unknown(value, keys, f"MemoryManager: {where}")
    given = {key: item for key, item in value.items() if item is not None}
    for key, kind in (("name", str), ("description", str), ("wait_for_writes", bool)):
        if not isinstance(given.get(key, kind()), kind):
            what = "a text" if kind is str else "True or False"
            message = f"MemoryManager: {where} key {key!r} must be {what}, not {given[key]!r:.80}."
            raise ConfigError(message, key=key, value=given[key])
    return given


def named(stores: Any) -> Any:
    """Return the names of stores given by name or as stores; what is none is left for the manager to refuse."""
    if isinstance(stores, str) or not isinstance(stores, Iterable):
        return stores
    return [given if isinstance(given, str) else getattr(given, "name", given) for given in stores]
