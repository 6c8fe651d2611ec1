"""The metrics agree with their definitions, worked out another way, and are defined at their edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2

import hypothesis.strategies as st
import pytest
from hypothesis import given

from memwb.errors import ConfigError
from memwb.evaluation import metrics

ids = st.sampled_from("abcdefgh")
rankings = st.lists(ids, unique=True)
wanted = st.sets(ids, min_size=1)
cutoffs = st.integers(1, 12)
at_k = pytest.mark.parametrize("metric", [metrics.recall, metrics.precision, metrics.hit_rate, metrics.ndcg])


def test_a_ranking_earns_what_the_definitions_say() -> None:
    ranking, expected = ["x", "a", "y", "b", "z"], {"a", "b", "c"}

    assert metrics.recall(ranking, expected, 3) == 1 / 3
    assert metrics.recall(ranking, expected, 5) == 2 / 3
    assert metrics.precision(ranking, expected, 5) == 2 / 5
    assert metrics.precision(ranking, expected, 10) == 2 / 10
    assert metrics.hit_rate(ranking, expected, 1) == 0.0
    assert metrics.hit_rate(ranking, expected, 2) == 1.0
    assert metrics.reciprocal_rank(ranking, expected) == 1 / 2
    assert metrics.ndcg(ranking, expected, 5) == pytest.approx(
        (1 / log2(3) + 1 / log2(5)) / (1 / log2(2) + 1 / log2(3) + 1 / log2(4))
    )


@at_k
def test_without_anything_expected_a_figure_is_not_defined(metric: Callable[..., float | None]) -> None:
    assert metric(["a"], [], 5) is None
    assert metrics.reciprocal_rank(["a"], []) is None


@at_k
def test_an_empty_ranking_earns_nothing(metric: Callable[..., float | None]) -> None:
    assert metric([], ["a"], 5) == 0.0
    assert metrics.reciprocal_rank([], ["a"]) == 0.0


@at_k
@pytest.mark.parametrize("k", [0, -1, 2.0, True, "5"])
def test_a_cut_off_is_a_whole_number_of_at_least_1(metric: Callable[..., float | None], k: int) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        metric(["a"], ["a"], k)


@at_k
@given(rankings, wanted, cutoffs)
def test_figures_lie_between_0_and_1(
    metric: Callable[[Sequence[str], set[str], int], float | None], ranking: list[str], expected: set[str], k: int
) -> None:
    figure = metric(ranking, expected, k)

    assert figure is not None
    assert 0 <= figure <= 1


@given(rankings, wanted, cutoffs)
def test_the_figures_are_those_of_the_sets_and_gains(ranking: list[str], expected: set[str], k: int) -> None:
    top = ranking[:k]
    gains = [float(id in expected) for id in top]
    ideal = sorted((float(id in expected) for id in "abcdefgh"), reverse=True)[:k]

    def gained(values: list[float]) -> float:
        return sum(value / log2(place + 2) for place, value in enumerate(values))

    assert metrics.recall(ranking, expected, k) == len(expected & set(top)) / len(expected)
    assert metrics.precision(ranking, expected, k) == sum(gains) / k
    assert metrics.hit_rate(ranking, expected, k) == float(any(gains))
    assert metrics.ndcg(ranking, expected, k) == pytest.approx(gained(gains) / gained(ideal))
    found = [place for place, id in enumerate(ranking, 1) if id in expected]
    assert metrics.reciprocal_rank(ranking, expected) == (1 / found[0] if found else 0.0)


@given(rankings, wanted, cutoffs)
def test_all_expected_in_front_earns_full_marks(ranking: list[str], expected: set[str], k: int) -> None:
    best = [*sorted(expected), *(id for id in ranking if id not in expected)]

    assert metrics.ndcg(best, expected, k) == pytest.approx(1.0)
    assert metrics.reciprocal_rank(best, expected) == 1.0
    assert metrics.recall(best, expected, len(best)) == 1.0


def test_an_id_that_stands_twice_counts_once() -> None:
    assert metrics.recall(["a", "a"], ["a", "b"], 2) == 0.5
    assert metrics.precision(["a", "a"], ["a"], 2) == 0.5
    assert metrics.ndcg(["a", "a"], ["a"], 2) == 1.0
    assert metrics.ndcg(["x", "a"], ["a", "a"], 2) == pytest.approx(1 / log2(3))
