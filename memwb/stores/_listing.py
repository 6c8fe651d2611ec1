"""Browsing the contents of a TestMemoryStore: which records, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..errors import ConfigError
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
