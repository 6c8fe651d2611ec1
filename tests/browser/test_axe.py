"""What axe-core finds in the workbench, for people who do not see it, or see it badly."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright", reason="These tests drive a browser with Playwright, of the extra `test`.")

from tests.npm import SOURCES, installed
from tests.scripts.screenshots import ENTRIES, SESSIONS, SETUP, STATES

# What fails a rule for certain, and weighs; what axe cannot decide by itself is for a person to look at.
RUN = """async (root) => {
    const found = await axe.run(root, {resultTypes: ['violations']});
    return found.violations.filter(({impact}) => ['serious', 'critical'].includes(impact)).flatMap(({id, nodes}) =>
        nodes.map(({target, failureSummary}) => `${id}: ${target.join(' ')}: ${failureSummary}`));
}"""

SHOWN = (
    "talk broken-call paste words "
    "first why editor mistake ready probe failing half-failing empty missing no-user skipped many several input "
    "entries filtered cell sorted extraction extraction-prompts timeline comparison tools-search tools-add sessions "
    "session-summary"
).split()

EDITING = "entry-add entry-merge entry-staged entry-diff entry-twice entry-health".split()


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The script of axe-core, from the packages that the bundles are built with."""
    there = SOURCES / "node_modules" / "axe-core" / "axe.min.js"
    if not there.is_file():
        there = installed(tmp_path_factory.mktemp("axe")) / "node_modules" / "axe-core" / "axe.min.js"
    return there.read_text("utf-8")


@pytest.mark.parametrize("shown", [SHOWN, EDITING], ids=["all", "editing"])
def test_no_serious_fault_in_any_state_in_either_theme(notebook, axe, shown):
    opened = notebook(SETUP + ENTRIES + SESSIONS, *(f"wb = {STATES[state][0]}\nawait wb" for state in shown))
    opened.side_bar(False)
    opened.resize(1460, 900)
    benches = {state: opened.output(at).locator(".memwb-bench") for at, state in enumerate(shown, 1)}
    for state, bench in sorted(benches.items(), key=lambda each: each[0] == "why"):  # a click elsewhere closes it
        if act := STATES[state][1]:
            act(bench)
    opened.page.add_script_tag(content=axe)

    found = {}
    for theme in ("light", "dark"):
        opened.set_theme(theme)
        for state, bench in benches.items():
            bench.scroll_into_view_if_needed()
            if problems := bench.evaluate(RUN):
                found[state, theme] = problems
    assert found == {}
