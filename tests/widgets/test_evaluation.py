"""The evaluation's panel: what its page says and does, in a cell too, and that what it shows stays text."""

from __future__ import annotations

import pytest

from memwb import Workbench, evaluate
from memwb.datasets import Case
from memwb.widgets.panes.evaluation import evaluation_pane
from memwb.widgets.panes.hits import hits
from tests.widgets.reading import button, read, walk
from tests.workbench.test_evaluation import CASES, FACTS, SETTINGS

HOSTILE = "<img src=x onerror=alert(1)> $x$ \x00 it"


@pytest.fixture
async def wb():
    wb = await Workbench(FACTS, "Hello!")
    yield wb
    wb.close()


async def act(panel, **message):
    """Send what an element of the page would send, and wait until it is done."""
    panel._act(message)
    await panel


async def test_the_page_shows_settings_and_cases_and_opens_one(wb):
    report = await evaluate(CASES, SETTINGS, wb.state.source.stores)
    panel = await wb.evaluation(report, CASES, settings=SETTINGS)
    page = read(evaluation_pane(panel.state))
    (row,) = [line for line in page.splitlines() if line.startswith("3 | all")]  # the cheapest is number 1
    assert "◆ front | 1.000 | 1.000–1.000 |" in row
    assert "'one' against 'all', reached: -0.500" in page
    assert "0 won, 1 lost, 1 tied" in page
    await act(panel, do="choose", name="listed", value="tied")
    (row,) = [each for each in walk(evaluation_pane(panel.state)) if each.attributes.get("role") == "listitem"]
    assert row.action == {"do": "show", "case": "cane", "setting": "one"}
    await act(panel, **row.action)
    assert [entry.content for entry in wb.trace.entries] == ["I use a cane."]
    assert "memwb-chosen" in str(panel._view.tree)
    panel.close()


async def test_what_the_page_does_a_cell_does_too(wb):
    report = await evaluate(CASES, SETTINGS, wb.state.source.stores)
    panel = await wb.evaluation(report, CASES, settings=SETTINGS)
    await panel.choose(metric="recall@5", order="tokens", first="off", listed="lost")
    assert "recall@5" in read(evaluation_pane(panel.state))
    assert (await panel.show("tea", "all")).injected
    await act(panel, do="show", case="nobody", setting="all")
    assert "there is no case 'nobody'" in read(evaluation_pane(panel.state))
    assert repr(panel).startswith("Evaluation(")
    panel.close()


async def test_a_label_that_differs_from_the_case_is_kept_by_a_button(wb):
    report = await evaluate(CASES, SETTINGS, wb.state.source.stores)
    panel = await wb.evaluation(report, CASES, settings=SETTINGS)
    await panel.show("idle", "all")
    assert "keep its labels" not in str(panel._view.tree)
    await wb.label("I use a cane.")
    assert "keep its labels" in str(panel._view.tree)
    await act(panel, **button(evaluation_pane(panel.state), "keep its labels"))
    assert "keep its labels" not in str(panel._view.tree)
    assert [case.expected for case in panel.cases][2] == ("I use a cane.",)
    assert (await evaluate(panel.cases, SETTINGS, wb.state.source.stores))["all"].needing == 3
    panel.close()
    await wb.label("I use a cane.", False)  # a closed panel hears of nothing


async def test_a_report_alone_shows_its_rows_and_says_what_opening_needs(wb):
    report = await evaluate(CASES, SETTINGS, wb.state.source.stores)
    panel = await wb.evaluation(report)
    assert "to open one, give cases=cases and settings=settings" in read(evaluation_pane(panel.state))
    await act(panel, do="show", case="tea", setting="all")
    assert "a report holds neither cases nor settings" in read(evaluation_pane(panel.state))
    panel.close()


async def test_hostile_names_are_texts_of_the_tree(wb):
    messages = [{"role": "user", "content": [{"text": "What cane?"}]}]
    cases = [
        Case(f"{HOSTILE}{at}", messages, ["nowhere"], category=f"{HOSTILE}{at}", owner=f"{HOSTILE}{at}")
        for at in (1, 2)
    ]
    settings = {HOSTILE: {}, "<b>other</b>": {"max_entries": 1}}
    report = await evaluate(cases, settings, wb.state.source.stores)
    panel = await wb.evaluation(report, cases, settings=settings)
    await panel.choose(listed="tied")
    tree = evaluation_pane(panel.state)
    assert read(tree).count("<img src=x onerror=alert(1)>") >= 6
    assert "<img" not in tree.to_html()
    assert "<b>" not in tree.to_html()
    await act(panel, do="show", case=cases[0].id, setting=HOSTILE)
    assert wb.state.expected == ("nowhere",)
    panel.close()


async def test_a_chosen_hit_is_marked_as_expected_by_its_button_and_in_a_cell(wb):
    await wb.set(messages="Where is my tea?")
    assert button(hits(wb.state), "expected") is None
    hit = wb.state.hits[1]
    await wb.find(hit)
    wb._act(button(hits(wb.state), "expected"))
    await wb
    assert wb.case("tea").expected == (hit.id,)
    wb._act(button(hits(wb.state), "expected"))
    await wb
    assert wb.state.expected == ()
    assert await wb.label(hit) == (hit.id,)
    assert await wb.label(hit, False) == ()
