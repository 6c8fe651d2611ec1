"""Labelled cases, as :func:`memwb.evaluate` takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from ..datasets import Case, Dataset
from ..errors import ConfigError
from ..memory.settings import refuse_unknown

__all__ = ["Case", "checked_cases"]

_FIELDS = tuple(field.name for field in fields(Case))


def checked_cases(cases: Dataset | Iterable[Case | Mapping[str, Any]]) -> tuple[Case, ...]:
    """Return the cases of a data set or a sequence; a dict with the fields of :class:`Case` counts as one.

    Raises:
        ConfigError: There is no case, two have the same id, or one has a field of the wrong form; the message names
            the case and the field.
    """
    if isinstance(cases, str | Mapping) or not isinstance(cases, Dataset | Iterable):
        raise ConfigError(f"cases must be a data set or a list of cases, not {cases!r}.", key="cases", value=cases)
    checked: dict[str, Case] = {}
    for at, item in enumerate(cases.cases if isinstance(cases, Dataset) else cases):
        case = _case(at, item)
        if case.id in checked:
            raise ConfigError(
                f"Case {case.id!r}: id stands twice in the cases; it must be unique.", key="id", value=case.id
            )
        checked[case.id] = case
    if not checked:
        raise ConfigError("There are no cases to evaluate.", key="cases", value=cases)
    return tuple(checked.values())


def _case(at: int, item: Any) -> Case:
    if isinstance(item, Case):
        return item
    if not isinstance(item, Mapping):
        raise ConfigError(
            f"cases[{at}] is {item!r}; it must be a Case, or a dict with {', '.join(_FIELDS)}.", key="cases", value=item
        )
    name = f"cases[{at}]" if "id" not in item else f"Case {item['id']!r}"
    refuse_unknown(item, _FIELDS, name)
    for field in ("id", "messages"):
        if field not in item:
            raise ConfigError(f"{name}: {field} is missing.", key=field, value=item)
    return Case(**item)
