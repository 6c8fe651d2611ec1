"""What is shown below the cut, why an entry arrives or not, and the states in which nothing does."""

from __future__ import annotations

import asyncio
import time

import pytest

from memwb import callbacks, datasets
from memwb.memory import MemoryManager
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.meanings import limit_note
from tests.workbench.fakes import ABOUT_ME, ListStore, SearchStore, assistant, user

CANE = "I have moderate mobility issues and use a cane."
CASE = datasets.load("ikat-demo").case("2024-test/11/t4")


async def bench(*stores, messages="Do I use a cane?", **given):
    state = WorkbenchState(list(stores) or ListStore(*ABOUT_ME), messages, **given)
    await state.settled()
    return state


def hits(state):
    return [(hit.store, hit.rank, hit.kept, hit.cut_by) for hit in state.hits]


# -- below the cut --------------------------------------------------------------------------------------------------


async def test_the_hits_below_the_cut_are_shown_as_well():
    state = await bench(injection={"max_entries": 2})

    assert hits(state) == [
        ("profile", 1, True, None),
        ("profile", 2, True, None),
        ("profile", 3, False, "max_entries"),
        ("profile", 4, False, "max_entries"),
    ]
    assert (len(state.trace.hits), state.preview.matching, state.preview.entries) == (2, 4, 4)


async def test_of_two_thousand_hits_the_first_fifty_are_shown_and_all_are_counted():
    state = await bench(ListStore(*(f"cane {number}" for number in range(2000))), messages="cane")

    assert (len(state.hits), sum(hit.kept for hit in state.hits)) == (50, 5)
    assert (state.preview.matching, state.preview.entries) == (2000, 2000)


async def test_a_max_entries_above_fifty_shows_all_that_it_keeps():
    state = await bench(ListStore(*(f"cane {number}" for number in range(200))), messages="cane")

    await state.set(max_entries=70)
    assert (len(state.hits), sum(hit.kept for hit in state.hits)) == (70, 70)


async def test_several_stores_are_shown_in_their_order_and_a_starved_one_too():
    state = await bench(
        ListStore(*ABOUT_ME, name="home"), ListStore("a cane", name="work"), injection={"max_entries": 3}
    )

    assert hits(state) == [
        ("home", 1, True, None),
        ("home", 2, True, None),
        ("home", 3, True, None),
        ("home", 4, False, "max_entries"),
        ("work", 1, False, "max_entries"),
    ]
    assert [note.kind for note in state.trace.notes if note.kind == "starved"] == ["starved"]


async def test_a_store_that_cannot_count_leaves_the_counts_open():
    state = await bench(SearchStore(*ABOUT_ME), ListStore("a cane", name="work"))

    assert (len(state.hits), state.preview.matching, state.preview.entries) == (5, None, None)


# -- why ------------------------------------------------------------------------------------------------------------


async def test_the_verdict_is_about_the_expected_entry_that_did_not_arrive():
    state = await bench(injection={"max_entries": 1}, messages="What do I like to learn?", expected=[CANE])

    explanation = state.preview.explanation
    assert (explanation.target, explanation.arrived) == (CANE, False)
    await state.set(query=lambda context: "cane")
    assert (state.preview.explanation.arrived, state.expected) == (True, (CANE,))


async def test_of_several_expected_entries_the_first_missing_one_is_explained_else_the_first():
    state = await bench(injection={"max_entries": 1}, expected=("e3", "e1", "e4"))
    assert (state.preview.explanation.target, state.preview.explanation.arrived) == (ABOUT_ME[0], False)

    await state.set(max_entries=4)
    assert (state.preview.explanation.target, state.preview.explanation.arrived) == (CANE, True)


async def test_one_expected_text_may_be_given_without_a_list():
    assert (await bench(expected=CANE)).expected == (CANE,)


async def test_other_messages_expect_nothing():
    state = await bench(expected=CANE)

    await state.set(messages="Something else")
    assert (state.expected, state.preview.explanation) == ((), None)


async def test_an_entry_can_be_looked_for_by_its_words_or_its_id_and_no_more():
    state = await bench(injection={"max_entries": 1}, messages="cane")

    for text in ("latex", "e1", ABOUT_ME[0]):
        state.look_for(text)
        await state.settled()
        assert (state.preview.explanation.target, state.preview.explanation.arrived) == (ABOUT_ME[0], False)

    state.look_for("no such words")
    await state.settled()
    assert state.preview.explanation.stage == "store"

    state.look_for("")
    await state.settled()
    assert state.preview.explanation is None


