"""The widget: what a cell can do with it, what the page's messages do, and that closing leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import weakref

import ipywidgets
import pytest
from ipywidgets.widgets import widget as all_widgets

import memwb
from memwb import datasets
from memwb.callbacks import last_two_messages
from memwb.errors import ConfigError, StaleTraceError
from memwb.memory import MemoryManager
from memwb.widgets import Workbench
from tests.widgets.reading import hit_rows
from tests.widgets.wire import Wire
from tests.workbench.fakes import ABOUT_ME, ListStore, assistant, user

CASE = datasets.load("ikat-demo").case("2024-test/11/t4")


@pytest.fixture
def bench():
    """Makes a workbench, and closes it at the end."""
    made = []

    def make(source=None, messages="Do I use a cane?", **given):
        made.append(Workbench(source or ListStore(*ABOUT_ME), messages, **given))
        return made[-1]

    yield make
    for workbench in made:
        workbench.close()


async def act(workbench, view=None, /, **message):
    """Send what an element of the page would send, and wait until it is done."""
    (view or workbench._top)._received(None, message, [])
    await workbench


async def cut(workbench, **where):
    """Move the line between the hits, as the page does, and wait until it is done."""
    Wire(workbench._hits.grid).say({"do": "cut", **where})
    await workbench._hits.grid
    await workbench


async def choose_hit(workbench, *ids):
    """Choose a hit, as the page does, and wait until it is done."""
    Wire(workbench._hits.grid).put(selected=list(ids))
    await workbench


async def choose(workbench, **traits):
    """Change something in the table of entries, as the page does, and wait until it is done."""
    Wire(workbench._entries.grid).put(**traits)
    await workbench
    await workbench._entries.grid


def table(workbench):
    """The contents of the entries that are listed, or None where the page shows no table."""
    rows = workbench._entries.grid.sheet["rows"]
    return [row[2] for row in rows] if "memwb-listed" in workbench._lower._dom_classes else None


# -- in a cell ------------------------------------------------------------------------------------------------------


async def test_awaiting_it_settles_and_gives_it_back(bench):
    workbench = bench()

    assert await workbench is workbench
    assert workbench.trace.injected
    assert repr(workbench) == "Workbench(1 store, 4 entries; call 1: 4 of 4 hits injected)"


async def test_it_shows_itself_with_its_repr_as_text(bench):
    workbench = await bench()

    shown = workbench._repr_mimebundle_()
    assert shown["text/plain"] == repr(workbench)
    assert "application/vnd.jupyter.widget-view+json" in shown


async def test_settings_are_set_and_the_trace_comes_back(bench):
    workbench = await bench()

    trace = await workbench.set(max_entries=2, placement="append")
    assert (trace, len(trace.entries)) == (workbench.trace, 2)
    assert workbench.injection == {"max_entries": 2, "trigger": "userTurn", "placement": "append"}
    with pytest.raises(ConfigError, match="Did you mean 'max_entries'"):
        await workbench.set(max_entrys=2)


async def test_a_stale_trace_is_refused(bench):
    workbench = bench()

    with pytest.raises(StaleTraceError):
        _ = workbench.trace
    with pytest.raises(StaleTraceError):
        _ = workbench.hits


async def test_the_decorators_put_a_function_in_force_and_give_it_back(bench):
    workbench = await bench()

    @workbench.query
    def search(context):
        return "jazz"

    @workbench.format
    def block(context):
        return f"<{context.entries[0].content}>"

    @workbench.trigger
    def always(context):
        return True

    await workbench
    assert (search(None), workbench.trace.query, workbench.trace.text) == ("jazz", "jazz", "<I like jazz.>")
    assert workbench.injection == {
        "max_entries": 5,
        "trigger": always,
        "placement": "prepend",
        "query": search,
        "format": block,
    }


async def test_an_async_function_is_refused_in_its_cell(bench):
    workbench = await bench()

    with pytest.raises(ConfigError, match="Write it with plain 'def'"):

        @workbench.query
        async def search(context): ...


async def test_a_callback_can_be_edited_as_text(bench):
    workbench = await bench()

    assert (await workbench.edit("query", "def query(context):\n    return 'jazz'")).query == "jazz"


async def test_the_hits_are_a_frame(bench):
    workbench = await bench(injection={"max_entries": 2})

    assert list(workbench.hits[["rank", "kept"]].itertuples(index=False, name=None)) == [
        (1, True),
        (2, True),
        (3, False),
        (4, False),
    ]
    assert list(workbench.trace.to_frame()["rank"]) == [1, 2]


async def test_the_entries_are_a_frame_as_filtered_and_as_selected(bench):
    workbench = await bench()
    await act(workbench, do="tab", to="entries")
    await choose(workbench, where="cane")
    await choose(workbench, selected=["e3"])

    assert list(workbench.entries.frame["content"]) == [ABOUT_ME[2]]
    assert list(workbench.entries.selected["content"]) == [ABOUT_ME[2]]
    assert repr(workbench.entries) == "EntriesState('profile': 1 entry with 'cane', page 1 of 1, 1 selected)"


async def test_its_injection_is_taken_over_by_a_manager(bench):
    workbench = await bench()
    await workbench.set(query=last_two_messages, max_entries=2)

    manager = MemoryManager(workbench.state.source.stores, injection=workbench.injection)
    assert await manager.inject(workbench.state.seen) == workbench.trace.messages


async def test_why_tells_what_would_bring_an_entry_in(bench):
    workbench = await bench(injection={"max_entries": 1})

    explanation = await workbench.why("jazz")
    assert (explanation.arrived, explanation.suggestions[0].settings) == (False, {"max_entries": 4})


def test_it_can_be_made_and_driven_in_a_script_without_a_loop():
    workbench = Workbench(ListStore(*ABOUT_ME), "Do I use a cane?")

    async def run():
        return (await workbench.set(max_entries=1)).entries

    assert len(asyncio.run(run())) == 1
    assert "1 of 4 hits arrived" in read_top(workbench)
    workbench.close()


def read_top(workbench):
    """What the page shows on top, from what was sent to it."""
    return _text(workbench._top.tree)


def _text(node):
    return node if isinstance(node, str) else "".join(_text(child) for child in node.get("k", ()))


# -- on the page ----------------------------------------------------------------------------------------------------


async def test_the_page_follows_the_state(bench):
    workbench = await bench()
    wires = [Wire(view) for view in (workbench._top, workbench._talk, workbench._high, workbench._low)]
    table_wire = Wire(workbench._hits.grid)

    await workbench.set(max_entries=2)
    assert "2 of 4 hits arrived" in read_top(workbench)
    # The result came too soon to be waited for on the page; the conversation did not change.
    assert [len(wire.updates("tree")) for wire in wires] == [1, 0, 1, 1]
    # The hits once, with their line, in one message.
    assert [sorted(data["state"]) for data in table_wire.sent] == [["cut", "sheet"]]
    assert hit_rows(workbench._hits.grid)[2] == "max_entries 2 · 2 cut"


async def test_b66_a_change_on_the_page_searches_once_however_often_the_cell_was_run(bench):
    store = ListStore(*ABOUT_ME)
    for _ in range(3):
        workbench = await bench(store)
    store.searched.clear()

    await cut(workbench, to=3)
    assert store.searched == [("Do I use a cane?", 3), ("Do I use a cane?", 50)]


async def test_the_cut_line_is_moved_by_steps_and_to_a_place_and_never_above_the_first_hit(bench):
    workbench = await bench()

    for message, limit in (({"by": -1}, 4), ({"by": 3}, 7), ({"to": 2}, 2), ({"to": 0}, 1), ({"by": -1}, 1)):
        await cut(workbench, **message)
        assert workbench.injection["max_entries"] == limit


async def test_the_fix_brings_the_expected_entry_in(bench):
    workbench = await bench(datasets.load("ikat-demo").store(CASE.owner), CASE.messages, expected=CASE.expected)
    assert "did not arrive: rank 9, limit 5." in read_top(workbench)

    await act(workbench, do="why")
    assert "Changes that were tried" in read_top(workbench)
    await act(workbench, do="try", text=workbench.state.preview.explanation.suggestions[0].text)
    assert "arrived: rank 1" in read_top(workbench)
    assert "Changes that were tried" not in read_top(workbench)
    assert workbench.trace.hits[0].id == CASE.expected[0]


async def test_a_fix_that_is_not_there_any_more_changes_nothing(bench):
    workbench = await bench()
    before = workbench.injection

    await act(workbench, do="try", text="a change of yesterday")
    assert workbench.injection == before


async def test_a_hit_can_be_asked_about_and_an_entry_be_looked_for(bench):
    workbench = await bench(injection={"max_entries": 1})

    await choose_hit(workbench, "profile/4")
    assert "'I like jazz.' did not arrive" in read_top(workbench)
    await act(workbench, do="find", value="latex")
    assert "'I am allergic to latex.' did not arrive" in read_top(workbench)
    await act(workbench, do="find", value="")
    assert "1 of 4 hits arrived" in read_top(workbench)
    await choose_hit(workbench, "profile/99")  # of an older answer
    assert "1 of 4 hits arrived" in read_top(workbench)


async def test_the_entry_that_the_verdict_is_about_is_the_row_that_is_chosen(bench):
    workbench = await bench(expected=[ABOUT_ME[3]], injection={"max_entries": 2})
    grid = workbench._hits.grid
    assert grid.selected == ["profile/4"]

    await choose_hit(workbench, "profile/2")
    assert ("latex" in read_top(workbench), workbench.state.looked_for) == (True, "e1")
    await choose_hit(workbench)  # none: the expected entry is what it is about again
    assert ("jazz" in read_top(workbench), grid.selected) == (True, ["profile/4"])
    await choose_hit(workbench)  # and stays so
    assert grid.selected == ["profile/4"]

    await act(workbench, do="find", value="moderate")
    assert grid.selected == ["profile/1"]


async def test_a_row_that_is_chosen_stays_so_while_its_search_runs(bench):
    workbench = await bench(ListStore(*ABOUT_ME, seconds=0.02), expected=[ABOUT_ME[3]])
    wire = Wire(workbench._hits.grid)

    wire.put(selected=["profile/2"])
    await workbench
    assert "latex" in read_top(workbench)
    assert wire.updates("selected") == []  # the page had it first, and it was never taken back


async def test_hits_in_another_order_have_no_line_and_a_button_back(bench):
    workbench = await bench(injection={"max_entries": 1})
    Wire(workbench._hits.grid).put(sort="content")
    await workbench
    await workbench._hits.grid
    assert hit_rows(workbench._hits.grid)[:2] == ["~2 1 I am allergic to latex. ⚠ stop words only",
                                                  "1 4 I have moderate mobility issues and use a cane."]  # fmt: skip
    assert "back to the block's order" in _text(workbench._high.tree)

    await act(workbench, do="unsort")
    await workbench._hits.grid
    assert hit_rows(workbench._hits.grid)[1] == "max_entries 1 · 3 cut"
    assert "back to" not in _text(workbench._high.tree)


async def test_the_hits_of_another_call_are_shown_from_the_top(bench):
    workbench = await bench(messages=[user("I like jazz."), assistant("Good."), user("Do I use a cane?")])
    before = workbench._hits.grid.sheet["series"]

    await workbench.set(max_entries=2)
    assert workbench._hits.grid.sheet["series"] == before
    await workbench.set(call=1)
    assert workbench._hits.grid.sheet["series"] == before + 1


async def test_calls_can_be_chosen(bench):
    workbench = await bench(messages=[user("I like jazz."), assistant("Good."), user("Do I use a cane?")])

    await act(workbench, do="call", to=1)
    assert workbench.trace.query == "I like jazz."


async def test_the_tabs_show_the_block_the_models_input_and_the_entries(bench):
    workbench = await bench()
    assert ("<memory>" in _text(workbench._low.tree), table(workbench)) == (True, None)

    await act(workbench, do="tab", to="input")
    assert ("Do I use a cane?" in _text(workbench._low.tree), table(workbench)) == (True, None)
    await act(workbench, do="tab", to="entries")
    await workbench._entries.grid
    assert table(workbench) == list(ABOUT_ME)
    await act(workbench, do="tab", to="nothing")
    assert table(workbench) == list(ABOUT_ME)
    await act(workbench, do="tab", to="block")
    assert ("<memory>" in _text(workbench._low.tree), table(workbench)) == (True, None)


async def test_entries_are_sorted_filtered_and_their_store_chosen(bench):
    workbench = await bench([ListStore(*map(str, range(60)), name="many"), ListStore("a cane", name="work")])
    await act(workbench, do="tab", to="entries")

    await choose(workbench, sort="-content")
    assert (workbench.entries.records[0].content, table(workbench)[0]) == ("9", "9")
    await choose(workbench, where="1")
    assert (workbench.entries.records[0].content, table(workbench)[0], workbench.entries.total) == ("51", "51", 15)
    await choose(workbench, where="")
    await act(workbench, do="store", to="work")
    await workbench._entries.grid
    assert table(workbench) == ["a cane"]
    await act(workbench, do="store", value="0")  # chosen from a box
    await workbench._entries.grid
    assert table(workbench)[0] == "9"


async def test_what_a_cell_chooses_of_the_entries_shows_on_the_page(bench):
    workbench = await bench()
    await act(workbench, do="tab", to="entries")

    workbench.entries.choose(where="jazz")
    await workbench.entries.load()
    await workbench
    await workbench._entries.grid
    assert table(workbench) == ["I like jazz."]
    workbench.entries.toggle("e4")
    await workbench
    assert workbench._entries.grid.selected == ["e4"]


async def test_the_user_can_be_given_words_and_blank_ones_are_none(bench):
    workbench = await bench(messages=[assistant("Hello")])

    await act(workbench, workbench._talk, do="say", value="  ")
    assert workbench.state.messages == [assistant("Hello")]
    await act(workbench, workbench._talk, do="say", value="Do I use a cane?")
    assert (workbench.state.messages[-1], workbench.trace.injected) == (user("Do I use a cane?"), True)


async def test_a_neighbour_of_a_missing_file_can_be_opened(bench, tmp_path):
    tmp_path.joinpath("notes.json").write_text(
        '[{"id": "1", "content": "a cane", "createdAt": "2026-01-01T00:00:00.000Z"}]'
    )
    workbench = await bench(tmp_path / "home.json")

    await act(workbench, do="open", path=str(tmp_path / "notes.json"))
    assert repr(workbench) == "Workbench(1 store, 1 entry; call 1: 1 of 1 hit injected)"


async def test_the_block_and_the_models_input_are_copied_as_they_are(bench):
    workbench = await bench()
    wire = Wire(workbench._low)

    await act(workbench, do="copy", what="block")
    await act(workbench, do="copy", what="input")
    block, messages = (content["copy"] for content in wire.customs())
    assert (block, json.loads(messages)) == (workbench.trace.text, workbench.trace.messages)


async def test_b68_an_action_that_cannot_be_done_is_told_on_the_page(bench):
    workbench = await bench()

    await act(workbench, do="call", to=9)
    assert "That could not be done: Workbench: call is 9" in read_top(workbench)
    await act(workbench, do="store")
    assert "That could not be done: KeyError: 'to'" in read_top(workbench)
    await cut(workbench, to=2)
    assert "could not be done" not in read_top(workbench)


@pytest.mark.parametrize("message", [{"do": "nothing"}, {"do": "__init__"}, {"do": ""}, {"do": 5}, {"do": "none"}])
async def test_a_message_that_asks_for_nothing_known_does_nothing(bench, message):
    workbench = await bench()
    before = repr(workbench)

    workbench._top._received(None, message, [])
    await workbench
    assert (repr(workbench), workbench.state.refused) == (before, "")


async def test_messages_from_another_thread_are_done_on_the_loop_of_the_notebook(bench):
    threads = []

    class Watched(ListStore):
        async def search(self, query, options=None):
            threads.append(threading.current_thread())
            return await super().search(query, options)

    workbench = await bench(Watched(*ABOUT_ME))
    message = {"do": "cut", "to": 2}
    await asyncio.to_thread(workbench._hits.grid._received, None, message, [])
    await workbench._hits.grid
    await workbench
    assert (set(threads), workbench.injection["max_entries"]) == ({threading.main_thread()}, 2)


# -- closing --------------------------------------------------------------------------------------------------------


def live():
    return len(all_widgets._instances)


async def test_b67_opening_and_closing_fifty_times_leaves_no_widget_observer_thread_or_task():
    store = ListStore(*ABOUT_ME)
    first = await Workbench(store, "Do I use a cane?")
    first.close()
    before, threads = (live(), len(asyncio.all_tasks())), threading.enumerate()

    for _ in range(50):
        workbench = await Workbench(store, "Do I use a cane?")
        await workbench.edit("query", "def query(context): return 'jazz'")
        state = weakref.ref(workbench.state)
        workbench.close()
        assert workbench.state._subscribers == {}
    del workbench
    await asyncio.sleep(0.01)  # what closing asked of the loop
    gc.collect()

    assert (live(), len(asyncio.all_tasks())) == before
    assert [thread for thread in threading.enumerate() if thread not in threads] == []
    assert state() is None


async def test_closing_while_a_search_runs_ends_it():
    workbench = Workbench(ListStore(*ABOUT_ME, seconds=60), "Do I use a cane?")
    before = len(asyncio.all_tasks())
    await asyncio.sleep(0.01)

    workbench.close()
    workbench.close()
    await asyncio.sleep(0.01)
    assert len(asyncio.all_tasks()) < before + 1
    assert workbench.children == () or all(child.comm is None for child in workbench.children)


async def test_a_closed_workbench_still_answers_in_its_cell():
    workbench = await Workbench(ListStore(*ABOUT_ME), "Do I use a cane?")
    workbench.close()

    assert workbench.trace.injected
    assert repr(workbench) == "Workbench(1 store, 4 entries; call 1: 4 of 4 hits injected)"


async def test_a_layout_of_ones_own_is_not_closed_by_another_workbench(bench):
    kept = ipywidgets.Button()
    workbench = await bench()
    workbench.close()

    assert kept.comm is not None
    kept.close()


def test_the_face_opens_the_same_class():
    assert memwb.Workbench is Workbench


async def test_every_action_of_the_page_can_be_awaited_in_a_cell(bench, tmp_path):
    workbench = await bench(ListStore("I use a cane.", "I like jazz."), "Do I use a cane?")

    found = await workbench.find("cane")
    assert (found.arrived, found.target, await workbench.find("")) == (True, "I use a cane.", None)

    trace = await workbench.say("And jazz?")
    assert (trace.query, len(workbench.state.messages)) == ("And jazz?", 2)

    trace = await workbench.switch(["Jazz is loud."])
    assert [entry.content for entry in trace.entries] == ["Jazz is loud."]
