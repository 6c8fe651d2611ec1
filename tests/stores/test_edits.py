"""Changing and removing records: what stays, what is refused, and what the file looks like afterwards."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwb import _files
from memwb.errors import ConfigError, DamagedFileError, DuplicateEntryError, EntryNotFoundError
from memwb.stores import TestMemoryStore
from memwb.testing import FrozenClock, SequentialIds

from .conftest import StoreFile

RECORDS: list[dict[str, Any]] = [
    {"id": "r1", "content": "green tea", "createdAt": "2026-01-01T00:00:00.000Z", "metadata": {"n": [1, {"k": 2**70}]}},
    {"x": {"y": None}, "id": "r2", "content": "black tea", "createdAt": "some day"},
    {"id": "r3", "content": "coffee ☕", "createdAt": "2026-01-02T00:00:00.000Z", "metadata": None, "updatedAt": ""},
]


def indented(records: list[dict[str, Any]]) -> bytes:
    return json.dumps(records, indent=2, ensure_ascii=False).encode()


LAYOUTS = {"as documented": 2, "in one line": None}


@pytest.fixture(params=list(LAYOUTS))
def written(file: StoreFile, request: pytest.FixtureRequest) -> StoreFile:
    file.write(json.dumps(RECORDS, indent=LAYOUTS[request.param], ensure_ascii=False))
    return file


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_an_update_changes_nothing_else_in_the_file(written: StoreFile, number: int) -> None:
    store = written.store()
    record = await store.update(f"r{number}", content=" white tea ", metadata={"a": (1.0, {})})
    expected = [dict(record) for record in RECORDS]
    expected[number - 1] |= {"content": " white tea ", "metadata": {"a": [1.0, {}]}}
    assert written.bytes() == indented(expected)
    assert record == await store.get(f"r{number}") == await written.store().get(f"r{number}")


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a_delete_leaves_the_others_as_they_are(written: StoreFile, number: int) -> None:
    store = written.store()
    assert await store.delete(f"r{number}") is True
    assert written.bytes() == indented(RECORDS[: number - 1] + RECORDS[number:])
    assert [record.id for record in await store.page(0, 9)] == [f"r{n}" for n in (1, 2, 3) if n != number]
    before = written.path.stat()
    assert await store.delete(f"r{number}") is False
    assert written.path.stat() == before


async def test_all_can_be_removed_one_by_one_or_at_once(written: StoreFile) -> None:
    store = written.store()
    for number in (2, 3, 1):
        await store.delete(f"r{number}")
    assert written.bytes() == b"[]"
    await store.add("water")
    assert written.contents() == ["water"]
    await store.clear()
    assert written.bytes() == b"[]"
    assert await store.search("water") == []


async def test_clearing_what_is_empty_writes_nothing(file: StoreFile) -> None:
    await file.store().clear()
    assert file.neighbours() == ["notes.json.lock"]
    file.write(b"")
    await file.store().clear()
    assert file.bytes() == b""


@pytest.mark.parametrize(
    "change",
    [{}, {"content": "green tea"}, {"metadata": {"n": [1, {"k": 2**70}]}}],
    ids=["none", "content", "metadata"],
)
async def test_an_update_that_changes_nothing_writes_nothing(written: StoreFile, change: dict[str, Any]) -> None:
    before = _files.look(written.path)
    record = await written.store().update("r1", **change)
    assert (record.content, record.metadata) == ("green tea", RECORDS[0]["metadata"])
    assert _files.look(written.path) == before


async def test_numbers_that_python_calls_equal_are_different_metadata(file: StoreFile) -> None:
    store = file.store()
    added = await store.add("tea", {"n": 1})
    for value in (True, 1.0, 1):
        await store.update(added.id, metadata={"n": value})
        assert repr(file.records()[0]["metadata"]) == repr({"n": value})


async def test_an_update_keeps_id_and_time_and_moves_nothing_up(file: StoreFile) -> None:
    store = file.store(clock=FrozenClock("2026-01-01T00:00:00Z"), new_id=SequentialIds())
    for text in ("tea one", "tea two", "tea three"):
        await store.add(text)
    record = await store.update("id-1", content="tea four")
    assert (record.id, record.created_at) == ("id-1", (await file.store().page(0, 1))[0].created_at)
    assert [entry.content for entry in await store.search("tea")] == ["tea three", "tea two", "tea four"]


async def test_b52_an_edit_leaves_the_time_of_creation_and_an_unknown_id_is_an_error(file: StoreFile) -> None:
    """The documented file keeps no time of change, so none is made up."""
    clock = FrozenClock("2026-01-01T00:00:00Z")
    store = file.store(clock=clock)
    added = await store.add("tea")
    before = await store.get(added.id)
    clock.advance(hours=1)
    after = await store.update(added.id, content="coffee")
    assert before is not None
    assert (after.created_at, before.updated_at, after.updated_at) == (before.created_at, None, None)
    assert set(file.records()[0]) == {"id", "content", "createdAt"}
    with pytest.raises(EntryNotFoundError):
        await store.update("unknown", content="water")


async def test_a_text_that_another_record_holds_is_refused_naming_it(written: StoreFile) -> None:
    before = written.bytes()
    with pytest.raises(
        DuplicateEntryError, match=r"notes\.json already holds this content, in the entry 'r2'"
    ) as caught:
        await written.store().update("r1", content="\nblack tea ")
    assert caught.value.id == "r2"
    assert written.bytes() == before


async def test_blanks_around_the_own_text_may_change(written: StoreFile) -> None:
    await written.store().update("r1", content=" green tea\n")
    assert written.contents()[0] == " green tea\n"


async def test_an_old_text_can_be_added_again_and_a_new_one_not(file: StoreFile) -> None:
    store = file.store()
    first = await store.add("green tea")
    await store.update(first.id, content="white tea")
    assert (await store.add("white tea")).deduplicated is True
    again = await store.add("green tea")
    assert again.deduplicated is False
    await store.delete(again.id)
    assert (await store.add("green tea")).deduplicated is False


async def test_an_unknown_id_is_an_error_for_an_update(written: StoreFile) -> None:
    with pytest.raises(EntryNotFoundError, match=r"No entry 'r9' in TestMemoryStore: .*notes\.json") as caught:
        await written.store().update("r9", content="tea")
    assert caught.value.id == "r9"
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda store: store.update("r1", content=""), "content"),
        (lambda store: store.update("r1", content=7), "content"),
        (lambda store: store.update("r1", content="bad \ud83d"), "content"),
        (lambda store: store.update("r1", metadata="a note"), "metadata"),
        (lambda store: store.update("r1", metadata={"n": float("nan")}), "metadata['n']"),
        (lambda store: store.update(None, content="tea"), "id"),
        (lambda store: store.update("r1", content="tea", number=0), "number"),
        (lambda store: store.update("r1", content="tea", number=2), "number"),
        (lambda store: store.delete(7), "id"),
        (lambda store: store.delete("r1", number=True), "number"),
        (lambda store: store.delete("r1", number="1"), "number"),
    ],
)
async def test_a_bad_argument_is_refused_and_nothing_is_written(written: StoreFile, call: Any, key: str) -> None:
    before = written.bytes()
    with pytest.raises(ConfigError, match=r"^TestMemoryStore: ") as caught:
        await call(written.store())
    assert caught.value.key == key
    assert written.bytes() == before


async def test_a_read_only_store_refuses_every_edit(written: StoreFile) -> None:
    store = written.store(writable=False)
    for name, call in (
        ("update", lambda: store.update("r1", content="tea")),
        ("delete", lambda: store.delete("r1")),
        ("clear", lambda: store.clear()),
    ):
        with pytest.raises(ConfigError, match=rf"'notes' is not writable.* to use {name}\(\)"):
            await call()


CASES = json.loads((Path(__file__).parents[1] / "cases" / "B18-damaged-files.json").read_text(encoding="utf-8"))
FILES = {case["name"]: bytes.fromhex(case["hex"]) for case in CASES["files"]}


async def test_b18_no_edit_touches_a_damaged_file(file: StoreFile) -> None:
    file.write(FILES["tail"])
    store = file.store()
    for call in (store.update("r1", content="x"), store.delete("r1"), store.clear()):
        with pytest.raises(DamagedFileError, match="salvage"):
            await call
    assert file.bytes() == FILES["tail"]


@pytest.mark.filterwarnings("ignore:TestMemoryStore. .*Both are kept")
async def test_b18_an_edit_of_an_id_that_two_records_have_asks_which(file: StoreFile) -> None:
    file.write(FILES["repeat-id"])
    store = file.store()
    for call in (store.update("r1", content="white tea"), store.delete("r1")):
        with pytest.raises(ConfigError) as caught:
            await call
        assert (caught.value.key, caught.value.allowed) == ("number", ("1", "2"))
        assert str(caught.value) == (
            f"TestMemoryStore: {file.path}: record 1 ('tea is green') and record 2 ('tea is black') have the id 'r1'. "
            "Nothing was written: say which one is meant by number=1 or number=2."
        )
    assert file.bytes() == FILES["repeat-id"]
    await store.update("r1", content="white tea", number=2)
    assert file.contents() == ["tea is green", "white tea"]
    assert await store.delete("r1", number=1) is True
    assert file.contents() == ["white tea"]
    await store.update("r1", content="green tea")
    assert store.damage == []


texts = st.lists(st.sampled_from(["tea", "green", "the", "乌龙茶", "b\0c", "naïve"]), min_size=1, max_size=3).map(
    " ".join
)
metadata = st.none() | st.dictionaries(st.sampled_from(["a", "b"]), st.integers() | st.lists(st.none()), max_size=2)
places = st.integers(0, 9)
steps = st.lists(
    st.tuples(st.just("add"), texts, metadata)
    | st.tuples(st.just("update"), places, texts | st.none(), metadata)
    | st.tuples(st.just("delete"), places)
    | st.tuples(st.just("clear"))
    | st.tuples(st.just("reopen"))
    | st.tuples(st.just("search")),
    max_size=14,
)


@settings(max_examples=300)
@given(steps)
async def test_file_and_memory_hold_what_a_plain_list_would(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "notes.json")

        def opened() -> list[TestMemoryStore]:
            config: Any = {"name": "notes", "clock": FrozenClock("2030-01-01T00:00:00Z"), "new_id": SequentialIds()}
            return [TestMemoryStore(**config, path=path)]

        stores = [*opened(), TestMemoryStore(name="notes", persist=False, new_id=SequentialIds())]
        model: list[dict[str, Any]] = []
        for kind, *more in [*steps, ("search",)]:
            if kind == "reopen":
                stores[0] = opened()[0]
                continue
            if kind == "search":  # now and then: what lies between two searches is made up for at the second
                for store in stores:
                    found = {entry.content for entry in await store.search("tea", {"max_search_results": 99})}
                    assert found == {entry["content"] for entry in model if "tea" in entry["content"].split()}
                continue
            for store in stores:
                await applied(store, kind, more, model)
            model = change(model, kind, more)
            for store in stores:
                records = await store.page(0, 99)
                assert [(record.content, record.metadata) for record in records] == [
                    (entry["content"], entry["metadata"]) for entry in model
                ]
            assert_indented(path)


def assert_indented(path: Path) -> None:
    if path.exists():
        assert path.read_bytes() == indented(json.loads(path.read_bytes()))


def target(model: list[dict[str, Any]], place: int) -> int | None:
    return place % len(model) if model else None


def taken(model: list[dict[str, Any]], text: str, besides: int | None = None) -> bool:
    return any(entry["content"].strip() == text.strip() for at, entry in enumerate(model) if at != besides)


def change(model: list[dict[str, Any]], kind: str, more: list[Any]) -> list[dict[str, Any]]:
    model = [dict(entry) for entry in model]
    if kind == "clear":
        return []
    if kind == "add":
        return model if taken(model, more[0]) else [*model, {"content": more[0], "metadata": more[1]}]
    at = target(model, more[0])
    if at is None:
        return model
    if kind == "delete":
        del model[at]
    elif more[1] is None or not taken(model, more[1], besides=at):
        model[at] |= {
            key: value for key, value in zip(("content", "metadata"), more[1:], strict=True) if value is not None
        }
    return model


async def applied(store: TestMemoryStore, kind: str, more: list[Any], model: list[dict[str, Any]]) -> None:
    if kind == "clear":
        return await store.clear()
    if kind == "add":
        await store.add(*more)
        return None
    at = target(model, more[0])
    if at is None:
        assert await store.delete("none") is False
        return None
    id = (await store.page(at, 1))[0].id
    if kind == "delete":
        assert await store.delete(id) is True
    elif more[1] is not None and taken(model, more[1], besides=at):
        with pytest.raises(DuplicateEntryError):
            await store.update(id, *more[1:])
    else:
        await store.update(id, *more[1:])
    return None
