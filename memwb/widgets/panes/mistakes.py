"""What stands below an editor: the mistake at its line, and what the callback printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._dom import Node, el

if TYPE_CHECKING:
    from ...workbench.editor import Slot


def mistakes(slot: Slot) -> Node:
    """Return the state of the editor's text in a line or two."""
    if slot.problem is not None:
        place = f"line {slot.problem.line}: " if slot.problem.line else ""
        lines: list[Node] = [el("div", "memwb-bad", f"{place}{slot.problem.message}")]
        if slot.problem.text:
            lines.append(el("pre", "", slot.problem.text))
        if slot.ahead:
            lines.append(el("small", "", "The last callback that was complete stays in force."))
    elif slot.ahead:
        lines = [el("small", "", "Complete: applied after a pause.")]
    elif slot.function is None:
        lines = [el("small", "", "The default is in force; change the text to replace it.")]
    else:
        lines = [el("small", "memwb-good", "In force.")]
    if slot.replaced:
        lines.append(el("button", "", "↶ bring back the text before the cell's", action={"do": "undo"}))
    if slot.printed:
        lines.append(el("pre", "", "\n".join(slot.printed)))
    return el("div", "", *lines, role="status")
