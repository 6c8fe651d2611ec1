"""All kinds of memory are browsed alike, in rows of one form."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from typing import Any

import pytest

from memwb import catalog
from memwb.catalog import Catalog, Record
from memwb.errors import ConfigError
from memwb.sessions import InMemoryStore, Memory, MemoryEntry
from memwb.stores import TestMemoryStore
from tests.sessions.fakes import PlainStore, SmallModel, talk


def test_a_record_needs_an_id_and_a_content() -> None:
    record = Record("r1", "tea")
    rest = (record.created_at, record.updated_at, record.store, record.owner, record.role, record.metadata)
    assert rest == (None,) * 6


def test_records_are_values() -> None:
    first, second = (Record("r1", "tea", datetime(2026, 1, 1, tzinfo=UTC), metadata={"n": [1]}) for _ in range(2))
    assert first == second
    assert len({first, second}) == 1
    assert first != Record("r1", "tea", first.created_at, metadata={})
    record: Any = first
    with pytest.raises(FrozenInstanceError):
        record.content = "coffee"


# -- sessions as records -------------------------------------------------------------------------------------------


async def store_of(*entries: MemoryEntry) -> InMemoryStore:
    store = InMemoryStore()
    await store.add_many(entries)
    return store


def entry(id: str, content: str, at: float, session: str = "s1", user: str = "ann", **rest: Any) -> MemoryEntry:
    return MemoryEntry(session, id, user, content=content, created_at=at, updated_at=at, **rest)


THREE = (
    entry("b", "I like TEA", 2.0),
    entry("a", "and jazz", 3.0, role="assistant"),
    entry("c", "tea again", 1.0, session="s2", user="bob"),
)


def ids(records: list[Record]) -> list[str]:
    return [record.id for record in records]


async def test_an_entry_of_a_session_is_a_record_with_its_user_and_its_session() -> None:
    calls = [{"id": "k1"}]
    data = {"role": "assistant", "content": "tea", "tool_calls": calls}
    store = await store_of(entry("a", "tea", 0.5, role="assistant", message_data=data))
    listed = catalog.of(store)

    assert isinstance(listed, Catalog)
    expected = Record(
        id="a",
        content="tea",
        created_at=datetime(1970, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC),
        updated_at=datetime(1970, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC),
        store="InMemoryStore",
        owner="ann",
        role="assistant",
        metadata={"tool_calls": calls, "session_id": "s1"},
    )
    assert await listed.page(0, 10) == [expected]
    assert await listed.get("a") == expected


async def test_sessions_are_filtered_sorted_and_cut_into_pages() -> None:
    listed = catalog.of(await store_of(*THREE))

    assert (await listed.count(), await listed.count(where="Tea"), await listed.count(where="x")) == (3, 2, 0)
    assert ids(await listed.page(0, 9)) == ["b", "a", "c"]
    assert ids(await listed.page(0, 9, where="tea")) == ["b", "c"]
    assert ids(await listed.page(1, 1)) == ["a"]
    for sort, order in {
        "created_at": "cba",
        "-created_at": "abc",
        "id": "abc",
        "-id": "cba",
        "content": "bac",
        "role": "abc",
        "owner": "bac",
        "-owner": "cba",
        "-session_id": "cba",
        "updated_at": "cba",
    }.items():
        assert "".join(ids(await listed.page(0, 9, sort=sort))) == order, sort
        assert "".join(ids(await listed.page(1, 2, sort=sort))) == order[1:], sort
    with pytest.raises(ConfigError, match=r"sort is 'createdat'; .* Did you mean 'created_at'\?"):
        await listed.page(0, 9, sort="createdat")


async def test_a_listing_is_read_anew_at_its_first_page_and_at_each_count() -> None:
    store = await store_of(*THREE)
    listed = catalog.of(store)
    assert len(await listed.page(0, 9)) == 3

    await store.add(entry("d", "coffee", 4.0))
    assert ids(await listed.page(1, 9)) == ["a", "c"]
    assert ids(await listed.page(0, 9)) == ["b", "a", "d", "c"]
    await store.delete("b")
    assert (await listed.count(), ids(await listed.page(1, 9))) == (3, ["d", "c"])


async def test_one_session_or_one_user_alone() -> None:
    store = await store_of(*THREE, entry("d", "more", 4.0, session="s2"))

    assert ids(await catalog.of(store, session_id="s2").page(0, 9)) == ["d", "c"]
    assert ids(await catalog.of(store, user_id="ann").page(0, 9)) == ["b", "a", "d"]
    one = catalog.of(store, "s2", "bob")
    assert (ids(await one.page(0, 9)), await one.get("d"), repr(one)) == (
        ["c"],
        None,
        "SessionCatalog(InMemoryStore, session 's2', user 'bob')",
    )


async def test_what_a_summary_keeps_of_the_entries_that_it_replaced_is_no_metadata() -> None:
    memory = Memory(model=SmallModel(), max_messages=9, recent_count=3)
    await talk(memory, 10)

    records = await catalog.of(memory.store).page(0, 99)
    assert [record.metadata for record in records if record.role == "summary"] == [{"session_id": "s"}]


async def test_a_store_that_cannot_list_its_sessions_shows_the_one_that_is_named() -> None:
    store = PlainStore()
    await talk(Memory(store), 3)

    with pytest.raises(ConfigError, match="PlainStore cannot list its sessions; give session_id, and user_id"):
        catalog.of(store)
    assert [record.content for record in await catalog.of(store, "s", "u").page(0, 9)] == ["m1", "m2", "m3"]
    assert await catalog.of(store, "s").page(0, 9) == []  # of the user "default"


async def test_a_store_of_long_term_memory_is_a_catalog_itself() -> None:
    store = TestMemoryStore.from_records(["tea"], name="notes")

    assert catalog.of(store) is store
    with pytest.raises(ConfigError, match="is no store of sessions; leave session_id and user_id out"):
        catalog.of(store, user_id="ann")
    with pytest.raises(ConfigError, match="object cannot list its entries"):
        catalog.of(object())


async def test_a_time_beyond_the_calendar_is_left_open() -> None:
    (record,) = await catalog.of(await store_of(entry("a", "tea", 1e200))).page(0, 1)
    assert record.created_at is None


@pytest.mark.parametrize(("offset", "limit", "key"), [(0, -1, "limit"), (-1, 5, "offset"), ("x", 5, "offset")])
async def test_a_place_that_no_page_has_is_refused(offset: Any, limit: Any, key: str) -> None:
    shown = catalog.of(await store_of(entry("a", "tea", 1.0)))
    with pytest.raises(ConfigError, match=f"{key} is .*; it must be a whole number, at least 0") as caught:
        await shown.page(offset, limit)
    assert caught.value.key == key


async def test_a_memory_is_listed_as_its_store_and_a_class_is_none() -> None:
    store = await store_of(entry("a", "tea", 1.0))
    assert await catalog.of(Memory(store)).page(0, 9) == await catalog.of(store).page(0, 9)
    with pytest.raises(ConfigError, match="type cannot list its entries"):
        catalog.of(InMemoryStore)
