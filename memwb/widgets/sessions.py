"""The panel of sessions: a table of them, one of them to read, and its summary before it replaces anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets

from .._dom import sendable
from ..workbench.sessions import SessionsState
from .columns import Column
from .grid import Grid
from .panel import Panel
from .panes.sessions import TABS, minute, sessions_pane, sessions_top
from .view import TreeView

if TYPE_CHECKING:
    import pandas

    from ..sessions import ContextMessage, MemoryEntry, SummaryPreview
    from ..workbench import WorkbenchState
    from ..workbench.session_rows import SessionRow

COLUMNS: tuple[Column, ...] = (
    Column("session_id", "session", lambda row: row.info.session_id, "session_id", width=96, grow=1),
    Column("user_id", "user", lambda row: row.info.user_id, "user_id", width=72, grow=1),
    Column("count", "entries", lambda row: row.info.count, "count", width=64, grow=0, kind="number"),
    Column("last", "last (UTC)", lambda row: minute(row.info.last), "last", width=132, grow=0, kind="quiet"),
    Column("first", "first (UTC)", lambda row: minute(row.info.first), "first", 132, 0, "quiet", shown=False),
)
"""The columns of the table of sessions."""


class SessionsPanel(Panel):
    """Agents' sessions in a store: find one among thousands, read and filter it, see what a model gets of it.

    Its summary is previewed before it replaces anything: what it pins, replaces and keeps, the prompt, the tokens
    before and after, and the model's answer. It can be taken back.

    Args:
        store: A store of sessions that lists them, or a Memory, whose model and settings are taken.
        model: Asked for summaries; None: they can be written by hand.
        bench: The workbench that a session can be opened in.
        **settings: ``max_messages``, ``pin_count``, ``recent_count`` and ``time_limit``, as for
            :class:`memwb.sessions.Memory`.

    Raises:
        ConfigError: It is no such store, or a setting has a wrong value.
    """

    state: SessionsState

    def __init__(self, store: Any, model: Any = None, bench: WorkbenchState | None = None, **settings: Any) -> None:
        state = SessionsState(store, model, bench, **settings)
        self._tab = "conversation"
        self._reads = 0
        self._given: list[str] = []  # the chosen row, as the table was told last
        self._top, self._view = TreeView(self._act), TreeView(self._act)
        self.grid = Grid(
            state.rows,
            COLUMNS,
            id=lambda row: row.id,
            label="Sessions",
            noun=("session", "sessions"),
            empty="No session is stored here yet.",
            multiple=False,
        )
        self.grid.layout.height = "auto"
        self.grid.observe(self._chosen, "selected")
        left, right = ipywidgets.VBox([self.grid]), ipywidgets.VBox([self._view])
        body = ipywidgets.HBox([left, right])
        for widget, name in ((self._top, "top"), (left, "left"), (right, "right"), (body, "body")):
            widget.add_class(f"memwb-{name}")
        super().__init__(state, [self._top, body])
        self.add_class("memwb-sessions")

    # -- in a cell ----------------------------------------------------------------------------------------------

    async def read(self, session_id: str, user_id: str | None = None) -> list[MemoryEntry]:
        """Show a session and return its entries; ``user_id`` is needed where several users have one of this id."""
        return await self.state.read(session_id, user_id)

    async def filter(self, **changes: Any) -> list[MemoryEntry]:
        """Change ``where`` (text), ``role`` or ``page`` of the session shown; return the entries on the page."""
        return await self.state.filter(**changes)

    async def set(self, **changes: Any) -> None:
        """Change ``max_messages``, ``pin_count``, ``recent_count`` or ``time_limit``."""
        await self.state.set(**changes)

    async def preview(self) -> SummaryPreview:
        """Ask the model for a summary of the session shown and return the preview; nothing is replaced.

        Without a model the preview has the prompt alone.
        """
        self._tab = "summary"
        if self.state.memory.model is None:
            return await self.state.plan_summary()
        return await self.state.preview_summary()

    async def write_summary(self, text: str) -> SummaryPreview:
        """Put a summary of one's own in the place of the model's answer and return the preview."""
        return await self.state.write_summary(text)

    async def apply(self) -> MemoryEntry:
        """Put the summary that was previewed in the place of what it replaces, and return its entry."""
        return await self.state.apply()

    async def undo(self) -> list[MemoryEntry]:
        """Take back the summary of the session shown, and return the entries that came back."""
        return await self.state.undo()

    async def show(self, tab: str) -> None:
        """Open a tab: ``conversation``, ``context`` or ``summary``."""
        if tab in TABS:
            self._tab = tab
            self._draw()

    @property
    def frame(self) -> pandas.DataFrame:
        """The sessions as a DataFrame: session_id, user_id, count, first, last."""
        return self.state.frame

    @property
    def entries(self) -> pandas.DataFrame:
        """The entries of the session shown, as filtered, as a DataFrame."""
        return self.state.entries_frame

    @property
    def context(self) -> list[ContextMessage]:
        """The session shown as a model gets it."""
        return self.state.context

    # -- on the page --------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        state = self.state
        if state.revision != self._reads and not state.pending:
            self._reads = state.revision
            self.grid.refresh()
        chosen = [] if state.chosen is None else [sendable(state.rows.id_of(state.chosen))]
        if chosen != self._given:
            self._given = chosen
            self.grid.selected = chosen
        self._view.show(sessions_pane(state, self._tab))
        self._top.show(sessions_top(state))  # last: it holds the revision

    def _chosen(self, change: dict[str, Any]) -> None:
        selected = list(change["new"])
        if selected == self._given or not selected:
            return

        async def take() -> None:
            row: SessionRow | None = await self.state.rows.get(selected[0])
            if row is not None and selected == list(self.grid.selected):
                self._given = selected
                self.state.show(row.info.session_id, row.info.user_id)

        self.state.spawn(take)

    def _do_refresh(self, _message: dict[str, Any]) -> None:
        self.state.changed()

    async def _do_bench(self, _message: dict[str, Any]) -> None:
        await self.state.to_workbench()

    async def _do_tab(self, message: dict[str, Any]) -> None:
        await self.show(message["to"])

    async def _do_find(self, message: dict[str, Any]) -> None:
        await self.state.filter(where=str(message.get("value", "")))

    async def _do_role(self, message: dict[str, Any]) -> None:
        await self.state.filter(role=message["to"])

    async def _do_page(self, message: dict[str, Any]) -> None:
        await self.state.filter(page=message["to"])

    async def _do_set(self, message: dict[str, Any]) -> None:
        value = str(message.get("value", "")).strip()
        await self.state.set(**{message["name"]: int(value) if value.isdecimal() else value})

    async def _do_preview(self, _message: dict[str, Any]) -> None:
        await self.preview()

    async def _do_write(self, message: dict[str, Any]) -> None:
        await self.write_summary(str(message.get("value", "")))

    async def _do_apply(self, _message: dict[str, Any]) -> None:
        await self.apply()

    async def _do_undo(self, _message: dict[str, Any]) -> None:
        await self.undo()
