"""Records exchanged for others in one write: checked against what was seen of them, and taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _json
from .._text import shortened
from ..catalog import Record
from ..errors import ConflictError, DuplicateEntryError
from ._exchanged import Exchanged
from ._items import Sources, draft, new_records
from ._record_file import RecordFile, RecordList, Step, writable
from ._records import Contents, as_record
from ._table import RawRecord


@dataclass
class Exchange(Exchanged):
    """What an exchange of a TestMemoryStore wrote, with the records as they stand in its file."""

    old: dict[str, RawRecord] = field(default_factory=dict, repr=False)
    new: dict[str, RawRecord] = field(default_factory=dict, repr=False)
    order: Sequence[str] = field(default=(), repr=False)  # the ids before, in the order of the store
    step: Step | None = field(default=None, repr=False)


class Exchanging:
    """The part of ``TestMemoryStore`` that makes several changes at once, and takes them back."""

    name: str
    path: Path | None
    _records: RecordFile | RecordList
    _sources: Sources
    _where: str

    writable: bool

    def _require_writable(self, method: str) -> None:
        raise NotImplementedError

    @property
    def fixed(self) -> str:
        """Why records cannot be exchanged here; "" where they can."""
        return "" if self.writable else "it was built with writable=False"

    async def exchange(
        self, before: Sequence[Record], after: Sequence[Record], *, only_check: bool = False
    ) -> Exchange:
        """Put records in the place of others, in one write: all of it, or nothing.

        A record of both lists (by its id) gets the text and metadata of the second, and keeps its place, its time and
        whatever else the file holds of it. One of ``before`` alone is removed, one of ``after`` alone is added at the
        end. Other records, also those added meanwhile, stay as they are.

        Args:
            before: Records as they were seen. If one is not so any more, nothing is written.
            after: What there is to be of them.
            only_check: Write nothing, only see whether it could be done now.

        Returns:
            What was done, for :meth:`take_back`.

        Raises:
            ConflictError: A record of ``before`` is gone, or was changed; it says which, and how.
            DuplicateEntryError: Another record holds a new text or a new id. A ValueError.
            ConfigError, DamagedFileError, OSError: As for :meth:`add`.
        """
        self._require_writable("exchange")

        def edit(contents: Contents) -> tuple[Exchange, Contents | None]:
            contents = writable(contents, self.path)
            made, new = exchanged(contents, before, after, self._sources, self._where, self.name)
            return made, None if only_check else new

        done, step = self._records.step(edit)
        done.step = step
        return done

    async def take_back(self, done: Exchange) -> None:
        """Undo an exchange: the file has the bytes that it had before.

        Where somebody has written since then, that stays, and only the exchanged records are as before.

        Raises:
            ConflictError: One of these was changed since then. Nothing is written.
            DuplicateEntryError: A text that would come back is held by a record that is new. A ValueError.
            ConfigError, DamagedFileError, OSError: As for :meth:`add`.
        """
        self._require_writable("take_back")
        if done.step is None or self._records.step_back(done.step):
            return
        self._records.change(lambda contents: (None, taken_back(writable(contents, self.path), done, self._where)))


def difference(seen: Record, now: Record | None) -> str:
    """Say how a record differs from what was seen of it; "" where it does not."""
    if now is None:
        return "is no longer there"
    if now.content != seen.content:
        return f"now says {shortened(now.content, 80)!r}"
    if not _same(now.metadata, seen.metadata):
        return f"now has the metadata {shortened(repr(now.metadata), 80)}"
    return "" if now.created_at == seen.created_at else f"is now of {now.created_at}"


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1, 1.0 and True are not."""
    if one == other and (one is None or repr(one) == repr(other)):
        return True
    return one is not None and other is not None and _json.dumps([one]) == _json.dumps([other])


