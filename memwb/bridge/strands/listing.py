"""Lists what the SDK's own stores hold, read-only; an SDK is not imported for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...catalog import Record

if TYPE_CHECKING:
    from ...stores import Listable


def listing(store: Any) -> Listable | None:
    """Return what lists the entries of a store of the SDK, read-only; None for one that cannot be listed.

    For a TestMemoryStore on a file that is a read-only :class:`~memwb.stores.TestMemoryStore` over the same file, for
    one in memory, and for a FileMemoryStore, a view. All show at each call what the store holds by then; searches still
    go to the SDK's store.
    """
    if is_a(store, "FileMemoryStore"):
        return _Files(store)
    if not is_test_store(store):
        return None
    path = file_of(store)
    if path is None:
        return _InMemory(store)
    from ...stores import TestMemoryStore

    return TestMemoryStore(name=store.name, path=path, writable=False)


def is_a(store: Any, name: str) -> bool:
    """Whether the store is of the SDK's class ``name``, or of one derived from it."""
    return any(owner.__name__ == name and owner.__module__.split(".")[0] == "strands" for owner in type(store).__mro__)


def is_test_store(store: Any) -> bool:
    """Whether the store is the SDK's TestMemoryStore, or derived from it."""
    return is_a(store, "TestMemoryStore")


def file_of(store: Any) -> Path | None:
    """Return the file of a Strands TestMemoryStore, None for one in memory. A ``~`` is a folder's name to the SDK."""
    if hasattr(store, "_storage"):
        folder = getattr(store._storage, "_base_dir", None)
        return None if folder is None else Path(os.path.abspath(os.path.join(folder, store._key)))
    path = getattr(store, "_path", None)
    return None if path is None else Path(os.path.abspath(path))


class _InMemory:
    """Lists what a Strands TestMemoryStore without a file holds at the moment of each call."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.name: str = store.name

    def __repr__(self) -> str:
        return f"TestMemoryStore({self.name!r}, persist=False, read-only)"

    async def count(self, where: str = "") -> int:
        """Return how many records there are, or how many hold ``where``."""
        total: int = await self._now().count(where)
        return total

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> Any:
        """Return some of the records, as TestMemoryStore does."""
        return await self._now().page(offset, limit, sort, where)

    async def get(self, id: str) -> Any:
        """Return the record with this id, or None."""
        return await self._now().get(id)

    def _now(self) -> Any:
        from ...stores import TestMemoryStore

        return TestMemoryStore.from_records(self._raw(), name=self.name)

    def _raw(self) -> list[Any]:
        if not hasattr(self._store, "_storage"):
            return list(self._store._records or [])
        from ... import _json

        data = self._store._storage._store.get(self._store._key)
        return list(_json.loads(data)) if data else []


class _Files:
    """Lists what a FileMemoryStore of the SDK finds: one entry a file, its text stripped as the search strips it.

    The SDK keeps no time beside the text, so a record has none. Bytes that are no UTF-8 are shown as the search returns
    them, with a stand-in.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self.name: str = store.name

    def __repr__(self) -> str:
        return f"FileMemoryStore({self.name!r}, read-only)"

    async def count(self, where: str = "") -> int:
        """Return how many files there are, or how many hold ``where``."""
        return len(await self._records(where) if where else await self._store._storage.list(""))

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Record]:
        """Return some of the records, by their files' names or sorted."""
        if not sort and not where:  # the files of this page alone
            return await self._read((await self._store._storage.list(""))[offset : offset + limit])
        records = await self._records(where)
        field = (sort or "").lstrip("-")
        if field in ("id", "content"):  # by time nothing changes: there is none
            records.sort(key=lambda record: str(getattr(record, field)), reverse=str(sort).startswith("-"))
        return records[offset : offset + limit]

    async def get(self, id: str) -> Record | None:
        """Return the record of a file, by its key in the storage; None without one."""
        return next(iter(await self._read([id] if id in await self._store._storage.list("") else [])), None)

    async def _records(self, where: str) -> list[Record]:
        sought = where.casefold()
        records = await self._read(await self._store._storage.list(""))
        return [record for record in records if sought in record.content.casefold()]

    async def _read(self, keys: list[str]) -> list[Record]:
        records = []
        for key in keys:
            data = await self._store._storage.read(key)
            if data is not None:  # deleted since it was listed
                text = data.decode("utf-8", errors="replace").strip()
                records.append(Record(key, text, store=self.name, metadata={"path": key}))
        return records
