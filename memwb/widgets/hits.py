"""The table of hits: every hit in the order of the block, with the line that max_entries draws through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._dom import sendable
from ..workbench.rows import ListRows
from ..workbench.scores import dates
from .columns import HIT_SORTS, hit_columns
from .grid import MOST, Grid
from .panes.hits import hit_key, in_block_order, unseen

if TYPE_CHECKING:
    from datetime import datetime

    from ..memory import Hit
    from ..workbench import Preview, WorkbenchState


class HitsTable:
    """Shows the hits of the workbench's preview in a grid, and does what is done there.

    A row that is chosen on the page is what the verdict is about, and where the cut line is moved to is max_entries.

    Args:
        state: The workbench's state.
        redraw: Draws the workbench anew, after the rows were put into another order.

    Attributes:
        grid: The widget.
    """

    def __init__(self, state: WorkbenchState, redraw: Callable[[], None]) -> None:
        self._state = state
        self._preview: Preview | None = None  # whose hits the grid has
        self._call = -1  # the model call that they are of
        self._hits: dict[str, Hit] = {}  # by the ids that the page knows
        self._dates: dict[tuple[str, str], datetime] = {}  # of the hits, where their column is shown
        self._given: list[str] = []  # the chosen row, as the grid was told last
        self.grid = Grid(
            ListRows([]),
            hit_columns(()),
            on_cut=lambda at: state.put(max_entries=at),
            id=hit_key,
            kind=lambda hit: "" if hit.kept else "dim",
            label="Hits",
            noun=("hit", "hits"),
            empty="There are no hits.",
            filterable=False,
            bar=False,
            multiple=False,
            linked=True,
            lines=2,
            first=MOST,
        )
        self.grid.layout.height = "auto"
        self.grid.observe(self._chosen, "selected")
        self.grid.observe(lambda _: state.spawn(_later(redraw)), "sort")
        self.grid.observe(lambda _: self._ask_for_dates(), "shown")

    def draw(self) -> None:
        """Show the preview's hits, the line between them, and which one the verdict is about."""
        state, preview = self._state, self._state.preview
        if preview is None or not preview.hits:
            return
        with self.grid.hold_sync():
            if preview is not self._preview:
                self._preview = preview
                self._show(preview)
                self._ask_for_dates()
            if not state.pending:  # else what a person chose waits for its refresh
                self._choose(preview)

    def _show(self, preview: Preview) -> None:
        kept, cut = in_block_order(preview.hits)
        found = [*kept, *cut]
        self._hits = {sendable(hit_key(hit)): hit for hit in found}
        several, measured = len(self._state.store_names) > 1, self._state.source.measured
        columns = hit_columns(found, preview.is_wanted, several=several, measured=measured, dated=self._dated)
        rows = ListRows(found, id=hit_key, sorts=HIT_SORTS)
        self.grid.show(rows, columns, anew=self._call != self._state.call)
        self._call = self._state.call
        limit = preview.trace.settings.max_entries if preview.trace.settings else 0
        label = f"max_entries {limit} · {len(cut) + unseen(preview):,} cut"
        name = "max_entries: arrow keys or dragging move the cut"
        self.grid.draw_cut(len(kept), label, name, value=limit)

    def _dated(self, hit: Hit) -> datetime | None:
        return self._dates.get((hit.store, hit.id)) if hit.id is not None else None

    def _ask_for_dates(self) -> None:
        """Look up when the entries were written, where that is shown: no search tells it."""
        preview = self._preview
        if preview is None or "date" not in self.grid.shown:
            return

        async def look() -> None:
            found = await dates(self._state, preview.hits)
            if preview is self._preview and found != self._dates:
                self._dates = found
                self._show(preview)

        self._state.spawn(look)

    def _choose(self, preview: Preview) -> None:
        self._given = [sendable(hit_key(hit)) for hit in preview.hits if preview.is_explained(hit)][:1]
        self.grid.selected = self._given

    def _chosen(self, change: dict[str, Any]) -> None:
        ids = list(change["new"])
        if ids == self._given:
            return

        async def take() -> None:
            self._state.look_for(self._hits.get(ids[0], "") if ids else "", pause=0.0)
            self.draw()  # where that changed nothing, the page shows again what the verdict is about

        self._state.spawn(take)


def _later(action: Callable[[], None]) -> Callable[[], Any]:
    async def run() -> None:
        action()

    return run
