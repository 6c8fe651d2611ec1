"""The evaluation's screen: the settings and their plot, and beside them two of them, case by case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..._dom import Node, el
from ..._text import counted, quoted, shortened
from ...evaluation.front import meaning
from ...workbench.evaluation import LISTS, ORDERS
from .parts import head
from .plot import plot

if TYPE_CHECKING:
    from ...evaluation import CaseResult
    from ...workbench.evaluation import ComparedCase, EvaluationState, Standing

SHOWN_CASES = 200
"""Cases of a list that are shown; how many more there are is said."""

_SHOWN_GROUPS = 40
_NAME_LENGTH = 60
_DIFFERENCES = 200  # characters of what a setting has otherwise
_ORDERS = {"quality": "best first", "tokens": "cheapest first", "given": "as given"}


def evaluation_pane(state: EvaluationState) -> Node:
    """Return the whole screen as one tree."""
    report = state.report
    what = f"{counted(len(report), 'setting')}{f' over {report.source}' if report.source else ''}"
    return el(
        "div",
        "memwb-frame",
        head("Evaluation", el("span", "", shortened(what, 120)), _chosen_metric(state)),
        el("div", "memwb-verdict", el("span", "memwb-sentence", _sentence(state), role="status", aria_live="polite")),
        *(el("div", "memwb-banner", text, role="alert") for text in (state.refused,) if text),
        el("div", "memwb-evaluated", _settings(state), _cases(state)),
        data_revision=state.revision,
    )


def _chosen_metric(state: EvaluationState) -> Node:
    options = [(name, name) for name in state.report.metrics]
    return el("label", "memwb-push", "figure ", _select(options, state.metric, "metric", "figure"))


def _select(options: Sequence[tuple[str, str]], chosen: str, name: str, label: str) -> Node:
    return el(
        "select",
        "",
        *(el("option", "", text, value=value, selected="" if value == chosen else None) for value, text in options),
        action={"do": "choose", "name": name},
        aria_label=label,
    )


def _sentence(state: EvaluationState) -> str:
    found = state.comparison
    if state.first == state.second:
        return f"{quoted(state.first, _NAME_LENGTH)} is the only one chosen: choose two settings to compare."
    if found.difference is None:
        return "No case that needs memory ran under both settings."
    names = f"{quoted(state.first, _NAME_LENGTH)} against {quoted(state.second, _NAME_LENGTH)}"
    by = found.difference
    luck = "p < 0.001" if found.p_value < 0.001 else f"p = {found.p_value:.3f}"
    if found.draws > 1:
        counts = f"cases won and lost say nothing of a mean of {found.draws} draws"
    else:
        counts = f"{len(found.wins):,} won, {len(found.losses):,} lost, {len(found.ties):,} tied"
    return f"{names}, {found.metric}: {by.mean:+.3f} [{by.low:+.3f}, {by.high:+.3f}], {counts}, {luck}."


# --- the settings -----------------------------------------------------------------------------------------------------


def _settings(state: EvaluationState) -> Node:
    orders = [
        el(
            "button",
            "",
            _ORDERS[order],
            action={"do": "choose", "name": "order", "value": order},
            aria_pressed=str(order == state.order).lower(),
        )
        for order in ORDERS
    ]
    return el(
        "div",
        "memwb-frame",
        head("Settings", el("span", "memwb-chips memwb-push", *orders)),
        el(
            "div",
            "memwb-scroll",
            _leaderboard(state),
            el("h4", "", "Quality against tokens"),
            plot(state.report, state.metric),
            el("p", "memwb-dim", f"{state.metric}: {meaning(state.metric)}. Filled: no other has more for as few."),
            role="region",
            aria_label="Settings",
            tabindex="0",
        ),
    )


def _leaderboard(state: EvaluationState) -> Node:
    level = f"{state.report.level:.0%} interval"
    failed = any(row.failed for row in state.standings)
    titles = ("no.", "setting", state.metric, level, "tokens", *(["failed"] if failed else ()))
    return el(
        "table",
        "memwb-board",
        el("thead", "", el("tr", "", *(el("th", "", title, scope="col") for title in titles))),
        el("tbody", "", *(_standing(row, failed) for row in state.standings)),
    )


def _standing(row: Standing, failed: bool) -> Node:
    quality = row.quality
    differs = shortened(", ".join(row.differs), _DIFFERENCES)
    return el(
        "tr",
        "",
        el("td", "", "-" if row.number is None else str(row.number)),
        el(
            "th",
            "",
            shortened(row.name, _NAME_LENGTH),
            el("span", "memwb-good", " ◆ front", title="no other has more for as few tokens") if row.on_front else None,
            el("small", "", differs) if differs else None,
            scope="row",
        ),
        el("td", "", f"{quality.mean:.3f}" if quality else "-"),
        el("td", "", f"{quality.low:.3f}–{quality.high:.3f}" if quality else "-"),
        el("td", "", "-" if row.tokens is None else f"{row.tokens:,.0f}"),
        el("td", "memwb-bad" if row.failed else "", f"{row.failed:,}") if failed else None,
        data_key=f"setting {row.name}",
    )


# --- two of them ------------------------------------------------------------------------------------------------------


def _cases(state: EvaluationState) -> Node:
    names = [(name, shortened(name, _NAME_LENGTH)) for name in state.report]
    pair = el(
        "div",
        "memwb-filters",
        el("label", "", "compare ", _select(names, state.first, "first", "first setting")),
        el("label", "", "with ", _select(names, state.second, "second", "second setting")),
        el("span", "memwb-chips", *(_list(state, name) for name in LISTS)),
    )
    return el(
        "div",
        "memwb-frame",
        head("Cases", _keep(state) or el("span", "memwb-push", _needed(state))),
        pair,
        el("div", "memwb-told memwb-warn", state.told, role="status") if state.told else None,
        el(
            "div",
            "memwb-scroll",
            _listed(state),
            _groups(state, "category"),
            _groups(state, "owner"),
            role="region",
            aria_label="Cases",
            tabindex="0",
        ),
    )


def _keep(state: EvaluationState) -> Node | None:
    """The button that takes over what was labelled in the workbench, where something was."""
    if state.relabelled is None or state.opened is None:
        return None
    of = shortened(state.opened[0], _NAME_LENGTH)
    title = f"what {of} should bring, as marked in the workbench, becomes its label in panel.cases"
    return el("button", "memwb-fix memwb-push", "keep its labels", action={"do": "keep"}, title=title, data_key="keep")


def _needed(state: EvaluationState) -> str:
    if state.lacking:
        return f"to open one, give {' and '.join(f'{name}={name}' for name in state.lacking)}"
    return "choose one to open it in the workbench"


def _list(state: EvaluationState, name: str) -> Node:
    return el(
        "button",
        "",
        f"{name} {len(state.ids(name)):,}",
        action={"do": "choose", "name": "listed", "value": name},
        aria_pressed=str(name == state.listed).lower(),
    )


def _listed(state: EvaluationState) -> Node:
    shown = state.shown
    if not shown:
        return el("div", "memwb-empty", f"No case is {state.listed}.")
    told = "A mean of draws is seldom 0 or 1, so that it wins and loses nearly every case: look at the difference."
    rows = [_case(state, case, at) for at, case in enumerate(shown[:SHOWN_CASES])]
    more = len(shown) - SHOWN_CASES
    return el(
        "div",
        "",
        el("p", "memwb-warn", told) if state.comparison.draws > 1 else None,
        el("div", "memwb-caserows", *rows, role="list", aria_label=f"cases {state.listed}"),
        el("div", "memwb-more", f"{counted(more, 'more case')}: report.compare(...) has all") if more > 0 else None,
    )


def _case(state: EvaluationState, case: ComparedCase, at: int) -> Node:
    id, first = case.first.case, case.first
    here = state.opened is not None and state.opened[0] == id
    values = f"{_value(first, state.metric)} : {_value(case.second, state.metric)}"
    missed = f"missing {', '.join(shortened(each, 40) for each in first.missed[:3])}" if first.missed else first.outcome
    more = f" and {len(first.missed) - 3:,} more" if len(first.missed) > 3 else ""
    return el(
        "div",
        "memwb-caserow" + (" memwb-chosen" if here else ""),
        el("strong", "", shortened(id, _NAME_LENGTH)),
        el("span", "memwb-value", values),
        el("small", "", " · ".join(filter(None, [shortened(first.category or "", 30), first.error or missed + more]))),
        role="listitem",
        tabindex="-1" if at else "0",
        action={"do": "show", "case": id, "setting": state.first},
        title=f"open case {shortened(id, _NAME_LENGTH)} under {shortened(state.first, _NAME_LENGTH)}",
        aria_current="true" if here else None,
        data_key=f"case {id}",
    )


def _value(result: CaseResult, metric: str) -> str:
    value: Any = result.figures.get(metric)
    return "-" if value is None else f"{value:.2f}".removesuffix(".00")


def _groups(state: EvaluationState, by: Literal["category", "owner"]) -> Node | None:
    found = state.grouped(by)
    if len(found) < 2:
        return None
    pair = tuple(dict.fromkeys((state.first, state.second)))
    rows = [
        el(
            "tr",
            "",
            el("th", "", shortened(name, _NAME_LENGTH) or "without", scope="row"),
            el("td", "", f"{cases:,}"),
            *(el("td", "", "-" if (mean := means[setting]) is None else f"{mean:.3f}") for setting in pair),
        )
        for name, (cases, means) in list(found.items())[:_SHOWN_GROUPS]
    ]
    titles = (by, "cases", *(shortened(setting, 30) for setting in pair))
    more = len(found) - _SHOWN_GROUPS
    return el(
        "details",
        "memwb-section",
        el("summary", "", f"{state.metric} by {by}, {len(found):,} of them"),
        el(
            "table",
            "memwb-board",
            el("thead", "", el("tr", "", *(el("th", "", title, scope="col") for title in titles))),
            el("tbody", "", *rows),
        ),
        el("div", "memwb-more", f"{more:,} more: report.by_{by}() has all") if more > 0 else None,
        data_key=f"by {by}",
    )
