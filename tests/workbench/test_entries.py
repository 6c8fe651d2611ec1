"""The stored entries: paged, filtered, sorted and selected, whatever the store can do."""

from __future__ import annotations

import asyncio

import pytest

from memwb.errors import ConfigError
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.entries import PAGE_SIZE, EntriesState
from tests.workbench.fakes import ListStore, SearchStore

MANY = [f"entry {number:02}" + (" tea" if number % 2 else "") for number in range(60)]


async def opened(*stores, **chosen):
    entries = EntriesState(stores, {})
    entries.choose(**chosen)
    await entries.load()
    return entries


def shown(entries):
    return [record.content for record in entries.records]


async def test_the_first_page_shows_the_first_entries_in_the_stores_own_order():
    entries = await opened(ListStore(*MANY))

    assert (shown(entries), entries.total, entries.page, entries.pages) == (MANY[:PAGE_SIZE], 60, 0, 3)


async def test_the_last_page_shows_the_rest_and_a_page_beyond_it_is_the_last_one():
    for page in (2, 3, 10**12):
        entries = await opened(ListStore(*MANY), page=page)
        assert (shown(entries), entries.page) == (MANY[50:], 2)


async def test_a_filter_holds_in_any_letter_case_and_goes_back_to_the_first_page():
    entries = await opened(ListStore(*MANY), page=2)

    entries.choose(where="TEA")
    await entries.load()
    assert (shown(entries), entries.total, entries.page, entries.pages) == (MANY[1::2][:PAGE_SIZE], 30, 0, 2)


async def test_a_filter_that_leaves_nothing_is_an_empty_page():
    entries = await opened(ListStore(*MANY), where="coffee")

    assert (shown(entries), entries.total, entries.pages, entries.problem) == ([], 0, 1, "")


@pytest.mark.parametrize("sort", ["created_at", "-created_at", "content", "-content", "id", "-id"])
async def test_entries_can_be_sorted_both_ways(sort):
    store = TestMemoryStore.from_records(
        [{"content": content, "id": id} for content, id in (("b", "3"), ("c", "1"), ("a", "2"))], name="notes"
    )
    ascending = {"created_at": ["b", "c", "a"], "content": ["a", "b", "c"], "id": ["c", "a", "b"]}[sort.strip("-")]

    entries = await opened(store, sort=sort)
    assert shown(entries) == (ascending[::-1] if sort.startswith("-") else ascending)

    entries.choose(sort=None)
    await entries.load()
    assert shown(entries) == ["b", "c", "a"]


async def test_another_store_is_shown_from_its_first_page_and_with_nothing_selected():
    entries = await opened(ListStore(*MANY, name="many"), ListStore("one", name="few"), page=1)
    entries.toggle("e1")

    entries.choose(store="few")
    await entries.load()
    assert (shown(entries), entries.page, entries.selected_ids) == (["one"], 0, [])
    assert entries.stores == ("many", "few")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sorting": "id"}, "unknown setting 'sorting'; it takes store, where, sort, page"),
        ({"sort": "contents"}, r"sort is 'contents'; it takes created_at, .* Did you mean 'content'\?"),
        ({"store": "man"}, r"store is 'man'; it takes many. Did you mean 'many'\?"),
        ({"store": None}, "store is None; it takes many"),
        ({"page": -1}, "page is -1; it must be a whole number, at least 0"),
        ({"page": "1"}, "page is '1'; it must be a whole number"),
        ({"page": True}, "page is True; it must be a whole number"),
        ({"where": None}, "where is None; it must be a text"),
    ],
    ids=range(8),
)
async def test_what_cannot_be_chosen_is_refused_and_nothing_changes(change, message):
    entries = await opened(ListStore(*MANY, name="many"), page=1, where="entry", sort="-id")
    before = (entries.store, entries.page, entries.where, entries.sort)

    with pytest.raises(ConfigError, match=message):
        entries.choose(**{"where": "tea", "page": 0, "sort": "id"} | change)
    assert (entries.store, entries.page, entries.where, entries.sort) == before


