"""Saves that are cut off from outside have failed: their messages wait for another try."""

from __future__ import annotations

import asyncio

from memwb.memory import IntervalTrigger, MemoryManager, ModelExtractor
from memwb.memory.extraction.happenings import Failed
from memwb.stores import TestMemoryStore
from memwb.testing import FaultyModel, ReplayAgent, ScriptedModel
from tests.memory.stores import assistant, user


async def test_a_save_that_hangs_is_cut_off_and_made_by_the_next_flush() -> None:
    model = FaultyModel(ScriptedModel([[{"content": "likes tea"}]]), ["hang"])
    store = TestMemoryStore(
        name="notes", persist=False, extraction={"trigger": IntervalTrigger(1), "extractor": ModelExtractor(model)}
    )
    manager = MemoryManager([store])
    agent = ReplayAgent([user("I like tea."), assistant("Noted.")], manager, wait_for_saves=False)
    await agent.run()
    await asyncio.sleep(0)
    assert manager.extraction_status()[0].saving == (0, 1)
    manager.cut_off_saves()
    await manager.wait_for_saves()
    (failed,) = manager.extraction_log.of(Failed)
    assert (failed.cancelled, failed.numbers, await store.count()) == (True, (0, 1), 0)
    manager.cut_off_saves()
    await manager.flush()
    assert [record.content for record in await store.page(0, 9)] == ["likes tea"]
