"""What a store can do beyond searching and adding, one small protocol for each ability.

Any store may have some of them; ask with ``isinstance(store, Listable)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol, Required, TypedDict, runtime_checkable

from ..catalog import Record
from ..memory.types import SearchOptions

ScoreKind = Literal["count", "bm25", "similarity", "distance", "fused"]
"""What a store's scores are; a store that has an attribute ``score_kind`` tells it, and pages say what it means."""


class FilteredSearchOptions(SearchOptions, total=False):
    """Options of ``search`` of a store that can narrow a search down.

    Attributes:
        owner: Only entries of this owner; None: everybody's.
        metadata: Only entries whose metadata hold these keys with exactly these values; None or ``{}``: all.
    """

    owner: str | None
    metadata: dict[str, Any] | None


class BulkItem(TypedDict, total=False):
    """One entry of :meth:`BulkWritable.add_many`.

    Attributes:
        content: The text.
        metadata: Kept beside the text.
        id: Kept as given; a new one is made where it is absent or None.
        createdAt: Kept as given, a time in ISO 8601 form or an aware datetime; now where it is absent or None.
    """

    content: Required[str]
    metadata: dict[str, Any] | None
    id: str | None
    createdAt: str | datetime | None


@runtime_checkable
class Listable(Protocol):
    """A store whose records can be listed."""

    async def count(self, where: str = "") -> int:
        """Return how many records there are, or how many hold ``where`` in their text, whatever the case."""
        ...

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Record]:
        """Return some of the records.

        Args:
            offset: How many to leave out at the start.
            limit: The most to return, at least 1.
            sort: ``"created_at"``, ``"content"`` or ``"id"``, with ``-`` before it for descending; records that
                are equal in it stay in the order of adding. None: the order of adding.
            where: Only records whose text holds this, whatever the case.
        """
        ...

    async def get(self, id: str) -> Record | None:
        """Return the record with this id, or None."""
        ...


@runtime_checkable
class Editable(Protocol):
    """A store whose records can be changed and removed."""

    async def update(self, id: str, content: str | None = None, metadata: dict[str, Any] | None = None) -> Record:
        """Give a record another text, other metadata, or both; None leaves what there is.

        Its id and its time of creation stay.

        Returns:
            The record as it is now.

        Raises:
            EntryNotFoundError: No record has this id.
            DuplicateEntryError: Another record holds this text.
        """
        ...

    async def delete(self, id: str) -> bool:
        """Remove a record; return whether there was one."""
        ...

    async def clear(self) -> None:
        """Remove all records."""
        ...


@runtime_checkable
class BulkWritable(Protocol):
    """A store that takes many entries in one write."""

    async def add_many(self, items: Iterable[str | BulkItem | Record]) -> Sequence[Any]:
        """Store all the items or, when one of them is refused, none; return one result for each, in order."""
        ...


@runtime_checkable
class Exchangeable(Protocol):
    """A store that makes several changes at once or not at all, and takes them back: what a workbench edits by."""

    async def exchange(self, before: Sequence[Record], after: Sequence[Record], *, only_check: bool = False) -> Any:
        """Put records in the place of others, and return what :meth:`take_back` needs to undo it.

        A record of both lists, by its id, is changed, one of ``before`` alone removed, one of ``after`` alone added.

        Raises:
            ConflictError: A record of ``before`` is not as it was seen. Nothing is written.
        """
        ...

    async def take_back(self, done: Any) -> None:
        """Undo an exchange.

        Raises:
            ConflictError: One of the exchanged records was changed since then. Nothing is written.
        """
        ...
