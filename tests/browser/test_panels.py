"""The panels of timeline and tools on a real page: by mouse, by keyboard, and with hostile memories."""

from __future__ import annotations

from tests.browser.test_workbench_hostile import ADDED, SETUP, TYPED, missing, words
from tests.browser.workbench import IMPORTS, Bench

TALK = """
talk = ["What am I allergic to?", "Latex.", "And my cane?", "You have one.", "latex, cane and jazz"]
wb = Workbench([profile, TestMemoryStore.from_records(["I teach art history."], name="work")], talk)
await wb
"""


def panel_of(opened, cell):
    """The panel that a cell shows, when it is drawn."""
    panel = opened.output(cell).locator(".memwb-panel")
    panel.locator(".memwb-view").first.wait_for()
    return panel


def test_a_click_in_the_heat_map_opens_the_call_in_the_workbench_and_the_keyboard_does_too(notebook):
    opened = notebook(IMPORTS, TALK, "panel = await wb.timeline()\npanel", "panel.timeline")
    wb, panel = Bench(opened, 1), panel_of(opened, 2)

    assert "calls" in panel.locator(".memwb-sentence").inner_text()
    assert panel.locator(".memwb-calllist tbody tr").count() == 3
    with wb.refreshed():
        panel.locator(".memwb-cells tbody tr").first.locator("td").nth(2).click()
    assert "2/3" in wb.top.inner_text().replace(" ", "")
    panel.locator("button[aria-current=true]").first.wait_for()
    assert panel.locator("button[aria-current=true]").first.inner_text() == "2"

    panel.get_by_role("button", name="open call 1 in the workbench").first.focus()
    with wb.refreshed():
        opened.page.keyboard.press("Enter")
    assert "1/3" in wb.top.inner_text().replace(" ", "")
    picture = opened.output(3).get_by_role("img")
    assert picture.get_attribute("aria-label") == panel.locator(".memwb-sentence").inner_text()


def test_a_change_of_the_settings_redraws_the_timeline(notebook):
    opened = notebook(IMPORTS, TALK, "panel = await wb.timeline()\npanel")
    panel = panel_of(opened, 2)
    before = panel.locator(".memwb-sentence").inner_text()

    opened.run("_ = await wb.set(max_entries=1)\nawait panel\nprint(panel.timeline.headline)")

    panel.get_by_text(f"{opened.output(3).inner_text().strip()}").first.wait_for()
    assert panel.locator(".memwb-sentence").inner_text() != before


def test_the_search_tool_is_called_from_its_form_by_keyboard_alone(notebook):
    opened = notebook(IMPORTS, TALK, "panel = await wb.tools()\npanel")
    panel = panel_of(opened, 2)
    keyboard = opened.page.keyboard

    panel.get_by_label("query").focus()
    keyboard.type("latex dd jazz")  # "d d" would delete the cell, were it the notebook's
    for _ in range(3):  # past the number and the stores
        keyboard.press("Tab")
    opened.page.wait_for_function("document.activeElement.textContent === 'Call'")
    keyboard.press("Enter")

    panel.get_by_role("region", name="Comparison").wait_for()
    assert '"I am allergic to latex."' in panel.get_by_role("region", name="Result").inner_text()
    assert "by default at most 3 of each store" in panel.get_by_role("region", name="Comparison").inner_text()
    assert opened.panel.locator(".jp-Notebook-cell").count() == 3


def test_the_add_tool_tries_first_and_writes_on_demand(notebook):
    opened = notebook(IMPORTS, TALK, "panel = await wb.tools()\npanel")
    panel = panel_of(opened, 2)
    panel.get_by_role("tab", name="add_memory").click()
    panel.get_by_label("entries").fill("I drink tea.\nI like jazz.")

    panel.get_by_role("button", name="Dry run").click()
    panel.get_by_text("Dry run: nothing was written.").wait_for()
    assert panel.locator(".memwb-lines tbody tr").count() == 4
    panel.get_by_role("button", name="Write").click()
    panel.get_by_text('{"stored": 2}').wait_for()

    opened.run("print(await profile.count())")
    assert opened.output(3).inner_text().strip() == "5"


def test_b59_memory_text_runs_nothing_in_the_panels(notebook):
    opened = notebook(
        SETUP,
        "wb = Workbench(stores[:2], messages, injection={'max_entries': 50})\n"
        "timeline, tools = await wb.timeline(), await wb.tools()\n"
        "_ = await tools.run('search_memory', query=' '.join(TEXTS), max_search_results=50)\n"
        "_ = await tools.compare('cane ' + ' '.join(TEXTS))",
        "timeline",
        "tools",
        "timeline.timeline",
    )
    timeline, tools = panel_of(opened, 2), panel_of(opened, 3)

    assert missing(timeline.locator(".memwb-cells").inner_text()) == []
    assert missing(tools.get_by_role("region", name="Comparison").inner_text()) == []
    assert words(TYPED[0]) in words(tools.inner_text())
    for shown in (timeline, tools, opened.output(4)):
        assert [found for found in shown.evaluate(ADDED) if found and not found.startswith("<svg")] == []
    assert opened.output(4).evaluate("(root) => root.querySelectorAll('svg script, svg style, svg a').length") == 0
