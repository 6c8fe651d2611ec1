"""The timeline: every model call as the workbench itself would show it, and what comes again in one sentence."""

from __future__ import annotations

from xml.etree import ElementTree

import pandas
import pytest

from memwb.errors import ConfigError, StaleTraceError
from memwb.workbench import WorkbenchState
from memwb.workbench.picture import SHOWN_CALLS, SHOWN_ENTRIES, timeline_html
from memwb.workbench.timeline import TimelineState, said_at
from tests.workbench.fakes import ABOUT_ME, ListStore, SearchStore, assistant, tool_call, tool_result, user

LATEX, ART, CANE, JAZZ = ABOUT_ME
TALK = [
    user("Allergic?"),
    assistant("To latex."),
    user("My cane?"),
    tool_call("clock"),
    tool_result(),
    assistant("Yes."),
    user("Latex, jazz?"),
]


def over(*stores, messages=TALK, **given):
    """A timeline of a conversation over these stores, or over one with a few memories."""
    return TimelineState(WorkbenchState(list(stores) or [ListStore(*ABOUT_ME)], messages, **given))


async def settled(*stores, **given):
    state = over(*stores, **given)
    await state.settled()
    return state


async def headline(*stores, **given):
    return (await settled(*stores, **given)).timeline.headline


# -- the calls ------------------------------------------------------------------------------------------------------


async def test_every_call_is_what_the_workbench_shows_when_it_is_chosen():
    state = await settled(injection={"max_entries": 2, "trigger": "everyTurn"})

    for call in state.timeline.calls:
        shown = await state.bench.set(call=call.number)
        assert (call.trace.messages, call.trace.summary) == (shown.messages, shown.summary)
    assert [call.number for call in state.timeline.calls] == [1, 2, 3, 4]


async def test_a_call_says_what_it_answers():
    timeline = (await settled()).timeline

    assert [call.said for call in timeline.calls] == [
        "Allergic?",
        "My cane?",
        "result of clock",
        "Latex, jazz?",
    ]
    assert said_at([]) == ""
    assert said_at([tool_result()]) == "result of a tool"


async def test_an_entry_tells_its_place_in_the_block_of_each_call_and_where_it_was_cut():
    timeline = (await settled(injection={"max_entries": 1})).timeline
    two = ListStore("I use a cane.", name="first"), ListStore("My cane is new.", name="second")
    cut = (await settled(*two, injection={"max_entries": 1}, messages="cane")).timeline

    assert {entry.content: entry.places for entry in timeline.entries} == {LATEX: {1: 1, 4: 1}, CANE: {2: 1}}
    assert [(entry.content, entry.places, entry.cut) for entry in cut.entries] == [
        ("I use a cane.", {1: 1}, ()),
        ("My cane is new.", {}, (1,)),
    ]


async def test_where_the_format_fails_what_was_found_counts_as_not_in_the_block():
    def broken(context):
        raise ValueError("no")

    timeline = (await settled(messages="jazz", injection={"format": broken})).timeline

    assert [(entry.content, entry.places, entry.cut) for entry in timeline.entries] == [(JAZZ, {}, (1,))]
    assert timeline.headline == "Nothing was injected in 1 call: failed at format: ValueError: no."


# -- in one sentence ------------------------------------------------------------------------------------------------


