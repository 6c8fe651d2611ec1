"""The panel of sessions on a real page: by mouse, by keyboard, and with hostile sessions."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright", reason="These tests drive a browser with Playwright, of the extra `test`.")

from tests.browser.test_workbench_hostile import ADDED, SETUP, TYPED, missing, words
from tests.browser.workbench import IMPORTS

TALK = f"""
{IMPORTS}
import pathlib, tempfile
from memwb.sessions import Memory, MemoryEntry, SQLiteStore
from memwb.testing import ScriptedModel

CALL = {{"id": "k1", "function": {{"name": "price_of", "arguments": '{{"product": "grab bar"}}'}}}}
path = pathlib.Path(tempfile.mkdtemp(), "memory.db")
store = SQLiteStore(path)
SESSIONS = 500
await store.add_many([
    MemoryEntry(f"s{{n:04}}", f"{{n}}-{{at}}", f"user-{{n % 700}}", "user" if at % 2 == 0 else "assistant",
                f"message {{at}} of session {{n}}", created_at=60.0 * n + at, updated_at=0.0)
    for n in range(SESSIONS) for at in range(10)
])
memory = Memory(store)
for message in ({{"role": "assistant", "content": "", "tool_calls": [CALL]}},
                {{"role": "tool", "content": "19.90", "tool_call_id": "k1"}},
                {{"role": "assistant", "content": "It costs 19.90."}}):
    await memory.add(message, "s0422", "user-422")
