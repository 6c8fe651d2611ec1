"""A report as the lines of a JSONL file: what was run, then how each case went under each setting.

The first line says what was run (settings, cut-offs, cases, versions, hashes of the data), each further line is one
:class:`CaseResult`. Two runs of the same cases give the same bytes; how long a case took stands there on request only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .. import _files
from .._json import NotJsonError, loads
from .._text import counted
from ..errors import DamagedFileError
from ._score import CaseResult

__all__ = ["FORM", "Header", "header_line", "read", "result_line", "write"]

FORM = 1
"""The number of this form of file; another one is not read."""

_TUPLES = ("missed", "tied")


@dataclass(frozen=True)
class Header:
    """What was run.

    Attributes:
        source: The data set's name, or ``""``.
        k: The cut-offs.
        draws: Setting -> runs of each case.
        settings: Setting -> its keys and values, as texts and numbers; see :func:`memwb.evaluation.identity.described`.
        cases: The cases' ids, in order.
        data: Hashes of the ``cases`` and of the entries in the ``stores``.
        versions: Of ``memwb`` and ``python``.
        tokens_by: How tokens were counted.
        unknown: Case -> what it expects and no store holds.
    """

    source: str
    k: tuple[int, ...]
    draws: dict[str, int]
    settings: dict[str, dict[str, Any]]
    cases: tuple[str, ...]
    data: dict[str, str]
    versions: dict[str, str]
    tokens_by: str
    unknown: dict[str, tuple[str, ...]] = field(default_factory=dict)


def header_line(header: Header) -> str:
    """Return the first line."""
    values = {each.name: getattr(header, each.name) for each in fields(Header)}
    return _line({"memwb report": FORM, **values})


def result_line(result: CaseResult, *, times: bool = False) -> str:
    """Return the line of one run; ``seconds`` in it on request."""
    values = {each.name: getattr(result, each.name) for each in fields(CaseResult)}
    if not times:
        values.pop("seconds")
    return _line(values)


def _line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n"


def write(path: str | os.PathLike[str], header: Header, results: Iterable[CaseResult], *, times: bool = False) -> Path:
    """Write a whole report, in place of what the file held; it is there whole or not at all."""
    target = _files.resolve(_files.expand(path))
    lines = [header_line(header), *(result_line(result, times=times) for result in results)]
    _files.replace(target, "".join(lines).encode("utf-8", "backslashreplace"), over=_files.look(target))
    return Path(target)


def read(path: str | os.PathLike[str], *, torn: bool = False) -> tuple[Header, list[CaseResult]]:
    """Return what a file holds, the runs in the file's order.

    Args:
        path: The file.
        torn: Whether the last line may be cut off, as by a kill while it was written; it is left out then.

    Raises:
        DamagedFileError: It is no report, or a line of it cannot be read; the error names the line.
        OSError: The file cannot be read.
    """
    file = _files.expand(path)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise _files.described(error, f"The report {file} cannot be read: {error.strerror}.", file) from error
    lines = data.split(b"\n")
    whole = lines[:-1] if torn else [line for line in lines if line.strip()]
    if not whole:
        raise DamagedFileError(file, "line 1", "there is no line that says what was run")
    header = _header(file, whole[0])
    results = []
    for number, line in enumerate(whole[1:], 2):
        try:
            values = loads(line)
            for name in _TUPLES:
                values[name] = tuple(values[name])
            results.append(CaseResult(**values))
        except (NotJsonError, TypeError, KeyError) as error:
            cause = error.cause if isinstance(error, NotJsonError) else f"it is no result of a case ({error})"
            raise DamagedFileError(file, f"line {number}", cause) from error
    return header, results


def _header(file: Path, line: bytes) -> Header:
    try:
        values = loads(line)
        form = values.pop("memwb report")
        if form != FORM:
            raise ValueError(f"it has form {form!r}; this version of memwb reads form {FORM}")
        values["k"], values["cases"] = tuple(values["k"]), tuple(values["cases"])
        values["unknown"] = {case: tuple(each) for case, each in values.get("unknown", {}).items()}
        return Header(**values)
    except NotJsonError as error:
        raise DamagedFileError(file, "line 1", error.cause) from error
    except (TypeError, KeyError, AttributeError) as error:
        raise DamagedFileError(file, "line 1", "it does not say what was run: this is no report of memwb") from error
    except ValueError as error:
        raise DamagedFileError(file, "line 1", str(error)) from error


def in_order(file: Path, header: Header, results: Iterable[CaseResult]) -> tuple[CaseResult, ...]:
    """Return the runs by setting and case, in the order of the header.

    Raises:
        DamagedFileError: A run is missing.
    """
    found = {(result.setting, result.case): result for result in results}
    wanted = [(setting, case) for setting in header.draws for case in header.cases]
    missing = [pair for pair in wanted if pair not in found]
    if missing:
        setting, case = missing[0]
        raise DamagedFileError(
            file,
            "",
            f"{counted(len(missing), 'run')} of {len(wanted):,} are missing, the first is case {case!r} under setting "
            f"{setting!r}: the evaluation was interrupted",
            advice="Finish it with the same cases and settings: `evaluate(..., resume=path)`.",
        )
    return tuple(found[pair] for pair in wanted)
