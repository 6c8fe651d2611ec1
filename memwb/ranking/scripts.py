r"""Tokenizers for text that the documented one does not serve: other scripts, other forms of a letter, stop words.

They are one setting away: ``TestMemoryStore(name="notes", tokenizer=tokenize_any_script)``. Rankings then differ from
the SDK's, which has no such setting.

:func:`tokenize_any_script`

- folds letter case and Unicode forms: ``WEISSWEIN`` is ``Weißwein``, ``ＡＢＣ`` is ``abc``, a letter with its combining
  mark is the composed letter, ``İ``, ``I``, ``ı`` and ``i`` are one letter. Accents count: ``Zoë`` is not ``zoe``;
- keeps marks with their letters, so that words of Indic scripts stay whole. What only shapes or points text (joiners,
  variation selectors, soft hyphens, Arabic and Hebrew points) does not count;
- cuts text of scripts that are written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese and some more),
  and Korean, whose words carry endings, into pairs of neighbouring characters, a mark counted with its character. So a
  word of two characters or more is found wherever it stands, and a text that shares no pair with it is not. A
  character by itself is found only where it stands by itself: searching for it inside words would find every word it is
  part of;
- takes a word with signs of programming at its end as a token too: ``C++``, ``C#``; the best match for ``C++`` is
  ``C++``, and ``C`` follows;
- takes each emoji as a token.

:func:`tokenize_without_stop_words` does the same and leaves out English stop words and contractions. A query of stop
words alone has no token and finds nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from .stopwords import STOP_WORDS

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"  # Burmese, Khmer, Tai scripts
    "\u1b00-\u1b7f\ua980-\ua9df"  # Balinese, Javanese
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Korean
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b"  # Han, as the following
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
    "\u3041-\u30ff\u31f0-\u31ff\U0001b000-\U0001b16f\u3105-\u312f\u31a0-\u31bf\ua000-\ua48f"  # Kana, Bopomofo, Yi
)
_IGNORED = re.compile(
    "[\u00ad\u034f\u061c\u0640\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8]+"
)
_EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff"
_SIGNED = re.compile(r"(?<!\w)\w+(?:\+\+?|#)(?![\w+#])")
_PLAIN_WORDS = re.compile(r"\w+")
_CONTRACTIONS = re.compile(
    r"\b(?:(?:i|you|he|she|it|we|they|that|who|what|here|there|when|where|why|how|let)'(?:m|re|s|ve|d|ll)"
    r"|(?:is|are|was|were|has|have|had|does|do|did|would|should|could|must|need|ought|wo|sha|ca|ai)n't)\b"
)


def tokenize_any_script(text: str) -> set[str]:
    """Return the distinct words of a text in any script; see the module for how it is cut and folded."""
    return set(_words(_folded(text)))


def words_of_any_script(text: str) -> list[str]:
    """Return what :func:`tokenize_any_script` gives, each as often as the text holds it."""
    return _words(_folded(text))


def tokenize_without_stop_words(text: str) -> set[str]:
    """Return what :func:`tokenize_any_script` gives, without English stop words and contractions.

    The words are those of :data:`STOP_WORDS`.
    """
    return set(words_without_stop_words(text))


def words_without_stop_words(text: str) -> list[str]:
    """Return what :func:`tokenize_without_stop_words` gives, each as often as the text holds it."""
    folded = _folded(text)
    words = _words(_CONTRACTIONS.sub(" ", folded.replace("\u2019", "'")))
    return [word for word in words if word not in STOP_WORDS]


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _IGNORED.sub("", folded).replace("i\u0307", "i").replace("\u0131", "i")


def _words(text: str) -> list[str]:
    if text.isascii():
        words = _PLAIN_WORDS.findall(text)
    else:
        patterns = _patterns()
        words = []
        for part in patterns.parts.findall(text):
            if patterns.unspaced.match(part):
                characters = patterns.characters.findall(part)
                words.extend(map("".join, pairwise(characters)) if len(characters) > 1 else characters)
            else:
                words.append(part)
    if "+" in text or "#" in text:
        words.extend(_SIGNED.findall(text))
    return words


class _Patterns(NamedTuple):
    """How a folded text is cut.

    Attributes:
        parts: A run of characters of one kind: of scripts without spaces, of other scripts, or one emoji.
        unspaced: Whether a part is of the first kind.
        characters: The characters of such a part, each with its marks.
    """

    parts: re.Pattern[str]
    unspaced: re.Pattern[str]
    characters: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    """Make the patterns at their first use: Python's do not know of marks, so these are looked up one by one."""
    marks = _ranges(code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    unspaced = rf"(?:(?=[\w{marks}])[{_UNSPACED}][{marks}]*)"
    other = rf"(?:(?![{_UNSPACED}])[\w{marks}])"
    return _Patterns(
        re.compile(rf"{unspaced}+|{other}+|[{_EMOJI}]"),
        re.compile(rf"[{_UNSPACED}]"),
        re.compile(unspaced),
    )


def _ranges(codes: Iterable[int]) -> str:
    """Write rising codes as the ranges of a character class."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
