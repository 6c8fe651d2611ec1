"""What to say where there is nothing: what is missing, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._dom import Node, el

if TYPE_CHECKING:
    from ...workbench import WorkbenchState


def empty(state: WorkbenchState) -> Node | None:
    """Return what is missing and what to do about it, or None when the stores hold entries."""
    preview = state.preview
    if preview is None or not preview.unwritten:
        return None
    reason = preview.unwritten
    reason = reason[0].upper() + reason[1:] if reason.startswith(("nothing ", "store ")) else reason
    write = el("code", "", "await store.add(...)")
    agents = ", or let an agent write: its add tool is off unless it is switched on."
    content: list[Node] = [
        el("p", "", el("strong", "", f"{reason}.")),
        el("p", "", "Write to it with ", write, agents),
    ]
    for neighbour in preview.neighbours:
        name = neighbour.path.name
        action = {"do": "open", "path": str(neighbour.path)}
        button = el("button", "", "Open", action=action, aria_label=f"Open {name}", title=str(neighbour.path))
        content.append(el("p", "", f"Beside it: {name} with {neighbour.holds} ", button))
    return el("div", "memwb-empty", *content)