async def test_looking_for_what_is_looked_for_already_asks_for_no_refresh():
    state = await bench()

    state.look_for("")
    assert not state.pending


async def test_what_is_suggested_was_tried_and_brings_the_entry_in():
    state = await bench(
        datasets.load("ikat-demo").store("2024-test/11"), messages=CASE.messages, expected=CASE.expected
    )
    explanation = state.preview.explanation
    assert (explanation.arrived, explanation.rank, explanation.limit) == (False, 9, 5)

    for suggestion in explanation.suggestions:
        await state.set(max_entries=None, query=None, trigger=None, format=None)
        await state.set(**suggestion.settings)
        kept = [hit.id for hit in state.trace.hits if hit.kept]
        assert kept.index(CASE.expected[0]) + 1 == suggestion.rank
    assert len(explanation.suggestions) >= 2


async def test_the_story_two_messages_bring_the_cane_to_the_first_place():
    state = WorkbenchState()
    await state.settled()
    assert state.preview.explanation.sentence == (
        "'I have moderate mobility issues and use a cane for support.' did not arrive: rank 9, limit 5."
    )

    await state.set(query=callbacks.last_two_messages)
    assert state.preview.explanation.arrived
    assert state.hits[0].id in state.expected


async def test_why_waits_for_pending_changes_and_explains_an_entry_an_id_or_a_text():
    state = await bench(injection={"max_entries": 1})
    entry = (await bench()).trace.entries[3]

    state.put(query=lambda context: "cane")
    for target in (ABOUT_ME[3], "e4", "jazz", entry):
        explanation = await state.why(target)
        assert (explanation.target, explanation.arrived, explanation.matched) == (ABOUT_ME[3], False, ())
    assert (await state.why("cane")).arrived


async def test_why_stops_a_callback_that_hangs():
    state = await bench(time_limit=0.1)
    await state.edit("query", "def query(context):\n    while True: pass")

    explanation = await state.why("cane")
    assert (explanation.arrived, explanation.stage) == (False, "query")


# -- nothing there --------------------------------------------------------------------------------------------------


async def test_a_missing_file_is_an_empty_store_and_its_neighbour_can_be_opened(tmp_path):
    path = tmp_path / "home.json"
    state = await bench_on(path)
    assert (state.preview.entries, state.trace.skipped_at, path.exists()) == (0, "search", False)

    path.with_name("notes.json").write_text(
        '[{"id": "1", "content": "a cane", "createdAt": "2026-01-01T00:00:00.000Z"}]'
    )
    state.switch(path.with_name("notes.json"))
    await state.settled()
    assert (state.store_names, state.entries.store, state.trace.entries[0].content) == (("notes",), "notes", "a cane")


async def bench_on(path):
    state = WorkbenchState(path, "Do I use a cane?")
    await state.settled()
    return state


async def test_a_source_that_cannot_be_opened_changes_nothing():
    state = await bench()

    with pytest.raises(ValueError, match="cannot open int 5"):
        state.switch(5)
    assert (state.store_names, state.pending) == (("profile",), False)


async def test_an_empty_store_is_told_from_one_without_a_match():
    empty, unmatched = await bench(ListStore()), await bench(messages="Yes, please.")

    assert (empty.preview.entries, unmatched.preview.entries) == (0, 4)
    assert (empty.trace.skipped_at, unmatched.trace.skipped_at) == ("search", "search")


async def test_a_failing_store_ends_the_search_and_the_others_are_used():
    down = ListStore(*ABOUT_ME, name="down", error=OSError("no route"))

    alone, beside = await bench(down), await bench(down, ListStore("a cane", name="work"))
    assert (alone.trace.stage("search").status, alone.trace.messages) == ("failed", alone.seen)
    assert [entry.content for entry in beside.trace.entries] == ["a cane"]
    assert beside.trace.notes[0].kind == "store failed"


async def test_a_store_that_recovers_is_searched_at_the_next_change():
    store = ListStore(*ABOUT_ME, error=OSError("no route"))
    state = await bench(store)

    store.error = None
    assert (await state.set(max_entries=2)).injected


