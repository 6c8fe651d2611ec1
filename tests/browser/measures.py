"""What a workbench costs on the page and in the kernel: the parts of ``tests/scripts/browser_figures.py``.

Each measurement drives a notebook that is open and returns plain numbers; none of them judges a time, so that small
forms of them can be tests.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.browser.lab import DRAWN
from tests.browser.workbench import Bench

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.lab import Notebook

# A key is down; the block shows another text; the frame that holds it is drawn.
WATCH_BLOCK = """(low) => {
    const block = () => [...low.querySelectorAll('.memwb-line pre')].map((line) => line.textContent).join('\\n');
    const watch = {started: 0, took: []};
    let before = block();
    document.addEventListener('keydown', () => { watch.started = performance.now(); before = block(); }, true);
    new MutationObserver(() => {
        if (!watch.started || block() === before) return;
        const started = watch.started;
        watch.started = 0;
        requestAnimationFrame(() => setTimeout(() => watch.took.push(performance.now() - started)));
    }).observe(low, {subtree: true, childList: true, characterData: true});
    window.memwbWatch = watch;
}"""

# When the first row is drawn, in milliseconds since ``window.memwbStarted``.
FIRST_ROW = """(selector) => {
    const shown = [...document.querySelectorAll(`${selector} [role=gridcell]`)].some((cell) => cell.offsetParent);
    if (!shown) return new Promise((again) => requestAnimationFrame(() => again(false)));
    return new Promise((done) => requestAnimationFrame(() => setTimeout(
        () => done(performance.now() - window.memwbStarted))));
}"""

# Shifts of what a workbench is made of: whether a pane or a control moves. Rows that change their rank, and words that
# follow other words in a line (the stages, the sizes at the right of a pane's head), are no shift of the layout.
WATCH_SHIFTS = """() => {
    const WORDS = '.memwb-scroll, .mwg, .memwb-stages, .memwb-push';
    window.memwbShifts = [];
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
            for (const {node, previousRect: was, currentRect: is} of entry.sources) {
                const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
                if (!element?.closest('.memwb-bench') || element.closest(WORDS)) continue;
                const place = (rect) => [rect.x, rect.y, rect.width, rect.height].map(Math.round);
                window.memwbShifts.push({value: entry.value, what: element.className || element.localName,
                    was: place(was), is: place(is)});
            }
    }).observe({type: 'layout-shift', buffered: false});
}"""

KERNEL_COUNTS = """
import asyncio as _asyncio, gc as _gc, json as _json, threading as _threading, time as _time
import ipywidgets as _ipywidgets
from ipykernel.comm import Comm as _Comm
from memwb.workbench.state import WorkbenchState as _State

def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6

def _counts():
    _gc.collect()
    alive = [each for each in _gc.get_objects() if isinstance(each, _State)]
    kernel = get_ipython().kernel
    for _ in range(1000):  # the cell that counts has sent messages itself: only those that stay are waiting
        if not kernel.iopub_thread._events:
            break
        _time.sleep(0.01)
    return {
        "widgets": len(_ipywidgets.widgets.widget._instances),
        "comms": len(kernel.comm_manager.comms),
        "states": len(alive),
        "subscribers": sum(len(each._subscribers) for each in alive),
        "tasks": len(_asyncio.all_tasks()),
        "threads": _threading.active_count(),
        "messages waiting": len(kernel.iopub_thread._events),
        "memory, MB": round(_resident(), 1),
    }
