"""Putting a summary in the place of entries, and taking it back: all of it or nothing, whatever fails on the way.

A store with ``replace_session`` does it in one transaction. Any other store that follows the protocol gets the safest
order that single writes allow: what is new is written before anything is deleted, and a failure takes back what was
done. The entries that a summary replaced are kept in its own message data, so there is no moment without them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from .._text import shortened
from ..errors import ConfigError, SummaryError
from ._entries import row_of
from .messages import SUMMARY
from .types import MemoryEntry

REPLACED = "replaced"
"""The key of a summary's message data that holds the entries which it replaced, as dicts."""

ORDER = "order"
"""The key of a summary's message data that holds the ids of the session's entries as they were, in order."""

_TRIES = 100  # each is lost only to another writer's success


class Overtaken(SummaryError):
    """What a summary replaces is no longer there as it was."""


def with_backup(summary: MemoryEntry, replaced: Sequence[MemoryEntry], before: Sequence[MemoryEntry]) -> MemoryEntry:
    """Return a summary that keeps what it replaces. An earlier summary among that is kept without what it kept itself.

    Args:
        summary: The summary's entry.
        replaced: What it replaces.
        before: The whole session as it was.
    """
    backup = {REPLACED: [_as_dict(entry) for entry in replaced], ORDER: [entry.memory_id for entry in before]}
    return replace(summary, message_data=backup)


def is_undoable(entry: MemoryEntry) -> bool:
    """Whether an entry is a summary that keeps what it replaced."""
    return entry.role == SUMMARY and isinstance((entry.message_data or {}).get(REPLACED), list)


def entry_class(store: Any) -> Any:
    """Return the class of a store's entries: the one that its own module calls MemoryEntry, else memwb's."""
    for owner in type(store).__mro__:
        found = getattr(sys.modules.get(owner.__module__), "MemoryEntry", None)
        if isinstance(found, type) and hasattr(found, "__dataclass_fields__"):
            return found
    return MemoryEntry


