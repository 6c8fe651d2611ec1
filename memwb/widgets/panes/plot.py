"""Quality against tokens as a drawing in the page: numbered points with their intervals, and the front as a line."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING

from ..._dom import Node, el
from ...evaluation.front import by_tokens, in_words

if TYPE_CHECKING:
    from ...evaluation import Interval, Report

_WIDTH, _HEIGHT = 460, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 16, 16, 30
_WIDE = 20  # tokens that differ by more than this factor are drawn on a logarithmic axis
_FAR = 1000  # beyond this factor a logarithmic axis has powers of ten alone
_TICKS = 4  # an axis has about so many
_SLIP = 1e-9  # an end that is a tick stays one, whatever a division does to its last digit


def plot(report: Report, metric: str) -> Node:
    """Return the drawing; its label says in words what it shows."""
    points = [
        (number, name, float(report[name].tokens or 0), found)
        for number, name in enumerate(by_tokens(report, metric), 1)
        if (found := report.interval(name, metric)) is not None
    ]
    if not points:
        return el("div", "memwb-empty", "No setting has this figure.")
    across = _Axis([tokens for _, _, tokens, _ in points], _LEFT + 14, _WIDTH - _RIGHT)
    values = [value for *_, found in points for value in (found.low, found.high)]
    up = _Axis(values, _HEIGHT - _BOTTOM, _TOP, log=False)
    front = report.pareto(metric)
    line = [(across(tokens), up(found.mean)) for _, name, tokens, found in points if name in front]
    return el(
        "svg",
        "memwb-plot",
        *_frame(across, up),
        el("polyline", "memwb-front", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in line)),
        *(
            each
            for number, name, tokens, found in points
            for each in _point(number, across(tokens), up, found, best=name in front)
        ),
        el("text", "", "tokens in the prompt, mean of the cases", x=_WIDTH / 2, y=_HEIGHT - 2, text_anchor="middle"),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=in_words(report, metric),
    )


class _Axis:
    """Places values between two ends of an axis."""

    def __init__(self, values: list[float], begin: float, end: float, *, log: bool | None = None) -> None:
        self.low, self.high = min(values), max(values)
        self.log = self.low > 0 and self.high > _WIDE * self.low if log is None else log
        self.begin, self.end = begin, end

    def __call__(self, value: float) -> float:
        low, high, at = (
            (log10(each) for each in (self.low, self.high, value))
            if self.log
            else (
                self.low,
                self.high,
                value,
            )
        )
        share = (at - low) / (high - low) if high > low else 0.5
        return self.begin + share * (self.end - self.begin)

    @property
    def ticks(self) -> list[float]:
        """Round values to write beside the axis."""
        if self.high == self.low:
            return [self.low]
        if self.log:
            powers = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
            within = (1, 2, 5) if self.high <= _FAR * self.low else (1,)
            return [value for p in powers for m in within if self.low <= (value := m * 10.0**p) <= self.high]
        step = _round_step((self.high - self.low) / _TICKS)
        first, last = ceil(self.low / step - _SLIP), floor(self.high / step + _SLIP)
        return [at * step for at in range(first, last + 1)]


def _round_step(least: float) -> float:
    """Return the smallest round distance between ticks that is as large."""
    power = 10.0 ** floor(log10(least))
    return next(step for m in (1, 2, 2.5, 5, 10) if (step := m * power) >= least)


def _written(value: float) -> str:
    return f"{round(value, 6):,}".removesuffix(".0")


def _frame(across: _Axis, up: _Axis) -> list[Node]:
    base = _HEIGHT - _BOTTOM + 4
    lines = [
        el("line", "", x1=_LEFT, x2=_LEFT, y1=_TOP, y2=base),
        el("line", "", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=base, y2=base),
    ]
    beside = [
        el("text", "", _written(value), x=_LEFT - 4, y=f"{up(value) + 4:.1f}", text_anchor="end") for value in up.ticks
    ]
    below = [
        el("text", "", _written(value), x=f"{across(value):.1f}", y=base + 12, text_anchor="middle")
        for value in across.ticks
    ]
    return [*lines, *beside, *below]


def _point(number: int, x: float, up: _Axis, found: Interval, *, best: bool) -> list[Node]:
    y, at = up(found.mean), f"{x:.1f}"
    kind = "memwb-best" if best else ""
    return [
        el("line", kind, x1=at, x2=at, y1=f"{up(found.low):.1f}", y2=f"{up(found.high):.1f}"),
        el("circle", kind, cx=at, cy=f"{y:.1f}", r=4),
        el("text", kind, str(number), x=f"{x + 7:.1f}", y=f"{y - 4:.1f}"),
    ]
