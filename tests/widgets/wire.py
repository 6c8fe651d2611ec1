"""The page's end of a widget's wire: what the kernel sends is kept, and what a page would send can be sent."""

from __future__ import annotations

import copy
import json
from typing import Any

from ipywidgets import Widget


class Wire:
    """Listens to a widget, and talks to it as its page does.

    Attributes:
        sent: The messages since the wire was attached, in order: ``{"method": "update", "state": ...}`` or custom ones.
    """

    def __init__(self, widget: Widget) -> None:
        self.widget = widget
        self.sent: list[dict[str, Any]] = []
        comm = widget.comm
        comm.send = lambda data=None, metadata=None, buffers=None: self.sent.append(copy.deepcopy(data))
        comm.kernel = True  # a comm without one sends nothing

    def state(self) -> dict[str, Any]:
        """What a page that opens now is given."""
        return self.widget.get_state()

    def updates(self, trait: str) -> list[Any]:
        """The values of a trait that were sent, echoes left out."""
        updates = [data["state"] for data in self.sent if data["method"] == "update"]
        return [state[trait] for state in updates if trait in state]

    def customs(self) -> list[Any]:
        """The custom messages that were sent."""
        return [data["content"] for data in self.sent if data["method"] == "custom"]

    def bytes(self) -> int:
        """The size of all that was sent, as JSON."""
        return sum(len(json.dumps(data, ensure_ascii=False).encode()) for data in self.sent)

    def put(self, **state: Any) -> None:
        """Set traits, as the page does by ``save_changes``."""
        self._arrive({"method": "update", "state": state, "buffer_paths": []})

    def say(self, content: Any) -> None:
        """Send a custom message."""
        self._arrive({"method": "custom", "content": content})

    def _arrive(self, data: dict[str, Any]) -> None:
        self.widget._handle_msg({"content": {"data": data}, "buffers": []})
