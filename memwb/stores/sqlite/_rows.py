"""The rows of an SQLiteMemoryStore's entries: written with all that belongs to them, read, and put in order."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from ... import _json
from ..._time import parse_stamp
from ...catalog import Record
from ...ranking import Tokenizer
from ...ranking.counted import counts
from ._file import BLOCK_BITS, add_up, set_about
from ._index import Scored, add_words, remove_words

COLUMNS = "place, id, owner, content, metadata, role, created_at, updated_at"
_FEW = 5000
"""So many times are looked up by place; for more of them the entries are gone through from the most recent on."""
_AT_A_TIME = 20_000


@dataclass(frozen=True)
class Row:
    """An entry as the file holds it; ``owner`` is "" and ``metadata`` None where there are none."""

    place: int
    id: str
    owner: str
    content: str
    metadata: str | None
    role: str | None
    created_at: str
    updated_at: str | None

    @property
    def digest(self) -> bytes:
        """The hash of the content, blanks around it left out."""
        return digest_of(self.content)

    def record(self, store: str) -> Record:
        """Return it for a person to browse."""
        return Record(
            self.id,
            self.content,
            parse_stamp(self.created_at),
            None if self.updated_at is None else parse_stamp(self.updated_at),
            store,
            self.owner or None,
            self.role,
            read_metadata(self.metadata),
        )


def digest_of(content: str) -> bytes:
    """Return what texts have in common that differ in the blanks around them alone."""
    return hashlib.blake2b(content.strip().encode(), digest_size=16).digest()


def written_metadata(metadata: Mapping[str, Any] | None) -> str | None:
    """Write metadata on one line, exactly."""
    if metadata is None:
        return None
    data = _json.dumps_dict(dict(metadata), "metadata")
    return data if isinstance(data, str) else data.decode()


def read_metadata(text: str | None) -> dict[str, Any] | None:
    """Read what :func:`written_metadata` wrote."""
    if text is None:
        return None
    data = text.encode()
    value: dict[str, Any] = _json.loads_plain(data) if _json.is_plain(data) else json.loads(text)
    return value


def latest(connection: sqlite3.Connection) -> datetime | None:
    """Return the latest time of an entry."""
    time = connection.execute("SELECT max(created_at) FROM memories").fetchone()[0]
    return None if time is None else parse_stamp(time)


def insert(connection: sqlite3.Connection, rows: Sequence[Row], tokenizer: Tokenizer) -> None:
    """Write new entries, at the places that they name; neither their ids nor their texts are taken."""
    if not rows:
        return
    (time,) = connection.execute("SELECT max(created_at) FROM memories").fetchone()
    (place,) = connection.execute("SELECT max(place) FROM memories").fetchone()
    connection.executemany(
        f"INSERT INTO memories ({COLUMNS}, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((*vars(row).values(), row.digest) for row in rows),
    )
    add_words(connection, ((row.place, counts(tokenizer, row.content)) for row in rows))
    _count(connection, [row.place for row in rows], 1)
    order = [*([] if place is None else [(place, time)]), *((row.place, row.created_at) for row in rows)]
    if any(later[0] <= earlier[0] or later[1] <= earlier[1] for earlier, later in pairwise(order)):
        set_about(connection, in_order=0)


def index_all(connection: sqlite3.Connection, tokenizer: Tokenizer) -> None:
    """Index all entries; there is no index yet."""
    found = connection.execute("SELECT place, content FROM memories ORDER BY place")
    while some := found.fetchmany(_AT_A_TIME):
        add_words(connection, [(place, counts(tokenizer, content)) for place, content in some])


def remove(connection: sqlite3.Connection, row: Row, tokenizer: Tokenizer) -> None:
    """Remove an entry with all that belongs to it."""
    connection.execute("DELETE FROM memories WHERE place = ?", (row.place,))
    remove_words(connection, row.place, counts(tokenizer, row.content))
    _count(connection, [row.place], -1)


def change(connection: sqlite3.Connection, before: Row, after: Row, tokenizer: Tokenizer) -> None:
    """Write an entry's other content, metadata and time of change; all else stays."""
    connection.execute(
        "UPDATE memories SET content = ?, digest = ?, metadata = ?, updated_at = ? WHERE place = ?",
        (after.content, after.digest, after.metadata, after.updated_at, before.place),
    )
    if after.content != before.content:
        remove_words(connection, before.place, counts(tokenizer, before.content))
        add_words(connection, [(before.place, counts(tokenizer, after.content))])
    add_up(connection)


