"""Memory text is untrusted: wherever it shows, it shows as typed, and it never becomes an element or an attribute."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas
import pytest
from ipywidgets.embed import embed_snippet

from memwb._dom import TAGS, Node, sendable
from memwb._text import visible
from memwb.stores import TestMemoryStore
from memwb.widgets import Workbench, panes
from memwb.widgets.entries import EntriesTable
from memwb.workbench import WorkbenchState
from tests.widgets.reading import hits_table, walk
from tests.workbench.fakes import ListStore, assistant, tool_call, tool_result, user

CASE = json.loads(Path(__file__).parents[1].joinpath("cases", "B59-markup-fields.json").read_text("utf-8"))
TEXTS = [*CASE["texts"], "tea costs $5, cake $9_50", "</script><script>window.hit=1</script>", "a\x00b\x08c\u202ed"]


class Page(HTMLParser):
    """What a browser would make of some HTML: its elements, its attributes and its text."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = set(), set(), ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    handle_decl = handle_pi = unknown_decl = handle_comment


def drawn(state):
    """Every pane of the workbench, with everything open."""
    lower = [panes.lower(state, tab) for tab in panes.TABS]
    return [
        panes.top(state, why_open=True),
        panes.conversation(state),
        panes.hits(state),
        *lower,
        *map(panes.mistakes, state.slots.values()),
    ]


def page_text(state):
    return "\n".join(node.text() for node in drawn(state))


def check(state):
    """No text of the panes became anything but text, in either way of drawing them."""
    for node in drawn(state):
        assert {each.tag for each in walk(node)} <= TAGS
        assert all(isinstance(child, Node | str) for each in walk(node) for child in each.children)
        page = Page(node.to_html())
        assert page.tags <= TAGS
        assert not [name for name in page.attributes if name.startswith("on") or name in ("href", "src", "style")]
        assert page.text == visible(node.text())
        for shown in strings(node.to_json()):
            assert shown == visible(shown)


def strings(tree):
    """Every text and attribute of a tree as it is sent to the page; what its elements send back is not shown."""
    if isinstance(tree, str):
        yield tree
        return
    yield from tree.get("a", {}).values()
    for child in tree.get("k", ()):
        yield from strings(child)


async def table(state):
    """Every text of the table of entries as it is sent to the page, the texts of its cells without their parts."""
    entries = EntriesTable(state, lambda: None)
    entries.draw(True)
    await entries.grid.settled()
    entries.grid.shown = [column["key"] for column in entries.grid.offered]
    await entries.grid.settled()
    sheet = entries.grid.sheet
    assert entries.grid.problem == ""
    assert json.dumps(entries.grid.get_state(), ensure_ascii=False).encode()
    entries.grid.close()
    cells = [cell["t"] if isinstance(cell, dict) and "t" in cell else cell for row in sheet["rows"] for cell in row[2:]]
    shown = [*(column["title"] for column in sheet["columns"]), *(cell for cell in cells if isinstance(cell, str))]
    for text in shown:
        assert text == visible(text)
    return "\n".join(shown)


async def settled(source, messages, **given):
    state = WorkbenchState(source, messages, **given)
    await state.settled()
    return state


@pytest.fixture(params=TEXTS, ids=range(len(TEXTS)))
def text(request):
    return request.param


async def test_b59_in_an_entry(text):
    state = await settled(ListStore(f"cane {text}", "cane"), "cane", expected=[f"cane {text}"])

    check(state)
    for shown in (panes.top(state).text(), "\n".join(hits_table(state)), await table(state)):
        assert f"cane {visible(text)}" in visible(shown).replace("\n", " ")


async def test_b59_in_a_message_and_so_in_the_query(text):
    talk = [
        user(f"first {text}"),
        tool_call(text, **{"zone": text}),
        tool_result(text),
        assistant(text),
        user(f"cane {text}"),
    ]
    state = await settled(ListStore("cane"), talk)

    check(state)
    shown = page_text(state)
    assert f"first {text}" in shown
    assert f"cane {text}" in shown
    assert visible(json.dumps(text, ensure_ascii=False)) in visible(shown)


async def test_b59_in_the_name_of_a_store(text):
    state = await settled([ListStore("cane", name=text), ListStore("cane", name="other")], "cane")

    check(state)
    assert visible(text) in hits_table(state)[0]
    assert text in panes.lower(state, "entries").text()


async def test_b59_in_a_store_that_fails_and_in_what_it_raises(text):
    state = await settled(ListStore("cane", name=text, error=RuntimeError(text)), "cane")

    check(state)
    assert visible(repr(RuntimeError(text))) in visible(page_text(state))


async def test_b59_in_metadata_and_in_ids(text):
    store = TestMemoryStore.from_records(
        [{"content": "cane", "id": f"id {text}", "metadata": {f"key {text}": f"value {text}"}}], name="notes"
    )
    state = await settled(store, "cane")

    check(state)
    shown = await table(state)
    assert visible(json.dumps(f"key {text}", ensure_ascii=False))[:100] in shown
    assert visible(f"value {text}") in shown  # in the column of its own
    assert visible(f"id {text}") in shown


async def test_b59_in_the_columns_of_a_frame(text):
    frame = pandas.DataFrame({"content": ["cane"], f"column {text}": [text]}).rename_axis(text)
    state = await settled(frame, "cane")

    check(state)
    assert "cane" in hits_table(state)[0]
    assert visible(f"column {text}".replace("\\", "\\\\").replace(".", "\\.")) in await table(state)


