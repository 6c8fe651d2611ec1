"""The means of one setting over the cases that it ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ._score import OF_PROMPT, CaseResult

__all__ = ["Summary", "figure_names", "summary_of"]

_AT_K = {"recall": "recall", "precision": "precision", "hit_rate": "hit", "ndcg": "ndcg"}
_WHOLE = ("cases", "failed", "draws", "needing", "tied")


@dataclass(frozen=True)
class Summary:
    """The means of one setting. Cases that failed are in none of them; None stands where there is nothing to average.

    Attributes:
        setting: The setting's name.
        cases: Cases that ran.
        failed: Cases that failed.
        draws: Runs of each case, whose figures were averaged first.
        needing: Cases that ran and need memory; all but the idle figures are of these.
        recall: Cut-off -> mean recall of the full ranking.
        precision: Cut-off -> mean precision of the full ranking.
        hit_rate: Cut-off -> share of the cases with an expected entry among the first places.
        ndcg: Cut-off -> mean nDCG of the full ranking.
        mrr: Mean reciprocal rank in the full ranking.
        reached: Mean share of the expected entries that reached the prompt.
        entries: Mean number of entries in the prompt.
        tokens: Mean size of the block, by the report's way of counting.
        stop_words: Share of the injected entries that matched on stop words alone; None where none was found by words.
        idle_entries: Mean number of entries in the prompt, over the cases that need none.
        idle_tokens: Mean size of the block, over the cases that need none.
        reached_precision: Mean share of the prompt's entries that were expected.
        reached_hit: Share of the cases with an expected entry in the prompt.
        reached_mrr: Mean reciprocal place of the first expected entry in the prompt.
        reached_ndcg: Mean nDCG of the prompt's entries, in their order.
        tied: Cases in which the order of entries alone decides whether an expected entry is injected.
    """

    setting: str
    cases: int
    failed: int
    draws: int
    needing: int
    recall: dict[int, float | None]
    precision: dict[int, float | None]
    hit_rate: dict[int, float | None]
    ndcg: dict[int, float | None]
    mrr: float | None
    reached: float | None
    entries: float | None
    tokens: float | None
    stop_words: float | None
    idle_entries: float | None
    idle_tokens: float | None
    reached_precision: float | None = None
    reached_hit: float | None = None
    reached_mrr: float | None = None
    reached_ndcg: float | None = None
    tied: int = 0

    def row(self) -> dict[str, Any]:
        """Return the figures under the names of a flat table's columns."""
        row: dict[str, Any] = {name: getattr(self, name) for name in _WHOLE}
        for name, short in _AT_K.items():
            row.update({f"{short}@{k}": value for k, value in getattr(self, name).items()})
        rest = ("mrr", "reached", "reached_precision", "reached_hit", "reached_mrr", "reached_ndcg")
        sizes = ("entries", "tokens", "stop_words", "idle_entries", "idle_tokens")
        return row | {name: getattr(self, name) for name in (*rest, *sizes)}


def figure_names(cutoffs: Sequence[int]) -> list[str]:
    """Return the names of a case's figures, in the order of a table's columns."""
    at_k = [f"{name}@{k}" for name in _AT_K.values() for k in cutoffs]
    return [*at_k, "rr", *OF_PROMPT, "entries", "tokens", "stop_words"]


def summary_of(setting: str, draws: int, results: Sequence[CaseResult], cutoffs: Sequence[int]) -> Summary:
    """Average one setting's results."""
    ran = [result for result in results if result.error is None]
    idle = [result for result in ran if not result.expected]
    needing = [result for result in ran if result.expected]
    lexical = [result.figures for result in needing if result.figures["stop_words"] is not None]
    entries = sum(figures["entries"] or 0 for figures in lexical)
    noise = sum(figures["stop_words"] or 0 for figures in lexical)
    return Summary(
        setting=setting,
        cases=len(ran),
        failed=len(results) - len(ran),
        draws=draws,
        needing=len(needing),
        **{name: {k: _mean(ran, f"{short}@{k}") for k in cutoffs} for name, short in _AT_K.items()},
        mrr=_mean(ran, "rr"),
        entries=_mean(needing, "entries"),
        tokens=_mean(needing, "tokens"),
        stop_words=noise / entries if entries else None,
        idle_entries=_mean(idle, "entries"),
        idle_tokens=_mean(idle, "tokens"),
        reached=_mean(ran, "reached"),
        reached_precision=_mean(ran, "reached_precision"),
        reached_hit=_mean(ran, "reached_hit"),
        reached_mrr=_mean(ran, "reached_rr"),
        reached_ndcg=_mean(ran, "reached_ndcg"),
        tied=sum(1 for result in needing if result.tied),
    )


def _mean(results: Sequence[CaseResult], figure: str) -> float | None:
    values = [value for result in results if (value := result.figures.get(figure)) is not None]
    return fmean(values) if values else None
