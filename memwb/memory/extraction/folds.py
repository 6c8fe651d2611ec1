"""Remembers which block was injected into which message, so that it is never extracted as if somebody had said it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..messages import latest_index
from ..types import Message

REMEMBERED = 1_000
"""So many injections a manager remembers."""


@dataclass(frozen=True)
class _Fold:
    """One injection: the very block, and the blocks of the message before it was folded in."""

    block: dict[str, Any]
    before: list[dict[str, Any]]


class Folds:
    """The latest injections of a manager.

    A host may keep a folded copy in its history instead of the user's own message. What was injected is told from what
    was said by what was folded where, never by how it looks: a user may well write ``<memory>``.
    """

    def __init__(self) -> None:
        self._folds: deque[_Fold] = deque(maxlen=REMEMBERED)
        self._lock = threading.Lock()

    def remember(self, messages: Sequence[Message], folded: Sequence[Message]) -> None:
        """Note the block that ``folded`` has beyond ``messages``."""
        at = latest_index(messages, "user")
        if at is None:
            return
        before: list[dict[str, Any]] = list(messages[at]["content"])
        said = set(map(id, before))
        for block in folded[at]["content"]:
            if id(block) not in said:
                with self._lock:
                    self._folds.append(_Fold(block, before))

    def found_in(self, message: Message) -> list[dict[str, Any]]:
        """Return the injected blocks of a message, the very ones, those of repeated injections included.

        A block counts when it is the one that was folded in, or, in a copy of the message, when it has that block's
        text and the other blocks hold those of the message before, in their order.
        """
        with self._lock:
            folds = tuple(self._folds)
        content: list[dict[str, Any]] = list(message["content"])
        found: list[dict[str, Any]] = []
        for fold in reversed(folds):  # a later injection may have gone into a message that an earlier one had changed
            at = _place(fold, content)
            if at is not None:
                found.append(content.pop(at))
        return found


def _place(fold: _Fold, content: list[dict[str, Any]]) -> int | None:
    for at, block in enumerate(content):
        if block is fold.block:
            return at
    for at, block in enumerate(content):
        if block == fold.block and _holds(content[:at] + content[at + 1 :], fold.before):
            return at
    return None


def _holds(blocks: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> bool:
    """Whether ``blocks`` holds the blocks of ``wanted`` in their order."""
    rest = iter(blocks)
    return all(any(block == each for block in rest) for each in wanted)
