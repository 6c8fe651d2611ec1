"""What a caller gives, checked by the rules of every long-term store; errors carry this store's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...catalog import Record
from .. import _edits, _items, _listing
from ._server import WHERE


def checked_drafts(items: Iterable[Any], *, numbered: bool = True) -> list[dict[str, Any]]:
    """Check what shall become entries, with ``owner`` and ``role`` where they are given.

    Args:
        items: Texts, dicts or Records.
        numbered: Whether errors name the item.
    """
    with _items.told_by(WHERE):
        if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
            return _items.drafts(items)  # which refuses them
        items = list(items)
        plain = [_without_owner(item) for item in items]
        if numbered:
            entries = _items.drafts(plain)
        else:
            entries = [_items.draft(*(item.get(key) for key in _items.ITEM_KEYS)) for item in plain]
        for number, (item, entry) in enumerate(zip(items, entries, strict=True), 1):
            where = f"item {number}: " if numbered else ""
            for name in ("owner", "role"):
                given = _given(item, name)
                entry[name] = None if given is None else _items.checked_text(given, name, where)
    return entries


def _without_owner(item: Any) -> Any:
    if isinstance(item, Record):
        return {"content": item.content, "metadata": item.metadata, "id": item.id, "createdAt": item.created_at}
    return {key: value for key, value in item.items() if key != "owner"} if isinstance(item, Mapping) else item


def _given(item: Any, name: str) -> Any:
    if isinstance(item, Record):
        return getattr(item, name)
    return item.get("owner") if isinstance(item, Mapping) and name == "owner" else None


def checked_change(content: Any, metadata: Any) -> _edits.Change:
    """Check what a record is to become."""
    with _items.told_by(WHERE):
        return _edits.Change.checked(content, metadata)


def checked_id(id: Any) -> None:
    """Refuse what is no id."""
    with _items.told_by(WHERE):
        _edits.checked_id(id)


def checked_where(where: Any) -> str:
    """Return the text to look for, in one case."""
    with _items.told_by(WHERE):
        return _listing.folded_where(where)
