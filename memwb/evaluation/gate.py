"""Whether a report is as good as an earlier one: what got worse, what is missing, and what changed between the two."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from .._text import shortened, visible
from ..errors import ConfigError, GateError, nearest
from ._score import CaseResult

if TYPE_CHECKING:
    from .report import Report

__all__ = ["BASELINE", "Block", "BlockChange", "GateResult", "Worse", "baseline_of", "changed_blocks", "compare"]

BASELINE = "baseline.jsonl"
"""The report that a case folder is held to."""

LESS_IS_BETTER = ("tokens", "entries", "stop_words")
SHOWN = 10
"""So many cases are told in full, the others by name."""

_EXACT = 1e-9  # means of draws are sums of fractions


@dataclass(frozen=True)
class Block:
    """What a model got of its memory in one case.

    Attributes:
        entries: The entries of the block in its order, by id, or by text where the store tells no ids.
        text: The block, None where nothing was injected.
        hash: Of the case: another one tells that it was edited.
    """

    entries: tuple[str, ...]
    text: str | None
    hash: str = ""


@dataclass(frozen=True)
class BlockChange:
    """A case in which the same entries came in, and the model got another text.

    Attributes:
        setting: The setting's name.
        case: The case's id.
        before: The block of the baseline.
        now: The block of the run.
    """

    setting: str
    case: str
    before: Block
    now: Block


@dataclass(frozen=True)
class Worse:
    """A case that is worse than it was.

    Attributes:
        setting: The setting's name.
        before: How it went in the baseline.
        now: How it went.
        lost: The expected entries that reached the prompt and do not any more, as the case calls them.
        why: For each of them why it did not arrive, in a sentence; empty where the stores were not at hand.
    """

    setting: str
    before: CaseResult
    now: CaseResult
    lost: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class GateResult:
    """What a report is beside its baseline.

    Attributes:
        metric: The figure whose mean was compared; None: every case that reached the prompt must still do so.
        tolerance: By how much it may be worse.
        cases: How many runs of cases were compared.
        worse: The cases that are worse. With a metric: the cases that pulled a mean down, the most so first.
        means: Setting -> the metric's mean in the baseline and now, over the cases that ran in both; the settings that
            are worse.
        missing: Setting and case of what stands in the baseline and was not run.
        blocks: The cases in which the same entries give another text; only a case folder looks at it.
        new: Setting and case of what was run and does not stand in the baseline.
        edited: The ids of cases that are not what they were: in number of expected entries, owner or category, and in a
            case folder in anything.
        changed: What differs between the two in settings, cases and stores, in words.
        unknown: Case -> what it expects now and no store holds, as far as the stores list what they hold: such a case
            can only fail, or never had its entry. By itself it is no fault.
        short: Setting, case and the share of its expected entries that reaches the prompt, of the cases that do not get
            all of them and are not worse: the baseline holds them to what they got then, which is not what they expect.
    """

    metric: str | None = None
    tolerance: float = 0.0
    cases: int = 0
    worse: tuple[Worse, ...] = ()
    means: dict[str, tuple[float, float]] = field(default_factory=dict)
    missing: tuple[tuple[str, str], ...] = ()
    blocks: tuple[BlockChange, ...] = ()
    new: tuple[tuple[str, str], ...] = ()
    edited: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unknown: dict[str, tuple[str, ...]] = field(default_factory=dict)
    short: tuple[tuple[str, str, float], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is worse, missing or written in another way."""
        red = self.means if self.metric is not None else self.worse
        failed = any(each.now.error is not None for each in self.worse)
        return not (red or failed or self.missing or self.blocks)

    def raise_if_worse(self) -> None:
        """Raise :class:`~memwb.errors.GateError` with the text where it is not ``ok``."""
        if not self.ok:
            raise GateError(repr(self), self)

    def __repr__(self) -> str:
        from .gate_text import told

        return "\n".join(told(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, as ``memwb eval --json`` prints them."""
        return {
            "ok": self.ok,
            "metric": self.metric,
            "tolerance": self.tolerance,
            "cases": self.cases,
            "means": {name: {"before": before, "now": now} for name, (before, now) in self.means.items()},
            "worse": [_worse_dict(each) for each in self.worse],
            "missing": [{"setting": setting, "case": case} for setting, case in self.missing],
            "blocks": [
                {"setting": each.setting, "case": each.case, "before": each.before.text, "now": each.now.text}
                for each in self.blocks
            ],
            "new": [{"setting": setting, "case": case} for setting, case in self.new],
            "edited": list(self.edited),
            "changed": list(self.changed),
            "unknown": {case: list(expected) for case, expected in self.unknown.items()},
            "short": [{"setting": setting, "case": case, "reached": share} for setting, case, share in self.short],
        }


def baseline_of(baseline: Report | str | os.PathLike[str]) -> Report:
    """Return the report that is compared with: itself, a JSONL file, or the baseline in a case folder."""
    from .report import Report

    if isinstance(baseline, Report):
        return baseline
    if not isinstance(baseline, str | os.PathLike):
        raise ConfigError(
            f"assert_no_worse: baseline must be a report, the path of its JSONL file or a case folder, "
            f"not {baseline!r:.60}.",
            key="baseline",
            value=baseline,
        )
    path = Path(baseline)
    return Report.from_jsonl(path / BASELINE if path.is_dir() else path)


def compare(report: Report, baseline: Report, metric: str | None = None, tolerance: float = 0.0) -> GateResult:
    """Compare a report with an earlier one, case by case and setting by setting.

    Without a metric a case is worse where it ran in the baseline and fails now, or where the share of its expected
    entries that reached the prompt fell by more than ``tolerance``. With a metric a setting is worse where the
    figure's mean over the cases that ran in both got worse by more than ``tolerance``: fell, or for tokens, entries
    and stop words rose. A case that failed is worse then as well.

    Raises:
        ConfigError: There is no such figure in both reports, or the tolerance is no number of at least 0.
    """
    _check_tolerance(tolerance)
    _check_metric(metric, report, baseline)
    before = {(each.setting, each.case): each for each in baseline.results}
    now = {(each.setting, each.case): each for each in report.results}
    both = [(old, now[key]) for key, old in before.items() if key in now]
    failed = [_worse(old, new) for old, new in both if old.error is None and new.error is not None]
    ran = [(old, new) for old, new in both if old.error is None and new.error is None]
    means: dict[str, tuple[float, float]] = {}
    if metric is None:
        fell = [_worse(old, new) for old, new in ran if _drop("reached", old, new) > tolerance + _EXACT]
    else:
        means, fell = _fallen_means(metric, ran, tolerance)
    return GateResult(
        metric=metric,
        tolerance=tolerance,
        cases=len(both),
        worse=(*failed, *fell),
        means=means,
        missing=tuple(key for key in before if key not in now),
        new=tuple(key for key in now if key not in before),
        edited=tuple(dict.fromkeys(old.case for old, new in both if _label(old) != _label(new))),
        changed=tuple(_changes(report, baseline)),
        unknown=dict(report.unknown),
        short=tuple(
            (new.setting, new.case, share)
            for old, new in ran
            if (share := new.figures.get("reached")) is not None
            and share < 1 - _EXACT
            and _drop("reached", old, new) <= _EXACT
        ),
    )


def changed_blocks(
    before: Mapping[tuple[str, str], Block], now: Mapping[tuple[str, str], Block]
) -> tuple[BlockChange, ...]:
    """Return where the same entries, in the same order, give another text than before."""
    return tuple(
        BlockChange(*key, old, new)
        for key, old in before.items()
        if (new := now.get(key)) is not None and old.entries and old.entries == new.entries and old.text != new.text
    )


def _check_tolerance(tolerance: Any) -> None:
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not tolerance >= 0:
        raise ConfigError(
            f"assert_no_worse: tolerance is {tolerance!r}; it must be a number of at least 0, such as 0.02.",
            key="tolerance",
            value=tolerance,
        )


def _check_metric(metric: Any, *reports: Report) -> None:
    if metric is None:
        return
    names = [dict.fromkeys(name for each in report.results for name in each.figures) for report in reports]
    names = [each for each in names if each]  # where every case failed there are no figures, and that is told
    common = tuple(name for name in names[0] if name in names[-1]) if names else (metric,)
    if metric not in common:
        raise ConfigError(
            f"assert_no_worse: there is no figure {metric!r} in both reports; there are {', '.join(common)}."
            f"{nearest(str(metric), common)}",
            key="metric",
            value=metric,
            allowed=common,
        )


def _drop(figure: str, old: CaseResult, new: CaseResult) -> float:
    """Return by how much a figure of a case got worse; 0 where it is not defined in both."""
    was, is_now = old.figures.get(figure), new.figures.get(figure)
    if was is None or is_now is None:
        return 0.0
    return is_now - was if figure in LESS_IS_BETTER else was - is_now


def _worse(old: CaseResult, new: CaseResult) -> Worse:
    lost = tuple(each for each in new.missed if each not in old.missed)
    return Worse(old.setting, old, new, lost)


def _fallen_means(
    metric: str, ran: Sequence[tuple[CaseResult, CaseResult]], tolerance: float
) -> tuple[dict[str, tuple[float, float]], list[Worse]]:
    """Return the means that got worse, and the cases that made them so."""
    means: dict[str, tuple[float, float]] = {}
    cases: list[tuple[float, Worse]] = []
    for setting in dict.fromkeys(old.setting for old, _ in ran):
        pairs = [
            (old, new)
            for old, new in ran
            if old.setting == setting and old.figures[metric] is not None and new.figures[metric] is not None
        ]
        if not pairs:
            continue
        was, is_now = (fmean(each.figures[metric] or 0.0 for each in side) for side in zip(*pairs, strict=True))
        if (is_now - was if metric in LESS_IS_BETTER else was - is_now) > tolerance + _EXACT:
            means[setting] = was, is_now
            cases += [(drop, _worse(*pair)) for pair in pairs if (drop := _drop(metric, *pair)) > _EXACT]
    return means, [each for _, each in sorted(cases, key=lambda case: -case[0])]


def _label(result: CaseResult) -> tuple[int, str | None, str | None]:
    return result.expected, result.owner, result.category


def _changes(report: Report, baseline: Report) -> Iterator[str]:
    """Yield what differs in what was run, in words."""
    for name, before in baseline.settings.items():
        now = report.settings.get(name)
        if now is None or now == before:
            continue
        for key in sorted({*before, *now}):
            was, is_now = before.get(key), now.get(key)
            if was != is_now:
                yield f"setting {name!r}: {key} {_change(_value(was), _value(is_now))}"
    for what in ("cases", "stores"):
        if what in baseline.data and baseline.data[what] != report.data.get(what):
            yield f"the {what} are not those of the baseline"


def _change(was: str, is_now: str) -> str:
    return f"is {is_now} as before, with another source" if was == is_now else f"was {was} and is {is_now}"


def _value(value: Any) -> str:
    """Write a setting's value; of a function, which is told with a hash of its source, the name alone."""
    if value is None:
        return "not set"
    name, at, _ = value.rpartition("@") if isinstance(value, str) else ("", "", "")
    return visible(name) if at else shortened(repr(value), 60)


def with_reasons(result: GateResult, reasons: Mapping[tuple[str, str], tuple[str, ...]]) -> GateResult:
    """Return the result with the sentences why entries did not arrive, by setting and case."""
    worse = tuple(replace(each, why=reasons.get((each.setting, each.now.case), ())) for each in result.worse)
    return replace(result, worse=worse)


def _worse_dict(each: Worse) -> dict[str, Any]:
    sides = {
        name: {"outcome": side.outcome, "error": side.error, "first": side.first, "figures": side.figures}
        for name, side in (("before", each.before), ("now", each.now))
    }
    return {"setting": each.setting, "case": each.now.case, "lost": list(each.lost), "why": list(each.why), **sides}
