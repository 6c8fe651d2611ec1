"""The two sides of a comparison, memwb and the Strands SDK, driven in the same way."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module, metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

Turn = Callable[[list[dict[str, Any]]], Awaitable[Any]]


class Side(Protocol):
    """What a measurement needs of one side; every import happens inside, since it is measured too."""

    def store(self, path: Path, name: str = "memories") -> Any:
        """Return a store on the file."""
        ...

    def manager(self, stores: Sequence[Any]) -> Any:
        """Return a memory manager over the stores."""
        ...

    def entry(self, content: str) -> Any:
        """Return an entry as a store returns it."""
        ...

    async def turn(self, stores: Sequence[Any]) -> Turn:
        """Return what runs one injecting turn, from the trigger to the folded messages."""
        ...

    async def add_all(self, store: Any, records: Sequence[dict[str, Any]]) -> None:
        """Add the records' contents and metadata in the best way there is."""
        ...


class Memwb:
    """memwb, from the folder in which the benchmark runs."""

    @property
    def version(self) -> str:
        """The version."""
        return str(import_module("memwb").__version__)

    def store(self, path: Path, name: str = "memories") -> Any:
        """Return a TestMemoryStore."""
        return import_module("memwb.stores").TestMemoryStore(name=name, path=path)

    def manager(self, stores: Sequence[Any]) -> Any:
        """Return a MemoryManager."""
        return import_module("memwb.memory").MemoryManager(stores)

    def entry(self, content: str) -> Any:
        """Return a MemoryEntry."""
        return import_module("memwb.memory").MemoryEntry(content, None, {"_relevanceScore": 1})

    async def turn(self, stores: Sequence[Any]) -> Turn:
        """Return ``MemoryManager.inject``."""
        return self.manager(stores).inject  # type: ignore[no-any-return]

    async def add_all(self, store: Any, records: Sequence[dict[str, Any]]) -> None:
        """Add all in one call."""
        await store.add_many({"content": record["content"], "metadata": record.get("metadata")} for record in records)


class Strands:
    """The Strands SDK that is installed for the running interpreter."""

    @property
    def version(self) -> str:
        """The version."""
        return metadata.version("strands-agents")

    def store(self, path: Path, name: str = "memories") -> Any:
        """Return a TestMemoryStore."""
        module = import_module("strands.vended_memory_stores.test_memory_store")
        return module.TestMemoryStore(name=name, path=str(path))

    def manager(self, stores: Sequence[Any]) -> Any:
        """Return a MemoryManager."""
        return import_module("strands.memory").MemoryManager(list(stores))

    def entry(self, content: str) -> Any:
        """Return a MemoryEntry."""
        return import_module("strands.memory").MemoryEntry(content, metadata={"_relevanceScore": 1})

    async def turn(self, stores: Sequence[Any]) -> Turn:
        """Return what the manager gives an agent to run before each model call."""
        handlers: list[Any] = []
        agent = SimpleNamespace(add_middleware=lambda _stage, handler: handlers.append(handler), state={}, model=None)
        agent._middleware_registry = agent  # where 1.48 keeps it
        await self.manager(stores).init_agent(agent)
        context_type = _first_of("strands.middleware.stages", "strands._middleware.stages").InvokeModelContext
        needed = [f.name for f in dataclasses.fields(context_type) if f.default is dataclasses.MISSING]

        async def turn(messages: list[dict[str, Any]]) -> Any:
            given = {**dict.fromkeys(needed), "agent": agent, "messages": messages}
            return (await handlers[0](context_type(**given))).messages

        return turn

    async def add_all(self, store: Any, records: Sequence[dict[str, Any]]) -> None:
        """Add one after the other: there is no other way."""
        for record in records:
            await store.add(record["content"], record.get("metadata"))


def _first_of(*names: str) -> Any:
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError(f"none of {', '.join(names)} is there")


SIDES: dict[str, Any] = {"memwb": Memwb(), "strands": Strands(), "pandas": None}


class Stub:
    """A store that costs nothing: what is left is the manager's own share."""

    def __init__(self, name: str, entries: list[Any]) -> None:
        self.name, self._entries = name, entries
        self.description, self.max_search_results, self.writable, self.extraction = None, None, False, None

    async def search(self, _query: str, _options: Any = None) -> list[Any]:
        """Return the entries that are there."""
        return self._entries


def conversation(query: str) -> list[dict[str, Any]]:
    """Return a conversation in which a user says the query."""
    return [
        {"role": "user", "content": [{"text": "Hello, it is me again."}]},
        {"role": "assistant", "content": [{"text": "Welcome back! What can I do?"}]},
        {"role": "user", "content": [{"text": query}]},
    ]


def raw(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file."""
    return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]
