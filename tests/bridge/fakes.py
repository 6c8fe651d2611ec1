"""Objects of the SDK's shape, so that reading can be tested where no SDK is installed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.memory.stores import WordStore


class Stage:
    """A middleware stage: something that can be a key, with a name."""

    def __init__(self, name: str) -> None:
        self.name = name


def manager(*stores: Any, injection: Any = None) -> Any:
    """A memory manager; ``injection`` as the SDK keeps it: False or a dict."""
    return SimpleNamespace(
        name="strands:memory-manager",
        _stores=list(stores) or [WordStore("home", "tea")],
        _injection_config={} if injection is None else injection,
    )


def agent(memory_manager: Any = None, *, name: str = "Strands Agents", messages: Any = (), **given: Any) -> Any:
    """An agent; ``handlers`` are the phases of its middleware before the model call, the manager's own among them."""
    handlers = [SimpleNamespace(phase=phase) for phase in given.get("handlers", ["input"])]
    stages = {Stage("invokeModel"): handlers, Stage("executeTool"): [SimpleNamespace(phase="wrap")]}
    return SimpleNamespace(
        name=name,
        messages=list(messages),
        state=given.get("state"),
        memory_manager=memory_manager,
        _plugin_registry=SimpleNamespace(_plugins=given.get("plugins", {})),
        _middleware_registry=SimpleNamespace(_handlers=stages),
    )


def store_of_148(name: str, path: Any = None, records: Any = None) -> Any:
    """A TestMemoryStore as SDK 1.48 has it: a path and the records it has loaded."""
    return _test_store(name, _path=path, _records=records)


def store_of_162(name: str, folder: Any = None, key: str = "", data: bytes | None = None) -> Any:
    """A TestMemoryStore as SDK 1.62 has it: a storage and a key in it."""
    if folder is not None:
        return _test_store(name, _storage=SimpleNamespace(_base_dir=str(folder)), _key=key)
    held = {} if data is None else {key: data}
    return _test_store(name, _storage=SimpleNamespace(_store=held), _key=key)


def _test_store(name: str, **fields: Any) -> Any:
    kind: Any = type("TestMemoryStore", (WordStore,), {"__module__": "strands.vended_memory_stores", "__test__": False})
    return kind(name, **fields)
