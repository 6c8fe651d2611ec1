"""Finding the JSON objects that can be read in a text that is none as a whole, in time that grows with its length."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_NEXT = re.compile(r"[^\s\[\],]")
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)

DEEPEST = 400
"""Levels that an object has at most: deeper ones could not be written, and Python's parser gives up on them."""


class Fragment(NamedTuple):
    """A piece of a text: an object that was read, or None for what could not be.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        value: The object, None for what could not be read.
    """

    start: int
    end: int
    value: dict[str, Any] | None


def fragments(text: str) -> Iterator[Fragment]:
    """Give what a text holds in its order: each object at its outermost, and each stretch that cannot be read.

    Inside of what cannot be read only objects with a ``content`` are taken for such; the others belong to the stretch.
    White space, and the brackets and commas of lists, are no fragments; a list that is cut before its first object is.
    """
    return _Reader(text).fragments()


class _Text(str):
    """A text that counts no lines: Python's parser would, from the beginning, for each mistake that it meets."""

    def count(self, *_: Any) -> int:
        return 0

    def rfind(self, *_: Any) -> int:
        return 0


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = _Text(text)
        self._decoder = json.JSONDecoder(strict=False)
        self._dead: set[int] = set()  # braces of objects that a mistake, or the end, has cut short

    def fragments(self) -> Iterator[Fragment]:
        text, position = self._text, 0
        lost: int | None = None
        while (match := _NEXT.search(text, position)) is not None:
            start = match.start()
            value, end = self._read(start) if text[start] == "{" else (None, start)
            if value is not None and (lost is None or "content" in value):
                if lost is not None:
                    yield Fragment(lost, start, None)
                    lost = None
                yield Fragment(start, end, value)
                position = end
                continue
            if lost is None:
                lost = start
            position = end if value is not None else self._after(start)
        if lost is None and _opens(text[position:]):
            lost = position
        if lost is not None:
            yield Fragment(lost, len(text), None)

    def _read(self, start: int) -> tuple[dict[str, Any] | None, int]:
        """Return the object that begins here and its end; None where it cannot be read."""
        if start in self._dead:
            return None, start
        try:
            return self._decoder.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            self._dead.update(self._open_at(start, error.pos))
        except RecursionError:
            self._dead.update(self._too_deep(start))
        self._dead.add(start)
        return None, start

    def _after(self, start: int) -> int:
        """Return where the next object may begin."""
        brace = self._text.find("{", start + 1)
        return len(self._text) if brace < 0 else brace

    def _open_at(self, start: int, mistake: int) -> list[int]:
        """Return the braces that are open at a mistake: the objects that end with it, too."""
        opened: list[int] = []
        for match in _BRACKET.finditer(self._text, start, mistake):
            if match[0] in "{[":
                opened.append(match.start())
            elif match[0] in "}]" and opened:
                opened.pop()
        return opened

    def _too_deep(self, start: int) -> list[int]:
        """Return the braces of objects that are deeper than can be read, or never closed."""
        deep: list[int] = []
        opened: list[tuple[int, int]] = []  # a brace, and the levels met inside so far
        for match in _BRACKET.finditer(self._text, start):
            if match[0] in "{[":
                opened.append((match.start(), 1))
            elif match[0] in "}]":
                brace, levels = opened.pop()
                if levels > DEEPEST:
                    deep.append(brace)
                if not opened:
                    break
                outer, most = opened[-1]
                opened[-1] = outer, max(most, levels + 1)
        return deep + [brace for brace, _ in opened]


def _opens(rest: str) -> bool:
    """Whether what follows the last object begins a list that has no end."""
    opened = 0
    for sign in rest:
        if sign == "[":
            opened += 1
        elif sign == "]" and opened:
            opened -= 1
    return opened > 0