async def test_entries_are_selected_one_by_one_and_read_as_a_frame_in_that_order():
    entries = await opened(ListStore(*MANY))
    assert list(entries.selected["content"]) == []

    for id in ("e3", "e1", "e55", "e3"):
        entries.toggle(id)
    assert entries.selected_ids == ["e1", "e55"]
    assert list(entries.selected["content"]) == ["entry 00", "entry 54"]


async def test_the_frame_holds_all_that_the_filter_leaves_in_the_order_shown():
    entries = await opened(ListStore(*MANY), where="tea", sort="-content", page=1)

    assert list(entries.frame["content"]) == MANY[1::2][::-1]
    assert list((await opened(ListStore())).frame["content"]) == []


async def test_frames_come_from_a_file_and_from_a_store_that_has_to_wait_as_well(tmp_path):
    class Waiting(ListStore):
        async def page(self, *args, **options):
            await asyncio.sleep(0.01)
            return await super().page(*args, **options)

        async def get(self, id):
            await asyncio.sleep(0.01)
            return await super().get(id)

    file = TestMemoryStore(name="notes", path=str(tmp_path / "notes.json"))
    await file.add("I like jazz.")
    entries = await opened(Waiting(*MANY), file)
    entries.toggle("e2")

    assert list(entries.frame["content"]) == MANY
    assert list(entries.selected["content"]) == ["entry 01 tea"]
    entries.choose(store="notes")
    assert list(entries.frame["content"]) == ["I like jazz."]


async def test_an_entry_that_is_gone_is_no_longer_selected():
    store = ListStore(*MANY)
    entries = await opened(store)
    entries.toggle("e60")

    store.contents.pop()
    assert list(entries.selected["content"]) == []


async def test_a_store_that_cannot_list_says_so():
    entries = await opened(SearchStore("I like jazz."))

    assert (entries.total, entries.records) == (None, [])
    assert entries.problem == "'profile' cannot list its entries: it is seen through its search, in the hits."
    with pytest.raises(ConfigError, match=r"'profile' cannot list its entries; wb.hits has what a search returns"):
        _ = entries.frame
    assert list(entries.selected["content"]) == []


async def test_a_store_that_cannot_list_is_listed_through_its_stand_in():
    entries = EntriesState([SearchStore("I like jazz.")], {"profile": ListStore("I like jazz.")})
    await entries.load()

    assert (shown(entries), entries.problem) == (["I like jazz."], "")


@pytest.mark.parametrize("damage", ["[{]", '{"a": 1}', '[{"content": "no id"}]', "\xff"])
async def test_a_damaged_file_is_shown_with_its_path_and_place(damage, tmp_path):
    path = tmp_path / "notes.json"
    path.write_text(damage, "latin-1")

    state = WorkbenchState(path, "What do I like?")
    await state.settled()
    assert state.entries.records == []
    assert state.entries.problem.startswith(f"TestMemoryStore: {path}")
    assert state.trace.skipped_at == "search"
    assert str(path) in state.trace.reason


async def test_a_failure_is_forgotten_when_the_store_can_be_read_again(tmp_path):
    path = tmp_path / "notes.json"
    path.write_text("[{]")
    entries = await opened(TestMemoryStore(name="notes", path=str(path)))
    assert entries.problem

    path.write_text("[]")
    await entries.load()
    assert (entries.problem, entries.total) == ("", 0)


async def test_a_load_that_is_overtaken_by_another_choice_does_not_show():
    class Slow(ListStore):
        async def page(self, offset, limit, sort=None, where=""):
            await asyncio.sleep(0.1 if where == "" else 0)
            return await super().page(offset, limit, sort=sort, where=where)

    entries = EntriesState([Slow(*MANY)], {})
    slow = asyncio.create_task(entries.load())
    await asyncio.sleep(0.01)
    entries.choose(where="entry 01")
    await entries.load()
    await slow

    assert (shown(entries), entries.total) == (["entry 01 tea"], 1)


async def test_entries_written_meanwhile_show_after_a_refresh():
    store = ListStore("first")
    state = WorkbenchState(store, "anything")
    await state.settled()

    store.contents.append("second")
    await state.set(max_entries=3)
    assert shown(state.entries) == ["first", "second"]
