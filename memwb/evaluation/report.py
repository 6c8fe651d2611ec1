"""What an evaluation found: a table to read, means to compute with, and the figures of every case."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import ConfigError, nearest
from . import record
from ._score import CaseResult
from .bootstrap import LEVEL, RESAMPLES, Interval, interval
from .compare import Comparison, compared, values_of
from .summary import Summary, figure_names, summary_of

if TYPE_CHECKING:
    import pandas

__all__ = ["Report", "Summary"]


@dataclass(frozen=True, repr=False)
class Report:
    """The outcome of :func:`memwb.evaluate`; shown, it is a table of the settings' means.

    ``report["name"]`` is the :class:`Summary` of a setting.

    Attributes:
        source: The data set's name, or ``""``.
        k: The cut-offs.
        draws: Setting -> runs of each case, in the order of the settings.
        results: How every case went: all cases of the first setting, then those of the next.
        settings: Setting -> its keys and values as texts and numbers; a function is its name and a hash of its source.
        data: Hashes of the ``cases`` and of the entries in the ``stores``.
        versions: Of ``memwb`` and ``python``.
        tokens_by: How tokens were counted.
        unknown: Case -> what it expects and no store holds; empty where the stores cannot list their entries.
        level: The level of the bootstrap intervals.
        resamples: How many resamples they are made of.
    """

    source: str
    k: tuple[int, ...]
    draws: dict[str, int]
    results: tuple[CaseResult, ...]
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict, compare=False)
    tokens_by: str = ""
    unknown: dict[str, tuple[str, ...]] = field(default_factory=dict)
    level: ClassVar[float] = LEVEL
    resamples: ClassVar[int] = RESAMPLES

    @classmethod
    def from_jsonl(cls, path: str | os.PathLike[str]) -> Report:
        """Read a report that :meth:`to_jsonl` wrote, or that ``evaluate(resume=path)`` finished.

        Raises:
            DamagedFileError: It is no report, a line cannot be read, or runs are missing.
            OSError: The file cannot be read.
        """
        header, results = record.read(path)
        ordered = record.in_order(Path(path), header, results)
        return cls(
            source=header.source,
            k=header.k,
            draws=header.draws,
            results=ordered,
            settings=header.settings,
            data=header.data,
            versions=header.versions,
            tokens_by=header.tokens_by,
            unknown=header.unknown,
        )

    def to_jsonl(self, path: str | os.PathLike[str], *, times: bool = False) -> Path:
        """Write the report as JSONL and return the path: a line that says what was run, then one for each run.

        The same cases, settings and entries give the same bytes.

        Args:
            path: The file; one that is there already is replaced.
            times: Whether each run's line holds its ``seconds``, which no two runs share.
        """
        return record.write(path, self.header, self.results, times=times)

    @property
    def header(self) -> record.Header:
        """What was run: the first line of the JSONL file."""
        return record.Header(
            source=self.source,
            k=self.k,
            draws=self.draws,
            settings=self.settings,
            cases=tuple(dict.fromkeys(result.case for result in self.results)),
            data=self.data,
            versions=self.versions,
            tokens_by=self.tokens_by,
            unknown=self.unknown,
        )

    @cached_property
    def summaries(self) -> Mapping[str, Summary]:
        """Setting -> its means, in the order of the settings."""
        return {name: summary_of(name, draws, self.of(name), self.k) for name, draws in self.draws.items()}

    @cached_property
    def _by_setting(self) -> Mapping[str, tuple[CaseResult, ...]]:
        found: dict[str, list[CaseResult]] = {name: [] for name in self.draws}
        for result in self.results:
            found[result.setting].append(result)
        return {name: tuple(results) for name, results in found.items()}

    @cached_property
    def _intervals(self) -> dict[tuple[str, str], Interval | None]:
        return {}

    @property
    def seconds(self) -> dict[str, float | None]:
        """Setting -> mean seconds that an injection took; None where the report was read from a file without times.

        They are in no table and in no comparison: every run has others, and settings that ask a store in memory the
        same text share one search, whose time the first of them has. To time a setting, evaluate it alone.
        """
        means: dict[str, float | None] = {}
        for name, results in self._by_setting.items():
            taken = [result.seconds for result in results if result.seconds is not None]
            means[name] = fmean(taken) if taken else None
        return means

    def __getitem__(self, setting: str) -> Summary:
        self._check(setting)
        return self.summaries[setting]

    def __iter__(self) -> Iterator[str]:
        return iter(self.draws)

    def __len__(self) -> int:
        return len(self.draws)

    def of(self, setting: str) -> tuple[CaseResult, ...]:
        """Return how each case went under one setting, in the order of the cases.

        Raises:
            ConfigError: There is no such setting.
        """
        self._check(setting)
        return self._by_setting[setting]

    def interval(self, setting: str, metric: str = "reached") -> Interval | None:
        """Return the mean of a setting's cases that need memory, with its bootstrap interval; None without such a case.

        Args:
            setting: The setting's name.
            metric: A figure of :class:`CaseResult`, such as ``reached``, ``recall@5``, ``rr`` or ``tokens``.

        Raises:
            ConfigError: There is no such setting or metric.
        """
        key = setting, self._metric(metric)
        if key not in self._intervals:
            self._intervals[key] = interval(
                values_of(self.of(setting), key[1]), level=self.level, resamples=self.resamples
            )
        return self._intervals[key]

    def compare(self, first: str, second: str, metric: str = "reached") -> Comparison:
        """Compare two settings case by case: the mean difference, and which cases the first wins and loses.

        Raises:
            ConfigError: There is no such setting or metric.
        """
        for name in (first, second):
            self._check(name)
        draws = max(self.draws[first], self.draws[second])
        return compared(self._metric(metric), first, second, self._by_setting, draws=draws)

    def leaderboard(self, metric: str = "reached") -> pandas.DataFrame:
        """Return one row a setting, the best first: mean, interval, wins and losses against the first setting, tokens.

        ``p`` is that of a sign test, ``on_front`` tells whether :meth:`pareto` names it.
        """
        from .front import leaderboard

        return leaderboard(self, self._metric(metric))

    def by_category(self, metric: str = "reached") -> pandas.DataFrame:
        """Return one row a category: its cases that need memory, and the mean of each setting."""
        from .front import by_category

        return by_category(self, self._metric(metric))

    def by_owner(self, metric: str = "reached") -> pandas.DataFrame:
        """Return one row an owner: the cases that need memory, and the mean of each setting."""
        from .front import by_owner

        return by_owner(self, self._metric(metric))

    def pareto(self, metric: str = "reached") -> tuple[str, ...]:
        """Return the settings, cheapest first, that no other beats by as much for fewer tokens or more for as many."""
        from .front import pareto

        return pareto(self, self._metric(metric))

    def plot(self, metric: str = "reached", ax: Any = None) -> Any:
        """Draw quality against tokens, with intervals and the front, and return matplotlib's Axes.

        :meth:`in_words` says the same, for those who do not see it.
        """
        from .plots import plot

        return plot(self, self._metric(metric), ax)

    def in_words(self, metric: str = "reached") -> str:
        """Say what :meth:`plot` shows: each setting's figures, who is on the front, and who is beaten by whom."""
        from .front import in_words

        return in_words(self, self._metric(metric))

    def assert_no_worse(
        self, baseline: Report | str | os.PathLike[str], metric: str | None = None, tolerance: float = 0.0
    ) -> None:
        """Raise when this report is worse than an earlier one, naming the cases with what arrived then and now.

        Without a metric no case may get less: one that ran must not fail, and of its expected entries that reached the
        prompt none may be missing. With a metric the figure's mean of each setting counts, over the cases that ran in
        both. A case or setting of the baseline that was not run is always a fault; new ones are named, and are none.

        Args:
            baseline: A report, the path of its JSONL file, or a case folder with a baseline.
            metric: A figure of a case, such as ``"recall@5"`` or ``"reached"``; of ``"tokens"``, ``"entries"`` and
                ``"stop_words"`` less is better.
            tolerance: By how much it may be worse, in the figure's own unit; without a metric, by which share of its
                expected entries a case may.

        Raises:
            GateError: It is worse. An AssertionError; its ``result`` holds what was compared.
            ConfigError: There is no such figure in both, or a value cannot be taken.
            DamagedFileError: The baseline's file is no report.
        """
        from .gate import baseline_of, compare

        compare(self, baseline_of(baseline), metric, tolerance).raise_if_worse()

    def to_frame(self) -> pandas.DataFrame:
        """Return one row for each setting and case: what it is, how it went, and its figures (NaN: not defined)."""
        import pandas as pd

        names = figure_names(self.k)
        rows = [
            {
                "setting": result.setting,
                "case": result.case,
                "owner": result.owner,
                "category": result.category,
                "expected": result.expected,
                "first": result.first,
                **{name: result.figures.get(name) for name in names},
                "outcome": result.outcome,
                "error": result.error,
            }
            for result in self.results
        ]
        frame = pd.DataFrame(rows).astype({"first": "Int64"})
        return frame.astype(dict.fromkeys(names, "float64"))

    def summary(self) -> pandas.DataFrame:
        """Return one row for each setting, which is the index, with its means (NaN: nothing to average)."""
        import pandas as pd

        rows = {name: summary.row() for name, summary in self.summaries.items()}
        frame = pd.DataFrame.from_dict(rows, orient="index")
        whole = ("cases", "failed", "draws", "needing", "tied")
        frame = frame.astype({name: "int64" if name in whole else "float64" for name in frame.columns})
        return frame.rename_axis("setting")

    def __repr__(self) -> str:
        from .table import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from .table import as_html

        return as_html(self)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the figures that can be compared."""
        return tuple(figure_names(self.k))

    def _metric(self, name: str) -> str:
        name = "rr" if name == "mrr" else name
        if name not in self.metrics:
            raise ConfigError(
                f"The report has no metric {name!r}; it has {', '.join(self.metrics)}.{nearest(name, self.metrics)}",
                key="metric",
                value=name,
                allowed=self.metrics,
            )
        return name

    def _check(self, setting: str) -> None:
        if setting not in self.draws:
            held = ", ".join(map(repr, self.draws))
            raise ConfigError(
                f"The report has no setting {setting!r}; it has {held}.{nearest(str(setting), self.draws)}",
                key="setting",
                value=setting,
                allowed=tuple(self.draws),
            )
