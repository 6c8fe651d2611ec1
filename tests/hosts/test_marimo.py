"""The grid and the code editor in marimo, which runs anywidgets without ipywidgets' own front end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="These tests drive a browser with Playwright, of the extra `test`.")
pytest.importorskip("marimo", reason="marimo is of the extra `hosts`.")

from tests.hosts.servers import marimo

SCRIPT = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    from memwb import TestMemoryStore
    from memwb.widgets.editor import CodeEditor
    from memwb.widgets.grid import Grid

    return CodeEditor, Grid, TestMemoryStore, mo


@app.cell
async def _(Grid, TestMemoryStore, mo):
    records = [f"row {n} of many" for n in range(1000)] + ["<img src=x onerror=window.hit=1>"]
    grid = Grid(TestMemoryStore.from_records(records, name="many"))
    await grid
    mo.ui.anywidget(grid)
    return


@app.cell
def _(CodeEditor, mo):
    editor = CodeEditor("def query(context): return 'cane'", lambda document, text: None)
    mo.ui.anywidget(editor)
    return


if __name__ == "__main__":
    app.run()
"""


def test_the_grid_pages_and_filters_and_the_editor_takes_text(page, tmp_path):
    script = tmp_path / "app.py"
    script.write_text(SCRIPT)
    with marimo(script) as address:
        page.goto(address)
        status = page.locator(".mwg-status")
        status.get_by_text("1,001 entries", exact=True).wait_for()

        grid = page.get_by_role("grid")
        grid.click()
        page.keyboard.press("ControlOrMeta+End")
        grid.get_by_text("<img src=x onerror=window.hit=1>", exact=True).wait_for()
        assert page.evaluate("window.hit") is None

        code = page.locator(".mwc .cm-content")
        code.click()
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.insert_text("def query(context): return 'latex'")
        page.locator(".cm-line", has_text="return 'latex'").wait_for()
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(folder, "marimo.png"))
        page.goto("about:blank")  # what the page still asks of the server would fail when that has ended
