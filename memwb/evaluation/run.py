"""Runs labelled cases under several settings through the one pipeline."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from .._collector import without_collector
from ..datasets import Case, Dataset
from ..errors import ConfigError
from ..memory import MemoryInjectionConfig, MemoryManager
from ..memory.settings import at_least_one, resolve_injection
from ..tokens import TokenCounter, checked_counter
from ._asked import Sharing
from ._ranking import Rankings
from ._score import run_case
from ._stores import ByOwner, initialize, managers_of, stores_by_owner
from .arms import Arm
from .cases import checked_cases
from .identity import Contents, described, hash_of_cases
from .record import Header
from .report import Report
from .resume import Progress, Resumed

__all__ = ["evaluate"]

Setting = bool | MemoryInjectionConfig | Arm
ESTIMATE = "characters / 4, rounded up"
"""How tokens are counted without a counter."""

_BUSY = 0.002
"""So many seconds the event loop may wait for the settings of a case; it is free after each case too."""


async def evaluate(
    cases: Dataset | Iterable[Case | Mapping[str, Any]],
    settings: Mapping[str, Setting],
    stores: Any = None,
    *,
    k: Sequence[int] = (1, 3, 5, 10),
    progress: bool | Callable[[int, int], object] = False,
    concurrency: int = 1,
    resume: str | os.PathLike[str] | None = None,
    token_counter: TokenCounter | None = None,
) -> Report:
    """Run every case under every setting and return their figures.

    Each case goes through ``MemoryManager.trace_injection``, as an agent's call would; then the expected entries are
    looked for in the full ranking of the same query (its first 1,000 places), once for all settings that search the
    same stores for the same text. An expected entry that no store holds is missed, and the report names it. A case in
    which a stage or a store fails is reported and stays out of the means. Between two cases the event loop is free,
    so that the evaluation can be cancelled and a page goes on to answer. Neither the order of the runs nor how many
    there are at once changes a figure.

    Args:
        cases: A data set, or cases (:class:`Case`, or dicts with its fields), or a DataFrame with a row for each.
        settings: Name -> injection settings as ``MemoryManager(injection=...)`` takes them, or an :class:`Arm`. Put
            first the settings that the others are compared with. :func:`grid` makes many.
        stores: What is searched. One store or a list of stores for all cases; or a mapping owner -> store or list; or a
            function of the owner, called once for each. None with a data set: a store an owner, with all entries in it.
        k: The cut-offs of recall, precision, hit rate and nDCG.
        progress: True shows a bar (it needs the package tqdm); a function is called with runs done and runs in all.
        concurrency: How many cases run at once. More than 1 pays where stores answer over a network.
        resume: A file that each run is written to as it ends. An evaluation that was cut off goes on from there when it
            is called again with the same cases, settings and entries; failed runs are tried anew. The finished file is
            what :meth:`Report.from_jsonl` reads, with times.
        token_counter: Counts the tokens of a block, see :class:`memwb.tokens.TokenCounter`. Default: its characters
            divided by 4, rounded up.

    Raises:
        ConfigError: A case, a setting or the stores are not as they should be, or the file to resume is of another
            evaluation; nothing was run.
        DamagedFileError: The file to resume cannot be read.
    """
    plan = await _planned(cases, settings, stores, k, token_counter)
    at_least_one(concurrency, "evaluate: concurrency", "concurrency")
    resumed = Resumed.of(resume, plan.header)
    total = len(plan.arms) * len(plan.cases)
    with _progress(progress, total, len(resumed.results)) as advance, resumed as keep:
        told = Progress(resumed.results, keep, advance)
        await _run_all(plan, told, concurrency)
    done = told.results
    ordered = tuple(done[name, case.id] for name in plan.arms for case in plan.cases)
    header = plan.header
    report = Report(
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
    if resume is not None:
        report.to_jsonl(resume, times=True)
    return report


@dataclass(frozen=True)
class _Plan:
    """All that is to be run, checked."""

    cases: tuple[Case, ...]
    arms: dict[str, Arm]
    managers: dict[tuple[str, str | None], list[MemoryManager]]
    header: Header
    counter: TokenCounter | None


async def _planned(cases: Any, settings: Any, stores: Any, k: Any, counter: Any) -> _Plan:
    checked = checked_cases(cases)
    cutoffs = _cutoffs(k)
    arms = _arms(settings)
    counter = None if counter is None else checked_counter(counter, "evaluate: ")
    searched = {name: (cases, stores) if arm.over is None else (None, arm.over) for name, arm in arms.items()}
    by_owner: dict[Any, ByOwner] = {}
    for of, given in searched.values():
        if id(given) not in by_owner:
            by_owner[id(given)] = stores_by_owner(of, checked, given)
    sharing = Sharing(_sizes(arms))
    managers = {
        (name, owner): managers_of(name, arms[name], found, sharing)
        for name, (_, given) in searched.items()
        for owner, found in by_owner[id(given)].items()
    }
    await initialize(found for each in by_owner.values() for found in each.values())
    contents = await Contents.of(by_owner.values())
    header = Header(
        source=cases.name if isinstance(cases, Dataset) else "",
        k=cutoffs,
        draws={name: len(arm.draws) for name, arm in arms.items()},
        settings={name: described(arm) for name, arm in arms.items()},
        cases=tuple(case.id for case in checked),
        data={"cases": hash_of_cases(checked), "stores": contents.hash},
        versions=_versions(),
        tokens_by=ESTIMATE if counter is None else counter.name,
        unknown={case.id: unknown for case in checked if (unknown := contents.unknown(case))},
    )
    return _Plan(checked, arms, managers, header, counter)


def _sizes(arms: Mapping[str, Arm]) -> Iterator[int]:
    """Yield how many entries each setting asks for that shares its searches."""
    for arm in arms.values():
        settings = resolve_injection(arm.injection)
        if arm.stores is None and settings is not None:
            yield settings.max_entries


def _versions() -> dict[str, str]:
    memwb = sys.modules[__name__.partition(".")[0]]
    return {"memwb": memwb.__version__, "python": platform.python_version()}


async def _run_all(plan: _Plan, told: Progress, concurrency: int) -> None:
    """Run the cases that are left, so many at once."""
    import asyncio

    waiting = iter(plan.cases)

    async def work() -> None:
        for case in waiting:
            await _run_case(plan, case, told)

    if concurrency == 1:
        return await work()
    tasks = [asyncio.create_task(work()) for _ in range(min(concurrency, len(plan.cases)))]
    try:
        await asyncio.gather(*tasks)
    finally:  # of what is interrupted nothing goes on behind its caller's back
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run_case(plan: _Plan, case: Case, told: Progress) -> None:
    """Run one case under each setting that it has not run under."""
    import asyncio

    rankings = Rankings(case, plan.header.k)  # it goes with the case: what is kept does not grow with their number
    free = perf_counter()
    with without_collector():  # it would go through all results so far again and again; between cases it may
        for name in plan.arms:
            if (name, case.id) not in told.results:
                managers = plan.managers[name, case.owner]
                told.done(await run_case(case, name, managers, rankings, plan.counter))
                if perf_counter() - free > _BUSY:
                    await asyncio.sleep(0)
                    free = perf_counter()
    await asyncio.sleep(0)


def _cutoffs(k: Any) -> tuple[int, ...]:
    if isinstance(k, str) or not isinstance(k, Iterable):
        raise ConfigError(f"evaluate: k must be a list of cut-offs, such as k=(1, 5), not {k!r:.80}.", key="k", value=k)
    cutoffs = tuple(dict.fromkeys(at_least_one(each, f"evaluate: k holds {each!r}, which", "k") for each in k))
    if not cutoffs:
        raise ConfigError("evaluate: k is empty; give at least one cut-off, such as k=(5,).", key="k", value=k)
    return cutoffs


def _arms(settings: Mapping[str, Setting]) -> dict[str, Arm]:
    if not isinstance(settings, Mapping) or not settings:
        raise ConfigError(
            'evaluate: settings must be a dict like {"default": {}, "three": {"max_entries": 3}}, '
            f"not {settings!r}.",
            key="settings",
            value=settings,
        )
    arms = {}
    for name, setting in settings.items():
        if not isinstance(name, str) or not name:
            raise ConfigError(f"evaluate: a setting is named {name!r}; names are texts.", key="settings", value=name)
        arm = setting if isinstance(setting, Arm) else Arm(setting)
        resolve_injection(arm.injection, prefix=f"evaluate: setting {name!r}: ")
        if not arm.draws or not all(map(callable, arm.draws)):
            raise ConfigError(
                f"evaluate: setting {name!r}: stores is {arm.stores!r}; it must be a function of a store, or a list "
                "of such functions.",
                key="stores",
                value=arm.stores,
            )
        arms[name] = arm
    return arms


@contextmanager
def _progress(
    progress: bool | Callable[[int, int], object], total: int, before: int
) -> Iterator[Callable[[int], object]]:
    """Give a function that is told how many runs are done."""
    if progress is False:
        yield lambda done: None
    elif callable(progress):
        yield lambda done: progress(done, total)
    else:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ConfigError(
                "evaluate: progress=True needs the package tqdm (`pip install tqdm`). Or give a function of two "
                "numbers: runs done, and runs in all.",
                key="progress",
                value=progress,
            ) from None
        with tqdm(total=total - before, desc="evaluate") as bar:
            yield lambda done: bar.update()
