"""A table of any length: the kernel sorts, filters and cuts pages, the page shows the rows in view."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import anywidget
import ipywidgets
import traitlets

from .._dom import sendable
from .._text import counted, visible
from ..errors import ConfigError, nearest
from ..workbench.refresh import PAUSE, Refresher
from ..workbench.rows import METADATA, ListRows, Rows, StoreRows, flattened
from ..workbench.told import told
from .cells import cell, piece, text_of
from .columns import ENTRIES, Column, metadata_column
from .view import STATIC

FIRST = 40
"""Rows that are sent with the first news of a view, so that a page that shows it need not ask."""

MOST = 500
"""Rows that one answer holds at most, whatever the page asks for."""

MOST_SELECTED = 10_000
"""Rows that one range selects at most."""

MOST_KEYS = 100
"""Metadata keys that the menu of columns offers at most."""

RowKind = Callable[[Any], str]


class _View(NamedTuple):
    """What a sheet shows of which rows. Pages are cut from the one that the page has, whatever was asked for since."""

    source: Rows
    sort: str
    where: str
    columns: tuple[Column, ...]

    async def page(self, offset: int, limit: int) -> Sequence[Any]:
        return await self.source.page(offset, limit, sort=self.sort or None, where=self.where)


class Grid(anywidget.AnyWidget):
    """Shows rows of a source, such as a store's entries, 400 px high unless ``layout.height`` says otherwise.

    ``await grid`` settles and returns it. Sorting, filtering and selecting on the page change the attributes below, and
    setting these does what a person would do on the page.

    Args:
        source: Where the rows come from: a store that can list its entries, or see :mod:`memwb.workbench.rows`.
        columns: What it shows of a row; left out, those of stored entries. Metadata keys of rows that were read join
            the menu of columns.
        on_select: Called with the selected ids after each change, on the notebook's loop where there is one.
        on_cut: Called with the row count above the cut line that a person asked for, likewise.
        on_open: Called with the id of a row that a person opens, where ``opens``; else the cell is shown whole.
        on_delete: Called with the ids of the rows that a person deletes, where ``opens``.
        id: Gives a row's id, which is unique among the rows.
        kind: Gives how a row is set: ``""``, or ``dim`` and ``warn`` with a blank between them.
        label: What a screen reader calls the table.
        noun: What a row is called, one and many.
        empty: What is said where there are no rows.
        filterable: Whether there is a box to filter by text.
        bar: Whether filter, number of rows and selection are told above the rows; else the menu of columns alone is
            there, in the corner.
        multiple: Whether several rows can be selected; else one, which comes into view.
        linked: Whether other panes of the workbench point at rows by their ids.
        lines: The lines of text that a row may have. More than one only where all rows are sent at once.
        first: Rows that are sent with the first news of a view; further ones when they come into view.

    Attributes:
        sort: The name that is sorted by, ``-`` in front for descending, "" for the source's own order.
        where: Text that the rows shown hold.
        shown: The keys of the columns that are shown, in order.
        selected: Ids of the selected rows. They stay selected when they are filtered away.
        total: How many rows the filter leaves.
        problem: Why the rows could not be read, in a sentence, or "".
        opens: Whether Enter and a double click open a row, and Delete deletes: see ``on_open`` and ``on_delete``.
    """

    # As texts: anywidget watches a path for changes, and so would keep every widget that was ever made alive.
    _esm = (STATIC / "grid.js").read_text("utf-8")
    _css = (STATIC / "grid.css").read_text("utf-8")
    # Written by the page and by the kernel alike.
    sort = traitlets.Unicode("").tag(sync=True)
    where = traitlets.Unicode("").tag(sync=True)
    shown = traitlets.List(traitlets.Unicode()).tag(sync=True)
    selected = traitlets.List(traitlets.Unicode()).tag(sync=True)
    # Written by the kernel alone.
    # version, series (of rows that have nothing to do with those before), total, sort, where, columns, rows (the first)
    sheet = traitlets.Dict(read_only=True).tag(sync=True)
    offered = traitlets.List(traitlets.Dict(), read_only=True).tag(
        sync=True
    )  # the columns that can be shown: key, title
    problem = traitlets.Unicode(read_only=True).tag(sync=True)
    # at: rows above the line; value and most, of the slider; label, name. Empty for none.
    cut = traitlets.Dict(read_only=True).tag(sync=True)
    label = traitlets.Unicode(read_only=True).tag(sync=True)
    noun = traitlets.List(traitlets.Unicode(), read_only=True).tag(sync=True)
    empty = traitlets.Unicode(read_only=True).tag(sync=True)
    filterable = traitlets.Bool(read_only=True).tag(sync=True)
    bar = traitlets.Bool(read_only=True).tag(sync=True)
    multiple = traitlets.Bool(read_only=True).tag(sync=True)
    linked = traitlets.Bool(read_only=True).tag(sync=True)
    lines = traitlets.Int(read_only=True).tag(sync=True)
    opens = traitlets.Bool(False).tag(sync=True)
    pause = traitlets.Float(PAUSE, read_only=True).tag(sync=True)

    def __init__(
        self,
        source: Rows,
        columns: Sequence[Column] = ENTRIES,
        *,
        on_select: Callable[[list[str]], Any] | None = None,
        on_cut: Callable[[int], Any] | None = None,
        on_open: Callable[[str], Any] | None = None,
        on_delete: Callable[[list[str]], Any] | None = None,
        id: Callable[[Any], str] = lambda row: row.id,
        kind: RowKind = lambda row: "",
        label: str = "Entries",
        noun: tuple[str, str] = ("entry", "entries"),
        empty: str = "There are no entries.",
        filterable: bool = True,
        bar: bool = True,
        multiple: bool = True,
        linked: bool = False,
        lines: int = 1,
        first: int = FIRST,
    ) -> None:
        self._source, self._id, self._kind = _sortable(source), id, kind
        self._on_select, self._on_cut = on_select, on_cut
        self._on_open, self._on_delete = on_open, on_delete
        self._asked = self._read = object()  # the newest wish for a sheet, and the one that the sheet has answered
        self._wanted: dict[str, tuple[int, int, int]] = {}  # view -> request, offset, limit: the newest of each page
        self._shown_first: list[str] = []
        self._first, self._series = first, 0
        self._take_columns(columns)
        given = {"label": label, "noun": list(noun), "empty": empty, "filterable": filterable}
        given |= {"bar": bar, "multiple": multiple, "linked": linked, "lines": lines}
        for name, value in given.items():  # before the page hears of the widget, so that it does once
            self.set_trait(name, value)
        self._view = self._present()
        self.set_trait("sheet", self._sheet(0, 0, []))
        super().__init__(layout=ipywidgets.Layout(height="400px"))
        self.add_class("memwb-grid")
        self._refresher = Refresher(self._answer, self._failed, self._failed)
        self.observe(self._changed, ["sort", "where", "shown"])
        self.observe(self._chosen, "selected")
        self.on_msg(self._received)
        self.refresh()

    # -- in Python ----------------------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """How many rows the filter leaves, as of the last reading."""
        return int(self.sheet["total"])

    def refresh(self) -> None:
        """Read the rows again, after the source has changed; the page keeps its place."""
        self._asked = object()
        self._refresher.request()

    def show(self, source: Rows, columns: Sequence[Column] | None = None, *, anew: bool = False) -> None:
        """Show another source. Filter and selection stay; sorting and the choice of columns where the columns allow.

        Rows that are there already (:class:`~memwb.workbench.rows.ListRows`) are sent before this returns.

        Args:
            source: Where the rows come from.
            columns: What is shown of them; left out, as before.
            anew: Whether the page shows them from the top, since they have nothing to do with those before.
        """
        self._source = _sortable(source)
        if columns is not None:
            self._take_columns(columns)
        self._series += anew
        if isinstance(source, ListRows):
            self._show_at_once(source)
        else:
            self.refresh()

    def draw_cut(
        self, at: int | None, label: str = "", name: str = "", *, value: int | None = None, most: int | None = None
    ) -> None:
        """Draw the line below ``at`` rows that divides the kept from the cut; None takes it away.

        Args:
            at: How many rows lie above it. The line shows in the source's own order alone.
            label: What stands on it.
            name: What a screen reader calls it.
            value: The limit that it stands for, which arrow keys move by one; left out, ``at``.
            most: The highest value that a screen reader names; left out, the greater of ``value`` and the row count.
        """
        if at is None:
            self.set_trait("cut", {})
            return
        value = at if value is None else value
        most = max(value, self.total) if most is None else most
        self.set_trait("cut", {"at": at, "value": value, "most": most, "label": label, "name": name or label})

    async def settled(self) -> None:
        """Return when the rows that were asked for last have been read and every action of the page is done."""
        await self._refresher.settled()

    def __await__(self) -> Generator[Any, None, Grid]:
        yield from self.settled().__await__()
        return self

    def __repr__(self) -> str:
        if not self.sheet["version"]:
            return "Grid(not read yet: `await grid` first)"
        return f"Grid({counted(self.total, *self.noun)})"

    def close(self) -> None:
        """Close the table with its layout, and end what runs for it."""
        if getattr(self, "_refresher", None) is not None:
            self._refresher.close()
        super().close()
        if isinstance(self.layout, ipywidgets.Widget):
            self.layout.close()

    # -- columns ------------------------------------------------------------------------------------------------

    def _take_columns(self, columns: Sequence[Column]) -> None:
        self._columns = {column.key: column for column in columns}
        if len(self._columns) != len(columns):
            raise ConfigError("Grid: two columns have the same key; each needs its own.", key="columns", value=columns)
        self._offer()
        shown = [column.key for column in columns if column.shown]
        if shown != self._shown_first:  # else what a person chose stays
            self._shown_first = self.shown = shown
        if self.sort.removeprefix("-") not in {"", *(column.sort for column in columns)}:
            self.sort = ""

    def _offer(self) -> None:
        self.set_trait("offered", [column.offer() for column in self._columns.values()])

    def _meet(self, rows: Sequence[Any]) -> None:
        """Offer a column for each metadata key that was not met before."""
        met = sum(key.startswith(METADATA) for key in self._columns)
        new = {key: None for row in rows for key in flattened(getattr(row, "metadata", None))}
        keys = [key for key in new if key not in self._columns][: max(0, MOST_KEYS - met)]
        if keys:
            self._columns.update({key: metadata_column(key) for key in keys})
            self._offer()

    @traitlets.validate("shown")
    def _known_columns(self, proposal: dict[str, Any]) -> list[str]:
        keys: list[str] = list(dict.fromkeys(proposal["value"]))
        for key in keys:
            if key not in self._columns and not key.startswith(METADATA):
                self._refuse("shown", key, list(self._columns))
            self._columns.setdefault(key, metadata_column(key))
        return keys

    @traitlets.validate("sort")
    def _known_sort(self, proposal: dict[str, Any]) -> str:
        sort: str = proposal["value"]
        name = sort.removeprefix("-")
        names = [column.sort for column in self._columns.values() if column.sort]
        if sort and name not in names and not name.startswith(METADATA):
            self._refuse("sort", sort, names)
        return sort

    def _refuse(self, trait: str, value: str, known: Sequence[str]) -> None:
        name = value.removeprefix("-") if trait == "sort" else value
        raise ConfigError(
            f"Grid: {trait} is {value!r}; it takes {', '.join(known)}.{nearest(name, known)}",
            key=trait,
            value=value,
            allowed=tuple(known),
        )

    # -- from the page: any thread, so it is only handed on --------------------------------------------------------

    def _changed(self, _change: Any) -> None:
        self.refresh()

    def _chosen(self, change: dict[str, Any]) -> None:
        self._tell(self._on_select, list(change["new"]))

    def _tell(self, callback: Callable[[Any], Any] | None, value: Any) -> None:
        if callback is None:
            return

        async def call() -> None:
            callback(value)

        self._refresher.spawn(call)

    def _received(self, _widget: Any, message: Any, _buffers: Any) -> None:
        kind = message.get("do") if isinstance(message, dict) else None
        if kind == "page":
            self._wanted[str(message["view"])] = (
                message["request"],
                max(0, message["offset"]),
                max(1, message["limit"]),
            )
            self._refresher.request()
        elif kind == "cell":
            self._refresher.spawn(lambda: self._send_cell(message))
        elif kind == "range":
            self._refresher.spawn(lambda: self._select_range(message))
        elif kind == "open":
            self._tell(self._on_open, str(message["id"]))
        elif kind == "delete":
            self._tell(self._on_delete, [str(id) for id in message["ids"]])
        elif kind == "cut":
            at = message.get("to", self.cut.get("value", 0) + message.get("by", 0))
            self._tell(self._on_cut, max(1, int(at)))

    # -- on the notebook's loop -----------------------------------------------------------------------------------

    async def _answer(self) -> None:
        """Read what is wanted: the sheet where it is stale, then the newest wish of each page that shows the grid."""
        if self._read is not self._asked:
            await self._read_sheet()
        for view, wanted in list(self._wanted.items()):
            request, offset, limit = wanted
            found = await self._view.page(offset, min(limit, MOST))
            if self._refresher.overtaken:
                return
            self._meet(found)
            rows, version = self._rows(found), self.sheet["version"]
            self.send(
                {"do": "page", "view": view, "request": request, "version": version, "offset": offset, "rows": rows}
            )
            if self._wanted.get(view) == wanted:
                del self._wanted[view]

    async def _read_sheet(self) -> None:
        asked, view = self._asked, self._present()  # another may be asked for meanwhile, from another thread
        total = await view.source.count(where=view.where)
        found = await view.page(0, self._first) if total else []
        if self._refresher.overtaken or self._read is self._asked:
            return
        self._read, self._view = asked, view
        with self.hold_sync():
            self._meet(found)
            self.set_trait("problem", "")
            self.set_trait("sheet", self._sheet(self.sheet["version"] + 1, total, self._rows(found)))

    def _show_at_once(self, source: ListRows) -> None:
        """Send rows that are there already; the same ones as before are not sent again."""
        view = self._present()
        rows = source.at_once(view.sort or None, view.where)
        self._read = self._asked = object()
        self._view = view
        found = rows[: self._first]
        with self.hold_sync():
            self._meet(found)
            self.set_trait("problem", "")
            version = self.sheet["version"]
            sheet = self._sheet(version, len(rows), self._rows(found))
            if not version or sheet != self.sheet or len(found) < len(rows):
                self.set_trait("sheet", {**sheet, "version": version + 1})

    def _present(self) -> _View:
        columns = tuple(self._columns[key] for key in self.shown if key in self._columns)
        return _View(self._source, self.sort, self.where, columns)

    def _sheet(self, version: int, total: int, rows: list[list[Any]]) -> dict[str, Any]:
        _, sort, where, columns = self._view
        sort, where = sendable(sort), sendable(where)
        shown = [column.to_json() for column in columns]
        return {
            "version": version,
            "series": self._series,
            "total": total,
            "sort": sort,
            "where": where,
            "columns": shown,
            "rows": rows,
        }

    def _rows(self, rows: Sequence[Any]) -> list[list[Any]]:
        columns = self._view.columns
        return [
            [sendable(self._id(row)), self._kind(row), *(cell(column.of(row), column.cut) for column in columns)]
            for row in rows
        ]

    async def _send_cell(self, message: dict[str, Any]) -> None:
        row, column = await self._view.source.get(message["id"]), self._columns.get(message["column"])
        text = "This row is no longer there." if row is None or column is None else text_of(column.of(row))
        shown, end = piece(text, max(0, message["offset"]))
        place = {key: message[key] for key in ("view", "id", "column", "offset")}
        self.send({"do": "cell", **place, "text": shown, "end": end, "total": len(text)})

    async def _select_range(self, message: dict[str, Any]) -> None:
        first, last = max(0, message["from"]), message["to"]
        count = min(last - first + 1, MOST_SELECTED)
        if count < 1 or message["version"] != self.sheet["version"]:
            return  # the rows are others by now
        rows = await self._view.page(first, count)
        self.selected = [sendable(self._id(row)) for row in rows]

    def _failed(self, error: Exception) -> None:
        """Show why the rows could not be read; those that are there stay."""
        self._wanted.clear()
        self.set_trait("problem", visible(told(error)))


def _sortable(source: Rows) -> Rows:
    """Return a source that sorts by metadata as well; a store by itself does not."""
    return source if isinstance(source, ListRows | StoreRows) else StoreRows(source)
