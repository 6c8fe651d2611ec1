"""Reciprocal rank fusion: one ranking out of several, by the places alone, so that their scores need not compare."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from ..errors import ConfigError

FUSION_K = 60
"""The usual constant: a place counts 1 / (60 + place), so that the first places differ by little from each other."""

K = TypeVar("K", bound=Hashable)


def fuse(rankings: Iterable[Sequence[K]], k: int = FUSION_K) -> list[tuple[K, float]]:
    """Fuse rankings of the same things into one (Cormack, Clarke and Büttcher, 2009).

    Each thing scores the sum of ``1 / (k + place)`` over the rankings that hold it; places count from 1.

    Args:
        rankings: Each the best first; a thing that one holds twice counts at its first place.
        k: The larger, the less the first places stand out; at least 0.

    Returns:
        ``(thing, score)``, the highest score first. Equal ones stay in the order in which they were met, going
        through the rankings one after the other.

    Raises:
        ConfigError: A k that cannot be used.
    """
    if not isinstance(k, int | float) or isinstance(k, bool) or not 0 <= k < float("inf"):
        raise ConfigError(f"fuse: k is {k!r:.80}; it must be a number, at least 0.", key="k", value=k)
    scores: dict[K, float] = {}
    for ranking in rankings:
        for place, thing in enumerate(dict.fromkeys(ranking), 1):
            scores[thing] = scores.get(thing, 0.0) + 1 / (k + place)
    return sorted(scores.items(), key=lambda item: item[1], reverse=True)
