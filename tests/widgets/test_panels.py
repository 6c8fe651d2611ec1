"""The panels of tools and timeline: what they show, what their elements do, and that closing leaves nothing behind."""

from __future__ import annotations

import gc
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from ipywidgets.widgets import widget as all_widgets

from memwb import TestMemoryStore, Workbench
from memwb.errors import ConfigError, StaleTraceError
from memwb.sessions import InMemoryStore, MemoryEntry
from memwb.widgets import panes
from memwb.widgets.panes.timeline import timeline_pane
from memwb.widgets.panes.tools import tool_result, tool_spec, tool_tabs
from memwb.workbench.picture import RANKS
from tests.widgets.reading import button, read, walk
from tests.workbench.fakes import ABOUT_ME, ListStore, assistant, user

TALK = [user("Allergic?"), assistant("To latex."), user("My cane?")]
HOSTILE = "<img src=x onerror=alert(1)> </script> $x$ \x00 cane"


@pytest.fixture
def bench():
    """Makes a workbench, and closes it at the end."""
    made = []

    def make(source=None, messages=TALK, **given):
        made.append(Workbench(source or TestMemoryStore.from_records(ABOUT_ME, name="profile"), messages, **given))
        return made[-1]

    yield make
    for workbench in made:
        workbench.close()


async def act(panel, **message):
    """Send what an element of the page would send, and wait until it is done."""
    panel._act(message)
    await panel


def field(panel, name):
    return panel._fields[name]


async def press(panel, label):
    """Press a button of the form, and wait until it is done."""
    row = panel._form.children[-1]
    next(each for each in row.children if each.description == label).click()
    await panel


# -- timeline -------------------------------------------------------------------------------------------------------


async def test_the_timeline_shows_the_headline_the_cells_and_a_line_for_each_call(bench):
    panel = await bench().timeline()

    assert read(timeline_pane(panel.state)) == (
        f"{panel.timeline.headline}\n"
        "Entries × calls 1 2 3 4 5 6+ 1, 2, … its place in the block\n"
        "entry | came | [1] | [2] |\n"
        "I am allergic to latex. | 1/2 | 1 | |\n"
        "I have moderate mobility issues and use a cane. | 1/2 | | 1 |\n"
        f"Calls ~{panel.timeline.tokens} tokens in all\n"
        "call | answers | trigger | query | entries | tokens | outcome |\n"
        f"[1] | Allergic? | ✓ | Allergic? | 1 | ~{panel.timeline.calls[0].tokens} | injected |\n"
        f"[2] | My cane? | ✓ | My cane? | 1 | ~{panel.timeline.calls[1].tokens} | injected |"
    )


async def test_a_click_on_a_cell_opens_its_call_in_the_workbench(bench):
    wb = bench()
    panel = await wb.timeline()
    cell = next(
        node for node in walk(timeline_pane(panel.state)) if node.attributes.get("title", "").startswith("call 1")
    )

    await act(panel, **cell.action)

    assert (wb.state.call, wb.trace.query) == (1, "Allergic?")
    chosen = [node for node in walk(timeline_pane(panel.state)) if node.attributes.get("aria-current")]
    assert {node.text() for node in chosen} == {"1"}


async def test_a_call_that_is_gone_is_refused_on_the_panel(bench):
    panel = await bench().timeline()

    await act(panel, do="show", call=9)

    assert "call is 9" in read(timeline_pane(panel.state))


async def test_the_timeline_follows_the_workbench(bench):
    wb = bench()
    panel = await wb.timeline()
    await wb.set(query=lambda context: "jazz")
    await panel

    assert panel.timeline.headline.startswith("The same fact in 2 calls")


async def test_b65_of_a_long_conversation_the_calls_around_the_chosen_one_are_shown(bench):
    talk = [message for at in range(1500) for message in (user(f"jazz {at}"), assistant("ok"))][:-1]
    wb = bench(messages=talk)
    panel = await wb.timeline()

    last = read(timeline_pane(panel.state))
    await panel.show(700)
    await panel
    middle = timeline_pane(panel.state)

    assert "calls 1,441 to 1,500 of 1,500" in last
    assert "calls 671 to 730 of 1,500" in read(middle)
    assert len(json.dumps(middle.to_json())) < 100_000


