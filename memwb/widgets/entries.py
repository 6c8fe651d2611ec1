"""The table of stored entries: a grid that follows the state of the entries, and changes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._dom import sendable
from ..workbench.rows import ListRows, Rows
from .columns import EXTRA, entry_columns
from .grid import Grid

if TYPE_CHECKING:
    from ..workbench import WorkbenchState

_SHARED = ("where", "sort", "selected")


class EntriesTable:
    """Keeps a grid and the workbench's entries in step.

    What changed in the state since it was drawn last is drawn in the grid, and what changed on the page is put into the
    state, on the notebook's loop: so neither takes back what the other has not heard of yet.

    Args:
        state: The workbench's state.
        redraw: Draws the workbench anew, after what a person did in the table.
        act: Does what the table asks for: ``entry_edit`` with the key of a row, ``entry_delete`` with keys.

    Attributes:
        grid: The widget.
    """

    def __init__(
        self,
        state: WorkbenchState,
        redraw: Callable[[], None],
        act: Callable[[dict[str, Any]], None] = lambda message: None,
    ) -> None:
        self._state, self._redraw = state, redraw
        self._rows: Rows | None = None
        self._reads = -1  # of the state, when the grid read its rows last
        self._known: dict[str, Any] = {"where": "", "sort": "", "selected": []}  # of the state, as it was drawn last
        self._set: dict[str, Any] = dict(self._known)  # what the grid was given for it
        self.grid = Grid(
            ListRows([]),
            empty="No entry is stored here yet.",
            id=lambda record: state.entries.key(record),
            kind=lambda record: state.entries.state_of(record),
            on_open=lambda key: act({"do": "entry_edit", "key": key}),
            on_delete=lambda keys: act({"do": "entry_delete", "keys": keys}),
        )
        self.grid.layout.height = "auto"
        self.grid.observe(self._changed, _SHARED)
        self._columns: tuple[str, ...] | None = None  # of the state, as they were drawn last
        self._showing = False
        self.grid.observe(self._columns_chosen, "shown")

    def draw(self, shown: bool) -> None:
        """Show what the state says, where that is new; a table that is not shown is read when it is shown next."""
        entries = self._state.entries
        rows = entries.rows if shown else None
        if rows is None:
            return
        self.grid.opens = entries.editable
        if rows is not self._rows:
            self._show(rows)
        elif self._reads != entries.reads:
            self.grid.refresh()
        self._rows, self._reads = rows, entries.reads
        if entries.columns != self._columns:
            self._columns = entries.columns
            usual = [column.key for column in entry_columns() if column.shown]
            self._arrange(usual if entries.columns is None else list(entries.columns))
        for name, value in self._wanted().items():
            if value != self._known[name]:
                self._give(name, value)

    def _show(self, rows: Rows) -> None:
        """Show other rows; what a person chose of the columns stays, and those that tell the rows apart join them."""
        entries = self._state.entries
        own = entry_columns(
            store=entries.store is None,
            staged=entries.state_of if entries.staged else None,
            group=entries.group_of if entries.filters.duplicates else None,
        )
        chosen = [key for key in self.grid.shown if key not in EXTRA]
        self._showing = True
        self.grid.show(rows, own)
        self._showing = False
        self._arrange(chosen, [column.key for column in own if column.key in EXTRA])

    def _arrange(self, chosen: list[str], extra: list[str] | None = None) -> None:
        """Show these columns, between those that are there only where there is something to tell."""
        extra = [key for key in self.grid.shown if key in EXTRA] if extra is None else extra
        self._showing = True
        self.grid.shown = [
            *(key for key in extra if key != "store"),
            *chosen,
            *(key for key in extra if key == "store"),
        ]
        self._showing = False

    def _columns_chosen(self, change: dict[str, Any]) -> None:
        """Put what a person chose on the page into the state."""
        if not self._showing:
            self._columns = self._state.entries.columns = tuple(key for key in change["new"] if key not in EXTRA)

    def _wanted(self) -> dict[str, Any]:
        entries = self._state.entries
        return {"where": entries.where, "sort": entries.sort or "", "selected": list(entries.selected_ids)}

    def _give(self, name: str, value: Any) -> None:
        sent = [sendable(one) for one in value] if isinstance(value, list) else sendable(value)
        self._known[name], self._set[name] = value, sent
        setattr(self.grid, name, sent)

    def _changed(self, change: dict[str, Any]) -> None:
        name, value = change["name"], change["new"]
        if value == self._set[name]:
            return

        async def take() -> None:
            entries = self._state.entries
            if value != getattr(self.grid, name):
                return  # the page has gone on, or a cell came meanwhile
            self._known[name] = self._set[name] = value
            if name == "selected":
                entries.selected_ids[:] = value
                if len(value) == 1 and (record := await entries.get(value[0])) is not None:
                    self._state.look_for(record, pause=0.0)  # as with a hit: the verdict is about it
            else:
                entries.choose(**{name: value or None if name == "sort" else value})
                if await entries.read():
                    self._reads = entries.reads  # the grid reads for itself
            self._redraw()

        self._state.spawn(take)
