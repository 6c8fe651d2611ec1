"""Intervals, paired comparisons and the front of a report are those of their definitions, and the same at every run."""

from __future__ import annotations

from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from memwb.errors import ConfigError
from memwb.evaluation import CaseResult, Interval, Report
from memwb.evaluation.bootstrap import interval, luck

shares = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=40)


def result(setting: str, case: str, reached: float | None, tokens: float = 10.0, **more: Any) -> CaseResult:
    figures = {"reached": reached, "tokens": tokens, "entries": 1.0, "stop_words": None}
    return CaseResult(
        setting, case, None, **{"category": "plain", **more}, expected=1, first=None, figures=figures, outcome=""
    )


def report(**settings: list[CaseResult]) -> Report:
    return Report("demo", (5,), dict.fromkeys(settings, 1), tuple(each for one in settings.values() for each in one))


def three_settings() -> Report:
    return report(
        old=[result("old", case, value, 10) for case, value in zip("abcd", [0.0, 0.5, 1.0, 0.0], strict=True)],
        new=[result("new", case, value, 20) for case, value in zip("abcd", [1.0, 0.5, 0.5, 1.0], strict=True)],
        dear=[result("dear", case, value, 30) for case, value in zip("abcd", [0.5, 0.5, 0.5, 1.0], strict=True)],
    )


class TestIntervals:
    @given(shares)
    @settings(max_examples=25, deadline=None)
    def test_hold_their_mean_and_lie_among_the_values(self, values: list[float]) -> None:
        found = interval(values)

        assert found is not None
        assert min(values) <= found.low <= found.mean + 1e-12
        assert found.mean - 1e-12 <= found.high <= max(values)

    def test_are_the_percentiles_of_resampled_means(self) -> None:
        values = [0.0, 0.5, 1.0, 0.0, 0.25]
        draws = np.random.RandomState(7).random_sample((500, 5))
        means = np.array(values)[(draws * 5).astype(int)].mean(axis=1)

        found = interval(values, level=0.9, resamples=500, seed=7)
        assert found == Interval(0.35, *np.percentile(means, [5, 95]), 5, 0.9, 500)

    def test_come_near_to_the_exact_ones_of_all_resamples(self) -> None:
        values = [0.0, 0.0, 1.0, 1.0, 1.0]
        exact = np.percentile([sum(each) / 5 for each in product(values, repeat=5)], [2.5, 97.5])
        found = interval(values)

        assert found is not None
        assert [found.low, found.high] == pytest.approx(list(exact))

    def test_are_the_same_however_many_numbers_are_drawn_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        values = [at / 50 for at in range(50)]
        whole = interval(values), luck([each - 0.4 for each in values])
        monkeypatch.setattr("memwb.evaluation.bootstrap._CHUNK", 60)

        assert (interval(values), luck([each - 0.4 for each in values])) == whole

    def test_of_nothing_are_none(self) -> None:
        assert interval([]) is None

    @pytest.mark.parametrize("wrong", [{"level": 1.0}, {"level": 0}, {"resamples": 0}])
    def test_of_a_wrong_level_are_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ConfigError):
            interval([1.0], **wrong)


class TestLuck:
    def test_comes_near_to_the_exact_test_over_all_signs(self) -> None:
        differences = [1.0, 0.5, 1.0, -0.5, 1.0, 0.5, 0.0, 1.0]
        signs = product((1, -1), repeat=8)
        sums = [abs(sum(sign * each for sign, each in zip(one, differences, strict=True))) for one in signs]
        exact = sum(each >= sum(differences) for each in sums) / len(sums)

        assert luck(differences) == pytest.approx(exact, abs=0.01)

    def test_explains_all_where_nothing_differs(self) -> None:
        assert luck([0.0, 0.0]) == luck([]) == 1.0

    def test_is_the_same_from_both_sides(self) -> None:
        assert luck([1.0, 0.5, -0.25]) == luck([-1.0, -0.5, 0.25])


def test_two_settings_are_compared_case_by_case() -> None:
    found = three_settings().compare("new", "old")

    assert (found.wins, found.losses, found.ties, found.left_out) == (("a", "d"), ("c",), ("b",), ())
    assert found.difference is not None
    assert found.difference.mean == 0.375
    assert repr(found) == (
        "reached: 'new' against 'old' over 4 cases: +0.375 [-0.250, +1.000], 2 won, 1 lost, 1 tied "
        f"(randomisation test, p = {found.p_value:.3f})"
    )


