"""Stores in a folder: opened again they find what they found, and the same entries give the same bytes."""

from __future__ import annotations

import pytest

from memwb.errors import ConfigError, DamagedFileError
from memwb.ranking import tokenize_without_stop_words
from memwb.stores import TestMemoryStore
from memwb.stores.saved import open_saved, save_stores
from tests.workbench.fakes import ListStore

RECORDS = [
    {"id": "1", "content": "I use a cane.", "createdAt": "2026-01-01T00:00:00.000Z"},
    {"id": "2", "content": "I like Jazz – 爵士.", "createdAt": "2026-01-02T00:00:00.000Z", "metadata": {"by": ["Ann"]}},
]


def files(folder):
    return {path.name: path.read_bytes() for path in (folder / "stores").iterdir()}


async def test_stores_come_back_as_they_were_in_their_order(tmp_path):
    one = TestMemoryStore.from_records(
        RECORDS, name="home/1", description="at home", max_search_results=1, tokenizer=tokenize_without_stop_words
    )
    two = TestMemoryStore.from_records(RECORDS, name="home_1", provenance=True)
    await save_stores(tmp_path, [one, two])
    opened = open_saved(tmp_path)

    for store, again in zip([one, two], opened, strict=True):
        assert await again.page(0, 9) == await store.page(0, 9)
        assert [hit.metadata for hit in await again.search("do I like jazz")] == [
            hit.metadata for hit in await store.search("do I like jazz")
        ]
        for key in ("name", "description", "max_search_results", "tokenizer", "provenance"):
            assert getattr(again, key) == getattr(store, key)
    assert sorted(files(tmp_path)) == ["_home_1.json", "home_1.json", "stores.json"]
    assert "爵士".encode() in files(tmp_path)["home_1.json"]


async def test_the_same_entries_give_the_same_bytes_and_an_opened_store_changes_no_file(tmp_path):
    store = TestMemoryStore.from_records(RECORDS, name="notes")
    await save_stores(tmp_path / "a", [store])
    [opened] = open_saved(tmp_path / "a")
    await opened.add("something new")
    [again] = open_saved(tmp_path / "a")
    await save_stores(tmp_path / "b", [again])

    assert files(tmp_path / "a") == files(tmp_path / "b")


async def test_texts_are_masked_in_contents_and_metadata(tmp_path):
    store = TestMemoryStore.from_records(RECORDS, name="notes")
    await save_stores(tmp_path, [store], redact=lambda text: "x" * len(text))
    [opened] = open_saved(tmp_path)

    assert [(each.id, each.content, each.metadata) for each in await opened.page(0, 9)] == [
        ("1", "x" * 13, None),
        ("2", "x" * 17, {"by": ["xxx"]}),
    ]


async def test_a_store_that_cannot_be_kept_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"has a tokenizer of its own, 'split', which a file cannot keep"):
        await save_stores(tmp_path, [TestMemoryStore(name="notes", persist=False, tokenizer=str.split)])
    with pytest.raises(ConfigError, match="cannot list its entries"):
        await save_stores(tmp_path, [object()])
    for text in ("half a \ud83d character", "   "):
        with pytest.raises(ConfigError, match=r"Store 'foreign' cannot be saved: .* content"):
            await save_stores(tmp_path, [ListStore("my cane", text, name="foreign")])
    assert list(tmp_path.iterdir()) == []


async def test_a_damaged_file_is_told_with_its_name(tmp_path):
    await save_stores(tmp_path, [TestMemoryStore.from_records(RECORDS, name="notes")])
    (tmp_path / "stores" / "notes.json").write_text('[{"id": 1}]')
    with pytest.raises(DamagedFileError, match=r"notes\.json"):
        open_saved(tmp_path)
    (tmp_path / "stores" / "stores.json").write_text("[{}]")
    with pytest.raises(DamagedFileError, match=r"stores\.json: it does not describe a store"):
        open_saved(tmp_path)


@pytest.mark.parametrize("file", ["../../outside.json", "/etc/hosts", "..", "a/b.json"])
async def test_a_file_outside_of_the_folder_is_not_read(tmp_path, file):
    await save_stores(tmp_path, [TestMemoryStore.from_records(RECORDS, name="home")])
    listed = tmp_path / "stores" / "stores.json"
    listed.write_text(listed.read_text().replace("home.json", file))
    with pytest.raises(DamagedFileError, match="is not in the folder"):
        open_saved(tmp_path)
