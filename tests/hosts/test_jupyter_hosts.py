"""The workbench in Notebook 7 and in Voila: the same page, driven by mouse and keyboard, with hostile memories."""

from __future__ import annotations

import re
from contextlib import suppress
from types import SimpleNamespace

import pytest

pytest.importorskip("playwright", reason="These tests drive a browser with Playwright, of the extra `test`.")
pytest.importorskip("notebook", reason="Notebook 7 is of the extra `hosts`.")
pytest.importorskip("voila", reason="Voila is of the extra `hosts`.")

from playwright.sync_api import TimeoutError

from tests.browser.workbench import IMPORTS, Bench
from tests.hosts.servers import notebook_7, voila, write_notebook

HOSTILE = "cane <img src=x onerror=window.hit=1></script><script>window.hit=1</script> $x^2$"
CELLS = (
    f"""{IMPORTS}
import pathlib
profile = TestMemoryStore(name="profile", path=pathlib.Path("profile.json").absolute())
await profile.add_many([*ABOUT_ME, {HOSTILE!r}])""",
    "wb = Workbench(profile, 'Do I use a cane?', editable=True)\nawait wb",
    "panel = await wb.comparison()\npanel",
    "wb.still()",
)


def run_all(page):
    """Run all cells of a notebook; a kernel that calls itself idle may not yet be connected, and then nothing runs."""
    begun = page.locator(".jp-InputPrompt").get_by_text(re.compile(r"\[[*\d]"))
    for _ in range(6):
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        with suppress(TimeoutError):
            begun.first.wait_for(timeout=15_000)
            return
    raise AssertionError("no cell runs")


@pytest.fixture(params=["notebook", "voila"])
def bench(request, page, tmp_path):
    """A workbench that the second cell of a notebook shows, in each host; below it its comparison and its still."""
    write_notebook(tmp_path / "host.ipynb", CELLS)
    serve = {"notebook": notebook_7, "voila": voila}[request.param]
    with serve(tmp_path) as address:
        page.goto(address.format(name="host.ipynb"))
        if request.param == "notebook":
            page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
            run_all(page)
        # The output of any cell is the whole page: one workbench is on it.
        yield Bench(SimpleNamespace(page=page, output=lambda _cell: page.locator("body")), 1)


def test_the_workbench_is_driven_by_mouse_and_keyboard_and_shows_hostile_text_as_text(bench):
    page = bench.page
    assert bench.verdict.inner_text().startswith("5 of 5 hits arrived")

    number = bench.root.get_by_label("max_entries", exact=True)
    assert bench.do(lambda: (number.fill("2"), number.press("Enter"))).startswith("2 of 5 hits arrived")
    bench.cut.focus()
    bench.do(lambda: page.keyboard.press("ArrowDown"))
    assert number.input_value() == "3"

    bench.edit("query")
    bench.type("def query(context):\n    return 'jazz'")
    with bench.refreshed():
        page.keyboard.press("ControlOrMeta+Enter")
    assert bench.rows()[0] == "I like jazz."
    bench.type("def query(context):\n    return 'cane'")
    with bench.refreshed():
        page.keyboard.press("ControlOrMeta+Enter")
    assert HOSTILE in bench.rows()

    bench.tab("Model input")
    bench.tab("Entries")
    bench.wait_for_status("5 entries")
    assert HOSTILE in bench.entries()
    assert page.evaluate("window.hit") is None


def test_entries_are_edited_and_settings_compared_there_and_the_still_is_shown(bench, tmp_path):
    page, file = bench.page, tmp_path / "profile.json"
    still = page.locator(".memwb-still")
    still.wait_for()
    assert HOSTILE in still.inner_text()

    before = file.read_bytes()
    bench.tab("Entries")
    bench.table.get_by_role("gridcell", name="I like jazz.", exact=True).dblclick()
    bench.low.get_by_label("Text", exact=True).fill("I like modern jazz.")
    bench.button("Stage").click()
    bench.low.locator(".memwb-staged").get_by_text("1 change staged").wait_for()
    bench.button("Write").click()
    bench.low.locator(".memwb-said").get_by_text("written").wait_for()
    assert b"I like modern jazz." in file.read_bytes()
    bench.button("Undo").focus()
    page.keyboard.press("Enter")
    bench.low.locator(".memwb-said").get_by_text("undone").wait_for()
    assert file.read_bytes() == before

    panel = page.locator(".memwb-panel")
    panel.get_by_label("Name for the settings in force").fill("all of them")
    page.keyboard.press("Enter")
    panel.locator(".memwb-pinned").get_by_text("all of them").wait_for()
    number = bench.root.get_by_label("max_entries", exact=True)
    bench.do(lambda: (number.fill("1"), number.press("Enter")))
    panel.get_by_role("button", name="Compare this call").click()
    panel.locator("summary").get_by_text("all of them").wait_for()
    assert panel.locator("ins").get_by_text(HOSTILE).count() > 0
    assert page.evaluate("window.hit") is None
