"""The settings and the editors: core ipywidgets, which follow the state and change it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import ipywidgets

from ..memory.settings import PLACEMENTS, TRIGGERS
from ..workbench.editor import NAMES
from ..workbench.meanings import MEANINGS
from ..workbench.refresh import PAUSE
from . import panes
from .completions import CALLBACKS
from .editor import CodeEditor
from .ready import ReadyBar
from .view import TreeView

if TYPE_CHECKING:
    from ..workbench import WorkbenchState
    from ..workbench.sides import Comparison

_PREDICATE = "predicate"
_MOST = 2**31 - 1  # a bound that the box asks for; max_entries has none


class Controls:
    """The row of settings and the editor that opens over the left column.

    Attributes:
        widgets: What the left column holds below the conversation.
    """

    def __init__(self, state: WorkbenchState) -> None:
        self._state = state
        self._drawing = 0  # the thread that is drawing: what it sets is no change of the user's
        self._open: str | None = None
        self._shown = dict.fromkeys(NAMES, -1)  # the version of each text that the editor shows
        self._explained = 0  # how often the settings in words were opened; 0 while they are closed
        self._times_explained = 0
        self._max_entries = ipywidgets.BoundedIntText(
            5, min=1, max=_MOST, description="max_entries", tooltip=MEANINGS["max_entries"]
        )
        self._trigger = ipywidgets.Dropdown(options=TRIGGERS, description="trigger", tooltip=MEANINGS["trigger"])
        self._placement = ipywidgets.Dropdown(
            options=PLACEMENTS, description="placement", tooltip=MEANINGS["placement"]
        )
        self._buttons = {name: ipywidgets.Button(description=f"edit {name}…", tooltip=MEANINGS[name]) for name in NAMES}
        self._explain = ipywidgets.Button(
            description="explain…", tooltip="Each setting in words, the stores that are searched, and timings"
        )
        self._compared: tuple[Any, Comparison] | None = None  # what it was made of, and the comparison
        self._words = TreeView(self._act)
        self._place = ipywidgets.VBox(
            [self._words]
        )  # shown and hidden by its class, which the view itself cannot change
        self._ready: ReadyBar | None = None
        self._code: CodeEditor | None = None  # made with the bar, when first opened: most workbenches do without
        self._mistake = TreeView(self._act)
        self._editor = ipywidgets.VBox([self._mistake])
        edits = ipywidgets.HBox(list(self._buttons.values()))
        row = ipywidgets.HBox([self._max_entries, self._trigger, self._placement, self._explain, edits])
        self.widgets = [self._editor, self._place, row]
        self._name_classes(row, edits)
        self._listen()
        self.draw()

    def _name_classes(self, row: ipywidgets.Widget, edits: ipywidgets.Widget) -> None:
        row.add_class("memwb-settings")
        edits.add_class("memwb-edits")
        self._max_entries.add_class("memwb-number")
        self._trigger.add_class("memwb-choice")
        self._placement.add_class("memwb-choice").add_class("memwb-place")
        for button in (*self._buttons.values(), self._explain):
            button.add_class("memwb-open")
        self._place.add_class("memwb-words-pane")
        self._mistake.add_class("memwb-mistake")
        self._editor.add_class("memwb-editor")

    def _listen(self) -> None:
        self._max_entries.observe(lambda change: self._put(max_entries=change["new"]), "value")
        self._trigger.observe(self._trigger_chosen, "value")
        self._placement.observe(lambda change: self._put(placement=change["new"]), "value")
        self._explain.on_click(lambda _: self._state.spawn(self._toggle_words))
        for name, button in self._buttons.items():
            button.on_click(lambda _, name=name: self._toggle(name))

    def draw(self) -> None:
        """Show the state's settings; what the state already has is not sent back to it."""
        settings = self._state.settings
        self._drawing = threading.get_ident()
        try:
            for control in (self._max_entries, self._trigger, self._placement):
                control.disabled = settings is None  # injection is off
            if settings is not None:
                self._max_entries.value = settings.max_entries
                self._placement.value = settings.placement
                self._draw_trigger(settings.trigger)
            self._draw_editor()
            self._draw_words()
        finally:
            self._drawing = 0

    def _draw_trigger(self, trigger: Any) -> None:
        options = TRIGGERS if isinstance(trigger, str) else (*TRIGGERS, _PREDICATE)
        if self._trigger.options != options:
            self._trigger.options = options
        self._trigger.value = trigger if isinstance(trigger, str) else _PREDICATE

    def _draw_editor(self) -> None:
        (self._editor.remove_class if self._open is None else self._editor.add_class)("memwb-shown")
        for name, button in self._buttons.items():
            slot = self._state.slots[name]
            mark = " ✗" if slot.problem else " ●" if slot.function is not None else "…"
            button.description = f"edit {name}{mark}"
            (button.add_class if name == self._open else button.remove_class)("mod-active")
        if self._code is not None:
            self._draw_code(self._code)
        if self._open is not None:
            if self._ready is not None:
                self._ready.draw(self._open)
            probed = self._state.review.probed if self._open == "format" else None
            found = self._state.review.findings(self._open)
            self._mistake.show(panes.mistakes(self._state.slots[self._open], found, probed))

    def _draw_code(self, code: CodeEditor) -> None:
        for name, slot in self._state.slots.items():
            if self._shown[name] != slot.version:  # never while a person types: the text may be newer here
                self._shown[name] = slot.version
                code.put(slot.source, name)
            if code.text(name) == slot.source:  # else the marks of the newer text follow
                doubtful = self._state.review.findings(name) if name == self._open else ()
                code.mark([one for one in (slot.problem, *doubtful) if one is not None], name)
        if self._open is not None:
            code.switch(self._open)

    def _draw_words(self) -> None:
        shown = self._explained > 0
        (self._place.add_class if shown else self._place.remove_class)("memwb-shown")
        (self._explain.add_class if shown else self._explain.remove_class)("mod-active")
        if shown:
            made_of, compared = self._compared or (None, None)
            still_true = compared if made_of == self._arms_now() else None
            self._words.show(panes.settings(self._state, self._explained, still_true))

    def _arms_now(self) -> Any:
        return self._state.revision, self._state.call, tuple(self._state.arms.pinned.values())

    async def _toggle_words(self) -> None:
        """Open the settings in words in the place of the conversation or the editor, or close them."""
        if self._explained:
            self._explained = 0
        else:
            self._times_explained += 1
            self._explained, self._open = self._times_explained, None
        self.draw()
        if not self._explained:
            self._explain.focus()

    def _toggle(self, name: str) -> None:
        self._open, self._explained = None if self._open == name else name, 0
        self._state.spawn(self._drawn)

    async def _drawn(self) -> None:
        if self._code is None:
            self._code, self._ready = self._made(), ReadyBar(self._state)
            self._editor.children = (self._ready, self._code, self._mistake)
        self.draw()
        if self._open is not None:
            self._code.focus()

    def _made(self) -> CodeEditor:
        """Return the editor of all three callbacks, a document each."""
        first, *others = NAMES
        code = CodeEditor(self._state.slots[first].source, self._typed, on_apply=self._applied, document=first)
        code.layout.height = "auto"
        for name in others:
            code.put(self._state.slots[name].source, name)
        for name in NAMES:
            code.complete(CALLBACKS[name], name)
        return code

    def _act(self, message: dict[str, Any]) -> None:
        name = self._open

        async def undo() -> None:
            if name is not None:
                self._state.undo(name)

        async def stores() -> None:
            self._state.put(stores=message["names"])

        async def pin() -> None:
            self._state.arms.pin(self._state.arms.free_name())

        async def compare() -> None:
            await self._state.settled()
            made_of = self._arms_now()
            self._compared = made_of, await self._state.arms.compare()
            self.draw()

        actions = {"undo": undo, "close": self._toggle_words, "stores": stores, "pin": pin, "compare": compare}
        if message["do"] in actions:
            self._state.spawn(actions[message["do"]])

    def _typed(self, name: str, source: str) -> None:
        async def take() -> None:
            if self._holds(name, source):
                self._state.type(name, source, pause=0.0)  # the editor has waited already

        self._state.spawn(take)

    def _applied(self, name: str, source: str) -> None:
        async def take() -> None:
            if self._holds(name, source):
                self._state.apply(name, source)

        self._state.spawn(take)

    def _holds(self, name: str, source: str) -> bool:
        """Whether the editor still has this text: a function from a cell may have come meanwhile, and it wins."""
        return self._code is not None and self._code.text(name) == source

    def _trigger_chosen(self, change: dict[str, Any]) -> None:
        if change["new"] != _PREDICATE:
            self._put(trigger=change["new"])

    def _is_drawing(self) -> bool:
        return self._drawing == threading.get_ident()

    def _put(self, **changes: Any) -> None:
        if self._is_drawing():
            return

        async def take() -> None:
            self._state.put(PAUSE if "max_entries" in changes else 0.0, **changes)

        self._state.spawn(take)
