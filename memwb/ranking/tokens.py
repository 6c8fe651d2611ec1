"""How text becomes the words that a search compares."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

Tokenizer = Callable[[str], Collection[str]]
"""Turns a text into its tokens; queries and contents go through the same one."""

_WORDS = re.compile(r"\w+")


def tokenize(text: str) -> set[str]:
    r"""Return the distinct words of ``text``: lower-cased, then cut at every run of non-word characters.

    This is the rule that the Strands Agents SDK documents for its TestMemoryStore (``\W+`` over Unicode). Words are
    not stemmed and no word is left out; text without spaces, as in Chinese, is one token; a contraction falls apart
    (``don't`` gives ``don`` and ``t``), and so does a letter from its combining mark.
    """
    return set(_WORDS.findall(text.lower()))


_TRIES = 16


def held(tokens: Sequence[str], text: str) -> list[str]:
    """Return those of the tokens of one text that another text holds too, in their order.

    It is what ``tokenize(text)`` has in common with them, for few tokens found without cutting out every word.

    Args:
        tokens: Tokens that :func:`tokenize` gave.
        text: Where they are looked for.
    """
    lowered = f" {text.lower()} "
    found: list[str] = []
    tries = 0
    for token in tokens:
        start = lowered.find(token)
        while start > 0:
            before, after = lowered[start - 1], lowered[start + len(token)]
            if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
                found.append(token)
                break
            tries += 1
            if tries > _TRIES:  # such as one letter in a long text
                words = tokenize(text)
                return [token for token in tokens if token in words]
            start = lowered.find(token, start + 1)
    return found


_BETWEEN = " \0 "
_TO_BLANK = bytes(code if chr(code).isalnum() or chr(code) in "_\0" else 32 for code in range(128)) + bytes(128)


def padded(texts: Sequence[str]) -> list[str]:
    """Return the words of each text as one text, with blanks around each word.

    A text has the token ``t`` of :func:`tokenize` exactly if ``f" {t} "`` occurs in its padded words. This serves a
    search over many texts that is not worth an index, and costs a fraction of cutting the words out.
    """
    plain = [text for text in texts if text.isascii()]
    joined = f" {_BETWEEN.join(plain)} "
    if joined.count("\0") != max(0, len(plain) - 1):  # one of the texts holds what shall separate them
        return [_padded(text) for text in texts]
    words = iter(joined.lower().encode().translate(_TO_BLANK).decode().split("\0"))
    return [next(words) if text.isascii() else _padded(text) for text in texts]


def _padded(text: str) -> str:
    return f" {' '.join(_WORDS.findall(text.lower()))} "
