"""A replay fires its hooks in the order of a real Strands agent that has the same conversation, tool loops included."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.hooks import AfterInvocationEvent, BeforeModelCallEvent, MessageAddedEvent
from strands.memory import MemoryManager as StrandsManager

from memwb.bridge.strands import placement
from memwb.memory import AfterInvocation, BeforeModelCall, MemoryManager, MessageAdded
from memwb.testing import ReplayAgent, ScriptedModel
from tests.interop import worlds
from tests.interop.capture import CapturingModel, agent_with, look
from tests.memory.stores import WordStore

TURNS = 3


def for_a_model(messages: Any) -> list[Any]:
    return [{"role": message["role"], "content": message["content"]} for message in messages]


def listen(agent: Any, added: Any, before: Any, after: Any) -> list[Any]:
    """Write down the hooks of either agent, two callbacks of one order and an early one for each event."""
    seen: list[Any] = []
    for kind, name in ((added, "added"), (before, "call"), (after, "end")):
        for place, order in (("first", 0), ("second", 0), ("early", -7)):

            def note(event: Any, name: str = name, place: str = place) -> None:
                what = for_a_model([event.message]) if name == "added" else len(event.agent.messages)
                seen.append((name, place, what))

            agent.add_hook(note, kind, order=order)
    return seen


@pytest.mark.parametrize("seed", range(20))
async def test_the_hooks_of_a_replay_come_as_those_of_the_agent_that_was_recorded(seed: int) -> None:
    rng = random.Random(f"replay {seed}")
    store = WordStore("home", *(worlds.text(rng) for _ in range(6)))
    injection: Any = {"trigger": rng.choice(["userTurn", "everyTurn"]), "max_entries": rng.choice([1, 3])}
    agent, model = agent_with([store], injection)
    theirs = listen(agent, MessageAddedEvent, BeforeModelCallEvent, AfterInvocationEvent)
    for _ in range(TURNS):
        model.script = [worlds.text(rng, 3) for _ in range(rng.choice([0, 0, 1, 2]))]
        await agent.invoke_async(worlds.text(rng))
    recorded = for_a_model(agent.messages)
    assert sum("toolResult" in repr(message) for message in recorded) + 2 * TURNS <= len(recorded)

    replay = ReplayAgent(recorded, MemoryManager([store], injection={**injection, "placement": placement()}))
    ours = listen(replay, MessageAdded, BeforeModelCall, AfterInvocation)
    await replay.run()
    assert ours == theirs
    assert list(map(for_a_model, replay.model_inputs)) == [given for _, given in model.calls]


async def test_a_model_that_fails_ends_the_invocation_in_both() -> None:
    class Down(CapturingModel):
        async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            raise OSError("down")
            yield

    store = WordStore("home", "tea")
    agent = Agent(model=Down(), memory_manager=StrandsManager([store]), tools=[look], callback_handler=None)
    theirs = listen(agent, MessageAddedEvent, BeforeModelCallEvent, AfterInvocationEvent)
    with pytest.raises(Exception, match="down"):
        await agent.invoke_async("tea?")
    replay = ReplayAgent(for_a_model(agent.messages), MemoryManager([store]), ScriptedModel([OSError("down")]))
    ours = listen(replay, MessageAdded, BeforeModelCall, AfterInvocation)
    with pytest.raises(OSError, match="down"):
        await replay.run()
    assert ours == theirs
