"""Notes: what surprises in an injection, said in one sentence each, and nothing where nothing does."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from memwb.memory import InjectionTrace, MemoryEntry
from memwb.memory import notes as notes_module
from memwb.memory.injection import run_injection
from memwb.memory.settings import resolve_injection
from memwb.ranking import STOP_WORDS_NAME
from tests.memory.stores import BareStore, FailingStore, WordStore, user


async def traced(query: str, *stores: Any, injection: Any = True, host: Any = None) -> InjectionTrace:
    return await run_injection(stores, [user(query)], resolve_injection(injection), host_placement=host)


def told(trace: InjectionTrace) -> list[tuple[str, str]]:
    return [(note.kind, note.text) for note in trace.notes]


async def test_nothing_surprising_no_notes() -> None:
    assert (await traced("green tea", WordStore("home", "tea in a cup"))).notes == ()
    assert (await traced("milk", WordStore("home", "tea in a cup"))).notes == ()


async def test_the_stop_word_note_counts_names_the_words_and_holds_the_hits() -> None:
    trace = await traced("what is the tea", WordStore("home", "it is what it is", "the end", "tea", "the tea"))
    assert told(trace) == [
        (
            "stop words",
            f"2 of 4 kept entries matched by stop words alone (what, is, the); list: {STOP_WORDS_NAME}",
        )
    ]
    assert [hit.content for hit in trace.notes[0].hits] == ["it is what it is", "the end"]
    assert repr(trace.notes[0]).startswith("Note(stop words: 2 of 4 kept entries matched")


async def test_what_a_semantic_store_returns_is_not_judged_by_stop_words() -> None:
    entries = [MemoryEntry("it is", metadata={"_relevanceScore": 0.87}), MemoryEntry("it is too")]
    assert (await traced("is it?", BareStore("vectors", *entries))).notes == ()


async def test_a_cut_hit_has_no_stop_word_note() -> None:
    trace = await traced("the tea", WordStore("home", "the tea", "the end"), injection={"max_entries": 1})
    assert trace.notes == ()


async def test_a_store_starved_by_registration_order() -> None:
    stores = [WordStore("first", "tea 1", "tea 2"), WordStore("second", "tea 3"), WordStore("third", "green tea 4")]
    trace = await traced("green tea", *stores, injection={"max_entries": 2})
    assert told(trace) == [
        ("starved", "1 entry of 'second' cut: 'first', registered before it, filled the places"),
        ("starved", "1 entry of 'third' cut: 'first', registered before it, filled the places"),
    ]
    assert [hit.content for note in trace.notes for hit in note.hits] == ["tea 3", "green tea 4"]


async def test_a_store_that_got_some_places_is_not_starved() -> None:
    stores = [WordStore("first", "tea 1"), WordStore("second", "tea 2", "tea 3")]
    assert (await traced("tea", *stores, injection={"max_entries": 2})).notes == ()


async def test_the_same_content_in_two_stores() -> None:
    trace = await traced("tea", WordStore("home", "tea"), WordStore("work", " tea\n"), WordStore("else", "green tea"))
    assert told(trace) == [("duplicate", "'tea' takes a place for each of 'home', 'work'")]
    assert [hit.store for hit in trace.notes[0].hits] == ["home", "work"]


async def test_the_same_content_in_one_store_or_cut_is_no_duplicate() -> None:
    assert (await traced("tea", BareStore("home", "tea", "tea"))).notes == ()
    trace = await traced("tea", WordStore("a", "tea"), WordStore("b", "tea", "green tea"), injection={"max_entries": 1})
    assert [note.kind for note in trace.notes] == ["starved"]


async def test_a_store_that_failed() -> None:
    trace = await traced("tea", FailingStore("cloud"), WordStore("home", "tea"))
    assert told(trace) == [
        ("store failed", "store 'cloud' raised ConnectionError('no route'); the agent goes on without it")
    ]


async def test_a_store_that_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(BareStore):
        async def search(self, query: str, options: Any = None) -> Any:
            await asyncio.sleep(0.06)
            return [MemoryEntry("tea")]

    monkeypatch.setattr(notes_module, "SLOW_SECONDS", 0.05)
    trace = await traced("tea", Slow("far"), WordStore("home", "tea leaf"))
    ((kind, text),) = told(trace)
    assert kind == "store slow"
    assert re.fullmatch(r"store 'far' took \d+\.\d s; every model call waits for it", text)


async def test_b12_characters_that_xml_forbids_are_told_of_and_passed_as_they_are() -> None:
    store = BareStore("home", "a\x00b", "bell\x08", "esc\x1b[31m", "end\ufffe", "fine \x85")
    trace = await traced("x", store)
    assert told(trace) == [
        ("forbidden characters", "the block holds characters that XML forbids: \\x00, \\x08, \\x1b, \\ufffe")
    ]
    assert [hit.content for hit in trace.notes[0].hits] == ["a\x00b", "bell\x08", "esc\x1b[31m", "end\ufffe"]
    assert trace.text is not None
    assert all(entry.content in trace.text for entry in store.found)  # what the SDK's agent gets, byte for byte


async def test_b15_a_block_that_would_fill_the_prompt_is_told_of_with_its_size() -> None:
    huge = "tea " * 250_000
    trace = await traced("tea", BareStore("home", "small", huge), injection={"max_entries": 2})
    assert told(trace) == [("large block", "the block has about 250,021 tokens (1,000,083 characters)")]
    assert [hit.content for hit in trace.notes[0].hits] == [huge]
    assert trace.tokens == 250_021
    assert trace.summary == "2 entries injected, ~250,021 tokens"
    assert len(trace._repr_html_()) < 50_000
    assert "980,083 more characters" in trace._repr_html_()


async def test_the_placement_of_another_host() -> None:
    trace = await traced("tea", WordStore("home", "tea"), host="append")
    assert told(trace) == [("placement", "the installed Strands SDK does 'append', these settings 'prepend'")]
    assert (await traced("tea", WordStore("home", "tea"), host="prepend")).notes == ()
    assert (await traced("tea", WordStore("home", "tea"), host="append", injection={"placement": "append"})).notes == ()


async def test_the_most_telling_note_comes_first() -> None:
    stores = [FailingStore("cloud"), WordStore("home", "the end\x00", "the end"), WordStore("work", "the end")]
    trace = await traced("the", *stores, host="append")
    assert [note.kind for note in trace.notes] == [
        "store failed",
        "stop words",
        "duplicate",
        "forbidden characters",
        "placement",
    ]