model = ScriptedModel(["They talked about grab bars."] * 3)
"""
SHOW = "wb = memwb.Workbench(path)\npanel = await wb.sessions(model=model)\npanel"


class Shown:
    """A panel of sessions that a cell shows."""

    def __init__(self, opened, cell):
        self.notebook, self.page = opened, opened.page
        self.root = opened.output(cell).locator(".memwb-sessions")
        self.table = self.root.get_by_role("grid", name="Sessions")
        self.pane = self.root.locator(".memwb-right")
        self.sentence = self.root.locator(".memwb-sentence")
        self.root.locator("[data-revision]").wait_for()
        self.table.locator("[role=row]").nth(1).wait_for()

    def says(self, text):
        """Wait until the sentence on top has this."""
        self.sentence.filter(has_text=text).wait_for()

    def has(self, text):
        """Wait until the pane shows this."""
        self.pane.get_by_text(text, exact=True).first.wait_for()

    def status(self, text):
        """Wait until the table says that it shows so many."""
        self.root.locator(".mwg-status").filter(has_text=text).wait_for()

    def open(self, session):
        self.table.get_by_text(session, exact=True).click()

    def button(self, name):
        return self.root.get_by_role("button", name=name, exact=True)

    def tab(self, name):
        self.pane.get_by_role("tab", name=name).click()
        self.pane.locator(f'[role=tab][aria-selected=true]:has-text("{name}")').wait_for()


def test_one_users_session_is_found_among_thousands_read_and_filtered(notebook):
    shown = Shown(notebook(TALK.replace("SESSIONS = 500", "SESSIONS = 3000"), SHOW), 1)
    assert shown.sentence.inner_text() == "3,000 sessions of 700 users. Choose one to read it."

    shown.root.get_by_label("filter").fill("user-422")
    shown.status("4 sessions")
    shown.open("s0422")
    shown.says("'s0422' of 'user-422': 13 entries")
    shown.has("message 0 of session 422")
    shown.has("19.90")

    shown.pane.get_by_role("button", name="tool 1").click()
    shown.pane.locator(".memwb-message").nth(1).wait_for(state="detached")
    assert "19.90" in shown.pane.locator(".memwb-message").inner_text()
    shown.pane.get_by_role("button", name="all 13").click()
    shown.pane.get_by_label("find text in the session").press_sequentially("COSTS", delay=10)
    shown.pane.locator(".memwb-message").nth(1).wait_for(state="detached")
    assert "It costs 19.90." in shown.pane.locator(".memwb-message").inner_text()
    assert shown.pane.get_by_label("find text in the session").input_value() == "COSTS"


def test_a_summary_is_previewed_applied_and_undone_by_mouse(notebook):
    shown = Shown(notebook(TALK, SHOW, "_ = await panel.read('s0422')"), 1)
    shown.has("19.90")
    shown.tab("Summary")
    assert (shown.button("Apply").is_disabled(), shown.button("Undo").is_disabled()) == (True, True)

    shown.button("Ask the model").click()
    shown.has("They talked about grab bars.")
    assert "2 pinned, 6 replaced, 5 kept" in shown.pane.inner_text()
    shown.says("'s0422' of 'user-422': 13 entries")
    shown.button("Apply").click()
    shown.says("'s0422' of 'user-422': 8 entries")
    shown.tab("Conversation")
    shown.has("They talked about grab bars.")
    shown.tab("Summary")
    shown.button("Undo").click()
    shown.says("'s0422' of 'user-422': 13 entries")


def test_a_session_is_chosen_and_summarised_by_keyboard_alone(notebook):
    opened = notebook(TALK, SHOW)
    shown = Shown(opened, 1)
    keyboard = shown.page.keyboard

    shown.root.get_by_label("filter").focus()
    keyboard.type("s0422")
    shown.status("1 session")
    shown.table.focus()
    keyboard.press("ArrowDown")
    keyboard.press(" ")
    shown.says("'s0422' of 'user-422': 13 entries")
    keyboard.type("dd")  # would delete the cell, were it the notebook's
    shown.pane.get_by_role("tab", name="Conversation").focus()
    keyboard.press("ArrowRight")
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    count = shown.pane.get_by_label("pin_count")
    count.wait_for()
    count.fill("4")
    keyboard.press("Enter")
    shown.button("Ask the model").focus()
    keyboard.press("Enter")
    shown.has("They talked about grab bars.")
    assert "4 pinned, 4 replaced, 5 kept" in shown.pane.inner_text()
    shown.button("Apply").focus()
    keyboard.press("Enter")
    shown.says("'s0422' of 'user-422': 10 entries")
    assert opened.panel.locator(".jp-Notebook-cell").count() == 2


def test_the_session_is_opened_in_the_workbench(notebook):
    opened = notebook(TALK, "wb = memwb.Workbench(path)\nawait wb", "panel = await wb.sessions()\npanel")
    shown = Shown(opened, 2)
    shown.root.get_by_label("filter").fill("s0422")
    shown.status("1 session")
    shown.open("s0422")
    shown.has("19.90")

    shown.button("Open in the workbench").click()
    opened.output(1).locator(".memwb-talk").get_by_text("19.90").first.wait_for()


def test_a_tool_call_unfolds_what_is_wrong_is_told_and_the_height_stays(notebook):
    opened = notebook(TALK, SHOW, "_ = await panel.read('s0422')")
    shown = Shown(opened, 1)
    shown.has("19.90")

    shown.pane.get_by_text('calls price_of({"product": "grab bar"})').click()
    shown.pane.get_by_text("id k1").wait_for()
    shown.tab("Context")
    shown.has("tool, tool_call_id k1")
    shown.tab("Summary")
    shown.pane.get_by_label("recent_count").fill("many")
    shown.page.keyboard.press("Enter")
    shown.root.locator(".memwb-banner").get_by_text("recent_count is 'many'; it must be a whole number").wait_for()

    opened.side_bar(False)
    for width in (700, 1100, 1700):
        opened.resize(width, 900)
        shown.page.wait_for_timeout(100)
        assert shown.root.bounding_box()["height"] == 560
        assert shown.root.evaluate("(root) => root.scrollWidth <= root.clientWidth")


def test_b59_hostile_sessions_run_nothing(notebook):
    opened = notebook(
        SETUP
        + """
from memwb.sessions import InMemoryStore, MemoryEntry
store = InMemoryStore()
await store.add_many([MemoryEntry(text, f"i{at}", text, content=text) for at, text in enumerate(TEXTS)])
await store.add_many([
    MemoryEntry("all", f"{at}-{n}", TEXTS[0], TEXTS[1] if n else "assistant", text,
                {"tool_calls": [{"id": text, "name": text, "arguments": text}]}, float(at), 0.0)
    for at, text in enumerate(TEXTS) for n in range(2)
])
class Answering:
    async def complete(self, system, messages):
        return " ".join(TEXTS)
""",
        "panel = await Workbench(store).sessions(model=Answering())\n"
        "await panel.read('all')\n_ = await panel.preview()\npanel",
    )
    shown = Shown(opened, 1)

    for tab in ("Summary", "Context", "Conversation"):
        shown.tab(tab)
        assert tab == "Summary" or missing(shown.pane.inner_text()) == []  # the summary's parts are folded
        assert [found for found in shown.root.evaluate(ADDED) if found] == []
    assert words(TYPED[0]) in words(shown.table.inner_text())
