"""Texts that say nearly the same: in another case, Unicode form or spacing, or with most words in common."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import ceil, comb

from .tokens import Tokenizer, tokenize

THRESHOLD = 0.8
"""Share of their distinct words that two texts must have in common to be near, where nothing else is said (Jaccard)."""

_FEW = 3  # a text with fewer distinct words is near another one only by its normal form
_SLACK = 1e-9  # of sums of floats
_MOST_TOGETHER = 4  # words by which a text is looked up at once
_CHOICES = 40  # of such words, for a text of one size


def normal_form(text: str) -> str:
    """Return a text without what does not tell it apart: letter case, compatible Unicode forms, kinds of blanks."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def near_groups(
    texts: Sequence[str], *, threshold: float = THRESHOLD, tokenizer: Tokenizer = tokenize
) -> list[list[int]]:
    """Return groups of near texts, as their places: each group with at least two, in the order of its first one.

    Two texts are near when their normal forms are equal (:func:`normal_form`), or when the words that they share are at
    least ``threshold`` of all words that one of them has. Who is near to a member belongs to the group.

    Args:
        texts: The texts.
        threshold: From above 0 to 1; 1 asks for the very same words.
        tokenizer: Gives a text's words.
    """
    leaders: dict[str, int] = {}
    groups = _Groups([leaders.setdefault(normal_form(text), place) for place, text in enumerate(texts)])
    _join({place: set(tokenizer(texts[place])) for place in leaders.values()}, threshold, groups)
    found: dict[int, list[int]] = defaultdict(list)
    for place in range(len(texts)):
        found[groups.root(place)].append(place)
    return [group for _, group in sorted(found.items()) if len(group) > 1]


class _Groups:
    """Places that belong together; the first of them is their root."""

    def __init__(self, parents: list[int]) -> None:
        self._parents = parents

    def root(self, place: int) -> int:
        parents = self._parents
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    def join(self, one: int, other: int) -> None:
        low, high = sorted((self.root(one), self.root(other)))
        self._parents[high] = low


def _join(words: dict[int, set[str]], threshold: float, groups: _Groups) -> None:
    """Join texts that share enough words; those that no few rare words suggest are not compared.

    Two sets that share ``o`` words share their ``l`` rarest common ones, and these are among the first ``n - o + l`` of
    each set of ``n`` words in the order of rareness, since ``o - l`` more must follow. So each set is kept under every
    choice of ``l`` of its first words, and found by them. Who has joined a group is not compared with the rest of it,
    so that thousands of texts of one pattern take no longer than others.
    """
    common = Counter(word for each in words.values() for word in each)
    number = {word: at for at, word in enumerate(sorted(common, key=lambda word: (common[word], word)))}
    sets = {place: {number[word] for word in each} for place, each in words.items() if len(each) >= _FEW}
    kept: dict[int, _Kept] = {}  # by the size of the sets in it
    for place, own in sorted(sets.items(), key=lambda pair: (len(pair[1]), pair[0])):
        size, order = len(own), sorted(own)
        if size not in kept:
            kept[size] = _Kept(size, threshold)
        met: set[int] = set()
        for smaller in range(ceil(threshold * size - _SLACK), size + 1):
            if smaller in kept:
                least = _shared(smaller, size, threshold)
                for members in kept[smaller].suggested(order, least):
                    _join_near(place, own, members, least, sets, met, groups)
        kept[size].add(order, place, groups.root(place))


def _join_near(
    place: int,
    own: set[int],
    members: dict[int, list[int]],
    least: int,
    sets: dict[int, set[int]],
    met: set[int],
    groups: _Groups,
) -> None:
    """Join a text with those that share at least so many words, of each group that it does not belong to yet."""
    for key, others in members.items():
        if groups.root(key) != groups.root(place):
            for other in others:
                if other not in met:
                    met.add(other)
                    if len(own & sets[other]) >= least:
                        groups.join(other, place)
                        break


class _Kept:
    """Sets of one size, kept under choices of their rarest words.

    Args:
        size: How many words each has.
        threshold: What its words in common with another set must be, as a share of all words of the two.
    """

    def __init__(self, size: int, threshold: float) -> None:
        self._first = size - _shared(size, size, threshold)
        largest = int(size / threshold + _SLACK)
        spare = largest - _shared(size, largest, threshold)
        most = min(_MOST_TOGETHER, _shared(size, size, threshold))
        # Many words together suggest few sets, but of long texts there are too many choices of them.
        self._together = max([1, *(count for count in range(1, most + 1) if comb(spare + count, count) <= _CHOICES)])
        self._holders: dict[tuple[int, ...], dict[int, list[int]]] = {}

    def add(self, order: list[int], place: int, group: int) -> None:
        for choice in combinations(order[: self._first + self._together], self._together):
            self._holders.setdefault(choice, {}).setdefault(group, []).append(place)

    def suggested(self, order: list[int], least: int) -> Iterator[dict[int, list[int]]]:
        """Yield, by group, the sets that may share so many words with one whose words stand in this order."""
        holders = self._holders
        for choice in combinations(order[: len(order) - least + self._together], self._together):
            if choice in holders:
                yield holders[choice]


def _shared(size: int, other: int, threshold: float) -> int:
    """Return how many words two sets of these sizes must have in common."""
    return max(1, ceil(threshold * (size + other) / (1 + threshold) - _SLACK))
