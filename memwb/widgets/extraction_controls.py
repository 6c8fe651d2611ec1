"""The extraction panel's settings: core ipywidgets, which follow the state and change it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import Any

import ipywidgets

from ..memory.extraction.model_extractor import DEFAULT_SYSTEM_PROMPT
from ..workbench.extraction import ExtractionState

_OWN = ("stores' own", "own")  # a Dropdown takes None for no choice at all
_EVERY = (_OWN, ("every turn", 1), ("every 2 turns", 2), ("every 3 turns", 3), ("every 5 turns", 5))
_EXCLUDE = (
    _OWN,
    ("drop tools", ("toolUse", "toolResult")),
    ("drop nothing", ()),
    ("words alone", ("toolUse", "toolResult", "image", "document", "video", "reasoningContent", "guardContent")),
)
_REVIEW = (("I decide", True), ("written at once", False))
_WRITE_TO = (("copies", "copies"), ("the stores", "stores"))
_CHOICES: dict[str, tuple[str, Any, str]] = {
    "every": ("extract", _EVERY, "How often the messages that wait are read for facts"),
    "exclude": ("filter", _EXCLUDE, "Which content blocks are dropped before that"),
    "review": ("facts", _REVIEW, "Whether proposed facts wait for your decision before they are written"),
    "write_to": ("write to", _WRITE_TO, "Where accepted facts are written"),
}


class ExtractionControls:
    """The row of settings, the prompt's editor over the left column, and the two prompts to compare.

    Attributes:
        widgets: What the left column holds below the conversation.
        prompts: The two prompts with their button, for the tab that compares them.
    """

    def __init__(self, state: ExtractionState) -> None:
        self._state = state
        self._drawing = 0  # the thread that is drawing: what it sets is no change of the user's
        self._open = False
        self._shown: str | None = None  # the prompt that the editor was given last
        self._choices = {
            name: ipywidgets.Dropdown(options=options, description=label, tooltip=tip)
            for name, (label, options, tip) in _CHOICES.items()
        }
        self._edit = ipywidgets.Button(description="prompt", tooltip="Edit what the extractor is told to look for")
        row = ipywidgets.HBox([*self._choices.values(), self._edit])
        self._prompt = _box("prompt", "what the extractor is told to look for")
        apply = self._button("Use this prompt", self._apply)
        default = self._button("Default", self._default)
        self._editor = ipywidgets.VBox([self._prompt, ipywidgets.HBox([apply, default])])
        self.widgets = [self._editor, row]
        self._pair = (
            _box("A", "a prompt"),
            _box("B", "another prompt to compare with, such as: Keep only preferences."),
        )
        compare = self._button("Compare", self._compare)
        self.prompts = ipywidgets.VBox([ipywidgets.HBox(self._pair), compare])
        for widget, name in ((row, "settings"), (self._editor, "prompting"), (self.prompts, "pair")):
            widget.add_class(f"memwb-{name}")
        for choice in self._choices.values():
            choice.add_class("memwb-choice")
        self._edit.add_class("memwb-open")
        self._pair[0].value = state.settings.system_prompt or DEFAULT_SYSTEM_PROMPT
        self._edit.on_click(self._toggle)
        for name, choice in self._choices.items():
            choice.observe(lambda change, name=name: self._chosen(name, change["new"]), "value")
        self.draw()

    def draw(self) -> None:
        """Show the state's settings; what the state already has is not sent back to it."""
        self._drawing = threading.get_ident()
        try:
            for name, choice in self._choices.items():
                value, options = _shown(getattr(self._state.settings, name)), _CHOICES[name][1]
                if value not in [each for _, each in options]:
                    told = f"every {value} turns" if name == "every" else f"drop {', '.join(value)}"
                    options = (*options, (told, value))
                if choice.options != options:
                    choice.options = options
                choice.value = value
            prompt = self._state.settings.system_prompt
            self._edit.description = "prompt" if prompt is None else "prompt ●"
            if self._shown != (prompt or ""):  # never while a person types
                self._shown = prompt or ""
                self._prompt.value = prompt or DEFAULT_SYSTEM_PROMPT
            (self._editor.add_class if self._open else self._editor.remove_class)("memwb-shown")
            (self._edit.add_class if self._open else self._edit.remove_class)("mod-active")
        finally:
            self._drawing = 0

    def _button(self, label: str, action: Callable[[], Coroutine[Any, Any, Any]]) -> ipywidgets.Button:
        button = ipywidgets.Button(description=label)
        button.add_class("memwb-open")
        button.on_click(lambda _: self._state.spawn(action))
        return button

    def _chosen(self, name: str, value: Any) -> None:
        if self._drawing != threading.get_ident():
            self._state.spawn(lambda: self._state.set(**{name: None if value == _OWN[1] else value}))

    def _toggle(self, _button: Any) -> None:
        async def toggle() -> None:
            self._open = not self._open
            self.draw()
            if self._open:
                self._prompt.focus()

        self._state.spawn(toggle)

    async def _apply(self) -> None:
        text = self._prompt.value
        await self._state.set(system_prompt=None if text.strip() == DEFAULT_SYSTEM_PROMPT else text)

    async def _default(self) -> None:
        self._prompt.value = DEFAULT_SYSTEM_PROMPT
        await self._state.set(system_prompt=None)

    async def _compare(self) -> None:
        await self._state.compare(*(box.value for box in self._pair))


def _shown(setting: Any) -> Any:
    return _OWN[1] if setting is None else setting


def _box(label: str, hint: str) -> ipywidgets.Textarea:
    box = ipywidgets.Textarea(description=label, placeholder=hint)
    box.style.description_width = "auto"
    box.add_class("memwb-prompt")
    return box
