"""Adding one entry: what is written, what is refused, what is known already."""

from __future__ import annotations

import datetime
import decimal
import functools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.errors import ConfigError, DuplicateEntryError
from memwb.stores import TestMemoryAddResult, TestMemoryStore
from memwb.testing import FrozenClock, SequentialIds, frozen

from .conftest import StoreFile

ROUND_TRIPS = json.loads((Path(__file__).parents[1] / "cases" / "B56-round-trip.json").read_text(encoding="utf-8"))


async def test_the_file_has_the_documented_form(file: StoreFile) -> None:
    with frozen("2026-01-02T03:04:05.678Z"):
        store = file.store()
        await store.add("naïve ✓ 東京", {"tags": ["a", {}], "n": None})
        await store.add("plain")
        await store.add("empty", {})
    assert file.bytes().decode("utf-8") == (
        "[\n"
        '  {\n    "id": "id-1",\n    "content": "naïve ✓ 東京",\n    "createdAt": "2026-01-02T03:04:05.678Z",\n'
        '    "metadata": {\n      "tags": [\n        "a",\n        {}\n      ],\n      "n": null\n    }\n  },\n'
        '  {\n    "id": "id-2",\n    "content": "plain",\n    "createdAt": "2026-01-02T03:04:05.679Z"\n  },\n'
        '  {\n    "id": "id-3",\n    "content": "empty",\n    "createdAt": "2026-01-02T03:04:05.680Z",\n'
        '    "metadata": {}\n  }\n'
        "]"
    )
    assert file.neighbours() == ["notes.json", "notes.json.lock"]


async def test_clock_and_ids_can_be_given_to_a_store() -> None:
    clock = FrozenClock("2030-01-01T00:00:00Z", step=datetime.timedelta(seconds=1))
    store = TestMemoryStore(name="notes", persist=False, clock=clock, new_id=SequentialIds("memory "))
    assert await store.add("one") == TestMemoryAddResult("memory 1")
    assert await store.add("two") == TestMemoryAddResult("memory 2", deduplicated=False)
    times = [record.created_at for record in await store.page(0, 10)]
    assert times == [datetime.datetime(2030, 1, 1, 0, 0, second, tzinfo=datetime.UTC) for second in (0, 1)]


async def test_an_id_that_is_taken_after_a_restart_of_the_counter_is_passed_over(file: StoreFile) -> None:
    for text in ("one", "two", "three"):
        await file.store(new_id=SequentialIds()).add(text)
    assert [record["id"] for record in file.records()] == ["id-1", "id-2", "id-3"]


async def test_ids_that_never_change_end_in_an_error(file: StoreFile) -> None:
    store = file.store(new_id=lambda: "same")
    await store.add("one")
    with pytest.raises(DuplicateEntryError, match=r"^TestMemoryStore: .*notes\.json already holds .* the id 'same'"):
        await store.add("two")
    assert file.contents() == ["one"]


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"clock": lambda: datetime.datetime(2026, 1, 1)}, "clock"),
        ({"clock": lambda: 12.5}, "clock"),
        ({"new_id": lambda: 7}, "new_id()"),
        ({"new_id": lambda: ""}, "new_id()"),
    ],
)
async def test_a_clock_or_id_of_the_wrong_kind_is_refused_and_nothing_is_written(
    file: StoreFile, config: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigError, match=r"^TestMemoryStore: ") as caught:
        await file.store(**config).add("tea")
    assert caught.value.key == key
    assert file.neighbours() == ["notes.json.lock"]


async def test_times_rise_whatever_the_clock_and_the_file_say(file: StoreFile) -> None:
    last = "9999-12-31T23:59:59.999Z"
    for before, after in (
        ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.001Z"),
        ("2026-01-01T00:00:00.999Z", "2026-01-01T00:00:01.000Z"),
        ("2026-01-01T00:00:00.0005Z", "2026-01-01T00:00:00.001Z"),
        ("2026-01-01T03:00:00+01:00", "2026-01-01T02:00:00.001Z"),
        ("2025-12-31T23:59:59.999Z", "2026-01-01T00:00:00.000Z"),
        ("some day", "2026-01-01T00:00:00.000Z"),
        (last, last),
    ):
        file.write(json.dumps([{"id": "r1", "content": "one", "createdAt": before}]))
        await file.store(clock=FrozenClock("2026-01-01T00:00:00.0009Z")).add("two")
        assert [record["createdAt"] for record in file.records()] == [before, after]


async def test_a_read_only_store_refuses_to_add(file: StoreFile) -> None:
    store = file.store(writable=False)
    with pytest.raises(ConfigError, match="'notes' is not writable"):
        await store.add("tea")
    with pytest.raises(ConfigError, match="'notes' is not writable"):
        await store.add_many(["tea"])
    assert await store.search("tea") == []


@pytest.mark.parametrize("content", ["", " \t\n", None, 7, ["tea"], b"tea"])
async def test_a_content_that_is_no_text_or_blank_is_refused(file: StoreFile, content: Any) -> None:
    with pytest.raises(ConfigError, match=r"^TestMemoryStore: content must") as caught:
        await file.store().add(content)
    assert (caught.value.key, caught.value.value) == ("content", content)
    assert not file.path.parent.exists()


