"""An evaluation that was cut off goes on where it ended: its runs stand in a file as soon as they are done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from .. import _files
from ..errors import ConfigError
from . import record
from ._score import CaseResult
from .record import Header

__all__ = ["Progress", "Resumed", "changes"]

_Runs = dict[tuple[str, str], CaseResult]


class Progress:
    """The runs so far.

    Attributes:
        results: (setting, case) -> how it went, of those that need not run again.
    """

    def __init__(self, results: _Runs, keep: Callable[[CaseResult], object], advance: Callable[[int], object]) -> None:
        self.results = dict(results)
        self._keep, self._advance = keep, advance

    def done(self, result: CaseResult) -> None:
        """Take a run, write it down and tell of it."""
        self.results[result.setting, result.case] = result
        self._keep(result)
        self._advance(len(self.results))


class Resumed:
    """The file of an evaluation that may be cut off; as a context manager it gives a function that writes a run down.

    Attributes:
        results: The runs that the file holds already and that did not fail.
    """

    def __init__(self, path: Path | None, header: Header, results: _Runs) -> None:
        self.results = results
        self._path, self._header = path, header
        self._file: IO[str] | None = None

    @classmethod
    def of(cls, path: str | os.PathLike[str] | None, header: Header) -> Resumed:
        """Read what is done of an evaluation; without a path nothing is, and nothing is written.

        Raises:
            ConfigError: The file is of another evaluation; the message names what differs.
            DamagedFileError: It is no report.
        """
        if path is None:
            return cls(None, header, {})
        file = _files.expand(path)
        if not file.exists() or b"\n" not in file.read_bytes():
            return cls(file, header, {})
        before, results = record.read(file, torn=True)
        differences = list(changes(before, header))
        if differences:
            raise ConfigError(
                f"evaluate: {file} is of another evaluation: {'; '.join(differences)}. It was not changed. Give "
                "another file, or remove this one to begin anew.",
                key="resume",
                value=str(file),
            )
        return cls(file, header, {(each.setting, each.case): each for each in results if each.error is None})

    def __enter__(self) -> Callable[[CaseResult], object]:
        if self._path is None:
            return lambda result: None
        record.write(self._path, self._header, self.results.values(), times=True)
        file = self._file = self._path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n")

        def keep(result: CaseResult) -> None:
            file.write(record.result_line(result, times=True))
            file.flush()

        return keep

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()


def changes(before: Header, now: Header) -> Iterator[str]:
    """Say what differs between two evaluations, each difference in words; nothing where they would give the same.

    Also of use where figures are compared with those of another day: it tells which of both has changed.
    """
    for name in ("cases", "stores"):
        if before.data.get(name) != now.data.get(name):
            yield "the cases have changed" if name == "cases" else "the entries in the stores have changed"
    yield from _changed_settings(before.settings, now.settings)
    for label, was, is_now in (
        ("k", before.k, now.k),
        ("tokens are counted by", before.tokens_by, now.tokens_by),
        ("memwb", before.versions.get("memwb"), now.versions.get("memwb")),
    ):
        if was != is_now:
            yield f"{label}: {was!r} there, {is_now!r} here"


def _changed_settings(before: Mapping[str, Mapping[str, Any]], now: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name in dict.fromkeys((*before, *now)):
        if name not in now:
            yield f"setting {name!r} is not among the present ones"
        elif name not in before:
            yield f"setting {name!r} is new"
    for name in before:
        was, is_now = before[name], now.get(name, before[name])
        for key in dict.fromkeys((*was, *is_now)):
            if was.get(key) != is_now.get(key):
                yield f"setting {name!r}: {key} was {was.get(key)!r}, is {is_now.get(key)!r}"
