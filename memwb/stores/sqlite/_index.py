"""The words of the entries, and the ranking: BM25 as SQLite's FTS5 computes it, or the number of shared words.

BM25 adds up for each token of the query, in an entry that holds it ``f`` times and has ``n`` tokens in all::

    idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * n / mean n)),    idf = ln((N - d + 0.5) / (d + 0.5)), at least 0.000001

with ``d`` of ``N`` entries holding the token. Rare tokens are looked at first; as soon as those that are left cannot
bring another entry among the best, they are added up for the entries alone that are already there.
"""

from __future__ import annotations

import math
import sqlite3
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ._file import BLOCK_BITS, add_up

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Ranking = Literal["bm25", "overlap"]

K1, B = 1.2, 0.75
_LEAST_IDF = 1e-6
_FEW = 2000
_ROUNDING = 1 + 1e-9
_NUMBER_BITS = 32

Documents = Iterable[tuple[int, Mapping[str, int]]]
"""Places, and the tokens of the entries there with how often each is held."""


def add_words(connection: sqlite3.Connection, documents: Documents) -> None:
    """Add entries to the index; their places lie above all others of their blocks' entries, or anywhere in them."""
    held: dict[str, dict[int, array[int]]] = {}
    total = 0
    for place, counts in documents:
        length = sum(counts.values())
        total += length
        for word, count in counts.items():
            held.setdefault(word, {}).setdefault(place >> BLOCK_BITS, array("I")).extend((place, count, length))
    connection.executemany(
        "INSERT INTO words (word, entries) VALUES (?, ?) "
        "ON CONFLICT (word) DO UPDATE SET entries = entries + excluded.entries",
        ((word, sum(map(len, blocks.values())) // 3) for word, blocks in held.items()),
    )
    connection.executemany(
        "INSERT INTO postings VALUES (((SELECT number FROM words WHERE word = ?) << 32) | ?, ?) "
        "ON CONFLICT (key) DO UPDATE SET held = CAST(held || excluded.held AS BLOB)",
        ((word, block, _bytes(rows)) for word, blocks in held.items() for block, rows in blocks.items()),
    )
    add_up(connection, words=total)


def remove_words(connection: sqlite3.Connection, place: int, counts: Mapping[str, int]) -> None:
    """Take an entry out of the index."""
    for word in counts:
        (number,) = connection.execute("SELECT number FROM words WHERE word = ?", (word,)).fetchone()
        key = number << _NUMBER_BITS | place >> BLOCK_BITS
        (held,) = connection.execute("SELECT held FROM postings WHERE key = ?", (key,)).fetchone()
        rows = _array(held)
        at = next(at for at in range(0, len(rows), 3) if rows[at] == place)
        del rows[at : at + 3]
        if rows:
            connection.execute("UPDATE postings SET held = ? WHERE key = ?", (_bytes(rows), key))
        else:
            connection.execute("DELETE FROM postings WHERE key = ?", (key,))
        connection.execute("UPDATE words SET entries = entries - 1 WHERE number = ?", (number,))
    connection.executemany("DELETE FROM words WHERE word = ? AND entries = 0", ((word,) for word in counts))
    add_up(connection, words=-sum(counts.values()))


def _bytes(rows: array[int]) -> bytes:
    if rows.itemsize != 4 or _BIG_ENDIAN:
        return b"".join(value.to_bytes(4, "little") for value in rows)
    return rows.tobytes()


def _array(held: bytes) -> array[int]:
    if array("I").itemsize != 4 or _BIG_ENDIAN:
        return array("I", (int.from_bytes(held[at : at + 4], "little") for at in range(0, len(held), 4)))
    return array("I", held)


_BIG_ENDIAN = array("H", [1]).tobytes()[0] == 0


@dataclass(frozen=True)
class Scored:
    """The entries that a query finds, or the best of them.

    Attributes:
        places: Their places, rising.
        scores: Their scores.
    """

    places: NDArray[numpy.int64]
    scores: NDArray[numpy.float64]

    def above(self, limit: int) -> tuple[Scored, Scored]:
        """Return those that are surely among the best, and those that tie for the last of these places."""
        import numpy

        if len(self.places) <= limit:
            return self, self._where(numpy.zeros(len(self.places), bool))
        least = _at_rank(self.scores, limit)
        return self._where(self.scores > least), self._where(self.scores == least)

    def at(self, places: Collection[int]) -> Scored:
        """Return those of them that lie at these places."""
        import numpy

        return self._where(numpy.isin(self.places, numpy.array(list(places), numpy.int64)))

    def _where(self, mask: Any) -> Scored:
        return Scored(self.places[mask], self.scores[mask])


def _at_rank(scores: Any, rank: int) -> Any:
    """Return the score that stands at a rank, from 1."""
    import numpy

    if scores.dtype == float:
        return numpy.partition(scores, len(scores) - rank)[len(scores) - rank]
    reached = numpy.bincount(scores)[::-1].cumsum()  # of whole numbers few are different
    return len(reached) - 1 - int(numpy.searchsorted(reached, rank))


class Search:
    """One query over the index.

    Args:
        connection: In a transaction, so that all that is read belongs together.
        tokens: The query's distinct tokens.
        ranking: How entries are scored.
        state: What all entries come to, see :func:`about`.
        allowed: The places of the entries that are searched; None: of all.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        tokens: Collection[str],
        ranking: Ranking,
        state: Mapping[str, Any],
        allowed: Sequence[int] | None = None,
    ) -> None:
        self._connection = connection
        self._size = int(state["next_place"])
        self._mean = state["words"] / state["entries"] if state["entries"] else 1.0
        self._bm25 = ranking == "bm25"
        self._allowed: Any = None
        if allowed is not None:
            import numpy

            self._allowed = numpy.zeros(self._size, bool)
            self._allowed[numpy.array(allowed, numpy.int64)] = True
        known = []
        for token in tokens:
            row = connection.execute("SELECT number, entries FROM words WHERE word = ?", (token,)).fetchone()
            if row is not None:
                known.append((row[1], token, row[0]))
        entries = state["entries"]
        self._tokens = [
            (number, max(math.log((entries - held + 0.5) / (held + 0.5)), _LEAST_IDF) if self._bm25 else 1.0)
            for held, _, number in sorted(known)
        ]

    def best(self, limit: int | None = None) -> Scored:
        """Return the entries that may be among so many best, with all that tie with the last; None: all."""
        import numpy

        scores = numpy.zeros(self._size, float if self._bm25 else numpy.uint32)
        bounds = [weight * (K1 + 1 if self._bm25 else 1) for _, weight in self._tokens]
        candidates: Any = None  # the places that may still be among the best; None as long as any may
        for at, (number, weight) in enumerate(self._tokens):
            left = math.fsum(bounds[at:]) * _ROUNDING
            if limit is not None and left < math.fsum(bounds[:at]):  # else no score is high enough yet
                candidates = self._cut(scores, candidates, limit, left)
            rows = self._rows(number, candidates)
            scores[rows[:, 0]] += self._value(rows, weight)
        places = numpy.flatnonzero(scores) if candidates is None else candidates
        return Scored(places, scores[places])

    @staticmethod
    def _cut(scores: Any, candidates: Any, limit: int, left: float) -> Any:
        """Return the places that may still be among the best, given what the tokens left can add; None: any."""
        import numpy

        places = numpy.flatnonzero(scores) if candidates is None else candidates
        if len(places) < limit:
            return None
        held = scores[places]
        least = _at_rank(held, limit)
        if candidates is None and left >= least:
            return None
        return places[held + left >= least]

    def _value(self, rows: Any, weight: float) -> Any:
        if not self._bm25:
            return 1
        count = rows[:, 1].astype(float)
        return weight * (count * (K1 + 1) / (count + K1 * (1 - B + B * rows[:, 2] / self._mean)))

    def _rows(self, number: int, candidates: Any) -> Any:
        """Return the postings of a token, of the candidates alone where these are given."""
        import numpy

        first = number << _NUMBER_BITS
        if candidates is not None and len(candidates) <= _FEW:
            blocks = numpy.unique(candidates >> BLOCK_BITS).tolist()
            found = []
            for block in blocks:
                row = self._connection.execute("SELECT held FROM postings WHERE key = ?", (first | block,)).fetchone()
                found += [row] if row is not None else []
        else:
            last = first | (1 << _NUMBER_BITS) - 1
            found = self._connection.execute(
                "SELECT held FROM postings WHERE key BETWEEN ? AND ? ORDER BY key", (first, last)
            ).fetchall()
        rows = numpy.frombuffer(b"".join(held for (held,) in found), "<u4").reshape(-1, 3)
        if candidates is not None:
            chosen = numpy.zeros(self._size, bool)
            chosen[candidates] = True
            rows = rows[chosen[rows[:, 0]]]
        return rows if self._allowed is None else rows[self._allowed[rows[:, 0]]]
