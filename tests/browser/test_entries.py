"""Entries are filtered, edited, merged, written and undone on a real page: by mouse, by keyboard, hostile ones too."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright", reason="These tests drive a browser with Playwright, of the extra `test`.")

from tests.browser.test_workbench_hostile import ADDED, SETUP, TEXTS, missing
from tests.browser.workbench import Bench

STORES = """
import pathlib, tempfile
folder = pathlib.Path(tempfile.mkdtemp())
notes = TestMemoryStore(name="notes", path=folder / "notes.json")
await notes.add_many([{"content": text, "metadata": {"n": n}} for n, text in enumerate(ABOUT_ME)])
twice = TestMemoryStore.from_records(["I LIKE  jazz.", "I own a boat."], name="twice")
before = notes.path.read_bytes()
"""
CHECK = "print(notes.path.read_bytes() == before, [record.content for record in await notes.page(0, 9)])"


@pytest.fixture
def shown(bench):
    """A workbench on two stores whose entries may be edited, with the tab of the entries open."""
    opened = bench("Workbench([notes, twice], 'Do I like jazz?', editable=True)", STORES)
    opened.tab("Entries")
    opened.table.locator("[role=row]").nth(4).wait_for()
    return opened


def row(shown, text):
    return shown.table.get_by_role("gridcell", name=text, exact=True)


def staged(shown, text):
    shown.low.locator(".memwb-staged").get_by_text(text).wait_for()


def said(shown, text):
    shown.low.locator(".memwb-said").get_by_text(text).wait_for()


def printed(shown):
    return shown.notebook.output(shown.notebook.run(CHECK)).inner_text().strip()


def test_entries_are_changed_deleted_written_and_undone_by_mouse(shown):
    row(shown, "I like jazz.").dblclick()
    text = shown.low.get_by_label("Text", exact=True)
    text.fill("I like modern jazz.")
    shown.low.get_by_label("Metadata, a JSON object").fill("{1}")
    shown.button("Stage").click()
    shown.low.get_by_role("alert").get_by_text("The metadata is no JSON").wait_for()
    assert text.input_value() == "I like modern jazz."
    shown.low.get_by_label("Metadata, a JSON object").fill('{"n": 7}')
    shown.button("Stage").click()
    staged(shown, "1 change staged")

    row(shown, "I am allergic to latex.").click()
    shown.button("Delete entries").click()
    staged(shown, "2 changes staged")
    shown.button("Diff").click()
    assert shown.low.locator(".memwb-diff ins").inner_text() == "modern "
    assert "n: 3 → 7" in shown.low.locator(".memwb-diff").inner_text()
    shown.button("Back to the entries").click()

    with shown.refreshed():
        shown.button("Write").click()
    said(shown, "2 changes written.")
    row(shown, "I like modern jazz.").wait_for()
    assert row(shown, "I am allergic to latex.").count() == 0
    shown.button("Undo").click()
    said(shown, "The last write is undone.")
    row(shown, "I am allergic to latex.").wait_for()
    assert printed(shown).startswith("True")


def test_an_entry_is_opened_changed_and_another_deleted_by_keyboard_alone(shown):
    keyboard = shown.page.keyboard
    shown.table.focus()
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    shown.low.get_by_label("Text", exact=True).wait_for()
    shown.page.wait_for_function("() => document.activeElement.localName === 'textarea'")
    keyboard.type("dd ")
    keyboard.press("Escape")
    shown.low.locator(".memwb-entry-form").wait_for(state="detached")
    assert shown.low.locator(".memwb-staged").count() == 0

    shown.table.focus()
    keyboard.press("Enter")
    shown.page.wait_for_function("() => document.activeElement.localName === 'textarea'")
    keyboard.press("ControlOrMeta+End")
    keyboard.type(" Really.")
    keyboard.press("ControlOrMeta+Enter")
    staged(shown, "1 change staged")
    shown.table.focus()
    keyboard.press("ArrowDown")
    keyboard.press("Delete")
    staged(shown, "2 changes staged")
    shown.table.locator(".mwg-deleted").wait_for()
    shown.button("Write").focus()
    keyboard.press("Enter")
    said(shown, "2 changes written.")
    assert "Really." in printed(shown)


def test_near_duplicates_of_two_stores_are_shown_together_and_merged(shown):
    shown.button("all stores").click()
    shown.wait_for_status("6 entries")
    shown.button("duplicates").click()
    shown.wait_for_status("2 entries")
    rows = shown.table.locator("[role=row][aria-selected]")
    rows.nth(0).click()
    rows.nth(1).click(modifiers=["ControlOrMeta"])
    shown.button("Merge entries").click()
    shown.low.get_by_label("Text that stays").fill("I like jazz a lot.")
    shown.button("Stage").click()
    staged(shown, "2 changes staged")
    shown.button("Diff").click()
    assert "merged into" in shown.low.locator(".memwb-diff").inner_text()
    shown.button("Discard").click()
    shown.wait_for_status("2 entries, 2 selected")


def test_what_somebody_else_has_changed_is_told_and_not_overwritten(shown):
    row(shown, "I like jazz.").dblclick()
    shown.low.get_by_label("Text", exact=True).fill("I like modern jazz.")
    shown.notebook.run("_ = await notes.update((await notes.page(3, 1))[0].id, 'I like old jazz.')")
    shown.button("Stage").click()
    staged(shown, "1 change staged")
    shown.button("Write").click()
    said(shown, "now says 'I like old jazz.'")
    assert "I like old jazz." in printed(shown)
    staged(shown, "1 change staged")


def test_filters_and_the_check_are_there_without_editing_and_nothing_can_be_changed(bench):
    opened = bench("Workbench([notes, twice], 'Do I like jazz?')", STORES)
    opened.tab("Entries")
    assert opened.button("Delete entries").count() == 0
    opened.button("filters").click()
    field = opened.low.locator(".memwb-path")
    field.fill("n = 2")
    field.press("Enter")
    opened.wait_for_status("1 entry")
    opened.button("filters on").wait_for()
    opened.button("health").click()
    opened.low.get_by_text("Nothing found").wait_for()


def test_hostile_entries_are_text_in_the_form_the_diff_and_the_findings_and_do_nothing(notebook):
    opened = notebook(SETUP, "wb = Workbench(stores[:1], 'cane', editable=True)\nawait wb")
    shown = Bench(opened, 1)
    shown.tab("Entries")
    rows = shown.table.locator("[role=row][aria-selected]")
    rows.nth(1).dblclick()
    assert TEXTS[1] in shown.low.get_by_label("Text", exact=True).input_value()
    assert shown.root.evaluate(ADDED) == [None]
    shown.button("Cancel").click()

    opened.run(
        "wb.entries.stage(delete=[item['id'] for item in items[::2]],\n"
        "    edit={item['id']: {'content': 'x ' + item['content'], 'metadata': None} for item in items[1::2]})\n"
        "wb.entries.unstage([]); await wb"
    )
    shown.button("Diff").click()
    diff = shown.low.locator(".memwb-diff")
    diff.wait_for()
    assert missing(diff.inner_text()) == []
    assert shown.root.evaluate(ADDED) == [None]
    shown.button("Back to the entries").click()
    shown.button("health").click()
    shown.low.locator(".memwb-health").wait_for()
    assert shown.root.evaluate(ADDED) == [None]
