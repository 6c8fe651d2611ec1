"""What the scores of the SDK's stores mean: some grow with the likeness of an entry, some shrink."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ...memory import MemoryEntry
from .listing import is_a

Meaning = Literal["count", "similarity", "distance", "score"]

MEANINGS: dict[Meaning, str] = {
    "count": "how many words of the query an entry holds: the higher, the nearer",
    "similarity": "how like the query an entry is: the higher, the nearer",
    "distance": "how far from the query an entry is: the lower, the nearer",
    "score": "how near an entry is; whether that is a similarity or a distance, the store does not tell",
}
"""What each meaning says."""


class Measure(NamedTuple):
    """How a store tells how well an entry matched.

    Attributes:
        key: The metadata key of the number.
        meaning: ``"count"`` of words, ``"similarity"`` (higher is nearer), ``"distance"`` (lower is nearer), or
            ``"score"`` where the store does not tell which of the two it is.
    """

    key: str
    meaning: Meaning

    def of(self, entry: MemoryEntry) -> float | None:
        """Return the number that an entry came with; None where it came without one."""
        value = entry.metadata.get(self.key) if isinstance(entry.metadata, dict) else None
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def measure(store: Any) -> Measure | None:
    """Return how one of the SDK's stores tells how well an entry matched; None for any other store."""
    if is_a(store, "TestMemoryStore"):
        return Measure("_relevanceScore", "count")
    if is_a(store, "FileMemoryStore"):
        return Measure("score", "count" if _counts_words(store) else "similarity")
    if is_a(store, "BedrockKnowledgeBaseStore"):
        if getattr(store, "max_score", None) is not None:  # a ceiling, which the SDK has for distances
            return Measure("_relevance_score", "distance")
        floor = getattr(store, "min_score", None) is not None
        return Measure("_relevance_score", "similarity" if floor else "score")
    return None


def _counts_words(store: Any) -> bool:
    """Whether a store searches by words, as a storage of the SDK does that was given no other way to search."""
    strategy = getattr(getattr(store, "_storage", None), "_search_strategy", None)
    return strategy is None or type(strategy).__name__ == "KeywordSearchStrategy"
