"""Takes a picture of the workbench in each of its states, in both themes and several widths.

    python -m tests.scripts.screenshots FOLDER [STATE ...] [--width 1280 ...] [--theme light ...]

The pictures are FOLDER/STATE-WIDTH-THEME.png. A width is the workbench's own, in CSS pixels: at a zoom of 150 %, what
is 1280 wide is laid out as 853.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.lab import DRAWN, Lab, Notebook, find_chromium, jupyterlab

if TYPE_CHECKING:
    from playwright.sync_api import Locator

WIDTHS = (900, 1280, 1600)
THEMES = ("light", "dark")

SETUP = """
import json, pathlib, tempfile
import memwb
from memwb import TestMemoryStore, Workbench, datasets

ikat = datasets.load("ikat-demo")
case = ikat.case("2024-test/11/t4")
profile = ikat.store(case.owner)
work = TestMemoryStore.from_records(
    ["I teach art history.", "My last class is on Friday.", "I want to write about museums.", "Ask me about Rome."],
    name="work",
)
folder = pathlib.Path(tempfile.mkdtemp())
folder.joinpath("notes.json").write_text(json.dumps([
    {"id": str(n), "content": f"note {n}", "createdAt": "2026-01-01T00:00:00.000Z"} for n in range(812)
]))
class Down(TestMemoryStore):
    async def search(self, query, options=None):
        raise ConnectionError("[Errno 111] Connect call failed ('10.0.0.7', 8080)")
down = Down(name="remote", persist=False)
tool_loop = [
    *case.messages,
    {"role": "assistant", "content": [
        {"text": "Let me look that up."},
        {"toolUse": {"toolUseId": "t1", "name": "price_of", "input": {"product": "grab bar", "country": "DE"}}},
    ]},
    {"role": "user", "content": [
        {"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "19.90 EUR"}]}},
    ]},
]
"""

CASE = "profile, case.messages, expected=case.expected"


def press(name: str) -> Callable[[Locator], None]:
    """Click the button of this name, and wait for what it does."""

    def click(bench: Locator) -> None:
        bench.get_by_role("button", name=name, exact=True).click()
        bench.page.wait_for_timeout(400)

    return click


def tab(name: str) -> Callable[[Locator], None]:
    """Open a tab of the lower pane."""

    def click(bench: Locator) -> None:
        bench.get_by_role("tab", name=name).click()
        bench.page.wait_for_timeout(300)

    return click


def mistake(bench: Locator) -> None:
    """Open the editor and make a mistake in it."""
    press("format")(bench)
    bench.locator(".mwc .cm-content").click()
    bench.page.keyboard.press("ControlOrMeta+a")
    bench.page.keyboard.insert_text(
        "def format(context):\n    lines = [entry.content for entry in context.entries]\n    return '\\n'.join(line)"
    )
    bench.page.wait_for_timeout(600)


STATES: dict[str, tuple[str, Callable[[Locator], None] | None]] = {
    "first": (f"Workbench({CASE})", None),
    "why": (f"Workbench({CASE})", press("Why")),
    "arrived": (f"Workbench({CASE}, injection={{'query': memwb.callbacks.last_two_messages}})", None),
    "editor": (f"Workbench({CASE})", press("query")),
    "mistake": (f"Workbench({CASE})", mistake),
    "failing": ("Workbench(down, case.messages)", None),
    "half-failing": ("Workbench([profile, down], case.messages)", None),
    "missing": ("Workbench(folder / 'home.json', case.messages)", None),
    "empty": ("Workbench(TestMemoryStore(name='empty', persist=False), case.messages)", None),
    "unmatched": ("Workbench(profile, 'Yes, please.')", None),
    "skipped": ("Workbench(profile, tool_loop, expected=case.expected)", None),
    "no-user": ("Workbench(profile, [])", None),
    "many": (
        "Workbench(TestMemoryStore.from_records([f'Note {n} about the price of grab bar number {n}.' "
        "for n in range(2000)], name='notes'), 'What is the price of it?')",
        None,
    ),
    "several": ("Workbench([profile, work], case.messages, expected=['Ask me about Rome.'])", None),
    "input": (f"Workbench({CASE})", tab("Model input")),
    "entries": (f"Workbench({CASE})", tab("Entries")),
}


def main() -> None:
    """Take the pictures that the command line asks for."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", type=Path)
    asked.add_argument("states", nargs="*", metavar="STATE", help=", ".join(STATES))
    asked.add_argument("--width", type=int, action="append")
    asked.add_argument("--theme", choices=THEMES, action="append")
    given = asked.parse_intermixed_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("No Chromium was found.")
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory() as scratch,
        sync_playwright() as playwright,
        jupyterlab(Path(scratch), playwright, chromium) as lab,
    ):
        take(lab, given.folder, given.states or list(STATES), given.width or WIDTHS, given.theme or THEMES)
        for problem in lab.problems:
            print(problem)


def take(lab: Lab, folder: Path, states: list[str], widths: list[int], themes: list[str]) -> None:
    """Open all states in one notebook, and take each at every width in every theme."""
    lab.side_bar(False)
    cells = [f"wb = {STATES[state][0]}\nawait wb" for state in states]
    notebook = Notebook(lab, lab.write("pictures.ipynb", (SETUP, *cells)))
    notebook.run_all()
    benches = dict(
        zip(states, [notebook.output(at).locator(".memwb-bench") for at in range(1, len(cells) + 1)], strict=True)
    )
    for state, bench in benches.items():
        if act := STATES[state][1]:
            act(bench)
    for width in widths:
        # The workbench's own width: a notebook's margins and prompts take the rest of the page.
        lab.resize(width + 180, 900)
        for theme in themes:
            lab.set_theme(theme)
            for state, bench in benches.items():
                bench.scroll_into_view_if_needed()
                lab.page.mouse.move(0, 0)
                lab.page.evaluate(DRAWN)
                bench.screenshot(path=folder / f"{state}-{width}-{theme}.png")
    notebook.close()


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[2])
    main()
