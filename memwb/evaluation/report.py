"""What an evaluation found: a table to read, means to compute with, and the figures of every case."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

from .._dom import Node, el
from .._text import counted, shortened, visible
from ..errors import ConfigError, nearest
from ._score import CaseResult

if TYPE_CHECKING:
    import pandas

__all__ = ["Report", "Summary"]

_FAILURES_SHOWN = 3
_WIDTH = 120  # of the lines below the table: about that of a table with four cut-offs


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
        tokens: Mean size of the block: characters / 4, rounded up.
        stop_words: Share of the injected entries that matched on stop words alone; None where none was found by words.
        idle_entries: Mean number of entries in the prompt, over the cases that need none.
        idle_tokens: Mean size of the block, over the cases that need none.
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


@dataclass(frozen=True, repr=False)
class Report:
    """The outcome of :func:`memwb.evaluate`; shown, it is a table of the settings' means.

    ``report["name"]`` is the :class:`Summary` of a setting.

    Attributes:
        source: The data set's name, or ``""``.
        k: The cut-offs.
        draws: Setting -> runs of each case, in the order of the settings.
        results: How every case went: all cases of the first setting, then those of the next.
    """

    source: str
    k: tuple[int, ...]
    draws: dict[str, int]
    results: tuple[CaseResult, ...]

    @cached_property
    def summaries(self) -> Mapping[str, Summary]:
        """Setting -> its means, in the order of the settings."""
        return {name: _summary(name, draws, self.of(name), self.k) for name, draws in self.draws.items()}

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
        return tuple(result for result in self.results if result.setting == setting)

    def to_frame(self) -> pandas.DataFrame:
        """Return one row for each setting and case: what it is, how it went, and its figures (NaN: not defined)."""
        import pandas as pd

        rows = [
            {
                "setting": result.setting,
                "case": result.case,
                "owner": result.owner,
                "category": result.category,
                "expected": result.expected,
                "first": result.first,
                **{name: result.figures.get(name) for name in _figure_names(self.k)},
                "outcome": result.outcome,
                "error": result.error,
            }
            for result in self.results
        ]
        frame = pd.DataFrame(rows).astype({"first": "Int64"})
        return frame.astype(dict.fromkeys(_figure_names(self.k), "float64"))

    def summary(self) -> pandas.DataFrame:
        """Return one row for each setting, which is the index, with its means (NaN: nothing to average)."""
        import pandas as pd

        rows = {name: _flat(summary) for name, summary in self.summaries.items()}
        frame = pd.DataFrame.from_dict(rows, orient="index")
        whole = ("cases", "failed", "draws", "needing")
        frame = frame.astype({name: "int64" if name in whole else "float64" for name in frame.columns})
        return frame.rename_axis("setting")

    def __repr__(self) -> str:
        legend = [part for line in self._legend() for part in textwrap.wrap(line, _WIDTH, subsequent_indent="  ")]
        return "\n".join([self._title(), "", *_aligned(self._header(), self._rows()), "", *legend])

    def _repr_html_(self) -> str:
        head = el("tr", "", *(el("th", "", name, scope="col") for name in self._header()))
        rows = [_html_row(row) for row in self._rows()]
        # The two class names keep a page that typesets mathematics away from names with dollar signs.
        return el(
            "div",
            "memwb-report mathjax_ignore tex2jax_ignore",
            el("p", "", self._title()),
            el("table", "", el("thead", "", head), el("tbody", "", *rows)),
            *(el("p", "", el("small", "", line)) for line in self._legend()),
        ).to_html()

    def _check(self, setting: str) -> None:
        if setting not in self.draws:
            held = ", ".join(map(repr, self.draws))
            raise ConfigError(
                f"The report has no setting {setting!r}; it has {held}.{nearest(str(setting), self.draws)}",
                key="setting",
                value=setting,
                allowed=tuple(self.draws),
            )

    def _title(self) -> str:
        expected = {result.case: result.expected for result in self.results}
        needing = sum(map(bool, expected.values()))
        of = f" of {self.source}" if self.source else ""
        return (
            f"{counted(len(expected), 'case')}{of}: {needing:,} need memory, {len(expected) - needing:,} need none; "
            f"{counted(len(self.draws), 'setting')}"
        )

    def _header(self) -> list[str]:
        recalls = [f"R@{k}" for k in self.k]
        return [
            *("setting", *recalls, "MRR", f"nDCG@{self._ndcg_at}", "reached", "entries", "tokens", "stop words"),
            *("idle entries", "idle tokens"),
        ]

    def _rows(self) -> list[list[str]]:
        return [
            [
                visible(name),
                *(_share(mean.recall[k]) for k in self.k),
                *(_share(mean.mrr), _share(mean.ndcg[self._ndcg_at]), _share(mean.reached)),
                *(_amount(mean.entries, 1), _amount(mean.tokens, 0)),
                "-" if mean.stop_words is None else f"{mean.stop_words:.0%}",
                *(_amount(mean.idle_entries, 1), _amount(mean.idle_tokens, 0)),
            ]
            for name, mean in self.summaries.items()
        ]

    def _legend(self) -> list[str]:
        lines = [
            "R, MRR, nDCG: of the full ranking; reached: share of the expected entries that came into the prompt; "
            "entries, tokens: size of the block; stop words: share of its entries that matched on stop words alone.",
            "All are means over the cases that need memory; idle: over the cases that need none.",
        ]
        lines += [
            f"{visible(name)}: each case is the mean of {draws} draws."
            for name, draws in self.draws.items()
            if draws > 1
        ]
        return lines + [line for name in self.draws for line in self._failures(name)]

    def _failures(self, setting: str) -> list[str]:
        failed = [result for result in self.of(setting) if result.error is not None]
        if not failed:
            return []
        shown = "; ".join(
            f"{visible(each.case)} ({shortened(each.error or '', 100)})" for each in failed[:_FAILURES_SHOWN]
        )
        more = f"; and {len(failed) - _FAILURES_SHOWN} more" if len(failed) > _FAILURES_SHOWN else ""
        verb = "is" if len(failed) == 1 else "are"
        return [
            f"{visible(setting)}: {counted(len(failed), 'case')} failed and {verb} in none of its means: {shown}{more}."
        ]

    @property
    def _ndcg_at(self) -> int:
        return 5 if 5 in self.k else max(self.k)


def _figure_names(cutoffs: Sequence[int]) -> list[str]:
    at_k = [f"{name}@{k}" for name in ("recall", "precision", "hit", "ndcg") for k in cutoffs]
    return [*at_k, "rr", "reached", "entries", "tokens", "stop_words"]


def _summary(setting: str, draws: int, results: Sequence[CaseResult], cutoffs: Sequence[int]) -> Summary:
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
        recall={k: _mean(ran, f"recall@{k}") for k in cutoffs},
        precision={k: _mean(ran, f"precision@{k}") for k in cutoffs},
        hit_rate={k: _mean(ran, f"hit@{k}") for k in cutoffs},
        ndcg={k: _mean(ran, f"ndcg@{k}") for k in cutoffs},
        mrr=_mean(ran, "rr"),
        reached=_mean(ran, "reached"),
        entries=_mean(needing, "entries"),
        tokens=_mean(needing, "tokens"),
        stop_words=noise / entries if entries else None,
        idle_entries=_mean(idle, "entries"),
        idle_tokens=_mean(idle, "tokens"),
    )


def _mean(results: Sequence[CaseResult], figure: str) -> float | None:
    values = [value for result in results if (value := result.figures[figure]) is not None]
    return fmean(values) if values else None


def _flat(summary: Summary) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(summary, name) for name in ("cases", "failed", "draws", "needing")}
    for name, short in (("recall", "recall"), ("precision", "precision"), ("hit_rate", "hit"), ("ndcg", "ndcg")):
        row.update({f"{short}@{k}": value for k, value in getattr(summary, name).items()})
    rest = ("mrr", "reached", "entries", "tokens", "stop_words", "idle_entries", "idle_tokens")
    return row | {name: getattr(summary, name) for name in rest}


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _amount(value: float | None, places: int) -> str:
    return "-" if value is None else f"{value:,.{places}f}"


def _aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the table's lines: the first column to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    ]


def _html_row(row: Sequence[str]) -> Node:
    return el("tr", "", el("th", "", row[0], scope="row"), *(el("td", "", cell) for cell in row[1:]))
