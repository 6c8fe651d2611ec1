"""What is measured, and how fast memwb must be: the figures of the table, with their limits."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limit:
    """A bound for one figure at one size.

    Attributes:
        value: The most that memwb may take, in the figure's unit; None where only the ratio counts.
        ratio: The least ratio of the peer's figure to memwb's. Where there are both, one of them is enough.
    """

    value: float | None = None
    ratio: float | None = None

    def holds(self, own: float, peer: float | None) -> bool | None:
        """Whether the limit is held; None where that cannot be said."""
        kept = [] if self.value is None else [own <= self.value]
        if self.ratio is not None and peer is not None:
            kept.append(peer / own >= self.ratio)
        return any(kept) if kept else None

    def __str__(self) -> str:
        bounds = [] if self.value is None else [f"≤ {number(self.value)}"]
        return " or ".join([*bounds, *([] if self.ratio is None else [f"≥ {self.ratio:,g} x"])])


def number(value: float) -> str:
    """Write a figure with two or three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if value < 1 else f"{value:.3g}"


@dataclass(frozen=True)
class Case:
    """A figure at one size.

    Attributes:
        count: The number of entries.
        stores: The number of stores.
        must: What has to hold.
        stretch: What is aimed at.
    """

    count: int
    must: Limit = Limit()
    stretch: Limit = Limit()
    stores: int = 1

    @property
    def size(self) -> str:
        """The size as the table shows it."""
        return f"{self.count:,}" if self.stores == 1 else f"{self.stores} x {self.count:,}"


@dataclass(frozen=True)
class Figure:
    """A row of the table, at several sizes.

    Attributes:
        measure: The name of the function that measures it.
        label: What the table calls it.
        cases: The sizes, with their limits.
        peer: ``strands``, ``pandas``, or ``""`` for none.
        unit: What is measured: ``ms`` of CPU time, or ``MB``.
        once: Whether a process gives a single sample, so that more of them are needed.
    """

    measure: str
    label: str
    cases: tuple[Case, ...]
    peer: str = "strands"
    unit: str = "ms"
    once: bool = field(default=False)


def ratio(value: float) -> Limit:
    """Return the limit of a ratio."""
    return Limit(ratio=value)


def most(value: float) -> Limit:
    """Return the limit of a value."""
    return Limit(value=value)


K, HUNDRED_K = 1000, 100_000

FIGURES = (
    Figure(
        "search",
        "search, warm",
        (
            Case(100, ratio(15)),
            Case(K, ratio(150), most(0.02)),
            Case(10 * K, ratio(1000), most(0.03)),
            Case(HUNDRED_K, ratio(2400), most(0.1)),
        ),
    ),
    Figure(
        "first_search",
        "first search in a process",
        (
            Case(K, ratio(2.5), ratio(8)),
            Case(10 * K, ratio(2.2), ratio(20)),
            Case(HUNDRED_K, ratio(1.9), ratio(75)),
        ),
        once=True,
    ),
    Figure(
        "add",
        "add, new",
        (
            Case(100, ratio(4)),
            Case(K, ratio(18), ratio(30)),
            Case(10 * K, ratio(18), ratio(45)),
            Case(HUNDRED_K, ratio(11), ratio(45)),
        ),
    ),
    Figure(
        "add_known",
        "add, known content",
        (Case(K, most(0.2), most(0.02)), Case(10 * K, most(0.2), most(0.02)), Case(HUNDRED_K, most(0.2), most(0.02))),
    ),
    Figure(
        "add_all",
        "all entries in one call (peer: one by one)",
        (
            Case(K, ratio(200), most(20)),
            Case(10 * K, ratio(2500), most(100)),
            Case(HUNDRED_K, ratio(25_000), most(1000)),
        ),
    ),
    Figure("memory", "memory over the import", (Case(HUNDRED_K, most(190), most(40)),), unit="MB", once=True),
    Figure(
        "manager_search",
        "manager.search",
        tuple(Case(10 * K, ratio(700), ratio(1500), stores) for stores in (1, 3, 8)),
    ),
    Figure(
        "manager_alone",
        "manager.search, its own share",
        (
            Case(3, most(0.025), most(0.015), 1),
            Case(3, most(0.036), most(0.0216), 3),
            Case(3, most(0.063), most(0.0378), 8),
        ),
    ),
    Figure("inject", "inject, a whole turn", tuple(Case(10 * K, ratio(450), ratio(1000), n) for n in (1, 8))),
    Figure("frame", "frame of nested records", (Case(HUNDRED_K, Limit(300, 2.3), Limit(180, 3.8)),), peer="pandas"),
    Figure(
        "page",
        "a page of 50 as HTML",
        (Case(HUNDRED_K, Limit(0.6, 6), most(0.3)),),
        peer="pandas",
    ),
    Figure("contains", "count what contains a text", (Case(HUNDRED_K, most(35), most(12)),), peer="pandas"),
)
