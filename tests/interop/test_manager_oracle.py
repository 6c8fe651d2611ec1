"""memwb's MemoryManager and the SDK's do the same: what they refuse, find, store, and answer through their tools.

Each case builds the same stores twice, lets both managers do the same, and compares results, errors and what was
written. Left out is what memwb refuses on purpose where the SDK fails later or in silence: unknown options, limits
below 1, and writing to a named store that takes messages alone.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("strands")

from strands.memory import MemoryManager as SdkManager
from strands.types.exceptions import AggregateMemoryError as SdkAggregate
from strands.vended_memory_stores.test_memory_store import TestMemoryStore as SdkTestMemoryStore
from strands.vended_memory_stores.test_memory_store import store as sdk_store_module

from memwb.memory import AggregateMemoryError, MemoryManager
from memwb.stores import TestMemoryStore
from tests.interop import worlds
from tests.memory.stores import AddStore, FailingStore, MessageStore, WordStore

MANAGERS = 300  # pairs of managers a seed, each with several calls
SEEDS = range(6)
TEXTS = ["tea", "coffee and milk", "latex mat", "<b>", " padded ", "東京", "cane"]


class Cranky(AddStore):
    """Fails on some texts and takes its time over others, so that writes end in another order than they began."""

    async def add(self, content: str, metadata: Any = None) -> str:
        for _ in range(len(content) % 4):
            await asyncio.sleep(0)
        return await super().add(content, metadata)

    def get_tools(self) -> list[Any]:
        return [f"tool of {self.name}"]


class Nested(AddStore):
    """Fails with an aggregate of its own side."""

    def __init__(self, name: str, aggregate: Any, **settings: Any) -> None:
        super().__init__(name, **settings)
        self.aggregate = aggregate

    async def add(self, content: str, metadata: Any = None) -> str:
        inner = self.aggregate(
            "inner", [OSError(f"disk of {self.name}"), self.aggregate("deeper", [KeyError(content)])]
        )
        raise inner


class Side:
    """One of the two: the same seed gives the same stores, settings and calls."""

    def __init__(self, seed: str, ours: bool) -> None:
        self.rng, self.ours = random.Random(seed), ours
        self.names = self.rng.sample(worlds.NAMES, self.rng.choice([1, 2, 3]))
        self.stores = [self.store(name) for name in self.names]
        if self.rng.random() < 0.04:
            self.stores.append(WordStore(self.names[0]))
        if self.rng.random() < 0.08:
            self.stores[-1].extraction = self.rng.choice([True, {"trigger": []}, False])
        self.settings = {"search_tool_config": self.tool(), "add_tool_config": self.add_tool()}

    def store(self, name: str) -> Any:
        kind = self.rng.choice(["words", "slow", "generous", "failing", "messages", "nested", *["cranky", "test"] * 3])
        found = [entry.content for entry in worlds.entries(self.rng, 5)]
        settings = {
            "description": self.rng.choice([None, None, "About tea", "Two\nlines"]),
            "max_search_results": self.rng.choice([None, None, 1, 2, 5]),
        }
        writable = self.rng.random() < 0.85
        refuses = self.rng.sample(TEXTS, 2)
        if kind == "test" and self.ours:
            clock = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at) for at in itertools.count())
            return TestMemoryStore(name=name, persist=False, writable=writable, clock=lambda: next(clock), **settings)
        if kind == "test":
            return SdkTestMemoryStore(name=name, persist=False, writable=writable, **settings)
        if kind == "nested":
            return Nested(name, AggregateMemoryError if self.ours else SdkAggregate, **settings)
        if kind == "failing":
            return FailingStore(name, **settings)
        if kind == "messages":
            return MessageStore(name, **settings)
        if kind == "cranky":
            return Cranky(name, *found, refuses=refuses, writable=writable, **settings)
        reads: Any = {"words": WordStore, "slow": worlds.Slow, "generous": worlds.Generous}[kind]
        return reads(name, *found, **settings)

    def tool(self) -> Any:
        return self.rng.choice([True, True, {}, None, False, {"name": "find", "description": "Find things."}])

    def add_tool(self) -> Any:
        if not any(isinstance(store, AddStore | TestMemoryStore | SdkTestMemoryStore) for store in self.stores):
            return self.rng.choice([True, False, None, None])
        config: dict[str, Any] = {"wait_for_writes": self.rng.random() < 0.6}
        some = self.rng.sample(self.names, self.rng.randint(0, len(self.names)))
        scope = self.rng.choice([None, None, None, self.names[:1], some, ["nobody"]])
        return {**config, "stores": scope} if scope is not None else self.rng.choice([config, config, True, {}])

    def build(self) -> Any:
        manager: Any = MemoryManager if self.ours else SdkManager
        return manager(self.stores, **self.settings)

    async def act(self, manager: Any) -> list[Any]:
        """Do some calls one after the other; return the tools' names and what each call gave."""
        given: list[Any] = [[tool_name(tool) for tool in manager.tools]]
        calls = [self.call(manager) for _ in range(self.rng.randint(2, 5))]
        for call in calls:
            given.append(await outcome(call))  # noqa: PERF401 - in turn
        return given

    def call(self, manager: Any) -> Callable[[], Awaitable[Any]]:
        kind = self.rng.choice(["search", "add", "find", "find", "keep", "keep"])
        query = self.rng.choice([worlds.text(self.rng, 3), *TEXTS])
        metadata = self.rng.choice([None, None, {}, {"n": 1}])
        contents = self.rng.sample(TEXTS, self.rng.choice([0, 1, 1, 2, 4]))
        limit = self.rng.choice([None, None, 1, 2, 4])
        chosen = self.rng.choice(
            [None, None, None, [], self.names[-1:], self.names[::-1] * 2, [self.names[0], "nobody"], ["nobody"]]
        )
        if kind == "search":
            return lambda: manager.search(query, given(max_search_results=limit, stores=chosen) or None)
        if kind == "add":
            messages_alone = [store.name for store in self.stores if isinstance(store, MessageStore)]
            named = None if chosen is None else [name for name in chosen if name not in messages_alone]
            return lambda: manager.add((contents or ["tea"])[0], given(metadata=metadata, stores=named) or None)
        tools = {tool_name(tool): tool for tool in manager.tools}
        if kind == "find":
            find = tools.get("search_memory") or tools.get("find")
            return lambda: find(query=query, **given(max_search_results=limit, stores=chosen)) if find else none()
        keep = tools.get("add_memory")
        return lambda: self.settled(manager, keep(entries=contents, **given(stores=chosen))) if keep else none()

    async def settled(self, manager: Any, call: Awaitable[Any]) -> Any:
        """Await a call of the add tool and the writes that it leaves to the background."""
        answer = await call
        if self.ours:
            await manager.flush()
        else:
            await asyncio.gather(*manager._background_tasks)
        return answer


