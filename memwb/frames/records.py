r"""Memories as pandas DataFrames, and back again without loss.

A frame has the columns ``id``, ``content`` and ``created_at``; ``updated_at``, ``store``, ``owner`` and ``role`` where
some record has one; and one column for every metadata key, nested dicts flattened:

- A metadata column is named ``metadata.`` and the path of its key, joined by dots: ``{"where": {"city": ...}}`` is
  ``metadata.where.city``. A dot inside a key is written ``\.`` and a backslash ``\\``, so ``{"where.city": ...}`` is
  ``metadata.where\.city``. Hence no key can take the place of another or of a record's own column.
- Cells are Python objects (dtype object), so whole numbers of any size stay exact. ``created_at`` and ``updated_at``
  are UTC timestamps.
- A key that a record does not have is ``pandas.NA``, a None is ``None``, NaN is ``nan``, an empty text ``""``, an empty
  list ``[]``, an empty dict ``{}``. pandas counts the first three as missing, and CSV and JSON files merge them.
- What a table cannot count or sort (lists, dicts that are empty or have keys that are no texts, and in a column of
  mixed types whatever is no number) is a :class:`Cell`: a text that shows the value and carries it. So sorting,
  grouping, counting and removing duplicates work on every column; numbers sort before texts.
- pandas itself turns whole numbers into floats where one of its operations puts them beside NaN, such as
  ``groupby(dropna=False)``.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .._collector import without_collector
from .._columns import OWN, Column, columns_of
from ..catalog import Record, SessionCatalog, is_session_store
from ..errors import ConfigError
from ..memory.messages import copied

if TYPE_CHECKING:
    import pandas

    from ..memory.trace import Hit

PAGE = 10_000
"""Records that :func:`frame` asks of a store at a time."""

_TEXTS = ("id", "content", "store", "owner", "role")
_TIMES = ("created_at", "updated_at")
_ALWAYS = ("id", "content", "created_at")
_SEPARATE = 50
_NUMBERS = frozenset({bool, int, float, Decimal})
_SURROGATES = re.compile("[\ud800-\udfff]")
_PATH_PARTS = re.compile(r"\\u(?P<code>d[89a-f][0-9a-f]{2})|\\(?P<escaped>.)|(?P<dot>\.)|(?P<plain>.)", re.DOTALL)


class Cell(str):
    """A text in a table that stands for a value which a table cannot hold, such as a list.

    It shows the value as JSON, compares and counts as that text, and sorts after numbers and dates.
    ``Cell(["a"])`` is how a list is written into a frame.

    Attributes:
        value: What it stands for.
    """

    __slots__ = ("value",)
    value: Any

    def __new__(cls, value: Any) -> Cell:
        """Make the cell that stands for ``value``."""
        cell = super().__new__(cls, _SURROGATES.sub("\ufffd", value if isinstance(value, str) else _shown(value)))
        cell.value = _copied(value)
        return cell

    def __getnewargs__(self) -> tuple[Any]:
        return (self.value,)

    def __lt__(self, other: object) -> bool:
        return isinstance(other, str) and super().__lt__(other)

    def __le__(self, other: object) -> bool:
        return isinstance(other, str) and super().__le__(other)

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, str) or super().__gt__(other)

    def __ge__(self, other: object) -> bool:
        return not isinstance(other, str) or super().__ge__(other)


async def frame(store: Any) -> pandas.DataFrame:
    """Return everything that a store holds as a DataFrame, one row an entry, in insertion order.

    The module's own text says what the columns are. Entries that are written while a large store is being read may
    or may not be in it.

    Args:
        store: A store that can list its entries (:class:`memwb.stores.Listable`), a store of sessions, whose frame is
            that of :func:`entries_frame`, or a TestMemoryStore or FileMemoryStore of the Strands SDK.

    Raises:
        ConfigError: The store cannot list its entries, or lists something else.
    """
    from ..bridge import strands
    from ..stores import Listable

    if is_session_store(store):
        from .entries import entries_frame

        return entries_frame(await SessionCatalog(store).entries())
    if not isinstance(store, Listable) and (listing := strands.listing(store)) is not None:
        store = listing
    if not isinstance(store, Listable):
        name = getattr(store, "name", None)
        raise ConfigError(
            f"frame: {type(store).__name__}{f' {name!r}' if name else ''} cannot list its entries (it has no methods "
            "count, page and get). Search it and show what comes back: `trace.to_frame()`.",
            key="store",
            value=store,
        )
    records: list[Record] = []
    while page := _checked_page(await store.page(len(records), PAGE), store):
        records += page
        if len(page) < PAGE:
            break
    return records_frame(records)


def _checked_page(page: Any, store: Any) -> Sequence[Record]:
    """Return what a store listed, else raise :class:`ConfigError`: records, or what has all that they have."""
    if not isinstance(page, Sequence):
        found = f"{page!r:.80}"
    elif set(map(type, page)) <= {Record}:
        return page
    else:
        needed = [field.name for field in fields(Record)]
        strange = [each for each in page if not all(hasattr(each, name) for name in needed)]
        if not strange:
            return page
        found = f"{strange[0]!r:.80} among its entries"
    raise ConfigError(
        f"frame: store {getattr(store, 'name', store)!r} listed {found}; its method page must return a list of "
        "records, as memwb.catalog.Record has them.",
        key="store",
        value=store,
    )


def records_frame(records: Iterable[Record]) -> pandas.DataFrame:
    """Return records as a DataFrame, one row a record, in their order; see the module's own text for the columns.

    :func:`records_from_frame` turns the frame back into equal records.
    """
    import pandas as pd

    rows = list(records)
    cells: dict[str, Any] = {}
    with without_collector():
        for column in columns_of(rows, pd.NA):
            if column.name not in OWN or column.name in _ALWAYS or column.kinds - {type(None)}:
                cells[column.name] = _times(column) if column.name in _TIMES else objects(_countable(column))
        # A frame of very many separate columns would warn when a column is added: those are joined, which takes longer.
        return pd.DataFrame(cells, index=range(len(rows)), copy=len(cells) > _SEPARATE)


def records_from_frame(frame: pandas.DataFrame) -> list[Record]:
    r"""Return the records that a frame holds: the inverse of :func:`records_frame`.

    A frame of one's own needs the column ``content`` alone. Without ``id`` the rows are numbered from ``"1"``. Any
    other column whose name does not begin with ``metadata.`` is a metadata key of that name, absent where pandas
    counts the cell as missing; in a ``metadata.`` column only ``pandas.NA`` is an absent key. The keys of a record's
    metadata come in the order of the columns.

    Raises:
        ConfigError: No column ``content``, a column name that is no text or stands twice, a cell that its column does
            not take, or two columns of which one would have to lie inside the other; the message names row and column.
    """
    names = checked_names(frame)
    count = len(frame)
    own = {name: column_of(frame, name) if name in names else [None] * count for name in OWN}
    if "id" not in names:
        own["id"] = [str(number) for number in range(1, count + 1)]
    values = {name: [_own_value(name, row, cell) for row, cell in enumerate(cells)] for name, cells in own.items()}
    metadata = _metadata(frame, [name for name in names if name not in OWN])
    return [
        Record(**{name: column[row] for name, column in values.items()}, metadata=metadata[row]) for row in range(count)
    ]


def hits_frame(hits: Sequence[Hit]) -> pandas.DataFrame:
    """Return hits as a DataFrame: store, rank, score, id, content, matched (a tuple of tokens), kept, cut_by.

    ``score`` is a whole-number column when all scores are whole or missing, else one of floats. ``id`` and ``cut_by``
    are None where there is none.
    """
    import pandas as pd

    scores = [hit.score for hit in hits]
    whole = all(score is None or float(score).is_integer() for score in scores)
    return pd.DataFrame(
        {
            "store": objects([hit.store for hit in hits]),
            "rank": pd.Series([hit.rank for hit in hits], dtype="int64"),
            "score": pd.Series(scores, dtype="Int64" if whole else "float64"),
            "id": objects([hit.id for hit in hits]),
            "content": objects(_countable(Column("content", [hit.entry.content for hit in hits]))),
            "matched": objects([hit.matched for hit in hits]),
            "kept": pd.Series([hit.kept for hit in hits], dtype="bool"),
            "cut_by": objects([hit.cut_by for hit in hits]),
        }
    )


# --- records to cells -------------------------------------------------------------------------------------------------


def _countable(column: Column) -> list[Any]:
    """Return the cells of a column so that they can be hashed, sorted among each other and written to any file."""
    import pandas as pd

    cells, kinds = column.cells, column.kinds - {type(None), type(pd.NA)}
    if float in kinds and all(cell != cell for cell in cells if type(cell) is float):
        kinds.discard(float)  # NaN is left out of comparisons
    if kinds <= {bool, int, float}:
        return cells
    if kinds == {date} or (kinds == {str} and column.encodable):
        return cells
    if kinds <= _NUMBERS or kinds == {str}:
        return [_cell(cell) for cell in cells]
    if kinds == {datetime} and len({cell.tzinfo is None for cell in cells if type(cell) is datetime}) == 1:
        return cells
    native = {type(None), type(pd.NA), *_NUMBERS}
    return [_cell(cell) if type(cell) in native else Cell(cell) for cell in cells]


def _cell(value: Any) -> Any:
    """Return a value as it is unless it makes trouble alone: a text or a number that not every file takes."""
    if type(value) is str:
        return Cell(value) if not value.isascii() and _SURROGATES.search(value) else value
    return Cell(value) if type(value) is Decimal and not value.is_finite() else value


def _shown(value: Any) -> str:
    """Return a value as JSON on one line; what JSON does not know as its text."""
    if not isinstance(value, list | tuple | dict):
        return _text(value)
    try:
        return _JSON.encode(value)
    except (TypeError, ValueError, RecursionError):  # keys that are no texts, a list inside itself, or deep ones
        with contextlib.suppress(RecursionError):
            return _text(value)
        return f"{type(value).__name__} that nests too deep to be shown"


def _copied(value: Any) -> Any:
    """Copy a value, unless it nests so deep (as only foreign files do) that Python's stack would not hold that."""
    try:
        return copied(value)
    except RecursionError:
        return value


