"""Many settings at once: every combination of some values, under names that a table can show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from ..callbacks import Filtered, default_block
from ..errors import ConfigError, nearest
from ..memory.settings import INJECTION_KEYS
from .arms import Arm, tokenized
from .identity import name_of

__all__ = ["AXES", "grid", "named"]

AXES = (*INJECTION_KEYS, "filters", "stores", "tokenizer")


def grid(**axes: Any) -> dict[str, Arm]:
    """Return every combination of the values of some axes, for :func:`evaluate`; the last axis changes fastest.

    A setting is called by its values, such as ``max_entries=3, query=last_two_messages``: a function by its name, what
    is left as it is ``default``. Two values of one name are numbered. To call values otherwise, give a dict name ->
    value.

    Args:
        **axes: Axis -> a list of its values, or a dict name -> value, or one value. The axes are the keys of the
            injection settings, ``filters`` (each value a filter of ``memwb.callbacks`` or a sequence of them, put
            before the format), ``stores`` (each value what ``evaluate(stores=...)`` takes) and ``tokenizer`` (the
            stores' entries are searched with it).

    Raises:
        ConfigError: An axis has an unknown name or no value. Values are checked by :func:`evaluate`.

    Example:
        ``grid(max_entries=[3, 5], query=[None, callbacks.last_two_messages])`` are four settings.
    """
    if not axes:
        raise ConfigError(
            "grid: there is no axis; give at least one, such as grid(max_entries=[3, 5]).", key="axes", allowed=AXES
        )
    labelled = [list(_labelled(name, values).items()) for name, values in axes.items()]
    return {
        ", ".join(f"{axis}={label}" for axis, (label, _) in zip(axes, chosen, strict=True)): _arm(
            {axis: value for axis, (_, value) in zip(axes, chosen, strict=True)}
        )
        for chosen in product(*labelled)
    }


def named(settings: Iterable[Any]) -> dict[str, Any]:
    """Return a list of settings under names made of what they set, for :func:`evaluate`; ``{}`` is ``default``.

    Args:
        settings: Injection settings as a dict, True or False, or an :class:`Arm`.
    """
    names: dict[str, Any] = {}
    for setting in settings:
        _put(names, _setting_name(setting), setting)
    return names


def _setting_name(setting: Any) -> str:
    injection = setting.injection if isinstance(setting, Arm) else setting
    parts = [f"{key}={_label(value)}" for key, value in injection.items()] if isinstance(injection, Mapping) else []
    if injection is False or injection is None:
        parts = ["off"]
    if isinstance(setting, Arm) and setting.stores is not None:
        parts.append(f"stores={name_of(setting.draws[0])}")
    if isinstance(setting, Arm) and setting.over is not None:
        parts.append(f"over={name_of(setting.over)}")
    return ", ".join(parts) or "default"


def _labelled(axis: str, values: Any) -> dict[str, Any]:
    """Return an axis' values by what they are called."""
    if axis not in AXES:
        raise ConfigError(
            f"grid has no axis {axis!r}; the axes are {', '.join(AXES)}.{nearest(axis, AXES)}",
            key=axis,
            value=values,
            allowed=AXES,
        )
    if isinstance(values, Mapping):
        labelled = {str(label): value for label, value in values.items()}
    else:
        labelled = {}
        for value in values if isinstance(values, list | tuple | range) else [values]:
            _put(labelled, _label(value), value)
    if not labelled:
        raise ConfigError(f"grid: axis {axis!r} has no value; give at least one.", key=axis, value=values)
    return labelled


def _label(value: Any) -> str:
    if value is None:
        return "default"
    if isinstance(value, list | tuple):
        return "+".join(map(name_of, value)) or "none"
    return name_of(value).replace("<lambda>", "lambda")


def _put(names: dict[str, Any], name: str, value: Any) -> None:
    """Add a value under its name, with a number behind a name that is taken."""
    number, free = 1, name
    while free in names:
        number += 1
        free = f"{name} {number}"
    names[free] = value


def _arm(values: Mapping[str, Any]) -> Arm:
    injection = {key: value for key, value in values.items() if key in INJECTION_KEYS and value is not None}
    filters = values.get("filters")
    if filters:
        chosen = filters if isinstance(filters, Sequence) else (filters,)
        injection["format"] = Filtered(injection.get("format", default_block), *chosen)
    tokenizer = values.get("tokenizer")
    return Arm(
        injection,  # type: ignore[arg-type]
        stores=None if tokenizer is None else partial(tokenized, tokenizer=tokenizer),
        over=values.get("stores"),
    )
