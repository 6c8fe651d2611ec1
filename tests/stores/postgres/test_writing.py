"""Writes: what is held once, whose it is, what an exchange leaves alone, and any writes beside a TestMemoryStore."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwb.catalog import Record
from memwb.errors import ConfigError, ConflictError, DuplicateEntryError, EntryNotFoundError
from memwb.ranking import HashingEmbedder, tokenize_any_script
from memwb.stores import PostgresMemoryStore, TestMemoryAddResult, TestMemoryStore, copy
from memwb.testing import FrozenClock, SequentialIds
from tests.postgres import PostgresServer

from .conftest import Opens

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def contents(store: Any) -> list[str]:
    return [record.content for record in await store.page(0, 999)]


async def test_a_text_is_held_once_for_each_owner(opens: Opens) -> None:
    ann, bob, all_of_them = opens(owner="ann"), opens(owner="bob"), opens()
    first = await ann.add("likes tea")
    assert await ann.add(" likes tea\n") == TestMemoryAddResult(first.id, deduplicated=True)
    assert (await bob.add("likes tea")).deduplicated is False
    assert (await all_of_them.add("likes tea")).deduplicated is False
    assert (await all_of_them.add("likes tea", owner="bob")).deduplicated is True
    assert [record.owner for record in await all_of_them.page(0, 9)] == ["ann", "bob", None]
    assert [record.owner for record in await bob.page(0, 9)] == ["bob"]
    assert (await ann.count(), await ann.get((await bob.page(0, 1))[0].id)) == (1, None)


async def test_a_store_of_one_owner_leaves_the_others_alone(opens: Opens) -> None:
    ann, bob = opens(owner="ann"), opens(owner="bob")
    mine = await ann.add("tea")
    with pytest.raises(EntryNotFoundError):
        await bob.update(mine.id, content="coffee")
    assert await bob.delete(mine.id) is False
    await bob.clear()
    assert await bob.search("tea") == await bob.search("tea", {"owner": "ann"}) == []
    for call in (bob.add("tea", owner="ann"), bob.add_many([Record("r", "water", owner="ann")])):
        with pytest.raises(ConfigError, match="holds the memories of 'bob' alone"):
            await call
    (record,) = await ann.page(0, 9)
    with pytest.raises(ConflictError):
        await bob.exchange([record], [])
    assert await contents(ann) == ["tea"]


async def test_items_keep_what_they_bring_along(opens: Opens) -> None:
    store = opens()
    record = Record("r1", "tea", NOON, owner="ann", role="user", metadata={"n": 1})
    await store.add_many(
        [record, {"content": "coffee", "id": "r2", "createdAt": "2026-01-02", "owner": "bob"}, "water"]
    )
    first, second, third = await store.page(0, 9)
    assert first == replace(record, store=store.name)
    assert (second.id, second.owner, second.created_at) == ("r2", "bob", datetime(2026, 1, 2, tzinfo=UTC))
    assert (third.owner, third.role, third.metadata, third.updated_at) == (None, None, None, None)


async def test_a_bulk_write_tells_what_was_held(opens: Opens) -> None:
    store = opens(new_id=SequentialIds())
    assert await store.add_many(["a", "b", " a"]) == [
        TestMemoryAddResult("id-1"),
        TestMemoryAddResult("id-2"),
        TestMemoryAddResult("id-1", deduplicated=True),
    ]
    again = opens(new_id=SequentialIds())  # a counter that begins anew
    assert await again.add_many(["c", "b"]) == [TestMemoryAddResult("id-3"), TestMemoryAddResult("id-2", True)]
    for items in ([{"content": "d", "id": "id-1"}], [{"content": "d", "id": "x"}, {"content": "e", "id": "x"}]):
        with pytest.raises(DuplicateEntryError):
            await store.add_many(["new", *items])
    with pytest.raises(ConfigError, match=r"^PostgresMemoryStore: item 2: content must not be empty"):
        await store.add_many(["new", " "])
    with pytest.raises(ConfigError, match=r"id 'x+'… has 1,001 bytes"):
        await store.add_many([{"content": "new", "id": "x" * 1001}])
    assert await contents(store) == ["a", "b", "c"]
    assert await store.add_many([]) == []


async def test_writers_of_the_same_texts_at_once_double_nothing(opens: Opens) -> None:
    stores = [opens(connections=2) for _ in range(4)]
    await stores[0].initialize()
    texts = [f"tea {number}" for number in range(60)]
    halves = [texts[start:] + texts[:start] for start in (0, 15, 30, 45)]
    results = await asyncio.gather(*(store.add_many(half) for store, half in zip(stores, halves, strict=True)))
    assert sorted(await contents(stores[0])) == sorted(texts)
    assert sum(not result.deduplicated for one in results for result in one) == 60
    await asyncio.gather(*(store.add(f"coffee {number}") for store in stores for number in range(10)))
    assert await stores[0].count(where="coffee") == 10


async def test_an_update_that_changes_nothing_writes_nothing(opens: Opens) -> None:
    store = opens(clock=FrozenClock("2026-01-01T12:00:00Z"))
    added = await store.add("tea", {"n": 1})
    assert (await store.update(added.id, content="tea", metadata={"n": 1})).updated_at is None
    assert (await store.update(added.id, metadata={"n": 1.0})).updated_at == NOON
    assert repr((await store.get(added.id)).metadata) == "{'n': 1.0}"
    with pytest.raises(EntryNotFoundError, match=r"No entry '\\ud800' in PostgresMemoryStore: "):
        await store.update("\ud800", content="x")


async def test_an_exchange_is_made_whole_and_taken_back(opens: Opens) -> None:
    store = opens(embedder=HashingEmbedder(32), search_by="meaning")
    await store.add_many([{"content": text, "metadata": {"t": text}, "owner": "ann"} for text in ("a", "b", "c")])
    before = await store.page(0, 9)
    a, b, c = before
    swapped = [replace(a, content="b"), replace(b, content="a", metadata=None)]
    done = await store.exchange(before, [*swapped, Record("new", "d")])
    assert done.before == tuple(before)
    assert await store.page(0, 9) == list(done.after)
    assert [(r.id, r.content, r.metadata, r.owner, r.created_at) for r in done.after] == [
        (a.id, "b", {"t": "a"}, "ann", a.created_at),
        (b.id, "a", None, "ann", b.created_at),
        ("new", "d", None, None, done.after[2].created_at),
    ]
    assert [entry.id for entry in await store.search("d")] == ["new"]
    await store.add("e")
    await store.take_back(done)
    assert (await store.page(0, 9))[:3] == before
    assert await contents(store) == ["a", "b", "c", "e"]
    assert [entry.id for entry in await store.search("c")] == [c.id]


async def test_an_exchange_of_what_somebody_changed_writes_nothing(opens: Opens) -> None:
    store = opens()
    await store.add_many(["a", "b"])
    a, b = await store.page(0, 9)
    done = await store.exchange([a], [replace(a, content="A")])
    with pytest.raises(ConflictError, match="now says 'A'"):
        await store.exchange([a, b], [])
    with pytest.raises(DuplicateEntryError):
        await store.exchange([b], [replace(b, content=" A")])
    with pytest.raises(DuplicateEntryError):
        await store.exchange([], [Record("1", "same"), Record("2", "same")])
    with pytest.raises(DuplicateEntryError):
        await store.exchange([], [Record(a.id, "another")])
    await store.exchange([b], [replace(b, content="B")], only_check=True)
    assert await contents(store) == ["A", "b"]
    await store.add("a")
    with pytest.raises(DuplicateEntryError, match="delete that entry first"):
        await store.take_back(done)
    await store.update(a.id, content="x")
    with pytest.raises(ConflictError):
        await store.take_back(done)
    assert await contents(store) == ["x", "b", "a"]


async def test_a_store_that_is_not_writable_refuses_every_write(opens: Opens) -> None:
    await opens().add("tea")
    store = opens(writable=False)
    assert store.fixed == "it was built with writable=False"
    calls = (
        store.add("x"),
        store.add_many(["x"]),
        store.update("x", "x"),
        store.delete("x"),
        store.clear(),
        store.exchange([], []),
        store.embed_missing(),
    )
    for call in calls:
        with pytest.raises(ConfigError, match="is not writable"):
            await call
    assert await contents(store) == ["tea"]


async def test_pages_are_sorted_as_asked_and_equal_ones_stay_in_order(opens: Opens) -> None:
    store, known = opens(), TestMemoryStore(name="k", persist=False)
    times = itertools.cycle(["2026-01-02", "2026-01-01", "2026-01-02"])
    items: list[Any] = [
        {"content": f"{text} é\0\1", "id": f"i{n % 7}-{n}", "createdAt": next(times)}
        for n, text in enumerate(["b", "A", "\1", "\0", "\2", "Z", "ß", "SS", "東", "😀", "\uffff"])
    ]
    for each in (store, known):
        await each.add_many(items)
    for sort, where in itertools.product(
        [None, *(f"{way}{key}" for way in ("", "-") for key in ("created_at", "content", "id"))],
        ["", "é", "É", "ss", "\0", "zz", "%", "_"],
    ):
        expected = [record.id for record in await known.page(1, 5, sort, where)]
        assert [record.id for record in await store.page(1, 5, sort, where)] == expected
        assert await store.count(where) == await known.count(where)
    for bad in ({"offset": -1, "limit": 1}, {"offset": 0, "limit": 0}, {"offset": 0, "limit": 1, "sort": "size"}):
        with pytest.raises(ConfigError, match=r"^PostgresMemoryStore: "):
            await store.page(**bad)


async def test_memories_are_copied_there_and_back(opens: Opens) -> None:
    notes = TestMemoryStore.from_records([f"tea {number}" for number in range(50)], name="notes")
    store, back = opens(), TestMemoryStore(name="notes", persist=False)
    assert repr(await copy(notes, store, dry_run=True)) == "Transfer(50 new; nothing was written)"
    assert await store.count() == 0
    assert repr(await copy(notes, store)) == "Transfer(50 new)"
    assert repr(await copy(notes, store)) == "Transfer(0 new, 50 duplicates)"
    await copy(store, back)
    assert await back.page(0, 99) == await notes.page(0, 99)


texts = st.lists(st.sampled_from(["tea", "green", "The", "乌龙茶", "b\0c", "\1", "naïve"]), min_size=1, max_size=3).map(
    " ".join
)
metadata = st.none() | st.dictionaries(st.sampled_from(["a", "b\0"]), st.integers() | st.lists(st.none()), max_size=2)
places = st.integers(0, 9)
steps = st.lists(
    st.tuples(st.just("add"), texts, metadata)
    | st.tuples(st.just("add_many"), st.lists(texts, max_size=4), metadata)
    | st.tuples(st.just("update"), places, texts | st.none(), metadata)
    | st.tuples(st.just("delete"), places)
    | st.tuples(st.just("exchange"), places, texts)
    | st.tuples(st.just("clear"))
    | st.tuples(st.just("reopen")),
    max_size=12,
)
_tables = itertools.count(1)


@settings(max_examples=25)
@given(steps=steps)
async def test_any_writes_leave_what_the_documented_store_holds(
    postgres: PostgresServer, database: str, steps: list[tuple[Any, ...]]
) -> None:
    config: Any = {"clock": FrozenClock("2030-01-01T00:00:00Z"), "new_id": SequentialIds()}
    table = f"machine {next(_tables)}"
    store = PostgresMemoryStore(database, table, name="notes", **config)
    model = TestMemoryStore(name="notes", persist=False, new_id=SequentialIds(), tokenizer=tokenize_any_script)
    try:
        for kind, *more in steps:
            if kind == "reopen":
                await store.close()
                store = PostgresMemoryStore(database, table, name="notes", **config)
            outcomes = [await _applied(each, kind, more) for each in (store, model)]
            assert outcomes[0] == outcomes[1]
            assert [_told(r) for r in await store.page(0, 99)] == [_told(r) for r in await model.page(0, 99)]
            found = [{entry.content for entry in await each.search("tea 乌龙")} for each in (store, model)]
            assert found[0] == found[1]
    finally:
        await store.close()


def _told(record: Record) -> Any:
    return record.id, record.content, repr(record.metadata)


async def _applied(store: Any, kind: str, more: list[Any]) -> Any:
    """Do the same to a store of either kind, and return what comes out of it."""
    records = await store.page(0, 99)
    chosen = records[more[0] % len(records)] if records and more and isinstance(more[0], int) else None
    try:
        if kind == "add":
            return await store.add(*more)
        if kind == "add_many":
            return await store.add_many([{"content": text, "metadata": more[1]} for text in more[0]])
        if kind == "clear":
            return await store.clear()
        if chosen is None:
            return None
        if kind == "update":
            return _told(await store.update(chosen.id, content=more[1], metadata=more[2]))
        if kind == "delete":
            return await store.delete(chosen.id)
        if kind == "exchange":
            done = await store.exchange([chosen, *records[:1]][:1], [replace(chosen, content=more[1])])
            await store.take_back(done)
            return [_told(record) for record in done.after]
    except DuplicateEntryError as error:
        return type(error), error.id
    return None
