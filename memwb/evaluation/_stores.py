"""What an evaluation searches: the stores of each owner, and the managers over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..datasets import Case, Dataset
from ..errors import ConfigError, nearest
from ..memory import MemoryManager
from ..memory.types import has_method
from ._asked import Sharing
from .arms import Arm

ByOwner = dict[str | None, list[Any]]


def stores_by_owner(cases: object, checked: Sequence[Case], stores: Any) -> ByOwner:
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


def managers_of(name: str, arm: Arm, stores: Sequence[Any], sharing: Sharing) -> list[MemoryManager]:
    """Return one manager a draw, over the wrapped stores; settings that wrap nothing share their searches."""
    if arm.stores is None:
        stores = [sharing.store(store) for store in stores]
    try:
        return [
            MemoryManager([wrap(store) for store in stores], search_tool_config=False, injection=arm.injection)
            for wrap in arm.draws
        ]
    except ConfigError as error:
        message = f"evaluate: setting {name!r}: {error}"
        raise ConfigError(message, key=error.key, value=error.value, allowed=error.allowed) from error


async def initialize(groups: Iterable[Sequence[Any]]) -> None:
    """Initialise the stores that want it, as ``MemoryManager.init_agent`` does before an agent's first call."""
    for store in {id(store): store for group in groups for store in group}.values():
        if has_method(store, "initialize"):
            await store.initialize()