def _text(value: Any) -> str:
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(repr, value))) + "}"  # in an order that is the same in every process
    return value.isoformat() if isinstance(value, date) else str(value)


_JSON = json.JSONEncoder(ensure_ascii=False, default=_text)


def _times(column: Column) -> Any:
    import pandas as pd

    if any(time is not None and time.tzinfo is None for time in column.cells):
        return objects(_countable(column))  # no time zone was given, so none is made up
    return pd.Series(column.cells, dtype="datetime64[us, UTC]")


def objects(values: list[Any]) -> Any:
    """Return a column of these very objects."""
    import pandas as pd

    return pd.Series(values, dtype=object)


# --- cells to records -------------------------------------------------------------------------------------------------


def checked_names(frame: pandas.DataFrame) -> list[str]:
    """Return the names of a frame's columns: texts, each once, ``content`` among them."""
    names: list[str] = []
    for name in frame.columns:
        if not isinstance(name, str):
            raise ConfigError(f"The frame has a column named {name!r}; names must be texts.", key="columns", value=name)
        if name in names:
            raise ConfigError(f"The frame has two columns named {name!r}; rename one.", key="columns", value=name)
        names.append(name)
    if "content" not in names:
        held = ", ".join(map(repr, names)) or "none"
        raise ConfigError(f"The frame has no column 'content'; its columns are {held}.", key="columns", value=names)
    return names


