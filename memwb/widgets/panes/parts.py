"""What several panes share."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..._dom import Node, el
from ..._text import counted, seen_apart, visible

if TYPE_CHECKING:
    from ...memory import InjectionTrace

SHOWN_CHARACTERS = 20_000
"""Characters of one text that a pane shows; how many more there are is said."""


def head(title: str, *rest: Node | str | None) -> Node:
    """The bar above a pane."""
    return el("div", "memwb-head", el("h3", "", title), *rest)


def frame(bar: Node, *content: Node | str | None, label: str) -> Node:
    """A pane: its bar, and content that scrolls below it, from the top again when ``label`` is another."""
    inside = el("div", "memwb-scroll", *content, role="region", aria_label=label, data_key=label, tabindex="0")
    return el("div", "memwb-frame", bar, inside)


SHOWN_MESSAGES = 100
"""Messages of a conversation that a pane shows, the latest; how many earlier ones there are is said."""

FOLDED_CHARACTERS = 4_000
"""Characters of an earlier message that a pane shows."""


def earlier(messages: Sequence[Any]) -> Node | None:
    """Say how many messages come before those that are shown, if any do."""
    hidden = len(messages) - SHOWN_MESSAGES
    return el("div", "memwb-more", f"{counted(hidden, 'earlier message')}") if hidden > 0 else None


def cropped(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """Return at most ``limit`` characters of a text, and how many are not shown."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… {len(text) - limit:,} more characters"


def signed(text: str) -> list[Node | str]:
    """Return a text in which each hidden character tells its name."""
    return [
        el("span", "memwb-unseen", shown, title=name, role="img", aria_label=name) if name else shown
        for shown, name in seen_apart(text)
    ]


def failed_stores(trace: InjectionTrace) -> list[str]:
    """Say of each store that failed, in a sentence, how."""
    texts = (note.text for note in trace.notes if note.kind == "store failed")
    return [f"{text[0].upper()}{text[1:]}." for text in texts]


def as_json(value: Any) -> str:
    """Return a value as compact JSON for reading; what JSON has no form for is shown by its repr."""
    forms: tuple[Callable[[], str], ...] = (
        lambda: json.dumps(value, ensure_ascii=False, default=repr),
        lambda: repr(value),
    )
    for form in forms:
        try:
            return visible(form())
        except Exception:  # odd keys, cycles, numbers of a million digits, a repr of somebody's own: still a cell
            continue
    return f"a {type(value).__name__} that cannot be shown"


def block_text(block: dict[str, Any]) -> tuple[str, str]:
    """Return the kind of a content block and its text."""
    if "text" in block:
        return "text", str(block["text"])
    kind = next(iter(block), "empty")
    return kind, as_json(block.get(kind))
