"""Takes a picture of the workbench in each of its states, in both themes and several widths.

    python -m tests.scripts.screenshots FOLDER [STATE ...] [--width 1280 ...] [--theme light ...]

The pictures are FOLDER/STATE-WIDTH-THEME.png. A width is the workbench's own in pixels of the screen, "1280@150" that
of a browser that is zoomed to 150 %, as for a projector: what is 1280 wide is laid out as 853 there.
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

WIDTHS = ("900", "1280", "1600", "1280@150")
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
from memwb.testing import FaultyStore, ScriptedModel
failing = FaultyStore(TestMemoryStore(name="profile", persist=False), add="fail")
rambling = ScriptedModel(["I found nothing to put in a list.", *[[{"content": "The user likes mornings."}]] * 9])
class Down(TestMemoryStore):
    async def search(self, query, options=None):
        raise ConnectionError("[Errno 111] Connect call failed ('10.0.0.7', 8080)")
down = Down(name="remote", persist=False)
diary = TestMemoryStore.from_records([
    f"Day {n}: the doctor said that the price of walking aids is paid for by the insurance, all but a tenth of it, and "
    "that a cane of ash is lighter than one of beech; we talked about it for an hour. " * (1 + n % 3) for n in range(12)
], name="diary")
hostile = TestMemoryStore.from_records([
    "The price of <img src=x onerror=alert(1)> is 5",
    "of <b>bold</b> and <script>alert(1)</script>",
    "the price\\tof a tab\\nand a second line",
    "the \\x1b[31mred\\x1b[0m and a \\u202e turned price", "price: $x^2$ of $$y$$",
    "the family \\U0001f468\\u200d\\U0001f469\\u200d\\U0001f467 of e\\u0301 " * 20, "of " + "unbrokenandendless" * 30,
    "ราคาของ the price ", "the مرحبا price of بك ",
], name="<i>hostile</i> \\u202e store")
shops = [TestMemoryStore.from_records([f"The price in shop {n} is {n}."], name=f"a shop with a long name, number {n}")
         for n in range(6)]
long_talk = [text for at in range(90) for text in (f"What do I like about museums, part {at}?", "Art.")][:-1]
asked = [
    "Which museums show historical novels?", "And the world of theatre?", "Is there a cane I can use there?",
    "Do my children like local theatre?", "Which tablet is good for reading?", "Is latex used in tablets?",
    "I want to help the libraries.", "Which classical music events are local?", "Can I walk to the theatre?",
    "What does a tablet cost, with a modest pension?", "Which games improve my brain?", "Is there music at home?",
    "Do I lose myself when I walk?", "What can a retired teacher tutor?", "Which plants grow indoors?",
    "Are historical novels in the libraries?", "Is my mobility covered by social security?",
    "Which events do children enjoy?", "What of politics and my view?", "Is Spanish spoken at the theatre?",
    "Is there a cane without latex?", "And what does it cost me?",
]
varied = [text for question in asked for text in (question, "Let me see.")][:-1]
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

ENTRIES = """
twice = TestMemoryStore.from_records(
    ["I like tea.", "i LIKE  tea.", "Cafe\\u0301 at nine", "Caf\\u00e9 at nine", "x"], name="twice"
)
folder.joinpath("broken.json").write_text(
    '[{"id": "1", "content": "tea", "createdAt": "2026-01-01T00:00:00Z"}, {"id": 2}, 7'
)
broken = TestMemoryStore(name="broken", path=folder / "broken.json")
async def compared():
    bench = Workbench([profile, hostile], case.messages, injection={'max_entries': 2})
    panel = bench.comparison()
    await panel.pin('two entries')
    await bench.set(max_entries=7, query=memwb.callbacks.last_two_messages)
    await panel.pin('<b>seven</b> entries, both messages')
    await bench.set(max_entries=4)
    await panel.compare()
    return panel

def staged(store):
    wb = Workbench(store, "tea", editable=True)
    first, second, *_ = wb.entries.frame.itertuples()
    changed = {"content": first.content.replace("a", "the") + " <b>now</b>", "metadata": {"n": 1}}
    new = {"content": "I own a boat.", "metadata": {"from": {"chat": 1}}}
    wb.entries.stage(add=[new], delete=[second.id], edit={first.id: changed})
    return wb
