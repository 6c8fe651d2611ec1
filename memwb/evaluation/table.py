"""A report as a table with its legend, as text and as HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._dom import Node, el
from .._text import counted, shortened, visible
from ._score import CaseResult

if TYPE_CHECKING:
    from .report import Report

_NAMED = 3  # cases that a line names
_WIDTH = 120  # of the lines below the table: about that of a table with four cut-offs


def as_text(report: Report) -> str:
    """Return the table as text."""
    legend = [part for line in _legend(report) for part in textwrap.wrap(line, _WIDTH, subsequent_indent="  ")]
    return "\n".join([_title(report), "", *aligned(_header(report), _rows(report)), "", *legend])


def as_html(report: Report) -> str:
    """Return the table as HTML."""
    # The two class names keep a page that typesets mathematics away from names with dollar signs.
    return el(
        "div",
        "memwb-report mathjax_ignore tex2jax_ignore",
        el("p", "", _title(report)),
        html_table(_header(report), _rows(report)),
        *(el("p", "", el("small", "", line)) for line in _legend(report)),
    ).to_html()


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table's lines: the first column to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    ]


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Node:
    """Return a table whose first column names the rows."""
    head = el("tr", "", *(el("th", "", name, scope="col") for name in header))
    return el("table", "", el("thead", "", head), el("tbody", "", *map(_html_row, rows)))


def share(value: float | None) -> str:
    """Write a figure between 0 and 1, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def amount(value: float | None, places: int) -> str:
    """Write a size, or a dash."""
    return "-" if value is None else f"{value:,.{places}f}"


def _html_row(row: Sequence[str]) -> Node:
    return el("tr", "", el("th", "", row[0], scope="row"), *(el("td", "", cell) for cell in row[1:]))


def _title(report: Report) -> str:
    expected = {result.case: result.expected for result in report.results}
    needing = sum(map(bool, expected.values()))
    of = f" of {report.source}" if report.source else ""
    return (
        f"{counted(len(expected), 'case')}{of}: {needing:,} need memory, {len(expected) - needing:,} need none; "
        f"{counted(len(report.draws), 'setting')}"
    )


def _ndcg_at(report: Report) -> int:
    return 5 if 5 in report.k else max(report.k)


def _header(report: Report) -> list[str]:
    recalls = [f"R@{k}" for k in report.k]
    return [
        *("setting", *recalls, "MRR", f"nDCG@{_ndcg_at(report)}", "reached", "entries", "tokens", "stop words"),
        *("idle entries", "idle tokens"),
    ]


def _rows(report: Report) -> list[list[str]]:
    return [
        [
            visible(name),
            *(share(mean.recall[k]) for k in report.k),
            *(share(mean.mrr), share(mean.ndcg[_ndcg_at(report)]), share(mean.reached)),
            *(amount(mean.entries, 1), amount(mean.tokens, 0)),
            "-" if mean.stop_words is None else f"{mean.stop_words:.0%}",
            *(amount(mean.idle_entries, 1), amount(mean.idle_tokens, 0)),
        ]
        for name, mean in report.summaries.items()
    ]


def _legend(report: Report) -> list[str]:
    lines = [
        "R, MRR, nDCG: of the full ranking; reached: share of the expected entries that came into the prompt; "
        "entries, tokens: size of the block; stop words: share of its entries that matched on stop words alone.",
        "All are means over the cases that need memory; idle: over the cases that need none.",
    ]
    lines += [
        f"{visible(name)}: each case is the mean of {draws} draws." for name, draws in report.draws.items() if draws > 1
    ]
    lines += _unknown(report)
    return lines + [line for name in report.draws for line in (*_ties(report, name), *_failures(report, name))]


def _unknown(report: Report) -> list[str]:
    if not report.unknown:
        return []
    shown = [f"{visible(case)} ({shortened(', '.join(what), 100)})" for case, what in report.unknown.items()]
    verb = "expects" if len(shown) == 1 else "expect"
    return [f"{counted(len(shown), 'case')} {verb} what no store holds, and so cannot get it: {_named(shown, '; ')}."]


def _ties(report: Report, setting: str) -> list[str]:
    tied = [result for result in report.of(setting) if result.tied]
    if not tied:
        return []
    verb = "is" if len(tied) == 1 else "are"
    return [
        f"{visible(setting)}: {counted(len(tied), 'case')} {verb} decided by the order of the entries: an expected one "
        f"scores as much as others on both sides of the cut: {_named([visible(each.case) for each in tied], ', ')}."
    ]


def _failures(report: Report, setting: str) -> list[str]:
    failed = [result for result in report.of(setting) if result.error is not None]
    if not failed:
        return []
    verb = "is" if len(failed) == 1 else "are"
    return [
        f"{visible(setting)}: {counted(len(failed), 'case')} failed and {verb} in none of its means: "
        f"{_named(list(map(_failure, failed)), '; ')}."
    ]


def _failure(result: CaseResult) -> str:
    return f"{visible(result.case)} ({shortened(result.error or '', 100)})"


def _named(items: Sequence[str], separator: str) -> str:
    more = f"{separator.rstrip()} and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return separator.join(items[:_NAMED]) + more
