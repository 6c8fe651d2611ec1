"""What the scores of hits mean, how they are spread, and when the entries were written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING, Any

from .._text import counted
from ..memory import Hit
from ..memory.search import is_the_stores_own

if TYPE_CHECKING:
    from .state import WorkbenchState

BINS = 8

KINDS = {
    "count": "words of the query that an entry holds: higher is nearer",
    "bm25": "BM25, rare words weigh more: higher is nearer",
    "similarity": "likeness to the query (cosine): higher is nearer",
    "distance": "distance from the query: lower is nearer",
    "fused": "places in several rankings, 1 / (60 + place) added up: higher is nearer",
}
"""What a store's attribute ``score_kind`` may say, and what that means."""


@dataclass(frozen=True)
class Bin:
    """Hits of about the same score.

    Attributes:
        low: The lowest score in it.
        high: The highest.
        hits: How many hits it has.
        kept: How many of them reach the prompt.
    """

    low: float
    high: float
    hits: int
    kept: int

    @property
    def label(self) -> str:
        """Its scores."""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"

    @property
    def sentence(self) -> str:
        """The bin in words."""
        return f"score {self.label}: {counted(self.hits, 'hit')}, {self.kept:,} kept"


def histogram(hits: Sequence[Hit]) -> tuple[Bin, ...]:
    """Return how the scores are spread, the highest first; one bin a score where there are few different ones.

    Hits without a score, or with one that is no finite number, are in none.
    """
    scored = [(float(hit.score), hit.kept) for hit in hits if hit.score is not None and isfinite(hit.score)]
    values = sorted({score for score, _ in scored}, reverse=True)
    if len(values) > BINS:
        width = (values[0] - values[-1]) / BINS
        place = {value: min(BINS - 1, int((values[0] - value) / width)) for value in values}
    else:
        place = {value: at for at, value in enumerate(values)}
    bins: dict[int, list[tuple[float, bool]]] = {}
    for score, kept in scored:
        bins.setdefault(place[score], []).append((score, kept))
    return tuple(
        Bin(min(held)[0], max(held)[0], len(held), sum(kept for _, kept in held)) for _, held in sorted(bins.items())
    )


def meaning(state: WorkbenchState) -> str:
    """Say what the scores of the stores that are searched mean."""
    kinds = {}
    for store in state.source.stores:
        if store.name in state.store_names:
            kind = getattr(store, "score_kind", None)
            measure = state.source.measures.get(store.name)
            kind = measure.meaning if kind is None and measure is not None else kind
            kinds[store.name] = KINDS.get(str(kind), "as the store gives it")
    if len(set(kinds.values())) == 1:
        return next(iter(kinds.values()))
    return "; ".join(f"{name}: {said}" for name, said in kinds.items())


async def dates(state: WorkbenchState, hits: Sequence[Hit]) -> dict[tuple[str, str], datetime]:
    """Return when the entries of hits were written, by store and id, as far as their stores tell."""
    listings: dict[str, Any] = {
        store.name: state.source.listings.get(store.name, store) for store in state.source.stores
    }
    found = {}
    for hit in hits:
        listing = listings.get(hit.store)
        if hit.id is None or listing is None or not hasattr(listing, "get"):
            continue
        try:
            record = await listing.get(hit.id)
        except BaseException as error:  # the hits are there all the same
            if not is_the_stores_own(error):
                raise
            continue
        if record is not None and record.created_at is not None:
            found[hit.store, hit.id] = record.created_at
    return found