def given(**options: Any) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


async def none() -> None:
    return None


def tool_name(tool: Any) -> str:
    return str(tool if isinstance(tool, str) else getattr(tool, "tool_name", None) or tool.name)


async def outcome(call: Callable[[], Awaitable[Any]]) -> Any:
    """Return what a call gives in a form that both sides share: a value, or the kind of error with its causes."""
    try:
        value = await call()
    except (AggregateMemoryError, SdkAggregate) as error:
        return ("AggregateMemoryError", [cause(inner) for inner in error.errors])
    except ValueError:
        return "ValueError"
    return [entry(item) for item in value] if isinstance(value, list) else value


def cause(error: BaseException) -> str:
    return "ValueError" if isinstance(error, ValueError) else repr(error)


def entry(item: Any) -> Any:
    return (item.content, item.store_name, item.metadata) if hasattr(item, "store_name") else item


async def compare(seed: str, seen: Counter[str]) -> None:
    theirs, ours = Side(seed, ours=False), Side(seed, ours=True)
    managers, refusals = [], []
    for side in (theirs, ours):
        try:
            managers.append(side.build())
        except ValueError as error:
            refusals.append(str(error).split(":")[0])
    assert refusals in ([], ["MemoryManager", "MemoryManager"]), (seed, refusals)
    seen["refused"] += bool(refusals)
    if refusals:
        return
    expected, given = await theirs.act(managers[0]), await ours.act(managers[1])
    assert given == expected, seed
    written = [[getattr(store, "writes", None) for store in side.stores] for side in (theirs, ours)]
    assert written[0] == written[1], seed
    seen["calls"] += len(expected) - 1
    seen["found"] += sum(isinstance(item, list) and bool(item) for item in expected[1:])
    seen["stored"] += sum(isinstance(item, dict) for item in expected)
    seen["aggregate"] += sum(isinstance(item, tuple) for item in expected)
    seen["ValueError"] += expected.count("ValueError")


@pytest.mark.parametrize("seed", SEEDS)
async def test_both_managers_do_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(sdk_store_module, "_now", lambda: f"2026-01-01T00:00:{next(ticks) / 1000:06.3f}Z")
    seen = Counter[str]()
    for case in range(MANAGERS):
        await compare(f"manager {seed} {case}", seen)
    # The comparison must not be empty: each kind of outcome comes up often.
    assert seen["calls"] >= 500, seen
    assert seen["found"] >= 40, seen
    assert seen["stored"] >= 40, seen
    assert seen["aggregate"] >= 25, seen
    assert seen["ValueError"] >= 80, seen
    assert seen["refused"] >= 50, seen
