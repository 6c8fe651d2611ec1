"""The figures that a ranking earns, as pure functions of a ranking of ids and the ids that were expected.

A ranking is a sequence of ids, best first. Relevance is binary: an id is expected or it is not. An id that stands in
the ranking twice counts at its first place only. The rules for the edges are the same everywhere:

- nothing expected: the figure is not defined and None, so that no mean takes it for a zero;
- an empty ranking, or one shorter than ``k``: what is not there is not found; nothing is filled up and nothing raises.

All figures lie between 0 and 1, and more is better.

Sources: recall, precision, reciprocal rank and success at a cut-off are defined as in the TREC evaluations (E. M.
Voorhees, D. K. Harman, eds.: "TREC: Experiment and Evaluation in Information Retrieval", MIT Press 2005, chapter 3; the
measures ``recall_k``, ``P_k``, ``recip_rank`` and ``success_k`` of trec_eval). nDCG is that of K. Järvelin and
J. Kekäläinen: "Cumulated Gain-Based Evaluation of IR Techniques", ACM TOIS 20(4), 2002, in the form of trec_eval's
``ndcg_cut_k``: the gain at place i is divided by log2(i + 1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from math import log2

from ..memory.settings import at_least_one

__all__ = ["figures_at", "figures_of_prompt", "hit_rate", "ndcg", "precision", "recall", "reciprocal_rank"]


def recall(ranking: Sequence[str], expected: Collection[str], k: int) -> float | None:
    """Return the share of the expected ids that stand among the first ``k`` places.

    With more than ``k`` expected ids it cannot reach 1.

    Raises:
        ConfigError: ``k`` is no whole number of at least 1.
    """
    places = _places(ranking, expected, k)
    return len(places) / len(set(expected)) if expected else None


def precision(ranking: Sequence[str], expected: Collection[str], k: int) -> float | None:
    """Return the share of the first ``k`` places that hold an expected id; places that are empty hold none.

    Raises:
        ConfigError: ``k`` is no whole number of at least 1.
    """
    places = _places(ranking, expected, k)
    return len(places) / k if expected else None


def hit_rate(ranking: Sequence[str], expected: Collection[str], k: int) -> float | None:
    """Return 1.0 when at least one expected id stands among the first ``k`` places, else 0.0.

    Raises:
        ConfigError: ``k`` is no whole number of at least 1.
    """
    places = _places(ranking, expected, k)
    return float(bool(places)) if expected else None


def reciprocal_rank(ranking: Sequence[str], expected: Collection[str]) -> float | None:
    """Return 1 / the place of the first expected id, counted from 1; 0.0 when none is in the ranking.

    The mean of it over cases is the mean reciprocal rank, MRR.
    """
    if not expected:
        return None
    places = _places(ranking, expected, max(1, len(ranking)))
    return 1 / places[0] if places else 0.0


def ndcg(ranking: Sequence[str], expected: Collection[str], k: int) -> float | None:
    """Return the discounted cumulated gain of the first ``k`` places, over that of the best ranking there could be.

    An expected id at place i, counted from 1, gains 1 / log2(i + 1). The best ranking has expected ids at its first
    ``min(k, number expected)`` places.

    Raises:
        ConfigError: ``k`` is no whole number of at least 1.
    """
    places = _places(ranking, expected, k)
    if not expected:
        return None
    return _gain(places) / _best_gain(min(k, len(set(expected))))


def figures_at(places: Sequence[int], expected: int, cutoffs: Sequence[int]) -> dict[str, float | None]:
    """Return ``recall@k``, ``precision@k``, ``hit@k``, ``ndcg@k`` for each k, and ``rr``, where only places are known.

    They are the figures that the functions above give for a ranking with expected ids at these places and no others.

    Args:
        places: Where the expected ids stand, from 1, rising.
        expected: How many ids are expected.
        cutoffs: The cut-offs k.
    """
    figures: dict[str, float | None] = {}
    for k in cutoffs:
        within = [place for place in places if place <= k]
        figures[f"recall@{k}"] = len(within) / expected if expected else None
        figures[f"precision@{k}"] = len(within) / k if expected else None
        figures[f"hit@{k}"] = float(bool(within)) if expected else None
        figures[f"ndcg@{k}"] = _gain(within) / _best_gain(min(k, expected)) if expected else None
    figures["rr"] = (1 / places[0] if places else 0.0) if expected else None
    return figures


def figures_of_prompt(names: Sequence[str | None], expected: Collection[str]) -> dict[str, float | None]:
    """Return the figures of a prompt's entries: a ranking that ends where the prompt does.

    ``reached`` is the recall of all entries, ``reached_precision`` the share of them that were expected (0.0 of none),
    ``reached_hit`` whether there is one, ``reached_rr`` the reciprocal place of the first, and ``reached_ndcg`` the
    nDCG where the best prompt has all expected entries in front.

    Args:
        names: The entries in their order; None, or any other name, for one that was not expected.
        expected: What was expected.
    """
    if not expected:
        return dict.fromkeys(("reached", "reached_precision", "reached_hit", "reached_rr", "reached_ndcg"))
    wanted, places = set(expected), []
    number = len(wanted)
    for place, name in enumerate(names, 1):
        if name in wanted:
            wanted.remove(name)
            places.append(place)
    return {
        "reached": len(places) / number,
        "reached_precision": len(places) / len(names) if names else 0.0,
        "reached_hit": float(bool(places)),
        "reached_rr": 1 / places[0] if places else 0.0,
        "reached_ndcg": _gain(places) / _best_gain(number) if places else 0.0,
    }


def _gain(places: Iterable[int]) -> float:
    """Return the discounted cumulated gain of expected ids at these places."""
    return sum([1 / log2(place + 1) for place in places])


@cache
def _best_gain(number: int) -> float:
    """Return the gain of so many expected ids in front: every ranking is measured by it."""
    return _gain(range(1, number + 1))


def _places(ranking: Sequence[str], expected: Collection[str], k: int) -> list[int]:
    """Return the places, from 1 to ``k``, at which an expected id stands for the first time."""
    at_least_one(k, "The cut-off k of a metric", "k")
    wanted = set(expected)
    places = []
    for place, id in enumerate(ranking[:k], 1):
        if id in wanted:
            wanted.remove(id)
            places.append(place)
    return places
