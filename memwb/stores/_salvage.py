"""Reading as much as possible of a damaged file: the way out that leaves the file as it is."""

from __future__ import annotations

import codecs
import errno
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _files, _json
from .._text import counted
from ._fragments import fragments
from ._table import RawRecord

_SHOWN = 200
_BROKEN = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class SalvageNote:
    """Something that could not be saved, or not as it stood.

    Attributes:
        place: Where it stands in the damaged file, in words.
        reason: Why it was left out, or what was changed.
        text: How it begins there, at most 200 characters.
    """

    place: str
    reason: str
    text: str = ""


@dataclass(frozen=True)
class Salvage:
    """What :meth:`TestMemoryStore.salvage` has saved.

    Attributes:
        path: The new file, which a store can be built on.
        copy: The copy of the damaged file.
        kept: How many records are in the new file.
        left_out: What is not in the new file, in the order of the damaged one.
        changed: What is in the new file but had to be changed to be read as a record.
    """

    path: Path
    copy: Path
    kept: int
    left_out: tuple[SalvageNote, ...] = ()
    changed: tuple[SalvageNote, ...] = ()

    def __repr__(self) -> str:
        return f"Salvage(kept={self.kept}, left_out={len(self.left_out)}, changed={len(self.changed)})"


def salvage(damaged: Path, to: Path, new_id: Callable[[], str], new_time: Callable[[], str]) -> Salvage:
    """Write what is readable of a file to a new one, with a copy of the file beside it.

    Raises:
        OSError: The file cannot be read, or one of the new ones cannot be written or is there already.
    """
    found = _files.read(damaged)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, "there is no such file", str(damaged))
    copy = to.with_name(f"{to.name}.damaged")
    for path in (to, copy):
        if path.exists():
            raise FileExistsError(errno.EEXIST, f"{path} is there already, and nothing is overwritten", str(path))
    read = Salvager(found[0], new_id, new_time)
    mode = stat.S_IMODE(os.stat(damaged).st_mode)
    for path, data in ((copy, found[0]), (to, _json.dumps(read.records))):
        try:
            _files.replace(_files.resolve(path), data, durable=True, over=None, mode=mode)
        except _files.FileChangedError as error:
            raise FileExistsError(errno.EEXIST, f"{path} has just been made by another program", str(path)) from error
    return Salvage(to, copy, len(read.records), tuple(read.left_out), tuple(read.changed))


def salvageable(damaged: Path, new_id: Callable[[], str], new_time: Callable[[], str]) -> Salvager:
    """Return what :func:`salvage` would find in a file; nothing is written."""
    found = _files.read(damaged)
    return Salvager(b"" if found is None else found[0], new_id, new_time)


class Salvager:
    """One pass through a damaged file.

    Attributes:
        records: The records that could be read, each of them a valid one.
        left_out: What could not.
        changed: What had to be changed.
    """

    def __init__(self, data: bytes, new_id: Callable[[], str], new_time: Callable[[], str]) -> None:
        self.records: list[RawRecord] = []
        self.left_out: list[SalvageNote] = []
        self.changed: list[SalvageNote] = []
        self._new = {"id": new_id, "createdAt": new_time}
        self._text = _decoded(data)
        self._line, self._line_start, self._counted = 1, 0, 0
        for start, end, value in fragments(self._text):
            if value is None:
                self._leave_out(start, end)
            else:
                self._take(start, value)

    def _leave_out(self, start: int, end: int) -> None:
        text = self._text[start:end].strip().rstrip(",").rstrip()
        self.left_out.append(SalvageNote(self._place(start), "this cannot be read as JSON", _shown(text)))

    def _take(self, start: int, value: dict[str, Any]) -> None:
        if "content" not in value and (inner := list(_records_in(value))):
            for record in inner:
                self._take(start, record)
            return
        if not isinstance(value.get("content"), str):
            reason = "the field content is missing or no text"
            self.left_out.append(SalvageNote(self._place(start), reason, _shown(_written(value))))
            return
        for key, new in self._new.items():
            if not isinstance(value.get(key), str):
                value[key] = new()
                self._change(start, f"{key} was missing or no text; it is {value[key]!r} now", value)
        if value.get("metadata") is not None and not isinstance(value["metadata"], dict):
            self._change(start, f"metadata was no object: {_shown(_written(value['metadata']))}; it is left out", value)
            del value["metadata"]
        record = self._mended(start, value)
        try:
            _json.dumps([record])
        except _json.NotJsonError as error:
            self.left_out.append(SalvageNote(self._place(start), error.cause, _shown(record["content"])))
            return
        self.records.append(record)

    def _mended(self, start: int, value: dict[str, Any]) -> RawRecord:
        """Return a record without what JSON in UTF-8 cannot hold."""
        try:
            texts, numbers = [0], [0]
            mended: RawRecord = _mend(value, texts, numbers)
        except RecursionError:
            return value  # writing it fails as well, and says so
        if texts[0]:
            self._change(start, f"{counted(texts[0], 'unreadable character')} replaced by U+FFFD", mended)
        if numbers[0]:
            self._change(start, f"{counted(numbers[0], 'NaN or infinite number')} replaced by null", mended)
        return mended

    def _change(self, start: int, reason: str, value: dict[str, Any]) -> None:
        self.changed.append(SalvageNote(self._place(start), reason, _shown(str(value["content"]))))

    def _place(self, position: int) -> str:
        if passed := self._text.count("\n", self._counted, position):
            self._line += passed
            self._line_start = self._text.rfind("\n", self._counted, position) + 1
        self._counted = position
        return f"line {self._line}, column {position - self._line_start + 1}"


def _decoded(data: bytes) -> str:
    """Read bytes as text, those that are no UTF-8 as lone surrogates."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def _records_in(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the objects with a content inside, in their order and without recursion: they may lie deep."""
    waiting: list[Any] = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict) and isinstance(found.get("content"), str):
            yield found
        elif isinstance(found, dict | list):
            waiting.extend(reversed(found.values() if isinstance(found, dict) else found))


def _mend(value: Any, texts: list[int], numbers: list[int]) -> Any:
    if isinstance(value, str):
        mended, found = _BROKEN.subn("\ufffd", value)
        texts[0] += found
        return mended
    if isinstance(value, float) and not math.isfinite(value):
        numbers[0] += 1
        return None
    if isinstance(value, dict):
        return {_mend(key, texts, numbers): _mend(item, texts, numbers) for key, item in value.items()}
    return [_mend(item, texts, numbers) for item in value] if isinstance(value, list) else value


def _written(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return repr(type(value))


def _shown(text: str) -> str:
    text = _BROKEN.sub("\ufffd", text)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
