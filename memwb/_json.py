"""Reading and writing JSON without losing or changing anything.

:func:`dumps` gives the bytes of ``json.dumps(records, indent=2, ensure_ascii=False)``, :func:`loads` the value of
``json.loads``. orjson does the work wherever its result is provably the same; it would read integers beyond 64 bits
as floats, write NaN as null and small floats in another form, so those go through the standard library.

What is no JSON is refused on both ways: NaN and infinity, text with lone surrogates (no UTF-8 can hold it), keys that
are no text. Where an object has a key twice, the last value counts, as in every common reader.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from typing import Any, NoReturn

import orjson

MAX_DEPTH = 100
"""How deep lists and dicts may nest in metadata, the metadata itself counted."""

_BLOCK = 1 << 15
_19_DIGITS = b"0" * 19
_DIGITS_TO_0 = bytes.maketrans(b"0123456789", b"0000000000")
# In indented JSON a bare value follows the blanks of its line or a key. null may have been NaN, and floats with an
# exponent, or small or large enough to need one, are where the two writers differ.
_MAY_DIFFER = re.compile(rb'\n *+(?:"(?:[^"\\]++|\\.)*+": )?+(?:null|-?(?:0\.0000|[0-9]{16,}\.|[0-9]+(?:\.[0-9]+)?e))')
_ORJSON_AS_IS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
_ORJSON = orjson.OPT_INDENT_2 | _ORJSON_AS_IS

_LONE_SURROGATE = "lone surrogate, which UTF-8 cannot hold"
TOO_DEEP = "lists and objects nest too deep"

_Key = str | int


class NotJsonError(ValueError):
    """Bytes or a value that are no JSON.

    Attributes:
        place: Where, in words ("line 3, column 7", "byte 12", "record 2, metadata['a']"); may be empty.
        cause: What is wrong there.
    """

    def __init__(self, place: str, cause: str) -> None:
        self.place, self.cause = place, cause
        super().__init__(f"{place}: {cause}" if place else cause)


def dumps(records: list[dict[str, Any]], *, texts_alone: bool = False) -> bytes:
    """Write records as ``json.dumps(records, indent=2, ensure_ascii=False)`` does, in UTF-8.

    Args:
        records: The records.
        texts_alone: Whether all their values are texts, about which all writers agree.

    Raises:
        NotJsonError: A record holds what JSON cannot, or nests too deep for Python's own writer.
    """
    data = _by_orjson(records, checked=texts_alone)
    if data is not None:
        return data
    return b"[\n" + b",\n".join(b"  " + _record(record).replace(b"\n", b"\n  ") for record in records) + b"\n]"


def _record(record: dict[str, Any]) -> bytes:
    data = _by_orjson(record)
    if data is not None:
        return data
    try:
        return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise NotJsonError("", TOO_DEEP) from None
    except (TypeError, ValueError) as error:
        raise NotJsonError("", str(error)) from error


def _by_orjson(value: Any, *, checked: bool = False) -> bytes | None:
    """Return orjson's bytes, or None where the standard library might write others; ``checked``: it does not."""
    try:
        data = orjson.dumps(value, option=_ORJSON)
    except TypeError:  # integers beyond 64 bits, deep nesting, whatever is no JSON
        return None
    return data if checked or not _MAY_DIFFER.search(data) else None


loads_plain = orjson.loads
"""Reads what :func:`is_plain` says can be read this way, and parts of it; else it may change integers. A ValueError
tells of damage without saying where."""


def is_plain(data: bytes | bytearray) -> bool:
    """Whether the data, if it is JSON at all, holds no integer beyond 64 bits."""
    if len(data) <= _BLOCK:
        return _19_DIGITS not in data.translate(_DIGITS_TO_0) or not _may_exceed_64_bits(data)
    starts = range(0, len(data), _BLOCK)
    blocks = (data[max(0, start - 18) : start + _BLOCK].translate(_DIGITS_TO_0) for start in starts)
    return not any(_19_DIGITS in block for block in blocks) or not _may_exceed_64_bits(data)