"""

SESSIONS = """
from memwb.sessions import FileStore, InMemoryStore, Memory, MemoryEntry
from memwb.testing import ScriptedModel

def talk(person, session, start):
    said = [
        ("user", f"I am {person} and plan a trip to Rome in May, with my mother, who walks with a cane."),
        ("assistant", "", [{"id": "k1", "type": "function", "function": {
            "name": "trains", "arguments": '{"to": "Rome", "month": "May", "step_free": true}'}}]),
        ("tool", "9:00 from platform 4, lift available; 11:20 from platform 12, stairs only", "k1"),
        ("assistant", "The 9:00 train leaves from platform 4, where there is a lift. Shall I look for a hotel?"),
        ("user", "Yes, please. She is allergic to latex, and we both like quiet rooms."),
        ("assistant", "I found two hotels without stairs. " + "The first is in a side street behind the station. " * 9),
        ("user", "The first one. What about museums?"),
        ("assistant", "The Borghese Gallery has step-free access and benches in each room."),
        ("user", "Book it for the second day."),
        ("assistant", "Booked: Borghese Gallery, day two, 10:00, two people."),
        ("user", "And a taxi from the station?"),
        ("assistant", "A taxi with a low step waits at 14:10 at exit B."),
    ]
    for at, (role, content, *rest) in enumerate(said):
        kind = "tool_calls" if role == "assistant" else "tool_call_id"
        data = {"role": role, "content": content, kind: rest[0]} if rest else None
        time = start + 60.0 * at
        yield MemoryEntry(session, f"{session}-{person}-{at}", person, role, content, data, time, time)

async def many(store):
    await store.add_many([
        entry for n in range(2400) for entry in talk(f"user-{n % 700}", f"trip-{n:04}", 1767225600.0 + 3600 * n)
    ])
    return store

async def sessions(session=None, user=None, tab="conversation", store=None, model=None, preview=False):
    panel = Workbench(await many(InMemoryStore()) if store is None else store).sessions(model=model)
    await panel
    if session:
        await panel.read(session, user)
    if preview:
        await panel.preview()
    await panel.show(tab)
    return panel

async def damaged():
    store = FileStore(folder / "sessions")
    await store.add_many(talk("ann", "trip", 1767225600.0))
    path = folder / "sessions" / "trip" / "ann.jsonl"
    path.write_bytes(path.read_bytes() + b'{"session_id": "trip", "cont\\n' + b'null\\n')
    return FileStore(folder / "sessions")

answer = ScriptedModel([
    "The user plans a trip to Rome in May with her mother, who walks with a cane and is allergic to latex; both like "
    "quiet rooms. They take the 9:00 train from platform 4 (lift) and the first hotel, behind the station."
])
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
    press("edit format…")(bench)
    bench.locator(".mwc .cm-content").click()
    bench.page.keyboard.press("ControlOrMeta+a")
    bench.page.keyboard.insert_text(
        "def format(context):\n    lines = [entry.content for entry in context.entries]\n    return '\\n'.join(line)"
    )
    bench.page.wait_for_timeout(600)


def hostile_entries(bench: Locator) -> None:
    """Write a format that escapes nothing, and try hostile entries on it."""
    press("edit format…")(bench)
    bench.locator(".mwc .cm-content").click()
    bench.page.keyboard.press("ControlOrMeta+a")
    bench.page.keyboard.insert_text(
        "def format(context):\n    lines = []\n    for entry in context.entries:\n"
        "        lines.append(f'<entry>{entry.content}</entry>')\n    return '\\n'.join(lines)"
    )
    bench.page.wait_for_timeout(900)
    press("probe")(bench)
    bench.get_by_text("closes its element").click()
    bench.page.wait_for_timeout(300)


def ready(bench: Locator) -> None:
    """Choose a ready format, and a filter for it."""
    press("edit format…")(bench)
    for choice in ("bullet list", "filter: no duplicates"):
        bench.get_by_label("ready", exact=True).select_option(choice)
        bench.page.wait_for_timeout(700)


