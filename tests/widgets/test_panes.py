"""Each pane as it reads, in each state of the workbench."""

from __future__ import annotations

import json
import math
import re

import pytest

from memwb._dom import Node
from memwb.memory import MemoryEntry
from memwb.widgets import panes
from memwb.widgets.hits import HitsTable
from memwb.widgets.panes.hits import hit_key
from memwb.workbench import WorkbenchState
from memwb.workbench.editor import Slot
from tests.widgets.reading import button, hits_table, read, read_hits, walk
from tests.workbench.fakes import ABOUT_ME, ListStore, SearchStore, assistant, tool_call, tool_result, user

NO_ROUTE = OSError("no route")


async def settled(source, messages="Do I use a cane?", **given):
    state = WorkbenchState(source, messages, **given)
    await state.settled()
    return state


def memories(**given):
    return ListStore(*ABOUT_ME, **given)


def lines(text):
    """An expected pane, without the indentation of the test."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


# -- what arrived, and why not --------------------------------------------------------------------------------------


async def test_the_verdict_says_what_arrived_and_the_strip_how():
    state = await settled(memories(), injection={"max_entries": 2})

    assert read(panes.top(state)) == lines("""
        ✓ 2 of 4 hits arrived, ~39 tokens; 1 of them matched on stop words alone. [Why]
        trigger ✓ userTurn › query ✓ 'Do I use a cane?' › search ✓ 4 of 4, kept 2 › format ✓ ~39 tok › fold ✓ prepend
    """)
    assert read(panes.top(state, why_open=True)).splitlines()[2:] == [
        "[✕]",
        "Worth knowing about this call:",
        "stop words : 1 of 2 kept entries matched by stop words alone (i); list: Snowball English",
    ]


async def test_the_verdict_is_about_the_expected_entry_with_the_fix_that_was_tried():
    state = await settled(memories(), expected=[ABOUT_ME[3]], injection={"max_entries": 2})

    assert read(panes.top(state, why_open=True)) == lines("""
        ✗ 'I like jazz.' did not arrive: rank 4, limit 2. [Why][Try: max_entries 4 → rank 4]
        trigger ✓ userTurn › query ✓ 'Do I use a cane?' › search ✓ 4 of 4, kept 2 › format ✓ ~39 tok › fold ✓ prepend
        [✕]
        Words of the query in it: i
        Words of the query not in it: do, use, a, cane
        Changes that were tried on this call and bring it in:
        [Try: max_entries 4 → rank 4] and 1 other new entry: 'I want to learn more about th…'
        [Try: the user would have to say 'like' → rank 2] without 1 entry that arrives now: 'I am allergic to latex.'
        Ranked before it:
        'I have moderate mobility issues and use a cane.'
        'I am allergic to latex.'
        'I want to learn more about the world of art.'
        Worth knowing about this call:
        stop words : 1 of 2 kept entries matched by stop words alone (i); list: Snowball English
    """)
    assert button(panes.top(state), "Why") == {"do": "why"}
    assert button(panes.top(state), "Try: max_entries 4 → rank 4") == {
        "do": "try",
        "text": "max_entries 4 → rank 4 (and 1 other new entry: 'I want to learn more about th…')",
    }


async def test_an_expected_entry_that_arrived_is_said_to():
    state = await settled(memories(), expected=[ABOUT_ME[2]])

    assert read(panes.top(state)).splitlines()[0] == (
        "✓ 'I have moderate mobility issues and use a cane.' arrived: rank 1, matched on use, cane. [Why]"
    )


async def test_before_the_first_refresh_the_panes_are_there_and_say_so():
    state = WorkbenchState(memories(), "Do I use a cane?")

    assert read(panes.top(state)) == "Not run yet: await the workbench in a cell, or change a setting."
    assert read(panes.conversation(state)) == "Conversation [add][paste][undo]\nuser[edit]\nDo I use a cane?"
    assert read(panes.hits(state)) == "Hits find entry <a word of it, or its id>"
    for tab in panes.TABS:
        assert read(panes.lower(state, tab)) == "[Block][Model input][Entries]"


async def test_while_a_refresh_is_pending_the_last_result_stays_and_is_dimmed():
    state = await settled(memories(), injection={"max_entries": 2})

    def drawn():
        return [panes.top(state), panes.hits(state), panes.lower(state), panes.lower(state, "input")]

    before = drawn()
    state.put(max_entries=1)
    after = drawn()
    assert list(map(read, before)) == list(map(read, after))
    assert ["memwb-pending" in node.classes for node in before + after] == [False] * 4 + [True] * 4


async def test_a_text_that_is_newer_than_the_preview_is_told_without_moving_anything():
    state = await settled(memories())
    state.type("query", "def query(")
    state.type("format", "def format(")

    assert read(panes.top(state)).splitlines()[1].endswith("› fold ✓ prepend ⚠ older than the query and format editor")


async def test_the_revision_is_on_the_page_from_the_start():
    state = WorkbenchState(memories(), "cane")
    assert panes.top(state).attributes["data-revision"] == "0"

    await state.settled()
    assert panes.top(state).attributes["data-revision"] == "1"


async def test_model_calls_are_stepped_through_as_far_as_there_are_any():
    state = await settled(memories(), ["a", "b", "c", "d", "cane"])
    assert read(panes.top(state)).splitlines()[0].endswith("call[◀]3/3[▶]")
    assert button(panes.top(state), "◀") == {"do": "call", "to": 2}

    buttons = [each for each in walk(panes.top(state)) if each.text() in "◀▶"]
    steps = {each.text(): each.attributes.get("aria-disabled") for each in buttons}
    assert steps == {"◀": None, "▶": "true"}


async def test_a_refresh_that_failed_and_an_action_that_was_refused_are_told_on_top():
    state = await settled(memories())
    state.failure = "LookupError: the tokenizer is gone"
    state.refused = "Workbench: call is 9; this conversation has 1 model call."

    assert read(panes.top(state)).splitlines()[1:3] == [
        "That could not be done: Workbench: call is 9; this conversation has 1 model call.",
        "The last refresh failed, what you see is older: LookupError: the tokenizer is gone",
    ]


async def test_a_first_refresh_that_failed_leaves_its_reason_on_the_page():
    state = WorkbenchState(memories(), "cane")
    state.failure = "LookupError: the tokenizer is gone"

    assert read(panes.top(state)) == "LookupError: the tokenizer is gone"


# -- hits -----------------------------------------------------------------------------------------------------------


async def test_the_hits_stand_above_and_below_the_line_that_cuts_them():
    state = await settled(memories(), injection={"max_entries": 2}, expected=[ABOUT_ME[3]])

    assert read_hits(state) == lines("""
        Hits 4 matched [expected]find entry <a word of it, or its id>
        scores: as the store gives it
        4 1 hit, 1 kept
        1 3 hits, 1 kept
        1 4 I have moderate mobility issues and use a cane.
        2 1 I am allergic to latex. ⚠ stop words only
        max_entries 2 · 2 cut
        ~3 1 I want to learn more about the world of art. ⚠ stop words only
        ~4 1 I like jazz. ★ expected ⚠ stop words only
    """)


async def test_hits_of_several_stores_name_their_store_and_the_starved_one_is_below_the_cut():
    state = await settled([memories(name="home"), ListStore("a cane", name="work")], injection={"max_entries": 3})

    assert hits_table(state) == [
        "1 4 I have moderate mobility issues and use a cane. home",
        "2 1 I am allergic to latex. home ⚠ stop words only",
        "3 1 I want to learn more about the world of art. home ⚠ stop words only",
        "max_entries 3 · 2 cut",
        "~4 1 I like jazz. home ⚠ stop words only",
        "~1 2 a cane work",
    ]


async def test_of_many_hits_the_first_fifty_are_listed_and_the_rest_is_counted():
    state = await settled(ListStore(*(f"cane {number}" for number in range(2000))), "cane")

    rows = hits_table(state)
    assert (len(rows), rows[5], rows[-1]) == (51, "max_entries 5 · 1,995 cut", "~50 1 cane 49")
    assert read(panes.hits(state)).startswith("Hits top 50, 1,950 more matched")
    assert "search ✓ 2,000 of 2,000, kept 5" in read(panes.top(state))


@pytest.mark.parametrize("score", [None, 0, -3, 0.25, math.inf, math.nan, True, "high"])
async def test_any_score_that_a_store_gives_can_be_shown(score):
    class Scoring(SearchStore):
        def _entry(self, at, ignored):
            return MemoryEntry(self.contents[at], None, {"_relevanceScore": score})

    table = HitsTable(await settled(Scoring(*ABOUT_ME), "cane"), lambda: None)
    table.draw()
    (row,) = table.grid.sheet["rows"]
    table.grid.close()
    shown = {0: "0", -3: "-3", 0.25: "0.25", math.inf: "inf"}.get(score) if score == score else "nan"
    expected = {"t": shown, "b": 1.0 if score in (0.25, math.inf) else 0.0}
    assert row[3] == (None if score in (None, True, "high") else expected)
    assert json.loads(json.dumps(row, allow_nan=False)) == row


# -- the block, the model's input, the entries ----------------------------------------------------------------------


async def test_the_block_is_shown_line_by_line_with_the_tokens_of_each_entry_and_its_hits():
    state = await settled(ListStore("I use a cane.\nIt is black.", "I use a pen."), "Do I use a cane?")

    assert read(panes.lower(state)) == lines("""
        [Block][Model input][Entries 2] 2 entries, ~31 tokens · well-formed [copy]
        <memory>
        ~2
        <entry source="profile">I use a cane.
        ~15
        It is black.</entry>
        <entry source="profile">I use a pen.</entry>
        ~11
        </memory>
        ~3
    """)
    assert [each.attributes.get("tabindex") for each in walk(panes.lower(state)) if each.classes == "memwb-line"] == [
        *("0", "-1", "-1", "-1", "-1")
    ]
    links = [each.attributes.get("data-link") for each in walk(panes.lower(state)) if each.classes == "memwb-line"]
    assert links == [None, "profile/1", "profile/1", "profile/2", None]
    assert list(map(hit_key, state.hits)) == ["profile/1", "profile/2"]


async def test_the_lines_of_a_format_of_ones_own_are_linked_where_they_hold_an_entry():
    def titled(context):
        return "\n".join(["Known:", *(f"- {entry.content}" for entry in context.entries)])

    state = await settled(memories(), injection={"max_entries": 2, "format": titled})
    links = [each.attributes.get("data-link") for each in walk(panes.lower(state)) if each.classes == "memwb-line"]
    assert links == [None, "profile/1", "profile/2"]


@pytest.mark.parametrize("tab", ["block", "input"])
async def test_a_hidden_character_tells_its_name(tab):
    state = await settled(ListStore("a \u200bcane\x1b[0m"), "cane")
    found = [node for node in walk(panes.lower(state, tab)) if node.classes == "memwb-unseen"]
    assert [(node.children, node.attributes["title"], node.attributes["aria-label"]) for node in found] == [
        (("\\u200b",), *["zero width space U+200B"] * 2),
        (("\\x1b",), *["escape U+001B"] * 2),
    ]


async def test_tokens_that_are_counted_exactly_have_no_sign_of_an_estimate():
    class Words:
        name, exact = "words", True

        def count(self, text):
            return len(text.split())

    state = await settled(ListStore("a cane"), "cane", token_counter=Words())
    assert "~" not in read(panes.lower(state))


async def test_of_an_endless_block_some_is_shown_and_how_much_is_not():
    many = await settled(ListStore("cane\n" * 900), "cane")
    long = await settled(ListStore("cane " * 200_000), "cane")

    assert read(panes.lower(many)).splitlines()[-1] == "403 more lines"
    assert "… 980,051 more characters" in read(panes.lower(long))
    assert len(json.dumps(panes.lower(long).to_json())) < 30_000


async def test_the_model_input_is_every_message_with_the_block_marked():
    state = await settled(
        memories(),
        [user("Hello"), tool_call(zone="CET"), tool_result(), assistant("Noon."), user("Do I use a cane?")],
        injection={"max_entries": 1, "placement": "append"},
    )

    pane = panes.lower(state, "input")
    assert read(pane) == lines("""
        [Block][Model input][Entries 4] 5 messages [copy]
        …
        user
        Hello
        assistant
        toolUse: {"name": "clock", "toolUseId": "t1", "input": {"zone": "CET"}}
        user
        toolResult: {"toolUseId": "t1", "status": "success", "content": [{"text": "noon"}]}
        assistant
        Noon.
        user
        Do I use a cane?
        <memory> <entry source="profile">I have moderate mobility issues and use a cane.</entry> </memory>
    """)
    injected = [each.text() for each in walk(pane) if "memwb-injected" in each.classes]
    assert injected == [f"\n\n{state.trace.text}"]


async def test_the_entries_stand_in_a_table_below_the_bar_and_else_it_says_why_not():
    several = await settled([memories(name="home"), ListStore(name="work")])
    assert (read(panes.lower(several, "entries")), panes.listed(several)) == (
        "[Block][Model input][Entries 4] [all][home][work]\n[filters][duplicates][health]",
        True,
    )
    for state in (await settled(ListStore()), await settled(SearchStore("cane")), WorkbenchState(memories(), "cane")):
        assert not panes.listed(state)


async def test_a_filter_or_a_store_that_leaves_nothing_is_for_the_table_to_tell():
    state = await settled([memories(name="home"), ListStore(name="work")])
    for choice in ({"where": "tea"}, {"where": "", "store": "work"}):
        state.entries.choose(**choice)
        await state.entries.load()
        assert panes.listed(state)


async def test_of_several_stores_one_is_listed_and_the_others_are_a_button_away():
    state = await settled([memories(name="home"), ListStore("a cane", name="work")])

    pane = panes.lower(state, "entries")
    assert "[Entries 5]" in read(pane)
    assert (button(pane, "all"), button(pane, "home"), button(pane, "work")) == (
        {"do": "store", "to": None},
        {"do": "store", "to": "home"},
        {"do": "store", "to": "work"},
    )


async def test_stores_whose_names_would_not_fit_are_chosen_from_a_box():
    names = [f"the notes of a quite long year, {year}" for year in (2024, 2025, 2026)]
    state = await settled([ListStore("a cane", name=name) for name in names])
    state.entries.choose(store=names[1])

    (box,) = (each for each in walk(panes.lower(state, "entries")) if each.tag == "select")
    assert (box.action, box.attributes["aria-label"]) == ({"do": "store"}, "store")
    assert [(each.text(), each.attributes) for each in box.children] == [
        ("all stores", {"value": "-1"}),
        (names[0], {"value": "0"}),
        (names[1], {"value": "1", "selected": "selected"}),
        (names[2], {"value": "2"}),
    ]


# -- nothing there --------------------------------------------------------------------------------------------------


async def test_a_missing_file_is_named_with_its_neighbours_which_can_be_opened(tmp_path):
    for name, text in {
        "notes.json": '[{"id": "1", "content": "x", "createdAt": "2026-01-01T00:00:00.000Z"}]',
        "other.json": "{}",
        "broken.json": "[",
        "deep.json": "[" * 100_000,
        "readme.txt": "[]",
    }.items():
        tmp_path.joinpath(name).write_text(text)
    state = await settled(tmp_path / "home.json")

    path = tmp_path / "home.json"
    missing = f"store 'home' has no file at {path} (nothing was ever written there, or the path is wrong)"
    assert read(panes.top(state)).splitlines()[0] == f"– Nothing arrived: {missing}. [Why]"
    assert read(panes.hits(state)).splitlines()[1:] == [
        f"S{missing[1:]}.",
        "Write to it with await store.add(...) , or let an agent write: its add tool is off unless it is switched on.",
        "Beside it: notes.json with 1 entry [Open]",
    ]
    assert read(panes.lower(state, "entries")).splitlines()[2:] == read(panes.hits(state)).splitlines()[1:]
    assert read(panes.lower(state)).splitlines()[1:] == [
        f"No block: {missing}. The model gets the conversation as it is."
    ]
    assert button(panes.hits(state), "Open") == {"do": "open", "path": str(tmp_path / "notes.json")}


async def test_an_empty_store_is_told_apart_from_one_in_which_nothing_matched():
    empty, unmatched = await settled(ListStore()), await settled(memories(), "Yes, please.")

    assert read(panes.top(empty)).splitlines()[0] == "– Nothing arrived: nothing was ever written to 'profile'. [Why]"
    assert read(panes.hits(empty)).splitlines()[1] == "Nothing was ever written to 'profile'."
    assert read(panes.top(unmatched)).splitlines()[0] == (
        "– Nothing arrived: no entry shares a word with 'Yes, please.'; looked for yes, please. [Why]"
    )
    assert read(panes.hits(unmatched)).splitlines()[1:] == [
        "No hits: no entry shares a word with 'Yes, please.'; looked for yes, please.",
        "4 entries are stored.",
    ]


async def test_b68_a_failing_store_is_named_with_its_exception():
    state = await settled(memories(error=NO_ROUTE))

    assert read(panes.top(state, why_open=True)) == lines("""
        ✗ Nothing arrived: search failed, store 'profile' raised OSError('no route'). The agent would go on without memory. [Why]
        trigger ✓ userTurn › query ✓ 'Do I use a cane?' › search ✗ store 'profile' raised OSError('no route') › format · › fold ·
        [✕]
        Worth knowing about this call:
        store failed : store 'profile' raised OSError('no route'); the agent goes on without it
    """)  # noqa: E501
    assert read(panes.hits(state)).splitlines()[1:] == [
        "Store 'profile' raised OSError('no route'); the agent goes on without it."
    ]


async def test_b68_a_store_that_fails_beside_others_is_named_and_counted_nowhere():
    state = await settled([memories(name="down", error=NO_ROUTE), ListStore("a cane", name="work")], "cane")

    assert read(panes.top(state)) == lines("""
        ✓ 1 of 1 hit arrived, ~14 tokens; 'down' failed. [Why]
        trigger ✓ userTurn › query ✓ 'cane' › search ⚠ 1 of 5, kept 1, 'down' failed › format ✓ ~14 tok › fold ✓ prepend
    """)
    assert read_hits(state).splitlines()[1:] == [
        "Store 'down' raised OSError('no route'); the agent goes on without it.",
        "scores: as the store gives it",
        "1 1 hit, 1 kept",
        "1 1 a cane work",
        "max_entries 5 · 0 cut",
    ]


async def test_a_store_that_cannot_list_is_told_on_top_and_where_its_entries_would_be():
    state = await settled(SearchStore(*ABOUT_ME), "cane")

    assert read(panes.top(state)).splitlines()[1] == (
        "store 'profile' cannot list its entries: it is seen through its search"
    )
    assert read(panes.lower(state, "entries")) == lines("""
        [Block][Model input][Entries]
        [filters][duplicates][health]
        'profile' cannot list its entries: it is seen through its search, in the hits.
    """)


async def test_a_trigger_that_skips_says_so_everywhere():
    state = await settled(memories(), [user("hi"), tool_call(), tool_result()])

    assert read(panes.top(state)).splitlines()[0] == (
        "– Nothing arrived: 'userTurn', the last message is a tool result. [Why]call[◀]2/2[▶]"
    )
    assert read(panes.hits(state)).splitlines()[1:] == [
        "Nothing was searched: 'userTurn', the last message is a tool result.",
        "4 entries are stored.",
    ]
    assert read(panes.lower(state)) == lines("""
        [Block][Model input][Entries 4] nothing injected [copy]
        No block: 'userTurn', the last message is a tool result. The model gets the conversation as it is.
    """)


async def test_injection_that_is_off_says_so():
    state = await settled(memories(), injection=False)

    assert read(panes.top(state)) == lines("""
        – Nothing arrived: injection is off. [Why]
        trigger – injection is off › query · › search · › format · › fold ·
    """)
    assert read(panes.hits(state)).splitlines()[1] == "Nothing was searched: injection is off."


async def test_a_callback_that_fails_names_its_stage_and_what_it_raised():
    state = await settled(memories())
    await state.edit("format", "def format(context):\n    return 1 / 0")

    assert read(panes.top(state)) == lines("""
        ✗ Nothing arrived: format failed, ZeroDivisionError: division by zero. The agent would go on without memory. [Why]
        trigger ✓ userTurn › query ✓ 'Do I use a cane?' › search ✓ 4 of 4, kept 4 › format ✗ ZeroDivisionError: division by zero › fold ·
    """)  # noqa: E501
    assert "[Block][Model input][Entries 4] nothing injected [copy]" in read(panes.lower(state))
    assert hits_table(state)[0] == "1 4 I have moderate mobility issues and use a cane."


# -- the conversation -----------------------------------------------------------------------------------------------


async def test_the_conversation_marks_the_users_last_message_and_where_the_block_lands():
    long = "Jazz is a music genre. " * 20
    state = await settled(
        memories(),
        [user("What is jazz?"), assistant(long), user("Do I like it?"), tool_call(), tool_result(), assistant("Yes.")],
    )
    await state.set(call=1)

    assert read(panes.conversation(state)) == lines("""
        Conversation [add][paste][undo]
        user[edit]
        What is jazz?
        ↳ the block lands here
        5 later messages not shown to the model
        assistant[edit]
        {0}
        {1}
        user[edit]
        Do I like it?
        assistant[edit]
        toolUse: {{"name": "clock", "toolUseId": "t1", "input": {{}}}}
        {{"name": "clock", "toolUseId": "t1", "input": {{}}}}
        tool result[edit]
        toolResult: {{"toolUseId": "t1", "status": "success", "content": [{{"text": "noon"}}]}}
        {{"toolUseId": "t1", "status": "success", "content": [{{"text": "noon"}}]}}
        assistant[edit]
        Yes.
    """).format(long[:119].rstrip() + "…", long.strip())
    state.put(call=2, trigger="everyTurn")
    await state.settled()
    pane = panes.conversation(state)
    shown, _, later = read(pane).partition("↳ the block lands here\n")
    assert shown.startswith("Conversation [add][paste][undo]\nuser[edit]\nWhat is jazz?\nassistant[edit]\nJazz is")
    assert shown.endswith("user[edit]\nDo I like it?\n")
    assert later.startswith("3 later messages not shown to the model\nassistant[edit]\ntoolUse: ")


async def test_tool_calls_and_results_are_folded_to_a_line():
    state = await settled(memories(), [user("What time is it?"), tool_call(zone="CET"), tool_result()])

    assert [each.text() for each in walk(panes.conversation(state)) if each.tag == "summary"] == [
        'toolUse: {"name": "clock", "toolUseId": "t1", "input": {"zone": "CET"}}',
        'toolResult: {"toolUseId": "t1", "status": "success", "content": [{"text": "noon"}]}',
    ]


async def test_without_a_user_message_the_page_asks_what_the_user_would_say():
    state = await settled(memories(), [assistant("Hello")])

    assert read(panes.conversation(state)) == lines("""
        Conversation [add][paste][undo]
        assistant[edit]
        Hello
        There is no user message yet.
        <What would the user say?> Enter adds it as the user's message.
    """)
    field = next(each for each in walk(panes.conversation(state)) if each.tag == "input")
    assert field.action == {"do": "say", "enter": True}


# -- below the editor -----------------------------------------------------------------------------------------------


def test_the_editor_says_whether_its_text_is_in_force():
    slot = Slot("query")
    assert read(panes.mistakes(slot)) == "The default is in force; change the text to replace it."

    slot.type("def query(context): return 'x'")
    assert read(panes.mistakes(slot)) == "Complete: applied after a pause."

    slot.type("def query(context):\n    retur")
    assert read(panes.mistakes(slot)) == lines("""
        line 2: NameError: name 'retur' is not defined
        retur
        The last callback that was complete stays in force.
    """)


async def test_the_editor_shows_a_failure_at_its_line_and_what_was_printed():
    state = await settled(memories())
    await state.edit("query", "def query(context):\n    print('about to fail')\n    return 1 / 0")

    assert read(panes.mistakes(state.slots["query"])) == lines("""
        line 3: ZeroDivisionError: division by zero
        return 1 / 0
        about to fail
    """)

    await state.edit("query", "def query(context):\n    print('fine')\n    return 'jazz'")
    assert read(panes.mistakes(state.slots["query"])) == "In force.\nfine"


async def test_a_text_that_a_cell_replaced_can_be_brought_back():
    state = await settled(memories())
    state.type("query", "def query(context): return 'mine")
    await state.set(query=len)

    pane = panes.mistakes(state.slots["query"])
    assert button(pane, "↶ bring back the earlier text") == {"do": "undo"}


async def test_what_is_doubtful_stands_below_the_editor_with_its_line_and_what_to_do():
    state = await settled(memories())
    await state.edit("format", "def format(context):\n    return '<m>' + context.entries[0].content")
    assert read(panes.mistakes(state.slots["format"], state.review.findings("format"))) == (
        "In force.\n⚠ line 2: what an entry holds is put beside markup as it is. "
        "Write `escape(entry.content)`, with `from html import escape`."
    )


async def test_what_hostile_entries_showed_is_listed_with_the_text_that_they_led_to():
    state = await settled(memories())
    assert "✓ None of 12 hostile entries got out of its place." in read(
        panes.mistakes(state.slots["format"], (), await state.review.probe())
    )
    await state.edit(
        "format", "def format(context):\n    return ' '.join(f'<e>{e.content}</e>' for e in context.entries)"
    )
    shown = read(panes.mistakes(state.slots["format"], (), await state.review.probe()))
    assert "✗ 3 of 12 hostile entries got out of their place." in shown
    assert "closes its element: adds </entry>" in shown.replace(" :", ":")


def test_a_pane_is_made_of_elements_that_a_page_may_hold():
    assert isinstance(panes.mistakes(Slot("query")), Node)


async def test_a_store_that_fails_only_when_it_is_asked_for_more_keeps_its_hits_and_is_named():
    class Once(ListStore):
        async def search(self, query, options=None):
            if self.searched:
                raise OSError("gone")
            return await super().search(query, options)

    state = await settled(Once("I use a cane."))
    assert "store 'profile' failed when it was asked for what lies below the cut: OSError('gone')" in read(
        panes.hits(state)
    )
    assert read(panes.top(state)).splitlines()[0].startswith("✓ 1 of 1 hit arrived")


async def test_the_agent_and_its_state_are_shown_folded_and_each_stage_tells_its_time():
    state = await settled(memories())
    state.source.agent, state.source.state = type("Helper", (), {"name": "helper"})(), {"visits": 3}

    assert 'state and agent\nhelper {"visits": 3}' in read(panes.conversation(state))
    stages = [node for node in walk(panes.top(state)) if node.classes == "memwb-stage"]
    assert [re.search(r" \(\d+\.\d ms\)$", node.attributes["title"]) is not None for node in stages] == [True] * 5
