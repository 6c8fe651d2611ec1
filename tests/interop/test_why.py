"""Why an entry of an agent is missing: its SDK tells what it still holds, and recorded calls tell when they were."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.memory import MemoryManager as SdkManager

from memwb.bridge.strands import plugin, scripted
from memwb.memory import ExtractionTrigger, MemoryManager
from memwb.stores import TestMemoryStore
from memwb.testing import frozen
from memwb.workbench import WorkbenchState
from tests.memory.stores import AddStore


class Never(ExtractionTrigger):
    name = "never"

    def attach(self, context: Any) -> None:
        return None


LATEX = "I am allergic to latex"


def agent_of(manager: Any, *answers: str) -> Any:
    return Agent(model=scripted(answers or ["Noted."]), callback_handler=None, memory_manager=manager)


async def why(agent: Any, target: Any = LATEX) -> Any:
    state = WorkbenchState(agent)
    await state.settled()
    return await state.why(target)


async def test_a_message_that_the_sdks_extraction_has_not_saved_yet() -> None:
    agent = agent_of(SdkManager([AddStore("home", "milk", extraction=True)]))
    await agent.invoke_async(LATEX)
    found = await why(agent)
    assert found.sentence.endswith(
        "message 1 says it, and is not saved to 'home' yet: extraction comes every 5 invocations."
    )
    assert found.advice == "`await manager.flush()` saves it now."


async def test_an_agent_of_the_sdk_that_writes_nothing() -> None:
    agent = agent_of(SdkManager([AddStore("home", "milk")]))
    await agent.invoke_async(LATEX)
    assert (await why(agent)).sentence.endswith(
        "message 1 says it, but nothing writes here: the add tool is off and no store extracts."
    )


async def test_an_agent_of_the_sdk_whose_model_may_write() -> None:
    agent = agent_of(SdkManager([AddStore("home", "milk")], add_tool_config=True))
    await agent.invoke_async(LATEX)
    assert "nothing writes" not in (await why(agent)).sentence


async def test_memwbs_extraction_in_an_agent_of_the_sdk_is_asked_itself() -> None:
    store = AddStore("home", "milk", extraction={"trigger": Never()})
    agent = Agent(model=scripted(["Noted."]), callback_handler=None, plugins=[plugin(MemoryManager([store]))])
    await agent.invoke_async(LATEX)
    assert (await why(agent)).sentence.endswith("message 1 says it, and is not saved to 'home' yet: not flushed.")


async def test_an_entry_that_was_written_after_the_recorded_call() -> None:
    with frozen() as (clock, _):
        store = TestMemoryStore(name="home", persist=False)
        await store.add("green tea")
        agent = Agent(model=scripted(["Yes."]), callback_handler=None, plugins=[plugin(MemoryManager([store]))])
        state = WorkbenchState(agent)
        state.live.attach(agent)
        await agent.invoke_async("tea?")
        await state.settled()
        clock.advance(seconds=60)
        await store.add("black tea")
        assert not (await state.why("green tea")).newer
        late = await state.why("black tea")
    assert late.newer
    assert "It was written after this call, on " in late.sentence
