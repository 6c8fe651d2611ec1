"""Remembers which block was injected into which message, so that it is never extracted as if somebody had said it."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..messages import latest_index
from ..types import Message

REMEMBERED = 1_000
"""So many injections a manager remembers."""


@dataclass(frozen=True, eq=False)
class _Fold:
    """One injection: the very block, its text, and what the message held before it was folded in."""

    number: int
    block: dict[str, Any]
    text: str
    before: list[Any]


class Folds:
    """The latest injections of a manager.

    A host may keep a folded copy in its history instead of the user's own message. What was injected is told from what
    was said by what was folded where, never by how it looks: a user may well write ``<memory>``.
    """

    def __init__(self) -> None:
        self._folds: deque[_Fold] = deque()
        self._by_text: defaultdict[str, list[_Fold]] = defaultdict(list)
        self._count = 0
        self._lock = threading.Lock()

    def remember(self, messages: Sequence[Message], folded: Sequence[Message]) -> None:
        """Note the block that ``folded`` has beyond ``messages``."""
        at = latest_index(messages, "user")
        if at is None:
            return
        said = set(map(id, messages[at]["content"]))
        block = next(block for block in folded[at]["content"] if id(block) not in said)
        before = [_sign(block) for block in messages[at]["content"]]
        with self._lock:
            self._count += 1
            fold = _Fold(self._count, block, block["text"], before)
            self._folds.append(fold)
            self._by_text[fold.text].append(fold)
            if len(self._folds) > REMEMBERED:
                self._forget(self._folds.popleft())

    def _forget(self, fold: _Fold) -> None:
        folds = self._by_text[fold.text]
        folds.remove(fold)
        if not folds:
            del self._by_text[fold.text]

    def found_in(self, message: Message) -> list[dict[str, Any]]:
        """Return the injected blocks of a message, the very ones, those of repeated injections included.

        A block counts when it is the one that was folded in, or, in a copy of the message, when it has that block's
        text and the other blocks hold those of the message before, in their order: texts by their words, others by
        their kind.
        """
        if not self._folds:
            return []
        content: list[dict[str, Any]] = list(message["content"])
        with self._lock:
            texts = {block["text"] for block in content if isinstance(block.get("text"), str)}
            folds = [fold for text in texts for fold in self._by_text.get(text, ())]
        found: list[dict[str, Any]] = []
        # The latest first: it may have gone into a message that an earlier one had changed.
        for fold in sorted(folds, key=lambda fold: fold.number, reverse=True):
            at = _place(fold, content)
            if at is not None:
                found.append(content.pop(at))
        return found


def _place(fold: _Fold, content: list[dict[str, Any]]) -> int | None:
    for at, block in enumerate(content):
        if block is fold.block:
            return at
    for at, block in enumerate(content):
        if block.get("text") == fold.text and _holds(content[:at] + content[at + 1 :], fold.before):
            return at
    return None


def _holds(blocks: list[dict[str, Any]], before: list[Any]) -> bool:
    """Whether ``blocks`` holds what the message held before, in its order."""
    rest = map(_sign, blocks)
    return all(any(sign == each for each in rest) for sign in before)


def _sign(block: dict[str, Any]) -> Any:
    """Return what a block is recognised by, without keeping images and documents in memory."""
    return block["text"] if "text" in block else tuple(block)
