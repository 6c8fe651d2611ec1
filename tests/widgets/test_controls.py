"""The settings and the editor: what they show follows the state, and what is changed in them changes it, once."""

from __future__ import annotations

import asyncio

import pytest

from memwb.callbacks import last_two_messages, source_of
from memwb.widgets.controls import Controls
from memwb.widgets.editor import CodeEditor
from memwb.workbench import WorkbenchState
from memwb.workbench.checks import SETTINGS
from memwb.workbench.meanings import MEANINGS, placement_note
from tests.widgets.wire import Wire
from tests.workbench.fakes import ABOUT_ME, ListStore


class Bench:
    """Controls of a state, with names for its parts."""

    def __init__(self, **given):
        self.store = ListStore(*ABOUT_ME)
        self.state = WorkbenchState(self.store, "Do I use a cane?", **given)
        self.controls = Controls(self.state)
        self.state.subscribe(self.controls.draw)
        self.editor, self.place, row = self.controls.widgets
        (self.words,) = self.place.children
        self.max_entries, self.trigger, self.placement, self.explain, edits = row.children
        self.buttons = edits.children

    async def open(self, name):
        next(button for button in self.buttons if name in button.description).click()
        await self.state.settled()

    @property
    def code(self):
        """The code editor; there is one, once any callback was opened."""
        (code,) = (child for child in self.editor.children if isinstance(child, CodeEditor))
        return code

    @property
    def text(self):
        """The text that is open."""
        return self.code.value

    def type(self, text, name=None):
        """Send what a person made of a callback's text, by default of the one that is open, as the page does."""
        name = name or self.code.document
        version, before = self.code.documents[name]["version"], self.code.typed.get(name, {})
        edit = before["edit"] if before.get("version") == version else 0
        typed = {"text": text, "version": version, "edit": edit + 1}
        Wire(self.code).put(typed={**self.code.typed, name: typed})

    def shown(self):
        return (self.max_entries.value, self.trigger.value, self.placement.value)


async def opened(**given):
    bench = Bench(**given)
    await bench.state.settled()
    return bench


async def test_they_show_the_settings_that_are_in_force():
    def later(context):
        return True

    assert (await opened()).shown() == (5, "userTurn", "prepend")
    assert (await opened(injection={"max_entries": 70, "placement": "append", "trigger": "everyTurn"})).shown() == (
        70,
        "everyTurn",
        "append",
    )
    assert (await opened(injection={"trigger": later})).shown() == (5, "predicate", "prepend")


async def test_what_is_set_in_a_cell_shows_in_them_and_is_not_sent_back():
    bench = await opened()
    bench.store.searched.clear()

    await bench.state.set(max_entries=2, trigger="everyTurn", placement="append")
    assert bench.shown() == (2, "everyTurn", "append")
    assert (bench.store.searched, bench.state.pending) == ([("Do I use a cane?", 2), ("Do I use a cane?", 50)], False)


async def test_what_is_chosen_in_them_is_set_and_searched_once():
    bench = await opened()
    bench.store.searched.clear()

    bench.max_entries.value = 3
    await bench.state.settled()
    assert (bench.state.settings.max_entries, [limit for _, limit in bench.store.searched]) == (3, [3, 50])

    bench.trigger.value = "everyTurn"
    bench.placement.value = "append"
    await bench.state.settled()
    assert bench.state.injection == {"max_entries": 3, "trigger": "everyTurn", "placement": "append"}


async def test_several_quick_changes_of_max_entries_are_one_search():
    bench = await opened()
    bench.store.searched.clear()

    for limit in (6, 7, 8, 9):
        bench.max_entries.value = limit
        await asyncio.sleep(0)
    await bench.state.settled()
    assert bench.store.searched == [("Do I use a cane?", 9), ("Do I use a cane?", 50)]


async def test_a_predicate_of_a_cell_is_one_of_the_triggers_until_another_is_chosen():
    bench = await opened(injection={"trigger": lambda context: True})
    assert bench.trigger.options == ("userTurn", "everyTurn", "predicate")

    bench.trigger.value = "userTurn"
    await bench.state.settled()
    assert (bench.state.injection["trigger"], bench.trigger.options) == ("userTurn", ("userTurn", "everyTurn"))