async def test_b59_in_what_is_looked_for_and_filtered(text):
    state = await settled(ListStore("cane"), "cane")
    state.look_for(text)
    state.entries.choose(where=text)
    await state.settled()
    await state.entries.load()

    check(state)
    values = [each.attributes.get("value") for pane in drawn(state) for each in walk(pane) if each.tag == "input"]
    assert values == [text]
    entries = EntriesTable(state, lambda: None)
    entries.draw(True)
    await entries.grid.settled()
    assert (entries.grid.where, entries.grid.sheet["where"]) == (sendable(text), sendable(text))
    entries.grid.close()


async def test_b59_in_a_callback_its_mistakes_and_what_it_prints(text):
    state = await settled(ListStore("cane"), "cane")

    await state.edit("query", f"def query(context):\n    print({text!r})\n    raise ValueError({text!r})")
    check(state)
    assert visible(text) in visible(page_text(state))

    state.type("query", f"def query(context):\n    {text}")
    check(state)


async def test_b59_in_the_block_that_a_format_of_ones_own_makes(text):
    state = await settled(ListStore("cane"), "cane", injection={"format": lambda context: f"block {text}"})

    check(state)
    assert visible(f"block {text}") in panes.lower(state).text()
    assert visible(f"block {text}") in panes.lower(state, "input").text()


async def test_b59_in_the_file_beside_a_missing_one(text, tmp_path):
    name = f"{text}.json".replace("/", "_").replace("\x00", "_")
    tmp_path.joinpath(name).write_text("[]")
    state = await settled(tmp_path / "home.json", "cane")

    check(state)
    assert name in panes.hits(state).text()


async def test_b59_in_the_html_of_traces_and_explanations(text):
    state = await settled(
        ListStore(f"cane {text}", "x", name=f"store {text}"), f"cane {text}", injection={"max_entries": 1}
    )
    explanation = await state.why(f"cane {text}")

    for page in map(Page, (state.trace._repr_html_(), explanation._repr_html_())):
        assert page.tags <= TAGS
        assert not [name for name in page.attributes if name.startswith("on") or name in ("href", "src", "style")]
        assert f"cane {visible(text)}"[:30] in page.text


async def test_b61_a_closing_script_in_a_widget_does_not_end_the_script_of_an_exported_page():
    text = "</script><script>window.hit=1</script>"
    workbench = await Workbench(ListStore(f"cane {text}", name=text), f"cane {text}")

    page = embed_snippet(views=[workbench])
    assert page.count("</script>") == page.count("<script")
    assert ("<script>window.hit" in page, "script>window.hit=1" in page) == (False, True)
    workbench.close()


async def test_b53_a_lone_surrogate_in_a_message_or_an_entry_shows_and_is_sent():
    bad = "cane \ud83d end"
    workbench = await Workbench(ListStore(bad), [user(bad), assistant(bad), user(bad)], expected=[bad])

    check(workbench.state)
    for view in (workbench._top, workbench._talk, workbench._high, workbench._low, workbench._hits.grid):
        assert json.dumps(view.get_state(), ensure_ascii=False).encode()
    assert r"cane \ud83d end" in json.dumps(workbench._talk.tree, ensure_ascii=False).replace("\\\\", "\\")
    workbench.close()


async def test_b53_lone_surrogates_in_names_and_ids_are_sent_as_well():
    class Odd(ListStore):
        async def page(self, *args, **options):
            return [replace(record, id="\ud83d") for record in await super().page(*args, **options)]

    workbench = await Workbench([Odd("cane", name="\ud83d"), Odd("cane", name="other")], "cane")
    for tab in panes.TABS:
        assert json.dumps(panes.lower(workbench.state, tab).to_json(), ensure_ascii=False).encode()
    assert "\\ud83d" in await table(workbench.state)
    assert json.dumps(workbench._hits.grid.get_state(), ensure_ascii=False).encode()
    workbench.close()


async def test_b15_an_entry_of_a_million_characters_sends_little_and_says_how_much_is_not_shown():
    workbench = await Workbench(ListStore("cane " * 200_000), "cane")

    assert "~250,013 tokens" in panes.lower(workbench.state).text()
    assert "more characters" in panes.lower(workbench.state).text()
    assert [note.kind for note in workbench.trace.notes] == ["large block"]
    sent = [json.dumps(view.tree) for view in (workbench._top, workbench._talk, workbench._high, workbench._low)]
    sent.append(json.dumps(workbench._hits.grid.sheet))
    assert sum(map(len, sent)) < 50_000
    workbench.close()


async def test_b65_a_long_conversation_sends_under_a_megabyte_and_says_how_much_is_not_shown():
    talk = [turn(f"cane {number} " + "word " * 2_000) for number in range(1_500) for turn in (user, assistant)]
    state = await settled(ListStore("cane"), [*talk, user("cane " * 20_000)])

    for pane in (panes.conversation(state), panes.lower(state, "input")):
        assert "2,901 earlier messages" in pane.text()
        assert len(json.dumps(pane.to_json())) < 600_000


async def test_b65_many_large_entries_send_under_a_megabyte():
    store = ListStore(*(f"cane {number} " + "x" * 1_990 for number in range(20_000)))
    workbench = await Workbench(store, "cane")

    sizes = []
    for tab in panes.TABS:
        trees = [panes.top(workbench.state), panes.hits(workbench.state), panes.lower(workbench.state, tab)]
        sizes.append(
            sum(len(json.dumps(tree.to_json())) for tree in trees) + len(json.dumps(workbench._hits.grid.sheet))
        )
    assert max(sizes) < 200_000
    assert "19,950 more matched" in panes.hits(workbench.state).text()
    workbench.close()
