"""A live agent is recorded call by call: what its model really got, beside the trace, and nothing of it changes."""

from __future__ import annotations

import copy
import gc
import random
import weakref
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.hooks.events import BeforeModelCallEvent
from strands.memory import MemoryManager as SdkManager

from memwb.bridge.strands import Recording, attach, placement, plugin, read, scripted, sent
from memwb.bridge.strands.host import add_middleware, model_stage
from memwb.errors import ConfigError
from memwb.memory import MemoryManager
from tests.interop import worlds
from tests.interop.capture import CapturingModel, agent_with
from tests.interop.test_injection_oracle import for_a_model
from tests.memory.stores import WordStore

pytestmark = worlds.LEFT_UNASKED


def with_plugin(model: Any, **injection: Any) -> Any:
    manager = MemoryManager([WordStore("home", "green tea", "black tea")], injection=injection)  # type: ignore[arg-type]
    return Agent(model=model, plugins=[plugin(manager)], callback_handler=None, name="guide")


def with_sdk_manager(model: Any, **injection: Any) -> Any:
    manager = SdkManager([WordStore("home", "green tea", "black tea")], injection=injection)
    return Agent(model=model, memory_manager=manager, callback_handler=None, name="guide")


@pytest.mark.parametrize("made", [with_plugin, with_sdk_manager])
async def test_each_call_of_a_tool_loop_is_recorded_as_the_model_got_it(made: Any) -> None:
    calls = [[{"toolUse": {"name": "search_memory", "input": {"query": "black"}}}], "Black.", "Yes."]
    answering = scripted(calls)
    agent = made(answering, trigger="everyTurn")
    recording = attach(agent)
    await agent.invoke_async("Which tea?")
    await agent.invoke_async("Really?")
    assert [call.after for call in recording] == [asked.messages for asked in answering.asked]
    assert [for_a_model(call.before) for call in recording] == [
        for_a_model(agent.messages[:count]) for count in (1, 3, 5)
    ]
    assert [call.difference for call in recording] == ["", "", ""]
    assert [sent(call.trace.messages) for call in recording] == [call.after for call in recording]
    assert repr(recording) == "Recording(Strands Agent 'guide': 3 model calls, each as its trace shows)"


@pytest.mark.parametrize("seed", range(6))
async def test_the_trace_beside_the_sdks_own_manager_is_what_its_model_got(seed: int) -> None:
    rng = random.Random(f"recording {seed}")
    for _ in range(10):
        stores, injection = worlds.stores(rng), worlds.injection(rng)
        agent, model = agent_with(stores, injection)
        recording = attach(agent)
        agent.messages = worlds.conversation(rng)
        model.script = [worlds.text(rng, 3) for _ in range(rng.choice([0, 0, 1, 2]))]
        await agent.invoke_async(None if agent.messages else "tea")
        assert [call.after for call in recording] == [given for _, given in model.calls]
        if not read(agent).notes:  # some releases write the block in a way of their own, which the reading says
            assert [call.difference for call in recording] == [""] * len(model.calls)
        assert recording.problem == ""
    gc.collect()


def test_a_synchronous_call_is_recorded_too() -> None:
    agent = with_plugin(scripted(["Green."]))
    recording = attach(agent)
    agent("Which tea?")
    assert [call.trace.injected for call in recording] == [True]


async def test_what_another_handler_changed_is_said() -> None:
    agent = with_plugin(answering := scripted(["Green."] * 4))

    def louder(context: Any) -> Any:
        context.messages[-1]["content"].append({"text": "BE QUICK"})
        return context

    recording = attach(agent)
    add_middleware(agent, model_stage().Input, louder)
    await agent.invoke_async("Which tea?")
    assert recording[0].after == answering.asked[0].messages
    assert recording[0].difference == "message 1 (user) has 1 more block than expected: 'BE QUICK'"
    assert recording.differing == [recording[0]]
    assert repr(recording).endswith("1 model call, 1 with a difference)")


async def test_a_handler_that_was_added_later_and_stands_next_to_the_model_is_seen_too() -> None:
    agent = with_plugin(answering := scripted(["Green."]))
    recording = attach(agent)

    async def rewritten(context: Any, next_call: Any) -> Any:
        context.messages[-1]["content"][0] = {"text": "something else"}
        async for event in next_call(context):
            yield event

    add_middleware(agent, model_stage().Wrap, rewritten)
    await agent.invoke_async("Which tea?")
    assert recording[0].after == answering.asked[0].messages
    assert "something else" in recording[0].difference


async def test_an_agent_answers_and_remembers_as_without_a_recording() -> None:
    agents = [with_sdk_manager(scripted(["a", "b"]), trigger="everyTurn") for _ in range(2)]
    notes = read(agents[0]).notes
    attach(agents[0])
    for agent in agents:
        for words in ("Which tea?", "And black?"):
            await agent.invoke_async(words)
    assert agents[0].model.asked == agents[1].model.asked
    assert for_a_model(agents[0].messages) == for_a_model(agents[1].messages)
    assert read(agents[0]).notes == notes  # a handler that only records is none that changes messages


