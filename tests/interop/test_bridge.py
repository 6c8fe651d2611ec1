"""The bridge reads real agents of the installed SDK: what it reads injects what the agent injects."""

from __future__ import annotations

import json
import os
import random
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.memory import MemoryManager as SdkManager
from strands.memory import MemoryStore as SdkMemoryStore
from strands.vended_memory_stores.test_memory_store import TestMemoryStore as SdkTestMemoryStore
from strands.vended_plugins.context_injector import ContextInjector

from memwb.bridge.strands import is_strands, listing, placement, read
from memwb.bridge.strands.reading import _probed
from memwb.errors import ConfigError
from memwb.memory import MemoryManager
from memwb.memory.types import has_method
from memwb.stores import Listable, TestMemoryStore
from tests.interop import worlds
from tests.interop.capture import CapturingModel, agent_with
from tests.interop.test_injection_oracle import for_a_model
from tests.memory.stores import WordStore, user


class SdkStore(SdkMemoryStore):
    """A store that inherits the SDK's protocol and defines no more than it must."""

    def __init__(self, name: str) -> None:
        self.name, self.description, self.max_search_results = name, None, None
        self.writable, self.extraction = False, None

    async def search(self, query: str, options: Any = None) -> Any:
        return []


def test_the_placement_by_version_is_what_the_code_does() -> None:
    assert placement() == _probed()
    assert placement() == ("prepend" if version("strands-agents").startswith("1.48.") else "append")


@pytest.mark.parametrize("seed", range(40))
async def test_what_is_read_injects_what_the_agent_injects(seed: int) -> None:
    rng = random.Random(f"bridge {seed}")
    stores = [WordStore("home", "tea", "latex mat", "cane"), worlds.Generous("work", "milk")]
    agent, model = agent_with(stores, worlds.injection(rng))
    agent.messages = [*worlds.conversation(rng), user("tea and latex")]
    reading = read(agent)
    assert reading.notes == ()
    injection: Any = reading.injection
    if injection is not False:
        injection = {**({} if injection is True else injection), "placement": reading.placement}
    manager = MemoryManager(reading.stores, injection=injection)
    expected = await manager.inject(reading.messages, state=reading.state, agent=reading.agent)
    await agent.invoke_async(None)
    assert model.calls[0][1] == for_a_model(expected)


BROKEN: list[dict[str, Any]] = [
    {"max_entires": 1},
    {"trigger": "user_turn"},
    {"max_entries": 0},
    {"max_entries": "5"},
    {"max_entries": True},
    {"query": "tea"},
    {"format": "tea"},
    {"placement": "prepend"},
    {"placement": "append"},
]


@pytest.mark.parametrize("config", BROKEN, ids=str)
async def test_b71_a_setting_that_the_sdk_takes_in_silence_is_read_as_what_it_does(config: Any) -> None:
    agent, model = agent_with([WordStore("home", *(f"tea {at}" for at in range(9)))], config)
    agent.messages = [user("tea")]
    reading = read(agent)
    injection: Any = reading.injection
    if injection is not False:
        injection = {**({} if injection is True else injection), "placement": reading.placement}
    expected = await MemoryManager(reading.stores, injection=injection).inject(reading.messages)
    await agent.invoke_async(None)
    assert model.calls[0][1] == for_a_model(expected)
    assert bool(reading.notes) is (config not in ({"max_entries": True}, {"placement": placement()}))


async def never(context: Any) -> Any:
    yield True  # an async generator: what the SDK makes of it is the same, without a coroutine left over


async def test_an_async_trigger_of_the_sdk_fires_at_every_turn() -> None:
    agent, model = agent_with([WordStore("home", "tea")], {"trigger": never, "query": worlds.constant})
    agent.messages = [user("tea"), {"role": "assistant", "content": [{"text": "yes"}]}]
    reading = read(agent)
    assert reading.injection == {"trigger": "everyTurn", "query": worlds.constant}
    expected = await MemoryManager(
        reading.stores, injection={**reading.injection, "placement": reading.placement}
    ).inject(reading.messages)
    await agent.invoke_async(None)
    assert model.calls[0][1] == for_a_model(expected)
    assert len(expected[0]["content"]) == 2


async def test_an_async_format_of_the_sdk_breaks_its_call_off_and_that_is_said() -> None:
    agent, _ = agent_with([WordStore("home", "tea")], {"format": never})
    agent.messages = [user("tea")]
    assert read(agent).injection is False
    assert read(agent).notes[0].startswith("the agent breaks off its call as soon as an entry is found")
    with pytest.raises(Exception, match="strip"):
        await agent.invoke_async(None)