"""

PAGE_MODELS = """async (id) => {
    const panel = [...window.jupyterapp.shell.widgets('main')].find((w) => w.id === id);
    return panel.sessionContext.session.kernel._comms.size;
}"""


def answer_of(notebook: Notebook, source: str) -> Any:
    """Run a cell that prints one line of JSON, and return what it says."""
    cell = notebook.run(source)
    return json.loads(notebook.output(cell).inner_text().strip().splitlines()[-1])


def kernel_counts(notebook: Notebook) -> dict[str, float]:
    """Return what lives in the kernel; KERNEL_COUNTS has been run in it."""
    counts: dict[str, float] = answer_of(notebook, "print(_json.dumps(_counts()))")
    return counts


def page_counts(notebook: Notebook) -> dict[str, float]:
    """Return what lives on the page after a garbage collection: memory, nodes, listeners, and widgets' channels."""
    session = notebook.page.context.new_cdp_session(notebook.page)
    session.send("Performance.enable")
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
        notebook.page.evaluate(DRAWN)
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return {
        "heap, MB": round(metrics["JSHeapUsedSize"] / 1e6, 1),
        "nodes": int(metrics["Nodes"]),
        "listeners": int(metrics["JSEventListeners"]),
        "channels": notebook.page.evaluate(PAGE_MODELS, notebook.id),
    }


@contextmanager
def received(page: Page) -> Iterator[list[int]]:
    """Collect the sizes of the messages that reach the page inside; its kernel's, as the browser sees them."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    sizes: list[int] = []
    session.on("Network.webSocketFrameReceived", lambda event: sizes.append(_size(event["response"])))
    yield sizes
    session.detach()


def _size(frame: dict[str, Any]) -> int:
    length = len(frame["payloadData"])
    return length if frame["opcode"] == 1 else length * 3 // 4  # what is binary comes as base64


def keystrokes(bench: Bench, name: str, before: str, after: str, texts: Sequence[str]) -> list[float]:
    """Type digits into a callback one after another, and return the milliseconds from each key to the new block.

    The callback's text is ``before + digit + after``, and each digit must give another block than the one before.
    """
    bench.edit(name)
    with bench.refreshed():
        bench.type(f"{before}{texts[-1]}{after}")
    keyboard = bench.page.keyboard
    for _ in after:
        keyboard.press("ArrowLeft")
    bench.page.evaluate(DRAWN)
    bench.low.evaluate(WATCH_BLOCK)
    for count, text in enumerate(texts, 1):
        keyboard.press("Shift+ArrowLeft")
        keyboard.press(text)
        bench.page.wait_for_function("(count) => window.memwbWatch.took.length === count", arg=count)
    took: list[float] = bench.page.evaluate("window.memwbWatch.took")
    return took


ECHO = """
import ipywidgets
_text, _label = ipywidgets.Text().add_class("memwb-text"), ipywidgets.Label().add_class("memwb-echo")
_text.observe(lambda change: setattr(_label, "value", change["new"]), "value")
ipywidgets.VBox([_text, _label])
"""

WATCH_ECHO = """(label) => {
    const watch = {started: 0, took: []};
    document.addEventListener('keydown', () => { watch.started = performance.now(); }, true);
    new MutationObserver(() => {
        const started = watch.started;
        requestAnimationFrame(() => setTimeout(() => watch.took.push(performance.now() - started)));
    }).observe(label, {subtree: true, childList: true, characterData: true});
    window.memwbWatch = watch;
}"""


def echoes(notebook: Notebook, count: int) -> list[float]:
    """Type into a plain text box, and return the milliseconds from each key to the label that repeats it."""
    notebook.widget("memwb-echo").wait_for(state="attached")
    notebook.widget("memwb-echo").evaluate(WATCH_ECHO)
    notebook.widget("memwb-text").locator("input").click()
    for number in range(1, count + 1):
        notebook.page.keyboard.press("x")
        notebook.page.wait_for_function("(count) => window.memwbWatch.took.length === count", arg=number)
    took: list[float] = notebook.page.evaluate("window.memwbWatch.took")
    return took


def first_page(notebook: Notebook, source: str, selector: str) -> tuple[float, int]:
    """Run a cell that shows a table; return the milliseconds to the first row drawn, and the bytes of messages."""
    with received(notebook.page) as sizes:
        notebook.page.evaluate("window.memwbStarted = performance.now()")
        notebook.run(source)
        took = notebook.page.wait_for_function(FIRST_ROW, arg=selector).json_value()
        notebook.page.wait_for_timeout(500)
    return took, sum(sizes)


def tab_opened(bench: Bench) -> int:
    """Open the tab of entries; return the bytes of messages until its first rows are drawn."""
    with received(bench.page) as sizes:
        bench.low.get_by_role("tab", name="Entries").click()
        bench.table.get_by_role("gridcell").first.wait_for()
        bench.page.wait_for_timeout(500)
    return sum(sizes)


def shifts(notebook: Notebook, action: Any) -> list[dict[str, Any]]:
    """Return what moved on the page while ``action`` ran."""
    notebook.page.evaluate(WATCH_SHIFTS)
    action()
    notebook.page.wait_for_timeout(300)
    moved: list[dict[str, Any]] = notebook.page.evaluate("window.memwbShifts")
    return moved


def described(took: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    ordered = sorted(took)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]


ARRIVALS = """
async def _arrive():
    for change in [{"call": 1}, {"call": 3}, {"max_entries": 12}, {"max_entries": 2}, {"query": lambda context: "the"},
                   {"query": lambda context: None}, {"trigger": lambda context: False}, {"trigger": None},
                   {"format": lambda context: 1 / 0}, {"format": None}, {"query": None}, {"call": 2}] * 2:
        await wb.set(**change)
        await _asyncio.sleep(0.1)
    await wb.set(query=lambda context: "xyzzy")
