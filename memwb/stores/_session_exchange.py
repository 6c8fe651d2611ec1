"""Entries of sessions exchanged for others: each session in one write, all sessions or none, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .. import _time
from ..catalog import Record, SessionCatalog, record_of
from ..errors import ConfigError, ConflictError, DuplicateEntryError
from ..memory.messages import copied
from ._exchange import difference
from ._exchanged import Exchanged

if TYPE_CHECKING:
    from .. import sessions

_Key = tuple[str, str]
_TRIES = 50
"""How often a session is read again because somebody wrote to it meanwhile."""


@dataclass
class SessionExchange(Exchanged):
    """What an exchange of entries of sessions wrote."""

    old: dict[str, sessions.MemoryEntry] = field(default_factory=dict, repr=False)
    new: dict[str, sessions.MemoryEntry] = field(default_factory=dict, repr=False)
    order: dict[_Key, list[str]] = field(default_factory=dict, repr=False)  # of ids, before


async def exchange(
    catalog: SessionCatalog, before: Sequence[Record], after: Sequence[Record], *, only_check: bool
) -> SessionExchange:
    """Put entries in the place of others; see ``SessionSearch.exchange``."""
    done = SessionExchange(tuple(before), ())
    await _plan(catalog, before, after, done)
    if not only_check:
        await _write(catalog, done.old, done.new, done.order)
    done.after = tuple(record_of(entry, catalog.name) for entry in done.new.values())
    return done


async def take_back(catalog: SessionCatalog, done: SessionExchange) -> None:
    """Undo an exchange; what others wrote meanwhile stays."""
    await _write(catalog, done.new, done.old, done.order)


async def _plan(
    catalog: SessionCatalog, before: Sequence[Record], after: Sequence[Record], done: SessionExchange
) -> None:
    wanted = {record.id: record for record in after}
    conflicts = []
    for seen in before:
        entry = await catalog.store.get_entry(seen.id)
        told = difference(seen, None if entry is None else record_of(entry, catalog.name))
        if told:
            conflicts.append((seen.id, told))
            continue
        done.old[seen.id] = entry
        if seen.id in wanted:
            done.new[seen.id] = _changed(entry, wanted[seen.id])
    if conflicts:
        raise ConflictError(catalog.name, conflicts)
    for record in after:
        if record.id not in done.old:
            if await catalog.store.get_entry(record.id) is not None:
                raise DuplicateEntryError(record.id, catalog.name)
            done.new[record.id] = _made(catalog, record)
    for entry in (*done.old.values(), *done.new.values()):
        key = (entry.session_id, entry.user_id)
        if key not in done.order:
            done.order[key] = [str(held.memory_id) for held in await catalog.store.get_entries(*key)]


async def _write(
    catalog: SessionCatalog,
    old: dict[str, sessions.MemoryEntry],
    new: dict[str, sessions.MemoryEntry],
    order: dict[_Key, list[str]],
) -> None:
    """Exchange the entries of each session; where one fails, those before it are put back."""
    written: list[_Key] = []

    def of(key: _Key, entries: dict[str, sessions.MemoryEntry]) -> dict[str, sessions.MemoryEntry]:
        return {id: entry for id, entry in entries.items() if (entry.session_id, entry.user_id) == key}

    for key in order:  # all are looked at before the first is written
        _exchanged(await catalog.store.get_entries(*key), of(key, old), of(key, new), order[key], catalog.name)
    try:
        for key in order:
            await _put(catalog, key, of(key, old), of(key, new), order[key])
            written.append(key)
    except BaseException:
        for key in reversed(written):
            await _put(catalog, key, of(key, new), of(key, old), order[key])
        raise


async def _put(
    catalog: SessionCatalog,
    key: _Key,
    old: dict[str, sessions.MemoryEntry],
    new: dict[str, sessions.MemoryEntry],
    order: Sequence[str],
) -> None:
    for _ in range(_TRIES):
        held = await catalog.store.get_entries(*key)
        if await catalog.store.replace_session(*key, _exchanged(held, old, new, order, catalog.name), held):
            return
    raise ConflictError(
        catalog.name, [(next(iter({**old, **new})), f"is in a session that keeps changing, {key[0]!r}")]
    )


def _exchanged(
    held: Sequence[sessions.MemoryEntry],
    old: dict[str, sessions.MemoryEntry],
    new: dict[str, sessions.MemoryEntry],
    order: Sequence[str],
    where: str,
) -> list[sessions.MemoryEntry]:
    """Return what a session holds after the exchange."""
    there = {str(entry.memory_id): entry for entry in held}
    conflicts = []
    for id in old.keys() | new.keys():
        if id not in old and id in there:
            conflicts.append((id, "is there already"))
        elif id in old and there.get(id) != old[id]:
            told = difference(record_of(old[id]), record_of(there[id]) if id in there else None)
            conflicts.append((id, told or "has other message data now"))
    if conflicts:
        raise ConflictError(where, conflicts)
    kept = [new.get(str(entry.memory_id), entry) for entry in held if _stays(str(entry.memory_id), old, new)]
    places = {id: place for place, id in enumerate(order)}
    for id in new.keys() - old.keys():
        earlier = set(order[: places.get(id, len(order))])
        at = max((place for place, entry in enumerate(kept, 1) if str(entry.memory_id) in earlier), default=0)
        kept.insert(at if id in places else len(kept), new[id])
    return kept


def _stays(id: str, old: dict[str, sessions.MemoryEntry], new: dict[str, sessions.MemoryEntry]) -> bool:
    return id not in old or id in new


def _changed(entry: sessions.MemoryEntry, wanted: Record) -> sessions.MemoryEntry:
    """Return an entry with the text and the metadata of a record, its message data in step."""
    from ..sessions.messages import with_content

    is_as_before = record_of(entry).metadata == wanted.metadata
    data = entry.message_data
    if wanted.content != entry.content:
        data = with_content(entry, wanted.content)
    if not is_as_before:
        given = dict(wanted.metadata or {})
        if given.pop("session_id", entry.session_id) != entry.session_id:
            raise ConfigError(
                f"The entry {wanted.id!r:.80} is of session {entry.session_id!r}; a change cannot move it to another "
                "one. Nothing was written: delete it and add it there.",
                key="session_id",
            )
        told = record_of(entry).metadata or {}
        kept = {key: value for key, value in (data or {}).items() if key not in told}
        data = {"role": entry.role, "content": wanted.content, **kept, **copied(given)} if given or kept else None
    return replace(entry, content=wanted.content, message_data=copied(data), updated_at=_time.now().timestamp())


def _made(catalog: SessionCatalog, record: Record) -> sessions.MemoryEntry:
    from .. import sessions

    given = dict(record.metadata or {})
    session_id = given.pop("session_id", catalog.session_id)
    if not isinstance(session_id, str) or not session_id:
        raise ConfigError(
            f"The new entry {record.content!r:.60} has no session: give metadata={{'session_id': ...}}. Nothing was "
            "written.",
            key="session_id",
        )
    role = record.role or "user"
    return sessions.MemoryEntry(
        session_id=session_id,
        memory_id=record.id,
        user_id=record.owner or catalog.user_id or "default",
        role=role,
        content=record.content,
        message_data={"role": role, "content": record.content, **copied(given)} if given else None,
        created_at=None if record.created_at is None else record.created_at.timestamp(),
    )


def fault(store: Any) -> str:
    """Say why a store of sessions cannot exchange entries; "" where it can."""
    return "" if hasattr(store, "replace_session") else "it cannot change a session as a whole (no replace_session)"
