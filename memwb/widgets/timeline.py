"""The timeline of a workbench: what memory does over a whole conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..workbench.timeline import Timeline, TimelineState
from .panel import Panel
from .panes.timeline import timeline_pane
from .view import TreeView

if TYPE_CHECKING:
    from ..memory import InjectionTrace
    from ..workbench import WorkbenchState


class TimelinePanel(Panel):
    """Every model call of a workbench's conversation: trigger, query, entries, tokens, and which entries come again.

    It follows the workbench's settings. Choosing a call opens it there.

    Args:
        bench: The workbench's state.
    """

    def __init__(self, bench: WorkbenchState) -> None:
        self._view = TreeView(self._act)
        super().__init__(TimelineState(bench), [self._view])

    @property
    def timeline(self) -> Timeline:
        """The calls and entries as data, with ``.headline``, ``.to_frame()``, ``.matrix()`` and ``.svg()``.

        Its HTML form is a picture that needs no kernel. StaleTraceError while a change waits for its refresh.
        """
        timeline: Timeline = self.state.timeline
        return timeline

    async def show(self, call: int) -> InjectionTrace:
        """Open a call (from 1) in the workbench and return its trace; ConfigError where there is no such call."""
        trace: InjectionTrace = await self.state.show(call)
        return trace

    def _draw(self) -> None:
        self._view.show(timeline_pane(self.state))

    async def _do_show(self, message: dict[str, Any]) -> None:
        await self.show(message["call"])
