"""Everything by keyboard alone: a whole session, where the focus is seen, and which keys reach the notebook."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("playwright", reason="These tests drive a browser with Playwright, of the extra `test`.")


LONG = "A cane of ash, " + "very " * 200 + "long."

# Where the focus is: the name or the text of the element, and what marks it.
FOCUS = """(bench) => {
    const at = document.activeElement;
    if (!bench.contains(at)) return null;
    const drawn = at.getAttribute('aria-activedescendant');
    const marked = (drawn && document.getElementById(drawn)) || at.closest('.mwc') || at;
    const style = getComputedStyle(marked);
    const name = at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent;
    return {name: name.trim(), outline: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth),
        color: style.outlineColor, inside: marked.getBoundingClientRect().height > 0};
}"""

NOTEBOOK = """(id) => {
    const panel = [...window.jupyterapp.shell.widgets('main')].find((each) => each.id === id);
    const cells = panel.content.model.toJSON().cells.map((cell) => [cell.cell_type, cell.source, cell.execution_count]);
    return JSON.stringify([panel.content.activeCellIndex, cells]);
}"""


class Keys:
    """A person without a mouse in front of a workbench."""

    def __init__(self, wb):
        self.wb, self.page, self.press = wb, wb.page, wb.page.keyboard.press

    def focus(self):
        """Where the focus is in the workbench, None where it is elsewhere."""
        return self.wb.root.evaluate(FOCUS)

    def tab_to(self, name, key="Tab"):
        """Press Tab until something of this name has the focus."""
        passed = []
        for _ in range(60):
            self.press(key)
            passed.append((self.focus() or {}).get("name"))
            if passed[-1] is not None and passed[-1].startswith(name):
                return
        raise AssertionError(f"{name!r} was not reached; {passed} were.")

    def type_whole(self, text):
        """Type a text in place of the one that is there."""
        self.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def enter(self):
        """Begin at the first element of the workbench, as Tab does that comes from the cell above."""
        self.wb.top.locator("button").first.focus()


TALK = "['I like jazz.', 'Noted.', 'Do I use a cane?']"


def test_a_whole_session(bench):
    wb = bench(
        f"Workbench([profile, more], {TALK})",
        f"more = TestMemoryStore.from_records([{LONG!r}, 'Art is long.'], name='more')",
    )
    keys = Keys(wb)
    before = wb.page.evaluate(NOTEBOOK, wb.notebook.id)
    keys.enter()

    # The query is written in its editor, applied, and the editor left for where one came from.
    keys.tab_to("edit query…")
    keys.press("Enter")
    wb.root.get_by_role("textbox", name="query callback").wait_for()
    wb.page.wait_for_function("() => document.activeElement.classList.contains('cm-content')")
    keys.type_whole("def query(context):\n    return 'jazz'")
    with wb.refreshed():
        keys.press("ControlOrMeta+Enter")
    assert wb.rows()[0] == "I like jazz."
    keys.press("Escape")
    if keys.focus()["name"] == "query callback":  # the first one closed a list of completions
        keys.press("Escape")
    assert keys.focus()["name"] == "edit query ●"
    keys.press("Enter")
    wb.code.wait_for(state="hidden")
    assert keys.focus()["name"] == "edit query ●"

    # Back to the default, then the cut is moved.
    keys.press("Enter")
    wb.page.wait_for_function("() => document.activeElement.classList.contains('cm-content')")
    keys.press("ControlOrMeta+a")
    keys.press("Delete")
    with wb.refreshed():
        keys.press("ControlOrMeta+Enter")
    keys.press("Escape")
    if keys.focus()["name"] == "query callback":
        keys.press("Escape")
    keys.press("Enter")
    keys.tab_to("max_entries: arrow keys")
    for key, limit in (("ArrowUp", 4), ("PageUp", 1), ("ArrowDown", 2)):
        with wb.refreshed():
            keys.press(key)
        assert wb.cut.get_attribute("aria-valuenow") == str(limit)
    assert wb.rows()[2].startswith("max_entries 2 ·")

    # A hit below the cut is chosen; the line of the block that belongs to a row is marked as one goes.
    keys.tab_to("Hits", "Shift+Tab")
    keys.press("ControlOrMeta+Home")
    assert wb.low.locator(".memwb-linked").count() == 1
    for _ in range(3):
        keys.press("ArrowDown")
    with wb.refreshed():
        keys.press("Space")
    assert wb.chosen() == ["4"]
    assert wb.verdict.inner_text().endswith("did not arrive: rank 4 in 'profile', limit 2.")

    # The lines of the block, one after the other: each marks its hit.
    keys.tab_to("<memory>")
    marked = wb.hits.locator(".memwb-linked [aria-colindex='3']")
    assert marked.count() == 0
    for key, hit in (
        ("ArrowDown", wb.rows()[0]),
        ("ArrowDown", wb.rows()[1]),
        ("Home", None),
        ("ArrowDown", wb.rows()[0]),
    ):
        keys.press(key)
        assert marked.all_inner_texts() == ([hit] if hit else [])
    assert "<entry" in keys.focus()["name"]
    assert keys.focus()["outline"] > 0

    # What happened, and back.
    keys.tab_to("Why", "Shift+Tab")
    keys.press("Enter")
    wb.top.get_by_role("dialog").wait_for()
    keys.press("Escape")
    wb.top.get_by_role("dialog").wait_for(state="detached")
    assert keys.focus()["name"] == "Why"

    # Another model call.
    keys.tab_to("previous call")
    with wb.refreshed():
        keys.press("Enter")
    assert wb.top.locator(".memwb-calls").inner_text().split() == ["call", "◀", "1/2", "▶"]
    assert keys.focus()["name"] == "previous call"  # where there is no earlier one it stays, too

    # The entries: filtered, sorted, one of them opened whole.
    keys.tab_to("Block")
    keys.press("ArrowRight")
    keys.press("ArrowRight")
    keys.press("Enter")
    wb.wait_for_status("4 entries")
    keys.tab_to("more")
    keys.press("Space")
    wb.wait_for_status("2 entries")
    keys.tab_to("Filter entries")
    wb.page.keyboard.type("long")
    wb.wait_for_status("2 entries match")
    keys.tab_to("Entries")
    keys.press("ControlOrMeta+Home")
    keys.press("ArrowUp")
    keys.press("Enter")
    wb.table.locator("[role=columnheader][aria-sort=ascending]").wait_for()
    wb.table.locator("[role=row][aria-rowindex='2']").get_by_text("A cane of ash").wait_for()
    keys.press("ArrowDown")
    keys.press("Enter")
    dialog = wb.low.get_by_role("dialog", name="content, the whole cell")
    dialog.get_by_text(f"{len(LONG):,} characters").wait_for()
    assert dialog.locator("pre").inner_text() == LONG
    keys.press("Escape")
    dialog.wait_for(state="hidden")
    assert keys.focus()["name"] == "Entries"

    # The fix that was tried is a key away, and the focus stays in the workbench when its button goes.
    keys.tab_to("find entry", "Shift+Tab")
    with wb.refreshed():
        wb.page.keyboard.type("latex")
    keys.tab_to("Try:", "Shift+Tab")
    assert "arrived" in wb.do(lambda: keys.press("Enter"))
    assert keys.focus() is not None
    assert wb.page.evaluate(NOTEBOOK, wb.notebook.id) == before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_focus_is_seen_wherever_tab_goes_and_leaves_at_both_ends(bench, theme):
    wb = bench(f"Workbench([profile, more], {TALK}, expected=[ABOUT_ME[0]], injection={{'max_entries': 1}})",
               "more = TestMemoryStore.from_records(['Art is long.'], name='more')")  # fmt: skip
    wb.notebook.set_theme(theme)
    wb.tab("Entries")
    wb.wait_for_status("4 entries")
    wb.edit("format")
    wb.page.keyboard.press("Escape")
    keys = Keys(wb)
    keys.enter()

    seen, focus = [], keys.focus()
    while focus is not None and len(seen) < 60:
        seen.append(focus)
        if focus["name"] == "format callback":  # Tab indents there, and Escape goes to the last of the settings
            keys.press("Escape")
            for _ in range(5):
                keys.press("Shift+Tab")
        else:
            keys.press("Tab")
        focus = keys.focus()
    names = [each["name"] for each in seen]
    wanted = ["Why", "Try: max_entries 4 → rank 4", "previous call", "next call", "format callback", "max_entries",
              "trigger", "placement", "explain…", "edit query…", "edit format…", "edit trigger…", "find entry",
              "Columns", "Hits", "max_entries: arrow keys or dragging move the cut", "Block", "Model input",
              "Entries 5", "profile", "more", "Filter entries", "Entries"]  # fmt: skip
    assert [name for name in wanted if name not in names] == [], names
    faint = [each for each in seen if each["outline"] < 1 or not each["inside"]]
    assert faint == []
    page = wb.root.evaluate("(bench) => getComputedStyle(bench).backgroundColor")
    assert {each["color"] for each in seen} & {page, "rgba(0, 0, 0, 0)"} == set()


PLACES = {
    "verdict": lambda wb: wb.button("Why"),
    "conversation": lambda wb: wb.talk.get_by_role("region"),
    "setting": lambda wb: wb.root.get_by_label("trigger").last,
    "button": lambda wb: wb.button("edit trigger…"),
    "editor": lambda wb: wb.code,
    "field": lambda wb: wb.hits.get_by_label("find entry"),
    "hits": lambda wb: wb.hits.get_by_role("grid"),
    "cut": lambda wb: wb.cut,
    "menu": lambda wb: wb.hits.get_by_role("button", name="Columns"),
    "tab": lambda wb: wb.low.get_by_role("tab", name="Block"),
    "filter": lambda wb: wb.low.get_by_role("searchbox"),
    "entries": lambda wb: wb.table,
}


def test_no_key_reaches_the_notebook_from_any_part(bench):
    wb = bench("Workbench(profile, 'Do I use a cane?')")
    wb.tab("Entries")
    wb.wait_for_status("4 entries")
    before = wb.page.evaluate(NOTEBOOK, wb.notebook.id)

    for part, place in PLACES.items():
        if part == "editor":
            wb.edit("query")
        for key in ("d", "d", "x", "a", "b", "m", "z", "i", "i", "0", "0", "k", "j", "Escape", "ArrowUp", "ArrowDown",
                    "Shift+Enter", "ControlOrMeta+Enter", "ControlOrMeta+a", "ControlOrMeta+Shift+ArrowUp", "Shift+m",
                    "Home", "End"):  # fmt: skip
            if key in ("Shift+Enter", "ControlOrMeta+Enter") and part in ("verdict", "button", "menu", "tab"):
                continue  # a button is pressed by it
            place(wb).focus()
            wb.page.keyboard.press(key)
        assert wb.page.evaluate(NOTEBOOK, wb.notebook.id) == before, part
    assert json.loads(before)[0] == 1


def test_saving_still_reaches_the_notebook(bench):
    wb = bench("Workbench(profile, 'Do I use a cane?')")
    wb.notebook.run("unsaved = 1")
    dirty = "(id) => [...window.jupyterapp.shell.widgets('main')].find((each) => each.id === id).context.model.dirty"
    assert wb.page.evaluate(dirty, wb.notebook.id)

    wb.hits.get_by_role("grid").focus()
    wb.page.keyboard.press("ControlOrMeta+s")
    wb.page.wait_for_function(f"(id) => !({dirty})(id)", arg=wb.notebook.id)
