"""An evaluation on a real page: settings are compared, a case opens in the workbench, a hit is marked as expected."""

from __future__ import annotations

import pytest

from tests.browser.test_axe import RUN, axe  # noqa: F401  (a fixture)
from tests.browser.workbench import IMPORTS

SETUP = (
    IMPORTS
    + """
from memwb.datasets import Case

HOSTILE = "<img src=x onerror='window.memwbRan = 1'> $x$ <b>it</b>"
def case(id, text, expected):
    return Case(id, [{"role": "user", "content": [{"text": text}]}], [expected], category=HOSTILE, owner=id)

cases = [
    case(HOSTILE, "I need a cane for latex, and to learn", "I like jazz."),
    case("cane", "Where is my cane?", ABOUT_ME[2]),
]
settings = {"default": {}, HOSTILE: {"max_entries": 1}}
wb = Workbench(profile, "Hello")
report = await memwb.evaluate(cases, settings, profile)
"""
)
SHOW = "panel = await wb.evaluation(report, cases, profile, settings)\nawait panel.choose(listed='tied')\npanel"


@pytest.fixture
def opened(notebook):
    """A notebook with the workbench in cell 1 and the panel in cell 2."""
    shown = notebook(SETUP, "wb", SHOW)
    shown.output(2).locator(".memwb-caserow").first.wait_for()
    return shown


def test_a_case_opens_by_mouse_and_by_keyboard_and_names_stay_text(opened, axe):  # noqa: F811
    bench, panel = (opened.output(at).locator(".memwb-bench") for at in (1, 2))
    assert panel.locator("svg circle").count() == 2
    assert panel.locator("img, b").count() == 0
    assert "<img src=x" in panel.get_by_label("Settings", exact=True).inner_text()
    panel.locator(".memwb-caserow", has_text="cane").click()
    bench.get_by_text("I have moderate mobility issues").first.wait_for()
    panel.locator(".memwb-caserow.memwb-chosen", has_text="cane").wait_for()

    panel.get_by_label("first setting").select_option("default")
    panel.get_by_role("button", name="lost").focus()
    opened.page.keyboard.press("Enter")
    panel.get_by_text("No case is lost.").wait_for()
    panel.get_by_role("button", name="tied").focus()
    opened.page.keyboard.press("Enter")
    panel.locator(".memwb-caserow").first.focus()
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("ArrowUp")
    opened.page.keyboard.press("Enter")
    panel.locator(".memwb-caserow.memwb-chosen", has_text="<img").wait_for()
    bench.get_by_text("I need a cane for latex").first.wait_for()
    assert opened.page.evaluate("window.memwbRan") is None

    opened.page.add_script_tag(content=axe)
    for theme in ("light", "dark"):
        opened.set_theme(theme)
        assert panel.evaluate(RUN) == []


def test_a_chosen_hit_is_marked_as_expected_by_mouse_and_by_keyboard(opened):
    bench = opened.output(1).locator(".memwb-bench")
    opened.run("_ = await wb.set(messages='What about latex and my cane?')")
    expected = bench.get_by_role("button", name="expected", exact=True)
    bench.locator(".memwb-hits .mwg-rows [role=row]", has_text="latex").first.click()
    bench.locator(".memwb-hits button[aria-pressed=false][aria-disabled=true]").wait_for(state="detached")
    expected.click()
    bench.locator(".memwb-hits [role=row]", has_text="latex").get_by_text("expected").wait_for()
    expected.focus()
    opened.page.keyboard.press("Enter")
    bench.locator(".memwb-hits button[aria-pressed=false]").wait_for()
    opened.page.keyboard.press(" ")
    bench.locator(".memwb-hits button[aria-pressed=true]").wait_for()
    cell = opened.run("print([r.content for r in [await profile.get(e) for e in wb.case('x').expected]])")
    assert opened.output(cell).inner_text().strip() == "['I am allergic to latex.']"


def test_a_label_of_an_opened_case_is_kept_by_mouse_and_by_keyboard(opened):
    bench, panel = (opened.output(at).locator(".memwb-bench") for at in (1, 2))
    keep = panel.get_by_role("button", name="keep its labels")
    panel.locator(".memwb-caserow", has_text="cane").click()
    bench.locator(".memwb-hits .mwg-rows [role=row]", has_text="use a cane").first.click()
    bench.locator(".memwb-hits button[aria-pressed=true]").wait_for()
    for press in (keep.click, lambda: (keep.focus(), opened.page.keyboard.press("Enter"))):
        was = bench.locator(".memwb-hits button[aria-pressed]").get_attribute("aria-pressed")
        bench.get_by_role("button", name="expected", exact=True).click()
        bench.locator(f".memwb-hits button[aria-pressed={'false' if was == 'true' else 'true'}]").wait_for()
        press()
        keep.wait_for(state="detached")
        panel.get_by_text("kept: evaluate panel.cases again").wait_for()
    cell = opened.run("print([len(each.expected) for each in panel.cases])")
    assert opened.output(cell).inner_text().strip() == "[1, 1]"
