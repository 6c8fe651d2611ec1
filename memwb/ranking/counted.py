"""How often a text holds each of its words, for rankings in which that counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from .scripts import (
    tokenize_any_script,
    tokenize_without_stop_words,
    words_of_any_script,
    words_without_stop_words,
)
from .tokens import Tokenizer, tokenize, words

_WITH_REPEATS: dict[Tokenizer, Callable[[str], Collection[str]]] = {
    tokenize: words,
    tokenize_any_script: words_of_any_script,
    tokenize_without_stop_words: words_without_stop_words,
}


def counts(tokenizer: Tokenizer, text: str) -> Counter[str]:
    """Return the tokens of a text, each with how often the text holds it.

    The shipped tokenizers give each token once; here their repeats are counted. Of another tokenizer those count that
    it gives: a list may hold a token several times.
    """
    return Counter(_WITH_REPEATS.get(tokenizer, tokenizer)(text))