_arriving = _asyncio.create_task(_arrive())
"""


# -- many edits -----------------------------------------------------------------------------------------------------

# Half of the edits are made on the page, as a person's hands would, the other half in the kernel, as cells would. What
# is shown is compared at each moment at which nothing is pending.
EDITS = """
import random as _random

def _query(number):
    return f"def query(context):\\n    return {QUERIES[number % len(QUERIES)]!r}"

def _format(number):
    return f"def format(context):\\n    return '{number} ' + '; '.join(entry.content for entry in context.entries)"

class _Edits:
    def __init__(self, wb, seed=1):
        self.wb, self.random, self.made, self.stale, self.settled, self.counts = wb, _random.Random(seed), 0, [], 0, []
        self.undo = wb.state.subscribe(self.look)

    def look(self):
        state = self.wb.state
        if state.pending or state.preview is None or state.failure:
            return
        self.settled += 1
        trace = state.preview.trace
        if trace.settings != state.settings:
            self.stale.append((self.made, repr(trace.settings), repr(state.settings)))

    def edit(self):
        state, dice, number = self.wb.state, self.random, self.random.randrange(1000)
        kind = dice.randrange(7)
        if kind == 0:
            state.put(max_entries=1 + number % 12)
        elif kind == 1:
            state.put(placement=dice.choice(("prepend", "append")), trigger=dice.choice(("userTurn", "everyTurn")))
        elif kind == 2:
            state.type("query", _query(number), pause=0.0)
        elif kind == 3:
            state.type("format", _format(number), pause=0.0)
        elif kind == 4:
            state.type("query", _query(number)[:-2])
        elif kind == 5:
            state.look_for(dice.choice(("", "the", "sea", "and")), pause=0.0)
        else:
            state.put(call=1 + number % len(state.calls))
        self.made += 1

    async def run(self, seconds, rate):
        loop = _asyncio.get_running_loop()
        started = loop.time()
        self.counts.append(_counts())
        for third in range(1, 4):
            while (now := loop.time() - started) < seconds * third / 3:
                while self.made < now * rate:
                    self.edit()
                await _asyncio.sleep(0.001)
            self.counts.append(_counts())
        self.ended = loop.time() - started

    async def last(self):
        for text in (_query(7), _format(7)):
            self.wb.state.type("query" if "def query" in text else "format", text, pause=0.0)
        self.wb.state.put(max_entries=4)
        await self.wb
        self.undo()
        trace = self.wb.trace
        return {"made": self.made, "stale": self.stale[:3], "settled": self.settled, "counts": self.counts,
                "seconds": self.ended, "text": trace.text, "revision": self.wb.state.revision}