def both(first: Callable[[Locator], None], second: Callable[[Locator], None]) -> Callable[[Locator], None]:
    """Do one thing after the other."""

    def act(bench: Locator) -> None:
        first(bench)
        second(bench)

    return act


def prompts(bench: Locator) -> None:
    """Edit the extractor's prompt, and compare two."""
    press("prompt")(bench)
    tab("Two prompts")(bench)
    bench.get_by_placeholder("another prompt").fill("Keep only preferences.")
    press("Compare")(bench)


def entry(*names: str) -> Callable[[Locator], None]:
    """Press buttons of the entries' tab, one after the other, with the first two entries chosen."""

    def act(bench: Locator) -> None:
        tab("Entries")(bench)
        rows = bench.get_by_role("grid", name="Entries").locator("[role=row][aria-selected]")
        rows.nth(0).click()
        rows.nth(1).click(modifiers=["ControlOrMeta"])
        for name in names:
            bench.page.wait_for_timeout(300)
            bench.get_by_role("button", name=name).first.click()
        bench.page.wait_for_timeout(300)

    return act


def filtered(bench: Locator) -> None:
    """Filter the entries, and select some of those that are left."""
    tab("Entries")(bench)
    bench.get_by_role("searchbox").fill("i am")
    bench.page.wait_for_timeout(600)
    rows = bench.get_by_role("grid", name="Entries").locator("[role=row][aria-selected]")
    rows.nth(1).click()
    rows.nth(3).click(modifiers=["ControlOrMeta"])
    bench.page.wait_for_timeout(300)


def opened_cell(bench: Locator) -> None:
    """Open a long cell of the entries whole."""
    tab("Entries")(bench)
    bench.get_by_role("grid", name="Entries").locator("[role=gridcell]").first.dblclick()
    bench.page.wait_for_timeout(400)


def opened_hit(bench: Locator) -> None:
    """Open a long hit whole, by keyboard, so that the focus is seen."""
    bench.get_by_role("grid", name="Hits").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        bench.page.keyboard.press(key)
    bench.page.wait_for_timeout(400)


def columns(bench: Locator) -> None:
    """Open the menu of columns of the hits, and show one more."""
    hits = bench.locator(".memwb-hits")
    hits.get_by_role("button", name="Columns").click()
    hits.get_by_role("checkbox", name="matched").check()
    bench.page.wait_for_timeout(400)


def by_score(bench: Locator) -> None:
    """Sort the hits, so that the cut has no place."""
    bench.get_by_role("grid", name="Hits").get_by_role("columnheader", name="entry").click()
    bench.page.wait_for_timeout(400)


def searched(bench: Locator) -> None:
    """Call the search tool from its form."""
    bench.get_by_label("query").fill("Tell me more about the world of art")
    bench.get_by_role("button", name="Call").click()
    bench.get_by_role("region", name="Comparison").wait_for()


def tried(bench: Locator) -> None:
    """Try the add tool without writing."""
    bench.get_by_role("tab", name="add_memory").click()
    bench.get_by_label("entries").fill("I like tea.\nI am allergic to latex.\n ")
    bench.get_by_role("button", name="Dry run").click()
    bench.get_by_text("Dry run: nothing was written.").wait_for()


def broken_call(bench: Locator) -> None:
    """Edit a message with a tool call, and leave a mistake in it."""
    bench.get_by_role("button", name="Edit message").nth(-2).click()
    bench.get_by_label("toolUse price_of").wait_for(state="attached")
    bench.locator("details.memwb-field > summary").click()
    bench.get_by_label("toolUse price_of").fill('{"toolUse": {"toolUseId": "t1", "name": "price_of",\n  "input": {}')
    press("Save")(bench)


def compared_in_words(bench: Locator) -> None:
    """Pin the settings in words, change one, and compare."""
    press("explain…")(bench)
    press("Pin these settings")(bench)
    number = bench.get_by_label("max_entries", exact=True)
    number.fill("2")
    number.press("Enter")
    bench.page.wait_for_timeout(800)
    press("Compare the settings")(bench)
    bench.locator(".memwb-compared").wait_for()
    bench.locator(".memwb-compared").scroll_into_view_if_needed()


