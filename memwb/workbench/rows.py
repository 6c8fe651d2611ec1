"""Rows for a table of any length: what a table asks of its source, and sources for what cannot page by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

METADATA = "metadata."
"""What the name of a metadata column begins with; its key's path follows, as in :mod:`memwb.frames`."""

PIECE = 5_000
"""Records that are read at a time where all are needed."""


@runtime_checkable
class Rows(Protocol):
    """What a table needs of its source. A store that is :class:`~memwb.stores.Listable` is one."""

    async def count(self, where: str = "") -> int:
        """Return how many rows there are, or how many hold ``where``, whatever the case."""
        ...

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> Sequence[Any]:
        """Return some of the rows, in the source's order or sorted by a name, ``-`` before it for descending."""
        ...

    async def get(self, id: str) -> Any | None:
        """Return the row with this id, or None."""
        ...


class ListRows:
    """Rows that are there already, in memory.

    Args:
        rows: The rows, in their own order.
        id: Gives a row's id.
        text: Gives the text that ``where`` is looked for in.
        sorts: For each name to sort by, what gives a row's value. Missing values come last in either direction.
    """

    def __init__(
        self,
        rows: Sequence[Any],
        *,
        id: Callable[[Any], str] = lambda row: row.id,
        text: Callable[[Any], str] = lambda row: row.content,
        sorts: Mapping[str, Callable[[Any], Any]] | None = None,
    ) -> None:
        self._rows, self._id, self._text, self._sorts = rows, id, text, dict(sorts or {})
        self._view: tuple[tuple[str | None, str], Sequence[Any]] = ((None, ""), rows)

    async def count(self, where: str = "") -> int:
        """Return how many rows there are, or how many hold ``where`` in their text, whatever the case."""
        return len(self.at_once(None, where))

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> Sequence[Any]:
        """Return some of the rows, in their own order or sorted."""
        return self.at_once(sort, where)[offset : offset + limit]

    async def get(self, id: str) -> Any | None:
        """Return the first row with this id, or None."""
        return next((row for row in self._rows if self._id(row) == id), None)

    def at_once(self, sort: str | None = None, where: str = "") -> Sequence[Any]:
        """Return all rows that hold ``where``, in their own order or sorted."""
        if self._view[0] != (sort, where):
            rows = self._rows
            if where:
                sought = where.casefold()
                rows = [row for row in rows if sought in self._text(row).casefold()]
            self._view = ((sort, where), ordered(rows, self._sorts[sort.lstrip("-")], sort) if sort else rows)
        return self._view[1]


class StoreRows:
    """The rows of a store, sorted by metadata too: for that alone all records are read, and kept until the next count.

    Args:
        store: A store that can list its entries (:class:`~memwb.stores.Listable`).

    Attributes:
        store: The store.
    """

    def __init__(self, store: Any) -> None:
        self.store = store
        self._view: tuple[tuple[str, str], Sequence[Any]] | None = None

    async def count(self, where: str = "") -> int:
        """Return how many records there are, or how many hold ``where`` in their text, whatever the case."""
        self._view = None
        total: int = await self.store.count(where=where)
        return total

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> Sequence[Any]:
        """Return some of the records; ``sort`` may also be ``metadata.`` and a key's path."""
        if sort is None or not sort.lstrip("-").startswith(METADATA):
            records: Sequence[Any] = await self.store.page(offset, limit, sort=sort, where=where)
            return records
        if self._view is None or self._view[0] != (sort, where):
            path = path_of(sort.lstrip("-"))
            found = await self.all(where)
            self._view = (sort, where), ordered(found, lambda record: value_at(record.metadata, path), sort)
        return self._view[1][offset : offset + limit]

    async def all(self, where: str = "") -> list[Any]:
        """Return all records that hold ``where``; they are read in pieces, between which the loop does other things."""
        from asyncio import sleep

        found: list[Any] = []
        while piece := await self.store.page(len(found), PIECE, where=where):
            found += piece
            if len(piece) < PIECE:
                break
            await sleep(0)
        return found

    async def get(self, id: str) -> Any | None:
        """Return the record with this id, or None."""
        return await self.store.get(id)


def ordered(rows: Sequence[Any], value: Callable[[Any], Any], sort: str) -> list[Any]:
    """Return rows sorted by their values: numbers, then times and texts, then the rest by its text; missing ones last.

    Equal rows stay in their order. ``sort`` says the direction, by a ``-`` in front.
    """
    keyed = [(order_of(value(row)), row) for row in rows]
    present = [pair for pair in keyed if pair[0] is not None]
    present.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))  # type: ignore[arg-type,return-value]
    return [row for _, row in present] + [row for key, row in keyed if key is None]


def order_of(value: Any) -> tuple[int, Any] | None:
    """Return what a value is sorted by, so that values of any types can be; None where there is nothing to sort by."""
    if value is None or value != value:  # NaN equals nothing
        return None
    if isinstance(value, bool | int | float):
        return 0, value
    if isinstance(value, str):
        return 2, value
    return (1, value.isoformat()) if hasattr(value, "isoformat") else (3, repr(value))


def flattened(metadata: Any) -> dict[str, Any]:
    r"""Return the columns that metadata gives: ``metadata.where.city`` -> value, nested dicts taken apart.

    A dot inside a key is written ``\.`` and a backslash ``\\``, so that no key takes the place of another. A dict that
    is empty or has keys that are no texts stays whole.
    """
    return dict(_walk("metadata", metadata)) if _splits(metadata) else {}


def path_of(name: str) -> tuple[str, ...]:
    r"""Return the keys that the name of a metadata column names: ``metadata.where.city`` -> ``("where", "city")``."""
    keys, signs = [""], iter(name.removeprefix(METADATA))
    for sign in signs:
        if sign == ".":
            keys.append("")
        else:
            keys[-1] += next(signs, "") if sign == "\\" else sign
    return tuple(keys)


def value_at(metadata: Any, path: Sequence[str], default: Any = None) -> Any:
    """Return the value that :func:`flattened` has under a path, without taking the rest apart."""
    value = metadata
    for key in path:
        if not _splits(value) or key not in value:
            return default
        value = value[key]
    return default if _splits(value) else value


def _walk(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not _splits(value):
        yield prefix, value
        return
    for key, inner in value.items():
        name = key.replace("\\", "\\\\").replace(".", "\\.")
        yield from _walk(f"{prefix}.{name}", inner)


def _splits(value: Any) -> bool:
    return type(value) is dict and bool(value) and all(type(key) is str for key in value)
