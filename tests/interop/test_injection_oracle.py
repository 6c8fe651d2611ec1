"""The model of a real Strands agent sees exactly what memwb's injection gives, at each of its calls.

The agent runs the SDK's own memory manager over the same stores and settings. Whichever release is installed decides
where the block goes: 1.48 puts it first, 1.54 and later put it last.
"""

from __future__ import annotations

import gc
import random
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("strands")

from memwb.bridge.strands import placement
from memwb.memory import MemoryManager
from tests.interop import worlds
from tests.interop.capture import agent_with

pytestmark = [
    # Where a store cannot even be called, the SDK leaves the other stores' searches unawaited.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SETTINGS = 120  # agents a seed, each with two conversations
SEEDS = range(6)


def for_a_model(messages: Any) -> list[Any]:
    """Keep what the SDK sends to a model: role and content."""
    return [{"role": message["role"], "content": message["content"]} for message in messages]


def configured(injection: Any) -> Any:
    """Return the setting for memwb: the same one, at the place where the installed SDK puts the block."""
    return (
        {**(injection if isinstance(injection, dict) else {}), "placement": placement()}
        if injection is not False
        else False
    )


async def compare(rng: random.Random, seen: Counter[str]) -> None:
    stores, injection = worlds.stores(rng), worlds.injection(rng)
    agent, model = agent_with(stores, injection)
    manager = MemoryManager(stores, injection=configured(injection))
    for _ in range(2):
        agent.messages = worlds.conversation(rng)
        model.calls.clear()
        model.script = [worlds.text(rng, 3) for _ in range(rng.choices([0, 1, 2, 3], [4, 3, 2, 1])[0])]
        await agent.invoke_async(rng.choice([None, None, worlds.text(rng)]) if agent.messages else worlds.text(rng))
        for history, given in model.calls:
            trace = await manager.trace_injection(history, state=agent.state, agent=agent)
            expected = for_a_model(trace.messages)
            assert given == expected, (injection, stores, trace.stages)
            assert repr(given) == repr(expected)
            seen["calls"] += 1
            seen["injected"] += trace.injected
            seen[f"{trace.skipped_at} {trace.stages[0].status}"] += 1
            seen["beside a tool result"] += trace.injected and "toolResult" in repr(trace.messages[-1]["content"])
            seen["at an assistant's message"] += trace.injected and history[-1]["role"] == "assistant"
            seen["failed"] += trace.error is not None


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_model_sees_what_inject_gives(seed: int) -> None:
    rng, seen = random.Random(f"injection {seed}"), Counter[str]()
    for _ in range(SETTINGS):
        await compare(rng, seen)
    gc.collect()  # the coroutines that the SDK left unawaited go here, where they are expected, not in a later test
    # The comparison must not be empty: each way through the injection is taken often.
    assert seen["calls"] >= 350, seen
    assert seen["injected"] >= 80, seen
    assert seen["beside a tool result"] >= 8, seen
    assert seen["failed"] >= 15, seen


async def test_a_folded_copy_keeps_the_messages_metadata_as_the_sdk_does() -> None:
    from strands.injection._message_injection import _fold_into_last_user_message

    messages: list[Any] = [
        {"role": "user", "content": [{"text": "tea?"}], "metadata": {"usage": {"n": 1}}, "tracking_id": "x"},
        {"role": "assistant", "content": [{"text": "yes"}], "metadata": {"n": 2}},
    ]
    store = worlds.WordStore("home", "tea")
    manager = MemoryManager(
        [store], injection={"trigger": "everyTurn", "query": worlds.constant, "placement": placement()}
    )
    trace = await manager.trace_injection(messages)
    folded = _fold_into_last_user_message(messages, trace.text)
    assert trace.messages == (folded[0] if isinstance(folded, tuple) else folded)


async def test_two_agents_share_one_store_and_neither_changes_it() -> None:
    store = worlds.WordStore("home", "tea", "latex")
    for words in ("tea", "latex", "nothing"):
        agent, model = agent_with([store], True)
        await agent.invoke_async(words)
        history, given = model.calls[0]
        manager = MemoryManager([store], injection={"placement": placement()})
        assert given == for_a_model(await manager.inject(history))
        assert agent.messages[0]["content"] == [{"text": words}]  # the durable history is untouched