async def test_a_conversation_without_a_user_has_a_headline_and_no_tables(bench):
    panel = await bench(messages=[assistant("Hello.")]).timeline()

    assert read(timeline_pane(panel.state)) == "No model call yet: the conversation holds no user message."


# -- tools ----------------------------------------------------------------------------------------------------------


async def test_the_panel_shows_a_tool_word_for_word_and_a_form_of_its_arguments(bench):
    panel = await bench().tools()
    tool = panel.state.tools["search_memory"]

    assert button(tool_tabs(panel.state), "add_memory") == {"do": "choose", "to": "add_memory"}
    assert tool.description in [node.text() for node in walk(tool_spec(panel.state)) if node.tag == "pre"]
    assert list(panel._fields) == ["query", "max_search_results"]  # one store: nothing to choose


async def test_calling_the_search_tool_shows_its_payload_and_the_injection_beside_it(bench):
    panel = await bench().tools()
    field(panel, "query").value = "latex jazz"
    field(panel, "max_search_results").value = "1"

    await press(panel, "Call")

    shown = read(tool_result(panel.state))
    assert panel.state.call.arguments == {"query": "latex jazz", "max_search_results": 1}
    assert panel.state.call.text in shown
    assert panel.state.comparison.sentence in shown


async def test_a_number_that_is_none_is_refused_on_the_panel(bench):
    panel = await bench().tools()
    field(panel, "max_search_results").value = "many"

    await press(panel, "Call")

    assert "max_search_results must be a whole number, not 'many'." in read(tool_tabs(panel.state))


async def test_the_add_tool_is_tried_first_and_writes_when_told_to(bench):
    stores = [TestMemoryStore.from_records(ABOUT_ME, name="a"), TestMemoryStore.from_records([], name="b")]
    panel = await bench(stores).tools()
    await act(panel, do="choose", to="add_memory")
    field(panel, "entries").value = f"{ABOUT_ME[0]}\n\nI drink tea."
    field(panel, "stores").value = ("a",)

    await press(panel, "Dry run")
    assert read(tool_result(panel.state)).startswith("Result\nDry run: nothing was written.")
    assert [(write.store, write.outcome) for write in panel.state.dry] == [("a", "repeat"), ("a", "new")]
    assert await stores[0].count() == 4

    await press(panel, "Write")
    assert panel.state.call.payload == {"stored": 2}
    assert [await store.count() for store in stores] == [5, 0]


async def test_the_twins_in_a_cell_do_what_the_page_does(bench):
    panel = await bench().tools()

    assert (await panel.run("search_memory", query="jazz")).payload[0]["content"] == "I like jazz."
    assert [write.outcome for write in await panel.dry_run(["I like jazz."])] == ["repeat"]
    assert (await panel.compare("jazz")).entries[0].injected


# -- both -----------------------------------------------------------------------------------------------------------


async def test_memory_text_stays_text_in_every_pane(bench):
    wb = bench(ListStore(HOSTILE, name=HOSTILE), HOSTILE)
    timeline, tools = await wb.timeline(), await wb.tools()
    await tools.run("search_memory", query=HOSTILE)
    await tools.compare(HOSTILE)

    for tree in (timeline_pane(timeline.state), tool_result(tools.state), tool_tabs(tools.state)):
        assert "<img" not in tree.to_html()
    assert "\\x00" in timeline_pane(timeline.state).to_html()
    assert "\\x00" in tool_result(tools.state).to_html()
    assert "<img" not in timeline.timeline._repr_html_()


async def test_b67_opening_and_closing_the_panels_leaves_no_widget(bench):
    wb = bench()
    await wb
    before = len(all_widgets._instances)

    for _ in range(20):
        timeline, tools = await wb.timeline(), await wb.tools()
        await act(tools, do="choose", to="add_memory")
        timeline.close()
        tools.close()
    gc.collect()

    assert len(all_widgets._instances) == before
    assert len(wb.state._subscribers) == 1


# -- a closed panel -------------------------------------------------------------------------------------------------


