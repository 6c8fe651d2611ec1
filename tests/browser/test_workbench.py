"""The workbench in a real JupyterLab: what is shown, and what each thing on the page does."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("playwright", reason="These tests drive a browser with Playwright, of the extra `test`.")

from tests.browser.workbench import Bench


def in_kernel(bench, expression):
    """The value of an expression in the notebook, which must be a literal."""
    cell = bench.notebook.run(f"import json; print(json.dumps({expression}))")
    return json.loads(bench.notebook.output(cell).inner_text())


ASK = "Workbench(profile, 'Do I use a cane?')"


# -- settings and fixes ---------------------------------------------------------------------------------------------


def test_each_setting_on_the_page_changes_the_preview_and_the_kernel(bench):
    wb = bench(ASK)
    assert wb.verdict.inner_text().startswith("4 of 4 hits arrived")

    number = wb.root.get_by_label("max_entries", exact=True)
    assert wb.do(lambda: (number.fill("2"), number.press("Enter"))).startswith("2 of 4 hits arrived")
    wb.do(lambda: wb.root.get_by_label("placement").select_option("append"))
    wb.do(lambda: wb.root.get_by_label("trigger").last.select_option("everyTurn"))
    assert "fold ✓ append" in wb.top.inner_text().replace("\n", " ")
    assert in_kernel(wb, "wb.injection") == {"max_entries": 2, "trigger": "everyTurn", "placement": "append"}

    wb.notebook.run("_ = await wb.set(max_entries=3, placement='prepend')")
    wb.verdict.get_by_text("3 of 4 hits arrived").wait_for()
    assert number.input_value() == "3"


def test_the_cut_is_moved_by_keyboard_and_keeps_the_focus(bench):
    wb = bench(ASK)
    wb.cut.focus()

    limits = []
    for key in ("ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown"):
        wb.do(lambda key=key: wb.page.keyboard.press(key))
        limits.append(wb.cut.inner_text())
    assert limits == [
        "max_entries 4 · 0 cut",
        "max_entries 3 · 1 cut",
        "max_entries 2 · 2 cut",
        "max_entries 3 · 1 cut",
    ]
    assert wb.rows()[3] == "max_entries 3 · 1 cut"


def test_the_cut_is_dragged(bench):
    wb = bench(ASK)
    target = wb.hit("cane").bounding_box()

    wb.cut.hover()
    wb.page.mouse.down()
    wb.page.mouse.move(target["x"] + 50, target["y"] + target["height"] + 1, steps=5)
    with wb.refreshed():
        wb.page.mouse.up()
    assert wb.rows()[:2] == ["I have moderate mobility issues and use a cane.", "max_entries 1 · 3 cut"]


def test_the_spread_of_the_scores_is_unfolded_by_keyboard_and_follows_the_cut(bench):
    wb = bench(ASK)
    bins = wb.hits.locator(".memwb-bin")
    assert not bins.first.is_visible()

    wb.hits.locator(".memwb-scores summary").focus()
    wb.page.keyboard.press("Enter")
    bins.first.wait_for()
    told = [" ".join(text.split()) for text in bins.all_inner_texts()]
    assert told == ["4 1 hit, 1 kept", "1 3 hits, 3 kept"]

    wb.cut.focus()
    for _ in range(2):
        wb.do(lambda: wb.page.keyboard.press("ArrowUp"))
    bins.last.get_by_text("3 hits, 2 kept").wait_for()


def test_the_model_input_says_what_a_prompt_cache_keeps(bench):
    wb = bench("Workbench(profile, ['Do I use a cane?', 'Yes.', 'What do I like?'])")
    wb.tab("Model input")
    told = wb.low.locator(".memwb-cachebar")
    told.get_by_text("A prompt cache keeps ~").wait_for()
    assert told.inner_text() == in_kernel(wb, "(await wb.cache()).sentence")

    wb.do(lambda: wb.button("previous call").click())
    told.get_by_text("The first call").wait_for()


LONG_NOTES = """
notes = TestMemoryStore.from_records([f"Note {n} of a cane, " + "which is long " * 30 for n in range(60)], name="notes")
"""


def test_long_hits_take_two_lines_and_the_cut_passes_as_many_rows_as_it_is_dragged_over(bench):
    wb = bench("Workbench(notes, 'cane')", LONG_NOTES)
    heights = {round(row.bounding_box()["height"]) for row in wb.hits.locator(".mwg-rows [role=row]").all()[:9]}
    assert all(36 <= height <= 44 for height in heights), heights
    wb.cut.focus()  # comes into view
    box, row = wb.cut.bounding_box(), wb.hit("Note 56").bounding_box()

    wb.page.mouse.move(box["x"] + 30, box["y"] + box["height"] / 2)
    wb.page.mouse.down()
    wb.page.mouse.move(box["x"] + 30, row["y"] + row["height"] / 4, steps=5)  # past one row, and half of another
    with wb.refreshed():
        wb.page.mouse.up()
    assert wb.cut.inner_text() == "max_entries 3 · 57 cut"


def test_a_cut_that_is_out_of_sight_is_a_tab_away_and_comes_into_view(bench):
    wb = bench("Workbench(notes, 'cane', injection={'max_entries': 30})", LONG_NOTES)
    assert wb.hits.locator(".mwg-away").count() == 1

    wb.hits.get_by_role("grid").focus()
    wb.page.keyboard.press("Tab")
    assert wb.hits.locator(".mwg-away").count() == 0
    pane, cut = wb.hits.bounding_box(), wb.cut.bounding_box()
    assert pane["y"] < cut["y"] < cut["y"] + cut["height"] < pane["y"] + pane["height"]

    for _ in range(2):  # it stays in view as it moves
        wb.do(lambda: wb.page.keyboard.press("PageUp"))
    assert (wb.cut.inner_text(), wb.hits.locator(".mwg-away").count()) == ("max_entries 20 · 40 cut", 0)


def test_the_fix_that_was_tried_brings_the_expected_entry_in(bench):
    wb = bench("Workbench()")
    assert wb.verdict.inner_text() == (
        "'I have moderate mobility issues and use a cane for support.' did not arrive: rank 9, limit 5."
    )
    wb.button("Why").click()
    popover = wb.top.get_by_role("dialog")
    popover.get_by_text("Changes that were tried on this call and bring it in:").wait_for()
    wb.page.keyboard.press("Escape")
    popover.wait_for(state="detached")

    fix = wb.top.get_by_role("button", name=re.compile("^Try: query: the last two messages"))
    assert "arrived: rank 1" in wb.do(fix.click)
    assert wb.chosen() == ["1"]
    assert wb.button("edit query ●").count() == 1


def test_a_fix_of_any_kind_is_one_click(bench):
    wb = bench(
        "Workbench([profile, TestMemoryStore.from_records(['I teach art.', '我住在北京'], name='work')], "
        "'Do I use a cane?', injection={'max_entries': 2})"
    )
    told = "1 entry of 'work' cut: 'profile', registered before it, filled the places."
    assert wb.verdict.inner_text().endswith(told)
    first = wb.top.get_by_role("button", name=re.compile("^Try: stores: work first"))
    wb.do(first.click)
    assert in_kernel(wb, "wb.state.store_names") == ["work", "profile"]

    wb.notebook.run("await wb.set(messages='北京好吗'); _ = await wb.find('我住在北京')")
    wb.verdict.get_by_text("shares no word with the query: '北京好吗' is not '我住在北京'.").wait_for()
    fix = wb.top.get_by_role("button", name=re.compile("^Try: tokenizer: any script"))
    assert "arrived: rank 1 in 'work'" in wb.do(fix.click)
    wb.top.get_by_text("found by a tokenizer that is set here alone").wait_for()

    wb.notebook.run("await wb.set(messages='hello', tokenizer=None); _ = await wb.find('latex')")
    wb.verdict.get_by_text("shares no word").wait_for()
    edit = wb.top.get_by_role("button", name=re.compile("^Try: add 'hello' to the entry's text"))
    wb.do(edit.click)
    wb.top.get_by_text("Entries: nothing is changed here unless that is asked for").wait_for()
    wb.button("Why").click()
    popover = wb.top.get_by_role("dialog")
    say = popover.get_by_role("button", name=re.compile("^Try: the user would have to say 'allergic'"))
    assert "arrived: rank 1" in wb.do(say.click)
    assert "hello allergic" in wb.talk.inner_text()


def test_others_that_hold_the_same_text_are_one_click_away(bench):
    wb = bench("Workbench(profile, 'Do I use a cane?')")
    wb.notebook.run("_ = await wb.find('I ')")
    wb.verdict.get_by_text(re.compile("^1 of . entries that hold 'I'")).wait_for()
    wb.button("Why").click()
    popover = wb.top.get_by_role("dialog")
    assert "'I like jazz.' arrived" in wb.do(popover.get_by_role("button", name="I like jazz.").click)


def test_a_hit_is_asked_about_by_a_click_and_an_entry_found_by_a_word(bench):
    wb = bench("Workbench(profile, 'Do I use a cane?', injection={'max_entries': 1})")

    assert wb.do(wb.hits.get_by_text("I like jazz.").click) == "'I like jazz.' did not arrive: rank 2, limit 1."
    find = wb.hits.get_by_label("find entry")
    with wb.refreshed():
        find.fill("late")
        find.press_sequentially("x", delay=20)
    assert wb.verdict.inner_text() == "'I am allergic to latex.' did not arrive: rank 4, limit 1."
    assert find.input_value() == "latex"
    assert wb.do(lambda: find.fill("")).startswith("1 of 4 hits arrived")


def test_calls_are_picked_and_the_conversation_follows(bench):
    wb = bench("Workbench(profile, ['I like jazz.', 'Noted.', 'Do I use a cane?'])")
    assert "call" in wb.top.inner_text()
    assert wb.top.locator(".memwb-calls").inner_text().split() == ["call", "◀", "2/2", "▶"]

    wb.do(wb.button("previous call").click)
    assert wb.talk.inner_text().endswith(
        "I like jazz.\n↳ the block lands here\n2 later messages not shown to the model"
    )
    assert wb.button("previous call").is_disabled()


# -- editors --------------------------------------------------------------------------------------------------------


def test_typing_a_query_changes_the_preview_and_what_is_typed_stays(bench):
    wb = bench(ASK)
    wb.edit("query")

    wb.type("def query(context):\n    return ''")
    wb.code.press("ArrowLeft")
    with wb.refreshed():
        wb.page.keyboard.type("jazz", delay=15)
    assert wb.text() == "def query(context):\n    return 'jazz'"
    assert wb.rows() == ["I like jazz.", "max_entries 5 · 0 cut"]
    assert wb.mistake.inner_text() == "In force."

    wb.edit("format")
    assert wb.do(lambda: wb.type("def format(context):\n    return 'A'")).startswith("1 of 1 hit arrived")
    assert wb.block() == "A"
    wb.button("edit format ●").click()
    wb.code.wait_for(state="hidden")


def test_a_mistake_of_any_kind_is_shown_and_costs_nothing(bench):
    wb = bench("Workbench(profile, 'Do I use a cane?', time_limit=0.5)")
    wb.edit("format")
    wb.do(lambda: wb.type("def format(context):\n    return 'A'"))

    wb.type("def format(context):\n    return 'unclosed")
    wb.mistake.get_by_text("line 2: SyntaxError: unterminated string literal").wait_for()
    wb.top.get_by_text("⚠ older than the format editor").wait_for()
    assert (wb.block(), wb.top.locator(".memwb-ahead").count()) == ("A", 1)

    for text, said in (
        ("def format(context):\n    return 1 / 0", "line 2: ZeroDivisionError: division by zero\nreturn 1 / 0"),
        (
            "def format(context):\n    return 42",
            "TypeError: the format callback format returned int '42'; text is expected",
        ),
        ("def format(context):\n    while True: pass", "CallbackTimeoutError: longer than 0.5 s; it was stopped"),
    ):
        assert wb.do(lambda text=text: wb.type(text)).startswith("Nothing arrived: format failed")
        assert wb.mistake.inner_text() == said
        assert wb.text() == text

    wb.type("def format(context):\n    retur")
    wb.mistake.get_by_text("line 2: NameError: name 'retur' is not defined").wait_for()
    wb.do(lambda: wb.type("def format(context):\n    print('noise')\n    return 'D'"))
    assert (wb.block(), wb.mistake.inner_text()) == ("D", "In force.\nnoise")
    assert in_kernel(wb, "wb.trace.text") == "D"


def test_a_mistake_is_marked_at_its_line_and_undo_is_each_callbacks_own(bench):
    wb = bench(ASK)
    wb.edit("query")
    wb.do(lambda: wb.type("def query(context):\n    return 'cane'"))
    wb.type("def query(context):\n    return nope")
    wb.code.page.locator(".cm-lint-marker-error").wait_for()
    assert wb.root.locator(".cm-lintRange-error").all_inner_texts() == ["return nope"]
    assert wb.rows()[0] == "I have moderate mobility issues and use a cane."

    wb.edit("format")
    assert wb.root.locator(".cm-lint-marker-error").count() == 0
    wb.edit("query")
    wb.wait_for_text("def query(context):\n    return nope")
    wb.page.keyboard.press("ControlOrMeta+z")
    wb.wait_for_text("def query(context):\n    return 'cane'")
    wb.mistake.get_by_text("In force.").wait_for()


def test_ctrl_enter_applies_the_text_without_a_pause_and_completion_knows_the_context(bench):
    wb = bench(ASK)
    wb.edit("query")
    wb.type("def query(context):\n    return 'jazz'")
    with wb.refreshed():
        wb.page.keyboard.press("ControlOrMeta+Enter")
    assert wb.rows()[0] == "I like jazz."

    wb.page.keyboard.press("Enter")
    wb.page.keyboard.type("context.", delay=20)
    wb.page.locator(".cm-tooltip-autocomplete").get_by_text("messages").wait_for()


def test_what_the_kernel_says_of_a_text_gives_way_while_it_has_not_looked_at_a_newer_one(bench):
    wb = bench(ASK)
    wb.edit("query")
    wb.do(lambda: wb.type("def query(context):\n    return 'jazz'"))
    said, typed = wb.mistake.get_by_text("In force."), wb.root.get_by_text("Typed; the kernel has not looked at it")
    said.wait_for()
    assert not typed.is_visible()
    before = wb.mistake.bounding_box()

    wb.notebook.start("import time; time.sleep(2.5)")
    wb.type("def query(context):\n    return 'cane'")
    typed.wait_for()
    assert (said.is_visible(), wb.mistake.bounding_box()) == (False, before)
    said.wait_for()  # the cell has ended, and the kernel has looked
    assert not typed.is_visible()
    assert wb.rows()[0] == "I have moderate mobility issues and use a cane."

    wb.type("def query(context):\n    return 'cane' ")
    wb.page.keyboard.press("Backspace")  # as it was: there is nothing to look at
    said.wait_for()

    wb.notebook.restart()
    wb.type("def query(context):\n    return 'jazz'")
    typed.wait_for()
    wb.page.wait_for_timeout(800)
    assert (said.is_visible(), typed.is_visible()) == (False, True)


def test_the_text_that_a_cell_replaced_comes_back_by_the_editors_undo(bench):
    wb = bench(ASK)
    wb.edit("query")
    wb.do(lambda: wb.type("def query(context):\n    return 'cane'"))
    with wb.refreshed():
        wb.notebook.run("@wb.query\ndef mine(context):\n    return 'jazz'")
    wb.wait_for_text("def mine(context):\n    return 'jazz'\n")

    wb.code.click()
    with wb.refreshed():
        wb.page.keyboard.press("ControlOrMeta+z")
    assert wb.text() == "def query(context):\n    return 'cane'"
    assert wb.rows()[0] == "I have moderate mobility issues and use a cane."


def test_a_cell_with_a_callback_renews_the_preview_each_time_it_is_run(bench):
    wb = bench(ASK)
    with wb.refreshed():
        cell = wb.notebook.run("@wb.query\ndef mine(context):\n    return 'jazz'")
    assert wb.rows()[0] == "I like jazz."
    wb.edit("query")
    wb.wait_for_text("def mine(context):\n    return 'jazz'\n")

    wb.type("def mine(context):\n    return 'unfinished")
    wb.mistake.get_by_text("SyntaxError").wait_for()
    with wb.refreshed():
        wb.notebook.run("@wb.query\ndef mine(context):\n    return 'latex'", cell=cell)
    assert wb.rows()[0] == "I am allergic to latex."
    wb.wait_for_text("def mine(context):\n    return 'latex'\n")
    wb.button("↶ bring back the earlier text").click()
    wb.mistake.get_by_text("SyntaxError").wait_for()
    wb.wait_for_text("def mine(context):\n    return 'unfinished")


# -- the lower pane -------------------------------------------------------------------------------------------------


def test_the_models_input_is_a_tab_away_and_all_can_be_copied(bench):
    wb = bench(ASK)
    wb.page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    wb.low.get_by_role("button", name="copy").click()
    wb.low.get_by_role("button", name="copied").wait_for()
    assert wb.page.evaluate("navigator.clipboard.readText()") == in_kernel(wb, "wb.trace.text")
    wb.tab("Model input")
    assert wb.low.locator(".memwb-injected").inner_text() == wb.page.evaluate("navigator.clipboard.readText()")
    wb.low.get_by_role("button", name="copy").click()
    wb.low.get_by_role("button", name="copied").wait_for()
    assert json.loads(wb.page.evaluate("navigator.clipboard.readText()")) == in_kernel(wb, "wb.trace.messages")


def test_pointing_at_a_line_of_the_block_marks_its_hit(bench):
    wb = bench(ASK)

    wb.low.get_by_text("I like jazz.").hover()
    assert wb.hits.locator(".memwb-linked [aria-colindex='3']").all_inner_texts() == ["I like jazz."]
    wb.hits.get_by_text("I am allergic to latex.").hover()
    assert wb.root.locator(".memwb-linked pre").all_inner_texts() == [
        '<entry source="profile">I am allergic to latex.</entry>'
    ]


def test_entries_are_scrolled_filtered_sorted_and_selected(bench):
    wb = bench(
        "Workbench(many, 'entry')",
        "items = [{'id': f'e{n:02}', 'content': f'entry {n:02}'} for n in range(60)]\n"
        "many = TestMemoryStore.from_records(items, name='many')",
    )
    wb.tab("Entries")
    wb.wait_for_status("60 entries")
    assert wb.entries()[:2] == ["entry 00", "entry 01"]

    wb.table.evaluate("e => e.scrollTop = e.scrollHeight")
    wb.table.get_by_text("entry 59", exact=True).wait_for()
    header = wb.table.get_by_role("columnheader", name="content")
    header.click()
    wb.table.locator("[role=columnheader][aria-sort=ascending]").wait_for()
    header.click()
    wb.table.locator("[role=columnheader][aria-sort=descending]").wait_for()
    wb.low.get_by_label("filter").fill("ENTRY 1")
    wb.wait_for_status("10 entries match")
    assert wb.entries() == [f"entry {number}" for number in range(19, 9, -1)]

    rows = wb.table.locator("[role=row][aria-selected]")
    rows.nth(0).click()
    wb.wait_for_status("10 entries match, 1 selected")
    rows.nth(2).click(modifiers=["ControlOrMeta"])
    wb.wait_for_status("10 entries match, 2 selected")
    assert in_kernel(wb, "list(wb.entries.selected['content'])") == ["entry 19", "entry 17"]
    assert in_kernel(wb, "len(wb.entries.frame)") == 10
    rows.nth(0).click(modifiers=["ControlOrMeta"])
    wb.wait_for_status("10 entries match, 1 selected")
    assert in_kernel(wb, "list(wb.entries.selected['content'])") == ["entry 17"]


def test_what_a_cell_chooses_of_the_entries_shows_in_the_table(bench):
    wb = bench(ASK)
    wb.tab("Entries")
    wb.wait_for_status("4 entries")

    wb.notebook.run("wb.entries.choose(where='I ', sort='-content')\nawait wb.entries.load()")
    wb.wait_for_status("4 entries match")
    wb.table.locator("[role=columnheader][aria-sort=descending]").wait_for()
    assert wb.low.get_by_role("searchbox").input_value() == "I "
    assert wb.entries() == in_kernel(wb, "list(wb.entries.frame['content'])")

    wb.notebook.run("wb.entries.toggle(wb.entries.records[1].id)")
    wb.wait_for_status("4 entries match, 1 selected")
    wb.tab("Block")
    assert not wb.table.is_visible()
    wb.notebook.run("await profile.add('I own a boat.')\n_ = await wb.set(max_entries=3)")
    wb.tab("Entries")
    wb.wait_for_status("5 entries match, 1 selected")


# -- states ---------------------------------------------------------------------------------------------------------


def test_the_file_beside_a_missing_one_is_a_click_away(bench):
    wb = bench(
        "Workbench(folder / 'home.json', 'Do I use a cane?')",
        "import pathlib, tempfile\nfolder = pathlib.Path(tempfile.mkdtemp())\n"
        "await TestMemoryStore(name='x', path=str(folder / 'notes.json')).add('I use a cane.')",
    )
    assert wb.verdict.inner_text().endswith("home.json (nothing was ever written there, or the path is wrong).")

    wb.hits.get_by_text("Beside it: notes.json with 1 entry").wait_for()
    assert wb.do(wb.button("Open notes.json").click).startswith("1 of 1 hit arrived")


def test_without_a_user_message_the_user_can_be_given_words(bench):
    wb = bench("Workbench(profile, [])")

    field = wb.talk.get_by_label("What would the user say?")
    field.press_sequentially("Do I like jazz?", delay=5)
    assert wb.do(lambda: field.press("Enter")).startswith("4 of 4 hits arrived")
    assert wb.talk.inner_text().endswith("user\nedit\nDo I like jazz?\n↳ the block lands here")


def test_while_a_search_runs_the_last_result_stays_and_nothing_moves(bench):
    wb = bench(
        "Workbench(slow, 'Do I use a cane?')",
        "import asyncio\nclass Slow(TestMemoryStore):\n    seconds = 0\n"
        "    async def search(self, *args):\n        await asyncio.sleep(self.seconds)\n"
        "        return await super().search(*args)\n"
        "slow = Slow.from_records(ABOUT_ME, name='slow')",
    )
    wb.notebook.run("slow.seconds = 0.5")
    before = (wb.rows(), wb.block(), [each.bounding_box() for each in (wb.top, wb.hits, wb.low, wb.talk)])

    with wb.refreshed():
        wb.cut.press("ArrowUp")
        wb.hits.locator(".memwb-pending").wait_for()
        during = (wb.rows(), wb.block(), [each.bounding_box() for each in (wb.top, wb.hits, wb.low, wb.talk)])
    assert during == before
    assert wb.rows()[4] == "max_entries 4 · 0 cut"


def test_a_store_that_fails_is_named_and_the_page_stays_usable(bench):
    wb = bench(
        "Workbench([profile, down], 'Do I use a cane?')",
        "class Down(TestMemoryStore):\n    async def search(self, *args):\n        raise OSError('no route')\n"
        "down = Down(name='down', persist=False)",
    )
    assert wb.verdict.inner_text().endswith("'down' failed.")
    assert "Store 'down' raised OSError('no route'); the agent goes on without it." in wb.hits.inner_text()
    assert wb.rows()[-1] == "max_entries 5 · 0 cut"

    wb.do(lambda: wb.notebook.run("_ = await wb.set(stores='down')"))
    assert wb.verdict.inner_text() == (
        "Nothing arrived: search failed, store 'down' raised OSError('no route'). The agent would go on without memory."
    )
    assert wb.do(lambda: wb.notebook.run("_ = await wb.set(stores='profile')")).startswith("4 of 4 hits arrived")


# -- the notebook around it -----------------------------------------------------------------------------------------


def test_keys_inside_the_workbench_do_not_reach_the_notebook(bench):
    wb = bench(ASK)
    cells = wb.notebook.panel.locator(".jp-Notebook-cell")
    count = cells.count()

    for place in (
        wb.cut,
        wb.button("edit query…"),
        wb.hits.get_by_role("grid"),
        wb.root.get_by_label("placement"),
        wb.low.get_by_role("tab", name="Block"),
        wb.root.get_by_label("max_entries", exact=True),
    ):
        place.focus()
        for key in ("d", "d", "a", "b", "x"):
            wb.page.keyboard.press(key)
    assert cells.count() == count
    assert in_kernel(wb, "wb.injection['max_entries']") == 5


def test_b66_after_running_its_cell_three_times_one_change_searches_once(bench):
    wb = bench(
        "Workbench(counting, 'Do I use a cane?')",
        "searches = []\nclass Counting(TestMemoryStore):\n    async def search(self, query, options=None):\n"
        "        searches.append(options['max_search_results'])\n        return await super().search(query, options)\n"
        "counting = Counting.from_records(ABOUT_ME, name='counting')",
    )
    for _ in range(2):
        wb.notebook.run("wb = Workbench(counting, 'Do I use a cane?')\nawait wb", cell=1)
    wb = Bench(wb.notebook, 1)
    wb.notebook.run("searches.clear()")

    wb.do(lambda: wb.cut.press("ArrowUp"))
    assert in_kernel(wb, "searches") == [4, 50]  # the injection, and what lies below its cut


def test_b67_a_closed_workbench_leaves_the_page(bench):
    wb = bench(ASK)
    wb.tab("Entries")
    wb.edit("query")

    wb.notebook.run("wb.close()")
    wb.root.locator(".memwb-frame").first.wait_for(state="detached")
    assert wb.notebook.output(1).locator(".memwb-frame, .mwc, .mwg").count() == 0


@pytest.mark.parametrize("width", [1780, 1460, 1080, 800])
def test_it_is_of_a_fixed_height_and_nothing_sticks_out(bench, width):
    wb = bench("Workbench()")
    wb.notebook.side_bar(False)
    wb.notebook.resize(width, 900)

    wb.page.wait_for_function("([bench, width]) => bench.clientWidth < width", arg=[wb.root.element_handle(), width])
    inside = wb.root.bounding_box()
    assert round(inside["height"]) == 560
    beside = wb.root.evaluate(
        """(bench) => {
            const right = bench.getBoundingClientRect().right + 1;
            return [...bench.querySelectorAll('*')].filter((each) => each.getBoundingClientRect().right > right
                && !each.closest('.memwb-code')).map((each) => each.className);
        }"""
    )
    assert beside == []
    talk, hits, settings = (wb.root.locator(f".memwb-{pane}").bounding_box() for pane in ("talk", "hits", "settings"))
    assert (talk["x"] < hits["x"]) == (inside["width"] >= 900)
    assert settings["y"] + settings["height"] <= inside["y"] + inside["height"]  # in sight without scrolling
