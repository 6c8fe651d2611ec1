"""The documented ranking: shared words, then the most recent, ties in their order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memwb.ranking import overlap, rank

words = st.sets(st.sampled_from("abcdefgh"), max_size=6)
documents = st.lists(st.tuples(words, st.sampled_from(["2026-01-01", "2026-01-02", "later"])), max_size=30)


def test_words_count_once_however_often_they_occur() -> None:
    assert overlap(["tea", "tea", "green"], ["tea", "tea"]) == 1
    assert overlap({"tea", "green"}, frozenset({"green", "tea", "cup"})) == 2
    assert overlap([], ["tea"]) == 0


def test_more_words_come_first_then_the_later_then_the_earlier_in_the_list() -> None:
    found = [({"a"}, "2"), ({"a", "b"}, "1"), ({"x"}, "9"), ({"a"}, "3"), ({"b"}, "3"), (["a", "a"], "3")]
    assert rank({"a", "b"}, found) == [(1, 2), (3, 1), (4, 1), (5, 1), (0, 1)]


def test_without_a_query_token_nothing_is_found() -> None:
    assert rank([], [({"a"}, "1")]) == []


@given(words, documents)
def test_it_is_a_stable_sort_by_score_and_time_descending(query: set[str], texts: list[tuple[set[str], str]]) -> None:
    scored = [(position, len(query & tokens), time) for position, (tokens, time) in enumerate(texts) if query & tokens]
    scored.sort(key=lambda item: item[0])
    scored.sort(key=lambda item: item[2], reverse=True)
    scored.sort(key=lambda item: item[1], reverse=True)
    assert rank(query, texts) == [(position, score) for position, score, _ in scored]
