"""How a TestMemoryStore is built: what is taken, what is refused, where its file lies."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memwb.errors import ConfigError
from memwb.memory.types import MemoryEntry
from memwb.ranking import tokenize
from memwb.stores import TestMemoryAddResult, TestMemoryStore, TestMemoryStoreConfig


def json_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.json"))


def test_a_store_has_the_documented_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    store = TestMemoryStore(name="My notes/2")
    found = (store.name, store.description, store.max_search_results, store.writable, store.extraction)
    assert found == ("My notes/2", None, None, True, None)
    assert store.path == tmp_path / ".strands" / "memory" / "My_notes_2.json"
    assert store.tokenizer is tokenize


def test_building_a_store_touches_no_file(tmp_path: Path) -> None:
    TestMemoryStore(name="notes", path=tmp_path / "new" / "notes.json")
    assert os.listdir(tmp_path) == []


def test_a_store_in_memory_has_no_file_whatever_its_path(tmp_path: Path) -> None:
    assert TestMemoryStore(name="notes", persist=False, path=str(tmp_path / "notes.json")).path is None


def test_the_config_can_be_kept_as_a_dict() -> None:
    config: TestMemoryStoreConfig = {"name": "notes", "persist": False, "description": "what I like", "writable": False}
    store = TestMemoryStore(**config)
    assert (store.name, store.description, store.writable) == ("notes", "what I like", False)


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({}, "name", "name is required"),
        ({"name": ""}, "name", "name must not be empty or blank; it is ''"),
        ({"name": " \n"}, "name", "name must not be empty or blank"),
        ({"name": 7}, "name", "name must be a text, not int 7"),
        ({"name": "a\ud83d"}, "name", "name holds a lone surrogate"),
        ({"name": "a", "path": " "}, "path", "path ' ' must not be empty, blank or hold a NUL"),
        ({"name": "a", "path": "a\0b"}, "path", "hold a NUL"),
        ({"name": "a", "path": b"a"}, "path", "path is b'a'; it must be a text or a Path"),
        ({"name": "a", "path": "~nobody-of-that-name/x"}, "path", "path '~nobody-of-that-name/x'"),
        ({"name": "a", "max_search_results": 0}, "max_search_results", "is 0; it must be a whole number, at least 1"),
        ({"name": "a", "max_search_results": -1}, "max_search_results", "is -1"),
        ({"name": "a", "max_search_results": True}, "max_search_results", "is True"),
        ({"name": "a", "max_search_results": "5"}, "max_search_results", "is '5'"),
        ({"name": "a", "description": 3}, "description", "description is 3; it must be a text"),
        ({"name": "a", "writable": "yes"}, "writable", "writable is 'yes'; it must be True or False"),
        ({"name": "a", "persist": None}, "persist", "persist is None"),
        (
            {"name": "a", "clock": datetime(2026, 1, 1, tzinfo=UTC)},
            "clock",
            "it must be a plain function that gives a time",
        ),
        ({"name": "a", "new_id": "x"}, "new_id", "it must be a plain function that gives an id"),
        ({"name": "a", "tokenizer": "words"}, "tokenizer", "it must be a plain function that gives a text's tokens"),
        ({"name": "a", "pth": "x"}, "pth", "no key 'pth'; the keys are name, description,"),
        ({"name": "a", "max_results": 5}, "max_results", "Did you mean 'max_search_results'?"),
        ({"name": "a", "maxSearchResults": 5}, "maxSearchResults", "Did you mean 'max_search_results'?"),
    ],
)
def test_a_bad_setting_is_refused_naming_it(config: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(ConfigError, match=r"^TestMemoryStore: ") as caught:
        TestMemoryStore(**config)
    assert caught.value.key == key
    assert message in str(caught.value)


def test_an_async_tokenizer_is_refused() -> None:
    async def tokens(text: str) -> set[str]:
        return {text}

    with pytest.raises(ConfigError, match="tokenizer is <function"):
        TestMemoryStore(name="a", tokenizer=tokens)  # type: ignore[arg-type]


def test_its_repr_is_short_and_the_same_at_every_run(tmp_path: Path) -> None:
    assert repr(TestMemoryStore(name="notes", path=tmp_path / "x.json")) == "TestMemoryStore('notes')"
    assert repr(TestMemoryStore(name="notes", persist=False)) == "TestMemoryStore('notes', persist=False)"


def test_pytest_does_not_take_the_classes_for_tests() -> None:
    classes: list[Any] = [TestMemoryStore, TestMemoryStoreConfig, TestMemoryAddResult]
    assert [cls.__test__ for cls in classes] == [False, False, False]


async def test_b37_home_is_expanded_and_the_place_is_fixed_when_the_store_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, work, elsewhere = (tmp_path / name for name in ("home", "work", "elsewhere"))
    for folder in (home, work, elsewhere):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(work)
    at_home = TestMemoryStore(name="home", path="~/m.json")
    relative = TestMemoryStore(name="relative", path="sub/new/m.json")
    await at_home.add("tea at home")
    await relative.add("tea at work")
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("HOME", str(elsewhere))
    assert [entry.content for entry in await relative.search("tea")] == ["tea at work"]
    await relative.add("more tea")
    assert [entry.content for entry in await at_home.search("tea")] == ["tea at home"]
    assert json_files(tmp_path) == ["home/m.json", "work/sub/new/m.json"]


def test_b35_names_that_give_one_file_name_give_one_public_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    paths = [TestMemoryStore(name=name).path for name in ("a/b", "a_b", "a..b")]
    assert len(set(paths)) == 1  # as documented; a manager compares the paths and refuses such stores together


async def test_records_can_be_there_from_the_start() -> None:
    records = await TestMemoryStore.from_records(["green tea"], name="x").page(0, 10)
    store = TestMemoryStore.from_records(
        [
            {"id": "r1", "content": "green tea", "createdAt": "2026-01-01T00:00:00.000Z", "metadata": {}},
            {"id": "r2", "content": "green tea", "createdAt": "2026-01-01T00:00:00.000Z"},
            *records,
        ],
        name="drinks",
        max_search_results=2,
    )
    assert store.path is None
    assert [(r.id, r.content, r.metadata) for r in await store.page(0, 10)] == [
        ("r1", "green tea", {}),
        ("r2", "green tea", None),
        (records[0].id, "green tea", None),
    ]
    found = await store.search("tea")
    assert found == [MemoryEntry("green tea", metadata={"_relevanceScore": 1})] * 2
    assert [entry.id for entry in found] == [records[0].id, "r1"]
    assert (await store.add("green tea ")).id == "r1"


@pytest.mark.parametrize("config", [{"persist": True}, {"persist": False}, {"path": "x.json"}])
def test_records_from_the_start_are_for_stores_in_memory(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="from_records makes a store in memory"):
        TestMemoryStore.from_records([], name="a", **config)


def test_importing_the_stores_loads_nothing_heavy() -> None:
    heavy = {"asyncio", "pandas", "numpy", "IPython", "pytest"}
    code = f"import sys, memwb.stores; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
