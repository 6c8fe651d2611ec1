"""Words of a query beside words of an entry: which of them nearly match."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

SHOWN = 4
"""So many words are named in a sentence."""

_COMPARED = 40  # words of each side: more are a text, of which nobody wants to hear every word
_SHORTEST = 4  # letters of words that are compared by their letters
_ENDING = 3  # letters by which two forms of one word may differ at their end
_ALIKE = 0.8
_SPACED = "\u0e00"  # scripts from here on may be written without spaces


def listed(words: Sequence[str]) -> str:
    """Name the first words that tell something, of stop words alone the first of those; an ellipsis for the rest."""
    from ..ranking import STOP_WORDS

    telling = [word for word in words if word not in STOP_WORDS] or list(words)
    shown = telling[:SHOWN]
    return ", ".join([*shown, *(["…"] if len(shown) < len(words) else [])]) or "nothing"


def nearly(asked: Sequence[str], held: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of a query's word and an entry's that nearly match: another form, a typing error, a part.

    They nearly match where they are the same but for case and Unicode forms, where one goes on up to three letters
    after the other, or has some letters else; of words in scripts without spaces, where one is within the other.
    """
    from ..ranking import STOP_WORDS

    pairs = []
    for word in asked[:_COMPARED]:
        for other in held[:_COMPARED]:
            if word in STOP_WORDS or other in STOP_WORDS:
                continue
            if _nearly(word, other):
                pairs.append((word, other))
                break
    return tuple(pairs)


def _nearly(word: str, other: str) -> bool:
    if not (word.isascii() and other.isascii()):
        if _parts(word) & _parts(other):
            return True
        if max(word) >= _SPACED and max(other) >= _SPACED:
            return word in other or other in word
    short, long = sorted((word, other), key=len)
    if len(short) < _SHORTEST or len(long) > 2 * len(short):
        return False
    if long.startswith(short):
        return len(long) - len(short) <= _ENDING
    return long[0] == short[0] and SequenceMatcher(None, short, long).ratio() >= _ALIKE


@lru_cache(maxsize=256)  # each word is compared with many
def _parts(word: str) -> frozenset[str]:
    from ..ranking import tokenize_any_script

    return frozenset(tokenize_any_script(word))
