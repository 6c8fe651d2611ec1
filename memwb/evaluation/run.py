"""Runs labelled cases under several settings through the one pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..datasets import Case, Dataset
from ..errors import ConfigError, nearest
from ..memory import MemoryInjectionConfig, MemoryManager
from ..memory.settings import at_least_one, resolve_injection
from ..memory.types import has_method
from ._score import run_case
from .arms import Arm
from .cases import checked_cases
from .report import Report

__all__ = ["evaluate"]

Setting = bool | MemoryInjectionConfig | Arm


async def evaluate(
    cases: Dataset | Iterable[Case | Mapping[str, Any]],
    settings: Mapping[str, Setting],
    stores: Any = None,
    *,
    k: Sequence[int] = (1, 3, 5, 10),
    progress: bool | Callable[[int, int], object] = False,
) -> Report:
    """Run every case under every setting and return their figures.

    Each case goes through ``MemoryManager.trace_injection``, as an agent's call would; then the stores are asked once
    more for the full ranking of the same query (its first 1,000 places). A case in which a stage or a store fails is
    reported and stays out of the means. Cases run one after the other, in their order; between two of them the event
    loop is free, so that the run can be cancelled and a page goes on to answer.

    Args:
        cases: A data set, or cases (:class:`Case`, or dicts with its fields).
        settings: Name -> injection settings as ``MemoryManager(injection=...)`` takes them, or an :class:`Arm`. Put
            first the settings that the others are compared with.
        stores: What is searched. One store or a list of stores for all cases; or a mapping owner -> store or list; or a
            function of the owner, called once for each. None with a data set: a store an owner, with all entries in it.
        k: The cut-offs of recall, precision, hit rate and nDCG.
        progress: True shows a bar (it needs the package tqdm); a function is called with runs done and runs in all.

    Raises:
        ConfigError: A case, a setting or the stores are not as they should be; nothing was run.
    """
    checked = checked_cases(cases)
    if isinstance(k, str) or not isinstance(k, Iterable):
        raise ConfigError(f"evaluate: k must be a list of cut-offs, such as k=(1, 5), not {k!r:.80}.", key="k", value=k)
    cutoffs = tuple(dict.fromkeys(at_least_one(each, f"evaluate: k holds {each!r}, which", "k") for each in k))
    if not cutoffs:
        raise ConfigError("evaluate: k is empty; give at least one cut-off, such as k=(5,).", key="k", value=k)
    arms = _arms(settings)
    by_owner = _stores(cases, checked, stores)
    managers = {
        (name, owner): _managers(name, arm, by_owner[owner]) for name, arm in arms.items() for owner in by_owner
    }
    await _initialize(by_owner.values())
    import asyncio

    results = []
    with _progress(progress, len(arms) * len(checked)) as advance:
        for name in arms:
            for case in checked:
                results.append(await run_case(case, name, managers[name, case.owner], cutoffs))
                advance(len(results))
                await asyncio.sleep(0)
    source = cases.name if isinstance(cases, Dataset) else ""
    return Report(source, cutoffs, {name: len(arm.draws) for name, arm in arms.items()}, tuple(results))


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


def _stores(cases: object, checked: Sequence[Case], stores: Any) -> dict[str | None, list[Any]]:
    """Return owner -> the stores that are searched for its cases."""
    if stores is None:
        if not isinstance(cases, Dataset):
            raise ConfigError(
                "evaluate: stores is missing; only a data set brings its own. Give one store, a list, a dict owner -> "
                "store or a function of the owner, such as `stores=dataset.store`.",
                key="stores",
            )
        stores = cases.store
    owners = dict.fromkeys(case.owner for case in checked)
    return {owner: _stores_of(owner, stores, checked) for owner in owners}


def _stores_of(owner: str | None, stores: Any, checked: Sequence[Case]) -> list[Any]:
    if isinstance(stores, Mapping):
        if owner not in stores:
            case = next(case for case in checked if case.owner == owner)
            raise ConfigError(
                f"Case {case.id!r}: owner is {owner!r}, for whom there are no stores."
                f"{nearest(str(owner), map(str, stores))}",
                key="owner",
                value=owner,
                allowed=tuple(map(str, stores)),
            )
        found = stores[owner]
    elif callable(stores) and not hasattr(stores, "search"):
        found = stores(owner)
    else:
        found = stores
    if hasattr(found, "search"):
        return [found]
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise ConfigError(
            "evaluate: stores must be a store, a list of stores, a dict owner -> store or a function of the owner, "
            f"not {found!r:.80}.",
            key="stores",
            value=found,
        )
    return list(found)


def _managers(name: str, arm: Arm, stores: Sequence[Any]) -> list[MemoryManager]:
    """Return one manager a draw, over the wrapped stores."""
    try:
        return [
            MemoryManager([wrap(store) for store in stores], search_tool_config=False, injection=arm.injection)
            for wrap in arm.draws
        ]
    except ConfigError as error:
        message = f"evaluate: setting {name!r}: {error}"
        raise ConfigError(message, key=error.key, value=error.value, allowed=error.allowed) from error


async def _initialize(groups: Iterable[Sequence[Any]]) -> None:
    """Initialise the stores that want it, as ``MemoryManager.init_agent`` does before an agent's first call."""
    for store in {id(store): store for group in groups for store in group}.values():
        if has_method(store, "initialize"):
            await store.initialize()


@contextmanager
def _progress(progress: bool | Callable[[int, int], object], total: int) -> Iterator[Callable[[int], object]]:
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
        with tqdm(total=total, desc="evaluate") as bar:
            yield lambda done: bar.update()
