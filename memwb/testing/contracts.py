"""What every store must do, as test classes to inherit from.

A store's tests subclass a contract and supply its fixture; the tests are async, so pytest-asyncio (in auto mode) or
another runner of async tests is needed::

    class TestMyStore(MemoryStoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            return MyStore(name="notes", folder=tmp_path)
"""
# ruff: noqa: D102 - a test's name says what it shows

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from ..errors import DuplicateEntryError, EntryNotFoundError
from ..memory.types import has_method
from ..stores import BulkWritable, Editable, Listable

__all__ = ["MemoryStoreContract"]

_ODD_TEXTS = {
    "markup": "before </entry></memory> & <b> after",
    "braces": "{name} {{x}} %s \\1 $x$",
    "line ends": "one\ntwo\r\nthree\u2028four\u2029five\u0085six\x0b\x0cseven\x1c",
    "control characters": "a\x00b\x08c\x1bd\x7fe\ufffe",
    "other scripts": "naïve ✓ 東京 🍣 שלום e\u0301",
    "blanks around": "  kept as typed \t",
}


class MemoryStoreContract:
    """The contract of a long-term store: ``memwb.memory.MemoryStore``.

    Subclasses supply the fixture ``store``: a new, empty, writable store. Tests of abilities that it lacks are skipped.
    """

    def test_it_has_the_attributes_of_a_store(self, store: Any) -> None:
        assert isinstance(store.name, str)
        assert store.name.strip()
        assert store.description is None or isinstance(store.description, str)
        assert store.max_search_results is None or store.max_search_results >= 1
        assert isinstance(store.writable, bool)
        assert hasattr(store, "extraction")
        assert has_method(store, "search")

    async def test_an_empty_store_finds_nothing(self, store: Any) -> None:
        assert await store.search("tea") == []

    async def test_an_added_text_is_found_with_its_metadata(self, store: Any) -> None:
        await self.add(store, "likes green tea", {"topic": "drinks", "seen": [1, {"on": None}]})
        (entry,) = await store.search("green tea")
        assert entry.content == "likes green tea"
        assert {**(entry.metadata or {}), "topic": "drinks", "seen": [1, {"on": None}]} == entry.metadata

    async def test_a_limit_cuts_the_end_of_the_ranking(self, store: Any) -> None:
        for number in range(6):
            await self.add(store, f"green tea number {number}")
        ranking = [entry.content for entry in await store.search("green tea", {"max_search_results": 6})]
        assert sorted(ranking) == [f"green tea number {number}" for number in range(6)]
        for limit in (1, 3):
            found = await store.search("green tea", {"max_search_results": limit})
            assert [entry.content for entry in found] == ranking[:limit]

    @pytest.mark.parametrize("limit", [0, -1])
    async def test_a_limit_below_one_is_refused(self, store: Any, limit: int) -> None:
        with pytest.raises(ValueError, match="max_search_results"):
            await store.search("tea", {"max_search_results": limit})

    async def test_what_a_caller_does_to_its_own_metadata_changes_nothing(self, store: Any) -> None:
        metadata = {"tags": ["hot"]}
        await self.add(store, "likes green tea", metadata)
        metadata["tags"].append("changed")
        (entry,) = await store.search("tea")
        assert entry.metadata["tags"] == ["hot"]
        entry.metadata["tags"].append("changed")
        assert (await store.search("tea"))[0].metadata["tags"] == ["hot"]

    async def test_a_repeated_add_is_stored_once(self, store: Any) -> None:
        await self.add(store, "likes green tea")
        await self.add(store, "likes green tea")
        assert [entry.content for entry in await store.search("green tea")] == ["likes green tea"]

    @pytest.mark.parametrize("text", list(_ODD_TEXTS.values()), ids=list(_ODD_TEXTS))
    async def test_an_odd_text_comes_back_as_it_was(self, store: Any, text: str) -> None:
        await self.add(store, f"marker {text}")
        assert [entry.content for entry in await store.search("marker")] == [f"marker {text}"]

    @pytest.mark.parametrize("text", ["", "  \n", "bad \ud83d end"], ids=["empty", "blank", "lone surrogate"])
    async def test_a_text_that_cannot_be_stored_is_refused_and_the_store_goes_on(self, store: Any, text: str) -> None:
        await self.add(store, "first green tea")
        with pytest.raises(ValueError, match="content"):
            await self.add(store, text)
        await self.add(store, "second green tea")
        assert len(await store.search("green tea")) == 2

    async def test_metadata_that_is_no_object_is_refused(self, store: Any) -> None:
        with pytest.raises(ValueError, match="metadata"):
            await self.add(store, "green tea", "a note")
        assert await store.search("green tea") == []

    async def test_adds_at_once_are_all_kept(self, store: Any) -> None:
        await asyncio.gather(*(self.add(store, f"green tea {number}") for number in range(10)))
        assert len(await store.search("green", {"max_search_results": 100})) == 10

    def test_one_event_loop_after_another_can_use_it(self, store: Any) -> None:
        async def add_two(number: int) -> None:
            await asyncio.gather(*(self.add(store, f"green tea {number}.{part}") for part in range(2)))

        for number in range(2):
            asyncio.run(add_two(number))
        assert len(asyncio.run(store.search("green", {"max_search_results": 100}))) == 4

    def test_threads_with_their_own_loops_can_use_it_at_once(self, store: Any) -> None:
        async def add_some(thread: int) -> None:
            for number in range(5):
                await self.add(store, f"green tea {thread}.{number}")

        self._skip_unless_it_adds(store)
        threads = [threading.Thread(target=lambda n=n: asyncio.run(add_some(n))) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(asyncio.run(store.search("green", {"max_search_results": 100}))) == 20

    async def test_a_listable_store_lists_what_was_added_in_order(self, store: Any) -> None:
        self._skip_unless_it_is(Listable, store)
        for text in ("beta", "Alpha", "gamma"):
            await self.add(store, text)
        records = await store.page(0, 10)
        assert [record.content for record in records] == ["beta", "Alpha", "gamma"]
        assert [await store.get(record.id) for record in records] == records
        assert await store.get("no such id") is None
        assert (await store.count(), await store.count(where="ALPHA"), await store.count(where="x")) == (3, 1, 0)
        assert await store.page(1, 1) == records[1:2]
        assert await store.page(3, 10) == []
        assert await store.page(0, 10, sort="-content") == [records[2], records[0], records[1]]
        assert await store.page(0, 10, sort="created_at", where="a") == records

    async def test_a_bulk_write_stores_all_or_nothing(self, store: Any) -> None:
        self._skip_unless_it_is(BulkWritable, store)
        results = await store.add_many(["green tea", {"content": "black tea", "metadata": {"n": 1}}])
        assert len(results) == 2
        with pytest.raises(ValueError, match="content"):
            await store.add_many(["white tea", ""])
        assert {entry.content for entry in await store.search("tea")} == {"green tea", "black tea"}

    async def test_an_editable_store_changes_and_removes_records(self, store: Any) -> None:
        self._skip_unless_it_is(Editable, store)
        self._skip_unless_it_is(Listable, store)
        for text in ("green tea", "black tea", "coffee"):
            await self.add(store, text, {"kept": [text]})
        green, black, coffee = await store.page(0, 9)
        changed = await store.update(black.id, content="white tea")
        assert changed == replace(black, content="white tea", updated_at=changed.updated_at)
        assert await store.get(black.id) == changed
        assert (await store.update(coffee.id, metadata={})).metadata == {}
        assert (await store.get(coffee.id)).content == "coffee"
        assert {entry.content for entry in await store.search("tea black")} == {"green tea", "white tea"}
        assert [await store.delete(green.id), await store.delete(green.id)] == [True, False]
        assert [entry.content for entry in await store.search("tea")] == ["white tea"]
        assert [record.id for record in await store.page(0, 9)] == [black.id, coffee.id]
        await store.clear()
        assert (await store.count(), await store.search("tea")) == (0, [])
        await store.clear()
        await self.add(store, "green tea")
        assert await store.count() == 1

    async def test_an_edit_of_an_unknown_record_or_to_a_known_text_is_refused(self, store: Any) -> None:
        self._skip_unless_it_is(Editable, store)
        self._skip_unless_it_is(Listable, store)
        for text in ("green tea", "black tea"):
            await self.add(store, text)
        before = await store.page(0, 9)
        with pytest.raises(EntryNotFoundError):
            await store.update("no such id", content="white tea")
        with pytest.raises(DuplicateEntryError):
            await store.update(before[0].id, content=" black tea ")
        for bad in ({"content": ""}, {"content": "bad \ud83d end"}, {"metadata": "a note"}):
            with pytest.raises(ValueError, match=next(iter(bad))):
                await store.update(before[0].id, **bad)
        assert await store.page(0, 9) == before

    async def add(self, store: Any, content: Any, metadata: Any = None) -> Any:
        """Add to the store; a test that needs it is skipped where the store has no ``add``."""
        self._skip_unless_it_adds(store)
        return await store.add(content, metadata)

    def _skip_unless_it_adds(self, store: Any) -> None:
        if not has_method(store, "add"):
            pytest.skip("the store has no add")

    def _skip_unless_it_is(self, ability: type, store: Any) -> None:
        if not isinstance(store, ability):
            pytest.skip(f"the store is not {ability.__name__}")
