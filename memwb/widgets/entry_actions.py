"""What the elements of the entries' tab do: each has its twin on the state of the entries, for a cell and a script."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._text import counted
from ..errors import ConfigError, MemwbError
from ..workbench.told import told
from .panes.entries import Opened, too_long

if TYPE_CHECKING:
    from ..catalog import Record
    from ..workbench.entries import EntriesState
    from ..workbench.state import WorkbenchState


class EntryActions:
    """The part of :class:`memwb.Workbench` that does what the tab of the entries asks for."""

    state: WorkbenchState
    _opened: Opened

    def _draw(self) -> None:
        raise NotImplementedError

    @property
    def _all(self) -> EntriesState:
        return self.state.entries

    def _open(self, kind: str = "", **given: Any) -> None:
        before = self._opened
        self._opened = Opened(kind, before.number + 1, filters=before.filters, health=before.health, **given)
        self._draw()

    def _do_entry_close(self, _message: dict[str, Any]) -> None:
        self._open()

    def _do_entry_filters(self, _message: dict[str, Any]) -> None:
        self._opened.filters = not self._opened.filters
        self._draw()

    async def _do_entry_filter(self, message: dict[str, Any]) -> None:
        await self._choose(**{str(message["name"]): str(message.get("value", ""))})

    async def _do_entry_duplicates(self, _message: dict[str, Any]) -> None:
        await self._choose(duplicates=not self._all.filters.duplicates)

    async def _choose(self, **filters: Any) -> None:
        self._opened.said = ""
        try:
            self._all.choose(**filters)
        except ConfigError as error:
            self._opened.said = told(error)
        await self._all.load()
        self._draw()

    async def _do_store(self, message: dict[str, Any]) -> None:
        stores: tuple[str | None, ...] = (*self._all.stores, None)
        to = stores[int(message["value"])] if "value" in message else message["to"]
        self._all.choose(store=to)
        self._opened = Opened(number=self._opened.number, filters=self._opened.filters)
        await self._all.load()

    # -- editing ------------------------------------------------------------------------------------------------

    def _do_entry_add(self, _message: dict[str, Any]) -> None:
        free = [name for name in self._all.stores if name not in self._all.faults]
        store = self._all.store if self._all.store in free else free[0]
        self._open("add", store=str(store))

    async def _do_entry_edit(self, message: dict[str, Any]) -> None:
        record = await self._all.get(message.get("key") or self._all.selected_ids[0])
        if record is None or (fault := self._fault(record)):
            self._say("This entry is no longer there." if record is None else fault)
        elif too_long(record):
            self._say(f"This text is too long for a page: wb.entries.stage(edit={{{record.id!r}: ...}}) takes it.")
        elif self._all.state_of(record) in ("deleted", "merged"):
            self._all.unstage([self._ref(record)])
            await self._all.load()
        else:
            metadata = "" if record.metadata is None else json.dumps(record.metadata, ensure_ascii=False, indent=1)
            self._open("edit", records=[record], text=record.content, metadata=metadata)

    async def _do_entry_delete(self, message: dict[str, Any]) -> None:
        records = [await self._all.get(key) for key in message.get("keys") or list(self._all.selected_ids)]
        await self._stage(delete=[self._ref(record) for record in records if record is not None])

    async def _do_entry_merge(self, _message: dict[str, Any]) -> None:
        records = [record for key in self._all.selected_ids if (record := await self._all.get(key))]
        if len(records) > 1:
            self._open("merge", records=records, text=records[0].content)

    async def _do_entry_save(self, message: dict[str, Any]) -> None:
        opened, values = self._opened, message.get("values") or {}
        text = str(values.get("text", ""))
        opened.text, opened.metadata, opened.error = text, str(values.get("metadata", "")), ""
        try:
            if opened.kind == "merge":
                changes: dict[str, Any] = {"merge": {tuple(self._ref(record) for record in opened.records): text}}
            else:
                new = {"content": text, "metadata": _metadata(opened.metadata)}
                if opened.kind == "add":
                    changes = {"add": [new], "store": values.get("store") or opened.store}
                else:
                    changes = {"edit": {self._ref(opened.records[0]): new}}
            await self._all.put(**changes)
        except MemwbError as error:
            opened.error = told(error)
            self._draw()
        else:
            self._open()

    async def _stage(self, **changes: Any) -> None:
        try:
            await self._all.put(**changes)
        except MemwbError as error:
            self._say(told(error))
        else:
            self._say("")

    def _ref(self, record: Record) -> Record:
        """Return an entry as it was when the form was opened, with the name that its store has here."""
        return replace(record, store=self._store(record))

    def _store(self, record: Record) -> str:
        return str(record.store if self._all.store is None else self._all.store)

    def _fault(self, record: Record) -> str:
        return self._all.faults.get(self._store(record), "")

    def _say(self, text: str) -> None:
        self._opened.said = text
        self._draw()

    def _do_entry_diff(self, _message: dict[str, Any]) -> None:
        self._open("diff")

    async def _do_entry_discard(self, _message: dict[str, Any]) -> None:
        self._all.unstage()
        self._open()
        await self._all.load()

    async def _do_entry_write(self, _message: dict[str, Any]) -> None:
        try:
            written = await self._all.write()
        except Exception as error:  # told beside the button: all stays staged
            self._say(told(error))
        else:
            self._open(said=f"{counted(len(written), 'change')} written.")

    async def _do_entry_undo(self, _message: dict[str, Any]) -> None:
        try:
            await self._all.undo()
        except Exception as error:
            self._say(told(error))
        else:
            self._open(said="The last write is undone.")

    # -- health -------------------------------------------------------------------------------------------------

    async def _do_entry_health(self, _message: dict[str, Any]) -> None:
        self._opened.health = await self._all.health()
        self._open("health")

    async def _do_entry_salvage(self, message: dict[str, Any]) -> None:
        try:
            saved = await self._all.salvage(str(message["store"]))
        except (MemwbError, OSError) as error:
            self._open(said=told(error))
            return
        left = f", {len(saved.left_out)} left out" if saved.left_out else ""
        kept = counted(saved.kept, "entry", "entries")
        self._open(said=f"{kept} saved in {saved.path.name}{left}; a copy is {saved.copy.name}.")


def _metadata(text: str) -> dict[str, Any] | None:
    if not text.strip():
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"The metadata is no JSON: {error}.", key="metadata", value=text) from None
    if not isinstance(value, Mapping):
        raise ConfigError('The metadata must be a JSON object, such as {"source": "chat"}.', key="metadata", value=text)
    return dict(value)
