"""What the elements of the workbench's page do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..workbench.cases import label
from ..workbench.explaining import take
from . import panes
from .panel import as_coroutine
from .panes.hits import hit_key

if TYPE_CHECKING:
    from ..workbench.state import WorkbenchState
    from .hits import HitsTable
    from .view import TreeView


class PageActions:
    """The part of :class:`memwb.Workbench` that does what its page asks for.

    An element that sends ``{"do": "name", ...}`` is answered by ``_do_name(message)``, async or not. Each has its twin
    on the state, for a cell and for a script.
    """

    state: WorkbenchState
    _tab: str
    _why_open: bool
    _hits: HitsTable
    _low: TreeView

    def _draw(self) -> None:
        raise NotImplementedError

    def _act(self, message: dict[str, Any]) -> None:
        """Do what an element of the page asks for; an unknown message does nothing."""
        action = getattr(self, f"_do_{message['do']}", None)
        if action is None:
            return
        self.state.spawn(as_coroutine(action, message))

    def _do_call(self, message: dict[str, Any]) -> None:
        self.state.put(call=message["to"])

    def _do_why(self, _message: dict[str, Any]) -> None:
        self._why_open = not self._why_open
        self._draw()

    def _do_try(self, message: dict[str, Any]) -> None:
        for suggestion in self.state.preview.suggestions if self.state.preview else ():
            if suggestion.text == message["text"]:  # the one that the button named: a newer answer may list others
                self._why_open = False
                take(self.state, suggestion)
                if "edit" in suggestion.settings:  # shown where it is written from
                    self._tab = "entries"
                    self._draw()
                return

    def _do_other(self, message: dict[str, Any]) -> None:
        explanation = self.state.preview.explanation if self.state.preview else None
        others = explanation.others if explanation else ()
        if message["at"] < len(others):
            self.state.look_for(others[message["at"]], pause=0.0)

    def _do_label(self, message: dict[str, Any]) -> None:
        for hit in self.state.preview.hits if self.state.preview else ():
            if hit_key(hit) == message["key"]:
                label(self.state, hit, bool(message["on"]))
                self.state.look_for(hit, pause=0.0)  # it stays the chosen one, also where it was so by its label
                return

    def _do_find(self, message: dict[str, Any]) -> None:
        self.state.look_for(str(message.get("value", "")))

    def _do_unsort(self, _message: dict[str, Any]) -> None:
        self._hits.grid.sort = ""

    async def _do_tab(self, message: dict[str, Any]) -> None:
        if message["to"] in panes.TABS:
            self._tab = message["to"]
            self.state.caching.wanted = self._tab == "input"
            self._draw()
            if self.state.caching.wanted and not self.state.pending and self.state.preview is not None:
                await self.state.cache()
                self._draw()

    def _do_open(self, message: dict[str, Any]) -> None:
        self.state.switch(message["path"])

    def _do_copy(self, message: dict[str, Any]) -> None:
        preview = self.state.preview
        if preview is not None:
            trace = preview.trace
            text = json.dumps(self.state.live.as_sent(trace.messages), ensure_ascii=False, indent=2, default=repr)
            self._low.send({"copy": (trace.text or "") if message["what"] == "block" else text})
