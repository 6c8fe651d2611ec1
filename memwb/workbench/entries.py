"""The entries of the stores, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._text import counted, quoted
from ..errors import ConfigError, nearest
from ..memory.search import is_the_stores_own
from .changes import Changes
from .entry_diff import EntriesDiff
from .health import Health, examine, rescue
from .now import now
from .picking import FILTERS, Filters, PickedRows, checked_filter
from .rows import METADATA, Rows, StoreRows
from .staging import Ref, Staging
from .told import told

if TYPE_CHECKING:
    import pandas

    from ..catalog import Record

PAGE_SIZE = 25
SORTS = tuple(f"{way}{name}" for name in ("created_at", "content", "id", "store", "owner", "role") for way in ("", "-"))
COLUMNS = ("content", "created_at", "id", "metadata", "owner", "role")
_SETTINGS = ("store", "where", "sort", "page", "columns", *FILTERS)


class EntriesState:
    """What the table of entries shows, and what is changed there.

    Args:
        stores: The stores that can be shown.
        listings: For a store that cannot list itself: a store over the same entries, by name.
        on_change: Called when another page has been read, and when the selection changes.
        on_write: Called when entries were written, or what was written was taken back.
        editable: Whether entries may be changed here.

    Attributes:
        store: The name of the store that is shown; None for all stores, one after the other.
        where: Text that the entries shown hold, in any letter case; ``""`` shows all.
        filters: What else they are like, see :class:`~memwb.workbench.picking.Filters`.
        sort: One of created_at, content, id, store, owner, role, or ``metadata.`` and a key's path, with ``-`` in front
            for descending; None for the store's own order.
        page: The page shown, from 0.
        total: How many entries the filter leaves; None where the store cannot list.
        records: The entries of the page.
        problem: Why there is nothing to show, in a sentence, or "".
        selected_ids: The selected entries in the order of selection, by id; by :meth:`key` where all stores are shown.
        reads: How often a page has been read.
    """

    def __init__(
        self,
        stores: Sequence[Any],
        listings: dict[str, Any],
        on_change: Callable[[], None] = lambda: None,
        on_write: Callable[[], None] = lambda: None,
        *,
        editable: bool = False,
    ) -> None:
        self._stores = {store.name: listings.get(store.name, store) for store in stores}
        own = {store.name: store for store in stores}
        self._edits = Staging(self._stores, own, on_write, editable=editable)
        self.store: str | None = next(iter(self._stores), "")
        self.where, self.page = "", 0
        self.columns: tuple[str, ...] | None = None
        self.filters = Filters()
        self.sort: str | None = None
        self.total: int | None = None
        self.records: list[Record] = []
        self.problem = ""
        self.selected_ids: list[str] = []
        self.reads = 0
        self._loads = 0
        self._rows: tuple[Any, Rows] | None = None
        self._on_change = on_change

    def __repr__(self) -> str:
        of = "all stores" if self.store is None else repr(self.store)
        if self.total is None:
            return f"EntriesState({of}: {self.problem or 'not read yet'})"
        shown = counted(self.total, "entry", "entries") + (f" with {quoted(self.where)}" if self.where else "")
        chosen = f", {len(self.selected_ids)} selected" if self.selected_ids else ""
        chosen += f", {counted(len(self.staged), 'change')} staged" if self.staged else ""
        return f"EntriesState({of}: {shown}, page {self.page + 1} of {self.pages}{chosen})"

    @property
    def stores(self) -> tuple[str, ...]:
        """The names of the stores that can be shown."""
        return tuple(self._stores)

    @property
    def shown(self) -> dict[str, Any]:
        """The stores whose entries are shown, as far as they can list them, by name."""
        names = self.stores if self.store is None else (self.store,)
        return {name: self._stores[name] for name in names if hasattr(self._stores[name], "page")}

    @property
    def faults(self) -> dict[str, str]:
        """Why a store's entries are not listed or cannot be edited, in words, by the name of the store."""
        return {name: fault for name in self.stores if (fault := self._edits.fault(name))}

    @property
    def rows(self) -> Rows | None:
        """The rows that are shown, for a table; None where no store can list. The same until what is shown changes."""
        shown = self.shown
        if not shown:
            return None
        stores = tuple(map(id, shown.values()))
        if self.store is not None and not self.filters and not self.staged:
            state: Any = stores
        else:
            state = (stores, self.store, self.filters, self._edits.revision)
        if self._rows is None or self._rows[0] != state:
            plain = state is stores
            rows = StoreRows(*shown.values()) if plain else PickedRows(shown, self.filters, self.staged, self.key)
            self._rows = state, rows
        return self._rows[1]

    def key(self, record: Record) -> str:
        """Return what names a row: its id, with its store before it where all stores are shown."""
        return f"{record.store}: {record.id}" if self.store is None else record.id

    def state_of(self, record: Record) -> str:
        """Return what is staged of an entry that is shown, see ``Change.kind``; "" for nothing."""
        store = record.store if self.store is None else self.store
        return self._edits.kinds.get((str(store), record.id), "")

    def group_of(self, record: Record) -> tuple[int, int] | None:
        """Return the number and the size of an entry's group of near duplicates, None where it is in none."""
        rows = self._rows[1] if self._rows else None
        return rows.group.get(self.key(record)) if isinstance(rows, PickedRows) else None

    @property
    def pages(self) -> int:
        """How many pages there are, at least 1."""
        return max(1, -(-(self.total or 0) // PAGE_SIZE))

    def choose(self, **changes: Any) -> None:
        """Change what is shown; the change shows after :meth:`load`.

        Args:
            **changes: store (a name, None for all), where, sort, page, and the filters: owner, since, until (days or
                times, also as text), metadata (``"a.b[0]"``: there is a value, ``"a.b[0] = x"``, ``"a.b ~ x"``: it
                holds x), duplicates (True: only near duplicates, by group), columns (names of COLUMNS, or
                ``"metadata."`` and a path, as the page's menu of columns has them; None: the usual ones).

        Raises:
            ConfigError: An unknown name or value; nothing was changed.
        """
        picked = {key: checked_filter(key, changes[key]) for key in FILTERS if key in changes}
        changes = {key: value for key, value in changes.items() if key not in picked}
        if "columns" in changes:
            changes["columns"] = _checked_columns(changes["columns"])
        for key, value in changes.items():
            self._check(key, value)
        if changes.get("store", self.store) != self.store:
            self.selected_ids.clear()
        if picked or "where" in changes or "store" in changes:
            self.page = 0
        self.filters = replace(self.filters, **picked)
        for key, value in changes.items():
            setattr(self, key, value)

    def _check(self, key: str, value: Any) -> None:
        every = (None,) if len(self.stores) > 1 else ()
        allowed = {"store": (*self.stores, *every), "sort": (None, *SORTS)}
        if key not in ("store", "where", "sort", "page", "columns"):
            raise ConfigError(f"Entries: unknown setting {key!r}; it takes {', '.join(_SETTINGS)}.", key=key)
        by_metadata = key == "sort" and isinstance(value, str) and value.removeprefix("-").startswith(METADATA)
        if key in allowed and value not in allowed[key] and not by_metadata:
            names = [name for name in allowed[key] if name is not None]
            raise ConfigError(
                f"Entries: {key} is {value!r:.60}; it takes {', '.join(names)}.{nearest(str(value), names)}",
                key=key,
                value=value,
                allowed=names,
            )
        if key == "where" and not isinstance(value, str):
            raise ConfigError(f"Entries: where is {value!r:.60}; it must be a text.", key=key, value=value)
        if key == "page" and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise ConfigError(
                f"Entries: page is {value!r:.60}; it must be a whole number, at least 0.", key=key, value=value
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
            name = repr(self.store) if self.store is not None else "None of the stores"
            can = "can" if self.store is None else "cannot"
            problem = f"{name} {can} list its entries: it is seen through its search, in the hits."
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
            raise ConfigError(
                f"{self.store or 'No store'!r} cannot list its entries; wb.hits has what a search returns."
            )
        total = await rows.count(where=self.where)
        return list(await rows.page(0, max(total, 1), sort=self.sort, where=self.where))

    async def _selected(self) -> list[Record]:
        return [record for key in self.selected_ids if (record := await self.get(key)) is not None]

    async def get(self, key: str) -> Record | None:
        """Return the entry that is shown under a key, as it is or is staged to be; None where there is none."""
        rows = self.rows
        found: Record | None = None if rows is None else await rows.get(key)
        return found

    # -- changing entries ---------------------------------------------------------------------------------------

    @property
    def editable(self) -> bool:
        """Whether entries may be changed here; off until it is set."""
        return self._edits.editable

    @editable.setter
    def editable(self, value: bool) -> None:
        if not isinstance(value, bool):
            told = f"Entries: editable is {value!r:.60}; it must be True or False."
            raise ConfigError(told, key="editable", value=value)
        self._edits.editable = value
        self._on_change()

    @property
    def staged(self) -> Changes:
        """The changes that are not written yet."""
        return self._edits.staged

    @property
    def undoable(self) -> int:
        """How many writes can be undone."""
        return self._edits.undoable

    def stage(self, **changes: Any) -> EntriesDiff:
        """Stage changes of entries, all of these or none, and return what is staged by now; nothing is written.

        An entry is named by its id, by ``(store, id)`` where several of the stores shown have the id, or by its record:
        then it is the entry as it was when that was read, and another one is not written over.

        Args:
            **changes: ``add``: texts, or dicts ``{content, metadata?, id?, createdAt?, owner?, role?}``. ``edit``: a
                dict from entries to their new text, or to a dict of content and metadata. ``delete``: entries.
                ``merge``: groups of entries, or a dict from groups (as tuples) to the text that stays; else the first
                one's text does. Of a group, the earliest entry stays, with the metadata of all; where two have
                another value under a key, its own comes first. ``store``: where all of this is, default the store
                that is shown.

        Raises:
            ConfigError: Editing is off, a store cannot edit its entries, or a change cannot be understood.
            EntryNotFoundError: There is no such entry.
        """
        given = {
            key: list(value) if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else value
            for key, value in changes.items()
        }  # it may be begun twice, for a store that has to be waited for
        now(lambda: self._stage(**given))
        self._on_change()
        return self.diff()

    async def put(self, **changes: Any) -> None:
        """Do what :meth:`stage` does, for stores that have to be waited for, and read the page again."""
        await self._stage(**changes)
        await self.load()

    async def _stage(self, **changes: Any) -> None:
        names = self.stores if self.store is None else (self.store,)
        await self._edits.stage(names, **changes)

    def unstage(self, ids: Iterable[Ref] | None = None) -> None:
        """Forget what is staged, or what is staged of some entries."""
        self._edits.unstage(ids)
        self._on_change()

    def diff(self) -> EntriesDiff:
        """Return what the staged changes do, as a text and, in a notebook, as a table."""
        return self._edits.diff()

    async def write(self) -> Changes:
        """Write all staged changes, or none of them, and return them; :meth:`undo` takes them back.

        All are checked first. A file or a database changes in one step; several, and the sessions of a folder, one
        after the other: if one fails those before it are put back, and Ctrl-C or a cancellation is heard at the end (a
        second one at once). A kill between two leaves every file whole, some written. What others have added stays.

        Raises:
            ConflictError: A staged entry was changed meanwhile by someone else; it says which, and how. Nothing is
                written, all stays staged.
            DuplicateEntryError: Another entry holds a new text. Nothing is written.
            ConfigError: Editing is off, nothing is staged, or an entry cannot be stored.
        """
        try:
            return await self._edits.write()
        finally:
            await self.load()

    async def undo(self) -> None:
        """Take the last write back, in all stores or in none, as :meth:`write` does; a file has its bytes of before.

        Raises:
            ConflictError: An entry that was written was changed since then. Nothing is taken back.
            ConfigError: Editing is off, or nothing was written here.
        """
        try:
            await self._edits.undo()
        finally:
            await self.load()

    async def health(self) -> Health:
        """Look through all stores for what is damaged or doubtful; nothing is changed."""
        return await examine(self._stores)

    async def salvage(self, store: str | None = None, to: Any = None) -> Any:
        """Write what is readable of a store's damaged file to a new one, with a copy of the damaged one beside it.

        Args:
            store: Its name; default the store that is shown.
            to: The new file; default one beside it, with ``.rescued`` in its name.

        Returns:
            What was kept, left out and changed, and the new files' paths: a :class:`memwb.stores.Salvage`.

        Raises:
            ConfigError: The store has no file, or cannot be salvaged.
            OSError: The new file is there already, or cannot be written.
        """
        return await rescue(self._stores, self.store if store is None else store, to)


def _checked_columns(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else (value,)
    for name in names:
        if not isinstance(name, str) or (name not in COLUMNS and not name.startswith(METADATA)):
            raise ConfigError(
                f"Entries: there is no column {name!r:.60}; there are {', '.join(COLUMNS)}, and {METADATA!r} with the "
                f"path of a key behind it.{nearest(str(name), COLUMNS)}",
                key="columns",
                value=name,
                allowed=COLUMNS,
            )
    return tuple(dict.fromkeys(names))
