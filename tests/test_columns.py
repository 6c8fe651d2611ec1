"""Records as columns, many at a time: what comes late stands in its place, and the collector is as it was before."""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Any

import pytest

from memwb._collector import without_collector
from memwb._columns import columns_of
from memwb.catalog import Record
from memwb.frames import records_frame, records_from_frame


def records(*metadata: Any) -> list[Record]:
    return [Record(str(number), f"text {number}", metadata=item) for number, item in enumerate(metadata)]


def metadata_columns(rows: list[Record]) -> dict[str, list[Any]]:
    return {column.name: column.cells for column in columns_of(rows, "missing") if column.name.startswith("metadata")}


def test_columns_come_in_the_order_in_which_their_keys_first_appear() -> None:
    rows = records({"a": {"x": 1}, "b": 2}, None, {"c": 3, "a": {"y": 4, "x": 5}}, {"b": 6})
    assert metadata_columns(rows) == {
        "metadata.a.x": [1, "missing", 5, "missing"],
        "metadata.b": [2, "missing", "missing", 6],
        "metadata.c": ["missing", "missing", 3, "missing"],
        "metadata.a.y": ["missing", "missing", 4, "missing"],
    }


def test_a_dict_that_stays_whole_does_not_keep_others_from_being_taken_apart() -> None:
    rows = records({"a": {}}, {"a": {"x": 1}}, {"a": {2: 3}}, {"a": {"x": 4, 5: 6}}, {"a": None}, {"a": {"x": 7}}, {})
    assert metadata_columns(rows) == {
        "metadata.a": [{}, "missing", {2: 3}, {"x": 4, 5: 6}, None, "missing", "missing"],
        "metadata.a.x": ["missing", 1, "missing", "missing", "missing", 7, "missing"],
        "metadata": ["missing"] * 6 + [{}],
    }


def test_what_comes_after_thousands_of_records_stands_in_its_row() -> None:
    rows = records(*({"n": number} for number in range(3000)), {"n": "ü\ud800", "late": True}, {"n": 1})
    frame = records_frame(rows)
    assert list(frame.columns) == ["id", "content", "created_at", "metadata.n", "metadata.late"]
    assert (frame["metadata.n"][2999], str(frame["metadata.n"][3000]), frame["metadata.n"][3001]) == (
        2999,
        "ü\ufffd",
        1,
    )
    assert frame["metadata.late"].dropna().to_dict() == {3000: True}
    assert records_from_frame(frame) == rows


@pytest.mark.parametrize("keys", [1, 49, 500])
def test_a_frame_takes_another_column_without_a_warning(keys: int) -> None:
    frame = records_frame(records({f"key {number}": number for number in range(keys)}))
    frame["mine"] = 1
    assert frame.shape == (1, keys + 4)


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("failing", [True, False])
def test_the_collector_rests_and_is_then_as_it_was(enabled: bool, failing: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with suppress(ZeroDivisionError), without_collector():
            assert not gc.isenabled()
            assert 1 / (not failing)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
