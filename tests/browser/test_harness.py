"""The harness itself: a real page, a real kernel, and what must not go unseen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import conftest
from tests.browser.lab import NO_CHROMIUM

ECHO = """
import ipywidgets as w

query, echo = w.Text(description="Query"), w.Label("")
echo.add_class("memwb-echo")

def changed(change):
    echo.value = f"asked for {change.new}"

query.observe(changed, "value")
w.VBox([query, echo])
"""


def test_an_observer_in_the_kernel_answers_what_is_typed(notebook):
    nb = notebook(ECHO)

    nb.panel.get_by_label("Query").press_sequentially("cane")

    nb.widget("memwb-echo").get_by_text("asked for cane", exact=True).wait_for()


def test_a_further_notebook_opens_in_the_same_tab(notebook):
    first, second = notebook("print('first')"), notebook("print('second')", "1 + 1")

    assert second.output(1).inner_text().strip().endswith("2")
    assert first.page is second.page


def test_a_cell_can_be_run_again_with_other_code(notebook):
    nb = notebook(ECHO, "echo.value = 'once'")
    nb.widget("memwb-echo").get_by_text("once", exact=True).wait_for()

    nb.run("echo.value = 'again'", cell=1)
    nb.widget("memwb-echo").get_by_text("again", exact=True).wait_for()

    assert nb.run("echo.value = 'and in a new cell'") == 2
    nb.widget("memwb-echo").get_by_text("and in a new cell", exact=True).wait_for()


def test_a_cell_that_raises_fails_with_its_traceback(notebook):
    with pytest.raises(AssertionError, match=r"ZeroDivisionError: division by zero"):
        notebook("1 / 0")


def test_a_request_to_another_host_is_noticed(notebook, lab):
    nb = notebook("1")

    nb.page.evaluate("() => fetch('http://127.0.0.1:9/x').catch(() => null)")

    assert lab.problems == ["The page asked another host: http://127.0.0.1:9/x"]
    lab.problems.clear()


def test_an_error_on_the_page_is_noticed(notebook, lab):
    nb = notebook("1")

    with nb.page.expect_event("pageerror"):
        nb.page.evaluate("() => { setTimeout(() => { throw new Error('lost'); }); }")

    assert lab.problems == ["The page did not catch: lost"]
    lab.problems.clear()


def test_a_screenshot_is_taken_in_both_themes(notebook, monkeypatch, tmp_path):
    nb = notebook(ECHO)
    monkeypatch.setenv("SCREENSHOTS", str(tmp_path))

    files = nb.screenshot("echo", of=nb.output(0), size=(900, 600))

    assert files == [tmp_path / "echo-light.png", tmp_path / "echo-dark.png"]
    light, dark = (file.read_bytes() for file in files)
    assert light != dark


def run_without_chromium(monkeypatch, required):
    """Run one browser test in a pytest of its own that finds no Chromium."""
    monkeypatch.setenv("CHROMIUM", "/no/such/chromium")
    monkeypatch.setenv("MEMWB_REQUIRE_BROWSER", required)
    test = f"{__file__}::{test_an_observer_in_the_kernel_answers_what_is_typed.__name__}"
    return subprocess.run([sys.executable, "-m", "pytest", test], capture_output=True, text=True, check=False)


def test_without_a_chromium_the_tests_are_skipped_and_say_how_to_get_one(monkeypatch):
    done = run_without_chromium(monkeypatch, required="")

    assert (done.returncode, NO_CHROMIUM in done.stdout) == (0, True)
    assert "1 skipped" in done.stdout


def test_a_missing_chromium_fails_where_a_browser_is_required(monkeypatch):
    done = run_without_chromium(monkeypatch, required="1")

    assert (done.returncode, "MEMWB_REQUIRE_BROWSER is set" in done.stdout) == (1, True)


def test_browser_tests_come_after_all_others():
    class Item:
        def __init__(self, path: str) -> None:
            self.path = Path(path)

    items = [Item(str(conftest.HERE / "test_a.py")), Item("tests/test_b.py"), Item(str(conftest.HERE / "test_c.py"))]

    conftest.pytest_collection_modifyitems(items)

    assert [item.path.name for item in items] == ["test_b.py", "test_a.py", "test_c.py"]
