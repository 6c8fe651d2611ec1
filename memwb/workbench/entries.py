"""The entries of the stores, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._text import counted, quoted
from ..errors import ConfigError, nearest
from ..memory.search import is_the_stores_own
from .now import now
from .rows import METADATA, StoreRows
from .told import told

if TYPE_CHECKING:
    import pandas

    from ..catalog import Record

PAGE_SIZE = 25
SORTS = ("created_at", "-created_at", "content", "-content", "id", "-id")


class EntriesState:
    """What the table of entries shows.

    Args:
        stores: The stores that can be shown.
        listings: For a store that cannot list itself: a store over the same entries, by name.
        on_change: Called when another page has been read, and when the selection changes.

    Attributes:
        store: The name of the store that is shown.
        where: Text that the entries shown hold, in any letter case; ``""`` shows all.
        sort: One of created_at, content, id, or ``metadata.`` and a key's path, with ``-`` in front for descending;
            None for the store's own order.
        page: The page shown, from 0.
        total: How many entries the filter leaves; None where the store cannot list.
        records: The entries of the page.
        problem: Why there is nothing to show, in a sentence, or "".
        selected_ids: Ids of the selected entries, in the order of selection.
        reads: How often a page has been read.
    """

    def __init__(
        self, stores: Sequence[Any], listings: dict[str, Any], on_change: Callable[[], None] = lambda: None
    ) -> None:
        self._stores = {store.name: listings.get(store.name, store) for store in stores}
        self.store = next(iter(self._stores), "")
        self.where, self.page = "", 0
        self.sort: str | None = None
        self.total: int | None = None
        self.records: list[Record] = []
        self.problem = ""
        self.selected_ids: list[str] = []
        self.reads = 0
        self._loads = 0
        self._rows: StoreRows | None = None
        self._on_change = on_change

    def __repr__(self) -> str:
        if self.total is None:
            return f"EntriesState({self.store!r}: {self.problem or 'not read yet'})"
        shown = counted(self.total, "entry", "entries") + (f" with {quoted(self.where)}" if self.where else "")
        chosen = f", {len(self.selected_ids)} selected" if self.selected_ids else ""
        return f"EntriesState({self.store!r}: {shown}, page {self.page + 1} of {self.pages}{chosen})"

    @property
    def stores(self) -> tuple[str, ...]:
        """The names of the stores that can be shown."""
        return tuple(self._stores)

    @property
    def rows(self) -> StoreRows | None:
        """The rows of the store that is shown, for a table; None where it cannot list. The same until it changes."""
        store = self._stores[self.store]
        if not hasattr(store, "page"):
            return None
        if self._rows is None or self._rows.store is not store:
            self._rows = StoreRows(store)
        return self._rows

    @property
    def pages(self) -> int:
        """How many pages there are, at least 1."""
        return max(1, -(-(self.total or 0) // PAGE_SIZE))

    def choose(self, **changes: Any) -> None:
        """Change store, where, sort or page; the change shows after :meth:`load`.

        Raises:
            ConfigError: An unknown name or value; nothing was changed.
        """
        for key, value in changes.items():
            self._check(key, value)
        if changes.get("store", self.store) != self.store:
            self.selected_ids.clear()
        if "where" in changes or "store" in changes:
            self.page = 0
        for key, value in changes.items():
            setattr(self, key, value)

    def _check(self, key: str, value: Any) -> None:
        allowed = {"store": self.stores, "sort": (None, *SORTS)}
        if key not in ("store", "where", "sort", "page"):
            raise ConfigError(f"Entries: unknown setting {key!r}; it takes store, where, sort, page.", key=key)
        by_metadata = key == "sort" and isinstance(value, str) and value.removeprefix("-").startswith(METADATA)
        if key in allowed and value not in allowed[key] and not by_metadata:
            names = [name for name in allowed[key] if name is not None]
            raise ConfigError(
                f"Entries: {key} is {value!r}; it takes {', '.join(names)}.{nearest(str(value), names)}",
                key=key,
                value=value,
                allowed=names,
            )
        if key == "where" and not isinstance(value, str):
            raise ConfigError(f"Entries: where is {value!r}; it must be a text.", key=key, value=value)
        if key == "page" and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise ConfigError(
                f"Entries: page is {value!r}; it must be a whole number, at least 0.", key=key, value=value
            )

    async def load(self) -> None:
        """Read the page that is chosen; what a newer choice has overtaken meanwhile is dropped."""
        if await self.read():
            self._on_change()

    async def read(self) -> bool:
        """Do what :meth:`load` does without telling anyone; return whether it was the newest."""
        self._loads += 1
        load = self._loads
        total, page, records, problem = await self._page()
        if load != self._loads:
            return False
        self.total, self.page, self.records, self.problem = total, page, records, problem
        self.reads += 1
        return True

    async def _page(self) -> tuple[int | None, int, list[Record], str]:
        rows = self.rows
        if rows is None:
            problem = f"{self.store!r} cannot list its entries: it is seen through its search, in the hits."
            return None, 0, [], problem
        where, sort, page = self.where, self.sort, self.page
        try:
            total = await rows.count(where=where)
            page = min(page, max(0, -(-total // PAGE_SIZE) - 1))
            records = list(await rows.page(page * PAGE_SIZE, PAGE_SIZE, sort=sort, where=where))
        except BaseException as error:  # a damaged file is shown where the entries would be
            if not is_the_stores_own(error):
                raise
            return None, page, [], told(error)
        return total, page, records, ""

    def toggle(self, record_id: str) -> None:
        """Select an entry, or take it out of the selection."""
        if record_id in self.selected_ids:
            self.selected_ids.remove(record_id)
        else:
            self.selected_ids.append(record_id)
        self._on_change()

    @property
    def frame(self) -> pandas.DataFrame:
        """All entries that the filter leaves, as a DataFrame, in the order shown."""
        from ..frames import records_frame

        return records_frame(now(self._all))

    @property
    def selected(self) -> pandas.DataFrame:
        """The selected entries as a DataFrame, in the order of selection."""
        from ..frames import records_frame

        return records_frame(now(self._selected))

    async def _all(self) -> list[Record]:
        rows = self.rows
        if rows is None:
            raise ConfigError(f"{self.store!r} cannot list its entries; wb.hits has what a search returns.")
        total = await rows.count(where=self.where)
        return list(await rows.page(0, max(total, 1), sort=self.sort, where=self.where))

    async def _selected(self) -> list[Record]:
        store = self._stores[self.store]
        found = [await store.get(record_id) for record_id in self.selected_ids]
        return [record for record in found if record is not None]
