"""Two settings case by case: how many cases the one wins and the other, and whether that could be luck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._text import counted, quoted
from ._score import CaseResult
from .bootstrap import Interval, interval, luck

__all__ = ["LESS_IS_BETTER", "Comparison", "compared", "values_of"]

LESS_IS_BETTER = ("entries", "tokens", "stop_words")
"""Figures of which a case's winner has less; of all others it has more."""


@dataclass(frozen=True)
class Comparison:
    """Two settings over the cases that ran under both and need memory.

    Attributes:
        metric: The figure that is compared.
        first: The setting that wins or loses.
        second: The setting that it is compared with.
        difference: The mean of first minus second, with its bootstrap interval; None without a common case.
        wins: The cases in which the first is better, in their order.
        losses: The cases in which the second is better.
        ties: The cases in which both are equal.
        left_out: The cases that failed under one of the two.
        p_value: How often luck alone gives as large a difference; see :func:`memwb.evaluation.bootstrap.luck`.
        draws: Runs a case of the setting that has more of them; above 1 it is drawn by lot.

    A mean of several draws, such as :func:`at_random`, is seldom 0 and seldom 1: it wins nearly every case that the
    other loses altogether. Of such a setting look at the difference, not at wins and losses.
    """

    metric: str
    first: str
    second: str
    difference: Interval | None
    wins: tuple[str, ...]
    losses: tuple[str, ...]
    ties: tuple[str, ...]
    left_out: tuple[str, ...]
    p_value: float
    draws: int = 1

    def __repr__(self) -> str:
        cases = counted(len(self.wins) + len(self.losses) + len(self.ties), "case")
        head = f"{self.metric}: {quoted(self.first)} against {quoted(self.second)} over {cases}"
        if self.difference is None:
            return head
        mean = self.difference
        p = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        left = f"; {counted(len(self.left_out), 'case')} failed and {_are(self.left_out)} left out" * bool(
            self.left_out
        )
        if self.draws > 1:
            counts = f"cases won and lost say nothing of a mean of {self.draws} draws"
        else:
            counts = f"{len(self.wins):,} won, {len(self.losses):,} lost, {len(self.ties):,} tied"
        return f"{head}: {mean.mean:+.3f} [{mean.low:+.3f}, {mean.high:+.3f}], {counts} (randomisation test, {p}){left}"


def compared(
    metric: str,
    first: str,
    second: str,
    results: Mapping[str, Sequence[CaseResult]],
    *,
    draws: int = 1,
    seed: int = 0,
) -> Comparison:
    """Compare two settings' results for the same cases in the same order."""
    differences: dict[str, float] = {}
    left_out: list[str] = []
    for one, other in zip(results[first], results[second], strict=True):
        if one.error is not None or other.error is not None:
            left_out.append(one.case)
            continue
        a, b = one.figures.get(metric), other.figures.get(metric)
        if one.expected and a is not None and b is not None:
            differences[one.case] = a - b
    better = -1 if metric in LESS_IS_BETTER else 1
    wins = tuple(case for case, by in differences.items() if by * better > 0)
    losses = tuple(case for case, by in differences.items() if by * better < 0)
    return Comparison(
        metric=metric,
        first=first,
        second=second,
        difference=interval(list(differences.values()), seed=seed),
        wins=wins,
        losses=losses,
        ties=tuple(case for case, by in differences.items() if by == 0),
        left_out=tuple(left_out),
        p_value=luck(list(differences.values()), seed=seed),
        draws=draws,
    )


def values_of(results: Sequence[CaseResult], metric: str) -> list[float]:
    """Return a figure of each case that ran and needs memory, where it is defined."""
    return [
        value
        for result in results
        if result.error is None and result.expected and (value := result.figures.get(metric)) is not None
    ]


def _are(cases: Sequence[str]) -> str:
    return "is" if len(cases) == 1 else "are"
