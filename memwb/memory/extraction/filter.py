"""Drops what is not to be extracted from messages; their sequence numbers stay with them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..messages import copied
from ..types import Message

INJECTED = "injected memory"
"""Stands among the dropped kinds for a block that the injection had put into the message."""


@dataclass(eq=False)
class Numbered:
    """A message in the buffer.

    Attributes:
        number: Its sequence number.
        message: The agent's own message, so that what its host takes out of it later is not extracted either.
        injected: The blocks that the injection had put into it.
    """

    number: int
    message: Message
    injected: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Dropped:
    """What the filter dropped of one message: kinds of blocks in their order, and whether nothing is left."""

    number: int
    kinds: tuple[str, ...]
    whole: bool


def filtered(buffered: Sequence[Numbered], exclude: Collection[str]) -> tuple[list[Numbered], list[Dropped]]:
    """Return copies of the messages without the excluded kinds of blocks, and what that dropped.

    A message that is left without any block is dropped whole.
    """
    kept: list[Numbered] = []
    dropped: list[Dropped] = []
    for item in buffered:
        blocks: list[dict[str, Any]] = []
        kinds: list[str] = []
        for block in item.message["content"]:
            kind = INJECTED if any(block is each for each in item.injected) else next(iter(block), "")
            if kind == INJECTED or kind in exclude:
                kinds.append(kind)
            else:
                blocks.append(copied(block))
        if blocks:
            message = {"role": item.message["role"], "content": blocks}
            if item.message.get("metadata") is not None:
                message["metadata"] = copied(item.message["metadata"])
            kept.append(Numbered(item.number, message))
        if kinds or not blocks:
            dropped.append(Dropped(item.number, tuple(kinds), not blocks))
    return kept, dropped
