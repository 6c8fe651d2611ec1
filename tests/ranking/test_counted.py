"""How often a text holds each of its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.ranking import tokenize, tokenize_any_script, tokenize_without_stop_words
from memwb.ranking.counted import counts


def test_a_word_counts_as_often_as_the_text_holds_it():
    text = "The tea is tea, isn't it? C++ 東京東京"

    assert counts(tokenize, text) == {"the": 1, "tea": 2, "is": 1, "isn": 1, "t": 1, "it": 1, "c": 1, "東京東京": 1}
    assert counts(tokenize_any_script, text)["tea"] == 2
    assert counts(tokenize_any_script, text)["東京"] == 2
    assert counts(tokenize_without_stop_words, text) == {"tea": 2, "c": 1, "c++": 1, "東京": 2, "京東": 1}


def test_a_tokenizer_of_ones_own_counts_what_it_gives():
    assert counts(str.split, "a b a") == {"a": 2, "b": 1}
    assert counts(lambda text: set(text.split()), "a b a") == {"a": 1, "b": 1}


@pytest.mark.parametrize("tokenizer", [tokenize, tokenize_any_script, tokenize_without_stop_words])
@given(text=st.text(st.sampled_from("aA bé東京ก่C+#'t3_ "), max_size=40))
def test_the_words_are_those_of_the_tokenizer(tokenizer, text):
    assert counts(tokenizer, text).keys() == tokenizer(text)
