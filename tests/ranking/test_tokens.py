"""The documented tokenizer."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.ranking import held, query_tokens, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Likes GREEN tea, tea!", {"likes", "green", "tea"}),
        ("don't e-mail snake_case 3.14", {"don", "t", "e", "mail", "snake_case", "3", "14"}),
        ("  ... \n", set()),
        ("", set()),
        ("乌龙茶 and scones", {"乌龙茶", "and", "scones"}),
        ("Zoe\u0308 İzmir", {"zoe", "i", "zmir"}),
        ("C++ 🍣", {"c"}),
    ],
)
def test_a_text_falls_into_lower_case_words(text: str, tokens: set[str]) -> None:
    assert tokenize(text) == tokens


@given(st.text())
def test_it_is_the_documented_split_at_non_word_characters(text: str) -> None:
    assert tokenize(text) == {token for token in re.split(r"\W+", text.lower()) if token}


WORDS = st.sampled_from(["a", "aa", "b", "_", "a_", "İ", "i", "\u0307", "ß", "1", "茶", " ", "-", "'", "\n"])
TEXTS = st.lists(WORDS, max_size=60).map("".join) | st.text()


@given(TEXTS, TEXTS)
def test_the_tokens_that_a_text_holds_are_those_it_falls_into(query: str, text: str) -> None:
    tokens = sorted(tokenize(query))
    assert held(tokens, text) == [token for token in tokens if token in tokenize(text)]


@given(TEXTS)
def test_a_querys_tokens_are_those_of_any_text_each_once_and_in_its_order(query: str) -> None:
    words = [word for word in re.split(r"\W+", query.lower()) if word]
    assert list(query_tokens(query)) == sorted(tokenize(query), key=words.index)


@pytest.mark.parametrize("end", ["", " a"])
def test_one_letter_is_found_in_a_text_that_is_full_of_it(end: str) -> None:
    assert held(["a", "b"], "banana " * 1000 + "b" + end) == (["a", "b"] if end else ["b"])