def _count(connection: sqlite3.Connection, places: Sequence[int], sign: int) -> None:
    blocks: dict[int, int] = {}
    for place in places:
        blocks[place >> BLOCK_BITS] = blocks.get(place >> BLOCK_BITS, 0) + sign
    connection.executemany(
        "INSERT INTO blocks VALUES (?, ?) ON CONFLICT (block) DO UPDATE SET entries = entries + excluded.entries",
        blocks.items(),
    )
    add_up(connection, entries=sign * len(places))


def read(connection: sqlite3.Connection, clauses: str, values: Sequence[Any] = ()) -> list[Row]:
    """Return rows; ``clauses`` is what follows FROM."""
    return [Row(*row) for row in connection.execute(f"SELECT {COLUMNS} FROM {clauses}", values)]


def at_places(connection: sqlite3.Connection, places: Iterable[int]) -> list[Row]:
    """Return the entries at these places, in this order."""
    return [row for place in places for row in read(connection, "memories WHERE place = ?", (place,))]


def by_owner_and_text(connection: sqlite3.Connection, owner: str, content: str) -> str | None:
    """Return the id of the entry of this owner that holds a text, blanks around it left out."""
    row = connection.execute(
        "SELECT id FROM memories WHERE owner = ? AND digest = ?", (owner, digest_of(content))
    ).fetchone()
    return None if row is None else str(row[0])


def first_of_page(connection: sqlite3.Connection, offset: int) -> tuple[int, int]:
    """Return a place, and how many entries to leave out from there on, to begin with the one after ``offset``."""
    for block, entries in connection.execute("SELECT block, entries FROM blocks ORDER BY block"):
        if offset < entries:
            return block << BLOCK_BITS, offset
        offset -= entries
    return 1 << 62, 0


def best_rows(connection: sqlite3.Connection, scored: Scored, limit: int, *, in_order: bool) -> list[tuple[Row, float]]:
    """Return the best entries with their scores: the highest first, of equal ones the most recent.

    Args:
        connection: Of the file.
        scored: The entries found, or all that may be among the best.
        limit: The most to return.
        in_order: Whether the entries' times rise in the order of adding.
    """
    sure, tied = scored.above(limit)
    score_of = dict(zip(sure.places.tolist(), sure.scores.tolist(), strict=True))
    missing = min(limit, len(scored.places)) - len(score_of)
    if missing:
        last = float(tied.scores[0])
        score_of.update((place, last) for place in _most_recent(connection, tied.places.tolist(), missing, in_order))
    rows = sorted(at_places(connection, sorted(score_of)), key=lambda row: row.created_at, reverse=True)
    rows.sort(key=lambda row: score_of[row.place], reverse=True)
    return [(row, score_of[row.place]) for row in rows]


def _most_recent(connection: sqlite3.Connection, places: list[int], limit: int, in_order: bool) -> list[int]:
    """Return the most recent of the entries at these rising places; of equal times the first added."""
    if in_order:
        return places[-limit:]
    if len(places) <= _FEW:
        time_of = dict(_times(connection, places))
        return sorted(places, key=lambda place: time_of[place], reverse=True)[:limit]
    wanted, found = set(places), []
    for (place,) in connection.execute("SELECT place FROM memories ORDER BY created_at DESC, place"):
        if place in wanted:
            found.append(place)
            if len(found) == limit:
                break
    return found


def _times(connection: sqlite3.Connection, places: Iterable[int]) -> Iterable[tuple[int, str]]:
    for place in places:
        yield place, connection.execute("SELECT created_at FROM memories WHERE place = ?", (place,)).fetchone()[0]


def rank_of(connection: sqlite3.Connection, scored: Scored, row: Row, score: float, *, in_order: bool) -> int:
    """Return the rank, from 1, of one of all the entries found."""
    tied = scored.places[scored.scores == score].tolist()
    if in_order:
        before = len([place for place in tied if place > row.place])
    else:
        times = _times(connection, (place for place in tied if place != row.place))
        mine = (row.created_at, -row.place)
        before = len([place for place, time in times if (time, -place) > mine])
    return int((scored.scores > score).sum()) + before + 1


def changed(row: Row, content: str | None, metadata: Mapping[str, Any] | None, now: str) -> Row:
    """Return a row with another content, other metadata, or both; the same row where nothing differs."""
    new = replace(
        row,
        content=row.content if content is None else content,
        metadata=row.metadata if metadata is None else written_metadata(metadata),
    )
    return row if new == row else replace(new, updated_at=now)
