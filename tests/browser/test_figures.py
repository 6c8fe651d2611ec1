"""Small forms of what ``tests/scripts/browser_figures.py`` measures, without its times."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright", reason="These tests drive a browser with Playwright, of the extra `test`.")

from tests.browser import measures
from tests.browser.workbench import Bench

SETUP = f"""
from memwb import TestMemoryStore, Workbench
QUERIES = ["the sea", "a quiet room", "latex and jazz", "museums of art"]
MESSAGES = ["What about the sea?", "Let me see.", "And art?", "Yes.", "Do I like jazz?"]
store = TestMemoryStore.from_records(
    [f"{{what}} {{number}}" for what in ("The sea", "A quiet room", "Jazz", "Museums of art") for number in range(40)],
    name="memories",
)
{measures.KERNEL_COUNTS}
"""
SHOWN = "wb = Workbench(store, MESSAGES)\nawait wb"


def test_after_many_edits_from_the_page_and_the_kernel_the_last_state_is_shown(notebook):
    opened = notebook(SETUP, measures.EDITS, SHOWN)
    found = measures.many_edits(Bench(opened, 2), 3, 100)

    assert (found["shown"], found["stale"]) == (True, [])
    before, *_, after = found["kernel"]
    for name in ("widgets", "comms", "states", "tasks", "messages waiting"):
        assert after[name] <= before[name], name
    assert found["page"][-1]["channels"] == found["page"][0]["channels"]


def test_closed_workbenches_leave_nothing_in_the_kernel_and_no_channel_on_the_page(notebook):
    left = {(where, name): (before, after) for where, name, before, after in measures.openings(notebook(SETUP), 2)}

    for name in ("widgets", "comms", "subscribers", "tasks", "threads"):
        before, after = left["kernel", name]
        assert after <= before, name
    assert left["kernel", "states"][1] <= 2  # the one before may be held by the notebook's last reply
    assert left["page", "channels"][1] == 0


def test_no_pane_and_no_control_moves_while_results_arrive(notebook):
    opened = notebook(SETUP, SHOWN)
    opened.side_bar(False)
    assert measures.shifts(opened, lambda: measures.results_arrive(Bench(opened, 1))) == []


def test_a_table_of_entries_costs_few_bytes(notebook):
    opened = notebook(SETUP, SHOWN)
    size = measures.tab_opened(Bench(opened, 1))
    assert 1_000 < size < 100_000
