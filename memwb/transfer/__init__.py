"""Moving memories: between any two stores of either lineage, to JSONL and out of it, out of DataFrames.

::

    await transfer(FileStore("memory"), SQLiteStore("memory.db"), dry_run=True)   # Transfer(812 new, 3 duplicates; ...)
    await transfer(SQLiteStore("memory.db"), Path("backup.jsonl"))
    await transfer(sessions, notes, user_id="alice")      # entries of sessions become long-term memories

A line of a JSONL file is a session's entry as ``MemoryEntry.to_dict()`` gives it, or a record: its fields that are not
None, times in ISO 8601 form.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from .._files import expand
from .._text import counted
from ..catalog import Record, SessionCatalog, is_session_store, store_of
from ..errors import ConfigError, DuplicateEntryError, MemwbError, nearest
from .jsonl import Item, check_form, id_of, line_of, read_jsonl, write_jsonl
from .targets import PAGE, Target, target_of

__all__ = ["Refusal", "Transfer", "read_jsonl", "transfer", "write_jsonl"]

Collision = Literal["skip", "replace", "new id", "fail"]
COLLISIONS = ("skip", "replace", "new id", "fail")
_SHARES = 20  # a target is written in at most so many steps: a store may rewrite its file at each
_BAR_AFTER = 0.5  # seconds; what is done sooner needs no progress bar


@dataclass(frozen=True)
class Refusal:
    """An item that the target cannot hold.

    Attributes:
        id: The item.
        reason: Why, in a sentence.
    """

    id: str
    reason: str


@dataclass(frozen=True, repr=False)
class Transfer:
    """What a transfer did, or with ``dry_run`` would do. Items are named by their ids in the source.

    Attributes:
        new: Those that the target did not have.
        duplicates: Those that it has already, and whose place is taken while ``collision`` is ``"skip"``.
        replaced: Those that took the place of another version.
        renamed: Of the new ones, those that got another id: source id -> target id; "" where the target made it up.
        refused: Those that it cannot hold.
        dry_run: Whether nothing was written.
    """

    new: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()
    dry_run: bool = False

    def __repr__(self) -> str:
        parts = [f"{len(self.new):,} new"]
        if self.renamed:
            parts.append(f"{len(self.renamed):,} of them under another id")
        parts += [f"{len(self.replaced):,} replaced"] if self.replaced else []
        parts += [counted(len(self.duplicates), "duplicate")] if self.duplicates else []
        parts += [f"{len(self.refused):,} refused"] if self.refused else []
        return f"Transfer({', '.join(parts)}{'; nothing was written' if self.dry_run else ''})"


async def transfer(
    source: Any,
    target: Any,
    *,
    collision: Collision = "skip",
    dry_run: bool = False,
    progress: bool = True,
    session_id: str | None = None,
    user_id: str | None = None,
) -> Transfer:
    """Copy memories into a store or a JSONL file. What the target holds already is not written again.

    Ids and times are kept where the target takes them; a long-term store that has only ``add`` makes its own. An entry
    of a session that becomes a long-term memory has its session, user and role as metadata; the way back reads them.

    All items are looked at before the first is written. They are written in pieces: a failure in the midst leaves what
    was written before, and the same transfer again writes the rest.

    Args:
        source: A store of either lineage, a Memory, the Path of a JSONL file, a DataFrame, or a list of entries or
            records.
        target: A store of either lineage, a Memory, or the Path of a JSONL file that does not exist yet.
        collision: What becomes of an item whose id another item of the target has: ``"skip"`` counts it as a duplicate,
            ``"replace"`` puts it in the other's place, ``"new id"`` writes it beside the other, ``"fail"`` writes
            nothing at all.
        dry_run: Only tell what would be done.
        progress: Show a progress bar where it takes a while and tqdm is installed.
        session_id: Of sessions only this one; of long-term memories, the session that they become entries of.
        user_id: Likewise the user.

    Raises:
        ConfigError: A source, target or setting cannot be taken.
        DuplicateEntryError: An id is taken, and ``collision`` is ``"fail"``. Nothing was written.
        DamagedFileError: A line of a JSONL file cannot be read.
    """
    if collision not in COLLISIONS:
        raise ConfigError(
            f"transfer: collision is {collision!r}; it takes {', '.join(map(repr, COLLISIONS))}."
            f"{nearest(collision, COLLISIONS)}",
            key="collision",
            value=collision,
            allowed=COLLISIONS,
        )
    source, target = store_of(source), store_of(target)
    items = await _items(source, session_id, user_id)
    if isinstance(target, str | os.PathLike):
        return _to_file(expand(target), items, dry_run)
    writer = target_of(target, session_id, user_id)
    plan = await _Plan.of(writer, items, collision)
    if not dry_run:
        await plan.carry_out(writer, progress)
    return replace(plan.outcome, dry_run=dry_run)


# --- what is read -----------------------------------------------------------------------------------------------------


async def _items(source: Any, session_id: str | None, user_id: str | None) -> list[Item]:
    if is_session_store(source):
        return list(await SessionCatalog(source, session_id, user_id).entries())
    if isinstance(source, str | os.PathLike):
        found = read_jsonl(source)
    elif hasattr(source, "columns") and hasattr(source, "iloc"):
        found = _of_frame(source, session_id, user_id)
    elif hasattr(source, "page"):
        found = []
        while page := await source.page(len(found), PAGE):
            found += page
            if len(page) < PAGE:
                break
    elif isinstance(source, Iterable):
        found = list(source)
    else:
        raise ConfigError(
            f"transfer: cannot read {type(source).__name__} {source!r:.80}. Give a store that lists its entries, the "
            "path of a JSONL file, a DataFrame, or a list of entries or records.",
            key="source",
            value=source,
        )
    for at, item in enumerate(found):
        if not isinstance(item, Record) and not hasattr(item, "session_id"):
            raise ConfigError(f"transfer: item {at} is {item!r:.80}, neither an entry nor a record.", key="source")
    return [item for item in found if _wanted(item, session_id, user_id)]


def _wanted(item: Item, session_id: str | None, user_id: str | None) -> bool:
    if isinstance(item, Record):
        return True
    return session_id in (None, item.session_id) and user_id in (None, item.user_id)


def _of_frame(frame: Any, session_id: str | None, user_id: str | None) -> list[Item]:
    from ..frames import entries_from_frame, records_from_frame

    if {"session_id", "memory_id", "message_data"} & set(frame.columns):
        return list(entries_from_frame(frame, session_id, user_id or "default"))
    return list(records_from_frame(frame))


def _to_file(path: Path, items: list[Item], dry_run: bool) -> Transfer:
    check_form(path, "target")
    kept: list[Item] = []
    refused = []
    for item in items:
        try:
            line_of(item)
            kept.append(item)
        except ConfigError as error:
            refused.append(Refusal(id_of(item), str(error)))
    if not dry_run:
        write_jsonl(path, kept)
    return Transfer(tuple(map(id_of, kept)), refused=tuple(refused), dry_run=dry_run)


# --- what is to be done -----------------------------------------------------------------------------------------------


@dataclass
class _Plan:
    """What becomes of each item: made by looking alone, then carried out."""

    adds: list[Any]
    replacements: list[Any]
    outcome: Transfer

    @classmethod
    async def of(cls, writer: Target, items: Sequence[Item], collision: Collision) -> _Plan:
        adds: list[Any] = []
        replacements: list[Any] = []
        new, duplicates, replaced = list[str](), list[str](), list[str]()
        renamed: dict[str, str] = {}
        refused: list[Refusal] = []
        await writer.look()
        for item in items:
            id = id_of(item)
            try:
                wanted = writer.converted(item)
                known = await writer.held(wanted)
            except MemwbError as error:
                refused.append(Refusal(id, str(error)))
                continue
            if known == "same" or (known == "id" and collision == "skip"):
                duplicates.append(id)
                continue
            if known == "id" and collision == "fail":
                advice = "take another collision: 'skip', 'replace' or 'new id'"
                raise DuplicateEntryError(id, writer.where, advice=advice)
            if known == "id" and collision == "replace":
                replacements.append(wanted)
                replaced.append(id)
            else:
                if known == "id":
                    wanted, renamed[id] = writer.renamed(wanted)
                adds.append(wanted)
                new.append(id)
            writer.taken(wanted)
        outcome = Transfer(tuple(new), tuple(duplicates), tuple(replaced), renamed, tuple(refused))
        return cls(adds, replacements, outcome)

    async def carry_out(self, writer: Target, progress: bool) -> None:
        with _bar(len(self.adds) + len(self.replacements), progress) as advance:
            size = max(PAGE, len(self.adds) // _SHARES)
            for start in range(0, len(self.adds), size):
                await writer.add(self.adds[start : start + size])
                advance(len(self.adds[start : start + size]))
            for item in self.replacements:
                await writer.replace(item)
                advance(1)


class _bar:
    """A progress bar where tqdm is installed and it takes a while."""

    def __init__(self, total: int, shown: bool) -> None:
        self._bar: Any = None
        if shown:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=total, desc="transfer", unit="entry", delay=_BAR_AFTER)

    def __enter__(self) -> Callable[[int], Any]:
        return self._bar.update if self._bar is not None else lambda count: None

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