async def test_the_headline_names_the_set_of_facts_that_came_most_often_and_what_it_cost():
    talk = [user("latex jazz"), assistant("a"), user("jazz, latex"), assistant("b"), user("my cane")]
    state = await settled(messages=talk)
    tokens = sum(call.tokens for call in state.timeline.calls[:2])

    assert state.timeline.headline == f"The same 2 facts in 2 of 3 calls: ~{tokens} tokens."
    assert state.timeline.repeated_tokens == sum(-(-len(text) // 4) for text in (LATEX, JAZZ))
    assert repr(state) == f"Timeline({state.timeline.headline})"


async def test_one_fact_at_every_call_is_told_in_the_singular():
    talk = [user("latex"), assistant("a"), user("latex"), assistant("b"), user("latex")]
    timeline = (await settled(messages=talk)).timeline

    assert timeline.headline == f"The same fact in 3 calls: ~{timeline.tokens} tokens."


async def test_different_facts_are_counted_and_what_came_before_is_weighed():
    talk = [user("latex"), assistant("a"), user("latex jazz"), assistant("b"), user("cane")]
    timeline = (await settled(messages=talk)).timeline

    again = timeline.entries[0].tokens
    assert timeline.headline == (
        f"3 different facts in 3 calls: ~{timeline.tokens} tokens; ~{again} of them for facts that came before."
    )


async def test_nothing_injected_says_the_usual_reason():
    assert await headline(messages="zebra") == (
        "Nothing was injected in 1 call: nothing found: no entry shares a word with 'zebra'."
    )
    talk = [user("zebra"), assistant("a"), user("zebra"), assistant("b"), user("yak")]
    assert await headline(messages=talk) == (
        "Nothing was injected in 3 calls: nothing found: no entry shares a word with 'zebra' (in 2 of them)."
    )
    assert await headline(messages=[assistant("Hello.")]) == (
        "No model call yet: the conversation holds no user message."
    )


async def test_a_store_that_fails_is_the_reason():
    down = SearchStore(name="remote", error=OSError("down"))

    assert "store 'remote' raised OSError('down')" in await headline(down, messages="jazz")


# -- following the workbench ----------------------------------------------------------------------------------------


async def test_it_follows_the_settings_and_is_stale_in_between():
    state = await settled()
    assert state.timeline.calls[3].entries == 2

    state.bench.put(max_entries=1)
    with pytest.raises(StaleTraceError, match="await"):
        _ = state.timeline
    await state.settled()

    assert state.timeline.calls[3].entries == 1


async def test_choosing_a_call_opens_it_in_the_workbench_and_runs_nothing_again():
    store = ListStore(*ABOUT_ME)
    state = await settled(store)
    before = state.timeline

    trace = await state.show(1)
    await state.settled()

    assert (state.bench.call, trace.query) == (1, "Allergic?")
    assert state.timeline is before


async def test_a_call_that_does_not_exist_is_refused():
    state = await settled()

    with pytest.raises(ConfigError, match="call is 9"):
        await state.show(9)


async def test_a_change_of_the_stored_entries_is_seen_when_the_workbench_refreshes():
    store = ListStore(*ABOUT_ME)
    state = await settled(store, messages="tea")
    assert state.timeline.entries == ()

    store.contents.append("I drink tea.")
    state.bench.changed()
    await state.settled()

    assert [entry.content for entry in state.timeline.entries] == ["I drink tea."]


async def test_a_long_conversation_is_run_to_its_end_and_overtaken_by_a_newer_change():
    talk = [message for at in range(90) for message in (user(f"jazz {at}"), assistant("ok"))][:-1]
    state = over(messages=talk)
    state.bench.put(max_entries=1)
    state.bench.put(max_entries=2)
    await state.settled()

    assert len(state.timeline.calls) == 90
    assert state.timeline.calls[0].trace.settings.max_entries == 2


async def test_closing_it_leaves_the_workbench_alone():
    state = await settled()
    state.close()
    await state.bench.set(max_entries=1)

    assert len(state.bench._subscribers) == 0
    assert state.bench.trace.settings.max_entries == 1


# -- as data and as a picture ---------------------------------------------------------------------------------------


async def test_the_frames_hold_a_row_for_each_call_and_each_entry():
    timeline = (await settled()).timeline
    frame, matrix = timeline.to_frame(), timeline.matrix()

    assert frame[["call", "trigger", "query", "entries"]].fillna("").values.tolist() == [
        [1, True, "Allergic?", 1],
        [2, True, "My cane?", 1],
        [3, False, "", 0],
        [4, True, "Latex, jazz?", 2],
    ]
    assert list(matrix.columns) == [1, 2, 3, 4]
    assert matrix.loc[LATEX, 1] == 1
    assert matrix.loc[LATEX, 3] is pandas.NA


async def test_the_picture_is_well_formed_whatever_the_memories_say():
    hostile = ["</svg><script>alert(1)</script> cane", 'cane \x00\x1b\u202e & "quotes" \'', "$x^2$ cane"]
    timeline = (await settled(ListStore(*hostile), messages='cane </svg><script>"')).timeline
    picture = ElementTree.fromstring(timeline.svg())
    texts = "".join(picture.itertext())

    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [each for each in picture.iter() if each.tag.endswith("script")]
    assert "</svg><script>alert(1)</script> cane" in texts
    assert "\\x00\\x1b\\u202e" in texts
    assert "<script" not in timeline_html(timeline)


async def test_the_picture_says_what_it_leaves_out():
    entries = [f"jazz {at}" for at in range(SHOWN_ENTRIES + 5)]
    talk = [message for at in range(SHOWN_CALLS + 3) for message in (user(f"jazz {at}"), assistant("ok"))][:-1]
    timeline = (await settled(ListStore(*entries), messages=talk, injection={"max_entries": 100})).timeline

    html = timeline._repr_html_()
    assert "5 more entries not shown; 3 more calls not shown" in html
    assert html.count('<text x="322"') == SHOWN_ENTRIES


async def test_a_timeline_without_entries_has_no_picture():
    assert "<svg" not in (await settled(messages="zebra")).timeline._repr_html_()


# -- entries that somebody pointed at -------------------------------------------------------------------------------


async def test_what_is_expected_comes_first_whether_a_store_returned_it_or_not():
    state = await settled(expected=["e4", "I own a boat."], injection={"max_entries": 1})
    entries = state.timeline.entries

    assert [(entry.content, [(mark.kind, mark.call) for mark in entry.marks]) for entry in entries] == [
        (JAZZ, [("expected", 4)]),
        ("I own a boat.", [("expected", 4)]),
        (LATEX, []),
        (CANE, []),
    ]
    assert [entry.is_expected_at(call) for entry in entries[:2] for call in (3, 4)] == [False, True, False, True]
    assert state.timeline.headline == (
        "The same fact in 2 of 4 calls: ~38 tokens. 2 of 2 expected entries missing at call 4."
    )
    page = timeline_html(state.timeline)
    assert "★ I own a boat." in page
    assert page.count("✗") == 3  # both cells, and what the sign means
    await state.bench.set(max_entries=5)
    await state.settled()
    assert state.timeline.entries[0].places == {4: 2}


async def test_what_is_looked_for_is_marked_and_forgotten_with_the_search():
    state = await settled()
    await state.bench.find("jazz")
    await state.settled()
    assert [(mark.kind, mark.content, mark.call) for mark in state.timeline.entries[0].marks] == [
        ("looked for", JAZZ, None)
    ]
    assert "● I like jazz." in timeline_html(state.timeline)
    await state.bench.find("")
    await state.settled()
    assert [entry.marks for entry in state.timeline.entries] == [()] * 3


async def test_one_entry_that_is_expected_and_looked_for_is_one_row():
    state = await settled(expected=["no such id"])
    await state.bench.find("no such id")
    await state.settled()
    assert [mark.kind for mark in state.timeline.entries[0].marks] == ["expected", "looked for"]
    assert [entry.content for entry in state.timeline.entries].count("no such id") == 1


async def test_a_store_that_fails_is_not_asked_for_what_is_expected():
    state = await settled(SearchStore(name="cloud", error=ConnectionError("no route")), expected=["e1"])
    assert [(entry.content, entry.store) for entry in state.timeline.entries] == [("e1", None)]
