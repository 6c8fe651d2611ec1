"""A page as data: a tree of elements that is drawn in two ways and cannot be broken by what it shows.

The widgets send a tree to the browser, where every text is set as text; a page without widgets gets the same tree as
escaped HTML. Memory text is untrusted, so there is no way to put markup into a tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

from ._text import visible

TAGS = frozenset(
    "div span p ul ol li table thead tbody tr th td pre code strong em mark small h3 h4 button section details summary "
    "input select option kbd label textarea del ins svg line circle polyline text".split()
)
_VOID = frozenset({"input"})
_ATTRIBUTES = frozenset(
    "role tabindex title colspan aria-label aria-selected aria-sort aria-pressed aria-live aria-valuenow aria-valuemin "
    "aria-valuemax aria-orientation aria-current aria-expanded aria-controls aria-disabled aria-hidden aria-invalid "
    "scope open disabled selected type value placeholder style-width data-key data-link data-revision data-view "
    "data-field data-take rows spellcheck viewBox x y x1 x2 y1 y2 cx cy r points text-anchor".split()
)


@dataclass(init=False)  # not frozen: a page has thousands of nodes, and frozen fields take twice as long to set
class Node:
    """One element: its tag, class names, attributes, children (nodes and texts) and the message that a click sends.

    It is not changed once it is made.

    Raises:
        ValueError: An element or an attribute that a page of memwb may not hold.
    """

    tag: str
    classes: str = ""
    children: tuple[Node | str, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)
    action: dict[str, Any] | None = None

    def __init__(
        self,
        tag: str,
        classes: str = "",
        children: tuple[Node | str, ...] = (),
        attributes: dict[str, str] | None = None,
        action: dict[str, Any] | None = None,
    ) -> None:
        if tag not in TAGS:
            raise ValueError(f"{tag!r} is no element that a page of memwb may hold; they are {sorted(TAGS)}.")
        if attributes and not attributes.keys() <= _ATTRIBUTES:
            unknown = sorted(attributes.keys() - _ATTRIBUTES)
            raise ValueError(f"{unknown} are no attributes that a page of memwb may set.")
        self.tag = tag
        self.classes = classes
        self.children = children
        self.attributes = attributes or {}
        self.action = action

    def to_json(self) -> dict[str, Any]:
        """Return the tree in the form that the browser draws; texts have their hidden characters made visible."""
        data: dict[str, Any] = {"t": self.tag}
        if self.classes:
            data["c"] = self.classes
        if self.attributes:
            shown = sendable if self.tag == "textarea" else visible  # what is written is sent back: as it is
            data["a"] = {key: shown(value) for key, value in self.attributes.items()}
        if self.action is not None:
            data["m"] = {key: sendable(value) for key, value in self.action.items()}
        if self.children:
            data["k"] = [visible(child) if isinstance(child, str) else child.to_json() for child in self.children]
        return data

    def to_html(self) -> str:
        """Return the tree as escaped HTML, without the actions."""
        parts: list[str] = []
        self._write(parts)
        return "".join(parts)

    def _write(self, parts: list[str]) -> None:
        tag, children = self.tag, self.children
        begin = f'<{tag} class="{escape(self.classes)}"' if self.classes else f"<{tag}"
        if self.attributes:
            for key, value in self.attributes.items():
                if not key.startswith(("data-", "style-")) and key != "tabindex":
                    begin += f' {key}="{escape(visible(value))}"'
        if tag in _VOID:
            parts.append(f"{begin}>")
            return
        if len(children) == 1 and isinstance(children[0], str):  # as most elements have
            parts.append(f"{begin}>{escape(visible(children[0]))}</{tag}>")
            return
        parts.append(f"{begin}>")
        for child in children:
            if isinstance(child, str):
                parts.append(escape(visible(child)))
            else:
                child._write(parts)
        parts.append(f"</{tag}>")

    def text(self) -> str:
        """Return the tree's text, without any markup."""
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


def sendable(value: Any) -> Any:
    """Replace lone surrogates, which JSON cannot carry to a page; what has some cannot be asked about by its name."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def el(
    tag: str, classes: str = "", *children: Node | str | None, action: dict[str, Any] | None = None, **attributes: Any
) -> Node:
    """Make an element; None children and None attributes are left out; ``aria_label=`` becomes ``aria-label``."""
    named = attributes and {key.replace("_", "-"): str(value) for key, value in attributes.items() if value is not None}
    kept: tuple[Any, ...] = children
    if len(kept) != 1 or kept[0] is None:  # most elements hold one text
        kept = tuple([child for child in kept if child is not None])
    return Node(tag, classes, kept, named, action)
