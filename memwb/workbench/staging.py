"""Changes to stored entries: staged first, then written at once or not at all, and taken back as a whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from .. import _time
from .._text import counted
from ..catalog import Record
from ..errors import ConfigError, EntryNotFoundError, nearest
from ..memory.messages import copied
from .changes import Change, Changes
from .entry_diff import EntriesDiff
from .unbroken import unbroken

Ref = str | tuple[str, str] | Record
"""Names an entry: its id; its store's name and its id, since ids are unique in one store only; or its record.

A record is the entry as it was seen: where the store holds another one by now, the change is not written over that."""

_LATE = datetime.max.replace(tzinfo=UTC)
_FIELDS = ("content", "metadata", "id", "createdAt", "owner", "role")


_Staged = dict[tuple[str, str], Change]
_Found = tuple[Record | None, Record]
"""An entry as it was seen, None for a new one, and as it is to be by now."""
_Done = list[tuple[Any, Any]]


class Staging:
    """What is staged, for some stores.

    Args:
        stores: The stores as they are listed, by name.
        own: The stores as they were given, by name: one that is listed through another is not edited.
        written: Called after something was written or taken back.

    Attributes:
        editable: Whether anything may be changed.
        revision: Grows with each change of what is staged.
    """

    def __init__(
        self, stores: Mapping[str, Any], own: Mapping[str, Any], written: Callable[[], None], *, editable: bool = False
    ) -> None:
        self._stores, self._own, self._written = dict(stores), dict(own), written
        self.editable = editable
        self.revision = 0
        self._staged: _Staged = {}
        self._done: list[_Done] = []

    @property
    def staged(self) -> Changes:
        """The changes, in the order in which they were staged."""
        return Changes(self._staged.values())

    @property
    def kinds(self) -> dict[tuple[str, str], str]:
        """What is staged of each entry, by store and id."""
        return {key: change.kind for key, change in self._staged.items()}

    @property
    def undoable(self) -> int:
        """How many writes can be undone, one after the other."""
        return len(self._done)

    def fault(self, name: str) -> str:
        """Say why the entries of a store cannot be edited; "" where they can."""
        store = self._stores[name]
        if not hasattr(store, "page"):
            return f"{name!r} cannot list its entries, so none can be edited here"
        if store is not self._own[name]:
            return f"{name!r} is listed through a reader of its file, so its entries cannot be edited here"
        if not (hasattr(store, "exchange") and hasattr(store, "take_back")):
            return f"{name!r} cannot edit its entries (it has no exchange and take_back)"
        fixed = getattr(store, "fixed", "")
        return f"{name!r} cannot edit its entries: {fixed}" if fixed else ""

    def diff(self) -> EntriesDiff:
        """Return what is staged as differences of text and metadata."""
        return EntriesDiff(self.staged)

    def unstage(self, ids: Iterable[Ref] | None = None) -> None:
        """Forget what is staged, or what is staged of some entries."""
        if ids is None:
            self._staged = {}
        else:
            if isinstance(ids, str) or not isinstance(ids, Iterable):
                told = f"Entries: unstage takes entries, such as [{ids!r:.40}], or nothing for all; not {ids!r:.60}."
                raise ConfigError(told, key="ids", value=ids)
            given = [self._named(ref) for ref in ids]
            gone = {key for key in self._staged for store, id in given if id == key[1] and store in (None, key[0])}
            for key in list(gone):  # a merge is one change
                target = self._staged[key].into or key
                gone |= {other for other, change in self._staged.items() if change.into == target} | {target}
            self._staged = {key: change for key, change in self._staged.items() if key not in gone}
        self.revision += 1

    async def stage(
        self,
        shown: Sequence[str],
        *,
        add: Iterable[str | Mapping[str, Any] | Record] = (),
        edit: Mapping[Any, str | Mapping[str, Any]] | None = None,
        delete: Iterable[Ref] = (),
        merge: Iterable[Sequence[Ref]] | Mapping[Any, str] = (),
        store: str | None = None,
    ) -> Changes:
        """Stage changes: all of these or none; see ``EntriesState.stage``."""
        self._require_editable()
        stores = self._among(shown if store is None else [store])
        for key, value in (("add", add), ("delete", delete), ("merge", merge)):
            if (
                not isinstance(value, Iterable)
                or isinstance(value, str)
                or (isinstance(value, Mapping) and value is not merge)
            ):
                told = f"Entries: {key} is {value!r:.60}; it must be a list, such as {key}=[{value!r:.40}]."
                raise ConfigError(told, key=key, value=value)
        if edit is not None and not isinstance(edit, Mapping):
            told = f"Entries: edit is {edit!r:.60}; it must be a dict from entries to what they become."
            raise ConfigError(told, key="edit", value=edit)
        staged = dict(self._staged)
        for item in add:
            self._add(staged, item, stores)
        for ref, new in (edit or {}).items():
            found = await self._found(staged, ref, stores)
            self._put(staged, found, _edited(found[1], new))
        for ref in delete:
            self._put(staged, await self._found(staged, ref, stores), None)
        groups = merge.items() if isinstance(merge, Mapping) else ((group, None) for group in merge)
        for group, text in groups:
            await self._merge(staged, group, text, stores)
        self._staged = staged
        self.revision += 1
        return self.staged

    async def write(self) -> Changes:
        """Write all that is staged, or nothing; see ``EntriesState.write``."""
        return await unbroken(self._write)

    async def undo(self) -> None:
        """Take the last write back, all of it or nothing; see ``EntriesState.undo``."""
        await unbroken(self._undo)

    async def _write(self) -> Changes:
        self._require_editable()
        if not self._staged:
            raise ConfigError(
                "Entries: nothing is staged, so there is nothing to write: `wb.entries.stage(...)` first."
            )
        staged, self._staged = self._staged, {}
        try:
            self._done.append(await self._exchange(list(staged.values())))
        except BaseException:
            self._staged = {**staged, **self._staged}
            raise
        finally:
            self.revision += 1
        self._written()
        return Changes(staged.values())

    async def _undo(self) -> None:
        self._require_editable()
        if not self._done:
            raise ConfigError("Entries: nothing was written here, so there is nothing to undo.")
        done = self._done.pop()
        left = list(done)
        try:
            while left:
                store, exchange = left[-1]
                await store.take_back(exchange)
                left.pop()
        except BaseException as error:
            again = [
                (store, await _held(error, store.exchange(old.before, old.after))) for store, old in done[len(left) :]
            ]
            self._done.append(left + [(store, new) for store, new in again if new is not None])
            raise
        finally:
            self.revision += 1
        self._written()

    async def _exchange(self, changes: list[Change]) -> _Done:
        plans = []
        for name in dict.fromkeys(change.store for change in changes):
            before = [change.before for change in changes if change.store == name and change.before]
            after = [change.after for change in changes if change.store == name and change.after]
            plans.append((self._own[name], before, after))
        for store, before, after in plans:  # all are looked at before the first is written
            await store.exchange(before, after, only_check=True)
        done: _Done = []
        try:
            for store, before, after in plans:
                done.append((store, await store.exchange(before, after)))
        except BaseException as error:
            for store, exchange in reversed(done):
                await _held(error, store.take_back(exchange))
            raise
        return done

    def _require_editable(self) -> None:
        if not self.editable:
            raise ConfigError(
                "Entries: nothing is changed here unless that is asked for: open the workbench with "
                "`Workbench(source, editable=True)`, or set `wb.entries.editable = True`.",
                key="editable",
                value=False,
            )

    def _among(self, names: Sequence[str]) -> list[str]:
        for name in names:
            if not isinstance(name, str) or name not in self._stores:
                close = nearest(str(name), self._stores)
                told = f"Entries: store is {name!r:.60}; it takes {', '.join(self._stores)}.{close}"
                raise ConfigError(told, key="store", value=name, allowed=tuple(self._stores))
        return list(names)

    def _named(self, ref: Ref) -> tuple[str | None, str]:
        if isinstance(ref, Record):
            return (ref.store if ref.store in self._stores else None), ref.id
        if isinstance(ref, tuple) and len(ref) == 2 and all(isinstance(part, str) for part in ref):
            self._among([ref[0]])
            return ref
        if isinstance(ref, str):
            return None, ref
        told = f"Entries: {ref!r:.80} names no entry; give its id, (store, id), or its record."
        raise ConfigError(told, key="id", value=ref)

    async def _found(self, staged: _Staged, ref: Ref, stores: Sequence[str]) -> _Found:
        """Return an entry as it was when it was staged first (None: it is new), and as it is to be by now."""
        own, id = self._named(ref)
        found: list[_Found] = []
        for name in [own] if own is not None else stores:
            change = staged.get((name, id))
            if change is not None:
                if change.after is None:
                    raise ConfigError(f"Entries: {id!r:.80} in {name!r} is staged to go; unstage it first.", key="id")
                found.append((change.before, change.after))
            elif hasattr(self._stores[name], "get"):
                record = (
                    ref if isinstance(ref, Record) and (own or len(stores) == 1) else await self._stores[name].get(id)
                )
                if record is not None:
                    record = replace(record, store=name)
                    found.append((record, record))
        if not found:
            raise EntryNotFoundError(id, " and ".join(map(repr, [own] if own is not None else stores)))
        if len(found) > 1:
            names = [str(now.store) for _, now in found]
            told = f"Entries: {id!r:.80} is an id in {' and '.join(names)}; say which is meant: ({names[0]!r}, {id!r})."
            raise ConfigError(told, key="id", value=id, allowed=names)
        self._require_store(str(found[0][1].store))
        return found[0]

    def _require_store(self, name: str) -> None:
        if fault := self.fault(name):
            raise ConfigError(f"Entries: {fault}.", key="store", value=name)

    def _add(self, staged: _Staged, item: Any, stores: Sequence[str]) -> None:
        if len(stores) > 1:
            told = f"Entries: several stores are shown; say where to add, by store={stores[0]!r}."
            raise ConfigError(told, key="store", allowed=tuple(stores))
        self._require_store(stores[0])
        record = _new(item, stores[0])
        if (stores[0], record.id) in staged:
            told = f"Entries: an entry with the id {record.id!r:.80} is staged already."
            raise ConfigError(told, key="id", value=record.id)
        staged[stores[0], record.id] = Change(stores[0], record.id, None, record)

    def _put(
        self,
        staged: _Staged,
        found: _Found,
        after: Record | None,
        into: tuple[str, str] | None = None,
        *,
        kept: bool = False,
    ) -> None:
        before, now = found
        key = (str(now.store), now.id)
        if before == after and not kept:  # both None for a new one that is no longer wanted
            staged.pop(key, None)
        else:
            staged[key] = Change(*key, before, after, into)

    async def _merge(self, staged: _Staged, group: Any, text: str | None, stores: Sequence[str]) -> None:
        if isinstance(group, str | Record) or not isinstance(group, Sequence) or len(group) < 2:
            told = f"Entries: merge holds {group!r:.80}; it must be groups of two entries or more."
            raise ConfigError(told, key="merge", value=group)
        found = [await self._found(staged, ref, stores) for ref in group]
        if len({(now.store, now.id) for _, now in found}) < len(found):
            raise ConfigError(f"Entries: merge holds an entry twice: {group!r:.80}.", key="merge", value=group)
        stays = min(found, key=lambda pair: pair[1].created_at or _LATE)
        metadata: dict[str, Any] = {}
        for _, now in [stays, *found]:
            for key, value in (now.metadata or {}).items():
                metadata.setdefault(key, value)
        now = stays[1]
        merged = replace(
            now,
            content=_text(found[0][1].content if text is None else text),
            metadata=copied(metadata) if any(each.metadata is not None for _, each in found) else None,
        )
        for pair in found:
            if pair is stays:
                self._put(staged, pair, merged, kept=True)  # it must still be there when the others go
            else:
                self._put(staged, pair, None, (str(now.store), now.id))

    def __repr__(self) -> str:
        if not self.editable:
            return "Staging(off)"
        return f"Staging({counted(len(self._staged), 'change')} staged, {counted(self.undoable, 'write')} to undo)"


async def _held(error: BaseException, work: Awaitable[Any]) -> Any:
    """Wait for what puts things right after an error; where that fails too, the error says so."""
    try:
        return await work
    except Exception as further:
        error.add_note(f"Putting back what was written before it failed as well: {further}")
        return None


def _text(value: Any) -> str:
    if isinstance(value, str) and value.strip():
        return value
    told = f"Entries: the text of an entry is {value!r:.80}; it must be a text that is not blank."
    raise ConfigError(told, key="content", value=value)


def _fields(value: Any, what: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise ConfigError(f"Entries: {what} is {value!r:.80}; it must be a text, or a dict.", key="content", value=value)


def _edited(now: Record, new: str | Mapping[str, Any]) -> Record:
    given = {"content": new} if isinstance(new, str) else _fields(new, "an edit")
    _check_keys(given, ("content", "metadata"), "an edit")
    content = _text(given["content"]) if "content" in given else now.content
    return replace(now, content=content, metadata=_metadata(given["metadata"]) if "metadata" in given else now.metadata)


def _new(item: Any, store: str) -> Record:
    if isinstance(item, Record):
        return replace(item, content=_text(item.content), id=item.id or _time.new_id(), store=store)
    given = {"content": item} if isinstance(item, str) else _fields(item, "a new entry")
    _check_keys(given, _FIELDS, "a new entry")
    for key in ("id", "owner", "role"):
        if not isinstance(given.get(key), str | None):
            told = f"Entries: {key} is {given[key]!r:.60}; it must be a text."
            raise ConfigError(told, key=key, value=given[key])
    return Record(
        id=given.get("id") or _time.new_id(),
        content=_text(given.get("content")),
        created_at=_when(given.get("createdAt")),
        store=store,
        owner=given.get("owner"),
        role=given.get("role"),
        metadata=_metadata(given.get("metadata")),
    )


def _when(value: Any) -> datetime | None:
    try:
        moment = _time.parse_stamp(value) if isinstance(value, str) else value
    except ValueError:
        moment = False
    if moment is None or (isinstance(moment, datetime) and moment.utcoffset() is not None):
        return moment
    told = f"createdAt is {value!r:.60}; it must be a time with its zone, also as a text: '2026-01-31T12:00:00.000Z'"
    raise ConfigError(f"Entries: {told}.", key="createdAt", value=value)


def _check_keys(given: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for key in given:
        if key not in known:
            told = f"Entries: {what} has no {key!r}; it takes {', '.join(known)}.{nearest(key, known)}"
            raise ConfigError(told, key=key, allowed=tuple(known))


def _metadata(value: Any) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, Mapping):
        raise ConfigError(
            f"Entries: metadata is {value!r:.80}; it must be a dict or None.", key="metadata", value=value
        )
    return None if value is None else copied(dict(value))
