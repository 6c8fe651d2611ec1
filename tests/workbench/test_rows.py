"""Sources of rows: what is sorted how, and what is read for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.catalog import Record
from memwb.stores import TestMemoryStore
from memwb.workbench.rows import ListRows, Rows, StoreRows, flattened, ordered, path_of, value_at


@dataclass
class Row:
    id: str
    content: str = ""
    value: Any = None


def ids(rows):
    return [row.id for row in rows]


def test_a_store_that_can_list_is_a_source():
    assert isinstance(TestMemoryStore(name="a", persist=False), Rows)
    assert isinstance(StoreRows(object()), Rows)
    assert not isinstance(object(), Rows)


async def test_a_list_is_paged_filtered_and_found_by_id():
    rows = ListRows([Row("a", "One cane"), Row("b", "two"), Row("c", "CANE three")])

    assert (await rows.count(), await rows.count("Cane")) == (3, 2)
    assert ids(await rows.page(1, 5)) == ["b", "c"]
    assert ids(await rows.page(0, 1, where="cane")) == ["a"]
    assert (await rows.get("b"), await rows.get("z")) == (Row("b", "two"), None)


async def test_a_list_is_sorted_by_what_it_was_told():
    rows = ListRows([Row("a", value=2), Row("b", value=3), Row("c", value=1)], sorts={"value": lambda row: row.value})

    assert ids(await rows.page(0, 9, sort="value")) == ["c", "a", "b"]
    assert ids(await rows.page(0, 9, sort="-value")) == ["b", "a", "c"]
    assert ids(await rows.page(0, 9)) == ["a", "b", "c"]


MIXED = {
    "text": "b", "number": 2, "small": -1.5, "true": True, "none": None, "nan": float("nan"), "list": [1],
    "time": datetime(2026, 1, 2, tzinfo=UTC), "capital": "B", "dict": {"a": 1}, "empty": "",
}  # fmt: skip


def test_values_of_any_types_are_ordered_and_missing_ones_are_last_in_either_direction():
    rows = list(MIXED)

    up, down = (ordered(rows, MIXED.get, sort) for sort in ("x", "-x"))

    assert up == ["small", "true", "number", "time", "empty", "capital", "text", "list", "dict", "none", "nan"]
    assert down == [*reversed(up[:-2]), "none", "nan"]


@given(st.lists(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers()))))
def test_equal_values_stay_in_their_order(values):
    rows = list(enumerate(values))

    again = ordered(ordered(rows, lambda row: row[1], "x"), lambda row: row[1], "x")

    assert again == ordered(rows, lambda row: row[1], "x")
    assert sorted(row[0] for row in again) == list(range(len(values)))


KEYS = st.text(st.sampled_from("ab.\\ é"), max_size=4)
METADATA = st.dictionaries(
    KEYS, st.recursive(st.integers() | st.none(), lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=6)
)


@given(METADATA)
def test_every_column_of_metadata_leads_back_to_its_value(metadata):
    columns = flattened(metadata)

    assert {name: value_at(metadata, path_of(name), "absent") for name in columns} == columns
    assert all(name.startswith("metadata.") for name in columns)


def test_metadata_columns_are_named_as_in_frames():
    from memwb.frames import records_frame

    metadata = {
        "where": {"city": "Oslo", "geo": {"lat": 59.9}},
        "where.city": "Rome",
        "a\\b": 1,
        "empty": {},
        "none": None,
    }

    frame = records_frame([Record("a", "text", metadata=metadata)])

    assert list(flattened(metadata)) == [name for name in frame.columns if name.startswith("metadata.")]


@pytest.mark.parametrize("metadata", [None, {}, {1: "a"}, "text", ["a"]])
def test_what_is_no_dict_of_names_has_no_columns(metadata):
    assert flattened(metadata) == {}
    assert value_at(metadata, ("a",), "absent") == "absent"


def test_a_part_of_the_path_that_is_no_leaf_is_absent():
    assert value_at({"where": {"city": "Oslo"}}, ("where",), "absent") == "absent"
    assert value_at({"where": {}}, ("where",), "absent") == {}


@dataclass
class Counting:
    """A store that notes what is asked of it."""

    store: TestMemoryStore
    asked: list[Any] = field(default_factory=list)

    async def count(self, where=""):
        self.asked.append(("count", where))
        return await self.store.count(where=where)

    async def page(self, offset, limit, sort=None, where=""):
        self.asked.append(("page", offset, limit, sort, where))
        return await self.store.page(offset, limit, sort=sort, where=where)

    async def get(self, id):
        return await self.store.get(id)


@pytest.fixture
def counting():
    records = [Record(f"r{n}", f"text {n}", metadata={"n": n * 7 % 10} if n % 4 else None) for n in range(10)]
    return Counting(TestMemoryStore.from_records(records, name="s"))


async def test_a_store_sorts_by_itself_what_it_can(counting):
    assert ids(await StoreRows(counting).page(0, 2, sort="-content", where="text")) == ["r9", "r8"]
    assert counting.asked == [("page", 0, 2, "-content", "text")]


async def test_records_are_sorted_by_metadata_and_read_once_for_it(counting):
    rows = StoreRows(counting)

    first = await rows.page(0, 3, sort="metadata.n")
    rest = await rows.page(3, 9, sort="metadata.n")

    assert ids(first) + ids(rest) == ["r3", "r6", "r9", "r2", "r5", "r1", "r7", "r0", "r4", "r8"]
    assert counting.asked == [("page", 0, 5000, None, "")]


async def test_after_the_next_count_they_are_read_anew(counting):
    rows = StoreRows(counting)
    await rows.page(0, 3, sort="-metadata.n")

    assert await rows.count() == 10
    await counting.store.add("late", {"n": 99})

    assert (await rows.page(0, 1, sort="-metadata.n"))[0].content == "late"


async def test_many_records_are_read_in_pieces(counting, monkeypatch):
    monkeypatch.setattr("memwb.workbench.rows.PIECE", 4)

    found = await StoreRows(counting).page(0, 20, sort="metadata.n")

    assert len(found) == 10
    assert [asked[1:3] for asked in counting.asked] == [(0, 4), (4, 4), (8, 4)]