async def test_b42_the_same_text_is_one_entry_and_the_dropped_metadata_is_reported(file: StoreFile) -> None:
    store = file.store()
    first = await store.add("Café at noon", {"from": "first"})
    before = file.bytes()
    for text in ("Café at noon", "  Café at noon\n", "\u2003Café at noon\x1c"):
        assert await store.add(text, {"from": "repeat"}) == TestMemoryAddResult(first.id, deduplicated=True)
    assert file.bytes() == before
    for text in ("café at noon", "Cafe\u0301 at noon"):  # as stated: other texts
        assert (await store.add(text)).deduplicated is False
    assert len(file.records()) == 3


async def test_a_text_is_known_also_where_a_foreign_record_has_an_empty_id(file: StoreFile) -> None:
    file.write('[{"id": "", "content": "tea", "createdAt": ""}]')
    assert await file.store().add("tea") == TestMemoryAddResult("", deduplicated=True)


async def test_b22_metadata_that_is_no_object_is_refused_and_the_store_works_afterwards(file: StoreFile) -> None:
    store = file.store()
    await store.add("first")
    note: Any = "a note"
    with pytest.raises(ConfigError, match=r"^TestMemoryStore: metadata is 'a note'") as caught:
        await store.add("second", note)
    assert caught.value.key == "metadata"
    await store.add("third")
    assert file.contents() == ["first", "third"]


async def test_b53_a_lone_surrogate_is_refused_and_the_next_add_works(file: StoreFile) -> None:
    store = file.store()
    for content, metadata, place in (
        ("bad \ud83d end", None, "content holds a lone surrogate, '\\ud83d' at character 4"),
        ("good", {"k": ["bad \ud83d end"]}, "metadata['k'][0] holds a lone surrogate"),
        ("good", {"bad \ud83d": 1}, "metadata has the key 'bad \\ud83d' with a lone surrogate"),
    ):
        with pytest.raises(ConfigError) as caught:
            await store.add(content, metadata)
        assert place in str(caught.value)
        assert "Nothing was written" in str(caught.value)
        str(caught.value).encode()  # the message itself can be shown
    assert not file.path.exists()
    await store.add("good 🍣")
    assert file.contents() == ["good 🍣"]


@pytest.mark.parametrize("text", ["a\x00b", "\x00", "tea\x08\x1b\ufffe", "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"])
async def test_b12_b21_b54_control_characters_and_odd_line_ends_are_kept(file: StoreFile, text: str) -> None:
    await file.store().add(f"word {text}")
    store = file.store()
    assert [entry.content for entry in await store.search("word")] == [f"word {text}"]
    assert [record.content for record in await store.page(0, 10, where=text)] == [f"word {text}"]
    assert file.contents() == [f"word {text}"]


async def test_b15_a_text_of_a_million_characters_is_kept_whole_on_every_path(file: StoreFile) -> None:
    """As stated: the store has no limit of its own; what reaches a prompt shows its size there."""
    text = "tea " * 250_000
    await file.store().add(text)
    assert [entry.content for entry in await file.store().search("tea")] == [text]
    file.write(json.dumps([{"id": "r1", "content": text + "edited", "createdAt": ""}]))
    assert [entry.content for entry in await file.store().search("tea")] == [text + "edited"]


def value_of(case: dict[str, Any]) -> Any:
    return eval(case["py"], {"datetime": datetime, "decimal": decimal, "functools": functools})


STATED = {  # what is stated where the cases leave a choice
    "{1: 'int'}": "refuse",
    "{'t': (1, 2)}": {"t": [1, 2]},
    "{'d': datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)}": "refuse",
    "{'d': decimal.Decimal('1.10')}": "refuse",
    "{'_relevanceScore': 'mine'}": "exact",
    "{'n': float('nan')}": "refuse",
    "{'n': float('inf')}": "refuse",
}


@pytest.mark.parametrize("persist", [True, False], ids=["file", "memory"])
@pytest.mark.parametrize("case", ROUND_TRIPS["values"], ids=lambda case: case["py"][:40])
async def test_b55_b56_metadata_comes_back_exactly_or_is_refused_naming_the_key(
    file: StoreFile, case: dict[str, Any], persist: bool
) -> None:
    store = file.store(persist=persist)
    metadata = value_of(case)
    expected = STATED.get(case["py"], case["expect"])
    if expected == "refuse":
        with pytest.raises(ConfigError, match=r"^TestMemoryStore: metadata"):
            await store.add("tea", metadata)
        assert await store.count() == 0
        assert not file.path.exists()
        return
    await store.add("tea", metadata)
    reopened = file.store() if persist else store
    (record,) = await reopened.page(0, 10)
    assert repr(record.metadata) == repr(metadata if expected == "exact" else expected)
    (entry,) = await reopened.search("tea")
    assert entry.metadata == {**(record.metadata or {}), "_relevanceScore": 1}


@given(content=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip))
async def test_any_text_comes_back_as_it_was(content: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("store") / "notes.json"
    await TestMemoryStore(name="notes", path=path).add(content)
    (record,) = await TestMemoryStore(name="notes", path=path).page(0, 10)
    assert record.content == content
