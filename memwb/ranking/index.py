"""An inverted index that ranks as :func:`~memwb.ranking.rank` does, in a time that hardly grows with the documents.

For each token it holds the set of documents that have it, as the bits of one integer where there are many and as a
list where there are few. A query adds up its tokens' sets by bitwise arithmetic (a counter of which each integer holds
one binary digit for all documents at once) and reads the best documents off the counter's top. Documents are numbered
by the order in which ties are broken, so the highest bits of a set are its most recent documents.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Mapping, Sequence
from itertools import islice, repeat
from operator import contains, lt
from typing import TYPE_CHECKING, Any

_DENSE = 256
"""A token that more than one in so many documents has gets its set as bits from the start."""

_READY_BYTES = 8_000_000
"""The room for sets of other tokens, which are turned into bits when a query asks for them."""

_HOLE = -1

if TYPE_CHECKING:
    _Posting = int | array[int]  # bits of a set; ~rank, which is below 0, for a set of one; the ranks of a small set

_BIT = tuple(1 << bit for bit in range(8))
_TO_DIGITS = b"01" + bytes(254)
_BITS_OF_BYTE = tuple(tuple(bit for bit in range(7, -1, -1) if byte >> bit & 1) for byte in range(256))


class Index:
    """An index over documents. It is never changed: what changes a document gives another index.

    Documents are named by their place, counted from 0 in the order of adding. Times are compared as text.

    Attributes:
        documents: How many there are.
    """

    def __init__(self, times: Sequence[str]) -> None:
        """Make an index over documents without tokens, of these times; see :meth:`build` and :meth:`of_some`."""
        self.documents = len(times)
        self._ranks = len(times)  # with those that have no document any more
        self._order = order_of(times)
        self._newest = max(times, default="")
        self._base: dict[Hashable, _Posting] = {}
        self._over: dict[Hashable, _Posting] = {}  # what differs from the base, which indexes share
        self._ready: dict[Hashable, tuple[array[int], int]] = {}
        self._last: tuple[Iterable[Hashable], list[int]] = (), []

    @classmethod
    def build(cls, tokens_of: Callable[[int], Iterable[Hashable]], times: Sequence[str]) -> Index:
        """Index the documents of these times; ``tokens_of`` gives the tokens of the one at a place."""
        new = cls(times)
        postings: defaultdict[Hashable, list[int]] = defaultdict(list)
        for rank, place in enumerate(range(len(times)) if new._order is None else new._order):
            for token in dict.fromkeys(tokens_of(place)):  # each once, as set does, but faster to go through
                postings[token].append(rank)
        new._base = {token: new._posting(ranks) for token, ranks in postings.items()}
        return new

    @classmethod
    def of_some(
        cls, wanted: Mapping[Hashable, Any], documents: Sequence[Container[Any]], times: Sequence[str]
    ) -> Index:
        """Index documents of these times for a few tokens alone.

        Args:
            wanted: The tokens, with what a document contains if it has the token.
            documents: The documents.
            times: Their times.
        """
        new = cls(times)
        if new._order is not None:
            documents = [documents[place] for place in new._order]
        if documents:
            new._base = {token: _bits_where(documents, what) for token, what in wanted.items()}
        return new

    def top(self, tokens: Collection[Hashable], limit: int) -> list[tuple[int, int]]:
        """Return the ``(place, score)`` of the best documents for these distinct tokens, best first."""
        digits = self._counted(tokens)
        found: list[tuple[int, int]] = []
        if digits:
            _collect(digits, len(digits) - 1, _any(digits), 0, limit, found)
        order = self._order
        return found if order is None else [(order[rank], score) for rank, score in found]

    def best(self, tokens: Collection[Hashable], places: Collection[int]) -> tuple[int, int, int] | None:
        """Return ``(place, score, rank)`` of the best of these documents; None where none has one of the tokens.

        The rank counts from 1 and is the one among all documents: where :meth:`top` would list it.
        """
        digits = self._counted(tokens)
        found: list[tuple[int, int]] = []
        if digits and places:
            _collect(digits, len(digits) - 1, _any(digits) & self._bits_of(places), 0, 1, found)
        if not found:
            return None
        rank, score = found[0]
        better, equal = 0, _any(digits)
        for level in range(len(digits) - 1, -1, -1):
            ones = equal & digits[level]
            if score >> level & 1:
                equal = ones
            else:
                better += ones.bit_count()
                equal ^= ones
        better += (equal >> rank + 1).bit_count()
        return rank if self._order is None else self._order[rank], score, better + 1

    def count(self, tokens: Collection[Hashable]) -> int:
        """Return how many documents have at least one of these tokens."""
        return _any(self._counted(tokens)).bit_count()

    def extended(self, documents: Sequence[Iterable[Hashable]], times: Sequence[str]) -> Index | None:
        """Return an index with more documents at the end; None where their times do not rise after all others."""
        if not _rise([self._newest, *times] if self.documents else times):
            return None
        new = self._changed()
        for rank, tokens in enumerate(documents, self._ranks):
            for token in set(tokens):
                new._over[token] = new._with(token, rank)
        if self._order is not None:
            new._order = self._order + array("q", range(self.documents, self.documents + len(documents)))
        new.documents += len(documents)
        new._ranks += len(documents)
        new._newest = times[-1] if times else self._newest
        return new._settled()

    def replaced(self, place: int, before: Collection[Hashable], after: Collection[Hashable]) -> Index:
        """Return an index in which a document has other tokens, at the same place and of the same time."""
        rank = self._rank(place)
        new = self._changed()
        for token in set(before) - set(after):
            new._over[token] = new._without(token, rank)
        for token in set(after) - set(before):
            new._over[token] = new._with(token, rank)
        return new._settled()

    def without(self, place: int, tokens: Collection[Hashable]) -> Index:
        """Return an index that lacks the document at this place; those after it move up by one."""
        rank = self._rank(place)
        new = self.replaced(place, tokens, ())
        order = range(self._ranks) if self._order is None else self._order
        new._order = array("q", [other - (other > place) for other in order])
        new._order[rank] = _HOLE
        new.documents -= 1
        return new

    def _bits_of(self, places: Collection[int]) -> int:
        if self._order is None:
            return _bits(sorted(places))
        sought = frozenset(places)
        return _bits([rank for rank, place in enumerate(self._order) if place in sought])

    def _rank(self, place: int) -> int:
        return place if self._order is None else self._order.index(place)

    def _changed(self) -> Index:
        new = Index.__new__(Index)
        new.__dict__.update(self.__dict__)
        new._over, new._ready, new._last = dict(self._over), dict(self._ready), ((), [])
        return new

    def _settled(self) -> Index:
        """Make what differs the new base once it has grown large."""
        if len(self._over) > 64 + len(self._base) // 16:
            self._base, self._over = {**self._base, **self._over}, {}
        return self

    def _posting(self, ranks: Sequence[int]) -> _Posting:
        if len(ranks) == 1:
            return ~ranks[0]
        return _bits(ranks) if len(ranks) * _DENSE >= self._ranks else array("I", ranks)

    def _get(self, token: Hashable) -> _Posting:
        posting = self._over.get(token)
        return self._base.get(token, 0) if posting is None else posting

    def _with(self, token: Hashable, rank: int) -> _Posting:
        posting = self._get(token)
        if isinstance(posting, int) and posting > 0:
            return posting | 1 << rank
        return self._posting(sorted({*_few(posting), rank}))

    def _without(self, token: Hashable, rank: int) -> _Posting:
        posting = self._get(token)
        if isinstance(posting, int) and posting > 0:
            return posting & ~(1 << rank)
        left = [other for other in _few(posting) if other != rank]
        return self._posting(left) if left else 0

    def _counted(self, tokens: Collection[Hashable]) -> list[int]:
        """Count the tokens in each document, see :func:`_add`; of a tuple the answer is kept, for the next question."""
        last, digits = self._last
        if tokens is not last or not isinstance(tokens, tuple):
            digits = _add(self._sets(tokens))
            self._last = tokens, digits
        return digits

    def _sets(self, tokens: Iterable[Hashable]) -> list[int]:
        sets = []
        for token in tokens:
            posting = self._get(token)
            if not isinstance(posting, int):
                posting = self._made_ready(token, posting)
            elif posting < 0:
                posting = 1 << ~posting
            if posting:
                sets.append(posting)
        return sets

    def _made_ready(self, token: Hashable, posting: array[int]) -> int:
        ready = self._ready.get(token)
        if ready is not None and ready[0] is posting:
            return ready[1]
        if len(self._ready) * self._ranks // 8 > _READY_BYTES:
            self._ready.clear()
        bits = _bits(posting)
        self._ready[token] = (posting, bits)
        return bits


def _few(posting: _Posting) -> Sequence[int]:
    """Return the ranks of a set that is not kept as bits."""
    if isinstance(posting, int):
        return [~posting] if posting else []
    return posting


def order_of(times: Sequence[str]) -> array[int] | None:
    """Return the places of documents in rising order of time, of equal ones the later first; None: just their order."""
    if _rise(times):
        return None
    return array("q", sorted(range(len(times)), key=lambda place: (times[place], -place)))


def _rise(times: Sequence[str]) -> bool:
    return all(map(lt, times, islice(times, 1, None)))


def _bits(ranks: Sequence[int]) -> int:
    """Turn rising ranks into an integer that has these bits."""
    if len(ranks) < 4:
        return sum(1 << rank for rank in ranks)
    data = bytearray((ranks[-1] >> 3) + 1)
    for rank in ranks:
        data[rank >> 3] |= _BIT[rank & 7]
    return int.from_bytes(data, "little")


def _any(sets: Iterable[int]) -> int:
    """Return the bits that are in any of the sets."""
    every = 0
    for bits in sets:
        every |= bits
    return every


def _bits_where(documents: Sequence[Container[Any]], what: Any) -> int:
    """Return an integer with the bits of the documents that contain something."""
    flags = bytes(map(contains, documents, repeat(what)))
    return int(flags.translate(_TO_DIGITS)[::-1], 2)


def _add(sets: Iterable[int]) -> list[int]:
    """Count in how many of the sets each bit is: the lowest binary digit of all counts comes first."""
    digits: list[int] = []
    for carry in sets:
        for place, digit in enumerate(digits):
            digits[place] = digit ^ carry
            carry &= digit
            if not carry:
                break
        else:
            digits.append(carry)
    return digits


def _collect(digits: list[int], level: int, among: int, score: int, limit: int, found: list[tuple[int, int]]) -> None:
    """Add the ranks in ``among`` by their count, the highest first; their digits above ``level`` make up ``score``."""
    if level < 0:
        found += [(rank, score) for rank in _highest(among, limit - len(found))]
        return
    ones = among & digits[level]
    if ones:
        _collect(digits, level - 1, ones, score | 1 << level, limit, found)
    if len(found) < limit and ones != among:
        _collect(digits, level - 1, among ^ ones, score, limit, found)


def _highest(bits: int, limit: int) -> list[int]:
    """Return the highest bits of an integer, from the top."""
    if limit > 100:
        data = bits.to_bytes((bits.bit_length() + 7) // 8, "little")
        all = (place * 8 + bit for place in range(len(data) - 1, -1, -1) for bit in _BITS_OF_BYTE[data[place]])
        return list(islice(all, limit))
    found: list[int] = []
    width = 512  # so many bits are looked at first, which costs far less than looking at all
    while bits and len(found) < limit:
        shift = max(0, bits.bit_length() - width)
        window = bits >> shift
        bits ^= window << shift
        while window and len(found) < limit:
            highest = window.bit_length() - 1
            window ^= 1 << highest
            found.append(highest + shift)
        width *= 4
    return found
