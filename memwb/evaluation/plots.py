"""Quality against tokens, drawn by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .front import by_tokens

if TYPE_CHECKING:
    from .report import Report

__all__ = ["plot"]

_PLACES = ((-4, 9), (7, 4), (7, -11))  # of labels, in turns, since points lie close together
_NAMED = 8
"""So many settings are named in the plot."""

_WIDE = 20  # tokens that differ by more than this factor are drawn on a logarithmic axis


def plot(report: Report, metric: str, ax: Any = None) -> Any:
    """Draw each setting as a point with its interval, and a line through those that no other beats at both.

    Where there are too many for their names, they are numbered as :func:`~memwb.evaluation.front.in_words` does.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise ConfigError(
            "report.plot needs the package matplotlib (`pip install matplotlib`). `report.in_words()` says the same.",
            key="plot",
        ) from None
    axes = plt.subplots(figsize=(7, 4), layout="constrained")[1] if ax is None else ax
    front = report.pareto(metric)
    line = []
    names = by_tokens(report, metric)
    for number, name in enumerate(names, 1):
        found, tokens = report.interval(name, metric), report[name].tokens
        if found is None or tokens is None:
            continue
        best = name in front
        reach = [[found.mean - found.low], [found.high - found.mean]]
        axes.errorbar(tokens, found.mean, reach, fmt="o" if best else "s", color="C0" if best else "0.5", capsize=3)
        label = _plain(name) if len(names) <= _NAMED else str(number)
        axes.annotate(
            label, (tokens, found.mean), _PLACES[number % len(_PLACES)], textcoords="offset points", fontsize=8
        )
        if best:
            line.append((tokens, found.mean))
    axes.plot(*zip(*sorted(line), strict=True) if line else ((), ()), color="C0", linewidth=1, zorder=0)
    sizes = [report[name].tokens or 0 for name in report]
    if min(sizes) > 0 and max(sizes) > _WIDE * min(sizes):
        axes.set_xscale("log")
    axes.margins(x=0.15, y=0.12)
    axes.set_xlabel("tokens in the prompt, mean of the cases")
    axes.set_ylabel(f"{metric}, {report.level:.0%} interval")
    axes.set_title(
        f"{_plain(report.source)}: on the line, no other has more for as few tokens".lstrip(": "), fontsize=10
    )
    return axes


def _plain(name: str) -> str:
    """Keep a name with dollar signs from being set as mathematics."""
    return name.replace("$", r"\$")
