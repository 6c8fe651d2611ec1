"""Runs one case under one setting and reads its figures out of the trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from .._text import cropped
from ..datasets import Case
from ..memory import Hit, InjectionTrace, MemoryManager, ranking_of
from ..memory.notes import stop_words_only
from . import metrics

RANKED = 1000
"""How many places of each store's ranking are looked at, the depth of a run in TREC."""

Figures = dict[str, float | None]
"""Name -> value; None where a figure is not defined for the case."""


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
        figures: ``recall@k``, ``precision@k``, ``hit@k`` and ``ndcg@k`` of the full ranking for each k, ``rr``, and of
            what reached the prompt ``reached`` (share of the expected entries), ``entries``, ``tokens`` and
            ``stop_words`` (entries that matched on stop words alone; None where no entry was found by its words).
            Empty when the case failed.
        outcome: What the injection did, in one line.
        error: Why the case failed, else None.
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


async def run_case(case: Case, setting: str, managers: Sequence[MemoryManager], cutoffs: Sequence[int]) -> CaseResult:
    """Run a case once with each manager (one a draw) and average the figures. A failure is part of the result."""
    figures: list[Figures] = []
    first: int | None = None
    outcome = ""
    try:
        for manager in managers:
            trace = await manager.trace_injection(case.messages)
            _raise_failure(trace)
            ranking = _ids(await _ranking(manager, trace), case.expected)
            figures.append(_figures(trace, ranking, case.expected, cutoffs))
            first = next((place for place, id in enumerate(ranking, 1) if id in case.expected), None)
            outcome = trace.summary
    except Exception as error:  # one case must not take the others' figures with it; a cancellation passes
        why = str(error) if isinstance(error, _Failed) else f"{type(error).__name__}: {error}"
        return CaseResult(
            setting, case.id, case.owner, case.category, len(case.expected), None, {}, "failed", cropped(why)
        )
    several = len(managers) > 1
    return CaseResult(
        setting,
        case.id,
        case.owner,
        case.category,
        len(case.expected),
        None if several else first,
        {name: _mean([each[name] for each in figures]) for name in figures[0]},
        f"mean of {len(managers)} draws" if several else outcome,
    )


class _Failed(Exception):
    """The pipeline ran but what it did is no answer of the stores."""


def _raise_failure(trace: InjectionTrace) -> None:
    """Raise for a failed stage or store: an agent would go on, a figure would be taken for a result."""
    for stage in trace.stages:
        if stage.status == "failed":
            raise _Failed(f"{stage.name}: {stage.reason}")
    for answer in trace.answers:
        if answer.error is not None:
            raise _Failed(f"search: store {answer.store.name!r} raised {answer.error!r}")


async def _ranking(manager: MemoryManager, trace: InjectionTrace) -> Sequence[Hit]:
    """Ask for the full ranking, as deep for every setting; what was searched for nothing has none."""
    if not trace.answers or trace.query is None:
        return ()
    hits = await ranking_of(manager, trace.query, RANKED)
    for store, error in hits.failures.items():
        raise _Failed(f"search: store {store!r}, asked for {RANKED} entries, raised {error!r}")
    given = Counter(hit.store for hit in hits)
    for answer in trace.answers:
        store, before = answer.store.name, min(len(answer.entries), RANKED)
        if given[store] < before:
            raise _Failed(
                f"search: store {store!r}, asked for {RANKED} entries, gave {given[store]}, not {before} as before"
            )
    return hits


def _ids(hits: Sequence[Hit], expected: Sequence[str]) -> list[str]:
    """Name each hit by what the case calls it: its id, or its text where the case expects a text."""
    names = []
    texts = {text.strip(): text for text in expected}
    for hit in hits:
        by_text = texts.get(hit.content.strip())
        names.append(
            hit.id if hit.id is not None and (hit.id in expected or by_text is None) else by_text or hit.content
        )
    return names


def _figures(trace: InjectionTrace, ranking: Sequence[str], expected: Sequence[str], cutoffs: Sequence[int]) -> Figures:
    kept = [hit for hit in trace.hits if hit.kept] if trace.injected else []
    figures: Figures = {}
    for k in cutoffs:
        figures[f"recall@{k}"] = metrics.recall(ranking, expected, k)
        figures[f"precision@{k}"] = metrics.precision(ranking, expected, k)
        figures[f"hit@{k}"] = metrics.hit_rate(ranking, expected, k)
        figures[f"ndcg@{k}"] = metrics.ndcg(ranking, expected, k)
    figures["rr"] = metrics.reciprocal_rank(ranking, expected)
    figures["reached"] = metrics.recall(_ids(kept, expected), expected, max(1, len(kept)))
    figures["entries"] = float(len(kept))
    figures["tokens"] = float(trace.tokens)
    lexical = not kept or any(hit.score is not None and hit.score == len(hit.matched) for hit in kept)
    figures["stop_words"] = float(sum(map(stop_words_only, kept))) if lexical else None
    return figures


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return fmean(defined) if defined else None
