"""Stores as targets: what they hold already, what they can hold, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from .. import _time
from ..catalog import Record, is_session_store, metadata_of, time_of
from ..errors import ConfigError
from ..sessions._entries import row_of
from ..sessions.types import MemoryEntry
from .jsonl import Item

PAGE = 5_000
"""Records that are read at a time."""


class Target(Protocol):
    """What a transfer needs of the store that it writes to; its items are what :meth:`converted` returns."""

    where: str

    async def look(self) -> None:
        """Read what has to be known of the store before :meth:`held` is asked."""
        ...

    def converted(self, item: Item) -> Any:
        """Return an item as the store holds it.

        Raises:
            ConfigError: It cannot hold it.
        """
        ...

    async def held(self, item: Any) -> str:
        """Return whether the store has the ``"same"`` item, another of its ``"id"``, or neither: ``""``."""
        ...

    def renamed(self, item: Any) -> tuple[Any, str]:
        """Return an item under another id, and that id, "" where the store makes it up."""
        ...

    def taken(self, item: Any) -> None:
        """Count an item as held from now on."""
        ...

    async def add(self, items: Sequence[Any]) -> None:
        """Write new items."""
        ...

    async def replace(self, item: Any) -> None:
        """Write an item in the place of the one that has its id."""
        ...


def target_of(store: Any, session_id: str | None, user_id: str | None) -> Target:
    """Return a store as a target.

    Args:
        store: The store.
        session_id: The session that long-term memories become entries of.
        user_id: Likewise the user.

    Raises:
        ConfigError: It takes no writes.
    """
    if is_session_store(store):
        return _Sessions(store, session_id, user_id)
    if hasattr(store, "add_many") or hasattr(store, "add"):
        return _Memories(store)
    raise ConfigError(
        f"transfer: cannot write to {type(store).__name__} {store!r:.80}. Give a store, or the path of a JSONL file.",
        key="target",
        value=store,
    )


class _Sessions:
    """A store of sessions as a target."""

    def __init__(self, store: Any, session_id: str | None, user_id: str | None) -> None:
        self.store, self.where = store, type(store).__name__
        self._session_id, self._user_id = session_id, user_id
        self._taken: dict[str, MemoryEntry] = {}

    async def look(self) -> None:
        await self.store.initialize()

    def converted(self, item: Item) -> MemoryEntry:
        entry = item if not isinstance(item, Record) else self._entry(item)
        row_of(entry, self.where)  # refuses what no store holds
        return entry

    def _entry(self, record: Record) -> MemoryEntry:
        metadata = dict(record.metadata or {})
        session, user, role = (metadata.pop(key, None) for key in ("session_id", "user_id", "role"))
        session = self._session_id or session
        if session is None:
            raise ConfigError("a memory that becomes an entry needs a session; give session_id.", key="session_id")
        created, updated = (time.timestamp() if time else None for time in (record.created_at, record.updated_at))
        return MemoryEntry(
            session_id=session,
            memory_id=record.id,
            user_id=self._user_id or record.owner or user or "default",
            role=record.role or role or "user",
            content=record.content,
            message_data=metadata or None,
            created_at=created,
            updated_at=created if updated is None else updated,
        )

    async def held(self, entry: MemoryEntry) -> str:
        known = self._taken.get(str(entry.memory_id)) or await self.store.get_entry(entry.memory_id)
        if known is None:
            return ""
        same = ("session_id", "user_id", "role", "content", "message_data")
        return "same" if all(getattr(known, name) == getattr(entry, name) for name in same) else "id"

    def renamed(self, entry: MemoryEntry) -> tuple[MemoryEntry, str]:
        id = _time.new_id()
        return replace(entry, memory_id=id), id

    def taken(self, entry: MemoryEntry) -> None:
        self._taken[str(entry.memory_id)] = entry

    async def add(self, entries: Sequence[MemoryEntry]) -> None:
        if hasattr(self.store, "add_many"):
            await self.store.add_many(entries)
        else:
            for entry in entries:
                await self.store.add(entry)

    async def replace(self, entry: MemoryEntry) -> None:
        before = await self.store.get_entry(entry.memory_id)
        await self.store.delete(entry.memory_id)  # an update cannot move it to another session, nor set its times
        try:
            await self.store.add(entry)
        except BaseException:
            await self.store.add(before)
            raise


class _Memories:
    """A store of long-term memory as a target; its items are records."""

    def __init__(self, store: Any) -> None:
        self.store, self.where = store, str(getattr(store, "name", type(store).__name__))
        self._keeps_owners = hasattr(store, "owner")
        self._contents: dict[tuple[str | None, str], str] = {}  # owner and stripped content -> id
        self._ids: set[str] = set()

    async def look(self) -> None:
        if not getattr(self.store, "writable", True):
            raise ConfigError(f"transfer: the store {self.where!r} is read-only.", key="target", value=self.store)
        offset = 0
        while hasattr(self.store, "page"):
            page = await self.store.page(offset, PAGE)
            for record in page:
                self.taken(record)
            offset += len(page)
            if len(page) < PAGE:
                break

    def converted(self, item: Item) -> Record:
        from ..stores._items import checked_metadata, checked_text

        if isinstance(item, Record):
            record = item
        else:
            metadata = {**metadata_of(item), "user_id": item.user_id, "role": item.role}
            record = Record(str(item.memory_id), item.content, time_of(item.created_at), metadata=metadata)
        checked_text(record.content)
        checked_metadata(record.metadata)
        own = getattr(self.store, "owner", None)
        if own is not None and record.owner not in (None, own):
            told = f"it is a memory of {record.owner!r:.80}, and the store holds those of {own!r:.80} alone."
            raise ConfigError(told, key="owner", value=record.owner)
        return record

    async def held(self, record: Record) -> str:
        if self._key(record) in self._contents:
            return "same"
        return "id" if record.id in self._ids else ""

    def renamed(self, record: Record) -> tuple[Record, str]:
        return replace(record, id=""), ""

    def taken(self, record: Record) -> None:
        self._contents.setdefault(self._key(record), record.id)
        self._ids.add(record.id)

    def _key(self, record: Record) -> tuple[str | None, str]:
        owner = record.owner or getattr(self.store, "owner", None) if self._keeps_owners else None
        return owner, record.content.strip()

    async def add(self, records: Sequence[Record]) -> None:
        if not hasattr(self.store, "add_many"):
            for record in records:
                await self.store.add(record.content, record.metadata)
            return
        await self.store.add_many([_bulk_item(record, self._keeps_owners) for record in records])

    async def replace(self, record: Record) -> None:
        if not hasattr(self.store, "update"):
            raise ConfigError(f"transfer: the store {self.where!r} cannot replace a memory.", key="collision")
        await self.store.update(record.id, record.content, record.metadata)


def _bulk_item(record: Record, with_owner: bool) -> Record | dict[str, Any]:
    if with_owner and record.id:
        return record
    item = {"content": record.content, "metadata": record.metadata, "createdAt": record.created_at}
    if with_owner:
        item["owner"] = record.owner
    return {**item, "id": record.id} if record.id else item