def pasted(bench: Locator) -> None:
    """Paste a list of OpenAI's with a tool call that has no result, and open what comes later."""
    press("Paste a conversation")(bench)
    bench.get_by_label("A conversation", exact=True).fill(
        '[{"role": "user", "content": "What is the price of a grab bar?"}, {"role": "assistant", "content": "Let me '
        'look.", "tool_calls": [{"id": "c1", "function": {"name": "price_of", "arguments": "{}"}}]}]'
    )
    press("Paste")(bench)
    bench.page.wait_for_timeout(500)
    bench.get_by_text("1 later message not shown").click()


def scores(bench: Locator) -> None:
    """Unfold how the scores are spread."""
    bench.locator(".memwb-scores summary").click()


def agent_state(bench: Locator) -> None:
    """Edit the state that a trigger predicate sees."""
    bench.get_by_text("state and agent").click()
    press("edit state…")(bench)


EVALUATION = """
from memwb import datasets as _datasets, evaluate
from memwb.evaluation import at_random, everything
from memwb.callbacks import last_two_messages

_people = _datasets.load("ikat-demo")
_settings = {
    "default": {}, "three entries": {"max_entries": 3}, "two messages": {"query": last_two_messages},
    "everything": everything(), "at random": at_random(draws=3),
}

async def evaluated(opened=None):
    report = await evaluate(_people, _settings)
    panel = Workbench(_people.store("2024-test/11"), "Hello").evaluation(report, _people, settings=_settings)
    await panel.choose(first="two messages", second="default", listed="won")
    if opened:
        await panel.show(panel.state.ids("won")[0])
    return panel
"""


