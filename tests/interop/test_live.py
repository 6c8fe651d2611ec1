"""A workbench that listens to a live agent: each call opens as it is made, and what differs is said."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.memory import MemoryManager as SdkManager

from memwb.bridge.strands import plugin, scripted
from memwb.bridge.strands.host import add_middleware, model_stage
from memwb.errors import ConfigError
from memwb.memory import MemoryManager
from memwb.workbench import WorkbenchState
from tests.interop.test_injection_oracle import for_a_model
from tests.memory.stores import WordStore


def agent_with(*answers: Any, ours: bool = True, **given: Any) -> Any:
    stores = [WordStore("home", "green tea", "black tea", "a cane")]
    if ours:
        given["plugins"] = [plugin(MemoryManager(stores))]
    else:
        given["memory_manager"] = SdkManager(stores)
    return Agent(model=scripted(answers), callback_handler=None, name="guide", **given)


@pytest.mark.parametrize("ours", [True, False])
async def test_the_workbench_opens_each_call_of_the_agent_as_it_is_made(ours: bool) -> None:
    agent = agent_with("Green.", "Yes, black.", ours=ours)
    state = WorkbenchState(agent)
    recording = state.live.attach(agent)
    for at, words in enumerate(("Which tea?", "And black?"), 1):
        await agent.invoke_async(words)
        await state.settled()
        call = state.live.call
        assert call is recording[at - 1]
        assert for_a_model(state.seen) == for_a_model(call.before)
        assert state.live.model_input == call.after == agent.model.asked[at - 1].messages
    assert state.live.notes == []
    assert repr(state) == "Workbench(1 store; call 2: 1 of 1 hit injected)"


async def test_a_synchronous_agent_on_its_own_thread_is_followed_too() -> None:
    agent = agent_with("Green.")
    state = WorkbenchState(agent)
    state.live.attach(agent)
    await asyncio.to_thread(agent, "Which tea?")
    await state.settled()
    assert state.live.model_input == agent.model.asked[0].messages


def test_an_agent_of_a_script_without_a_loop_is_followed_when_the_workbench_is_awaited() -> None:
    agent = agent_with("Green.")
    state = WorkbenchState(agent)
    recording = state.live.attach(agent)
    agent("Which tea?")
    asyncio.run(state.settled())
    assert state.live.call is recording[0]


async def test_what_another_part_of_the_agent_changed_is_said_on_screen() -> None:
    agent = agent_with("Green.")

    def louder(context: Any) -> Any:
        context.messages[-1]["content"].append({"text": "BE QUICK"})
        return context

    add_middleware(agent, model_stage().Input, louder)
    state = WorkbenchState(agent)
    state.live.attach(agent)
    await agent.invoke_async("Which tea?")
    await state.settled()
    assert state.live.notes == [
        "call 1 of Strands Agent 'guide': what its model got is not what the trace of that moment shows: "
        "message 1 (user) has 1 more block than expected: 'BE QUICK'"
    ]


async def test_other_settings_than_the_agents_are_said_to_give_other_input() -> None:
    agent = agent_with("Green.")
    state = WorkbenchState(agent)
    state.live.attach(agent)
    await agent.invoke_async("Which tea?")
    await state.settled()
    await state.set(max_entries=1)
    (note,) = state.live.notes
    assert note.startswith(
        "call 1 of Strands Agent 'guide': with the settings and memories as they stand here its model would get other "
        "input: message 1 (user) has as block 1 "
    )
    await state.set(max_entries=5)
    assert state.live.notes == []


async def test_an_earlier_call_can_be_opened_again() -> None:
    agent = agent_with("Green.", "You do.")
    state = WorkbenchState(agent)
    recording = state.live.attach(agent)
    await agent.invoke_async("Which tea?")
    await agent.invoke_async("Do I use a cane?")
    trace = await state.live.open(1)
    assert (state.live.call, trace.query) == (recording[0], "Which tea?")
    await state.set(messages="Something else")
    assert state.live.call is None
    with pytest.raises(ConfigError, match="no recorded call 3, but calls 1 to 2"):
        await state.live.open(3)


async def test_without_a_recording_there_is_no_call_to_open() -> None:
    state = WorkbenchState(agent_with())
    with pytest.raises(ConfigError, match="no recorded call 1, but no call yet"):
        await state.live.open(1)


async def test_a_predicate_sees_the_state_of_the_recorded_call() -> None:
    def only_first(context: Any) -> bool:
        return context.state.get("turn") == 1

    stores = [WordStore("home", "green tea")]
    agent = Agent(
        model=scripted(["a", "b"]),
        plugins=[plugin(MemoryManager(stores, injection={"trigger": only_first}))],
        callback_handler=None,
        state={"turn": 1},
    )
    state = WorkbenchState(agent)
    state.live.attach(agent)
    await agent.invoke_async("tea?")
    agent.state.set("turn", 2)
    await agent.invoke_async("tea?")
    await state.settled()
    assert not state.trace.injected
    assert (await state.live.open(1)).injected
    assert state.live.notes == []


async def test_b66_attaching_again_listens_once_and_closing_the_workbench_ends_it() -> None:
    agent = agent_with("a", "b")
    state = WorkbenchState(agent)
    first, second = state.live.attach(agent), state.live.attach(agent)
    await agent.invoke_async("tea?")
    assert (len(first), len(second), first.attached) == (0, 1, False)
    assert repr(first) == f"Recording({first.label}: 0 model calls; ended, the workbench was attached anew)"
    state.close()
    await agent.invoke_async("tea?")
    assert (len(second), second.attached) == (1, False)
    assert repr(second).endswith("1 model call, each as its trace shows; ended)")
    gc.collect()


async def test_an_agent_with_the_plugin_opens_with_its_managers_placement_whatever_the_sdk_does() -> None:
    for placement in ("prepend", "append"):
        manager = MemoryManager([WordStore("home", "tea")], injection={"placement": placement})  # type: ignore[typeddict-item]
        agent = Agent(model=scripted(["yes"]), plugins=[plugin(manager)], callback_handler=None)
        state = WorkbenchState(agent, "tea?")
        await state.settled()
        assert state.injection == manager.injection
        assert state.source.manager is manager
        assert not [note for note in state.trace.notes if note.kind == "placement"]
