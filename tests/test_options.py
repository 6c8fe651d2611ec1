"""What holds for the whole process, and how texts are masked by it."""

from __future__ import annotations

import pytest

import memwb
from memwb._redact import masked, masked_words
from memwb.errors import ConfigError


@pytest.fixture(autouse=True)
def as_before():
    yield
    memwb.options(stills=True, redact=None)


def test_options_are_set_one_by_one_and_told():
    assert memwb.options() == memwb.options(stills=True, redact=None)
    memwb.options(stills=False)
    memwb.options(redact=True)
    assert (memwb.options().stills, memwb.options().redact) == (False, True)


@pytest.mark.parametrize("wrong", [{"stills": 1}, {"redact": "yes"}])
def test_wrong_options_are_refused_and_change_nothing(wrong):
    before = memwb.options()
    with pytest.raises(ConfigError, match="options: "):
        memwb.options(**wrong)
    assert memwb.options() == before


def test_a_function_that_returns_no_text_is_told():
    memwb.options(redact=len)
    with pytest.raises(ConfigError, match=r"redact: .* returned 3; it must return the text to show"):
        masked("Ann")


def test_a_masked_text_keeps_its_shape():
    assert masked("Ann, 42!") == "Ann, 42!"
    memwb.options(redact=True)
    assert masked("Ann, 42!\nyes") == "▒▒▒, ▒▒!\n▒▒▒"
    memwb.options(redact=lambda text: text.replace("Ann", "N."))
    assert masked("Ann, 42!") == "N., 42!"


def test_in_a_sentence_only_the_words_of_the_texts_are_masked_cut_ones_too():
    memwb.options(redact=True)
    assert masked_words("'I have moder…' is cut: rank 9", ["I have moderate pain"]) == (
        "'▒ ▒▒▒▒ ▒▒▒▒▒…' is cut: rank 9"
    )