def column_of(frame: pandas.DataFrame, name: str) -> list[Any]:
    """Return the cells of a column as Python's own objects."""
    return list(frame[name].tolist())


def _own_value(name: str, row: int, cell: Any) -> Any:
    """Return the value of a record's own column; a missing cell is None where the column may be empty."""
    value = cell.value if isinstance(cell, Cell) else cell
    if isinstance(value, str) and name in _TEXTS:
        return value
    if name == "id" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if is_missing(value) and name not in ("id", "content"):
        return None
    if name in _TIMES:
        return time_of(name, row, value)
    raise ConfigError(f"Row {row}: {name} is {value!r}; it must be a text.", key=name, value=value)


def time_of(name: str, row: int, value: Any) -> datetime:
    """Return the time in a cell."""
    from .._time import parse_stamp

    if isinstance(value, str):
        try:
            return parse_stamp(value)
        except ValueError:
            pass
    elif isinstance(value, datetime):
        return value.to_pydatetime() if hasattr(value, "to_pydatetime") else value
    raise ConfigError(
        f"Row {row}: {name} is {value!r}; it must be a time, or a text like 2026-01-02T03:04:05.678Z.",
        key=name,
        value=value,
    )


def _metadata(frame: pandas.DataFrame, names: Sequence[str]) -> list[dict[str, Any] | None]:
    import pandas as pd

    rows: list[dict[str, Any] | None] = [None] * len(frame)
    for name in sorted(names, key=lambda name: name != "metadata"):  # a whole dict first, then what is put into it
        path = _path(name)
        ours = name.startswith("metadata.")
        for row, cell in enumerate(column_of(frame, name)):
            if cell is pd.NA or (not ours and is_missing(cell)):
                continue
            value = _copied(cell.value if isinstance(cell, Cell) else cell)
            if not path and not isinstance(value, dict):
                raise ConfigError(f"Row {row}: metadata is {value!r}; it must be a dict.", key=name, value=value)
            if not path:
                rows[row] = value
            elif not _put(rows, row, path, value):
                raise ConfigError(
                    f"Row {row}: the column {name!r} has a value, and so has another that would have to hold it or lie "
                    "in it. Set one of the two to pandas.NA.",
                    key=name,
                    value=value,
                )
    return rows


def _put(rows: list[dict[str, Any] | None], row: int, path: tuple[str, ...], value: Any) -> bool:
    """Write a value at its place in a row's metadata; False when something else is there."""
    inner: Any = rows[row]
    if inner is None:
        inner = rows[row] = {}
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            return False
    if path[-1] in inner:
        return False
    inner[path[-1]] = value
    return True


def _path(name: str) -> tuple[str, ...]:
    """Return the keys that a column's name stands for: none for ``metadata``, the name itself for a foreign column."""
    if name == "metadata":
        return ()
    if not name.startswith("metadata."):
        return (name,)
    keys = [""]
    for part in _PATH_PARTS.finditer(name.removeprefix("metadata.")):
        if part["dot"]:
            keys.append("")
        else:
            keys[-1] += chr(int(part["code"], 16)) if part["code"] else part["escaped"] or part["plain"]
    return tuple(keys)


def is_missing(cell: Any) -> bool:
    """Whether pandas counts a cell as missing."""
    import pandas as pd

    return cell is None or cell is pd.NA or (pd.api.types.is_scalar(cell) and bool(pd.isna(cell)))
