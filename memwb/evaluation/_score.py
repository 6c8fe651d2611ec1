"""Runs one case under one setting and reads its figures out of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from .._text import cropped
from ..datasets import Case
from ..memory import Hit, InjectionTrace, MemoryManager
from ..memory.notes import stop_words_only
from . import metrics
from ._prompt import in_prompt
from ._ranking import Failed, Found, Rankings, kept_of, names_of

Figures = dict[str, float | None]
"""Name -> value; None where a figure is not defined for the case."""

OF_PROMPT = ("reached", "reached_precision", "reached_hit", "reached_rr", "reached_ndcg")


@dataclass(frozen=True)
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
    case: Case,
    setting: str,
    managers: Sequence[MemoryManager],
    cutoffs: Sequence[int],
    rankings: Rankings | None = None,
    counter: Any = None,
) -> CaseResult:
    """Run a case once with each manager (one a draw) and average the figures. A failure is part of the result."""
    rankings = rankings or Rankings(case.expected)
    common = setting, case.id, case.owner, case.category, len(case.expected)
    figures: list[Figures] = []
    seconds: list[float] = []
    several = len(managers) > 1
    try:
        for manager in managers:
            trace = await manager.trace_injection(case.messages)
            _raise_failure(trace)
            found = await rankings.found(manager, trace)
            reached = in_prompt(trace)
            figures.append(_figures(trace, found, reached, case.expected, cutoffs, counter))
            seconds.append(trace.seconds)
        missed = () if several else _missed(reached, case.expected)
        tied = () if several else await _tied(manager, trace, found, rankings)
    except Exception as error:  # one case must not take the others' figures with it; a cancellation passes
        why = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
        return CaseResult(*common, None, {}, "failed", cropped(why))
    return CaseResult(
        *common,
        found[0].place if found and not several else None,
        figures[0] if not several else {name: _mean([each[name] for each in figures]) for name in figures[0]},
        f"mean of {len(managers)} draws" if several else trace.summary,
        missed=missed,
        tied=tied,
        seconds=fmean(seconds),
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
    found: Sequence[Found],
    reached: Sequence[Hit],
    expected: Sequence[str],
    cutoffs: Sequence[int],
    counter: Any,
) -> Figures:
    figures = metrics.figures_at([each.place for each in found], len(set(expected)), cutoffs)
    block = names_of(reached, expected)
    size = max(1, len(block))
    figures["reached"] = metrics.recall(block, expected, size)
    figures["reached_precision"] = metrics.precision(block, expected, size)
    figures["reached_hit"] = metrics.hit_rate(block, expected, size)
    figures["reached_rr"] = metrics.reciprocal_rank(block, expected)
    figures["reached_ndcg"] = metrics.ndcg(block, expected, max(size, len(expected)))
    figures["entries"] = float(len(reached))
    figures["tokens"] = float(trace.tokens if counter is None or not trace.injected else counter.count(trace.text))
    lexical = not reached or any(hit.score is not None and hit.score == len(hit.matched) for hit in reached)
    figures["stop_words"] = float(sum(map(stop_words_only, reached))) if lexical else None
    return figures


def _missed(reached: Sequence[Hit], expected: Sequence[str]) -> tuple[str, ...]:
    there = set(names_of(reached, expected))
    return tuple(each for each in expected if each not in there)


async def _tied(
    manager: MemoryManager, trace: InjectionTrace, found: Sequence[Found], rankings: Rankings
) -> tuple[str, ...]:
    """Return the expected entries that score as much as the entries on both sides of their store's cut."""
    kept = kept_of(trace)
    tied = []
    for each in found:
        last = next((hit for hit in reversed(trace.hits) if hit.kept and hit.store == each.store), None)
        if each.score is None or last is None or last.score != each.score:
            continue
        store = next(store for store in manager.stores if store.name == each.store)
        cut = kept[each.store]
        if each.rank > cut or await rankings.score_after(store, trace.query or "", cut) == each.score:
            tied.append(each.expected)
    return tuple(tied)


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return fmean(defined) if defined else None
