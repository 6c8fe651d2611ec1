"""Reciprocal rank fusion, against the formula."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.errors import ConfigError
from memwb.ranking import fuse


def test_what_both_rankings_hold_comes_before_what_one_has_first():
    assert fuse([["a", "b"], ["c", "b"]]) == [("b", 1 / 62 + 1 / 62), ("a", 1 / 61), ("c", 1 / 61)]


def test_a_small_k_lets_the_first_places_stand_out():
    assert [thing for thing, _ in fuse([["a", "b"], ["c", "x", "b"]], k=0)] == ["a", "c", "b", "x"]


def test_nothing_is_fused_to_nothing():
    assert fuse([]) == fuse([[], []]) == []


@given(st.lists(st.lists(st.integers(0, 9), unique=True), max_size=4), st.integers(0, 100))
def test_each_score_is_the_sum_over_the_rankings_that_hold_it(rankings, k):
    expected = {
        thing: sum(1 / (k + ranking.index(thing) + 1) for ranking in rankings if thing in ranking)
        for thing in dict.fromkeys(thing for ranking in rankings for thing in ranking)
    }

    fused = fuse(rankings, k)

    assert dict(fused) == expected
    assert fused == sorted(expected.items(), key=lambda item: -item[1])


@pytest.mark.parametrize("k", [-1, float("nan"), float("inf"), "60", True])
def test_a_k_that_is_no_number_from_0_on_is_refused(k):
    with pytest.raises(ConfigError, match=r"fuse: k is .*; it must be a number, at least 0"):
        fuse([["a"]], k)
