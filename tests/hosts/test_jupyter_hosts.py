"""The workbench in Notebook 7 and in Voila: the same page, driven by mouse and keyboard, with hostile memories."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("playwright", reason="These tests drive a browser with Playwright, of the extra `test`.")
pytest.importorskip("notebook", reason="Notebook 7 is of the extra `hosts`.")
pytest.importorskip("voila", reason="Voila is of the extra `hosts`.")

from tests.browser.workbench import IMPORTS, Bench
from tests.hosts.servers import notebook_7, voila, write_notebook

HOSTILE = "cane <img src=x onerror=window.hit=1></script><script>window.hit=1</script> $x^2$"
CELLS = (
    f"{IMPORTS}\nprofile = TestMemoryStore.from_records([*ABOUT_ME, {HOSTILE!r}], name='profile')",
    "wb = Workbench(profile, 'Do I use a cane?')\nawait wb",
)


@pytest.fixture(params=["notebook", "voila"])
def bench(request, page, tmp_path):
    """A workbench that the second cell of a notebook shows, in each host."""
    write_notebook(tmp_path / "host.ipynb", CELLS)
    serve = {"notebook": notebook_7, "voila": voila}[request.param]
    with serve(tmp_path) as address:
        page.goto(address.format(name="host.ipynb"))
        if request.param == "notebook":
            page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
            page.get_by_role("menuitem", name="Run", exact=True).click()
            page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
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
