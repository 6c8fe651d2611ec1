"""The documented tokenizer."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.ranking import tokenize


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