async def test_a_detached_recording_keeps_what_it_has_and_hears_no_more() -> None:
    agent = with_plugin(scripted(["a", "b", "c"]))
    first, second = attach(agent), attach(agent)
    await agent.invoke_async("tea?")
    first.detach()
    first.detach()
    await agent.invoke_async("tea?")
    assert (first.attached, second.attached) == (False, True)
    assert (len(first), len(second)) == (1, 2)


async def test_a_recording_that_fails_says_so_and_the_agent_goes_on() -> None:
    def broken(_context: Any) -> Any:
        raise AssertionError("not in a test")

    class Refusing:
        def recorded(self, call: Any) -> None:
            raise OSError("no room")

    agent = with_sdk_manager(scripted(["a"]), query=broken)
    recording = attach(agent, Refusing())
    result = await agent.invoke_async("tea?")
    assert str(result).strip() == "a"
    assert recording.problem == "call 2 could not be recorded: OSError('no room')"


async def test_a_predicate_that_keeps_count_in_the_state_counts_each_call_once() -> None:
    def every_other(context: Any) -> bool:
        context.state.set("calls", (context.state.get("calls") or 0) + 1)
        return context.state.get("calls") % 2 == 1

    agent, _ = agent_with([WordStore("home", "green tea")], {"trigger": every_other})
    attach(agent)
    for _ in range(3):
        await agent.invoke_async("tea?")
    assert agent.state.get("calls") == 3


async def test_the_history_of_a_recorded_call_is_a_copy() -> None:
    agent = with_plugin(scripted(["a"]))
    recording = attach(agent)
    await agent.invoke_async("tea?")
    before = copy.deepcopy(agent.messages)
    recording[0].before[0]["content"].clear()
    recording[0].after[0]["content"].clear()
    assert agent.messages == before


@pytest.mark.parametrize("source", ["manager", "bare agent", "text"])
def test_what_calls_no_model_or_has_no_memory_is_refused(source: str) -> None:
    made = {"manager": SdkManager([WordStore("home")]), "bare agent": Agent(model=CapturingModel()), "text": "agent"}
    with pytest.raises(ConfigError, match=r"is no agent|has no memory manager|cannot read"):
        attach(made[source])


async def test_an_agent_that_was_recorded_can_be_collected() -> None:
    agent = with_plugin(scripted(["a"]))
    attach(agent)
    await agent.invoke_async("tea?")
    gone = weakref.ref(agent)
    del agent
    gc.collect()
    assert gone() is None


ODD: list[Any] = [
    [],
    [{"text": ""}],
    [{"text": " \n"}, {"text": "words"}],
    [{"text": ""}, {"toolUse": {"toolUseId": "1", "name": "look", "input": {}}}],
    [{"toolUse": {"toolUseId": "1", "name": "not a name", "input": {}}}],
    [{"toolUse": {"toolUseId": "1", "name": "x" * 65, "input": {}}}],
    [{"toolUse": {"toolUseId": "1", "name": "", "input": {}}}, {"text": "said"}],
]


@pytest.mark.parametrize("content", ODD, ids=str)
async def test_what_is_sent_is_what_a_model_gets(content: Any) -> None:
    agent, model = agent_with([WordStore("home")], False)
    result = {"toolResult": {"toolUseId": "1", "status": "success", "content": [{"text": ""}]}}
    agent.messages = [
        {"role": "user", "content": [{"text": ""}], "metadata": {"custom": 1}, "tracking_id": "t"},
        {"role": "assistant", "content": content, "metadata": {"usage": {}}},
        {"role": "user", "content": [result] if "toolUse" in repr(content) else [{"text": "so?"}]},
    ]
    before = copy.deepcopy(agent.messages)
    await agent.invoke_async(None)
    assert model.calls[0][1] == sent(before)


def test_a_recording_is_a_sequence() -> None:
    recording = attach(with_plugin(scripted([])))
    assert isinstance(recording, Recording)
    assert (list(recording), len(recording), recording[:1]) == ([], 0, [])
    assert repr(recording) == "Recording(Strands Agent 'guide': 0 model calls)"


async def test_handlers_of_the_agents_own_before_a_model_call_still_run() -> None:
    agent = with_plugin(scripted(["a"]))
    seen: list[Any] = []
    agent.add_hook(lambda event: seen.append(len(event.agent.messages)), BeforeModelCallEvent)
    attach(agent)
    await agent.invoke_async("tea?")
    assert seen == [1]


async def test_the_placement_beside_the_sdks_manager_is_the_installed_ones() -> None:
    agent = with_sdk_manager(scripted(["a"]))
    recording = attach(agent)
    await agent.invoke_async("tea?")
    settings = recording[0].trace.settings
    assert settings is not None
    assert settings.placement == placement()
