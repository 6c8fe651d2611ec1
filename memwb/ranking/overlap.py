"""The documented ranking: shared words first, then the most recent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set


def overlap(query_tokens: Collection[str], content_tokens: Collection[str]) -> int:
    """Return how many distinct query tokens the content holds; how often it holds them does not count."""
    return len(_as_set(query_tokens) & _as_set(content_tokens))


def rank(query_tokens: Collection[str], documents: Iterable[tuple[Collection[str], str]]) -> list[tuple[int, int]]:
    """Rank documents by overlap, then by time, both descending; ties keep the order of the documents.

    Args:
        query_tokens: The tokens of the query.
        documents: For each document its tokens and its time as text. Times are compared as text, as the SDK does.

    Returns:
        ``(position, score)`` of each document that shares a token with the query, best first; positions count
        from 0.
    """
    wanted = _as_set(query_tokens)
    found: list[tuple[int, str, int]] = []
    if wanted:
        for position, (tokens, time) in enumerate(documents):
            score = overlap(wanted, tokens)
            if score:
                found.append((score, time, position))
    found.sort(key=lambda item: item[:2], reverse=True)  # reversed, a stable sort still keeps ties in order
    return [(position, score) for score, _, position in found]


def _as_set(tokens: Collection[str]) -> Set[str]:
    return tokens if isinstance(tokens, (set, frozenset)) else set(tokens)
