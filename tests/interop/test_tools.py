"""The tools panel on an agent of the SDK: told in the SDK's words, and run by its code."""

from __future__ import annotations

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.memory import MemoryManager
from strands.vended_memory_stores.test_memory_store.store import TestMemoryStore

from memwb.bridge.strands import memory_tools, scripted
from memwb.memory.tools import MemoryTool
from memwb.workbench import WorkbenchState
from memwb.workbench.tools import ToolsState


async def filled(**given):
    store = TestMemoryStore(name="profile", persist=False, **given)
    await store.add("I like jazz.")
    return store


async def test_an_agents_own_tools_are_shown_by_its_names_and_descriptions():
    manager = MemoryManager(
        stores=[await filled()], search_tool_config={"name": "recall", "description": "Look it up."}
    )
    state = ToolsState(WorkbenchState(Agent(model=scripted(["ok"]), memory_manager=manager), "jazz?"))

    [tool] = state.tools.values()
    theirs = manager.tools[0].tool_spec
    assert (tool.name, tool.description) == ("recall", theirs["description"])
    assert tool.input_schema == theirs["inputSchema"]["json"]


async def test_a_call_goes_to_the_tool_of_the_sdk():
    store = await filled()
    manager = MemoryManager(stores=[store], add_tool_config=True)
    state = ToolsState(WorkbenchState(manager, "jazz?"))

    found = await state.run("search_memory", query="jazz")
    written = await state.run("add_memory", entries=["I drink tea."])

    assert found.payload == await manager.tools[0](query="jazz")
    assert written.payload == {"stored": 1}
    assert [entry.content for entry in await store.search("tea")] == ["I drink tea."]


async def test_a_tool_that_is_off_is_not_shown_and_the_comparison_says_so():
    manager = MemoryManager(stores=[await filled()], search_tool_config=False, add_tool_config=False)
    state = ToolsState(WorkbenchState(manager, "jazz?"))

    assert state.tools == {}
    sentence = (await state.compare("jazz")).sentence
    assert sentence.startswith("A search tool, which the model does not have, would return 1 entry")


async def test_a_dry_run_keeps_to_the_stores_that_the_agents_tool_may_write_to():
    stores = [await filled(), TestMemoryStore(name="other", persist=False)]
    manager = MemoryManager(stores=stores, add_tool_config={"stores": [stores[1]]})
    state = ToolsState(WorkbenchState(manager, "jazz?"))

    dry = await state.dry_run(["I like jazz."])

    assert [(write.store, write.outcome) for write in dry] == [("other", "new")]


async def test_what_stores_offer_besides_is_handed_on_as_it_is():
    class Gifted(TestMemoryStore):
        __test__ = False

        def get_tools(self):
            return [extra]

    extra = object()
    manager = MemoryManager(stores=[Gifted(name="gifted", persist=False)], add_tool_config=False)

    search, other = memory_tools(manager)
    assert isinstance(search, MemoryTool)
    assert other is extra
    assert memory_tools({"stores": []}) is None
