"""The drawing of quality against tokens: round values beside its axes, every point within it, and its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb import TestMemoryStore, evaluate
from memwb.widgets.panes.plot import _Axis, _written, plot
from tests.widgets.reading import walk
from tests.workbench.test_evaluation import CASES, FACTS, SETTINGS


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.138, 1.0], ["0.25", "0.5", "0.75", "1"]),
        ([51.0, 321.0], ["100", "200", "300"]),
        ([0.0, 1.0], ["0", "0.25", "0.5", "0.75", "1"]),
        ([21.0, 3559.0], ["50", "100", "200", "500", "1,000", "2,000"]),
        ([7.0, 7.0], ["7"]),
    ],
)
def test_an_axis_has_round_values(values, ticks):
    assert [_written(value) for value in _Axis(values, 0, 100).ticks] == ticks


@given(st.lists(st.just(0.0) | st.floats(0.01, 1e6), min_size=2, max_size=5))
def test_ticks_lie_within_the_axis_and_are_few(values):
    axis = _Axis(values, 0, 100)
    assert all(-1e-3 <= axis(value) <= 100.001 for value in axis.ticks)
    assert len(axis.ticks) <= 10


async def test_the_drawing_has_each_setting_within_it_and_says_what_it_shows():
    report = await evaluate(CASES, SETTINGS, TestMemoryStore.from_records(FACTS, name="facts"))
    drawn = plot(report, "reached")
    assert drawn.attributes["aria-label"] == report.in_words("reached")
    circles = [each for each in walk(drawn) if each.tag == "circle"]
    assert len(circles) == len(report)
    assert all(0 < float(each.attributes["cx"]) < 460 and 0 < float(each.attributes["cy"]) < 190 for each in circles)