async def test_b68_a_store_that_raises_is_shown_with_its_name_and_its_exception():
    state = await bench(ListStore(error=ZeroDivisionError("oops")))

    assert state.trace.reason == "store 'profile' raised ZeroDivisionError('oops')"
    assert isinstance(state.trace.answers[0].error, ZeroDivisionError)


async def test_b68_an_action_of_the_page_that_is_refused_is_shown_and_forgotten_at_the_next_change():
    state = await bench()

    async def action():
        state.put(call=9)

    state.spawn(action)
    await state.settled()
    assert (
        state.refused == "Workbench: call is 9; this conversation has 1 model call: call 1 answers 'Do I use a cane?'."
    )
    assert (state.failure, state.trace.injected) == ("", True)

    await state.set(max_entries=1)
    assert state.refused == ""


async def test_the_trigger_can_skip_a_call_inside_a_tool_loop_and_every_turn_brings_it_in():
    state = await bench(
        messages=[
            user("Do I use a cane?"),
            {"role": "assistant", "content": [{"toolUse": {"name": "x", "toolUseId": "1", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "cane"}]}}]},
        ],
        expected=CANE,
    )
    assert state.trace.reason == "'userTurn', the last message is a tool result"
    assert "the last message is a tool result" in state.preview.explanation.sentence

    await state.set(trigger="everyTurn")
    assert state.trace.skipped_at == "query"


async def test_a_slow_store_is_noted():
    state = await bench(ListStore(*ABOUT_ME, seconds=1.1))

    assert [note.kind for note in state.trace.notes if note.kind == "store slow"] == ["store slow"]


async def test_the_last_result_stays_while_the_next_one_is_searched():
    store = ListStore(*ABOUT_ME)
    state = await bench(store)
    before = state.preview

    store.seconds = 0.1
    state.put(max_entries=1)
    await asyncio.sleep(0.02)
    assert (state.preview, state.pending) == (before, True)
    await state.settled()
    assert state.preview is not before


async def test_a_preview_is_what_a_manager_with_these_settings_injects():
    state = await bench(messages=[user("I use a cane."), assistant("Noted."), user("What do I like?")])
    for change in (
        {"max_entries": 2},
        {"placement": "append"},
        {"query": callbacks.whole_history},
        {"trigger": "everyTurn"},
    ):
        trace = await state.set(**change)
        manager = MemoryManager(state.source.stores, injection=state.injection)
        assert await manager.inject(state.seen) == trace.messages


async def test_the_verdict_is_there_before_the_changes_are_tried_and_these_share_one_time_limit():
    def slow(context):
        time.sleep(0.15)
        return "\n".join(entry.content for entry in context.entries)

    state = WorkbenchState(
        ListStore(*ABOUT_ME), "Do I use a cane?", injection={"format": slow, "max_entries": 1}, time_limit=0.4
    )
    seen = []
    state.subscribe(lambda: seen.append((state.pending, state.preview and state.preview.verdict.sentence)))
    started = time.monotonic()
    found = await state.find("I like jazz.")

    assert time.monotonic() - started < 3  # each trial alone would be allowed 0.4 s, and there are five
    assert seen[-1] == (False, found.sentence)
    assert (True, found.sentence) in seen  # shown while the changes were still tried
    assert found.sentence.startswith("'I like jazz.' did not arrive")


@pytest.mark.parametrize(
    ("texts", "kind"), [(["it is so", "this is", "a cane"], "doubtful"), (["a cane", "it is"], "arrived")]
)
async def test_where_most_of_what_arrived_matched_on_stop_words_alone_the_verdict_doubts_it(texts, kind):
    state = await bench(ListStore(*texts), messages="Is this a cane?")
    verdict = state.preview.verdict
    assert (verdict.kind, "matched on stop words alone" in verdict.sentence) == (kind, True)


async def test_a_stores_own_limit_that_an_injection_overrules_is_told():
    home = TestMemoryStore.from_records(["tea"], name="home", max_search_results=2)
    state = await bench(home, TestMemoryStore.from_records(["tea"], name="work"))
    assert limit_note(state) == (
        "'home' was built with max_search_results=2: without effect here, an injection asks for max_entries (5)."
    )
    await state.set(max_entries=2)
    assert limit_note(state) == ""
