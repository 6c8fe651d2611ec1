"""What a caller gives, checked by the rules of every long-term store; errors carry this store's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...catalog import Record
from ...errors import ConfigError
from .. import _edits, _items, _listing
from .._records import WHERE as OTHER
from ._server import WHERE


@contextmanager
def own_errors() -> Iterator[None]:
    """Let the checks that stores share speak of this one."""
    try:
        yield
    except ConfigError as error:
        told = str(error).replace(f"{OTHER}: ", f"{WHERE}: ", 1)
        raise ConfigError(told, key=error.key, value=error.value, allowed=error.allowed) from None


def checked_drafts(items: Iterable[Any], *, numbered: bool = True) -> list[dict[str, Any]]:
    """Check what shall become entries; of a Record, owner and role are kept.

    Args:
        items: Texts, dicts or Records.
        numbered: Whether errors name the item.
    """
    with own_errors():
        if numbered:
            if not isinstance(items, str | bytes | Mapping):
                items = list(items) if isinstance(items, Iterable) else items
            entries = _items.drafts(items)
        else:
            items = list(items)
            entries = [
                _items.draft(item.content, item.metadata, item.id, item.created_at)
                if isinstance(item, Record)
                else _items.draft(item["content"], item["metadata"])
                for item in items
            ]
        for item, entry in zip(items, entries, strict=True):
            if isinstance(item, Record):
                entry["owner"] = None if item.owner is None else _items.checked_text(item.owner, "owner")
                entry["role"] = None if item.role is None else _items.checked_text(item.role, "role")
    return entries


def checked_change(content: Any, metadata: Any) -> _edits.Change:
    """Check what a record is to become."""
    with own_errors():
        return _edits.Change.checked(content, metadata)


def checked_id(id: Any) -> None:
    """Refuse what is no id."""
    with own_errors():
        _edits.checked_id(id)


def checked_where(where: Any) -> str:
    """Return the text to look for, in one case."""
    with own_errors():
        return _listing.folded_where(where)
