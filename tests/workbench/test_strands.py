"""A workbench on an agent of the Strands Agents SDK: it reads all of it, changes nothing, and previews what it gets."""

from __future__ import annotations

import copy

import pytest

pytest.importorskip("strands.memory", reason="These tests open a real Strands Agent.")

from strands import Agent
from strands.memory import MemoryManager
from strands.vended_memory_stores.test_memory_store import TestMemoryStore as StrandsStore

import memwb
from memwb.bridge.strands import placement
from memwb.errors import ConfigError
from memwb.workbench import WorkbenchState
from tests.interop.capture import CapturingModel
from tests.workbench.fakes import ABOUT_ME, SearchStore, assistant, user

TALK = [user("Hello"), assistant("Hi."), user("Do I use a cane?"), assistant("You do.")]


def spoken(messages):
    """What a model reads of messages, without the SDK's own keys."""
    return [(message["role"], message["content"]) for message in messages]


async def agent_with(store, injection=True, messages=TALK, **given):
    for content in ABOUT_ME:
        if hasattr(store, "add"):
            await store.add(content)
    model = CapturingModel()
    manager = MemoryManager([store], injection=injection)
    model.agent = Agent(model=model, memory_manager=manager, messages=messages, callback_handler=None, **given)
    return model.agent, model


async def test_an_agent_opens_at_its_last_call_with_its_stores_settings_and_messages(tmp_path):
    agent, _ = await agent_with(StrandsStore(name="notes", path=str(tmp_path / "n.json")), {"max_entries": 2})

    state = WorkbenchState(agent)
    await state.settled()
    assert repr(state) == "Workbench(1 store, 4 entries; call 2: 2 of 4 hits injected)"
    assert (state.messages, state.left_out) == (TALK, 1)
    assert state.injection == {"max_entries": 2, "trigger": "userTurn", "placement": placement()}
    assert state.entries.records[0].content == ABOUT_ME[0]


async def test_the_preview_is_what_the_agents_model_gets(tmp_path):
    agent, model = await agent_with(StrandsStore(name="notes", path=str(tmp_path / "n.json")), messages=TALK[:2])
    state = WorkbenchState(agent, [*TALK[:2], user("Do I use a cane?")])
    await state.settled()

    await agent.invoke_async("Do I use a cane?")
    history, given = map(spoken, model.calls[-1])
    assert (history, given) == (spoken(state.seen), spoken(state.trace.messages))


async def test_a_snapshot_of_an_agent_and_of_an_arm_on_its_store_opens_as_plain_stores(tmp_path):
    agent, _ = await agent_with(StrandsStore(name="notes", path=str(tmp_path / "n.json")), {"max_entries": 2})
    other = StrandsStore(name="notes", path=str(tmp_path / "other.json"))
    await other.add("I use a cane on Mondays.")
    state = WorkbenchState(agent)
    state.arms.pin("other", stores=[other])
    again = WorkbenchState(await memwb.snapshot(state, tmp_path / "kept"))
    await again.settled()
    assert [type(store).__module__ for store in again.source.stores] == ["memwb.stores.json_file"]
    assert (again.source.agent, again.source.tools, again.messages) == (None, None, state.messages)
    assert (again.trace.text, again.injection) == (state.trace.text, state.injection)
    assert [hit.content for hit in again.hits] == [hit.content for hit in state.hits]
    (call,) = (await again.arms.compare(no_memory=False)).calls
    assert [place.content for place in call.outcomes[1].entries] == ["I use a cane on Mondays."]


async def test_nothing_of_the_agent_is_changed(tmp_path):
    path = tmp_path / "n.json"
    agent, _ = await agent_with(StrandsStore(name="notes", path=str(path)), {"max_entries": 2})
    before = (path.read_bytes(), copy.deepcopy(agent.messages))

    state = WorkbenchState(agent)
    await state.set(max_entries=1, query=lambda context: context.messages.clear() or "cane", messages="Other words")
    assert state.trace.injected
    assert (path.read_bytes(), agent.messages) == before
    assert agent.memory_manager._injection_config == {"max_entries": 2}


async def test_a_trigger_predicate_sees_the_agent_and_its_state_as_in_a_real_call(tmp_path):
    def asked_for(context):
        return context.state.get("memories") == "yes" and context.agent.name == "mine"

    store = StrandsStore(name="notes", path=str(tmp_path / "n.json"))
    agent, _ = await agent_with(store, {"trigger": asked_for}, state={"memories": "yes"}, name="mine")
    state = WorkbenchState(agent)
    await state.settled()
    assert state.trace.injected
    assert (await state.why("cane")).arrived


async def test_a_trigger_predicate_that_changes_the_state_changes_a_copy(tmp_path):
    def spoil(context):
        context.state.set("memories", "spoilt")
        return True

    store = StrandsStore(name="notes", path=str(tmp_path / "n.json"))
    agent, _ = await agent_with(store, {"trigger": spoil}, state={"memories": "yes"})
    state = WorkbenchState(agent)
    await state.settled()

    assert (state.trace.injected, agent.state.get("memories")) == (True, "yes")


async def test_a_manager_opens_without_a_conversation(tmp_path):
    agent, _ = await agent_with(StrandsStore(name="notes", path=str(tmp_path / "n.json")))

    state = WorkbenchState(agent.memory_manager)
    await state.settled()
    assert (state.messages, state.call, state.trace.skipped_at) == ([], 0, "trigger")


async def test_a_store_of_ones_own_inside_an_agent_is_seen_through_its_search():
    agent, _ = await agent_with(SearchStore(*ABOUT_ME))

    state = WorkbenchState(agent)
    await state.settled()
    assert repr(state) == "Workbench(1 store; call 2: 4 of 4 hits injected)"
    assert state.source.notes == ("store 'profile' cannot list its entries: it is seen through its search",)


async def test_an_agent_without_memory_is_refused_with_what_to_do():
    with pytest.raises(ConfigError, match="has no memory manager"):
        WorkbenchState(Agent(model=CapturingModel(), callback_handler=None))
