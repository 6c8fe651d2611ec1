"""Texts made unreadable so that a search by words finds in them what it found before."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from itertools import count
from typing import Any

from ..ranking import STOP_WORDS

_WORD = re.compile(r"\w+")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST, _LONGEST = 4, 40
_KEPT = frozenset(
    {"toolUseId", "name", "status", "format", "type", "role"}
)  # what a message block is, not what it says


class WordMask:
    """Puts another word in the place of each word, always the same one.

    What stays: which texts share which words, whatever their case; English stop words, punctuation, line breaks, and
    capitals; the length of words of 4 to 40 characters. So a search by shared words ranks as before. What is lost:
    matches inside of words, as of tokenizers for Chinese or of semantic stores, and words that a callback looks for.
    The mask hides words, not that a word is frequent: it is no encryption.

    Args:
        key: Without it no word can be told from its mask by trying. The same key gives the same masks again; None
            takes a new one, which is nowhere written down.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = os.urandom(32) if key is None else key
        self._masks: dict[str, str] = {}
        self._taken: set[str] = set()

    def __call__(self, text: str) -> str:
        """Return the text with its words masked."""
        return _WORD.sub(self._masked, text)

    def _masked(self, match: re.Match[str]) -> str:
        word = match.group()
        lower = word.lower()
        if lower in STOP_WORDS:
            return word
        mask = self._masks.get(lower) or self._new(lower)
        if word.isupper() and len(word) > 1:
            return mask.upper()
        return mask.capitalize() if word[0].isupper() else mask

    def _new(self, word: str) -> str:
        length = min(max(len(word), _SHORTEST), _LONGEST)
        for attempt in count():
            digest = blake2b(f"{attempt}/{word}".encode("utf-8", "surrogatepass"), key=self._key, digest_size=64)
            number, letters = int.from_bytes(digest.digest()), []
            for _ in range(length):
                number, letter = divmod(number, len(_LETTERS))
                letters.append(_LETTERS[letter])
            mask = "".join(letters)
            if mask not in self._taken and mask not in STOP_WORDS:  # two words never share a mask
                break
        self._masks[word] = mask
        self._taken.add(mask)
        return mask


def in_messages(mask: Callable[[str], str], messages: Any) -> Any:
    """Mask all texts in messages, those of tools included; their roles, kinds, names and ids stay."""
    if isinstance(messages, str):
        return mask(messages)
    if isinstance(messages, Mapping):
        return {key: each if key in _KEPT else in_messages(mask, each) for key, each in messages.items()}
    return [in_messages(mask, each) for each in messages] if isinstance(messages, list) else messages
