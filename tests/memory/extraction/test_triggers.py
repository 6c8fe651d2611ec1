"""The triggers that come with extraction, and the types around them."""

from __future__ import annotations

from typing import Any

import pytest

from memwb.errors import ConfigError
from memwb.memory import (
    AddMessagesContext,
    AfterInvocation,
    BeforeModelCall,
    ExtractionResult,
    ExtractionTrigger,
    ExtractionTriggerContext,
    ExtractorContext,
    IntervalTrigger,
    InvocationTrigger,
    MemoryManager,
    MemoryMessageFilter,
    MessageAdded,
)
from tests.memory.extraction.host import facts


class Agent:
    """Keeps the hooks that it is given, and calls them at the end of an invocation."""

    def __init__(self) -> None:
        self.hooks: list[Any] = []

    def add_hook(self, callback: Any, event_type: Any, order: int = 0) -> None:
        self.hooks.append((callback, event_type, order))

    def invoke(self) -> None:
        for callback, event_type, _ in self.hooks:
            callback(event_type(self))


def attached(trigger: ExtractionTrigger, agent: Agent | None = None) -> tuple[Agent, list[str]]:
    agent, fired = agent or Agent(), list[str]()
    trigger.attach(ExtractionTriggerContext(agent=agent, fire=lambda: fired.append("fired")))
    return agent, fired


@pytest.mark.parametrize(
    ("trigger", "after_seven"),
    [(InvocationTrigger(), 7), (IntervalTrigger(1), 7), (IntervalTrigger(3), 2), (IntervalTrigger(8), 0)],
)
def test_a_trigger_fires_at_the_end_of_its_invocations(trigger: Any, after_seven: int) -> None:
    agent, fired = attached(trigger)
    for _ in range(7):
        agent.invoke()
    assert len(fired) == after_seven


@pytest.mark.parametrize("trigger", [InvocationTrigger(), IntervalTrigger(2)])
def test_a_trigger_hooks_the_end_of_an_invocation_late(trigger: Any) -> None:
    agent, _ = attached(trigger)
    assert [(event_type, order) for _, event_type, order in agent.hooks] == [(AfterInvocation, 100)]


def test_a_shared_interval_counts_for_each_attachment() -> None:
    trigger = IntervalTrigger(2)
    first, fired_first = attached(trigger)
    second, fired_second = attached(trigger)
    first.invoke()
    second.invoke()
    assert (fired_first, fired_second) == ([], [])
    first.invoke()
    assert (fired_first, fired_second) == (["fired"], [])


def test_triggers_have_names_and_a_trigger_of_ones_own_needs_attach() -> None:
    assert (InvocationTrigger.name, IntervalTrigger.name) == ("invocation", "interval")
    with pytest.raises(TypeError, match="abstract"):
        ExtractionTrigger()  # type: ignore[abstract]


def test_a_trigger_whose_attach_is_async_is_refused() -> None:
    class Late(ExtractionTrigger):
        name = "late"

        async def attach(self, context: ExtractionTriggerContext) -> None:  # type: ignore[override]
            context.fire()

    with pytest.raises(
        ConfigError, match=r"'home' has a Late whose attach is the async function 'attach'; .*plain 'def'"
    ):
        MemoryManager([facts("home", trigger=Late())])


def test_the_filter_drops_tool_calls_and_results_by_default() -> None:
    assert list(MemoryMessageFilter().exclude) == ["toolUse", "toolResult"]
    MemoryMessageFilter().exclude.append("text")  # type: ignore[attr-defined]
    assert MemoryMessageFilter() == MemoryMessageFilter(exclude=["toolUse", "toolResult"])


def test_events_and_results_are_plain_data() -> None:
    agent, message = object(), {"role": "user", "content": []}
    assert MessageAdded(agent, message) == MessageAdded(agent=agent, message=message)
    assert BeforeModelCall(agent, [message]).messages == [message]
    assert AfterInvocation(agent).agent is agent
    assert ExtractionResult("tea") == ExtractionResult(content="tea", metadata=None)
    assert ExtractorContext().default_model is None
    assert AddMessagesContext([3, 5]).sequence_numbers == [3, 5]