def loads(data: bytes | bytearray) -> Any:
    """Read JSON in UTF-8, with or without a byte order mark; integers of any size stay exact.

    Raises:
        NotJsonError: Not UTF-8, not JSON, or nested too deep; NaN, infinity and lone surrogates included. ``place``
            counts lines, columns and the records of a list from 1, bytes from 0.
    """
    if is_plain(data):
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            pass  # the standard library says exactly where, or reads it after all
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        start = error.start + (len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0)
        raise NotJsonError(f"byte {start}", f"not UTF-8 (byte 0x{data[start]:02x})") from error
    value = _loads_text(text)
    try:
        _check_read(value)
    except RecursionError:
        raise NotJsonError("", TOO_DEEP) from None
    return value


def _check_read(value: Any) -> None:
    for number, item in enumerate(value if isinstance(value, list) else [value], 1):
        if (flaw := _flaw(item)) is not None:
            keys, cause = flaw
            raise NotJsonError(f"record {number}{', ' + _path(keys) if keys else ''}", cause)


def _may_exceed_64_bits(data: bytes | bytearray) -> bool:
    """Whether a number of 19 digits or more may stand in the data; digits inside texts only cost time."""
    zeros = data.translate(_DIGITS_TO_0)  # then one search for a fixed text, far faster than a pattern
    start = zeros.find(b"0" * 19)
    while start >= 0:
        if start == 0 or zeros[start - 1] in b"-:,[ \t\r\n":
            return True
        end = next((i for i in range(start, len(zeros)) if zeros[i] != ord("0")), len(zeros))
        start = zeros.find(b"0" * 19, end)
    return False


