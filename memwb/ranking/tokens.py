"""How text becomes the words that a search compares."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

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
