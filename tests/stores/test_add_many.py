"""Adding many entries: one write, all or nothing, ids and times kept."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memwb import _files
from memwb.catalog import Record
from memwb.errors import ConfigError, DuplicateEntryError
from memwb.stores import TestMemoryAddResult, TestMemoryStore
from memwb.testing import FrozenClock, SequentialIds

from .conftest import StoreFile

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def in_memory(**config: Any) -> TestMemoryStore:
    return TestMemoryStore(
        **{"name": "notes", "persist": False, "clock": FrozenClock(NOON), "new_id": SequentialIds(), **config}
    )


async def times_after_noon(store: TestMemoryStore) -> list[float]:
    records = await store.page(0, 100)
    return [(record.created_at - NOON) / timedelta(milliseconds=1) for record in records if record.created_at]


async def test_texts_dicts_and_records_can_be_mixed() -> None:
    store = in_memory()
    record = Record("r9", "from a record", NOON - timedelta(days=1), owner="Ann", metadata={"n": [1]})
    results = await store.add_many(
        [
            "a text",
            {"content": "a dict", "metadata": {}},
            {"content": "with all", "metadata": {"k": (1,)}, "id": "own", "createdAt": "2025-01-01T00:00:00Z"},
            {"content": "with none", "metadata": None, "id": None, "createdAt": None},
            record,
        ]
    )
    assert results == [TestMemoryAddResult(id) for id in ("id-1", "id-2", "own", "id-3", "r9")]
    assert [(found.id, found.content, found.metadata) for found in await store.page(0, 10)] == [
        ("id-1", "a text", None),
        ("id-2", "a dict", {}),
        ("own", "with all", {"k": [1]}),
        ("id-3", "with none", None),
        ("r9", "from a record", {"n": [1]}),
    ]
    own = await store.get("own")
    assert own is not None
    assert own.created_at == datetime(2025, 1, 1, tzinfo=UTC)


async def test_a_given_time_is_kept_as_it_was_written(file: StoreFile) -> None:
    await file.store().add_many([{"content": "tea", "createdAt": "2025-01-01T01:00:00+01:00"}])
    assert [record["createdAt"] for record in file.records()] == ["2025-01-01T01:00:00+01:00"]


async def test_new_times_rise_by_a_millisecond_and_end_at_now() -> None:
    store = in_memory()
    await store.add_many([f"tea {number}" for number in range(5)])
    assert await times_after_noon(store) == [-4, -3, -2, -1, 0]


async def test_new_times_reach_ahead_of_now_only_if_the_last_record_forces_that() -> None:
    store = in_memory()
    await store.add_many([{"content": "last", "createdAt": NOON - timedelta(milliseconds=2)}])
    await store.add_many([f"tea {number}" for number in range(4)])
    assert await times_after_noon(store) == [-2, -1, 0, 1, 2]
    later = in_memory()
    await later.add_many([{"content": "last", "createdAt": NOON - timedelta(milliseconds=4)}])
    await later.add_many([f"tea {number}" for number in range(4)])
    assert await times_after_noon(later) == [-4, -3, -2, -1, 0]


async def test_an_item_without_a_time_is_later_than_those_before_it() -> None:
    store = in_memory()
    await store.add_many(["one", {"content": "two", "createdAt": NOON + timedelta(milliseconds=7)}, "three", "four"])
    assert await times_after_noon(store) == [-2, 7, 8, 9]


async def test_what_is_held_already_is_left_out_and_reported() -> None:
    store = in_memory()
    await store.add("tea")
    results = await store.add_many([" tea ", "coffee", "coffee\n", {"content": "tea", "id": "new id"}])
    assert results == [
        TestMemoryAddResult("id-1", deduplicated=True),
        TestMemoryAddResult("id-2"),
        TestMemoryAddResult("id-2", deduplicated=True),
        TestMemoryAddResult("id-1", deduplicated=True),
    ]
    assert await store.count() == 2


@pytest.mark.parametrize(
    "items",
    [
        [{"content": "new", "id": "taken"}],
        ["fine", {"content": "held", "id": "taken"}],
        [{"content": "a", "id": "x"}, {"content": "b", "id": "x"}],
    ],
    ids=["by a record", "by the same record", "by an item before"],
)
async def test_a_taken_id_is_refused_and_nothing_is_written(file: StoreFile, items: list[Any]) -> None:
    store = file.store()
    await store.add_many([{"content": "held", "id": "taken"}])
    before = file.bytes()
    with pytest.raises(DuplicateEntryError, match=r"notes\.json already holds an entry with the id") as caught:
        await store.add_many(items)
    assert caught.value.id in ("taken", "x")
    assert file.bytes() == before


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("", "item 2: content must not be empty or blank; it is ''"),
        ({}, "item 2: content must be a text, not NoneType None"),
        ({"content": "x", "metadata": {"a": {1: 2}}}, "item 2: metadata['a'] has the key 1 (an int)"),
        ({"content": "x", "id": ""}, "item 2: id must not be empty or blank"),
        ({"content": "x", "id": 7}, "item 2: id must be a text, not int 7"),
        ({"content": "x", "createdAt": "soon"}, "item 2: createdAt: 'soon' is no time in ISO 8601 form"),
        ({"content": "x", "createdAt": 12.5}, "item 2: createdAt is 12.5; it must be a time or its text"),
        ({"content": "x", "createdAt": datetime(2026, 1, 1)}, "item 2: createdAt: The time 2026-01-01T00:00:00 has no"),
        ({"content": "x", "created_at": "2026-01-01"}, "Did you mean 'createdAt'?"),
        (7, "item 2: must be a text or a dict, not int 7"),
        (None, "item 2: must be a text or a dict, not NoneType None"),
    ],
)
async def test_a_bad_item_is_named_and_nothing_is_written(file: StoreFile, item: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=r"^TestMemoryStore: item 2: ") as caught:
        await file.store().add_many(["fine", item])
    assert message in str(caught.value)
    assert not file.path.parent.exists()


@pytest.mark.parametrize("items", ["tea", {"content": "tea"}])
async def test_a_single_item_is_no_list_of_items(items: Any) -> None:
    with pytest.raises(ConfigError, match="items must be a list of texts or dicts"):
        await in_memory().add_many(items)


async def test_all_items_are_one_write(file: StoreFile, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[str] = []
    replace = os.replace
    monkeypatch.setattr(_files.os, "replace", lambda old, new: (writes.append(str(new)), replace(old, new)))
    await file.store().add_many(f"tea {number}" for number in range(1000))
    assert writes == [str(file.path)]
    assert len(file.records()) == 1000


async def test_no_items_and_known_items_write_nothing(file: StoreFile) -> None:
    store = file.store()
    assert await store.add_many([]) == []
    assert not file.path.exists()
    await store.add("tea")
    before = file.path.stat()
    await store.add_many(["tea"])
    assert file.path.stat() == before
