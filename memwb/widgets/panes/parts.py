"""What several panes share."""

from __future__ import annotations

import json
from typing import Any

from ..._dom import Node, el
from ..._text import visible

SHOWN_CHARACTERS = 20_000
"""Characters of one text that a pane shows; how many more there are is said."""


def head(title: str, *rest: Node | str | None) -> Node:
    """The bar above a pane."""
    return el("div", "memwb-head", el("h3", "", title), *rest)


def frame(bar: Node, *content: Node | str | None, label: str, padded: bool = True) -> Node:
    """A pane: its bar, and content that scrolls below it."""
    inside = el(
        "div", "memwb-scroll" if padded else "memwb-scroll memwb-list", *content, role="region", aria_label=label
    )
    return el("div", "memwb-frame", bar, inside)


def cropped(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """Return at most ``limit`` characters of a text, and how many are not shown."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… {len(text) - limit:,} more characters"


def as_json(value: Any) -> str:
    """Return a value as compact JSON for reading; what JSON has no form for is shown by its repr."""
    return visible(json.dumps(value, ensure_ascii=False, default=repr))


def block_text(block: dict[str, Any]) -> tuple[str, str]:
    """Return the kind of a content block and its text."""
    if "text" in block:
        return "text", str(block["text"])
    kind = next(iter(block), "empty")
    return kind, as_json(block.get(kind))