async def test_they_cannot_be_used_where_injection_is_off():
    bench = await opened(injection=False)

    assert [each.disabled for each in (bench.max_entries, bench.trigger, bench.placement)] == [True, True, True]


async def test_the_editor_opens_with_the_callbacks_source_and_closes_again():
    bench = await opened(injection={"query": last_two_messages})
    assert "memwb-shown" not in bench.editor._dom_classes

    await bench.open("query")
    assert "memwb-shown" in bench.editor._dom_classes
    assert bench.text.startswith("def last_two_messages(context):")
    await bench.open("format")
    assert "def format(context):" in bench.text
    await bench.open("format")
    assert "memwb-shown" not in bench.editor._dom_classes


async def test_a_text_that_is_typed_is_applied_when_it_is_complete():
    bench = await opened()
    await bench.open("query")

    bench.type("def query(context):\n    retur")
    await bench.state.settled()
    assert (bench.state.trace.query, bench.buttons[0].description) == ("Do I use a cane?", "edit query ✗")

    bench.type("def query(context):\n    return 'jazz'")
    await bench.state.settled()
    assert (bench.state.trace.query, bench.buttons[0].description) == ("jazz", "edit query ●")


async def test_the_text_is_never_changed_while_it_is_typed():
    bench = await opened()
    await bench.open("query")

    bench.type("def query(context):\n    return 'jazz'")
    await asyncio.sleep(0.01)
    newer = "def query(context):\n    return 'jazz' + "
    bench.type(newer)  # before the refresh that the first text asked for
    await bench.state.settled()
    assert bench.text == newer
    assert [document["version"] for document in bench.code.documents.values()] == [1, 1, 1]


async def test_what_is_typed_while_another_editor_opens_still_reaches_its_own_callback():
    bench = await opened()
    await bench.open("query")

    await bench.open("format")
    bench.type("def query(context):\n    return 'jazz'", "query")  # a keystroke that was under way
    await bench.state.settled()
    assert bench.state.trace.query == "jazz"
    assert bench.text.endswith('return "\\n".join([*lines, "</memory>"])\n')


async def test_a_cell_that_is_run_again_wins_and_its_text_shows():
    bench = await opened()
    await bench.open("query")
    bench.type("def query(context): return 'mine")
    await bench.state.settled()

    await bench.state.set(query=last_two_messages)
    assert bench.text.startswith("def last_two_messages")

    bench.controls._act({"do": "undo"})
    await bench.state.settled()
    assert bench.text == "def query(context): return 'mine"


async def test_a_cell_that_comes_while_a_text_is_under_way_wins():
    bench = await opened()
    await bench.open("query")

    bench.type("def query(context): return 'mine'")
    bench.state.put(query=last_two_messages)  # before the loop has turned to what was typed
    await bench.state.settled()
    assert bench.state.settings.query is last_two_messages
    assert (bench.text, bench.state.slots["query"].ahead) == (bench.state.slots["query"].source, False)


async def test_ctrl_enter_puts_the_text_in_force_at_once_and_searches_once():
    bench = await opened()
    await bench.open("query")
    bench.store.searched.clear()

    text = "def query(context):\n    return 'jazz'"
    Wire(bench.code).say({"do": "apply", "document": "query", "version": 1, "edit": 1, "text": text})
    await bench.state.settled()
    assert (bench.state.trace.query, bench.store.searched) == ("jazz", [("jazz", 5), ("jazz", 50)])


async def test_ctrl_enter_tries_a_text_again_that_did_not_run():
    bench = await opened()
    await bench.open("query")
    bench.type("import nowhere\n\ndef query(context):\n    return 'jazz'")
    await bench.state.settled()
    before = bench.state.revision

    apply = {"do": "apply", "document": "query", "version": 1, "edit": 1, "text": bench.text}
    Wire(bench.code).say(apply)
    await bench.state.settled()
    assert (bench.state.revision, bench.buttons[0].description) == (before + 1, "edit query ✗")


async def test_a_mistake_is_marked_at_its_line_until_it_is_mended():
    bench = await opened()
    await bench.open("query")

    bench.type("def query(context):\n    return nope")
    await bench.state.settled()
    assert bench.code.marks["query"] == {
        "version": 1,
        "edit": 1,
        "problems": [{"line": 2, "message": "NameError: name 'nope' is not defined", "severity": "error"}],
    }
    bench.type("def query(context):\n    return 'nope'")
    await bench.state.settled()
    assert bench.code.marks["query"] == {"version": 1, "edit": 2, "problems": []}


