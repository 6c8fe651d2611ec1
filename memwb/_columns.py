r"""Records as columns: a list of cells for each field, and for each place of the nested metadata.

What takes the time with many records is to fetch each value from memory. So records are taken a few at a time, and all
that is asked of their values is asked while they are in the processor's caches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

OWN = ("id", "content", "created_at", "updated_at", "store", "owner", "role")
"""The fields of a record that are columns, in their order."""

_NEAR = 500  # records that the caches hold
_SURROGATES = re.compile("[\ud800-\udfff]")


class Column:
    """One column.

    Attributes:
        name: Its name.
        cells: A value for each row; a column of metadata is empty until its first value comes.
        kinds: The types of the cells.
        encodable: Whether UTF-8 can hold all texts among the cells, which it cannot where they hold lone surrogates.
        inner: The columns for the keys of the dicts that stand here.
    """

    __slots__ = ("cells", "encodable", "inner", "kinds", "name")

    def __init__(self, name: str, cells: Sequence[Any] = ()) -> None:
        self.name = name
        self.cells: list[Any] = list(cells)
        self.kinds: set[type] = set()
        self.encodable = True
        self.inner: dict[str, Column] = {}
        self.look(0)

    def look(self, start: int, end: int | None = None) -> None:
        """Take note of what the cells from row ``start`` on are."""
        cells = self.cells[start:end]
        kinds = set(map(type, cells))
        self.kinds |= kinds
        if self.encodable and str in kinds:
            texts = cells if len(kinds) == 1 else [cell for cell in cells if type(cell) is str]
            self.encodable = all(map(str.isascii, texts)) or _encodable("".join(texts))

    def takes_apart(self, value: dict[Any, Any]) -> bool:
        """Make columns for a dict's new keys; return False for one that stays whole: empty, or with keys no texts."""
        if not value or any(type(key) is not str for key in value):
            return False
        for key in value:
            if key not in self.inner:
                self.inner[key] = Column(f"{self.name}.{escaped(key)}")
        return True


def columns_of(records: Sequence[Any], missing: Any) -> list[Column]:
    """Return a record's own columns, and those of the metadata in the order in which their keys first appear.

    Args:
        records: The records.
        missing: Stands in a metadata column where a record has no value.
    """
    own, metadata = [Column(name) for name in OWN], Column("metadata")
    nothing = [missing] * len(records)
    met: list[Column] = []

    def put(row: int, value: Any, column: Column) -> None:
        inner = column.inner
        if type(value) is dict and ((value and value.keys() <= inner.keys()) or column.takes_apart(value)):
            for key, item in value.items():
                place = inner[key]
                cells = place.cells
                if cells and type(item) is not dict:
                    cells[row] = item
                else:
                    put(row, item, place)
            return
        if not column.cells:
            column.cells = nothing.copy()
            met.append(column)
        column.cells[row] = value

    for start in range(0, len(records), _NEAR):
        near = records[start : start + _NEAR]
        for column in own:
            column.cells.extend(map(attrgetter(column.name), near))
        for row, record in enumerate(near, start):
            if record.metadata is not None:
                put(row, record.metadata, metadata)
        for column in own + met:
            column.look(start, start + _NEAR)
    return own + met


def escaped(key: str) -> str:
    r"""Write a key so that it holds no bare dot: ``\`` and ``.`` get a backslash, a lone surrogate is ``\uXXXX``."""
    key = key.replace("\\", "\\\\").replace(".", "\\.")
    return _SURROGATES.sub(lambda found: f"\\u{ord(found.group()):04x}", key)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
