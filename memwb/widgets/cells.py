"""Values as cells: what is sent to the page for a table, as text that is cut at whole characters."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from .._text import visible

CUT = 160
"""Characters of a cell that are sent with its row; the whole of it is fetched when it is opened."""

PIECE = 50_000
"""Characters of a whole cell that are sent at a time."""

MISSING: Any = object()
"""Stands for a value that a row does not have, where None is a value; it shows nothing."""

Cell = str | dict[str, Any] | None
"""A cell on the wire: a text; None for nothing; or t: text, s: parts, q: quiet text, b: bar, m: characters left out.

A part is a text and how it is set: 0 as it is, 1 marked, 2 marked faintly, 3 as good news, 4 as a warning."""

_JOINING = ("Mn", "Me", "Mc")
_JOINER = "\u200d"


@dataclass(frozen=True)
class Marked:
    """A text with some of its words marked.

    Attributes:
        text: The text.
        words: The words to mark, in lower case.
        weak: Whether they say little, and are marked less.
    """

    text: str
    words: Collection[str] = ()
    weak: bool = False


@dataclass(frozen=True)
class Flags:
    """Short remarks beside each other, each good news or a warning."""

    good: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bar:
    """A number with a bar beside it, ``share`` (0 to 1) of its column wide."""

    value: float | None
    share: float = 0.0


def cell(value: Any, cut: int = CUT) -> Cell:
    """Return a value as a cell. Nothing, None, an empty text and the text "None" can be told apart.

    Args:
        value: Any value.
        cut: The most characters of its text that are sent.
    """
    if value is MISSING:
        return None
    if isinstance(value, Marked):
        return _marked(value, cut)
    if isinstance(value, Flags):
        parts = [*([visible(text), 3] for text in value.good), *([visible(text), 4] for text in value.warnings)]
        return {"s": parts} if parts else None
    if isinstance(value, Bar):
        return (
            None if value.value is None else {"t": f"{value.value:g}", "b": round(min(1.0, max(0.0, value.share)), 3)}
        )
    if value is None or value == "":
        return {"q": "None" if value is None else "empty text"}
    shown, left = clipped(text_of(value), cut)
    return {"t": visible(shown), "m": left} if left else visible(shown)


def text_of(value: Any) -> str:
    """Return the whole text of a value: a text as it is, lists and dicts as JSON on one line."""
    if isinstance(value, str):
        return value
    if isinstance(value, Marked):
        return value.text
    if isinstance(value, Flags):
        return " ".join([*value.good, *value.warnings])
    if isinstance(value, Bar):
        return "" if value.value is None else f"{value.value:g}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, date):
        return value.isoformat()
    if value is None or value is MISSING:
        return "" if value is MISSING else "None"
    forms: tuple[Callable[[Any], str], ...] = (str,)
    if isinstance(value, dict | list | tuple):
        forms = (lambda value: json.dumps(value, ensure_ascii=False, default=str), repr)
    for form in forms:
        try:
            return form(value)
        except Exception:  # keys that are no texts, a list inside itself, a number of many digits: still a cell
            continue
    return f"a {type(value).__name__} that cannot be shown"


def piece(text: str, offset: int, length: int = PIECE) -> tuple[str, int]:
    """Return a piece of a whole cell as it is shown, and where the next one begins."""
    shown, _ = clipped(text[offset : offset + length + 64], length)
    return visible(shown), offset + len(shown)


def clipped(text: str, length: int) -> tuple[str, int]:
    """Return at most ``length`` characters, and how many more there are. No visible character is cut in two.

    A letter stays with its accents, an emoji with its skin tone and with what is joined to it, a flag with both its
    letters, and the halves of a surrogate pair together. A run of more than ``length`` such parts is cut anyhow.
    """
    if len(text) <= length:
        return text, 0
    end = length
    while end > 0 and _joined(text, end):
        end -= 1
    end = end or length
    return text[:end], len(text) - end


def _joined(text: str, at: int) -> bool:
    """Whether the characters on both sides of a place belong together."""
    before, after = text[at - 1], text[at]
    if (before, after) == ("\r", "\n") or _JOINER in (before, after):
        return True
    if (
        unicodedata.category(after) in _JOINING
        or "\ufe00" <= after <= "\ufe0f"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
    ):
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    return _is_flag(before) and _is_flag(after) and _flags_before(text, at) % 2 == 1


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    start = at
    while start and _is_flag(text[start - 1]):
        start -= 1
    return at - start


def _marked(value: Marked, cut: int) -> Cell:
    shown, left = clipped(value.text, cut)
    wanted = set(value.words)
    parts: list[list[Any]] = []
    at = 0
    for word in re.finditer(r"\w+", shown) if wanted else ():
        if word.group().lower() in wanted:
            if word.start() > at:
                parts.append([visible(shown[at : word.start()]), 0])
            parts.append([visible(word.group()), 2 if value.weak else 1])
            at = word.end()
    if not parts:
        return cell(value.text, cut)
    if at < len(shown):
        parts.append([visible(shown[at:]), 0])
    return {"s": parts, "m": left} if left else {"s": parts}