async def test_one_editor_serves_all_callbacks_and_offers_what_each_context_has():
    bench = await opened()
    assert len(bench.editor.children) == 1  # none is made before it is wanted

    await bench.open("query")
    first = bench.code
    await bench.open("trigger")
    assert (bench.code is first, bench.code.document) == (True, "trigger")
    offered = {name: {row[1] for row in rows if row[0] == "context"} for name, rows in bench.code.completions.items()}
    assert offered == {"query": {"messages"}, "format": {"entries"}, "trigger": {"messages", "state", "agent"}}


async def test_an_editor_that_is_opened_takes_the_keyboard_and_one_that_closes_does_not():
    bench = await opened()
    await bench.open("query")
    wire = Wire(bench.code)
    assert wire.state()["takes"] == 1  # so that a page which is given the editor now knows

    await bench.open("format")
    assert wire.updates("takes") == [2]
    await bench.open("format")
    assert wire.updates("takes") == [2]


async def test_a_setting_that_is_refused_is_shown_and_the_control_goes_back():
    bench = await opened()

    bench.state.spawn(lambda: refused(bench.state))
    await bench.state.settled()
    assert (bench.shown(), "placement" in bench.state.refused) == ((5, "userTurn", "prepend"), True)


async def refused(state):
    state.put(placement="below")


@pytest.mark.parametrize("name", ["query", "format", "trigger"])
async def test_each_button_says_whether_its_callback_is_a_persons_own_or_in_error(name):
    bench = await opened()
    button = next(each for each in bench.buttons if each.description == f"edit {name}…")

    bench.state.type(name, "def ")
    assert button.description == f"edit {name} ✗"
    await bench.state.set(**{name: lambda context: "x"})
    assert button.description == f"edit {name} ●"
    await bench.state.set(**{name: None})
    assert button.description == f"edit {name}…"


# -- ready callbacks, doubts and hostile entries --------------------------------------------------------------------


def ready(bench):
    """The choice beside the editor, and the button for hostile entries."""
    bar = next(child for child in bench.editor.children if "memwb-ready" in child._dom_classes)
    return bar.children


def said(bench):
    return bench.controls._mistake.tree


async def test_a_ready_callback_is_chosen_by_name_and_its_source_opens():
    bench = await opened()
    await bench.open("query")
    choice, probe = ready(bench)
    assert (choice.value, probe.layout.display) == ("the default", "none")

    choice.value = "last two messages"
    await bench.state.settled()
    assert bench.state.slots["query"].function is last_two_messages
    assert (bench.text, choice.value) == (source_of(last_two_messages), "last two messages")

    bench.type("def query(context):\n    return 'cane'\n")
    await bench.state.settled()
    assert (choice.value, choice.options[-1]) == ("your own code", "your own code")
    choice.value = "the default"
    await bench.state.settled()
    assert (bench.state.slots["query"].function, "your own code" in choice.options) == (None, False)


async def test_a_filter_is_written_into_the_text_and_a_refused_one_is_not_shown():
    bench = await opened()
    await bench.open("format")
    choice, _ = ready(bench)
    choice.value = "filter: no duplicates"
    await bench.state.settled()
    assert "    context.entries = no_duplicates(context.entries)\n" in bench.text
    assert (bench.state.problems, choice.value) == ({}, "your own code")

    bench.type("format = lambda context: 'x'")
    await bench.state.settled()
    choice.value = "filter: score floor"
    await bench.state.settled()
    assert bench.state.refused.startswith("Workbench: the filter cannot be put into the format callback")
    assert choice.value == "your own code"


async def test_what_is_doubtful_is_marked_at_its_line_and_told_with_a_fix():
    bench = await opened()
    await bench.open("format")
    bench.type("def format(context):\n    return '<m>' + context.entries[0].content")
    await bench.state.settled()
    marks = bench.code.marks["format"]["problems"]
    assert [(mark["line"], mark["severity"]) for mark in marks] == [(2, "warning")]
    assert "⚠ line 2: what an entry holds is put beside markup as it is." in str(said(bench))


