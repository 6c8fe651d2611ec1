"""Panes as a person reads them: a line for each row, buttons in brackets."""

from __future__ import annotations

from memwb._dom import Node
from memwb.widgets import panes
from memwb.widgets.hits import HitsTable

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


def cell_text(cell):
    """What a cell of a table says."""
    if not isinstance(cell, dict):
        return cell or ""
    parts = "".join(text if how < 3 else f"{text} " for text, how in cell.get("s", ()))
    left = f"… +{cell['m']:,}" if "m" in cell else ""
    return (cell.get("q", "") + cell.get("t", "") + parts + left).strip()


def hit_rows(grid):
    """The rows of the table of hits, the line that cuts them among them; "~" in front of those that are dimmed."""
    rows = [
        "~" * (kind == "dim") + " ".join(filter(None, map(cell_text, cells))) for _, kind, *cells in grid.sheet["rows"]
    ]
    if grid.cut and not grid.sheet["sort"]:
        rows.insert(grid.cut["at"], grid.cut["label"])
    return rows


def hits_table(state):
    """The rows of the table of hits, as it shows this state."""
    table = HitsTable(state, lambda: None)
    table.draw()
    rows = hit_rows(table.grid)
    table.grid.close()
    return rows


def read_hits(state):
    """The whole pane of the hits: the bar with what went wrong, and the rows of the table."""
    return "\n".join([read(panes.hits(state)), *hits_table(state)])


def walk(node):
    """Every element of a pane, the outer ones first."""
    yield node
    for child in node.children:
        if isinstance(child, Node):
            yield from walk(child)


def button(node, text):
    """The message that the button with this text sends."""
    return next(each.action for each in walk(node) if each.tag == "button" and each.text() == text)