def test_of_sizes_the_smaller_wins() -> None:
    assert three_settings().compare("old", "new", "tokens").wins == ("a", "b", "c", "d")


def test_a_case_that_failed_under_one_is_left_out_and_named() -> None:
    failed = CaseResult("new", "a", None, "plain", 1, None, {}, "failed", "down")
    found = report(old=[result("old", "a", 1.0)], new=[failed]).compare("new", "old")

    assert (found.left_out, found.difference, found.wins) == (("a",), None, ())


def test_cases_that_need_nothing_are_in_no_comparison() -> None:
    idle = CaseResult("old", "a", None, None, 0, None, {"reached": None, "tokens": 5.0}, "")
    both = report(old=[idle], new=[CaseResult("new", "a", None, None, 0, None, {"tokens": 9.0}, "")])

    assert both.compare("new", "old", "tokens").ties == ()
    assert both.interval("old", "tokens") is None


def test_the_front_is_what_no_other_beats_at_both() -> None:
    assert three_settings().pareto() == ("old", "new")


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8))
@settings(max_examples=25, deadline=None)
def test_whoever_is_not_on_the_front_is_beaten_by_one_on_it(points: list[tuple[int, int]]) -> None:
    many = report(**{f"s{at}": [result(f"s{at}", "a", q / 5, t)] for at, (q, t) in enumerate(points)})
    front = [points[int(name[1:])] for name in many.pareto()]

    assert front
    for quality, tokens in points:
        beaten = any(q >= quality and t <= tokens and (q, t) != (quality, tokens) for q, t in front)
        assert beaten != ((quality, tokens) in front)


def test_the_leaderboard_has_the_best_first_with_wins_and_losses() -> None:
    board = three_settings().leaderboard()

    assert list(board.index) == ["new", "dear", "old"]
    assert board.loc["new", ["reached", "wins", "losses", "ties", "tokens", "on_front"]].tolist() == [
        0.75,
        2,
        1,
        1,
        20,
        True,
    ]
    assert board.loc["old", ["wins", "losses", "ties", "p"]].isna().all()


def test_figures_by_category_are_means_of_their_cases() -> None:
    mixed = report(
        old=[
            result("old", "a", 1.0),
            result("old", "b", 0.0, category="hard"),
            result("old", "c", 0.5, category="hard"),
        ],
    ).by_category()

    assert mixed.to_dict("index") == {"plain": {"cases": 1, "old": 1.0}, "hard": {"cases": 2, "old": 0.25}}


def test_what_the_plot_shows_is_said_in_words() -> None:
    assert three_settings().in_words().splitlines() == [
        "reached, the mean share of the expected entries that reached the prompt, against tokens; over 4 cases that "
        "need memory, with 95% intervals of 2,000 resamples:",
        "1. 'old': 0.375 [0.000, 0.750] for 10 tokens",
        "2. 'new': 0.750 [0.500, 1.000] for 20 tokens",
        "3. 'dear': 0.625 [0.500, 0.875] for 30 tokens",
        "No other setting has more for as few tokens than 'old', 'new'.",
        "'new' has at least as much as 'dear' for as few tokens.",
    ]


def test_the_plot_draws_each_setting_once_by_its_name() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    axes = three_settings().plot()
    assert [text.get_text() for text in axes.texts] == ["old", "new", "dear"]
    assert axes.get_ylabel() == "reached, 95% interval"
    own = plt.figure().add_subplot()
    assert three_settings().plot("reached", own) is own
    many = report(**{f"s{at}": [result(f"s{at}", "a", 0.5, 9 - at)] for at in range(9)}).plot()
    assert [text.get_text() for text in many.texts] == list("123456789")
    plt.close("all")


@pytest.mark.parametrize("ask", ["interval", "leaderboard", "pareto", "plot", "in_words", "by_category"])
def test_an_unknown_metric_is_refused_with_the_nearest_one(ask: str) -> None:
    arguments = ("old", "reachd") if ask == "interval" else ("reachd",)
    with pytest.raises(ConfigError, match=r"no metric 'reachd'.*Did you mean 'reached'"):
        getattr(three_settings(), ask)(*arguments)