async def swap_in(store: Any, summary: MemoryEntry, replaced: Sequence[MemoryEntry]) -> MemoryEntry:
    """Put a summary in the place of entries of its session and return it; what was added meanwhile stays.

    Raises:
        SummaryError: One of the entries was changed or removed meanwhile, or the store cannot order the summary.
    """
    session, user = summary.session_id, summary.user_id
    ids = {entry.memory_id for entry in replaced}

    def swapped(entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
        there = [entry for entry in entries if entry.memory_id in ids]
        if [_content(entry) for entry in there] != [_content(entry) for entry in replaced]:
            raise Overtaken("what it replaces was changed or removed meanwhile; preview it again.")
        at = entries.index(there[0])
        return [*entries[:at], summary, *(entry for entry in entries[at:] if entry.memory_id not in ids)]

    if hasattr(store, "replace_session"):
        await _replaced(store, session, user, swapped)
        return summary
    entries = swapped(await store.get_entries(session, user))
    behind = entries[entries.index(summary) + 1 :]
    if any((entry.created_at or 0.0) <= (summary.created_at or 0.0) for entry in behind):
        raise SummaryError("entries of one moment lie on both sides of it, and this store orders by time alone.")
    summary = as_entry(store, _as_dict(summary, whole=True))
    await _exchange(store, [summary], replaced)
    return summary


async def swap_out(store: Any, session_id: str, user_id: str) -> list[MemoryEntry]:
    """Bring back what the latest summary of a session replaced, take the summary away, and return what came back.

    Raises:
        SummaryError: There is no summary that keeps what it replaced.
    """
    back: list[MemoryEntry] = []

    def swapped(entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
        summary = _undoable(entries, session_id, user_id)
        data = summary.message_data or {}
        back[:] = _kept(store, data[REPLACED], session_id, user_id)
        order = data.get(ORDER)
        order = order if isinstance(order, list) else []
        place: dict[str | None, int] = {id: at for at, id in enumerate(order) if isinstance(id, str)}
        rest = [entry for entry in entries if entry.memory_id != summary.memory_id]
        before = [entry for entry in rest if entry.memory_id in place]
        after = [entry for entry in rest if entry.memory_id not in place]
        return [*sorted([*before, *back], key=lambda entry: place.get(entry.memory_id, len(place))), *after]

    if hasattr(store, "replace_session"):
        await _replaced(store, session_id, user_id, swapped)
        return back
    entries = await store.get_entries(session_id, user_id)
    swapped(entries)
    await _exchange(store, back, [_undoable(entries, session_id, user_id)])
    return back


async def _replaced(store: Any, session_id: str, user_id: str, change: Any) -> None:
    """Change a session in one transaction; begin again where another writer was faster."""
    for _ in range(_TRIES):
        entries = await store.get_entries(session_id, user_id)
        if await store.replace_session(session_id, user_id, change(entries), expected=entries):
            return
    raise SummaryError("the session is written to without a pause; try again later.")


async def _exchange(store: Any, new: Sequence[MemoryEntry], old: Sequence[MemoryEntry]) -> None:
    """Write entries, then delete others; a failure takes back what was done."""
    added: list[MemoryEntry] = []
    deleted: list[MemoryEntry] = []
    try:
        for entry in new:
            added.append(entry)
            await store.add(entry)
        for entry in reversed(old):
            deleted.insert(0, entry)
            await store.delete(entry.memory_id)
    except BaseException:
        await _taken_back(store, added, deleted)
        raise


async def _taken_back(store: Any, added: Sequence[MemoryEntry], deleted: Sequence[MemoryEntry]) -> None:
    """Write what was deleted, then delete what was added. What fails here is logged: the first failure is raised."""
    try:
        for entry in deleted:
            if await store.get_entry(entry.memory_id) is None:  # the last of them may not have got that far
                await store.add(entry)
        for entry in added:
            await store.delete(entry.memory_id)
    except Exception:
        import logging  # not before: it is not needed by those who only keep entries

        ids = [entry.memory_id for entry in added]
        message = "Memory: a failed summary could not be taken back; nothing is lost, %s hold all entries"
        logging.getLogger(__name__).exception(message, ids)


def _undoable(entries: Sequence[MemoryEntry], session_id: str, user_id: str) -> MemoryEntry:
    found = [entry for entry in entries if is_undoable(entry)]
    if not found:
        raise SummaryError(f"session {session_id!r} of user {user_id!r} has none that could be taken back.")
    return found[-1]


def _kept(store: Any, replaced: Sequence[Any], session_id: str, user_id: str) -> list[MemoryEntry]:
    """Return the entries that a summary kept.

    Raises:
        SummaryError: What it keeps has been changed since: it is none, or of another session or user.
    """
    found = []
    for number, data in enumerate(replaced, 1):
        try:
            entry = as_entry(store, data)
            row_of(entry, "the summary")
            good = (entry.session_id, entry.user_id) == (session_id, user_id)
        except (ConfigError, AttributeError, TypeError, ValueError):
            good = False
        if not good:
            raise SummaryError(
                f"what it keeps of the entries that it replaced is damaged: number {number} of {len(replaced)} is "
                f"{shortened(repr(data), 80)}, no entry of this session. Its text is all that there is."
            )
        found.append(entry)
    return found


def as_entry(store: Any, data: dict[str, Any]) -> MemoryEntry:
    """Return the entry of a store's own kind that a dict holds; fields that this kind does not have are left out."""
    kind = entry_class(store)
    known = {field.name for field in fields(kind)}
    made: MemoryEntry = kind(**{key: value for key, value in data.items() if key in known})
    return made


def _as_dict(entry: MemoryEntry, *, whole: bool = False) -> dict[str, Any]:
    data: dict[str, Any] = entry.to_dict()
    if not whole and is_undoable(entry):
        data["message_data"] = None
    return data


def _content(entry: MemoryEntry) -> tuple[Any, ...]:
    return entry.memory_id, entry.role, entry.content, entry.message_data
