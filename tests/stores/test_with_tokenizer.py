"""A view of a store searches the same records by other tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.ranking import tokenize, tokenize_any_script, tokenize_without_stop_words
from memwb.sessions import InMemoryStore, Memory
from memwb.stores import SessionSearch, TestMemoryStore


async def found(store: Any, query: str) -> list[str]:
    return [entry.content for entry in await store.search(query)]


async def sessions() -> Any:
    memory = Memory(InMemoryStore())
    await memory.add({"role": "user", "content": "北京很大"})
    return SessionSearch(memory)


async def texts() -> Any:
    return TestMemoryStore.from_records(["北京很大"], name="home")


@pytest.mark.parametrize("made", [texts, sessions])
async def test_it_finds_what_the_store_itself_does_not(made: Any) -> None:
    store = await made()
    view = store.with_tokenizer(tokenize_any_script)
    assert (await found(store, "北京"), await found(view, "北京")) == ([], ["北京很大"])
    assert (store.tokenizer, view.tokenizer, view.name) == (tokenize, tokenize_any_script, store.name)
    assert store.with_tokenizer(tokenize_any_script) is view


async def test_it_sees_what_is_written_later_and_what_is_written_to_it_is_in_the_store(tmp_path: Path) -> None:
    store = TestMemoryStore(name="home", path=tmp_path / "home.json")
    view = store.with_tokenizer(tokenize_without_stop_words)
    assert await found(view, "the tea") == []
    await store.add("the tea")
    await view.add("the cup")
    assert (await found(view, "the tea"), await found(store, "the tea")) == (["the tea"], ["the tea", "the cup"])


async def test_what_the_store_has_prepared_for_searching_stays() -> None:
    store = TestMemoryStore.from_records([f"tea {at}" for at in range(30)], name="home")
    await store.search("tea")
    prepared = store._records.contents().table.finder
    await store.with_tokenizer(tokenize_any_script).search("tea")
    await store.search("tea")
    assert store._records.contents().table.finder is prepared


@given(st.lists(st.tuples(st.sampled_from(["add", "delete", "update"]), st.sampled_from("abcdef")), max_size=12))
async def test_after_any_edits_it_searches_as_a_store_that_was_built_with_its_tokenizer(steps: Any) -> None:
    store = TestMemoryStore.from_records(["is a", "b"], name="home")
    view = store.with_tokenizer(tokenize_without_stop_words)
    for number, (step, word) in enumerate(steps):
        records = await store.page(0, 100)
        if step == "add":
            await store.add(f"is {word} {number}")
        elif records and step == "delete":
            await store.delete(records[0].id)
        elif records:
            await store.update(records[-1].id, content=f"{word} {number} is new")
        built = TestMemoryStore.from_records(
            await store.page(0, 100), name="home", tokenizer=tokenize_without_stop_words
        )
        for query in ("is", "is a b", "new"):
            assert await found(view, query) == await found(built, query)