STATES: dict[str, tuple[str, Callable[[Locator], None] | None]] = {
    "first": (f"Workbench({CASE})", None),
    "why": (f"Workbench({CASE})", press("Why")),
    "why-words": (
        "Workbench([profile, work], 'Which lessons do you give?', expected=['I teach art history.'])",
        press("Why"),
    ),
    "why-starved": ("Workbench([diary, work], 'What is the price of my last class?')", press("Why")),
    "why-unwritten": (
        "Workbench(memwb.MemoryManager([profile]), 'Am I allergic to peanuts?', expected=['peanuts'])",
        press("Why"),
    ),
    "why-script": (
        "Workbench(TestMemoryStore.from_records(['我住在北京'], name='home'), '北京好吗', expected=['我住在北京'])",
        None,
    ),
    "arrived": (f"Workbench({CASE}, injection={{'query': memwb.callbacks.last_two_messages}})", None),
    "editor": (f"Workbench({CASE})", press("edit query…")),
    "mistake": (f"Workbench({CASE})", mistake),
    "ready": (f"Workbench({CASE})", ready),
    "probe": (f"Workbench({CASE})", hostile_entries),
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
    "long": ("Workbench(diary, 'What did the doctor say about the price of my walking aids?')", None),
    "hostile": ("Workbench(hostile, 'What of the <b> and the price?', injection={'max_entries': 20})", None),
    "shops": ("Workbench(shops, 'What is the price of it?')", tab("Entries")),
    "several": ("Workbench([profile, work], case.messages, expected=['Ask me about Rome.'])", None),
    "talk": ("Workbench(profile, tool_loop[:-1], expected=case.expected)", None),
    "message": (f"Workbench({CASE})", press("Edit message 1")),
    "broken-call": ("Workbench(profile, tool_loop)", broken_call),
    "new-message": (f"Workbench({CASE})", press("Add a message")),
    "paste": (f"Workbench({CASE})", press("Paste a conversation")),
    "pasted": (f"Workbench({CASE})", pasted),
    "agent-state": (f"Workbench({CASE}, injection={{'trigger': lambda context: bool(context.state)}})", agent_state),
    "words-compared": ("Workbench([profile, work], case.messages)", compared_in_words),
    "words": ("Workbench([profile, work], case.messages)", press("explain…")),
    "input": (f"Workbench({CASE})", tab("Model input")),
    "scores": (f"Workbench({CASE})", scores),
    "broken-block": (
        "Workbench(hostile, 'What of the <b> and the price?', injection={'format': lambda context: "
        "'<memory>' + ''.join(entry.content for entry in context.entries) + '</memory>'})",
        None,
    ),
    "entries": (f"Workbench({CASE})", tab("Entries")),
    "filtered": (f"Workbench({CASE})", filtered),
    "entry-add": ("Workbench([profile, work], 'tea', editable=True)", entry("Add an entry")),
    "entry-merge": ("Workbench(work, 'tea', editable=True)", entry("Merge entries")),
    "entry-staged": (
        "Workbench([profile, work], 'tea', editable=True)",
        entry("filters", "Delete entries", "all stores"),
    ),
    "entry-diff": ("staged(profile)", entry("Diff")),
    "entry-hostile": ("staged(hostile)", entry("Diff")),
    "entry-twice": ("Workbench(twice, 'tea')", entry("duplicates")),
    "entry-health": ("Workbench([twice, broken], 'tea')", entry("health")),
    "cell": ("Workbench(diary, 'What did the doctor say?')", opened_cell),
    "hit": ("Workbench(diary, 'What did the doctor say?')", opened_hit),
    "columns": (f"Workbench({CASE})", columns),
    "sorted": (f"Workbench({CASE})", by_score),
    "extraction": ("Workbench(profile, []).extraction()", press("Run")),
    "extraction-done": ("Workbench([profile, work], []).extraction(review=False, every=2)", press("Run")),
    "extraction-failing": ("Workbench(failing, []).extraction(review=False)", press("Run")),
    "extraction-unreadable": (
        "Workbench(profile, []).extraction(model=rambling, review=False)",
        both(press("Run"), tab("Model")),
    ),
    "extraction-log": ("Workbench(profile, []).extraction(write_to='stores')", both(press("Run"), tab("Log"))),
    "extraction-prompts": ("Workbench(profile, []).extraction()", prompts),
    "timeline": (f"Workbench({CASE}).timeline()", None),
    "timeline-story": (
        "Workbench(profile, varied, expected=case.expected, "
        "injection={'max_entries': 4, 'query': memwb.callbacks.latest_without_stop_words}).timeline()",
        None,
    ),
    "timeline-long": ("Workbench([work, profile], long_talk, injection={'max_entries': 4}).timeline()", None),
    "comparison": ("await compared()", None),
    "evaluation": ("await evaluated()", None),
    "evaluation-opened": ("await evaluated(opened=True)", None),
    "tools-search": ("Workbench([work, profile], case.messages).tools()", searched),
    "tools-add": ("Workbench([work, profile], case.messages).tools()", tried),
    "sessions": ("await sessions()", None),
    "session": ("await sessions('trip-0042')", None),
    "session-context": ("await sessions('trip-0042', tab='context')", None),
    "session-summary": ("await sessions('trip-0042', model=answer, tab='summary', preview=True)", None),
    "session-no-model": ("await sessions('trip-0042', tab='summary', preview=True)", None),
    "session-damaged": ("await sessions('trip', store=await damaged())", None),
    "no-sessions": ("await sessions(store=InMemoryStore())", None),
}


def main() -> None:
    """Take the pictures that the command line asks for."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", type=Path)
    asked.add_argument("states", nargs="*", metavar="STATE", help=", ".join(STATES))
    asked.add_argument("--width", action="append", help="900 or, zoomed, 1280@150")
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


def take(lab: Lab, folder: Path, states: list[str], widths: list[str], themes: list[str]) -> None:
    """Open all states in one notebook, and take each at every width in every theme."""
    lab.side_bar(False)
    cells = [f"wb = {STATES[state][0]}\nawait wb" for state in states]
    notebook = Notebook(lab, lab.write("pictures.ipynb", (SETUP + ENTRIES + SESSIONS + EVALUATION, *cells)))
    notebook.run_all()
    benches = dict(
        zip(states, [notebook.output(at).locator(".memwb-bench") for at in range(1, len(cells) + 1)], strict=True)
    )
    for state, bench in sorted(benches.items(), key=lambda each: each[0] == "why"):  # a click elsewhere closes it
        if act := STATES[state][1]:
            act(bench)
    for width in widths:
        pixels, _, percent = width.partition("@")
        # The workbench's own width: a notebook's margins and prompts take the rest of the page.
        lab.resize(round(int(pixels) / int(percent or 100) * 100) + 180, 900)
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
