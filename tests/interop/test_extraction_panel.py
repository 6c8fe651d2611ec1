"""The extraction panel on an agent of the SDK: its stores, triggers, extractors and model are those of the agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.memory import MemoryManager
from strands.memory.extraction.model_extractor import ModelExtractor
from strands.memory.extraction.triggers import IntervalTrigger
from strands.models import Model

from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.extraction import ExtractionState
from tests.interop.capture import StreamingModel
from tests.memory.stores import assistant, user

TALK = [
    user("I like tea."),
    assistant("Noted."),
    user("And jazz."),
    assistant("Fine."),
    user("Bye."),
    assistant("Bye."),
]


class Finding(StreamingModel):
    """Answers with one fact, and writes down what it is asked."""

    def __init__(self, fact: str) -> None:
        self.fact = fact
        self.asked: list[tuple[str | None, str]] = []

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        self.asked.append((system_prompt, messages[-1]["content"][0]["text"]))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": f'[{{"content": "{self.fact}"}}]'}}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def opened(extraction: Any, model: Model) -> tuple[ExtractionState, TestMemoryStore]:
    store = TestMemoryStore(name="profile", persist=False, extraction=extraction)
    agent = Agent(model=model, memory_manager=MemoryManager([store]), messages=TALK, callback_handler=None)
    return ExtractionState(WorkbenchState(agent), review=False), store


async def test_the_sdks_trigger_and_extractor_do_their_part_on_copies() -> None:
    own, asked = Finding("unasked"), Finding("likes tea and jazz")
    panel, store = opened(
        {"trigger": [IntervalTrigger(turns=2)], "extractor": ModelExtractor(model=asked, system_prompt="Tastes.")}, own
    )
    await panel.run()
    assert [fact.content for fact in panel.facts] == ["likes tea and jazz"]
    assert panel.unsaved == (4, 5)
    ((system, transcript),) = asked.asked
    assert system is not None
    assert system.startswith("Tastes.")
    assert transcript.endswith("user: I like tea.\nassistant: Noted.\nuser: And jazz.\nassistant: Fine.")
    assert (own.asked, await store.count()) == ([], 0)


async def test_the_agents_model_is_asked_where_the_extractor_has_none() -> None:
    model = Finding("likes tea")
    panel, _ = opened({"trigger": [IntervalTrigger(turns=3)], "extractor": ModelExtractor()}, model)
    assert panel.model_name == "StrandsModel(Finding)"
    await panel.run()
    assert ([fact.content for fact in panel.facts], len(model.asked)) == (["likes tea"], 1)