async def test_hostile_entries_are_tried_by_one_click():
    bench = await opened()
    await bench.open("format")
    _, probe = ready(bench)
    assert probe.layout.display == ""
    probe.click()
    await bench.state.settled()
    assert "✓ None of 12 hostile entries got out of its place." in str(said(bench))

    bench.type("def format(context):\n    return '<m>' + ' '.join(e.content for e in context.entries)")
    await bench.state.settled()
    assert "hostile" not in str(said(bench))
    probe.click()
    await bench.state.settled()
    assert "of 12 hostile entries got out of their place." in str(said(bench))


def words(tree):
    """The texts of a tree as a page gets it."""
    if isinstance(tree, str):
        return tree
    return " ".join(words(child) for child in tree.get("k", ()))


def buttons(tree):
    """The messages that the buttons of a tree send, by their names."""
    found = {}
    for child in tree.get("k", ()):
        if isinstance(child, dict):
            if child["t"] == "button":
                found[child["a"].get("aria-label")] = child.get("m")
            found |= buttons(child)
    return found


async def test_each_setting_is_explained_in_words_and_stays_true_while_it_changes():
    bench = await opened()
    assert "memwb-shown" not in bench.place._dom_classes
    bench.explain.click()
    await bench.state.settled()
    assert "memwb-shown" in bench.place._dom_classes
    shown = words(bench.words.tree)
    assert set(MEANINGS) == set(SETTINGS) - {"injection"}
    for name in MEANINGS:
        assert f"{name}   " in shown, name
        assert MEANINGS[name] in shown
    assert "store profile" in shown
    await bench.state.set(query=last_two_messages, max_entries=3)
    shown = words(bench.words.tree)
    assert "last_two_messages" in shown
    await bench.open("query")
    assert "memwb-shown" not in bench.place._dom_classes
    assert "memwb-shown" in bench.editor._dom_classes


async def test_settings_are_pinned_and_compared_in_the_words_until_something_changes():
    bench = await opened()

    async def press(name):
        bench.controls._act(buttons(bench.words.tree)[name])
        await bench.state.settled()

    bench.explain.click()
    await bench.state.settled()
    assert "Compare the settings" not in buttons(bench.words.tree)
    await press("Pin these settings")
    await bench.state.set(max_entries=1)
    await press("Compare the settings")
    compared = await bench.state.arms.compare()
    assert [each.arm for each in compared.calls[0].differences] == ["settings 1", "no memory"]
    shown = words(bench.words.tree)
    assert [each.summary in shown for each in compared.calls[0].differences] == [True, True]
    await bench.state.set(max_entries=2)
    assert compared.calls[0].differences[0].summary not in words(bench.words.tree)


async def test_stores_are_chosen_and_ordered_in_the_words():
    state = WorkbenchState([ListStore("a cane", name="one"), ListStore("a cane, too", name="two")], "a cane")
    controls = Controls(state)
    state.subscribe(controls.draw)
    place = controls.widgets[1]
    (view,) = place.children

    async def press(name):
        controls._act(buttons(view.tree)[name])
        await state.settled()

    controls.widgets[2].children[3].click()
    await state.settled()
    await press("Search two earlier")
    assert state.store_names == ("two", "one")
    await press("Search two")
    assert state.store_names == ("one",)
    assert buttons(view.tree)["Search one"] is None
    await press("Search two")
    assert state.store_names == ("one", "two")
    await press("Close the settings in words")
    assert "memwb-shown" not in place._dom_classes


@pytest.mark.parametrize(("release", "placement", "told"), [((1, 62), "append", True), ((1, 48), "prepend", False)])
async def test_a_placement_that_the_installed_sdk_does_not_have_is_noted(monkeypatch, release, placement, told):
    from memwb.bridge import strands

    monkeypatch.setattr(strands, "installed", lambda: release)
    monkeypatch.setattr(strands, "placement", lambda: placement)
    bench = await opened()
    expected = (
        "The installed strands-agents 1.62 appends the block: an agent here gets it there, whatever is set. The "
        "preview prepends it."
    )
    assert placement_note(bench.state) == (expected if told else "")
    await bench.state.set(injection=False)
    assert placement_note(bench.state) == ""
