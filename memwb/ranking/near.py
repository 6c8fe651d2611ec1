"""Texts that say nearly the same: in another case, Unicode form or spacing, or with most words in common."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import ceil

from .tokens import Tokenizer, tokenize

THRESHOLD = 0.8
"""Share of their distinct words that two texts must have in common to be near, where nothing else is said (Jaccard)."""

_FEW = 3  # a text with fewer distinct words is near another one only by its normal form
_SLACK = 1e-9  # of sums of floats


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
    """Join texts that share enough words; those that no rare word suggests are not compared.

    Two sets that share so much share one of their rarest words: of a set of n words, one of the first
    n - ceil(threshold * n) + 1 in the order of rareness. Who has joined a group is not compared with the rest of it,
    so that thousands of texts of one pattern take no longer than others.
    """
    common = Counter(word for each in words.values() for word in each)
    ranked = sorted(
        ((sorted(each, key=lambda word: (common[word], word)), place) for place, each in words.items()),
        key=lambda pair: (len(pair[0]), pair[1]),
    )
    holders: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))  # by word and group
    for order, place in ranked:
        size = len(order)
        if size < _FEW:
            continue
        own = words[place]
        least = ceil(threshold * size - _SLACK)  # words that the smaller set must have
        rare = order[: size - least + 1]
        met: set[int] = set()
        for word in rare:
            for key, members in holders[word].items():
                if groups.root(key) == groups.root(place):
                    continue
                for other in members:
                    if other in met or len(words[other]) < least:
                        continue
                    met.add(other)
                    shared = len(own & words[other])
                    if shared >= threshold * (size + len(words[other]) - shared) - _SLACK:
                        groups.join(other, place)
                        break
        for word in rare:
            holders[word][groups.root(place)].append(place)
