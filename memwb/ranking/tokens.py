"""How text becomes the words that a search compares."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache

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


def words(text: str) -> list[str]:
    """Return what :func:`tokenize` gives, each as often as the text holds it, in its order."""
    return _WORDS.findall(text.lower())


@lru_cache(maxsize=8)
def query_tokens(text: str) -> tuple[str, ...]:
    """Return what :func:`tokenize` gives, in the order in which the text holds it.

    One question is asked of several stores, to several depths: the last few answers are kept.
    """
    return tuple(dict.fromkeys(_WORDS.findall(text.lower())))


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
_CHUNK = 256  # texts at a time, so that what is made of them on the way stays in the processor's cache
_TO_WORDS = "".join(c if c.isalnum() or c in "_\0" else " " for c in map(chr, range(128))).lower().encode() + bytes(128)


def padded(texts: Sequence[str]) -> list[str]:
    """Return the words of each text as one text, with blanks around each word.

    A text has the token ``t`` of :func:`tokenize` exactly if ``f" {t} "`` occurs in its padded words. This serves a
    search over many texts that is not worth an index, and costs a fraction of cutting the words out.
    """
    found: list[str] = []
    for start in range(0, len(texts), _CHUNK):
        found += _chunk_padded(texts[start : start + _CHUNK])
    return found


def _chunk_padded(texts: Sequence[str]) -> Iterable[str]:
    joined = _BETWEEN.join(("", *texts, ""))
    if not joined.isascii() or joined.count("\0") != len(texts) + 1:  # or one of them holds what shall separate them
        plain = [text for text in texts if text.isascii() and "\0" not in text]
        words = iter(_chunk_padded(plain) if plain else ())
        return [next(words) if text.isascii() and "\0" not in text else _padded(text) for text in texts]
    return joined.encode().translate(_TO_WORDS).decode().split("\0")[1:-1]


def _padded(text: str) -> str:
    return f" {' '.join(_WORDS.findall(text.lower()))} "
