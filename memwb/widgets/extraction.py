"""The extraction panel: memories write themselves, step by step, under a person's eyes."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Self

import ipywidgets

from ..workbench.extraction import ExtractionState
from .drawing import Drawing
from .extraction_controls import ExtractionControls
from .panel import Panel
from .panes.extraction import extraction_stores, extraction_timeline, extraction_top
from .panes.extraction_results import TABS, extraction_results, extraction_tabs
from .view import TreeView

if TYPE_CHECKING:
    from ..memory.extraction.batches import ExtractionStatus
    from ..testing import ReplayStep
    from ..workbench import WorkbenchState
    from ..workbench.comparison import PromptComparison
    from ..workbench.facts import Fact


class ExtractionPanel(Panel):
    """A conversation goes through the stores' extraction, message by message.

    It shows what waits in the buffer, what the filter dropped, which trigger fires when, what the extractor was asked
    and answered, what was stored, known already or failed, how far each store is, and what a flush would still save.
    Proposed facts are accepted, edited or rejected before they are written, and two prompts are compared on the same
    messages. Written is to copies of the stores in memory unless ``write_to="stores"`` asks for the stores themselves.

    Args:
        bench: The workbench's state: its stores, its injection and its conversation.
        messages: Another conversation: message dicts, a text, or texts that take turns.
        model: Anything with ``async complete(system, messages) -> str``, for extractors without a model of their own.
            Default: the agent's, where the source is one, else a rule that needs no key.
        **settings: ``system_prompt``, ``every`` (turns), ``exclude`` (kinds of blocks), ``review`` (facts wait for a
            decision, the default) and ``write_to`` (``"copies"`` or ``"stores"``).

    Raises:
        ConfigError: A message or a setting cannot be taken.
    """

    state: ExtractionState

    def __init__(self, bench: WorkbenchState, messages: Any = None, model: Any = None, **settings: Any) -> None:
        state = ExtractionState(bench, messages, model, **settings)
        self._drawing = Drawing(self._draw_now, waits=lambda: bool(state.busy))  # a save has many events at once
        self._tab = "facts"
        self._top, self._talk, self._stores, self._tabs, self._results = (TreeView(self._act) for _ in range(5))
        self._controls = ExtractionControls(state)
        left = ipywidgets.VBox([self._talk, *self._controls.widgets])
        lower = ipywidgets.VBox([self._tabs, self._controls.prompts, self._results])
        right = ipywidgets.VBox([self._stores, lower])
        body = ipywidgets.HBox([left, right])
        for widget, name in (
            (self._top, "top"),
            (self._talk, "talk"),
            (self._stores, "stores"),
            (self._tabs, "bar"),
            (self._results, "results"),
            (lower, "low"),
            (left, "left"),
            (right, "right"),
            (body, "body"),
        ):
            widget.add_class(f"memwb-{name}")
        super().__init__(state, [self._top, body])
        self.add_class("memwb-extracting")

    def __await__(self) -> Generator[Any, None, Self]:
        yield from super().__await__()
        self._drawing.flush()
        return self

    def close(self) -> None:
        """Close the widget and everything that it made, and cut off what still runs."""
        if not self._closed:  # ipywidgets closes one whose __init__ failed, too
            self._drawing.cancel()
        super().close()

    # -- in a cell ----------------------------------------------------------------------------------------------

    async def step(self) -> ReplayStep | None:
        """Let the next message join, and wait for the saves that this begins; None when there is none left."""
        return await self.state.step()

    async def run(self) -> list[ReplayStep]:
        """Go on to the end, or to where facts wait for a decision, and return the steps taken."""
        return await self.state.run()

    async def flush(self) -> list[ExtractionStatus]:
        """Save what is left, as the end of a program must, and return how far each store has come."""
        return await self.state.flush()

    async def retry_unreadable(self) -> None:
        """Ask again about the messages whose answer could not be read."""
        await self.state.retry_unreadable()

    async def restart(self) -> None:
        """Begin the conversation anew, on new copies; what reached the stores themselves stays there."""
        await self.state.restart()

    async def set(self, **changes: Any) -> None:
        """Change settings, and begin the conversation anew; None brings back what the stores' own settings say."""
        await self.state.set(**changes)

    async def accept(self, fact: Fact | str | None = None, content: str | None = None) -> list[Fact]:
        """Have a proposed fact written: a fact, its id or its text, or all that wait; with another text where given.

        Returns the facts, whose ``state`` says what became of them; one whose write failed can be accepted again.
        """
        return await self.state.accept(fact, content)

    async def edit(self, fact: Fact | str, content: str) -> None:
        """Change the text of a proposed fact; it goes on waiting for a decision."""
        await self.state.edit(fact, content)

    async def reject(self, fact: Fact | str | None = None) -> list[Fact]:
        """Have a proposed fact not written: a fact, its id or its text, or all that wait; see :meth:`accept`."""
        return await self.state.reject(fact)

    async def compare(self, prompt_a: str = "", prompt_b: str = "") -> PromptComparison:
        """Return what two prompts make of the whole conversation; "" is the default one. Nothing is written."""
        return await self.state.compare(prompt_a, prompt_b)

    # -- on the page --------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        self._drawing()

    def _draw_now(self) -> None:
        state, tab = self.state, self._tab
        self._talk.show(extraction_timeline(state))
        self._stores.show(extraction_stores(state))
        self._tabs.show(extraction_tabs(state, tab))
        self._results.show(extraction_results(state, tab))
        pair = self._controls.prompts
        (pair.add_class if tab == "compare" else pair.remove_class)("memwb-shown")
        self._controls.draw()
        # Last, since it holds the revision: who sees that on the page sees all of its result.
        self._top.show(extraction_top(state))

    async def _do_step(self, _message: dict[str, Any]) -> None:
        await self.state.step()

    async def _do_run(self, _message: dict[str, Any]) -> None:
        await self.state.run()

    async def _do_flush(self, _message: dict[str, Any]) -> None:
        await self.state.flush()

    async def _do_retry(self, _message: dict[str, Any]) -> None:
        await self.state.retry_unreadable()

    async def _do_restart(self, _message: dict[str, Any]) -> None:
        await self.state.restart()

    async def _do_accept(self, message: dict[str, Any]) -> None:
        await self.state.accept(message.get("fact"))

    async def _do_reject(self, message: dict[str, Any]) -> None:
        await self.state.reject(message.get("fact"))

    async def _do_type(self, message: dict[str, Any]) -> None:
        await self.state.edit(message["fact"], str(message["value"]))

    def _do_tab(self, message: dict[str, Any]) -> None:
        if message["to"] in TABS:
            self._tab = message["to"]
            self._drawing.now()