def test_an_agent_is_read_and_not_changed() -> None:
    store = WordStore("home", "tea")
    agent, _ = agent_with([store], {"max_entries": 2})
    agent.messages.append(user("tea"))
    reading = read(agent)
    assert (reading.stores, reading.injection, reading.label) == (
        (store,),
        {"max_entries": 2},
        "Strands Agent 'oracle'",
    )
    assert reading.messages == [user("tea")]
    assert (reading.agent, reading.state.get("memories")) == (agent, "yes")
    reading.state.set("memories", "changed")
    assert agent.state.get("memories") == "yes"
    reading.messages.clear()
    assert agent.messages == [user("tea")]
    assert read(Agent(model=CapturingModel(), memory_manager={"stores": [store]})).label == "Strands Agent"


def test_a_manager_is_found_where_it_is_given_as_a_plugin() -> None:
    store = WordStore("home", "tea")
    agent = Agent(model=CapturingModel(), plugins=[SdkManager([store], injection=False)])
    assert (read(agent).stores, read(agent).injection) == ((store,), False)


def test_another_plugin_that_injects_is_told_of() -> None:
    injector = ContextInjector(lambda context: "<now/>")
    agent = Agent(model=CapturingModel(), plugins=[injector], memory_manager=SdkManager([WordStore("home")]))
    assert read(agent).notes == (
        "the agent has 1 more handler that can change the messages before a model call; the preview shows the memory "
        "manager's part alone",
    )


def test_an_agent_without_memory_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match="has no memory manager"):
        read(Agent(model=CapturingModel()))


def test_what_belongs_to_the_sdk_is_recognised() -> None:
    store = SdkTestMemoryStore(name="home", persist=False)
    agent = Agent(model=CapturingModel(), memory_manager=SdkManager([store]))
    assert [is_strands(value) for value in (agent, agent.memory_manager, store, SdkStore("mine"))] == [True] * 4
    assert not is_strands(WordStore("home"))


@pytest.mark.parametrize("name", ["add", "add_messages", "initialize", "get_tools"])
def test_a_stub_of_the_sdks_protocol_does_not_count(name: str) -> None:
    assert not has_method(SdkStore("mine"), name)
    assert has_method(SdkTestMemoryStore(name="home", persist=False), name) is (name == "add")


async def test_stores_of_the_sdk_are_taken_as_they_are() -> None:
    store = SdkTestMemoryStore(name="home", persist=False)
    manager = MemoryManager([store, SdkStore("mine")], add_tool_config=True)  # type: ignore[list-item]
    await manager.add("tea in the morning")
    assert [(entry.content, entry.store_name) for entry in await manager.search("tea")] == [
        ("tea in the morning", "home")
    ]
    trace = await manager.trace_injection([user("tea?")])
    assert [(hit.score, hit.id, hit.matched) for hit in trace.hits] == [(1, None, ("tea",))]
    assert (await manager.why("morning", [user("tea?")])).arrived


async def test_a_file_of_the_sdk_is_listed_and_follows_what_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "home.json"
    store = SdkTestMemoryStore(name="home", path=str(path))
    view = listing(store)
    assert isinstance(view, TestMemoryStore)
    assert (view.path, view.writable, await view.count()) == (path, False, 0)
    await store.add("tea", {"n": 1})
    await store.add("milk")
    assert [(record.content, record.metadata) for record in await view.page(0, 9)] == [
        ("tea", {"n": 1}),
        ("milk", None),
    ]
    assert [record.id for record in await view.page(0, 9)] == [item["id"] for item in json.loads(path.read_bytes())]


async def test_the_default_file_of_the_sdk_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    view = listing(SdkTestMemoryStore(name="a/b"))
    assert isinstance(view, TestMemoryStore)
    assert view.path == tmp_path / ".strands" / "memory" / "a_b.json"


async def test_a_relative_path_and_a_tilde_are_where_the_sdk_puts_them(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    store = SdkTestMemoryStore(name="home", path="~/sub/home.json")
    await store.add("tea")
    view = listing(store)
    assert view is not None
    assert [record.content for record in await view.page(0, 9)] == ["tea"]
    assert os.listdir(tmp_path) == ["~"]


async def test_a_store_of_the_sdk_in_memory_is_listed_as_it_is_by_then() -> None:
    store = SdkTestMemoryStore(name="home", persist=False)
    view = listing(store)
    assert isinstance(view, Listable)
    assert await view.count() == 0
    first = await store.add("tea", {"n": 2**70})
    assert [(record.id, record.content, record.metadata) for record in await view.page(0, 9)] == [
        (first["id"] if isinstance(first, dict) else first.id, "tea", {"n": 2**70})
    ]


def test_b35_stores_of_the_sdk_on_one_file_are_told_of() -> None:
    agent = Agent(
        model=CapturingModel(),
        memory_manager=SdkManager([SdkTestMemoryStore(name="a/b"), SdkTestMemoryStore(name="a_b")]),
    )
    (note,) = read(agent).notes
    assert note.startswith("the stores 'a/b' and 'a_b' share the file ")
