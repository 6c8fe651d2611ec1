"""The entries of the stores, a page at a time."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, nearest

if TYPE_CHECKING:
    import pandas

    from ..catalog import Record

PAGE_SIZE = 25
SORTS = ("created_at", "-created_at", "content", "-content", "id", "-id")


class EntriesState:
    """What the table of entries shows.

    Attributes:
        store: The name of the store that is shown.
        where: Text that the entries shown hold, in any letter case; ``""`` shows all.
        sort: One of created_at, content, id, with ``-`` in front for descending; None for the store's own order.
        page: The page shown, from 0.
        total: How many entries the filter leaves; None where the store cannot list.
        records: The entries of the page.
        problem: Why there is nothing to show, in a sentence, or "".
        selected_ids: Ids of the selected entries, in the order of selection.
    """

    def __init__(self, stores: Sequence[Any], listings: dict[str, Any]) -> None:
        self._stores = {store.name: listings.get(store.name, store) for store in stores}
        self.store = next(iter(self._stores), "")
        self.where, self.page = "", 0
        self.sort: str | None = None
        self.total: int | None = None
        self.records: list[Record] = []
        self.problem = ""
        self.selected_ids: list[str] = []

    @property
    def stores(self) -> tuple[str, ...]:
        """The names of the stores that can be shown."""
        return tuple(self._stores)

    @property
    def pages(self) -> int:
        """How many pages there are, at least 1."""
        return max(1, -(-(self.total or 0) // PAGE_SIZE))

    def choose(self, **changes: Any) -> None:
        """Change store, where, sort or page; the change shows after :meth:`load`.

        Raises:
            ConfigError: An unknown name or value; nothing was changed.
        """
        known = {"store": self.stores, "sort": SORTS}
        for key, value in changes.items():
            if key not in ("store", "where", "sort", "page"):
                raise ConfigError(f"Entries: unknown setting {key!r}; it takes store, where, sort, page.", key=key)
            if key in known and value is not None and value not in known[key]:
                allowed = ", ".join(known[key])
                raise ConfigError(
                    f"Entries: {key} is {value!r}; it takes {allowed}.{nearest(str(value), known[key])}",
                    key=key,
                    value=value,
                    allowed=known[key],
                )
        if "where" in changes or "store" in changes:
            self.page = 0
        for key, value in changes.items():
            setattr(self, key, value)

    async def load(self) -> None:
        """Read the page that is chosen."""
        store = self._stores[self.store]
        if not hasattr(store, "page"):
            self.total, self.records = None, []
            self.problem = f"{self.store!r} cannot list its entries: it is seen through its search, in the hits."
            return
        try:
            total = await store.count(where=self.where)
            page = min(self.page, max(0, -(-total // PAGE_SIZE) - 1))
            records = await store.page(page * PAGE_SIZE, PAGE_SIZE, sort=self.sort, where=self.where)
        except Exception as error:  # a damaged file is shown where the entries would be
            self.total, self.records, self.problem = None, [], f"{type(error).__name__}: {error}"
            return
        self.total, self.page, self.records, self.problem = total, page, records, ""

    def toggle(self, record_id: str) -> None:
        """Select an entry, or take it out of the selection."""
        if record_id in self.selected_ids:
            self.selected_ids.remove(record_id)
        else:
            self.selected_ids.append(record_id)

    @property
    def frame(self) -> pandas.DataFrame:
        """All entries that the filter leaves, as a DataFrame, in the order shown."""
        from ..frames import records_frame

        return records_frame(self._all())

    @property
    def selected(self) -> pandas.DataFrame:
        """The selected entries as a DataFrame, in the order of selection."""
        from ..frames import records_frame

        store = self._stores[self.store]
        found = [_now(store.get(record_id)) for record_id in self.selected_ids]
        return records_frame([record for record in found if record is not None])

    def _all(self) -> list[Record]:
        store = self._stores[self.store]
        if not hasattr(store, "page"):
            raise ConfigError(f"{self.store!r} cannot list its entries; wb.hits has what a search returns.")
        total = _now(store.count(where=self.where))
        records: list[Record] = _now(store.page(0, max(total, 1), sort=self.sort, where=self.where))
        return records


def _now(work: Coroutine[Any, Any, Any]) -> Any:
    """Return what a coroutine returns if it never has to wait, as a store that reads a local file does not."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise ConfigError("This store answers over the network: use `await memwb.frame(store)` for its entries.")
