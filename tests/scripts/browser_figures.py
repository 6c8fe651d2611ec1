"""Measures the workbench in a real JupyterLab in headless Chromium, and prints a table.

    python -m tests.scripts.browser_figures [FIGURE ...] [--entries 10000 ...] [--seconds 20]

The figures are keys, grid, edits, opening and layout; without a name all are measured, with 10,000 and 100,000 entries.
Times are wall time, the server's and the browser's share included: keep the machine quiet. The table is printed as
Markdown, and the exit status is 1 where a limit is not held.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import data
from tests.browser import measures
from tests.browser.lab import Lab, Notebook, find_chromium, jupyterlab
from tests.browser.workbench import Bench

DATA = Path(tempfile.gettempdir()) / "memwb-benchmark"
PAUSE_MS = 250
KEYS = 40
RATE = 200
OPENINGS = 50

# What may grow while edits go on: a task ends a little later than the edit that made it, memory breathes.
GROWTH = {"tasks": 0, "messages waiting": 0, "memory, MB": 4}
PAGE_GROWTH = {"heap, MB": 3, "nodes": 500, "channels": 0}

# What may be left of fifty workbenches. JupyterLab keeps a closed widget's model, for any widget: memory and nodes are
# told, and are not ours to bound.
LEFT = {"widgets": 0, "comms": 0, "states": 1, "subscribers": 0, "tasks": 0, "threads": 0, "channels": 0}


@dataclass(frozen=True)
class Row:
    """A line of the table; ``held`` is None where nothing is asked."""

    figure: str
    entries: int
    value: str
    must: str = ""
    held: bool | None = None


def setup(path: Path) -> str:
    """Return the first cell: a store of many entries, a conversation of three calls, and what they are asked."""
    queries = [query for query in data.queries(60) if not query.endswith("?")][:10]
    asked = [query for query in data.queries(6) if query.endswith("?")]
    messages = [text for each in asked for text in (each, "Let me see.")][:-1]
    return (
        f"import memwb\nfrom memwb import TestMemoryStore, Workbench\nQUERIES = {queries!r}\nMESSAGES = {messages!r}\n"
        f"store = TestMemoryStore(name='memories', path={str(path)!r})\n_ = await store.search('warm up')\n"
        f"{measures.KERNEL_COUNTS}"
    )


class Figures:
    """The figures at one size, each in a notebook of its own."""

    def __init__(self, lab: Lab, entries: int, seconds: float) -> None:
        self.lab, self.entries, self.seconds = lab, entries, seconds
        self._path = data.file(DATA, entries)

    def _notebook(self, *cells: str) -> Notebook:
        name = f"figures-{self.entries}-{len(list(self.lab.root.iterdir()))}.ipynb"
        notebook = Notebook(self.lab, self.lab.write(name, (setup(self._path), *cells)))
        notebook.run_all()
        return notebook

    def _row(self, figure: str, value: str, must: str = "", held: bool | None = None) -> Row:
        return Row(figure, self.entries, value, must, held)

    def keys(self) -> Iterator[Row]:
        """From a key in the live editor to the block that follows."""
        queries = repr(self._queries())
        for name, before, after in (
            ("query", f"def query(context):\n    return {queries}[", "]"),
            ("format", 'def format(context):\n    return "; ".join(each.content[:4', "] for each in context.entries)"),
        ):
            notebook = self._notebook("wb = Workbench(store, MESSAGES)\nawait wb")
            digits = [str((7 * at) % 10) for at in range(1, KEYS + 1)]
            took = measures.keystrokes(Bench(notebook, 1), name, before, after, digits)
            notebook.close()
            median, p95 = (value - PAUSE_MS for value in measures.described(took))
            figure = f"a key in the {name} editor, to the new block: median, p95 beyond the pause"
            yield self._row(figure, f"{median:.0f} ms, {p95:.0f} ms", "median < 100 ms", median < 100)
        notebook = self._notebook(measures.ECHO)
        median, p95 = measures.described(measures.echoes(notebook, KEYS))
        notebook.close()
        yield self._row("for comparison: a key in a Text, to a Label that repeats it", f"{median:.0f} ms, {p95:.0f} ms")

    def _queries(self) -> list[str]:
        return [query for query in data.queries(60) if not query.endswith("?")][:10]

    def grid(self) -> Iterator[Row]:
        """The table of entries, alone in a cell."""
        notebook = self._notebook()
        alone = "from memwb.widgets.grid import Grid\nGrid(store).add_class('memwb-alone')"
        took, size = measures.first_page(notebook, alone, ".memwb-alone")
        notebook.close()
        held = took < 500 and size < 1e5
        figure = "a grid in a cell, from running it to its first page"
        yield self._row(figure, f"{took:.0f} ms, {size / 1e3:.0f} kB", "< 500 ms, < 100 kB", held)

    def edits(self) -> Iterator[Row]:
        """Two hundred edits a second: what is shown in the end, and what grows."""
        notebook = self._notebook(measures.EDITS, "wb = Workbench(store, MESSAGES)\nawait wb")
        found = measures.many_edits(Bench(notebook, 2), self.seconds, RATE)
        notebook.close()
        rate, shown, stale = found["rate"], found["shown"], len(found["stale"])
        yield self._row(
            f"random edits a second, for {self.seconds:g} s", f"{rate:.0f}", f"about {RATE}", rate > 0.95 * RATE
        )
        yield self._row("then shown", "the last state" if shown else "another state", "the last state", shown)
        yield self._row("previews shown that were stale", str(stale), "0", stale == 0)
        for where, names in (("kernel", GROWTH), ("page", PAGE_GROWTH)):
            for name, allowed in names.items():
                _, first, _, last, after = (count[name] for count in found[where])
                figure = f"{where}: {name}, after the first and the last third, and when all is answered"
                held = min(last, after) <= first + allowed
                yield self._row(figure, f"{first:g}, {last:g}, {after:g}", f"+ {allowed:g} at most", held)

    def opening(self) -> Iterator[Row]:
        """Fifty workbenches opened with editor and table, and closed: what is left of them."""
        notebook = self._notebook()
        for where, name, before, after in measures.openings(notebook, OPENINGS):
            allowed = LEFT.get(name)
            held = None if allowed is None else after <= before + allowed
            must = "" if allowed is None else f"+ {allowed} at most"
            figure = f"{where}: {name}, before and after {OPENINGS} openings"
            yield self._row(figure, f"{before:g}, {after:g}", must, held)
        notebook.close()

    def layout(self) -> Iterator[Row]:
        """What moves while results arrive: no pane, bar or control."""
        notebook = self._notebook("wb = Workbench(store, MESSAGES)\nawait wb")
        moved = measures.shifts(notebook, lambda: measures.results_arrive(Bench(notebook, 1)))
        notebook.close()
        total = sum(each["value"] for each in moved)
        what = ", ".join(sorted({each["what"] for each in moved}))
        yield self._row("layout shift of panes and controls while results arrive", f"{total:g} {what}", "0", not moved)


FIGURES: dict[str, Callable[[Figures], Iterator[Row]]] = {
    name: getattr(Figures, name) for name in ("keys", "grid", "edits", "opening", "layout")
}


def main() -> None:
    """Measure what the command line asks for."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    asked.add_argument("--entries", type=int, action="append")
    asked.add_argument("--seconds", type=float, default=20.0)
    given = asked.parse_intermixed_args()
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("No Chromium was found.")
    from playwright.sync_api import sync_playwright

    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory() as scratch,
        sync_playwright() as playwright,
        jupyterlab(Path(scratch), playwright, chromium) as lab,
    ):
        lab.side_bar(False)
        for entries in given.entries or (10_000, 100_000):
            figures = Figures(lab, entries, given.seconds)
            for name in given.figures or FIGURES:
                for row in FIGURES[name](figures):
                    rows.append(row)
                    print(f"{row.entries:>9,}  {row.figure}: {row.value}", flush=True)
        for problem in lab.problems:
            print(problem)
    print(f"\n{markdown(rows)}\n\nLoad of the machine at the end: {os.getloadavg()[0]:.1f}")
    sys.exit(any(row.held is False for row in rows))


def markdown(rows: Sequence[Row]) -> str:
    """Return the table in Markdown."""
    said = {True: "yes", False: "**no**", None: ""}
    lines = [f"| {row.figure} | {row.entries:,} | {row.value} | {row.must} | {said[row.held]} |" for row in rows]
    return "\n".join(["| figure | entries | memwb | must | held |", "| --- | ---: | ---: | ---: | :---: |", *lines])


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[2])
    main()
