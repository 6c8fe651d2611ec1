"""What a notebook's cell shows is the same at every run and on every machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import memwb
from memwb.memory import MemoryEntry
from memwb.testing import ReplayAgent, ScriptedModel

MESSAGES = [{"role": "user", "content": [{"text": "Do I use a cane?"}]}]
CHANGING = re.compile(
    r"0x[0-9a-f]{6,}"  # an address
    r"|[0-9a-f]{8}-[0-9a-f]{4}-"  # a random id
    r"|\d{4}-\d\d-\d\dT\d\d:"  # a time
    r"|/(?:tmp|home|root|Users)/"  # a path
)


async def shown(folder: Path) -> list[object]:
    """One of each thing that a cell may end with."""
    store = memwb.TestMemoryStore(name="notes", path=folder / "notes.json")
    added = await store.add("I use a cane.")
    manager = memwb.MemoryManager([store])
    trace = await manager.trace_injection(MESSAGES)
    workbench = await memwb.Workbench(store, MESSAGES)
    missing = await memwb.Workbench(folder / "none.json", MESSAGES)
    things = [store, manager, trace, *trace.stages, *trace.hits, *trace.notes, await manager.why("cane", MESSAGES)]
    things += [workbench, missing, workbench.entries, MemoryEntry("I use a cane."), memwb.datasets.load("ikat-demo")]
    things += await extracted(folder)
    things += [
        await memwb.evaluate([{"id": "c1", "messages": MESSAGES, "expected": [added.id]}], {"default": {}}, store)
    ]
    return things


async def extracted(folder: Path) -> list[object]:
    """What extraction shows: its settings, how far it has come, and its log, as it is and as it is printed."""
    store = memwb.TestMemoryStore(name="facts", path=folder / "facts.json", extraction=True)
    manager = memwb.MemoryManager([store])
    model = ScriptedModel([OSError("no quota"), [{"content": "The user uses a cane."}]])
    await ReplayAgent(MESSAGES, manager, aux_model=model).run()
    await manager.flush()
    await manager.flush()
    log = manager.extraction_log
    return [manager.extraction, manager.extraction_status(), log, str(log), *log]


async def test_b73_no_repr_shows_an_address_a_random_id_a_time_or_a_path(tmp_path: Path) -> None:
    texts = [repr(thing) for thing in await shown(tmp_path)]
    assert [text for text in texts if CHANGING.search(text)] == []


@pytest.mark.parametrize("text", ["<object at 0x7f12ab34cd56>", "/tmp/x.json", "2026-01-01T00:00:00.000Z"])
def test_what_changes_is_recognised(text: str) -> None:
    assert CHANGING.search(text)
