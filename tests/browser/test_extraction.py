"""The extraction panel on a real page: by mouse, by keyboard, with hostile memories, narrow and wide."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.test_workbench_hostile import ADDED, SETUP, missing
from tests.browser.workbench import IMPORTS

OPEN = """
from memwb.testing import FaultyStore, ScriptedModel
store = TestMemoryStore.from_records(["The user says: I walk with a cane."], name="profile")
wb = Workbench(store, [])
panel = await wb.extraction()
panel
"""


class Panel:
    """An extraction panel that a cell shows."""

    def __init__(self, opened, cell):
        self.opened, self.page = opened, opened.page
        self.root = opened.output(cell).locator(".memwb-panel")
        self.sentence = self.root.locator(".memwb-sentence")
        self.results = self.root.locator(".memwb-results")
        self.talk = self.root.locator(".memwb-talk")
        self.sentence.wait_for()

    def button(self, name):
        return self.root.get_by_role("button", name=name, exact=True)

    def says(self, text):
        expect(self.sentence).to_contain_text(text)

    def tab(self, name):
        self.root.get_by_role("tab", name=name).click()

    def python(self, expression):
        """What an expression gives in the notebook."""
        cell = self.opened.run(f"print({expression})")
        return self.opened.output(cell).inner_text().strip()


@pytest.fixture
def panel(notebook):
    return Panel(notebook(IMPORTS, OPEN), 1)


def test_a_conversation_is_run_and_facts_are_edited_accepted_and_rejected_by_mouse(panel):
    panel.says("14 messages to go through")
    panel.button("Step").click()
    expect(panel.talk.locator(".memwb-now")).to_contain_text("Hello, I am Mara.")
    expect(panel.talk.locator(".memwb-chip").first).to_have_text("○ waits")
    panel.button("Run").click()
    panel.says("2 facts for 'profile' wait for your decision; nothing of it is written yet.")
    assert panel.python("await panel.state.stores[0].count()") == "1"

    first = panel.results.locator("input").first
    first.fill("The user is called Mara.")
    expect(panel.results).to_contain_text("was: The user says: Hello, I am Mara.")
    panel.button("accept f1").click()
    panel.says("1 fact for 'profile' waits")
    panel.button("reject f2").click()
    panel.says("Message 2 of 14. Nothing is left to save; 1 fact written.")
    expect(panel.talk.locator(".memwb-chip").first).to_have_text("● saved")
    for _ in range(4):
        panel.button("Run").click()
        expect(panel.button("Reject all")).to_be_visible()
        panel.root.get_by_role("button", name="Accept all").click()
        expect(panel.button("Reject all")).not_to_be_visible()
    panel.says("All messages gone through. Nothing is left to save; 6 facts written.")
    expect(panel.root.locator(".memwb-stores tbody tr")).to_have_text("profile01361" + "0nothing")
    assert panel.python("[fact.state for fact in panel.state.facts]").count("'written'") == 6
    assert panel.python("await store.count()") == "1"


def test_it_is_driven_by_the_keyboard_alone_and_no_key_reaches_the_notebook(panel):
    keyboard = panel.page.keyboard
    panel.button("Run").focus()
    keyboard.press("Enter")
    panel.says("2 facts")
    expect(panel.button("Run")).to_be_focused()
    keyboard.press("d")
    keyboard.press("d")
    first = panel.results.locator("input").first
    first.focus()
    keyboard.press("End")
    keyboard.type(" dd!")
    expect(panel.results).to_contain_text("was: The user says: Hello, I am Mara.")
    keyboard.press("Tab")
    expect(panel.button("accept f1")).to_be_focused()
    keyboard.press("Enter")
    panel.says("1 fact")
    expect(panel.results.locator("input")).to_have_count(1)
    expect(panel.button("accept f2")).to_be_focused()
    keyboard.press("Space")
    panel.says("2 facts written")
    assert panel.python("panel.state.facts[0].content") == "The user says: Hello, I am Mara. dd!"
    panel.root.get_by_role("tab", name="Log").focus()
    keyboard.press("Enter")
    expect(panel.results).to_contain_text("Saved")
    assert panel.opened.panel.locator(".jp-Notebook-cell").count() >= 3


def test_the_prompt_is_edited_and_two_are_compared(panel):
    panel.button("prompt").click()
    box = panel.root.locator(".memwb-prompting textarea")
    expect(box).to_be_focused()
    box.fill("Keep only health facts.")
    panel.button("Use this prompt").click()
    expect(panel.button("prompt ●")).to_be_visible()
    panel.button("prompt ●").click()
    panel.button("Run").click()
    panel.says("1 fact for 'profile' waits")
    panel.tab("Model")
    panel.results.get_by_text("system prompt").first.click()
    expect(panel.results).to_contain_text("Keep only health facts.")

    panel.tab("Two prompts")
    panel.root.get_by_role("textbox", name="B", exact=True).fill("Keep only preferences.")
    panel.button("Compare").click()
    expect(panel.results).to_contain_text("On 12 messages: A finds 8 facts, B 2; 2 in both")
    assert panel.results.locator("tbody tr").count() == 8


def test_settings_are_changed_and_where_is_written_stands_on_the_screen(panel):
    stages = panel.root.locator(".memwb-stages")
    expect(stages).to_contain_text("writes go to copies in memory, your stores stay as they are")
    panel.root.get_by_role("combobox", name="extract").select_option("every 2 turns")
    panel.root.get_by_role("combobox", name="facts").select_option("written at once")
    assert panel.python("(await panel).state.settings.review") == "False"
    panel.button("Run").click()
    panel.says("All messages gone through. 2 messages not saved yet: only a flush saves them.")
    panel.button("Flush").click()
    panel.says("Nothing is left to save; 7 facts written.")
    assert panel.python("await store.count()") == "1"

    panel.root.get_by_role("combobox", name="write to").select_option("the stores")
    expect(stages).to_contain_text("⚠ writes go to the stores themselves")
    panel.says("14 messages to go through")
    panel.button("Run").click()
    panel.says("2 messages not saved yet")
    assert panel.python("await store.count()") == "7"


def test_what_happens_in_a_cell_is_seen_on_the_page(panel):
    panel.opened.run("_ = await panel.run()\nawait panel.accept()")
    panel.says("Message 2 of 14. Nothing is left to save; 2 facts written.")


@pytest.mark.parametrize("width", [700, 900, 1600])
def test_nothing_sticks_out_at_any_width(panel, width):
    panel.opened.side_bar(False)
    panel.opened.resize(width + 180, 900)
    panel.button("Run").click()
    panel.says("2 facts")
    for tab in ("Facts", "Model", "Log", "Two prompts"):
        panel.tab(tab)
        box = panel.root.bounding_box()
        assert box["height"] == 560
        assert panel.root.evaluate("(root) => root.scrollWidth <= root.clientWidth")
        for part in (".memwb-stores", ".memwb-results", ".memwb-top"):
            inside = panel.root.locator(part).bounding_box()
            assert box["x"] <= inside["x"]
            assert inside["x"] + inside["width"] <= box["x"] + box["width"] + 1
    assert panel.root.locator(".memwb-stores tbody tr").bounding_box()["height"] > 10


def test_b59_hostile_memories_show_as_they_were_typed(notebook):
    source = f"""
{SETUP}
from memwb.testing import ScriptedModel
model = ScriptedModel(lambda system, messages: [{{"content": text}} for text in TEXTS])
talk = [message for text in TEXTS for message in (text, "Noted: " + text)] + ["Good bye."]
wb = Workbench(TestMemoryStore(name=TEXTS[0], persist=False), talk)
panel = await wb.extraction(model=model, system_prompt=TEXTS[0])
await panel.run()
panel
"""
    panel = Panel(notebook(IMPORTS, source), 1)
    panel.says("wait for your decision")
    for tab in ("Model", "Log", "Facts"):
        panel.tab(tab)
    panel.root.get_by_role("button", name="Accept all").click()
    expect(panel.button("Reject all")).not_to_be_visible()
    assert panel.root.evaluate(ADDED) == [None]
    assert missing(panel.results.inner_text()) == []