async def test_a_closed_panel_refuses_every_action_and_writes_nothing(bench):
    store = TestMemoryStore.from_records(ABOUT_ME, name="profile")
    wb = bench(store)
    sessions = InMemoryStore()
    await sessions.add(sessions_entry("s1"))
    extraction, tools, timeline = wb.extraction(write_to="stores", review=False), wb.tools(), wb.timeline()
    reader = wb.sessions(sessions)
    for panel in (extraction, tools, timeline, reader):
        panel.close()
    refused = [
        extraction.step,
        extraction.run,
        extraction.flush,
        extraction.retry_unreadable,
        extraction.restart,
        lambda: extraction.set(every=2),
        extraction.accept,
        extraction.reject,
        lambda: extraction.edit("f1", "x"),
        extraction.compare,
        lambda: tools.run("add_memory", entries=["x"]),
        lambda: tools.dry_run(["x"]),
        lambda: tools.compare("x"),
        lambda: timeline.show(1),
        lambda: reader.read("s1"),
        lambda: reader.filter(where="x"),
        lambda: reader.set(max_messages=9),
        reader.preview,
        lambda: reader.write_summary("x"),
        reader.apply,
        reader.undo,
    ]
    for action in refused:
        with pytest.raises(StaleTraceError, match=r"^This panel is closed, so that \w+\(\) did nothing"):
            await action()
    assert await store.count() == len(ABOUT_ME)


def sessions_entry(session_id):
    return MemoryEntry(session_id=session_id, user_id="u", role="user", content="Hello.")


async def test_a_panel_with_a_wrong_setting_prints_no_traceback_beside_its_error(bench):
    for setting in ({"every": 0}, {"write_to": "disk"}, {"zorg": 1}, {"model": 5}, {"review": "no"}):
        with pytest.raises(ConfigError):
            bench().extraction(**setting)
        gc.collect()  # an error in __del__ would be a warning, and warnings are errors here


async def test_arguments_of_a_wrong_kind_are_refused_by_name(bench):
    wb = bench()
    tools, timeline = wb.tools(), wb.timeline()
    for action, key in (
        (lambda: tools.dry_run([5]), "entries"),
        (lambda: tools.dry_run(5), "entries"),
        (lambda: tools.compare(None), "text"),
        (lambda: tools.compare(5), "text"),
        (lambda: timeline.show(None), "call"),
    ):
        with pytest.raises(ConfigError) as caught:
            await action()
        assert caught.value.key == key
    call = await tools.run("add_memory", entries=[])
    assert (call.arguments, "missing" in call.error, "entries" in call.error) == ({"entries": []}, False, True)


async def test_the_timeline_marks_what_is_expected_and_where_it_lacks(bench):
    panel = await bench(ListStore(*ABOUT_ME), expected=["e4"], injection={"max_entries": 1}).timeline()
    tree = timeline_pane(panel.state)
    titles = [node.attributes.get("title", "") for node in walk(tree)]
    assert "expected: I like jazz." in titles
    assert "call 2: expected, not in the block" in titles
    assert "★ expected, ✗ where it should be in the block and is not" in read(tree)


def test_the_colours_of_places_are_told_apart_and_their_numbers_can_be_read():
    css = (Path(panes.__file__).parents[1] / "static" / "panels.css").read_text("utf-8")
    rule = r"^%s\.memwb-box\.memwb-rank-(\d) { background: (#\w+); color: (#\w+);"
    for theme, page in (("", "#ffffff"), (r'\[data-jp-theme-light="false"\] ', "#111111")):
        found = re.findall(rule % theme, css, flags=re.MULTILINE)
        assert [int(number) for number, *_ in found] == list(range(1, len(RANKS) + 1))
        colours = [colour for _, colour, _ in found]
        assert theme or tuple(colours) == RANKS
        assert all(contrast(colour, ink) >= 4.5 for _, colour, ink in found)
        steps = [contrast(one, other) for one, other in pairwise([*colours, page])]
        assert all(step >= 1.3 for step in steps[:-2]), steps
        assert [contrast(colour, page) for colour in colours] == sorted(
            [contrast(colour, page) for colour in colours], reverse=True
        )


def contrast(one, other):
    def light(colour):
        pairs = colour[1:] if len(colour) == 7 else "".join(sign * 2 for sign in colour[1:])
        parts = [int(pairs[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted([light(one), light(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)
