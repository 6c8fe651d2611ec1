"""Browsing a store: counting, pages, single records."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memwb.catalog import Record
from memwb.errors import ConfigError
from memwb.stores import TestMemoryStore

from .conftest import StoreFile

DAY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def store() -> TestMemoryStore:
    return TestMemoryStore.from_records(
        [
            {"id": "b", "content": "Straße nach Süden", "createdAt": "2026-01-03T00:00:00.000Z", "metadata": {"n": 1}},
            {"id": "c", "content": "apple", "createdAt": "2026-01-01T00:00:00.000Z"},
            {"id": "a", "content": "Zebra\x00stripes", "createdAt": "2026-01-01T00:00:00.000Z", "metadata": {}},
        ],
        name="notes",
    )


async def ids(store: TestMemoryStore, *args: Any, **kwargs: Any) -> str:
    return "".join(record.id for record in await store.page(*args, **kwargs))


async def test_a_page_holds_whole_records_in_the_order_of_adding(store: TestMemoryStore) -> None:
    assert await store.page(0, 2) == [
        Record("b", "Straße nach Süden", datetime(2026, 1, 3, tzinfo=UTC), store="notes", metadata={"n": 1}),
        Record("c", "apple", DAY, store="notes"),
    ]


@pytest.mark.parametrize(
    ("offset", "limit", "found"), [(0, 3, "bca"), (1, 1, "c"), (2, 9, "a"), (3, 1, ""), (99, 1, "")]
)
async def test_pages_cut_the_list(store: TestMemoryStore, offset: int, limit: int, found: str) -> None:
    assert await ids(store, offset, limit) == found


@pytest.mark.parametrize(
    ("sort", "found"),
    [
        (None, "bca"),
        ("created_at", "cab"),
        ("-created_at", "bca"),
        ("content", "bac"),
        ("-content", "cab"),
        ("id", "abc"),
        ("-id", "cba"),
    ],
)
async def test_a_sort_orders_all_pages_and_keeps_ties_in_order(
    store: TestMemoryStore, sort: str | None, found: str
) -> None:
    assert await ids(store, 0, 9, sort) == found
    assert await ids(store, 1, 1, sort) == found[1]


@pytest.mark.parametrize(
    ("where", "found"), [("", "bca"), ("A", "bca"), ("STRASSE", "b"), ("süd", "b"), ("\x00s", "a"), ("none", "")]
)
async def test_where_is_found_inside_words_whatever_the_case(store: TestMemoryStore, where: str, found: str) -> None:
    assert await ids(store, 0, 9, where=where) == found
    assert await store.count(where) == len(found)


async def test_a_record_is_found_by_its_id(store: TestMemoryStore) -> None:
    assert await store.get("a") == Record("a", "Zebra\x00stripes", DAY, store="notes", metadata={})
    assert await store.get("z") is None


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((-1, 1), "offset is -1; it must be a whole number, at least 0"),
        ((True, 1), "offset is True"),
        (("0", 1), "offset is '0'"),
        ((0, 0), "limit is 0; it must be a whole number, at least 1"),
        ((0, 2.0), "limit is 2.0"),
        ((0, 1, "created"), "sort is 'created'; it must be 'created_at', 'content', 'id'"),
        ((0, 1, "--id"), "sort is '--id'"),
        ((0, 1, 3), "sort is 3"),
        ((0, 1, None, None), "where must be a text, not None"),
    ],
)
async def test_bad_arguments_are_refused(store: TestMemoryStore, args: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await store.page(*args)
    assert str(caught.value).startswith(f"TestMemoryStore: {message}")


async def test_a_time_that_is_none_is_shown_as_missing(file: StoreFile) -> None:
    file.write('[{"id": "r1", "content": "tea", "createdAt": "some day"}]')
    assert await file.store().page(0, 1) == [Record("r1", "tea", None, store="notes")]
