"""Panes as a person reads them: a line for each row, buttons in brackets."""

from __future__ import annotations

from memwb._dom import Node

_BLOCKS = frozenset(
    {"div", "p", "ul", "ol", "li", "table", "thead", "tbody", "tr", "pre", "section", "details", "summary"}
)


def read(node):
    """The lines of a pane, one string; blank ones left out."""
    lines = [""]
    _read(node, lines)
    return "\n".join(line for line in (" ".join(line.split()) for line in lines) if line)


def _read(node, lines):
    if isinstance(node, str):
        lines[-1] += node
        return
    block = node.tag in _BLOCKS and not _inline(node)
    if block:
        lines.append("")
    before, after = {"button": ("[", "]"), "td": ("", " | "), "th": ("", " | ")}.get(node.tag, ("", " "))
    lines[-1] += before
    if node.tag == "input":
        lines[-1] += f"<{node.attributes.get('value') or node.attributes.get('placeholder', '')}>"
    for child in node.children:
        _read(child, lines)
    lines[-1] += after
    if block:
        lines.append("")


def _inline(node):
    return bool({"memwb-role", "memwb-tabs"} & set(node.classes.split()))


def walk(node):
    """Every element of a pane, the outer ones first."""
    yield node
    for child in node.children:
        if isinstance(child, Node):
            yield from walk(child)


def button(node, text):
    """The message that the button with this text sends."""
    return next(each.action for each in walk(node) if each.tag == "button" and each.text() == text)
