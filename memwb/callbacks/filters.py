"""Filters of entries, to combine with a format and with one another: :class:`~memwb.callbacks.Filtered` does it."""

from __future__ import annotations

from contextvars import ContextVar

from ..memory.types import InjectionQueryContext, MemoryEntry

said: ContextVar[list[str]] = ContextVar("said")
"""What the conversation of the present model call says: a text for each message, kept by :func:`remember`.

The query and the format of one call run in one context of Python's, those of two calls at the same time in two: so
agents that share a manager do not mix up their conversations.
"""


def score_floor(entries: list[MemoryEntry], least: float = 2) -> list[MemoryEntry]:
    """Leave out entries with a score below this, where more is better; those without a score stay."""
    kept = []
    for entry in entries:
        score = (entry.metadata or {}).get("_relevanceScore")
        if score is None or score >= least:
            kept.append(entry)
    return kept


def no_duplicates(entries: list[MemoryEntry]) -> list[MemoryEntry]:
    """Leave out entries that say what an earlier one says, of any store; case and spaces aside."""
    kept = []
    known = set()
    for entry in entries:
        content = " ".join(entry.content.casefold().split())
        if content not in known:
            known.add(content)
            kept.append(entry)
    return kept


def not_said(entries: list[MemoryEntry]) -> list[MemoryEntry]:
    """Leave out entries whose words a message of the conversation holds in the same order, case aside."""
    import re

    from memwb.callbacks import said

    texts = said.get(None)
    if texts is None:
        raise LookupError("not_said needs a query that remembers the conversation: remember(context)")
    heard = [" ".join(["", *re.findall(r"\w+", text.casefold()), ""]) for text in texts]
    kept = []
    for entry in entries:
        words = re.findall(r"\w+", entry.content.casefold())
        wanted = " ".join(["", *words, ""])
        if not words or not any(wanted in text for text in heard):
            kept.append(entry)
    return kept


def remember(context: InjectionQueryContext) -> None:
    """Keep what the conversation says, for the filter not_said in the format of the same model call."""
    from memwb.callbacks import said

    said.set(
        ["\n".join(block["text"] for block in message["content"] if "text" in block) for message in context.messages]
    )
