"""Labelled cases, as :func:`memwb.evaluate` takes them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from .. import _files
from .._json import NotJsonError, loads
from ..datasets import Case, Dataset
from ..errors import ConfigError, DamagedFileError
from ..memory.settings import refuse_unknown

__all__ = ["Case", "checked_cases", "load_cases", "save_cases"]

_FIELDS = tuple(field.name for field in fields(Case))


def checked_cases(cases: Dataset | Iterable[Case | Mapping[str, Any]]) -> tuple[Case, ...]:
    """Return the cases of a data set, a sequence or a DataFrame; a dict with the fields of :class:`Case` counts as one.

    The columns of a DataFrame are the fields. ``messages`` may be a text, the user's, or texts that take turns, the
    last one the user's.

    Raises:
        ConfigError: There is no case, two have the same id, or one has a field of the wrong form; the message names
            the case and the field.
    """
    if isinstance(cases, str | Mapping) or not isinstance(cases, Dataset | Iterable):
        raise ConfigError(f"cases must be a data set or a list of cases, not {cases!r:.80}.", key="cases", value=cases)
    if hasattr(cases, "columns") and hasattr(cases, "to_dict"):
        cases = list(map(_row, cases.to_dict("records")))
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
    return Case(**{**item, "messages": _messages(name, item["messages"])})


def _messages(name: str, messages: Any) -> Any:
    """Return messages as dicts, where they are given as texts."""
    if isinstance(messages, str):
        messages = [messages]
    if not isinstance(messages, list | tuple) or not messages or not all(isinstance(each, str) for each in messages):
        return messages
    roles = ("user", "assistant")
    return [
        {"role": roles[(len(messages) - 1 - at) % 2], "content": [{"text": text}]} for at, text in enumerate(messages)
    ]


def _row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a DataFrame's row without what is missing in it; a missing label stays, to be refused."""
    return {
        str(name): value
        for name, value in row.items()
        if name == "expected" or not (value is None or (isinstance(value, float) and value != value))
    }


def load_cases(path: str | os.PathLike[str]) -> tuple[Case, ...]:
    """Return the cases in a JSONL file: one object a line, with the fields of :class:`Case`, as for a DataFrame's rows.

    Raises:
        DamagedFileError: A line is no case; the error names the line, the case and the field.
        ConfigError: There is no case in it.
        OSError: The file cannot be read.
    """
    file = _files.expand(path)
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise _files.described(error, f"The cases in {file} cannot be read: {error.strerror}.", file) from error
    found: dict[str, Case] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip(b" \t\r\xef\xbb\xbf"):
            continue
        try:
            case = _case(len(found), loads(line))
        except (NotJsonError, ConfigError) as error:
            cause = error.cause if isinstance(error, NotJsonError) else str(error).rstrip(".")
            raise DamagedFileError(file, f"line {number}", cause) from error
        if case.id in found:
            raise DamagedFileError(
                file, f"line {number}", f"Case {case.id!r}: its id stands on an earlier line already"
            )
        found[case.id] = case
    return checked_cases(list(found.values()))


def save_cases(path: str | os.PathLike[str], cases: Dataset | Iterable[Case | Mapping[str, Any]]) -> Path:
    """Write cases as JSONL, in place of what the file held, and return the path; :func:`load_cases` reads them.

    Raises:
        ConfigError: A case is none, or holds what JSON cannot; the message names it.
    """
    lines = []
    for case in checked_cases(cases):
        values = {name: value for name in _FIELDS if (value := getattr(case, name)) is not None}
        try:
            line = json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n"
            lines.append(line.encode())
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"Case {case.id!r} cannot be written as JSON: {error}.", key="cases", value=case
            ) from error
    target = _files.resolve(_files.expand(path))
    _files.replace(target, b"".join(lines), over=_files.look(target))
    return Path(target)
