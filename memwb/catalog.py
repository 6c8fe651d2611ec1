"""Browsing both kinds of memory alike: long-term stores and sessions, in rows of one form."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ._redact import shown
from .errors import ConfigError, nearest
from .memory.messages import copied

if TYPE_CHECKING:
    from . import sessions

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Record:
    """One stored memory, whichever store holds it.

    A record is a copy: changing its metadata changes nothing in the store.

    Attributes:
        id: Names the record within its store.
        content: Its text.
        created_at: When it was stored, aware and in UTC; None where the store's time cannot be read as one.
        updated_at: When it was last changed; None where the store keeps no such time.
        store: The name of the store.
        owner: Whose memory it is, where the source tells (a user, a session's user, a data set's person).
        role: Who spoke, in session memory.
        metadata: What is kept beside the text; ``{}`` and None are different.
    """

    id: str
    content: str
    created_at: datetime | None = None
    updated_at: datetime | None = None
    store: str | None = None
    owner: str | None = None
    role: str | None = None
    metadata: dict[str, Any] | None = field(default=None, hash=False)

    def __repr__(self) -> str:
        hidden = {"content": shown(self.content), "metadata": shown(self.metadata)}
        values = (f"{name}={value!r}" for name, value in {**vars(self), **hidden}.items())
        return f"Record({', '.join(values)})"


@runtime_checkable
class Catalog(Protocol):
    """Records to browse, whichever lineage they are of; a store that is ``memwb.stores.Listable`` is one itself."""

    async def count(self, where: str = "") -> int:
        """Return how many records there are, or how many hold ``where`` in their text, whatever the case."""
        ...

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Record]:
        """Return some of the records, in the store's order or sorted by a name, ``-`` before it for descending."""
        ...

    async def get(self, id: str) -> Record | None:
        """Return the record with this id, or None."""
        ...


def of(store: Any, session_id: str | None = None, user_id: str | None = None) -> Catalog:
    """Return the records of a store, of long-term memory or of sessions.

    An entry of a session is a record with its user as ``owner``, and in its metadata its ``session_id`` and what its
    message data holds besides role and content, such as ``tool_calls``.

    Args:
        store: A store that can list its entries, a store of sessions: memwb's, or any that follows the protocol, or a
            Memory, whose store is taken.
        session_id: Only this session. A store that cannot list its sessions needs it.
        user_id: Only this user, without ``session_id`` in all sessions. A store that cannot list its sessions needs it
            too, and takes "default" where it is left out.

    Raises:
        ConfigError: It cannot be listed.
    """
    store = store_of(store)
    if is_session_store(store):
        return SessionCatalog(store, session_id, user_id)
    if session_id is not None or user_id is not None:
        raise ConfigError(
            f"catalog.of: {type(store).__name__} is no store of sessions; leave session_id and user_id out.",
            key="session_id" if session_id is not None else "user_id",
        )
    if isinstance(store, Catalog):
        return store
    raise ConfigError(
        f"catalog.of: {type(store).__name__} cannot list its entries (it has neither count, page and get, nor "
        "get_entries).",
        key="store",
        value=store,
    )


def is_session_store(store: Any) -> bool:
    """Whether a store keeps sessions: what it has tells, not its class."""
    if isinstance(store, type):
        return False
    return all(hasattr(store, name) for name in ("get_entries", "get_entry", "delete_session"))


def store_of(given: Any) -> Any:
    """Return the store of a Memory; anything else as it is."""
    is_memory = hasattr(given, "get_context_messages") and hasattr(given, "store") and not isinstance(given, type)
    return given.store if is_memory else given


