"""The page of a workbench that listens to a live agent, and the actions that a cell has for it."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("strands.memory", reason="These tests run a real Strands Agent.")

from strands import Agent

import memwb
from memwb.bridge.strands import plugin, scripted
from memwb.bridge.strands.host import add_middleware, model_stage
from memwb.memory import MemoryEntry, MemoryManager
from memwb.widgets import panes
from tests.widgets.reading import hit_rows, read
from tests.workbench.fakes import ABOUT_ME, ListStore, SearchStore


def agent_with(*answers):
    memory = plugin(MemoryManager([ListStore(*ABOUT_ME)]))
    return Agent(model=scripted(answers), plugins=[memory], callback_handler=None, name="guide")


async def test_a_recorded_call_is_opened_and_its_model_input_is_what_the_model_got():
    agent = agent_with("You do.", " ", "Yes.")
    wb = memwb.Workbench(agent)
    recording = wb.attach(agent)
    for words in ("Do I use a cane?", "Do I like jazz?", "And latex?"):
        await agent.invoke_async(words)
    await wb
    assert repr(recording) == "Recording(Strands Agent 'guide': 3 model calls, each as its trace shows)"
    assert recording[2].after == agent.model.asked[2].messages
    shown = read(panes.lower(wb.state, "input"))
    assert "[blank text]" in shown  # what the SDK makes of an assistant's blank answer
    assert shown.endswith("And latex?")
    copied = []
    wb._low.send = copied.append
    wb._do_copy({"what": "input"})
    assert json.loads(copied[0]["copy"]) == agent.model.asked[2].messages
    assert (await wb.open_call(1)).query == "Do I use a cane?"
    wb.close()
    assert not recording.attached


async def test_what_differs_stands_above_the_panes():
    agent = agent_with("You do.")

    def louder(context):
        context.messages[-1]["content"].append({"text": "BE QUICK"})
        return context

    add_middleware(agent, model_stage().Input, louder)
    wb = memwb.Workbench(agent)
    wb.attach(agent)
    await agent.invoke_async("Do I use a cane?")
    await wb
    assert "what its model got is not what the trace of that moment shows" in read(panes.top(wb.state))
    wb.close()


class Vectors(SearchStore):
    """Tells a distance, as a knowledge base of the SDK with a ceiling does."""

    max_score = 1.5

    def _entry(self, at, score):
        return MemoryEntry(self.contents[at], None, {"_relevance_score": 1 / score})


async def test_a_distance_is_shown_as_one_beside_the_hit():
    store = type("BedrockKnowledgeBaseStore", (Vectors,), {"__module__": "strands.vended_memory_stores"})(*ABOUT_ME)
    wb = await memwb.Workbench(store, "Do I use a cane?")
    assert hit_rows(wb._hits.grid)[0].startswith("1 distance 0.25 I have moderate mobility")
    wb.close()


async def test_the_settings_are_exported_from_a_cell(tmp_path):
    wb = memwb.Workbench([ListStore(*ABOUT_ME)], "Do I use a cane?")
    await wb.set(max_entries=2)
    written = wb.export(tmp_path / "agent_memory.py")
    assert '"max_entries": 2' in written.module.read_text(encoding="utf-8")
    wb.close()
