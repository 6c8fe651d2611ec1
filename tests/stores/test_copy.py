"""Memories copied from one store to another."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest

from memwb.catalog import Record
from memwb.errors import DuplicateEntryError
from memwb.ranking import HashingEmbedder
from memwb.stores import Semantic, SQLiteMemoryStore, TestMemoryStore, copy

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def test_a_dry_run_tells_what_a_copy_would_do_and_writes_nothing() -> None:
    source = TestMemoryStore.from_records(["green tea", "black tea"], name="source")
    target = TestMemoryStore.from_records(["black tea "], name="target")
    assert repr(await copy(source, target, dry_run=True)) == "Transfer(1 new, 1 duplicate; nothing was written)"
    assert await target.count() == 1
    assert repr(await copy(source, target)) == "Transfer(1 new, 1 duplicate)"
    assert [record.content for record in await target.page(0, 9)] == ["black tea ", "green tea"]


async def test_owners_roles_ids_and_times_go_along_to_a_store_that_keeps_them(tmp_path: Path) -> None:
    source, target = SQLiteMemoryStore(tmp_path / "a.db"), SQLiteMemoryStore(tmp_path / "b.db", name="a")
    records = [
        Record("1", "likes tea", NOON, owner="ann", role="user", metadata={"n": 1}),
        Record("2", "likes tea", NOON, owner="bob"),
        Record("3", "likes tea", NOON),
    ]
    await source.add_many(records)
    copied = await copy(source, target)
    assert (copied.new, copied.duplicates) == (("1", "2", "3"), ())
    assert await target.page(0, 9) == await source.page(0, 9)
    assert (await copy(source, target)).duplicates == ("1", "2", "3")


async def test_a_store_of_one_owner_refuses_the_memories_of_another(tmp_path: Path) -> None:
    target = SQLiteMemoryStore(tmp_path / "b.db", owner="ann")
    source = SQLiteMemoryStore(tmp_path / "a.db")
    await source.add_many([Record("1", "tea", owner="bob"), Record("2", "coffee", owner="ann"), Record("3", "water")])
    copied = await copy(source, target)
    assert copied.new == ("2", "3")
    assert [(refusal.id, refusal.reason) for refusal in copied.refused] == [
        ("1", "it is a memory of 'bob', and the store holds those of 'ann' alone.")
    ]
    assert [(record.content, record.owner) for record in await target.page(0, 9)] == [
        ("coffee", "ann"),
        ("water", "ann"),
    ]


@pytest.mark.parametrize(
    ("collision", "contents"),
    [("skip", ["black tea"]), ("replace", ["green tea"]), ("new id", ["black tea", "green tea"])],
)
async def test_a_taken_id_is_skipped_replaced_or_changed(collision: Literal["skip"], contents: list[str]) -> None:
    source = TestMemoryStore.from_records([{"id": "1", "content": "green tea"}], name="source")
    target = TestMemoryStore.from_records([{"id": "1", "content": "black tea"}], name="target")
    await copy(source, target, collision=collision)
    assert [record.content for record in await target.page(0, 9)] == contents


async def test_a_taken_id_can_be_a_failure() -> None:
    source = TestMemoryStore.from_records([{"id": "1", "content": "green tea"}], name="source")
    target = TestMemoryStore.from_records([{"id": "1", "content": "black tea"}], name="target")
    with pytest.raises(DuplicateEntryError):
        await copy(source, target, collision="fail")


async def test_owners_go_along_to_a_store_that_is_searched_by_meaning() -> None:
    source, beneath = SQLiteMemoryStore(":memory:"), SQLiteMemoryStore(":memory:")
    await source.add("tea", owner="ann")
    await source.add("tea", owner="bob")
    assert repr(await copy(source, Semantic(beneath, HashingEmbedder()))) == "Transfer(2 new)"
    assert [(record.content, record.owner) for record in await beneath.page(0, 9)] == [("tea", "ann"), ("tea", "bob")]
