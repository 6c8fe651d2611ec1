"""Runs one case under one setting and reads its figures out of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from .._text import cropped
from ..datasets import Case
from ..memory import InjectionTrace, MemoryEntry, MemoryManager
from . import metrics
from ._prompt import in_prompt
from ._ranking import Failed, Figures, Look, Rankings, score_of

OF_PROMPT = ("reached", "reached_precision", "reached_hit", "reached_rr", "reached_ndcg")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case went under one setting.

    Attributes:
        setting: The setting's name.
        case: The case's id.
        owner: The case's owner.
        category: The case's category.
        expected: How many entries it needs.
        first: The place of the first expected entry in the full ranking, from 1; None when it is not in it, when none
            is expected, or when the figures are means of several draws.
        figures: ``recall@k``, ``precision@k``, ``hit@k`` and ``ndcg@k`` of the full ranking for each k, ``rr``; of what
            reached the prompt ``reached`` (share of the expected entries), ``reached_precision`` (share of its entries
            that were expected), ``reached_hit``, ``reached_rr`` and ``reached_ndcg``; ``entries``, ``tokens`` and
            ``stop_words`` (entries that matched on stop words alone; None where no entry was found by its words).
            Empty when the case failed.
        outcome: What the injection did, in one line.
        error: Why the case failed, else None.
        missed: The expected entries that did not reach the prompt, as the case calls them; empty for several draws.
        tied: The expected entries of which the order of the store's entries alone decides whether they survive the
            cut: they score as much as the last entry before it and as the first one after it.
        seconds: How long the injections took, the mean of several draws; the look at the full ranking not counted.
            Where settings share a search (:mod:`memwb.evaluation._asked`), the first one alone has its time in it.
    """

    setting: str
    case: str
    owner: str | None
    category: str | None
    expected: int
    first: int | None
    figures: Figures
    outcome: str
    error: str | None = None
    missed: tuple[str, ...] = ()
    tied: tuple[str, ...] = ()
    seconds: float | None = field(default=None, compare=False)


async def run_case(
    case: Case, setting: str, managers: Sequence[MemoryManager], rankings: Rankings, counter: Any = None
) -> CaseResult:
    """Run a case once with each manager (one a draw) and average the figures. A failure is part of the result."""
    common = setting, case.id, case.owner, case.category, len(case.expected)
    figures: list[Figures] = []
    seconds: list[float] = []
    several = len(managers) > 1
    try:
        for manager in managers:
            trace = await manager.trace_injection(rankings.messages)
            _raise_failure(trace)
            look = await rankings.look(manager, trace)
            reached = in_prompt(trace)
            names = [rankings.name_of(entry) for entry in reached]
            figures.append(_figures(trace, look, reached, names, case.expected, counter))
            seconds.append(trace.seconds)
        missed = () if several else tuple([each for each in case.expected if each not in names])
        tied = () if several else await _tied(trace, look, rankings)
    except Exception as error:  # one case must not take the others' figures with it; a cancellation passes
        why = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
        return CaseResult(*common, None, {}, "failed", cropped(why))
    return CaseResult(
        *common,
        look.found[0].place if look.found and not several else None,
        figures[0] if not several else {name: _mean([each[name] for each in figures]) for name in figures[0]},
        f"mean of {len(managers)} draws" if several else trace.summary,
        missed=missed,
        tied=tied,
        seconds=fmean(seconds) if several else seconds[0],
    )


def _raise_failure(trace: InjectionTrace) -> None:
    """Raise for a failed stage or store: an agent would go on, a figure would be taken for a result."""
    for stage in trace.stages:
        if stage.status == "failed":
            raise Failed(f"{stage.name}: {stage.reason}")
    for answer in trace.answers:
        if answer.error is not None:
            raise Failed(f"search: store {answer.store.name!r} raised {answer.error!r}")


def _figures(
    trace: InjectionTrace,
    look: Look,
    reached: Sequence[MemoryEntry],
    names: Sequence[str | None],
    expected: Sequence[str],
    counter: Any,
) -> Figures:
    figures = look.figures.copy()
    if expected:
        figures.update(metrics.figures_of_prompt(names, expected))
    figures["entries"] = float(len(reached))
    figures["tokens"] = float(trace.tokens if counter is None or not trace.injected else counter.count(trace.text))
    figures["stop_words"] = look.stop_words(reached)
    return figures


async def _tied(trace: InjectionTrace, look: Look, rankings: Rankings) -> tuple[str, ...]:
    """Return the expected entries that score as much as the entries on both sides of their store's cut."""
    tied = []
    for each in look.found:
        kept = [entry for entry in trace.entries if entry.store_name == each.store]
        if each.score is None or not kept or score_of(kept[-1]) != each.score:
            continue
        cut = len(kept)
        if each.rank > cut or await rankings.score_after(look, each.store, cut) == each.score:
            tied.append(each.expected)
    return tuple(tied)


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return fmean(defined) if defined else None
