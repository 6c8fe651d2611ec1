"""The still of a workbench: all that its screen shows, in a page without scripts."""

from __future__ import annotations

import re

import pytest

import memwb
from memwb.errors import StaleTraceError
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.still import still

FACTS = ["I use a cane.", "I use a bike.", "My desk is by the window."]
HOSTILE = "</style></div><script>alert(1)</script><img src=x onerror=alert(1)> use \u202e \x00 $x$"


@pytest.fixture(autouse=True)
def as_before():
    yield
    memwb.options(stills=True, redact=None)


@pytest.fixture
async def state():
    state = WorkbenchState(FACTS, ["Hello?", "Yes.", "What do I use?"], injection={"max_entries": 1})
    state.look_for("cane")
    await state.settled()
    return state


async def test_it_holds_verdict_stages_conversation_hits_with_the_cut_block_and_settings(state):
    shown = still(state)
    assert repr(shown) == f"Still({state!r})"
    words = re.sub(r"<style>.*?</style>|<[^>]+>", " ", shown.html, flags=re.DOTALL)
    order = ["✗", "Try:", "trigger ✓", "Conversation", "Hello?", "Hits", "max_entries 1: 1 cut", "Block, ~", "Settings"]
    places = [words.index(each) for each in order]
    assert places == sorted(places)
    assert "max_entries 1; trigger userTurn; placement prepend; stores texts" in words


async def test_it_has_no_script_and_hostile_texts_stay_texts():
    state = WorkbenchState([HOSTILE], [HOSTILE])
    await state.settled()
    html = still(state).html
    assert [each for each in ("<script", "<img", "\x00", "\u202e") if each in html] == []
    assert html.count("</style>") == 1


async def test_it_is_written_as_a_file_of_its_own(state, tmp_path):
    file = still(state).save(tmp_path / "still.html")
    assert file.read_text("utf-8").startswith('<!doctype html><meta charset="utf-8">')
    assert "http" not in file.read_text("utf-8")


async def test_a_change_that_waits_has_no_still(state):
    state.put(max_entries=2)
    with pytest.raises(StaleTraceError):
        still(state)


async def test_b65_the_still_of_a_store_of_many_long_entries_is_small_and_says_what_is_left_out():
    records = [
        {"id": str(at), "content": f"cane {at} " + "<long> " * 280, "createdAt": "2024-01-01T00:00:00.000Z"}
        for at in range(20_000)
    ]
    state = WorkbenchState([TestMemoryStore.from_records(records, name="many")], ["cane " * 500] * 99)
    await state.settled()
    html = still(state).html
    assert len(html.encode()) < 60_000
    assert "19,970 more hits not shown" in html
    assert "91 earlier messages not shown" in html


async def test_masked_it_shows_no_word_of_memory(state):
    memwb.options(redact=True)
    html = still(state).html.lower()
    assert [word for word in ("cane", "bike", "desk", "window", "hello") if word in html] == []
    assert "▒▒▒▒" in html