def exchanged(
    contents: Contents, before: Sequence[Record], after: Sequence[Record], sources: Sources, where: str, name: str
) -> tuple[Exchange, Contents | None]:
    """Return what is exchanged, and the contents then; None where nothing changes. See ``TestMemoryStore.exchange``."""
    places = _places(contents, before, where, name)
    held = dict(zip(places, contents.records(places.values()), strict=True))
    wanted = {record.id: record for record in after}
    changed = {id: _changed(held[id], wanted[id]) for id in held.keys() & wanted.keys()}
    gone = {places[id] for id in held.keys() - wanted.keys()}
    added = [_draft(record) for record in after if record.id not in held]
    _check_texts(contents, places, wanted, gone, where)
    records = contents.records(range(len(contents)))
    for id, record in changed.items():
        records[places[id]] = record
    left = [record for place, record in enumerate(records) if place not in gone]
    _, new = new_records(added, contents, sources, where, deduplicate=False)
    written = {**changed, **{record["id"]: record for record in new}}
    exchange = Exchange(
        tuple(before),
        tuple(as_record(written[id], name) for id in wanted),
        held,
        written,
        contents.column("id")[: len(contents)],
    )
    if not gone and not new and all(_same(held[id], record) for id, record in changed.items()):
        return exchange, None
    return exchange, Contents.of([*left, *new])


def taken_back(contents: Contents, exchange: Exchange, where: str) -> Contents:
    """Return contents without what an exchange wrote, and with what it replaced; what others wrote meanwhile stays."""
    records = contents.records(range(len(contents)))
    at = {record["id"]: place for place, record in enumerate(records)}
    conflicts = []
    for id in exchange.old.keys() | exchange.new.keys():
        seen, now = exchange.new.get(id), records[at[id]] if id in at else None
        if len(contents.places_of_id(id)) > 1:
            conflicts.append((id, "is there several times"))
        elif seen is None and now is not None:
            conflicts.append((id, "is there again"))
        elif seen is not None and not _same(seen, now):
            conflicts.append((id, "is no longer there" if now is None else f"now says {now['content']!r:.80}"))
    if conflicts:
        raise ConflictError(where, conflicts)
    kept = [
        exchange.old.get(record["id"], record)
        for record in records
        if record["id"] in exchange.old or record["id"] not in exchange.new
    ]
    for number, id in enumerate(exchange.order):
        if id in exchange.old and id not in exchange.new:
            kept.insert(_after(kept, exchange.order[:number]), exchange.old[id])
    _check_unique(kept, exchange.old, where)
    return Contents.of(kept)


def _after(records: Sequence[RawRecord], earlier: Sequence[str]) -> int:
    """Return the place behind the last of the records that stood before it."""
    at = {record["id"]: place for place, record in enumerate(records, 1)}
    return next((at[id] for id in reversed(earlier) if id in at), 0)


def _places(contents: Contents, before: Sequence[Record], where: str, name: str) -> dict[str, int]:
    places, conflicts = {}, []
    for record in before:
        found = contents.places_of_id(record.id)
        told = "is no longer there"
        for place, raw in zip(found, contents.records(found), strict=True):
            told = difference(record, as_record(raw, name))
            if not told:
                places[record.id] = place
                break
        if told:
            conflicts.append((record.id, told))
    if conflicts:
        raise ConflictError(where, conflicts)
    return places


def _draft(record: Record) -> RawRecord:
    return draft(record.content, record.metadata, record.id, record.created_at, f"entry {record.id!r:.80}: ")


def _changed(raw: RawRecord, wanted: Record) -> RawRecord:
    checked = draft(wanted.content, wanted.metadata, where=f"entry {wanted.id!r:.80}: ")
    new = {**raw, "content": checked["content"]}
    if wanted.metadata is not None:
        new["metadata"] = checked["metadata"]
    elif raw.get("metadata") is not None:
        del new["metadata"]
    return new


def _check_texts(
    contents: Contents, places: dict[str, int], wanted: dict[str, Record], gone: set[int], where: str
) -> None:
    """Refuse a new text that another record holds then; blanks around it do not count."""
    texts: dict[str, str] = {}
    new = {
        id: record.content.strip()
        for id, record in wanted.items()
        if id not in places or record.content.strip() != contents.contents[places[id]].strip()
    }
    if not new:
        return
    rewritten = {places[id] for id in new if id in places}
    for place in range(len(contents)):
        if place not in gone and place not in rewritten:
            texts.setdefault(contents.contents[place].strip(), contents.id(place))
    for id, text in new.items():
        if text in texts:
            raise DuplicateEntryError(texts[text], where, "content")
        texts[text] = id


def _check_unique(records: Sequence[RawRecord], restored: dict[str, RawRecord], where: str) -> None:
    """Refuse to bring a text back that somebody has written anew meanwhile."""
    texts = {record["content"].strip(): record["id"] for record in records if record["id"] not in restored}
    for record in restored.values():
        holder = texts.get(record["content"].strip())
        if holder is not None:
            raise DuplicateEntryError(holder, where, "content", advice="delete that entry first")
