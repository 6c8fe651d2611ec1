"""Browsing the contents of a store: which records, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from ..errors import ConfigError
from ..memory.settings import at_least_one
from ._records import PREFIX, Contents

_SORTS = ("created_at", "content", "id")


class SortKey(NamedTuple):
    """What to sort by, and whether the greatest comes first."""

    field: str
    descending: bool


def sort_key(sort: object) -> SortKey | None:
    """Read ``sort=``: a field, with ``-`` before it for descending, or None."""
    if sort is None:
        return None
    field = sort.removeprefix("-") if isinstance(sort, str) else ""
    if field not in _SORTS:
        names = ", ".join(map(repr, _SORTS))
        message = f"{PREFIX}sort is {sort!r}; it must be {names}, one of them with '-' before it, or None."
        raise ConfigError(message, key="sort", value=sort, allowed=_SORTS)
    return SortKey(field, isinstance(sort, str) and sort.startswith("-"))


def folded_where(where: str) -> str:
    """Read ``where=``: the text to look for, in one case."""
    if not isinstance(where, str):
        raise ConfigError(f"{PREFIX}where must be a text, not {where!r:.80}.", key="where", value=where)
    return where.casefold()


class Page(NamedTuple):
    """Which records are asked for: the sort key, None for the order of adding, and the text that they hold."""

    key: SortKey | None
    where: str


def checked_page(offset: object, limit: object, sort: object, where: str) -> Page:
    """Read the arguments of ``page``."""
    if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
        raise ConfigError(f"{PREFIX}offset is {offset!r}; it must be a whole number, at least 0.", key="offset")
    at_least_one(limit, f"{PREFIX}limit", "limit")
    return Page(sort_key(sort), folded_where(where))


class HasContent(Protocol):
    """An entry or a record."""

    @property
    def id(self) -> str | None: ...

    @property
    def content(self) -> str: ...


def is_meant(entry: HasContent, id: str | None, content: str | None, folded: str) -> bool:
    """Whether an entry has an id (None: any) and a content, and holds a text; see best_match."""
    is_named = id in (None, entry.id) and (content is None or content.strip() == entry.content.strip())
    return is_named and folded in entry.content.casefold()


def meant(contents: Contents, id: str | None, content: str | None, folded: str) -> Sequence[int]:
    """Return the places of the records that have an id (None: any) and a content, and hold a text; see best_match."""
    if id is None and content is None:
        return contents.places_holding(folded) if folded else range(contents.size)
    texts = contents.table.contents
    places: Iterable[int] = range(contents.size) if id is None else contents.places_of_id(id)
    if content is not None:
        text = content.strip()
        places = [place for place in places if text in texts[place] and texts[place].strip() == text]
    return [place for place in places if folded in texts[place].casefold()]


def ordered(contents: Contents, key: SortKey | None, places: Sequence[int] | None) -> Sequence[int]:
    """Sort records, given by their places (None: all); what is equal stays in the order of adding."""
    if places is None:
        places = range(contents.size)
    if key is None:
        return places
    if places == range(contents.size):
        return contents.sorted_places(*key)
    return sorted(places, key=contents.column(key.field).__getitem__, reverse=key.descending)
