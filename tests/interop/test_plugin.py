"""memwb's memory in a real agent: its model gets what the trace shows, and nothing is left unsaved."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.memory import MemoryManager as SdkManager

from memwb.bridge.strands import model, plugin, read, scripted
from memwb.memory import MemoryManager
from memwb.stores import TestMemoryStore
from tests.interop import worlds
from tests.interop.capture import CapturingModel, look
from tests.interop.test_injection_oracle import for_a_model
from tests.memory.stores import WordStore

pytestmark = worlds.LEFT_UNASKED


def agent_with(manager: MemoryManager, model: Any, **given: Any) -> Any:
    return Agent(model=model, plugins=[plugin(manager)], callback_handler=None, **given)


@pytest.mark.parametrize("seed", range(8))
async def test_the_model_gets_what_the_trace_shows_and_the_history_stays_untouched(seed: int) -> None:
    rng = random.Random(f"plugin {seed}")
    for _ in range(12):
        injection: Any = worlds.injection(rng)
        if injection is not False:
            place = rng.choice(["prepend", "append"])
            injection = {**(injection if isinstance(injection, dict) else {}), "placement": place}
        manager = MemoryManager(worlds.stores(rng), injection=injection)
        capturing = CapturingModel()
        agent = agent_with(manager, capturing, tools=[look], state={"memories": "yes"}, name="oracle")
        capturing.agent = agent
        agent.messages = worlds.conversation(rng)
        capturing.script = [worlds.text(rng, 3) for _ in range(rng.choice([0, 0, 1, 2]))]
        await agent.invoke_async(None if agent.messages else "tea")
        durable = for_a_model(agent.messages)
        assert "<memory>" not in json.dumps(durable, default=repr)
        for history, given in capturing.calls:
            trace = await manager.trace_injection(history, state=agent.state, agent=agent)
            assert given == for_a_model(trace.messages)
            assert durable[: len(history)] == for_a_model(history)


@pytest.mark.parametrize("placement", ["prepend", "append"])
@pytest.mark.parametrize("way", ["sync", "async", "stream"])
async def test_each_way_of_calling_an_agent_gets_the_block(way: str, placement: Any) -> None:
    manager = MemoryManager([WordStore("home", "green tea")], injection={"placement": placement})
    answering = scripted(["Green."])
    agent = agent_with(manager, answering)
    if way == "sync":
        agent("Which tea?")
    elif way == "async":
        await agent.invoke_async("Which tea?")
    else:
        assert [event async for event in agent.stream_async("Which tea?")]
    asked = [{"role": "user", "content": [{"text": "Which tea?"}]}]
    assert answering.asked[0].messages == await manager.inject(asked)
    assert len(answering.asked[0].messages[0]["content"]) == 2
    assert for_a_model(agent.messages) == [*asked, {"role": "assistant", "content": [{"text": "Green."}]}]


async def test_the_plugin_tells_the_trace_of_the_latest_call() -> None:
    manager = MemoryManager([WordStore("home", "green tea")])
    memory, answering = plugin(manager), scripted(["Green.", "Yes."])
    agent = Agent(model=answering, plugins=[memory], callback_handler=None)
    assert memory.trace(agent) is None
    await agent.invoke_async("Which tea?")
    trace = memory.trace(agent)
    assert trace is not None
    assert for_a_model(trace.messages) == answering.asked[0].messages
    await agent.invoke_async("Nothing of that?")
    assert memory.trace(agent) is not trace


async def test_a_model_that_leaves_per_call_blocks_out_of_its_cache_is_told_of_the_appended_one() -> None:
    from dataclasses import fields

    from memwb.bridge.strands.host import model_stage

    stage = model_stage()
    module = __import__(type(stage).__module__.rpartition(".")[0] + ".stages", fromlist=["InvokeModelContext"])
    counted = "dynamic_trailing_blocks" in {field.name for field in fields(module.InvokeModelContext)}
    given: list[Any] = []
    for placement, expected in (("append", 1), ("prepend", None)):
        answering = scripted(["Green."])
        stream = answering.stream

        def watched(*args: Any, stream: Any = stream, **named: Any) -> Any:
            given.append(named.get("dynamic_trailing_blocks"))
            return stream(*args, **named)

        answering.stream = watched
        agent = agent_with(
            MemoryManager([WordStore("home", "green tea")], injection={"placement": placement}),  # type: ignore[typeddict-item]
            answering,
        )
        await agent.invoke_async("Which tea?")
        assert given.pop() == (expected if counted else None)


async def test_two_memories_in_one_agent_are_refused_by_the_sdk() -> None:
    store = WordStore("home", "tea")
    with pytest.raises(ValueError, match="already registered"):
        Agent(model=scripted([]), plugins=[plugin(MemoryManager([store]))], memory_manager=SdkManager([store]))


async def test_one_manager_serves_several_agents() -> None:
    memory = plugin(MemoryManager([WordStore("home", "green tea")]))
    first, second = scripted(["a"]), scripted(["b"])
    for answering in (first, second):
        await Agent(model=answering, plugins=[memory], callback_handler=None).invoke_async("tea?")
    assert first.asked == second.asked


# Tools


def use(name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"toolUse": {"name": name, "input": arguments}}]


CALLS = [
    ("search_memory", {"query": "tea"}),
    ("search_memory", {"query": "tea", "max_search_results": 1}),
    ("search_memory", {"query": "tea", "stores": ["notes"]}),
    ("search_memory", {"query": "tea", "stores": []}),
    ("search_memory", {"query": "nothing of that"}),
    ("add_memory", {"entries": ["likes oolong", "naïve ✓ 東京"]}),
    ("add_memory", {"entries": ["likes oolong"], "stores": ["notes"]}),
]


async def result_of(agent: Any) -> Any:
    await agent.invoke_async("go")
    result = agent.messages[2]["content"][0]["toolResult"]
    return {key: value for key, value in result.items() if key != "tracking_id"}


def both(path: Any, call: tuple[str, Any]) -> tuple[Any, Any]:
    """Return an agent with memwb's memory and one with the SDK's, over equal stores, whose models make one call."""
    agents: list[Any] = []
    for number, managers in enumerate(((MemoryManager, "plugins"), (SdkManager, "memory_manager"))):
        stores = [
            WordStore("home", "green tea", "black tea", "tea & <b>"),
            TestMemoryStore(name="notes", path=str(path / f"{number}.json")),
        ]
        manager: Any = managers[0](stores, add_tool_config=True, injection=False)
        given = {"plugins": [plugin(manager)]} if number == 0 else {"memory_manager": manager}
        agents.append(Agent(model=scripted([use(call[0], **call[1]), "done"]), callback_handler=None, **given))
    return agents[0], agents[1]


@pytest.mark.parametrize("call", CALLS, ids=str)
async def test_a_tools_result_is_what_the_sdks_own_tool_gives(call: Any, tmp_path: Any) -> None:
    ours, theirs = both(tmp_path, call)
    assert await result_of(ours) == await result_of(theirs)


@pytest.mark.parametrize(
    "call",
    [("search_memory", {}), ("search_memory", {"query": "x", "stores": ["nowhere"]}), ("add_memory", {"entries": []})],
)
async def test_a_refused_call_is_an_error_for_the_model_on_both_sides(call: Any, tmp_path: Any) -> None:
    ours, theirs = both(tmp_path, call)
    results = [await result_of(ours), await result_of(theirs)]
    assert [result["status"] for result in results] == ["error", "error"]
    assert all(result["content"][0]["text"].startswith(("Error: ", "Validation failed")) for result in results)


def types_of(spec: Any) -> Any:
    schema = spec["inputSchema"]["json"]
    kinds = {name: (one["type"], one.get("items")) for name, one in schema["properties"].items()}
    return spec["name"], kinds, schema["required"], schema["type"]


def test_the_tools_take_what_the_sdks_take_and_are_described_as_configured() -> None:
    store = TestMemoryStore(name="notes", persist=False)
    configs: dict[str, Any] = {
        "search_tool_config": {"description": "Look it up."},
        "add_tool_config": {"name": "note", "description": "Write it down."},
    }
    ours = [tool.tool_spec for tool in plugin(MemoryManager([store], **configs)).tools]
    theirs = [tool.tool_spec for tool in SdkManager([store], **configs).tools]
    assert [types_of(spec) for spec in ours] == [types_of(spec) for spec in theirs]
    assert [spec["description"] for spec in ours] == [spec["description"] for spec in theirs]


async def test_the_model_is_told_of_the_tools_as_the_manager_describes_them() -> None:
    manager = MemoryManager(
        [TestMemoryStore(name="notes", persist=False, description="About tea")], add_tool_config=True
    )
    answering = scripted(["hi"])
    agent = agent_with(manager, answering)
    await agent.invoke_async("hi")
    assert answering.asked[0].tools == ("search_memory", "add_memory")
    specs = agent.tool_registry.get_all_tool_specs()
    assert specs == [
        {key: tool.spec("bedrock")["toolSpec"][key] for key in ("name", "description", "inputSchema")}
        for tool in manager.tools
    ]


async def test_a_tool_of_a_stores_own_is_handed_on() -> None:
    class Talking(WordStore):
        def get_tools(self) -> list[Any]:
            return [look]

    answering = scripted([use("look"), "done"])
    agent = agent_with(MemoryManager([Talking("home")]), answering)
    await agent.invoke_async("hi")
    assert answering.asked[0].tools == ("search_memory", "look")
    assert agent.messages[2]["content"][0]["toolResult"]["status"] == "success"


def test_b03_a_write_that_was_accepted_is_made_before_a_synchronous_call_returns() -> None:
    class Slow(TestMemoryStore):
        __test__ = False

        async def add(self, content: str, metadata: Any = None) -> Any:
            await asyncio.sleep(0.2)
            return await super().add(content, metadata)

    store = Slow(name="notes", persist=False)
    manager = MemoryManager([store], add_tool_config={"wait_for_writes": False})
    agent = agent_with(manager, scripted([use("add_memory", entries=["likes oolong"]), "noted"]))
    agent("Remember that I like oolong.")
    assert json.loads(agent.messages[2]["content"][0]["toolResult"]["content"][0]["text"]) == {"accepted": 1}
    assert [entry.content for entry in asyncio.run(store.search("oolong"))] == ["likes oolong"]


async def test_a_write_that_was_accepted_on_a_loop_of_ones_own_is_made_by_flush() -> None:
    store = TestMemoryStore(name="notes", persist=False)
    manager = MemoryManager([store], add_tool_config={"wait_for_writes": False})
    agent = agent_with(manager, scripted([use("add_memory", entries=["likes oolong"]), "noted"]))
    await agent.invoke_async("Remember that I like oolong.")
    await manager.flush()
    assert [entry.content for entry in await store.search("oolong")] == ["likes oolong"]


# Reading such an agent


async def test_an_agent_with_the_plugin_is_read_with_the_managers_own_placement() -> None:
    manager = MemoryManager([WordStore("home", "tea")], injection={"placement": "prepend", "max_entries": 2})
    agent = agent_with(manager, scripted(["yes"]))
    await agent.invoke_async("tea?")
    reading = read(agent)
    assert (reading.stores, reading.injection, reading.placement) == (manager.stores, manager.injection, "prepend")
    assert (reading.notes, reading.agent) == ((), agent)
    assert for_a_model(reading.messages) == for_a_model(agent.messages)


# Models


async def test_a_provider_of_the_sdk_is_a_model_of_memwbs() -> None:
    provider = scripted(["[1, 2]", [{"text": "two "}, {"text": "parts"}], ConnectionError("no route")])
    asked: list[Any] = [{"role": "user", "content": [{"text": "facts?"}]}]
    wrapped = model(provider)
    assert await wrapped.complete("Be short.", asked) == "[1, 2]"
    assert await wrapped.complete("", asked) == "two parts"
    with pytest.raises(ConnectionError, match="no route"):
        await wrapped.complete("", asked)
    assert provider.asked[0] == ("Be short.", asked, ())


def test_a_provider_works_on_a_loop_after_another() -> None:
    wrapped = model(scripted(["one", "two"]))
    assert [asyncio.run(wrapped.complete("", [])) for _ in range(2)] == ["one", "two"]


async def test_structured_output_is_asked_with_the_block_too() -> None:
    from pydantic import BaseModel

    class Tea(BaseModel):
        kind: str

    manager = MemoryManager([WordStore("home", "green tea")])
    answering = scripted([use("Tea", kind="green")])
    agent = agent_with(manager, answering)
    result = await agent.invoke_async("Which tea?", structured_output_model=Tea)
    assert result.structured_output == Tea(kind="green")
    asked = [{"role": "user", "content": [{"text": "Which tea?"}]}]
    assert answering.asked[0].messages == await manager.inject(copy.deepcopy(asked))


def test_a_manager_given_to_an_agent_as_it_is_says_what_to_write() -> None:
    manager = MemoryManager([TestMemoryStore(name="notes", persist=False)])
    with pytest.raises(AttributeError, match=r"memwb\.bridge\.strands\.plugin\(manager\)"):
        Agent(model=scripted(["Hi"]), plugins=[manager])
