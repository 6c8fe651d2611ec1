"""What the editors of the three callbacks offer: the parts of their contexts, and the names that the code can see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Completion:
    """Something that can be typed next.

    Attributes:
        owner: What has it: a variable's name, or a kind of value that another completion's ``of`` names. "" for a name.
        name: What is offered.
        doc: A sentence about it.
        kind: ``attribute`` (behind ``.``), ``key`` (in ``[""]`` or ``.get("")``) or ``name``.
        of: The kind of value that it holds; what this has is then offered behind it, and behind a variable that got it.
        each: Whether it is a list of these.
    """

    owner: str
    name: str
    doc: str = ""
    kind: Literal["attribute", "key", "name"] = "attribute"
    of: str = ""
    each: bool = False


_MESSAGE = (
    Completion("message", "role", "'user' or 'assistant'.", "key"),
    Completion("message", "content", "Its blocks: dicts, each with one kind as its key.", "key", "block", True),
)
_BLOCK = tuple(
    Completion("block", name, doc, "key")
    for name, doc in {
        "text": "Plain text.",
        "toolUse": "A call of a tool: toolUseId, name, input.",
        "toolResult": "What a tool returned: toolUseId, status, content.",
        "image": "An image: format, source.",
        "document": "A document: format, name, source.",
        "video": "A video: format, source.",
        "reasoningContent": "What the model thought before it answered.",
        "citationsContent": "Text with its citations.",
        "guardContent": "Content for a guardrail.",
        "cachePoint": "A mark for the provider's cache.",
    }.items()
)
_CONVERSATION = (
    Completion("context", "messages", "A copy of the conversation before the model call.", of="message", each=True),
    *_MESSAGE,
    *_BLOCK,
)
_AGENT = (
    Completion("context", "state", "The agent's state, or None."),
    Completion("context", "agent", "The agent, or None."),
)
_ENTRIES = (
    Completion("context", "entries", "Copies of the entries after the cut, in their order.", of="entry", each=True),
    Completion("entry", "content", "The memory's text; markup in it is yours to escape."),
    Completion("entry", "store_name", "The name of the store that it comes from."),
    Completion("entry", "metadata", "What was stored with it, a dict or None.", of="metadata"),
    Completion("entry", "id", "The record's id, None where the store gives none."),
    Completion("metadata", "_relevanceScore", "How well it matched, by the store's own measure.", "key"),
)

CALLBACKS: dict[str, tuple[Completion, ...]] = {
    "query": _CONVERSATION,
    "format": _ENTRIES,
    "trigger": (*_CONVERSATION, *_AGENT),
}
"""For each callback: what its context holds, down to the blocks of a message and the fields of an entry."""


def names(known: Iterable[str]) -> tuple[Completion, ...]:
    """Return completions for the names that code can see, without those that begin with an underscore."""
    return tuple(Completion("", name, kind="name") for name in sorted(known) if not name.startswith("_"))