"""

# Types into the search field, moves the cut, and steps through the calls, so many times a second.
HANDS = """([bench, rate, words]) => {
    const hands = {made: 0, stopped: false, started: performance.now()};
    window.memwbHands = hands;
    const pick = (list) => list[Math.floor(Math.random() * list.length)];
    const act = () => {
        const field = bench.querySelector('.memwb-hits input');
        const cut = bench.querySelector('[role=slider]');
        const calls = [...bench.querySelectorAll('.memwb-calls button:not([disabled])')];
        const kind = Math.floor(Math.random() * 3);
        if (kind === 0 && field) {
            field.value = pick(words);
            field.dispatchEvent(new Event('input', {bubbles: true}));
        } else if (kind === 1 && cut) {
            cut.dispatchEvent(new KeyboardEvent('keydown', {key: pick(['ArrowUp', 'ArrowDown']), bubbles: true}));
        } else if (calls.length) pick(calls).click();
        hands.made += 1;
    };
    const tick = () => {
        if (hands.stopped) return;
        const due = (performance.now() - hands.started) * rate / 1000;
        for (let n = 0; n < 20 && hands.made < due; n += 1) act();
        setTimeout(tick, 4);
    };
    tick();
}"""


def many_edits(bench: Bench, seconds: float, rate: int) -> dict[str, Any]:
    """Edit at random, ``rate`` times a second, half on the page and half in the kernel, and return what came of it."""
    notebook, page = bench.notebook, bench.page
    before = page_counts(notebook)
    notebook.run(f"_edits = _Edits(wb)\n_running = _asyncio.create_task(_edits.run({seconds}, {rate / 2}))")
    page.evaluate(HANDS, [bench.root.element_handle(), rate / 2, ["", "the", "sea", "and", "a"]])
    pages = [before]
    started = time.monotonic()
    for third in (1, 2, 3):
        page.wait_for_timeout(max(0.0, 1000 * (started + seconds * third / 3 - time.monotonic())))
        if third == 3:
            hands = page.evaluate("""() => { window.memwbHands.stopped = true;
                return [window.memwbHands.made, (performance.now() - window.memwbHands.started) / 1000]; }""")
        pages.append(page_counts(notebook))
    kernel = answer_of(notebook, "await _running\nprint(_json.dumps(await _edits.last()))")
    page.wait_for_function(
        "([top, revision]) => Number(top.querySelector('[data-revision]').dataset.revision) >= revision",
        arg=[bench.top.element_handle(), kernel["revision"]],
    )
    page.evaluate(DRAWN)
    after, counted = page_counts(notebook), kernel_counts(notebook)
    return {
        "rate": hands[0] / hands[1] + kernel["made"] / kernel["seconds"],
        "stale": kernel["stale"],
        "settled": kernel["settled"],
        "shown": bench.block() == kernel["text"],
        # before, after each third, and when all is answered
        "kernel": [*kernel["counts"], counted],
        "page": [*pages, after],
    }


def openings(notebook: Notebook, count: int, *, deep: bool = True) -> Iterator[tuple[str, str, float, float]]:
    """Open a workbench with its editor and its table, and close it, ``count`` times in one cell.

    The notebook's own history of outputs is emptied: it would keep each of them.

    Yields:
        Where, what, how many before and after.
    """
    cell = notebook.run("1")

    def once() -> None:
        notebook.run("wb = Workbench(store, MESSAGES)\nawait wb", cell=cell)
        bench = Bench(notebook, cell)
        if deep:
            bench.edit("query")
            bench.tab("Entries")
            bench.table.locator("[role=gridcell]").first.wait_for()
        notebook.run("wb.close()\ndel wb\nget_ipython().displayhook.flush()", cell=cell)
        bench.root.locator(".memwb-frame").first.wait_for(state="detached")

    once()
    once()
    before = kernel_counts(notebook), page_counts(notebook)
    for _ in range(count):
        once()
    after = kernel_counts(notebook), page_counts(notebook)
    for where, was, now in zip(("kernel", "page"), before, after, strict=True):
        for name in now:
            yield where, name, was[name], now[name]


def results_arrive(bench: Bench) -> None:
    """Change the settings in each way, one change after another, as the results of the one before have arrived."""
    bench.notebook.run(ARRIVALS)
    bench.page.wait_for_function(
        "(top) => top.querySelector('.memwb-sentence').textContent.includes('xyzzy')", arg=bench.top.element_handle()
    )
