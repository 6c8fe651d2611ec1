"""Which entry a question is about: by an entry, a hit, a record, an id or a text, among stores that share ids."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.catalog import Record
from memwb.memory import Explanation, MemoryEntry, MemoryManager
from memwb.memory.types import identified
from memwb.stores import TestMemoryStore
from tests.memory.stores import BareStore, FailingStore, ListedStore, WordStore, user


async def why(target: Any, words: str, *stores: Any, **settings: Any) -> Explanation:
    return await MemoryManager(list(stores)).why(target, [user(words)], settings or None)


def entry(content: str, store: str | None = None, id: str | None = None) -> MemoryEntry:
    return identified(MemoryEntry(content, store), id)


def record(id: str, content: str, store: str | None = None) -> Record:
    return Record(id=id, content=content, store=store)


class TestTarget:
    @pytest.mark.parametrize(
        "target",
        ["b", "tea in a cup", " tea in a cup\n", "A CUP", entry("tea in a cup", id="b"), entry("tea in a cup")],
        ids=str,
    )
    @pytest.mark.parametrize("words", ["cup", "milk"])
    async def test_an_entry_an_id_or_a_text_finds_it_whether_it_matched_or_not(self, target: Any, words: str) -> None:
        found = await why(target, words, ListedStore("home", "milk", "tea in a cup"))
        assert (found.target, found.store, found.id, found.arrived) == ("tea in a cup", "home", "b", words == "cup")

    async def test_a_hit_of_a_trace_is_a_target_too(self) -> None:
        manager = MemoryManager([ListedStore("home", "tea", "tea and milk")])
        trace = await manager.trace_injection([user("tea")])
        assert [(await manager.why(hit, [user("tea")])).target for hit in trace.hits] == ["tea", "tea and milk"]

    async def test_an_id_beats_a_text_that_holds_it(self) -> None:
        assert (await why("b", "tea", ListedStore("home", "tea b", "tea"))).target == "tea"

    async def test_an_id_that_did_not_match_beats_a_text_that_did(self) -> None:
        assert (await why("b", "b", ListedStore("home", "b", "tea"))).target == "tea"

    async def test_the_very_text_beats_one_that_holds_it(self) -> None:
        found = await why("tea", "tea or milk", ListedStore("home", "tea milk", "tea"))
        assert (found.target, found.rank) == ("tea", 2)

    async def test_so_in_a_store_that_cannot_list(self) -> None:
        assert (await why("tea", "milk", WordStore("home", "tea and milk", "tea"))).target == "tea"

    async def test_a_store_that_cannot_list_is_searched_for_the_text_itself(self) -> None:
        found = await why("latex mats", "tea", WordStore("home", "tea", "allergic to latex mats"))
        assert (found.target, found.stage, found.arrived) == ("allergic to latex mats", "search", False)
        assert found.sentence == (
            "'allergic to latex mats' did not arrive: it shares no word with the query. Searched: tea; it has: "
            "allergic, latex, mats, …."
        )

    async def test_so_is_one_whose_listing_fails(self) -> None:
        class Unlisted(ListedStore):
            async def page(self, *given: Any, **also: Any) -> Any:
                raise OSError("no listing")

        assert (await why("latex", "tea", Unlisted("home", "tea", "latex mats"))).target == "latex mats"

    @pytest.mark.parametrize("blank", ["", "  "])
    async def test_a_blank_text_is_no_entry(self, blank: str) -> None:
        assert (await why(blank, "tea", ListedStore("home", "tea"))).stage == "store"

    async def test_long_and_odd_texts_are_shortened_in_the_sentence(self) -> None:
        found = await why("x" * 200 + "\x1b", "tea", ListedStore("home", "tea"))
        assert found.sentence.startswith("'" + "x" * 59 + "…' did not arrive")

    async def test_an_entry_whose_text_has_changed_is_known_by_its_id(self) -> None:
        found = await why(record("a", "tea", "home"), "tea", ListedStore("home", "green tea"))
        assert (found.target, found.arrived) == ("green tea", True)

    async def test_an_entry_is_not_taken_for_one_that_holds_its_text(self) -> None:
        found = await why(entry("tea", "home"), "milk", WordStore("home", "tea and milk", "tea"))
        assert (found.target, found.arrived) == ("tea", False)


class TestSharedIds:
    """Ids are unique within a store: each of these holds ``a`` and ``b``."""

    ONE, TWO = ("tea", "milk"), ("jazz", "a cane")

    def stores(self) -> list[ListedStore]:
        return [ListedStore("one", *self.ONE), ListedStore("two", *self.TWO)]

    @pytest.mark.parametrize("words", ["tea", "jazz", "tea jazz", "nothing"])
    @pytest.mark.parametrize(
        "target",
        [entry("jazz", "two", "a"), entry("jazz", "two"), entry("jazz", id="a"), record("a", "jazz", "two"), "jazz"],
        ids=str,
    )
    async def test_an_entry_is_found_in_its_own_store(self, target: Any, words: str) -> None:
        found = await why(target, words, *self.stores())
        assert (found.target, found.store, found.id, found.arrived) == ("jazz", "two", "a", "jazz" in words)

    async def test_every_hit_and_entry_of_a_trace_is_told_as_itself(self) -> None:
        manager = MemoryManager(self.stores(), injection={"max_entries": 3})
        messages = [user("tea milk jazz cane")]
        trace = await manager.trace_injection(messages)
        for hit in trace.hits:
            for target in (hit, hit.entry):
                found = await manager.why(target, messages)
                assert (found.store, found.id, found.target) == (hit.store, hit.id, hit.content)
                assert (found.arrived, found.rank) == (hit.kept, hit.rank)

    async def test_so_is_what_a_store_returns_and_lists_by_itself(self) -> None:
        records = [[record("1", "tea"), record("2", "milk")], [record("1", "jazz"), record("2", "milk")]]
        one, two = (TestMemoryStore.from_records(each, name=f"store {at}") for at, each in enumerate(records))
        (searched,) = await two.search("jazz")
        assert (await why(searched, "tea", one, two)).store == "store 1"
        listed = await two.page(0, 9)
        found = [await why(each, "tea milk", one, two) for each in listed]
        assert [(each.store, each.id, each.arrived) for each in found] == [
            ("store 1", "1", False),
            ("store 1", "2", True),
        ]

    async def test_a_mere_id_is_that_of_the_first_store(self) -> None:
        assert (await why("a", "nothing", *self.stores())).store == "one"

    async def test_a_suggestion_is_tried_for_the_store_that_is_meant(self) -> None:
        stores = [ListedStore("one", "tea", "tea too"), ListedStore("two", "tea")]
        found = await why(entry("tea", "two", "a"), "tea", *stores, max_entries=2)
        assert (found.store, found.arrived, found.rank) == ("two", False, 1)
        settings = [(each.settings, each.rank) for each in found.suggestions if "messages" not in each.settings]
        assert settings == [({"stores": ["two", "one"]}, 1), ({"stores": ["two"]}, 1), ({"max_entries": 3}, 3)]

    async def test_the_same_text_with_another_id_is_another_entry(self) -> None:
        store = ListedStore("home", "tea", "tea")
        second = await why(record("b", "tea", "home"), "tea", store, max_entries=1)
        assert (second.id, second.rank, second.arrived) == ("b", 2, False)


class TestForeignStore:
    """The entry names a store that is not among those searched."""

    async def test_the_same_text_is_explained_where_it_is(self) -> None:
        found = await why(entry("jazz", "old name", "x"), "jazz", ListedStore("home", "jazz"))
        assert (found.target, found.store, found.id, found.arrived) == ("jazz", "home", "a", True)

    async def test_the_same_id_means_nothing(self) -> None:
        found = await why(entry("jazz", "other", "a"), "tea", ListedStore("home", "tea"))
        assert (found.target, found.store, found.arrived, found.stage) == ("jazz", None, False, "store")


class TestStoreThatCannotBeLookedInto:
    async def test_an_entry_is_taken_to_be_where_it_says(self) -> None:
        class Deaf(BareStore):
            async def search(self, query: str, options: Any = None) -> Any:
                return []

        found = await why(entry("jazz", "vectors"), "tea", ListedStore("home", "tea"), Deaf("vectors"))
        assert (found.store, found.stage) == ("vectors", "search")
        assert found.sentence == "'jazz' did not arrive: 'vectors' does not return it for this query."

    async def test_its_failure_is_the_reason(self) -> None:
        found = await why(entry("tea", "cloud"), "tea", ListedStore("home", "tea"), FailingStore("cloud"))
        assert (found.store, found.arrived) == ("cloud", False)
        assert found.sentence == "'tea' did not arrive: store 'cloud' raised ConnectionError('no route')."

    async def test_words_that_are_not_in_the_query_are_told_with_the_store(self) -> None:
        found = await why(entry("jazz", "words"), "tea", ListedStore("home", "tea"), WordStore("words", "jazz"))
        assert found.sentence == (
            "'jazz' did not arrive: it is in 'words', but shares no word with the query. Searched: tea; it has: jazz."
        )


_words = st.lists(st.sampled_from(["tea", "milk", "the", "cane"]), min_size=1, max_size=3).map(" ".join)
_contents = st.lists(_words, min_size=1, max_size=4)


@given(_contents, _contents, _words, st.integers(1, 4), st.data())
async def test_whatever_the_stores_share_an_entry_is_told_as_itself(
    one: list[str], two: list[str], query: str, limit: int, data: Any
) -> None:
    manager = MemoryManager([ListedStore("one", *one), ListedStore("two", *two)], injection={"max_entries": limit})
    name, contents = data.draw(st.sampled_from([("one", one), ("two", two)]))
    at = data.draw(st.integers(0, len(contents) - 1))
    id = chr(ord("a") + at)
    target = data.draw(st.sampled_from([entry(contents[at], name, id), record(id, contents[at], name)]))
    trace = await manager.trace_injection([user(query)])
    found = await manager.why(target, [user(query)])
    assert (found.store, found.id, found.target) == (name, id, contents[at])
    assert found.arrived == any((hit.store, hit.id) == (name, id) for hit in trace.hits if hit.kept)
