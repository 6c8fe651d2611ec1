"""The ready callbacks run unchanged in an agent of the SDK, and its model gets what the preview shows."""

from __future__ import annotations

import asyncio
import gc
import random
from functools import partial
from typing import Any

import pytest

pytest.importorskip("strands")

from memwb import callbacks
from memwb.memory import MemoryManager
from memwb.stores import TestMemoryStore
from tests.interop import worlds
from tests.interop.capture import agent_with
from tests.interop.test_injection_oracle import configured, for_a_model
from tests.memory.stores import WordStore, assistant, user

pytestmark = [
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

QUERIES = [
    callbacks.latest_user_message,
    callbacks.last_two_messages,
    callbacks.question_with_answer,
    callbacks.latest_without_stop_words,
    callbacks.whole_history,
]
FORMATS = [
    callbacks.default_block,
    callbacks.block_with_dates_and_ids,
    callbacks.bullet_list,
    callbacks.grouped_by_store,
    partial(callbacks.token_budgeted, budget=20),
]
FILTERS = [callbacks.no_duplicates, partial(callbacks.score_floor, least=1), callbacks.not_said]


@pytest.mark.parametrize("query", QUERIES, ids=lambda one: one.__name__)
async def test_the_model_gets_what_the_trace_shows(query: Any) -> None:
    rng, injected = random.Random(query.__name__), 0
    for format in [one for one in FORMATS for _ in range(6)]:
        filters = rng.sample(FILTERS, rng.randint(0, 3))
        injection = {
            "query": callbacks.Remembering(query),
            "format": callbacks.Filtered(format, *filters) if filters else format,
            "trigger": "everyTurn",
        }
        stores = worlds.stores(rng)
        agent, model = agent_with(stores, injection)
        manager = MemoryManager(stores, injection=configured(injection))
        agent.messages = worlds.conversation(rng) or [user("tea")]
        model.script = [worlds.text(rng, 3) for _ in range(rng.randint(0, 2))]
        await agent.invoke_async(None)
        for history, given in model.calls:
            trace = await manager.trace_injection(history, state=agent.state, agent=agent)
            assert given == for_a_model(trace.messages), (injection, trace.stages)
            injected += trace.injected
    gc.collect()
    assert injected >= 8


async def test_agents_that_share_a_store_at_the_same_time_each_leave_out_what_they_said() -> None:
    class Slow(WordStore):
        async def search(self, query: str, options: Any = None) -> Any:
            await asyncio.sleep(0.02)
            return await super().search(query, options)

    stores = [Slow("home", "green tea", "black tea", "white tea")]
    injection = {
        "query": callbacks.Remembering(),
        "format": callbacks.Filtered(callbacks.bullet_list, callbacks.not_said),
    }
    kinds = ["green", "black", "white"]
    sides = [agent_with(stores, injection) for _ in kinds]
    for kind, (agent, _) in zip(kinds, sides, strict=True):
        agent.messages = [user(f"I have {kind} tea"), assistant("I see."), user("Which tea else?")]
    await asyncio.gather(*(agent.invoke_async(None) for agent, _ in sides))
    for kind, (_, model) in zip(kinds, sides, strict=True):
        given = str(model.calls[0][1][-1])
        assert [f"- {other} tea" in given for other in kinds] == [other != kind for other in kinds]


def test_a_synchronous_call_remembers_too() -> None:
    injection = {
        "query": callbacks.Remembering(),
        "format": callbacks.Filtered(callbacks.bullet_list, callbacks.not_said),
    }
    agent, model = agent_with([WordStore("home", "green tea", "black tea")], injection)
    agent("I like green tea")
    assert "- black tea" in str(model.calls[0][1])
    assert "- green tea" not in str(model.calls[0][1])


async def test_dates_and_ids_reach_an_agent_from_a_store_that_tells_them() -> None:
    record: Any = {"content": "green tea", "id": "r1", "createdAt": "2026-01-01T00:00:00.000Z"}
    store = TestMemoryStore.from_records([record], name="home", provenance=True)
    injection = {"format": callbacks.block_with_dates_and_ids}
    agent, model = agent_with([store], injection)
    await agent.invoke_async("Which tea?")
    shown = await MemoryManager([store], injection=configured(injection)).trace_injection([user("Which tea?")])
    assert '<entry source="home" id="r1" date="2026-01-01T00:00:00.000Z">green tea</entry>' in str(shown.text)
    assert model.calls[0][1] == for_a_model(shown.messages)
