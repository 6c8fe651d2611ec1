"""Damaged files are refused with their place and never overwritten; odd ones are read as they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memwb.errors import DamagedFileError
from memwb.stores import _record_file as record_file

from .conftest import StoreFile

DAMAGED = json.loads((Path(__file__).parents[1] / "cases" / "B18-damaged-files.json").read_text(encoding="utf-8"))
FILES = {case["name"]: bytes.fromhex(case["hex"]) for case in DAMAGED["files"]}
RECORD = DAMAGED["good_record"]


async def refused(file: StoreFile, data: bytes, place: str, cause: str) -> None:
    """Every call refuses the file, says where and why, and leaves it as it is."""
    file.write(data)
    store = file.store()
    for call in (
        lambda: store.search("tea"),
        lambda: store.count_matches("tea"),
        lambda: store.add("coffee"),
        lambda: store.add_many(["coffee"]),
        lambda: store.count(),
        lambda: store.page(0, 1),
        lambda: store.get("r1"),
    ):
        with pytest.raises(DamagedFileError, match=r"^TestMemoryStore: ") as caught:
            await call()
        error = caught.value
        assert (error.path, error.place, error.cause) == (file.path, place, cause)
        assert str(file.path) in str(error)
        assert "The file was not changed." in str(error)
    assert file.bytes() == data
    assert set(file.neighbours()) <= {"notes.json", "notes.json.lock"}


@pytest.mark.parametrize(
    ("name", "place", "cause"),
    [
        ("cut", "line 1, column 97", "not JSON (Unterminated string starting at)"),
        ("tail", "line 1, column 83", "not JSON (Extra data)"),
        ("two-arrays", "line 2, column 1", "not JSON (Extra data)"),
        ("object", "", "expected a JSON array of records, found an object"),
        ("latin-1", "byte 29", "not UTF-8 (byte 0xe9)"),
        ("nan", "record 1, metadata['s']", "nan is no JSON; replace it by null or a number"),
    ],
)
async def test_b18_a_damaged_file_is_refused_with_its_place_and_never_overwritten(
    file: StoreFile, name: str, place: str, cause: str
) -> None:
    await refused(file, FILES[name], place, cause)


async def test_b18_b20_a_byte_order_mark_is_read_and_the_entry_kept(file: StoreFile) -> None:
    file.write(FILES["bom"])
    store = file.store()
    assert [entry.content for entry in await store.search("tea")] == ["tea is green"]
    await store.add("coffee")
    assert file.records()[0] == RECORD
    assert file.contents() == ["tea is green", "coffee"]


async def test_b18_records_with_one_id_are_both_shown_and_the_clash_is_reported_once(file: StoreFile) -> None:
    file.write(FILES["repeat-id"])
    store = file.store()
    with pytest.warns(
        UserWarning, match=r"notes\.json at record 2: the id 'r1' is that of record 1 too\. Both are kept"
    ):
        assert len(await store.search("tea")) == 2
    # from here on a second warning would be an error
    assert [record.content for record in await store.page(0, 9)] == ["tea is green", "tea is black"]
    await store.add("coffee")
    assert await store.count() == 3
    assert store.damage == [(str(file.path), "record 2", "the id 'r1' is that of record 1 too")]
    first = await store.get("r1")
    assert first is not None
    assert first.content == "tea is green"
    assert file.contents() == ["tea is green", "tea is black", "coffee"]


def with_record(**changes: Any) -> bytes:
    record = {**RECORD, **changes}
    return json.dumps([RECORD, {key: value for key, value in record.items() if value is not ...}]).encode()


@pytest.mark.parametrize(
    ("data", "place", "cause"),
    [
        (b"null", "", "expected a JSON array of records, found null"),
        (b'"text"', "", "expected a JSON array of records, found a text"),
        (b"12", "", "expected a JSON array of records, found a number"),
        (b" \n", "line 2, column 1", "not JSON (Expecting value)"),
        (b"[null]", "record 1", "expected a JSON object, found null"),
        (b"[{}, 1]", "record 1, id", "the field is missing; it must be a text"),
        (with_record(id=5), "record 2, id", "the field is a number; it must be a text"),
        (with_record(content=None), "record 2, content", "the field is null; it must be a text"),
        (with_record(content=...), "record 2, content", "the field is missing; it must be a text"),
        (with_record(createdAt=True), "record 2, createdAt", "the field is true; it must be a text"),
        (with_record(metadata="a note"), "record 2, metadata", "the field is a text; it must be an object"),
        (with_record(metadata=[]), "record 2, metadata", "the field is an array; it must be an object"),
        (with_record(content="\ud83d"), "record 2, content", "lone surrogate, which UTF-8 cannot hold"),
        (b"[" * 3000 + b"]" * 3000, "", "lists and objects nest too deep"),
    ],
)
async def test_every_other_damage_is_refused_with_its_place(
    file: StoreFile, data: bytes, place: str, cause: str
) -> None:
    await refused(file, data, place, cause)


DEEP = '{"a":' * 1015 + "1" + "}" * 1015


async def test_what_nests_too_deep_to_be_written_is_read_where_it_stands_and_never_lost(file: StoreFile) -> None:
    text = f'[\n  {{\n    "id": "r1",\n    "content": "tea",\n    "createdAt": "",\n    "metadata": {DEEP}\n  }}\n]'
    file.write(text)
    store = file.store()
    assert [entry.content for entry in await store.search("tea")] == ["tea"]
    record = await store.get("r1")
    assert record is not None
    inner: Any = record.metadata
    for _ in range(1015):
        inner = inner["a"]
    assert inner == 1
    await added_or_refused_whole(file, text)


async def test_what_nests_too_deep_in_another_layout_is_refused_in_words_and_never_lost(file: StoreFile) -> None:
    text = f'[{{"id": "r1", "content": "tea", "createdAt": "", "metadata": {DEEP}}}]'
    file.write(text)
    cause = await cause_of(file.store().count_matches("tea"))
    assert cause in ("", "lists and objects nest too deep")
    await added_or_refused_whole(file, text)


async def added_or_refused_whole(file: StoreFile, text: str) -> None:
    """How deep Python writes is another limit in each version."""
    if cause := await cause_of(file.store().add("coffee")):
        assert (cause, file.bytes().decode()) == ("lists and objects nest too deep", text)
    else:
        assert "".join(file.bytes().decode().split()).startswith("".join(text.split())[:-1])


async def cause_of(call: Any) -> str:
    """Return why the file was refused, or an empty text where it was not."""
    try:
        await call
    except DamagedFileError as error:
        return error.cause
    return ""


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"[]", b" [ ]\n"])
async def test_an_empty_file_is_an_empty_store(file: StoreFile, data: bytes) -> None:
    file.write(data)
    assert await file.store().search("tea") == []
    await file.store().add("coffee")
    assert file.contents() == ["coffee"]


async def test_a_file_that_is_half_written_at_the_first_look_is_looked_at_again(
    file: StoreFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write(json.dumps([RECORD]))
    whole = record_file._files.read(file.path)
    assert whole is not None
    looks = [(whole[0][:20], whole[1]), (whole[0][:40], whole[1]), whole]
    monkeypatch.setattr(record_file._files, "read", lambda path: looks.pop(0))
    assert await file.store().count() == 1
    assert looks == []


async def test_a_repaired_file_is_read_again(file: StoreFile) -> None:
    file.write(FILES["tail"])
    store = file.store()
    with pytest.raises(DamagedFileError):
        await store.search("tea")
    file.write(json.dumps([RECORD]))
    assert len(await store.search("tea")) == 1


def test_b20_the_bytes_do_not_depend_on_the_locale(file: StoreFile) -> None:
    program = (
        "import asyncio, sys\nfrom memwb.stores import TestMemoryStore\n"
        "store = TestMemoryStore(name='notes', path=sys.argv[1])\n"
        "asyncio.run(store.add('na\\u00efve \\u2713 \\u6771\\u4eac', {'k\\u00e9y': '\\u2713'}))\n"
        "assert asyncio.run(store.search('\\u6771\\u4eac'))[0].metadata['k\\u00e9y'] == '\\u2713'\n"
    )
    for environment in ({"PYTHONUTF8": "0", "LC_ALL": "C"}, {"PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}):
        if file.path.exists():
            os.remove(file.path)
        subprocess.run([sys.executable, "-c", program, str(file.path)], env={**os.environ, **environment}, check=True)
        (record,) = file.records()
        assert (record["content"], record["metadata"]) == ("naïve ✓ 東京", {"kéy": "✓"})
        assert b"na\xc3\xafve" in file.bytes()
