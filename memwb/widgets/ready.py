"""The bar above the code editor: ready callbacks by name, and hostile entries for the format."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import ipywidgets

from ..workbench.gallery import CHOICES

if TYPE_CHECKING:
    from ..workbench import WorkbenchState

_OWN = "your own code"


class ReadyBar(ipywidgets.HBox):
    """Offers the ready callbacks for the text that is open, and shows which of them is in force."""

    def __init__(self, state: WorkbenchState) -> None:
        self._state, self._name = state, ""
        self._drawing = 0  # the thread that is drawing: what it sets is no choice of the user's
        self._choice = ipywidgets.Dropdown(description="ready", tooltip="Ready code, and filters for a format's text")
        self._probe = ipywidgets.Button(
            description="probe", tooltip="Render hostile entries: those that try to get out of their place in the text"
        )
        self._probe.add_class("memwb-open")
        super().__init__([self._choice, self._probe])
        self.add_class("memwb-ready")
        self._choice.observe(self._chosen, "value")
        self._probe.on_click(lambda _: state.spawn(state.review.probe))

    def draw(self, name: str) -> None:
        """Show what is in force for the callback that is open; what a person wrote is no ready one."""
        self._name = name
        slot, choices = self._state.slots[name], CHOICES[name]
        chosen = next((key for key, ready in choices.items() if ready is slot.function and not slot.ahead), _OWN)
        self._drawing = threading.get_ident()
        try:
            options = (*choices, _OWN) if chosen == _OWN else tuple(choices)
            if self._choice.options != options:
                self._choice.options = options
            self._choice.value = chosen
        finally:
            self._drawing = 0
        self._probe.layout.display = "" if name == "format" else "none"

    def _chosen(self, change: dict[str, Any]) -> None:
        name, choice = self._name, change["new"]
        if self._drawing == threading.get_ident() or choice not in CHOICES.get(name, ()):
            return

        async def take() -> None:
            try:
                await self._state.choose(name, choice)
            finally:
                self.draw(self._name)  # a choice that was refused is not shown

        self._state.spawn(take)
