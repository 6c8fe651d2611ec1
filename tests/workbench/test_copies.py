"""Copies of stores in memory: what is tried on them never reaches the stores."""

from __future__ import annotations

import pytest

from memwb.catalog import Record
from memwb.memory import AddMessagesContext
from memwb.memory.types import has_method
from memwb.stores import TestMemoryStore
from memwb.testing import FaultyStore
from memwb.workbench.copies import copy_of
from tests.memory.stores import BareStore, MessageStore
from tests.workbench.fakes import ListStore


async def test_a_copy_holds_what_the_store_holds_and_is_its_own(tmp_path):
    store = TestMemoryStore(
        name="notes", path=str(tmp_path / "notes.json"), max_search_results=2, description="d", writable=True
    )
    await store.add("green tea", {"n": 1})
    before = (tmp_path / "notes.json").read_bytes()
    copy, lacks = await copy_of(store)
    assert (copy.name, copy.path, copy.max_search_results, copy.description, lacks) == ("notes", None, 2, "d", "")
    assert await copy.page(0, 9) == await store.page(0, 9)
    assert (await copy.add("green tea")).deduplicated
    await copy.add("black tea")
    assert (tmp_path / "notes.json").read_bytes() == before
    assert await store.count() == 1


async def test_a_read_only_store_has_a_copy_that_can_be_written_to():
    copy, _ = await copy_of(ListStore("green tea", name="profile"))
    await copy.add("black tea")
    assert [record.content for record in await copy.page(0, 9)] == ["green tea", "black tea"]


async def test_a_store_that_cannot_list_is_copied_from_its_listing_or_starts_empty():
    listing = TestMemoryStore.from_records([Record("r1", "green tea")], name="bare")
    copy, lacks = await copy_of(BareStore("bare", "green tea"), listing)
    assert ([record.id for record in await copy.page(0, 9)], lacks) == (["r1"], "")
    copy, lacks = await copy_of(BareStore("bare", "green tea"))
    assert await copy.count() == 0
    assert lacks == "the store cannot list its entries: the copy starts empty, so nothing counts as known already"


async def test_a_store_that_fails_to_list_starts_empty_and_says_why():
    class Down(ListStore):
        async def page(self, offset, limit, sort=None, where=""):
            raise ConnectionError("no route")

    copy, lacks = await copy_of(Down("green tea"))
    assert (await copy.count(), lacks) == (0, "the store could not be read, so the copy starts empty: no route")


async def test_a_store_for_messages_has_a_copy_that_keeps_them():
    copy, lacks = await copy_of(MessageStore("backend"))
    assert (copy.name, has_method(copy, "add"), await copy.search("tea")) == ("backend", False, [])
    assert lacks.startswith("it takes messages")
    await copy.add_messages(["m"], AddMessagesContext([4]))
    assert copy.batches == [(["m"], [4])]


async def test_the_faults_of_a_store_come_with_its_copy():
    store = FaultyStore(TestMemoryStore(name="notes", persist=False), add=["fail"])
    copy, _ = await copy_of(store)
    with pytest.raises(ConnectionError):
        await copy.add("tea")
    await copy.add("tea")
    assert (await copy.count(), await store.count(), store.calls) == (1, 0, [])
