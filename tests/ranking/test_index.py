"""The index ranks as the plain scan does, whatever is added, changed and left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwb.ranking import Index, order_of, padded, rank, tokenize
from memwb.ranking import index as index_module

letters = st.sampled_from("abcdefghij")
words = st.frozensets(letters, max_size=6)
times = st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-03", "later"])
documents = st.lists(st.tuples(words, times), max_size=40)


def built(found: list[tuple[Any, str]]) -> Index:
    return Index.build(lambda place: found[place][0], [time for _, time in found])


def same_as_the_scan(index: Index, found: list[tuple[Any, str]], query: Any) -> None:
    expected = rank(query, found)
    assert index.documents == len(found)
    assert index.count(query) == len(expected)
    for limit in (1, 3, 10, 101):
        assert index.top(query, limit) == expected[:limit]
    for among in ({0}, set(range(0, len(found), 3)), set(range(len(found)))):
        ranked = [(place, score, at) for at, (place, score) in enumerate(expected, 1) if place in among]
        assert index.best(query, among) == next(iter(ranked), None)


@given(documents, words)
def test_the_best_documents_are_those_of_the_scan(found: list[tuple[Any, str]], query: Any) -> None:
    same_as_the_scan(built(found), found, query)


def test_an_empty_index_finds_nothing() -> None:
    assert built([]).top({"a"}, 5) == []
    assert built([({"a"}, "1")]).top((), 5) == built([({"a"}, "1")]).top({"b"}, 5) == []


def test_tokens_can_be_anything_that_a_set_can_hold() -> None:
    assert built([((1, "a"), "1"), ((2, None), "2")]).top({None, 1}, 5) == [(1, 1), (0, 1)]


added = st.tuples(st.just("add"), words)
replaced = st.tuples(st.just("replace"), st.integers(0, 99), words)
removed = st.tuples(st.just("remove"), st.integers(0, 99))


@settings(max_examples=300)
@given(documents, st.lists(added | replaced | removed, max_size=25), words)
def test_after_changes_it_is_as_if_built_anew_and_the_one_before_is_untouched(
    start: list[tuple[Any, str]], steps: list[tuple[Any, ...]], query: Any
) -> None:
    found, index = list(start), built(start)
    for number, (kind, *more) in enumerate(steps):
        before = (index, list(found))
        if kind == "add":
            found.append((more[0], f"x{number:03}"))
            extended = index.extended([more[0]], [f"x{number:03}"])
            assert extended is not None
            index = extended
        elif found:
            place = more[0] % len(found)
            old, time = found[place]
            if kind == "replace":
                found[place] = (more[1], time)
                index = index.replaced(place, old, more[1])
            else:
                del found[place]
                index = index.without(place, old)
        same_as_the_scan(index, found, query)
        same_as_the_scan(*before, query)


@pytest.mark.parametrize("times", [["2"], ["1"], ["3", "3"], ["4", "3"], ["3", ""]])
def test_times_that_do_not_rise_cannot_be_added(times: list[str]) -> None:
    index = built([({"a"}, "1"), ({"a"}, "2")])
    assert index.extended([{"b"}] * len(times), times) is None
    assert index.top({"b"}, 5) == []


def test_adding_nothing_changes_nothing() -> None:
    index = built([({"a"}, "1")]).extended([], [])
    assert index is not None
    assert index.top({"a"}, 5) == [(0, 1)]


def test_many_documents_and_few_per_token_are_ranked_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of one, small sets, sets that are made ready and thrown away, and sets of bits from the start."""
    monkeypatch.setattr(index_module, "_READY_BYTES", 300)
    found: list[tuple[Any, str]] = [
        ({"all", f"one {n}", f"three {n // 3}", f"ten {n // 10}", f"even {n % 2}"}, f"{n:05}") for n in range(3000)
    ]
    index = built(found)
    for n in (0, 1, 1499, 2999):
        for query in (
            {"all"},
            {f"one {n}", "all"},
            {f"three {n // 3}", f"ten {n // 10}", "none"},
            {f"ten {n // 10}", f"ten {n // 20}", f"even {n % 2}", f"one {n}", f"three {n // 3}", "all"},
        ):
            expected = rank(query, found)
            for limit in (1, 10, 100, 101, 3000):
                assert index.top(query, limit) == expected[:limit]
            assert index.count(query) == len(expected)


def test_an_order_is_named_only_where_times_do_not_rise() -> None:
    assert order_of(["1", "2", "3"]) is None
    assert list(order_of(["1", "1", "0"]) or ()) == [2, 1, 0]


@given(st.lists(st.text(st.sampled_from("aA bB_1-.\0\néİΣσ\u0301乌\x1f")) | st.text(), max_size=6), st.text())
def test_padded_words_hold_exactly_the_tokens(texts: list[str], other: str) -> None:
    found = padded(texts)
    assert len(found) == len(texts)
    queries = {token for text in [*texts, other] for token in tokenize(text)}
    for text, words in zip(texts, found, strict=True):
        assert {token for token in queries if f" {token} " in words} == queries & tokenize(text)
        assert set(words.split()) == tokenize(text)
