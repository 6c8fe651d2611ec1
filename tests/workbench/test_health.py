"""A check of the stores names each fault with its place and what to do, and salvage saves what is readable."""

from __future__ import annotations

import json

import pytest

from memwb.errors import ConfigError
from memwb.stores import TestMemoryStore
from memwb.workbench.entries import EntriesState

from .fakes import SearchStore


def record(id, content, **more):
    return {"id": id, "content": content, "createdAt": "2026-01-01T00:00:00.000Z", **more}


def store_of(path, data, name="notes"):
    path.write_text(data if isinstance(data, str) else json.dumps(data, indent=2))
    return TestMemoryStore(name=name, path=path)


async def test_a_sound_store_has_no_findings(tmp_path):
    store = store_of(tmp_path / "a.json", [record("1", "tea"), record("2", "milk")])
    health = await EntriesState([store, SearchStore("x", name="far")], {}).health()
    assert (len(health), health.damaged) == (0, ())
    assert repr(health) == (
        "Nothing found (notes: 2 entries; far: it cannot list its entries, so they were not looked through)"
    )


@pytest.mark.filterwarnings("ignore:TestMemoryStore")
async def test_ids_texts_and_times_that_are_doubtful_are_named_with_their_place(tmp_path):
    records = [record("1", "tea"), record("1", "milk"), record("2", "TEA "), record("3", "rice", createdAt="some day")]
    health = await EntriesState([store_of(tmp_path / "a.json", records)], {}).health()
    assert [(finding.place, finding.fault) for finding in health.findings] == [
        ("a.json, record 2", "the id '1' is that of record 1 too"),
        ("entry 2", "it says the same as 1"),
        ("entry 3", "its time cannot be read as one"),
    ]
    assert all(finding.advice and not finding.damaged for finding in health.findings)


async def test_stores_of_one_file_and_names_of_other_case_alone_are_named(tmp_path):
    first = store_of(tmp_path / "a.json", [])
    (tmp_path / "x").mkdir()
    second = TestMemoryStore(name="Notes", path=tmp_path / "x" / ".." / "a.json")
    health = await EntriesState([first, second], {}).health()
    assert [finding.fault for finding in health.findings] == [
        "'notes' is the same but for letter case",
        "it is the file of 'notes' too, so each entry is there twice",
    ]


async def test_damage_is_told_place_by_place_and_salvage_saves_the_rest_and_keeps_a_copy(tmp_path):
    text = json.dumps([record("1", "tea"), {"id": "2", "content": 7}, record("3", "milk")], indent=2)
    store = store_of(tmp_path / "a.json", text[:-4] + ",")
    entries = EntriesState([store], {})

    health = await entries.health()
    assert health.damaged == ("notes",)
    assert any("content is missing or no text" in finding.fault for finding in health.findings)
    assert "await wb.entries.salvage()" in repr(health)
    assert "<table>" in health._repr_html_()

    before = store.path.read_bytes()
    saved = await entries.salvage()
    assert (saved.path.name, saved.copy.read_bytes(), store.path.read_bytes()) == ("a.rescued.json", before, before)
    assert "1" in [each.id for each in await TestMemoryStore(name="b", path=saved.path).page(0, 9)]
    with pytest.raises(FileExistsError):
        await entries.salvage()


async def test_a_store_without_a_file_cannot_be_salvaged():
    entries = EntriesState([TestMemoryStore(name="notes", persist=False)], {})
    with pytest.raises(ConfigError, match="no file"):
        await entries.salvage()
    with pytest.raises(ConfigError, match="say which one"):
        await entries.salvage("other")


async def test_hostile_entries_are_text_in_the_findings(tmp_path):
    store = store_of(tmp_path / "a.json", [record("<img src=x>", "a"), record("<b>", "A")], name="<script>")
    html = (await EntriesState([store], {}).health())._repr_html_()
    assert ("<img" in html, "<b>" in html, "<script" in html, "&lt;b&gt;" in html) == (False, False, False, True)
