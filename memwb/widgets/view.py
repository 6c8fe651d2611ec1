"""The one widget of memwb's own here: a read-only view of a tree of elements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from .._dom import Node

STATIC = Path(__file__).parent / "static"


class TreeView(anywidget.AnyWidget):
    """Shows a :class:`~memwb._dom.Node` tree as texts and elements; what it shows cannot run.

    Args:
        on_action: Called with the message of an element that was clicked, typed into or moved.
    """

    # As texts: anywidget watches a path for changes, and so would keep every view that was ever made alive.
    _esm = (STATIC / "view.js").read_text("utf-8")
    _css = "\n".join((STATIC / name).read_text("utf-8") for name in ("memwb.css", "panels.css"))
    tree = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, on_action: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self._on_action = on_action
        self.on_msg(self._received)
        self.add_class("memwb-pane")

    def show(self, node: Node) -> None:
        """Replace the tree; an equal one is not sent again."""
        self.set_trait("tree", node.to_json())

    def _received(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if isinstance(message, dict) and "do" in message:
            self._on_action(message)

    def __repr__(self) -> str:
        return "TreeView()"
