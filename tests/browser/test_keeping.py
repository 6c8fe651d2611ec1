"""Settings side by side on a real page, and what a saved notebook keeps of a workbench for a page without a kernel."""

from __future__ import annotations

import nbformat
import pytest
from nbconvert import HTMLExporter

from tests.browser.test_axe import RUN, axe  # noqa: F401  (a fixture)
from tests.browser.test_workbench_hostile import ADDED, SETUP, TEXTS, missing
from tests.browser.workbench import IMPORTS

VIEW = "application/vnd.jupyter.widget-view+json"
TALK = """
wb = Workbench(profile, ["What am I allergic to?", "Latex.", "latex, cane and jazz"])
await wb
"""


@pytest.fixture
def panel(notebook):
    """The comparison's panel of a workbench, in cell 2, and its notebook."""
    opened = notebook(IMPORTS, TALK, "panel = await wb.comparison()\npanel")
    shown = opened.output(2).locator(".memwb-panel")
    shown.locator(".memwb-view").first.wait_for()
    return opened, shown


def test_settings_are_pinned_compared_and_unpinned_by_mouse(panel):
    opened, shown = panel
    shown.get_by_label("Name for the settings in force").fill("all hits")
    shown.get_by_role("button", name="Pin", exact=True).click()
    shown.locator(".memwb-pinned").get_by_text("all hits").wait_for()
    opened.run("_ = await wb.set(max_entries=1)")
    shown.get_by_role("button", name="Compare this call").click()
    shown.locator("summary").get_by_text("all hits").wait_for()
    assert shown.locator("ins").count() > 0
    assert shown.get_by_role("row").first.inner_text().split("\t")[:2] == ["arm", "calls injected"]
    opened.run("_ = await wb.set(max_entries=2)")
    shown.get_by_text("compare again").wait_for()
    shown.get_by_role("button", name="unpin all hits").click()
    shown.locator(".memwb-pinned").wait_for(state="detached")
    assert opened.output(opened.run("print(wb.arms)")).inner_text().strip() == "{}"


def test_the_same_by_keyboard_alone(panel, axe):  # noqa: F811
    opened, shown = panel
    keyboard = opened.page.keyboard
    shown.get_by_label("Name for the settings in force").focus()
    keyboard.type("dd two")  # "d d" would delete the cell, were it the notebook's
    keyboard.press("Enter")
    shown.locator(".memwb-pinned").get_by_text("dd two").wait_for()
    opened.run("_ = await wb.set(max_entries=1)")
    shown.get_by_label("Name for the settings in force").focus()
    for _ in range(4):  # past Pin, the arm, and this call
        keyboard.press("Tab")
    keyboard.press("Enter")
    shown.get_by_role("heading", name="call 2").wait_for()
    opened.screenshot("comparison", of=shown)
    opened.page.add_script_tag(content=axe)
    for theme in ("light", "dark"):
        opened.set_theme(theme)
        assert shown.evaluate(RUN) == []


def test_hostile_entries_stay_text_in_the_comparison_and_in_the_still(notebook):
    compare = (
        "wb.pin(TEXTS[0])\n_ = await wb.set(max_entries=1)\npanel = await wb.comparison()\nawait panel.compare()\npanel"
    )
    opened = notebook(
        SETUP, "wb = await Workbench(stores, messages, injection={'max_entries': 50})", compare, "wb.still()"
    )
    shown = opened.output(2).locator(".memwb-sides")
    shown.wait_for()
    still = opened.output(3).locator(".memwb-still")
    still.wait_for()
    assert shown.evaluate(ADDED) == [None]
    assert still.evaluate(ADDED) == [None]
    assert len(missing(shown.inner_text())) < len(TEXTS)
    assert missing(still.inner_text()) == []


def test_a_notebook_shows_the_widget_and_its_page_without_a_kernel_the_still(notebook):
    opened = notebook(IMPORTS, TALK)
    opened.output(1).locator(".memwb-bench .memwb-top").wait_for()
    assert opened.output(1).locator(".memwb-still").count() == 0
    opened.page.evaluate(
        "async (id) => { for (const panel of window.jupyterapp.shell.widgets('main'))"
        " if (panel.id === id) await panel.context.save(); }",
        opened.id,
    )
    saved = nbformat.read(max(opened.lab.root.glob("*.ipynb"), key=lambda path: path.stat().st_mtime), as_version=4)
    (output,) = saved.cells[1].outputs
    assert {VIEW, "text/html"} <= set(output.data)
    page, _ = HTMLExporter().from_notebook_node(saved)
    assert 'class="memwb-still' in page