class SessionCatalog:
    """Entries of sessions as records, by session and user, each session in its order.

    What was read is kept as long as the store tells that it still holds that (``revision``), and by other stores until
    :meth:`count` or a first page is asked for again: so a listing does not change while it is paged through.

    Args:
        store: The store of sessions.
        session_id: Only this session, None for all.
        user_id: Only this user, None for all.

    Raises:
        ConfigError: The store cannot list its sessions, and no session is named.
    """

    def __init__(self, store: Any, session_id: str | None = None, user_id: str | None = None) -> None:
        if session_id is None and not hasattr(store, "sessions"):
            raise ConfigError(
                f"{type(store).__name__} cannot list its sessions; give session_id, and user_id.", key="session_id"
            )
        self.store, self.session_id, self.user_id = store, session_id, user_id
        self.name = type(store).__name__
        self._kept: tuple[Hashable, list[sessions.MemoryEntry]] = (None, [])
        self._records: tuple[list[sessions.MemoryEntry] | None, list[Record]] = (None, [])  # of those entries
        self._found: tuple[str, list[Record]] = ("", [])  # what is looked for, and the records that hold it
        self._sorted: tuple[str | None, list[Record]] = (None, [])

    def __repr__(self) -> str:
        parts = [
            f"{key} {value!r}"
            for key, value in (("session", self.session_id), ("user", self.user_id))
            if value is not None
        ]
        return f"SessionCatalog({', '.join([self.name, *parts])})"

    async def count(self, where: str = "") -> int:
        """Return how many entries there are, or how many hold ``where`` in their text, whatever the case."""
        return len(await self._read(where))

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Record]:
        """Return some of the entries.

        Args:
            offset: How many to leave out at the start; with 0 the store is read.
            limit: The most to return, at least 0.
            sort: ``created_at``, ``updated_at``, ``content``, ``id``, ``owner``, ``role`` or ``session_id``, with ``-``
                before it for descending; equal ones stay in their order. None: by session, user and time.
            where: Only entries whose text holds this, whatever the case.

        Raises:
            ConfigError: It cannot be sorted by this, or an offset or limit is no whole number of at least 0.
        """
        key = sort_of(sort)
        for name, value in (("offset", offset), ("limit", limit)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                message = f"catalog: {name} is {value!r:.80}; it must be a whole number, at least 0."
                raise ConfigError(message, key=name, value=value)
        if offset == 0 or self._records[0] is None or self._found[0] != where:
            await self._read(where)
        if self._sorted[0] != sort:
            found = self._found[1]
            descending = sort is not None and sort.startswith("-")
            self._sorted = (sort, found if key is None else sorted(found, key=key, reverse=descending))
        return [_copy(record) for record in self._sorted[1][offset : offset + limit]]

    async def _read(self, where: str) -> list[Record]:
        entries = await self.entries()
        if entries is not self._records[0]:
            self._records = entries, [record_of(entry, self.name) for entry in entries]
        elif where == self._found[0]:
            return self._found[1]
        found = self._records[1]
        if where:
            sought = where.casefold()
            found = [record for record in found if sought in record.content.casefold()]
        self._found, self._sorted = (where, found), (None, found)
        return found

    async def get(self, id: str) -> Record | None:
        """Return the entry with this id, or None where there is none in what is listed."""
        entry = await self.store.get_entry(id)
        if (
            entry is None
            or self.session_id not in (None, entry.session_id)
            or self.user_id not in (None, entry.user_id)
        ):
            return None
        return record_of(entry, self.name)

    async def entries(self) -> list[sessions.MemoryEntry]:
        """Return the entries, not to be changed: the same list as before where the store says it still holds that."""
        revision = await self.store.revision(self.session_id) if hasattr(self.store, "revision") else None
        if revision is not None and revision == self._kept[0]:
            return self._kept[1]
        self._kept = revision, await self._entries()  # at least as new as the revision
        return self._kept[1]

    async def _entries(self) -> list[sessions.MemoryEntry]:
        if self.session_id is not None and (self.user_id is not None or not hasattr(self.store, "sessions")):
            return list(await self.store.get_entries(self.session_id, self.user_id or "default"))
        found = []
        for info in await self.store.sessions():
            if self._shows(info.session_id, info.user_id):
                found += await self.store.get_entries(info.session_id, info.user_id)
        return found

    def _shows(self, session_id: str, user_id: str) -> bool:
        return self.session_id in (None, session_id) and self.user_id in (None, user_id)


_SORTS: dict[str, Callable[[Record], Any]] = {
    "created_at": lambda record: record.created_at or _NEVER,
    "updated_at": lambda record: record.updated_at or _NEVER,
    "content": lambda record: record.content,
    "id": lambda record: record.id,
    "owner": lambda record: record.owner or "",
    "role": lambda record: record.role or "",
    "session_id": lambda record: (record.metadata or {}).get("session_id", ""),
}


def sort_of(sort: str | None) -> Callable[[Record], Any] | None:
    """Read ``sort=``: what it takes of a record, None for the order there is."""
    if sort is None:
        return None
    key = _SORTS.get(sort.removeprefix("-")) if isinstance(sort, str) else None
    if key is None:
        names = ", ".join(_SORTS)
        raise ConfigError(
            f"catalog: sort is {sort!r}; it must be one of {names}, with '-' before it for descending, or None."
            f"{nearest(sort, _SORTS)}",
            key="sort",
            value=sort,
            allowed=_SORTS,
        )
    return key


def record_of(entry: sessions.MemoryEntry, store: str | None = None) -> Record:
    """Return an entry of a session as a record; what a summary keeps of the entries that it replaced is left out."""
    return Record(
        id=str(entry.memory_id),
        content=entry.content,
        created_at=time_of(entry.created_at),
        updated_at=time_of(entry.updated_at),
        store=store,
        owner=entry.user_id,
        role=entry.role,
        metadata=metadata_of(entry),
    )


def metadata_of(entry: sessions.MemoryEntry) -> dict[str, Any]:
    """Return the metadata of an entry as a record: what its message data adds to it, and its session."""
    left_out = {"role", *(("content",) if isinstance((entry.message_data or {}).get("content"), str) else ())}
    if entry.role == "summary":
        left_out |= {"replaced", "order"}
    data = {key: value for key, value in (entry.message_data or {}).items() if key not in left_out}
    return {**copied(data), "session_id": entry.session_id}


def _copy(record: Record) -> Record:
    return replace(record, metadata=copied(record.metadata))


def time_of(seconds: float | None) -> datetime | None:
    """Return a session's time, in seconds since 1970, as an aware datetime; None where it is none."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):  # beyond the years that a datetime knows
        return None
