"""Quality against tokens: which settings no other one beats at both, as names, as a table and in words."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from .._text import counted, quoted
from .bootstrap import Interval

if TYPE_CHECKING:
    import pandas

    from .report import Report

__all__ = [
    "MEANINGS",
    "by_category",
    "by_owner",
    "by_tokens",
    "grouped",
    "in_words",
    "leaderboard",
    "meaning",
    "pareto",
]

MEANINGS = {
    "recall": "mean share of the expected entries that are among the first {k} of the ranking",
    "precision": "mean share of the first {k} places of the ranking that hold an expected entry",
    "hit": "share of the cases with an expected entry among the first {k} of the ranking",
    "ndcg": "mean nDCG of the first {k} places of the ranking",
    "rr": "mean reciprocal rank of the first expected entry",
    "reached": "mean share of the expected entries that reached the prompt",
    "reached_precision": "mean share of the prompt's entries that were expected",
    "reached_hit": "share of the cases with an expected entry in the prompt",
    "reached_rr": "mean reciprocal place of the first expected entry in the prompt",
    "reached_ndcg": "mean nDCG of the prompt's entries",
    "entries": "mean number of entries in the prompt",
    "tokens": "mean size of the block",
    "stop_words": "mean number of entries that matched on stop words alone",
}
"""What each figure's mean is, in words."""


def pareto(report: Report, metric: str) -> tuple[str, ...]:
    """Return the settings than which no other has as much for fewer tokens or more for as many; the cheapest first."""
    at = _points(report, metric)
    front = [
        name
        for name, (tokens, quality) in at.items()
        if not any(
            other_tokens <= tokens and other >= quality and (other_tokens, other) != (tokens, quality)
            for other_tokens, other in at.values()
        )
    ]
    return tuple(sorted(front, key=lambda name: at[name][0]))


def by_tokens(report: Report, metric: str) -> tuple[str, ...]:
    """Return the settings that have both figures, the cheapest first: the order in which words and plot number them."""
    at = _points(report, metric)
    return tuple(sorted(at, key=at.__getitem__))


def _points(report: Report, metric: str) -> dict[str, tuple[float, float]]:
    points = {}
    for name in report:
        found, tokens = report.interval(name, metric), report[name].tokens
        if found is not None and tokens is not None:
            points[name] = tokens, found.mean
    return points


def leaderboard(report: Report, metric: str) -> pandas.DataFrame:
    """Return one row a setting, the best first; wins, losses and ties are those against the report's first setting."""
    import pandas as pd

    baseline = next(iter(report))
    front = pareto(report, metric)
    counts = ("wins", "losses", "ties")  # none for a mean of several draws, see Comparison
    rows = {}
    for name in report:
        found, mean = report.interval(name, metric), report[name]
        paired = None if name == baseline else report.compare(name, baseline, metric)
        rows[name] = {
            metric: found.mean if found else None,
            "low": found.low if found else None,
            "high": found.high if found else None,
            **(
                dict.fromkeys(counts)
                if paired is None or mean.draws > 1
                else {n: len(getattr(paired, n)) for n in counts}
            ),
            "p": paired.p_value if paired else None,
            "tokens": mean.tokens,
            "idle_tokens": mean.idle_tokens,
            "failed": mean.failed,
            "on_front": name in front,
        }
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("setting")
    real = (metric, "low", "high", "p", "tokens", "idle_tokens")
    frame = frame.astype({**dict.fromkeys(counts, "Int64"), **dict.fromkeys(real, "float64")})
    return frame.sort_values(metric, ascending=False, kind="stable", na_position="last")


def by_category(report: Report, metric: str) -> pandas.DataFrame:
    """Return one row a category with its cases that need memory, and each setting's mean over those that ran."""
    return _grouped_frame(report, metric, "category")


def by_owner(report: Report, metric: str) -> pandas.DataFrame:
    """Return one row an owner with its cases that need memory, and each setting's mean over those that ran."""
    return _grouped_frame(report, metric, "owner")


def _grouped_frame(report: Report, metric: str, by: str) -> pandas.DataFrame:
    import pandas as pd

    rows = {name: {"cases": cases, **means} for name, (cases, means) in grouped(report, metric, by).items()}
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["cases", *report]).rename_axis(by)
    return frame.astype({"cases": "int64", **dict.fromkeys(report, "float64")})


def grouped(report: Report, metric: str, by: str) -> dict[str, tuple[int, dict[str, float | None]]]:
    """Return, for each category or owner (``by``), its cases that need memory, and each setting's mean.

    They stand in the order of the cases; those that have none come under ``""``.
    """
    cases: dict[str, set[str]] = {}
    values: dict[tuple[str, str], list[float]] = {}
    for result in report.results:
        if result.expected:
            name = getattr(result, by) or ""
            cases.setdefault(name, set()).add(result.case)
            if (value := result.figures.get(metric)) is not None:
                values.setdefault((name, result.setting), []).append(value)
    return {
        name: (
            len(held),
            {setting: fmean(found) if (found := values.get((name, setting))) else None for setting in report},
        )
        for name, held in cases.items()
    }


def in_words(report: Report, metric: str) -> str:
    """Say what a plot of quality against tokens shows: a line for each setting, then the front."""
    front = pareto(report, metric)
    at = _points(report, metric)
    lines = [
        f"{metric}, the {meaning(metric)}, against tokens; over {counted(_cases(report), 'case')} that need memory, "
        f"with {report.level:.0%} intervals of {report.resamples:,} resamples:"
    ]
    for number, name in enumerate(by_tokens(report, metric), 1):
        spoken = _spoken(report.interval(name, metric))
        lines.append(f"{number}. {quoted(name, 80)}: {spoken} for {at[name][0]:,.0f} tokens")
    names = ", ".join(quoted(name, 80) for name in front)
    lines.append(f"No other setting has more for as few tokens than {names or 'none'}.")
    for name, point in at.items():
        if name not in front:
            better = next(other for other in front if at[other][0] <= point[0] and at[other][1] >= point[1])
            lines.append(f"{quoted(better, 80)} has at least as much as {quoted(name, 80)} for as few tokens.")
    return "\n".join(lines)


def _cases(report: Report) -> int:
    return max((report[name].needing for name in report), default=0)


def meaning(metric: str) -> str:
    """Say what the mean of a figure is."""
    name, _, k = metric.partition("@")
    return MEANINGS.get(name, name).format(k=k)


def _spoken(found: Interval | None) -> str:
    return "-" if found is None else f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"
