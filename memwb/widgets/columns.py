"""The columns of a table: what each shows of a row, and ready ones for entries and for hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

from .._dom import sendable
from .._text import visible
from ..memory import Hit
from ..memory.notes import stop_words_only
from ..memory.types import RELEVANCE_SCORE
from ..workbench.rows import METADATA, path_of, value_at
from .cells import CUT, MISSING, Bar, Flags, Marked

HIT_CUT = 240
"""Characters of a hit that are sent with its row: two lines of them in a wide pane."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        key: Its name; no two columns of a table share it.
        title: What its header says; left out, the key.
        value: Gives what it shows of a row; left out, the row's attribute of the key's name.
        sort: What its source sorts by for it; None where it cannot.
        width: The least width, in px.
        grow: Its share of the width that is left over.
        kind: How it is set: ``text``, ``number`` (to the right) or ``quiet``.
        shown: Whether it is there from the start; others are in the menu of columns.
        cut: The most characters of a cell that are sent with its row.
    """

    key: str
    title: str = ""
    value: Callable[[Any], Any] | None = None
    sort: str | None = None
    width: int = 100
    grow: float = 1
    kind: Literal["text", "number", "quiet"] = "text"
    shown: bool = True
    cut: int = CUT

    def of(self, row: Any) -> Any:
        """Return what the column shows of a row."""
        return getattr(row, self.key, MISSING) if self.value is None else self.value(row)

    def offer(self) -> dict[str, str]:
        """Return what the page needs to offer it: its key, and its title as it is shown."""
        return {"key": sendable(self.key), "title": visible(self.title or self.key)}

    def to_json(self) -> dict[str, Any]:
        """Return what the page needs to know of it."""
        return {
            **self.offer(),
            "kind": self.kind,
            "sort": sendable(self.sort),
            "width": self.width,
            "grow": self.grow,
        }


def _metadata(row: Any) -> Any:
    return MISSING if row.metadata is None else row.metadata


def _created(row: Any) -> Any:
    return MISSING if row.created_at is None else row.created_at


ENTRIES: tuple[Column, ...] = (
    Column("content", sort="content", width=220, grow=5),
    Column("created_at", "created (UTC)", _created, "created_at", width=144, grow=0, kind="quiet"),
    Column("id", sort="id", width=96, grow=1, kind="quiet"),
    Column("metadata", value=_metadata, width=140, grow=2, kind="quiet"),
)
"""The columns of stored entries (:class:`~memwb.catalog.Record`); metadata keys get theirs when they are met."""

EXTRA = ("staged", "group", "store")
"""The columns of entries that are there only where there is something to tell."""


def entry_columns(
    *,
    store: bool = False,
    staged: Callable[[Any], str] | None = None,
    group: Callable[[Any], tuple[int, int] | None] | None = None,
) -> tuple[Column, ...]:
    """Return the columns of entries.

    Args:
        store: Whether one says the store of each.
        staged: Says what is staged of an entry, "" for nothing; left out, there is no column for it.
        group: Gives the number and size of an entry's group of near duplicates, likewise.
    """

    def staged_of(row: Any) -> Any:
        told = staged(row) if staged is not None else ""
        return Flags(**{"warnings" if told in ("deleted", "merged") else "good": (told,)}) if told else MISSING

    def group_of(row: Any) -> Any:
        found = group(row) if group is not None else None
        return MISSING if found is None else f"{found[0]} ({found[1]} entries)"

    owner = Column("owner", value=lambda row: MISSING if row.owner is None else row.owner, sort="owner", shown=False)
    role = Column("role", value=lambda row: MISSING if row.role is None else row.role, sort="role", shown=False)
    return (
        *((Column("staged", value=staged_of, width=72, grow=0),) if staged else ()),
        *((Column("group", "duplicates", group_of, width=96, grow=0, kind="quiet"),) if group else ()),
        *ENTRIES,
        *((Column("store", sort="store", width=84, grow=0, kind="quiet"),) if store else ()),
        owner,
        role,
    )


def metadata_column(key: str) -> Column:
    """Return the column of one metadata key: ``metadata.`` and the key's path, see :mod:`memwb.workbench.rows`."""
    path = path_of(key)
    return Column(key, key.removeprefix(METADATA), lambda row: value_at(row.metadata, path, MISSING), key, shown=False)


def _hit_metadata(hit: Hit) -> Any:
    """The metadata without what the search itself put there."""
    given = hit.entry.metadata
    kept = {key: value for key, value in given.items() if key != RELEVANCE_SCORE} if isinstance(given, dict) else given
    return kept or MISSING


def hit_columns(
    hits: Sequence[Hit],
    is_expected: Callable[[Hit], bool] = lambda hit: False,
    *,
    several: bool | None = None,
    measured: Callable[[Hit], str] = lambda hit: "",
    dated: Callable[[Hit], Any] = lambda hit: None,
) -> tuple[Column, ...]:
    """Return the columns of hits: rank, score, text with the matched words marked, and what is to be noticed.

    Args:
        hits: The hits that will be shown: the longest bar is the best score.
        is_expected: Whether a hit is one that should arrive.
        several: Whether a column says the store; left out, where the hits are of more than one.
        dated: When a hit's entry was written, None where that is not known.
        measured: What a store says of the match in a way of its own, such as "distance 0.12"; a column where one does.
    """
    best = max((hit.score for hit in hits if hit.score and 0 < hit.score < inf), default=1.0)
    if several is None:
        several = len({hit.store for hit in hits}) > 1
    own = any(measured(hit) for hit in hits)

    def score(hit: Hit) -> Bar:
        return Bar(hit.score, hit.score / best if hit.score and hit.score > 0 else 0.0)

    def content(hit: Hit) -> Marked:
        return Marked(hit.content, hit.matched, stop_words_only(hit))

    def flags(hit: Hit) -> Flags:
        warnings = {"⚠ stop words only": stop_words_only(hit), "⚠ store limit": hit.cut_by == "store limit"}
        return Flags(("★ expected",) * is_expected(hit), tuple(text for text, holds in warnings.items() if holds))

    def written(hit: Hit) -> Any:
        return dated(hit) or MISSING

    return (
        Column("rank", sort="rank", width=52, grow=0, kind="number"),
        Column("score", value=score, sort="score", width=92, grow=0, kind="number"),
        Column("measure", value=lambda hit: measured(hit) or MISSING, width=120, grow=0, kind="quiet", shown=own),
        Column("content", "entry", content, "content", width=180, grow=5, cut=HIT_CUT),
        Column("store", sort="store", width=84, grow=0, kind="quiet", shown=several),
        Column("note", value=flags, width=132, grow=2.4),
        Column("matched", value=lambda hit: " ".join(hit.matched) or MISSING, width=120, kind="quiet", shown=False),
        Column("cut_by", "cut by", lambda hit: hit.cut_by or MISSING, width=96, grow=0, kind="quiet", shown=False),
        Column("id", sort="id", width=96, kind="quiet", shown=False, value=lambda hit: hit.id or MISSING),
        Column("date", "written (UTC)", written, width=144, grow=0, kind="quiet", shown=False),
        Column("metadata", value=_hit_metadata, width=140, grow=2, kind="quiet", shown=False),
    )


HIT_SORTS: dict[str, Callable[[Hit], Any]] = {
    "rank": lambda hit: hit.rank,
    "score": lambda hit: hit.score,
    "content": lambda hit: hit.content,
    "store": lambda hit: hit.store,
    "id": lambda hit: hit.id,
}
"""What :class:`~memwb.workbench.rows.ListRows` sorts hits by."""
