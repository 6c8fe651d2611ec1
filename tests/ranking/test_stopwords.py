"""The English stop word list."""

from __future__ import annotations

from memwb.ranking import STOP_WORDS, STOP_WORDS_NAME, stopwords, tokenize


def test_each_stop_word_is_one_token() -> None:
    assert {word for word in STOP_WORDS if tokenize(word) != {word}} == set()


def test_the_list_is_named_with_its_source_and_licence() -> None:
    assert STOP_WORDS_NAME == "Snowball English"
    assert len(STOP_WORDS) == 124
    for part in ("Snowball project", "Dr Martin Porter", "Redistribution and use in source and binary forms"):
        assert part in (stopwords.__doc__ or "")


def test_it_holds_function_words_and_no_words_with_a_meaning_of_their_own() -> None:
    assert {"i", "the", "that", "what", "not", "about", "my"} <= STOP_WORDS
    assert STOP_WORDS.isdisjoint({"can", "will", "may", "must", "us", "won", "let", "like", "tea"})
