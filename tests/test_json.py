"""JSON is written byte for byte as the json module writes it, and read without losing anything."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import math
import struct
import uuid
from collections import OrderedDict
from typing import Any

import numpy
import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwb._json import MAX_DEPTH, NotJsonError, check_metadata, dumps, loads, lone_surrogate

texts = st.text(st.characters(exclude_categories=["Cs"]))
floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1e-05, 9.999e-05, 0.0001, 1e15, 1e16, 12345678901234567.0, 1e22, 5e-324, 0.1 + 0.2]),
    st.decimals(-1000, 1000, places=3).map(float),
)
integers = st.one_of(
    st.integers(), st.sampled_from([2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**400])
)
leaves = st.one_of(st.none(), st.booleans(), integers, floats, texts)
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))
objects = st.dictionaries(texts, values, max_size=5)


def by_json(records: list[dict[str, Any]]) -> bytes:
    return json.dumps(records, indent=2, ensure_ascii=False).encode()


def same(first: Any, second: Any) -> bool:
    """Equal in value, type and, for floats, every bit."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float):
        return struct.pack("d", first) == struct.pack("d", second)
    return bool(first == second)


@given(st.lists(objects, max_size=4))
@example([])
@example([{}])
@example([{"a": {"b": []}, 'null,\n  "x': None}])
@example([{'"k\\': 1e-05}, {"k": "1e-05"}, {"k": 0.00001234}, {"k": [0.5, 1e16]}])
@example([{"text": '\n  "a": null', "n": 2**64}])
def test_records_are_written_as_the_json_module_writes_them(records: list[dict[str, Any]]) -> None:
    assert dumps(records) == by_json(records)


@given(st.lists(floats | floats.map(lambda number: [number]), min_size=1, max_size=50))
def test_floats_have_the_text_that_the_json_module_gives_them(numbers: list[Any]) -> None:
    assert dumps([{"n": numbers}, {str(i): number for i, number in enumerate(numbers)}]) == by_json(
        [{"n": numbers}, {str(i): number for i, number in enumerate(numbers)}]
    )


@given(st.lists(objects, max_size=4), st.sampled_from([None, 2]), st.booleans(), st.booleans())
def test_what_the_json_module_wrote_is_read_exactly(
    records: list[Any], indent: int | None, ascii: bool, bom: bool
) -> None:
    data = json.dumps(records, indent=indent, ensure_ascii=ascii).encode("utf-8-sig" if bom else "utf-8")
    assert same(loads(data), records)


@given(st.lists(objects, max_size=3))
def test_reading_and_writing_changes_no_byte(records: list[dict[str, Any]]) -> None:
    data = dumps(records)
    assert dumps(loads(data)) == data


@pytest.mark.parametrize(
    "text", ["18446744073709551616", "[-18446744073709551617]", '{"a":9223372036854775808}', "-0", "1E2"]
)
def test_numbers_of_every_size_and_place_are_read_as_the_json_module_reads_them(text: str) -> None:
    assert same(loads(text.encode()), json.loads(text))


def test_long_digits_inside_a_text_are_harmless() -> None:
    value = [{"a": "1234567890123456789012", "b": "x 1234567890123456789012", "c": [1.5, 0.12345678901234567890123]}]
    assert same(loads(json.dumps(value).encode()), value)


def test_of_a_repeated_key_the_last_value_counts() -> None:
    assert loads(b'[{"a": 1, "a": 2}]') == loads(b'[{"a": 18446744073709551616, "a": 2}]') == [{"a": 2}]


