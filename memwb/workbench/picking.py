"""Entries of one store or of several as the rows of one table: filtered, grouped, with staged changes laid over."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from .._time import parse_stamp
from ..errors import ConfigError
from ..ranking.near import THRESHOLD, near_groups
from .rows import METADATA, StoreRows, ordered, path_of, value_at

if TYPE_CHECKING:
    from ..catalog import Record
    from .changes import Change

_ABSENT = object()
_AT_ONCE = 2_000  # texts that are compared without a thread
_STEP = re.compile(r"((?:\\.|[^\\.\[])*)((?:\[\d+\])*)(?:\.|$)")
_QUESTION = re.compile(r"(?P<path>.*?)\s*(?:(?P<how>=|~)\s*(?P<value>.*))?", re.DOTALL)


@dataclass(frozen=True)
class Filters:
    """What the entries shown are like, beside the text that they hold.

    Attributes:
        owner: Whose memory it is: text in the owner's name, in any letter case.
        since: The first day or moment; a day is one in UTC.
        until: The last day or moment, itself included.
        metadata: ``a.b[0]``: there is a value; ``a.b[0] = x``: it is x; ``a.b ~ x``: it holds x, in any letter case.
        duplicates: Whether only entries with a near duplicate are shown, by group.
    """

    owner: str = ""
    since: date | datetime | None = None
    until: date | datetime | None = None
    metadata: str = ""
    duplicates: bool = False

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))

    def test(self) -> Callable[[Record], bool]:
        """Return what says whether an entry is as asked, near duplicates aside."""
        tests: list[Callable[[Record], bool]] = []
        if self.owner:
            owner = self.owner.casefold()
            tests.append(lambda record: owner in (record.owner or "").casefold())
        if self.since is not None:
            first = _moment(self.since)
            tests.append(lambda record: record.created_at is not None and record.created_at >= first)
        if self.until is not None:
            after = _moment(self.until, end=True)
            tests.append(lambda record: record.created_at is not None and record.created_at < after)
        if self.metadata.strip():
            tests.append(_metadata_test(self.metadata))
        return lambda record: all(test(record) for test in tests)


FILTERS = tuple(each.name for each in fields(Filters))


def checked_filter(key: str, value: Any) -> Any:
    """Return the value of a filter as :class:`Filters` holds it.

    Raises:
        ConfigError: It cannot be that.
    """
    kind = {"owner": "a text", "metadata": "a text", "duplicates": "True or False"}.get(key, "a day or a time, or None")
    if key in ("since", "until"):
        if isinstance(value, str):
            try:
                return None if not value.strip() else _read_time(value.strip())
            except ValueError:
                kind += ", such as '2026-01-31' or '2026-01-31T12:00'"
        elif value is None or isinstance(value, date):
            return value
    elif key == "duplicates" and isinstance(value, bool):
        return value
    elif key != "duplicates" and isinstance(value, str):
        if key == "metadata" and value.strip():
            _metadata_test(value)
        return value
    raise ConfigError(f"Entries: {key} is {value!r:.80}; it must be {kind}.", key=key, value=value)


def _read_time(text: str) -> date | datetime:
    return date.fromisoformat(text) if len(text) <= 10 else parse_stamp(text)


def _moment(given: date | datetime, *, end: bool = False) -> datetime:
    """Return the first moment of a day or, for ``end``, the first after a day or a moment; without a zone it is UTC."""
    if isinstance(given, datetime):
        aware = given if given.tzinfo else given.replace(tzinfo=UTC)
        return aware + timedelta(microseconds=1) if end else aware
    return datetime.combine(given, time.min, UTC) + timedelta(days=end)


def _metadata_test(question: str) -> Callable[[Record], bool]:
    match = _QUESTION.fullmatch(question.strip())
    assert match is not None
    steps = _steps(match["path"].strip(), question)
    how, sought = match["how"], (match["value"] or "").strip()
    folded = sought.casefold()

    def test(record: Record) -> bool:
        value = _at(record.metadata, steps)
        if value is _ABSENT or how is None:
            return value is not _ABSENT
        return sought == _text(value) if how == "=" else folded in _text(value).casefold()

    return test


def _steps(path: str, question: str) -> list[str | int]:
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or match.end() == at or not match[0]:
            raise ConfigError(
                f"Entries: metadata is {question!r:.80}; it must be a path such as a.b[0], alone or with = or ~ and a "
                "value behind it.",
                key="metadata",
                value=question,
            )
        if match[1]:
            steps.append(re.sub(r"\\(.)", r"\1", match[1]))
        steps += map(int, re.findall(r"\d+", match[2]))
        at = match.end()
    return steps


def _at(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        holder: Any = value if isinstance(value, Mapping if isinstance(step, str) else list | tuple) else {}
        try:
            value = holder[step]
        except LookupError:
            return _ABSENT
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class PickedRows:
    """Entries of some stores as rows, each with its store's name.

    All are read at each :meth:`count`, and kept until the next.

    Args:
        stores: The stores, by name.
        filters: What is shown of them.
        staged: Changes that are not written yet: a row shows what it will be, new ones come first.
        key: Gives a row's id, see :meth:`get`.

    Attributes:
        group: The near duplicates: for each row's id, the number of its group and how many rows that has.
    """

    def __init__(
        self,
        stores: Mapping[str, Any],
        filters: Filters,
        staged: Sequence[Change] = (),
        key: Callable[[Record], str] = lambda record: record.id,
    ) -> None:
        self._stores, self._filters, self._key = dict(stores), filters, key
        self._staged = {(change.store, change.id): change for change in staged}
        self._all: list[Record] | None = None
        self._found: tuple[str, list[Record]] | None = None
        self._sorted: tuple[tuple[str, str | None], Sequence[Record]] | None = None
        self._compared: tuple[list[str], list[list[int]]] | None = None  # the texts, and their groups
        self.group: dict[str, tuple[int, int]] = {}

    async def count(self, where: str = "") -> int:
        """Read all entries, and return how many are as asked and hold ``where``, whatever the case."""
        self._all = self._found = self._sorted = None
        return len(await self._matching(where))

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> Sequence[Record]:
        """Return some of the rows, store by store or sorted by a field of records or a metadata path."""
        if self._sorted is None or self._sorted[0] != (where, sort):
            found = await self._matching(where)
            self._sorted = (where, sort), ordered(found, _value(sort), sort) if sort else found
        return self._sorted[1][offset : offset + limit]

    async def get(self, id: str) -> Record | None:
        """Return the row with this id, or None."""
        return next((record for record in await self._read() if self._key(record) == id), None)

    async def _matching(self, where: str) -> list[Record]:
        if self._found is None or self._found[0] != where:
            test, sought = self._filters.test(), where.casefold()
            found = [record for record in await self._read() if sought in record.content.casefold() and test(record)]
            self._found = where, await self._grouped(found) if self._filters.duplicates else found
        return self._found[1]

    async def _grouped(self, records: list[Record]) -> list[Record]:
        texts = [record.content for record in records]
        if self._compared is None or self._compared[0] != texts:
            self._compared = texts, await _near(texts)
        groups = self._compared[1]
        self.group = {
            self._key(records[place]): (number, len(group)) for number, group in enumerate(groups, 1) for place in group
        }
        return [records[place] for group in groups for place in group]

    async def _read(self) -> list[Record]:
        if self._all is None:
            found: list[Record] = []
            for name, store in self._stores.items():
                found += [self._shown(name, record) for record in await StoreRows(store).all()]
            added = [change.after for change in self._staged.values() if change.before is None and change.after]
            self._all = [record for record in added if record.store in self._stores] + found
        return self._all

    def _shown(self, name: str, record: Record) -> Record:
        change = self._staged.get((name, record.id))
        if change is not None and change.after is not None:
            return change.after
        return record if record.store == name else replace(record, store=name)


async def _near(texts: list[str]) -> list[list[int]]:
    """Return the groups of near texts; many are compared in a thread, so that the notebook stays alive."""
    from asyncio import to_thread

    if len(texts) <= _AT_ONCE:
        return near_groups(texts, threshold=THRESHOLD)
    return await to_thread(near_groups, texts, threshold=THRESHOLD)


def _value(sort: str) -> Callable[[Record], Any]:
    name = sort.removeprefix("-")
    if name.startswith(METADATA):
        path = path_of(name)
        return lambda record: value_at(record.metadata, path)
    return lambda record: getattr(record, name, None)