def _loads_text(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise NotJsonError(f"line {error.lineno}, column {error.colno}", f"not JSON ({error.msg})") from error
    except RecursionError:
        raise NotJsonError("", TOO_DEEP) from None
    except ValueError as error:  # an integer with more digits than Python reads
        raise NotJsonError("", str(error)) from error


def _flaw(value: Any, keys: tuple[_Key, ...] = ()) -> tuple[tuple[_Key, ...], str] | None:
    """Find what the standard library reads although JSON does not know it."""
    if isinstance(value, str):
        return (keys, _LONE_SURROGATE) if lone_surrogate(value) is not None else None
    if isinstance(value, float):
        return None if math.isfinite(value) else (keys, f"{value} is no JSON; replace it by null or a number")
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        if isinstance(key, str) and lone_surrogate(key) is not None:
            return (*keys, key), f"the key holds a {_LONE_SURROGATE}"
        if (flaw := _flaw(item, (*keys, key))) is not None:
            return flaw
    return None


def lone_surrogate(text: str) -> int | None:
    """Return the place of the first lone surrogate in the text, from 0, or None."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def check_metadata(value: object, name: str = "metadata") -> dict[str, Any]:
    """Return a copy of metadata as JSON will hold it, sharing nothing with the original.

    Tuples become lists, and subclasses of text, numbers, dict and list the plain type, as the json module writes
    them. Dates, decimals, sets, bytes, numpy's integers and all other objects are refused: convert them first, so
    that the form is your choice.

    Args:
        value: The metadata.
        name: What the errors call it.

    Raises:
        NotJsonError: Not a dict, or it holds what JSON cannot keep exactly; ``place`` names the key, such as
            ``metadata['a'][2]``.
    """
    if not isinstance(value, dict):
        raise NotJsonError(name, f"is {_named(value)}; it must be a dict of JSON values, or None")
    checked: dict[str, Any] = _plain_copy(value) or _Checker(name).check(value, ())
    return checked


def dumps_dict(value: object, name: str) -> bytes | str:
    """Write a dict of JSON values on one line; what comes back is a copy as :func:`check_metadata` makes it.

    Returns:
        Bytes where :data:`loads_plain` reads them back exactly, else a text that ``json.loads`` does.

    Raises:
        NotJsonError: As for :func:`check_metadata`.
    """
    plain = _plain(value) if isinstance(value, dict) else None
    if plain is None:
        checked = check_metadata(value, name)
        plain = _plain(checked)
        if plain is None:
            return json.dumps(checked, ensure_ascii=False)
    return memoryview(plain[0]).tobytes()  # orjson's own bytes, cut from a longer buffer, are expensive to keep


def _plain_copy(value: dict[Any, Any]) -> dict[str, Any] | None:
    plain = _plain(value)
    return None if plain is None else plain[1]


def _plain(value: dict[Any, Any]) -> tuple[bytes, dict[str, Any]] | None:
    """Return JSON and a copy where they are easily had: of plain values that nest a little and come back equal."""
    try:
        data = orjson.dumps(value, option=_ORJSON_AS_IS)
    except TypeError:
        return None
    if len(data) > 2 * MAX_DEPTH and data.count(b"[") + data.count(b"{") >= MAX_DEPTH:
        return None
    copy: dict[str, Any] = orjson.loads(data)
    return (data, copy) if copy == value else None


class _Checker:
    """One walk through a value; ``_open`` holds the containers around the place it is at."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: set[int] = set()

    def check(self, value: Any, keys: tuple[Any, ...]) -> Any:
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return self._text(value, keys, "holds")
        if isinstance(value, int):
            return self._integer(int(value), keys)
        if isinstance(value, float):
            if not math.isfinite(value):
                self._refuse(keys, f"is {float(value)}, which JSON does not know; use None or a number")
            return float(value)
        if isinstance(value, (dict, list, tuple)):
            return self._container(value, keys)
        return self._refuse(keys, f"is {_named(value)}, which JSON cannot hold; convert it to text or a number first")

    def _container(self, value: Any, keys: tuple[Any, ...]) -> Any:
        if id(value) in self._open:
            self._refuse(keys, "contains itself")
        if len(keys) >= MAX_DEPTH:
            self._refuse(keys[:3], f"nests deeper than {MAX_DEPTH} levels")
        self._open.add(id(value))
        checked: Any
        if isinstance(value, dict):
            checked = {self._key(key, keys): self.check(item, (*keys, key)) for key, item in value.items()}
        else:
            checked = [self.check(item, (*keys, index)) for index, item in enumerate(value)]
        self._open.discard(id(value))
        return checked

    def _key(self, key: Any, keys: tuple[Any, ...]) -> str:
        if not isinstance(key, str):
            self._refuse(keys, f"has the key {_named(key)}; JSON's keys are texts, such as {str(key)!r}")
        return self._text(key, keys, f"has the key {key!r} with")

    def _text(self, value: str, keys: tuple[Any, ...], verb: str) -> str:
        if (place := lone_surrogate(value)) is not None:
            self._refuse(keys, f"{verb} a {_LONE_SURROGATE} ({value[place]!r} at character {place})")
        return str.__str__(value)

    def _integer(self, value: int, keys: tuple[Any, ...]) -> int:
        if value.bit_length() > 14_000:  # 4,214 digits; Python itself writes and reads no more than 4,300
            try:
                int.__repr__(value)
            except ValueError:
                self._refuse(keys, "is an integer of more than 4,300 digits, which Python and others do not read back")
        return value

    def _refuse(self, keys: tuple[Any, ...], cause: str) -> NoReturn:
        raise NotJsonError(self._name + "".join(_step(key) for key in keys), cause)


def _path(keys: tuple[_Key, ...]) -> str:
    """Write a path within a record: ``metadata['a'][2]``."""
    return str(keys[0]) + "".join(_step(key) for key in keys[1:])


def _step(key: object) -> str:
    text = repr(key)
    return f"[{text if len(text) <= 60 else text[:57] + '...'}]"


def _named(value: object) -> str:
    """Name a value's type, with the value where it is short."""
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    try:
        text = repr(value)
    except Exception:  # a foreign object's repr may do anything, and the error to report is another one
        text = ""
    name = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    return f"{text} ({name})" if 0 < len(text) <= 60 else name