@pytest.mark.parametrize(
    ("data", "place", "cause"),
    [
        (b'[\n {"a": 1},\n {"a" 1}]', "line 3, column 7", "not JSON (Expecting ':' delimiter)"),
        (b"[]\n[]", "line 2, column 1", "not JSON (Extra data)"),
        (b"", "line 1, column 1", "not JSON (Expecting value)"),
        (b'["caf\xe9"]', "byte 5", "not UTF-8 (byte 0xe9)"),
        (b'\xef\xbb\xbf["caf\xe9"]', "byte 8", "not UTF-8 (byte 0xe9)"),
        (b'["\xed\xa0\x80"]', "byte 2", "not UTF-8 (byte 0xed)"),
        ('["é"]'.encode("utf-16"), "byte 0", "not UTF-8 (byte 0xff)"),
        (b'[{"a": {"b": [1, NaN]}}]', "record 1, a['b'][1]", "nan is no JSON; replace it by null or a number"),
        (b'[{}, {"a": -Infinity}]', "record 2, a", "-inf is no JSON; replace it by null or a number"),
        (b'[{"a": 1e999}]', "record 1, a", "inf is no JSON; replace it by null or a number"),
        (b'[{"a": "\\ud83d"}]', "record 1, a", "lone surrogate, which UTF-8 cannot hold"),
        (b'[{"\\ud83d": 1}]', "record 1, \ud83d", "the key holds a lone surrogate, which UTF-8 cannot hold"),
        (b"[" * 5000 + b"]" * 5000, "", "lists and objects nest too deep"),
        (b"[" + b"1" * 5000 + b"]", "", "Exceeds the limit"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(data: bytes, place: str, cause: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        loads(data)
    assert caught.value.place == place
    assert caught.value.cause.startswith(cause)


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, b"x", "\ud83d", datetime.date(2026, 1, 1)])
def test_what_is_no_json_is_never_written(value: Any) -> None:
    with pytest.raises(NotJsonError):
        dumps([{"a": 1}, {"a": [value]}])


@pytest.mark.parametrize("depth", [300, 3000])
def test_deep_nesting_is_written_as_it_is_or_refused_in_words(depth: int) -> None:
    value: Any = []
    for _ in range(depth):
        value = [value]
    try:
        expected: bytes | str = by_json([{"a": value}])
    except RecursionError:  # Python's own limit, which is another one in each version
        expected = "lists and objects nest too deep"
    try:
        written: bytes | str = dumps([{"a": value}])
    except NotJsonError as error:
        written = error.cause
    assert written == expected


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Plain(enum.Enum):
    A = 1


class Always:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


@given(objects)
def test_json_values_are_taken_as_they_are(metadata: dict[str, Any]) -> None:
    assert same(check_metadata(metadata), metadata)


@pytest.mark.parametrize("value", [0, -0.0, 1.0, True, 2**64 - 1, -(2**63), 1e308, 5e-324, 1e16, "", [], {}, [[]]])
def test_values_that_compare_equal_keep_their_types(value: Any) -> None:
    assert same(check_metadata({"a": [value]}), {"a": [value]})


def test_plain_types_are_what_remains_of_tuples_and_subclasses() -> None:
    given = OrderedDict(t=(1, (2,)), e=Colour.RED, n=Level.HIGH, f=numpy.float64(0.5), d=OrderedDict(x=True))
    assert same(check_metadata(given), {"t": [1, [2]], "e": "red", "n": 3, "f": 0.5, "d": {"x": True}})


def test_what_was_checked_shares_nothing_with_its_original() -> None:
    inner = [1]
    checked = check_metadata({"a": {"b": inner}, "again": inner})
    inner.append(2)
    assert checked == {"a": {"b": [1]}, "again": [1]}


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def itself() -> dict[str, Any]:
    value: dict[str, Any] = {"a": []}
    value["a"].append({"b": value})
    return value


@pytest.mark.parametrize(
    ("metadata", "place", "cause"),
    [
        ("a note", "metadata", "is 'a note' (a str); it must be a dict of JSON values, or None"),
        ([], "metadata", "is [] (a list); it must be a dict of JSON values, or None"),
        ({1: "int"}, "metadata", "has the key 1 (an int); JSON's keys are texts, such as '1'"),
        ({"a": {None: 1}}, "metadata['a']", "has the key None (a NoneType); JSON's keys are texts, such as 'None'"),
        ({"a": [1, math.nan]}, "metadata['a'][1]", "is nan, which JSON does not know; use None or a number"),
        ({"a": -math.inf}, "metadata['a']", "is -inf, which JSON does not know; use None or a number"),
        ({"s": {1}}, "metadata['s']", "is {1} (a set), which JSON cannot hold"),
        ({"b": b"x"}, "metadata['b']", "is b'x' (a bytes), which JSON cannot hold"),
        ({"d": decimal.Decimal("1.10")}, "metadata['d']", "is Decimal('1.10') (a decimal.Decimal), which JSON cannot"),
        ({"d": datetime.date(2026, 1, 1)}, "metadata['d']", "is datetime.date(2026, 1, 1) (a datetime.date), which"),
        ({"n": numpy.int64(3)}, "metadata['n']", "a numpy.int64), which JSON cannot hold"),
        ({"a": ["x\ud83d"]}, "metadata['a'][0]", "holds a lone surrogate, which UTF-8 cannot hold ('\\ud83d' at"),
        ({"x\ud83d": 1}, "metadata", "has the key 'x\\ud83d' with a lone surrogate"),
        ({"n": 10**5000}, "metadata['n']", "is an integer of more than 4,300 digits"),
        ({"a": [uuid.UUID(int=1)]}, "metadata['a'][0]", "uuid.UUID), which JSON cannot hold"),
        ({"a": Plain.A}, "metadata['a']", "which JSON cannot hold"),
        ({"a": orjson.Fragment(b"[1]")}, "metadata['a']", "which JSON cannot hold"),
        ({"a": Always()}, "metadata['a']", "which JSON cannot hold"),
        (itself(), "metadata['a'][0]['b']", "contains itself"),
        (nested(MAX_DEPTH + 1), "metadata['a']['a']['a']", "nests deeper than 100 levels"),
        (nested(5000), "metadata['a']['a']['a']", "nests deeper than 100 levels"),
    ],
)
def test_what_json_cannot_hold_is_refused_naming_the_key(metadata: Any, place: str, cause: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        check_metadata(metadata)
    assert caught.value.place == place
    assert cause in caught.value.cause


def test_nesting_up_to_the_limit_is_taken() -> None:
    assert check_metadata(nested(MAX_DEPTH)) == nested(MAX_DEPTH)


def test_the_largest_integers_that_python_writes_are_taken() -> None:
    value = {"n": -(10**4299)}
    assert check_metadata(value) == value == loads(dumps([value]))[0]


@given(st.text(st.characters()))
def test_a_lone_surrogate_is_found_where_it_is(text: str) -> None:
    place = lone_surrogate(text)
    surrogates = [index for index, character in enumerate(text) if "\ud800" <= character <= "\udfff"]
    assert place == (surrogates[0] if surrogates else None)
