"""Salvage: what is readable of a damaged file goes to a new one, and everything else is told."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.errors import ConfigError, DamagedFileError
from memwb.stores import Salvage, SalvageNote, TestMemoryStore, _fragments
from memwb.stores._salvage import Salvager
from memwb.testing import FrozenClock, SequentialIds

from .conftest import StoreFile

CASES = json.loads((Path(__file__).parents[1] / "cases" / "B18-damaged-files.json").read_text(encoding="utf-8"))
FILES = {case["name"]: bytes.fromhex(case["hex"]) for case in CASES["files"]}
RECORD = CASES["good_record"]


async def salvaged(file: StoreFile, data: bytes | str) -> Salvage:
    file.write(data)
    return await file.store(clock=FrozenClock(), new_id=SequentialIds()).salvage(file.path.with_name("new.json"))


def new_records(found: Salvage) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = json.loads(found.path.read_text("utf-8"))
    return records


UNREADABLE = "this cannot be read as JSON"


@pytest.mark.parametrize(
    ("name", "kept", "left_out", "changed"),
    [
        ("cut", [RECORD], [SalvageNote("line 1, column 84", UNREADABLE, '{"id": "r2", "con')], []),
        ("tail", [RECORD], [SalvageNote("line 1, column 83", UNREADABLE, 'een"}]')], []),
        ("two-arrays", [RECORD], [], []),
        ("object", [], [SalvageNote("line 1, column 1", "the field content is missing or no text", "{}")], []),
        ("bom", [RECORD], [], []),
        (
            "latin-1",
            [{**RECORD, "content": "caf\ufffd tea"}],
            [],
            [SalvageNote("line 1, column 2", "1 unreadable character replaced by U+FFFD", "caf\ufffd tea")],
        ),
        (
            "nan",
            [{**RECORD, "metadata": {"s": None}}],
            [],
            [
                SalvageNote("line 1, column 2", "1 NaN or infinite number replaced by null", "tea is green"),
            ],
        ),
    ],
)
async def test_b18_what_is_readable_is_saved_and_the_damaged_file_is_left_alone(
    file: StoreFile, name: str, kept: list[Any], left_out: list[SalvageNote], changed: list[SalvageNote]
) -> None:
    found = await salvaged(file, FILES[name])
    assert new_records(found) == kept
    folder = file.path.parent
    assert found == Salvage(
        folder / "new.json", folder / "new.json.damaged", len(kept), tuple(left_out), tuple(changed)
    )
    assert file.bytes() == found.copy.read_bytes() == FILES[name]
    assert file.neighbours() == ["new.json", "new.json.damaged", "notes.json"]
    assert await TestMemoryStore(name="new", path=found.path).count() == len(kept)


def without(field: str) -> dict[str, Any]:
    return {key: value for key, value in RECORD.items() if key != field}


@pytest.mark.parametrize(
    ("data", "kept", "left_out", "changed"),
    [
        ("", [], [], []),
        ("not JSON at all", [], [UNREADABLE], []),
        (json.dumps([RECORD, 1, None, "x"]), [RECORD], [UNREADABLE], []),
        (json.dumps([1, RECORD]), [RECORD], [UNREADABLE], []),
        (json.dumps({"records": [RECORD, [RECORD]]}), [RECORD, RECORD], [], []),
        (json.dumps([without("content")]), [], ["the field content is missing or no text"], []),
        (
            json.dumps([without("id"), {**RECORD, "createdAt": 7}]),
            [{**without("id"), "id": "id-1"}, {**RECORD, "createdAt": "2026-01-01T00:00:00.000Z"}],
            [],
            [
                "id was missing or no text; it is 'id-1' now",
                "createdAt was missing or no text; it is '2026-01-01T00:00:00.000Z' now",
            ],
        ),
        (
            json.dumps([{**RECORD, "metadata": "a note"}]),
            [RECORD],
            [],
            ['metadata was no object: "a note"; it is left out'],
        ),
        (json.dumps([{**RECORD, "metadata": {"n": 2**70}}]), [{**RECORD, "metadata": {"n": 2**70}}], [], []),
        (
            '[{"id": "r0", "content": "broken", "metadata": {"a": 1}, ' + json.dumps(RECORD) + "]",
            [RECORD],
            [UNREADABLE],
            [],
        ),
        (
            json.dumps([RECORD, RECORD], indent=2).replace('"createdAt"', '"createdAt', 1),
            [RECORD],
            [UNREADABLE],
            [],
        ),
        (json.dumps(RECORD) + "\n" + json.dumps(RECORD), [RECORD, RECORD], [], []),
        ('{"a":' * 2000 + "1" + "}" * 2000 + json.dumps(RECORD), [RECORD], [UNREADABLE], []),
        (json.dumps([RECORD]).replace("tea is", "tea\nis"), [{**RECORD, "content": "tea\nis green"}], [], []),
    ],
)
async def test_every_object_with_a_content_is_a_record(
    file: StoreFile, data: str, kept: list[Any], left_out: list[str], changed: list[str]
) -> None:
    found = await salvaged(file, data)
    assert new_records(found) == kept
    assert [note.reason for note in found.left_out] == left_out
    assert [note.reason for note in found.changed] == changed


async def test_a_file_in_utf_16_is_read(file: StoreFile) -> None:
    found = await salvaged(file, json.dumps([RECORD]).encode("utf-16"))
    assert new_records(found) == [RECORD]


async def test_places_are_lines_and_columns_of_the_damaged_file(file: StoreFile) -> None:
    lines = ["[", json.dumps(RECORD) + ",", "  oops,", json.dumps(RECORD) + ", and", "]", "  more"]
    found = await salvaged(file, "\n".join(lines))
    assert found.left_out == (
        SalvageNote("line 3, column 3", UNREADABLE, "oops"),
        SalvageNote(f"line 4, column {len(json.dumps(RECORD)) + 3}", UNREADABLE, "and\n]\n  more"),
    )


async def test_what_is_shown_of_a_loss_is_short(file: StoreFile) -> None:
    found = await salvaged(file, "x" * 1000)
    assert found.left_out[0].text == "x" * 197 + "..."
    assert repr(found) == "Salvage(kept=0, left_out=1, changed=0)"


async def test_the_new_files_are_as_private_as_the_damaged_one(file: StoreFile) -> None:
    file.write(FILES["tail"])
    file.path.chmod(0o600)
    found = await file.store().salvage(str(file.path.with_name("new.json")))
    assert [oct(path.stat().st_mode)[-3:] for path in (found.path, found.copy)] == ["600", "600"]


@pytest.mark.parametrize("there", ["new.json", "new.json.damaged", "notes.json"])
async def test_nothing_is_overwritten(file: StoreFile, there: str) -> None:
    file.write(FILES["tail"])
    file.path.with_name(there).write_bytes(FILES["tail"])
    to = file.path if there == "notes.json" else file.path.with_name("new.json")
    before = file.neighbours()
    with pytest.raises(FileExistsError, match=r"^TestMemoryStore: could not salvage .*is there already") as caught:
        await file.store().salvage(to)
    assert caught.value.__dict__["path"] == file.path
    assert file.neighbours() == before
    assert file.bytes() == FILES["tail"]


async def test_a_path_is_expanded_and_its_folders_are_made(
    file: StoreFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file.write(FILES["tail"])
    found = await file.store().salvage("~/saved/new.json")
    assert found.path == tmp_path / "home" / "saved" / "new.json"
    assert sorted(os.listdir(found.path.parent)) == ["new.json", "new.json.damaged"]


async def test_without_a_file_there_is_nothing_to_salvage(file: StoreFile, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        await file.store().salvage(tmp_path / "new.json")
    with pytest.raises(ConfigError, match="kept in memory"):
        await TestMemoryStore(name="notes", persist=False).salvage(tmp_path / "new.json")
    for bad in ("", 7, "a\0b"):
        with pytest.raises(ConfigError, match="to "):
            await file.store().salvage(bad)  # type: ignore[arg-type]


async def test_a_whole_file_is_saved_whole(file: StoreFile) -> None:
    await file.store().add_many([{"content": f"tea {n} ☕", "metadata": {"n": [n, None]}} for n in range(30)])
    found = await file.store().salvage(file.path.with_name("new.json"))
    assert found.path.read_bytes() == file.bytes()
    assert (found.kept, found.left_out, found.changed) == (30, (), ())


async def test_the_error_of_a_damaged_file_names_the_way_out(file: StoreFile) -> None:
    file.write(FILES["tail"])
    with pytest.raises(DamagedFileError, match=r"await store\.salvage\("):
        await file.store().search("tea")


@given(st.integers(0, 2000), st.binary(max_size=12), st.integers(0, 40))
def test_whatever_is_broken_records_elsewhere_are_saved(place: int, inserted: bytes, removed: int) -> None:
    records = [{"id": f"r{n}", "content": f"tea {n}", "createdAt": "", "metadata": {"n": {"m": n}}} for n in range(12)]
    data = json.dumps(records, indent=2).encode()
    place %= len(data)
    broken = data[:place] + inserted + data[place + removed :]
    found = Salvager(broken, SequentialIds("new "), lambda: "").records
    untouched = [
        record
        for record in records
        if (at := data.index(json.dumps(record["id"]).encode())) > place + removed + 12
        or at + len(json.dumps(record, indent=2)) + 40 < place
    ]
    assert [record for record in found if record in untouched] == untouched
    json.dumps(found, ensure_ascii=False).encode()


@pytest.mark.parametrize("count", [1, 20, 100_000])
def test_lists_that_only_begin_are_told(count: int) -> None:
    found = salvager("[" * count)
    assert (found.records, [note.text for note in found.left_out]) == (
        [],
        [("[" * count)[:197] + "..." * (count > 200)],
    )
    assert salvager(json.dumps([RECORD]) + "[]").left_out == salvager("[[], []]").left_out == []


def salvager(text: str) -> Salvager:
    return Salvager(text.encode(), lambda: "new", lambda: "2026-01-01T00:00:00.000Z")


DAMAGE = [
    '{"a":',
    "[{",
    "{",
    "[",
    '{"a',
    '{"a":"b{',
    '{"a":"\\"',
    '{"content": "tea" "id": 1},\n',
    '{"content": "tea", "metadata": {"a": [',
    json.dumps(RECORD) + ',\n{"content": "tea" "id": 1},\n',
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_time_grows_with_the_length_of_the_file_however_deep_and_often_it_is_damaged(damage: str) -> None:
    # By the work that is done and not by a clock: each sign is looked at a few times, by Python's parser or here.
    looked = [0]
    text = damage * (40_000 // len(damage))
    with counting(looked):
        found = salvager(text)
    assert looked[0] < 6 * len(text)
    assert len(found.records) == text.count(json.dumps(RECORD))
    assert found.left_out


@contextmanager
def counting(looked: list[int]) -> Iterator[None]:
    """Count the signs that are looked at: those of each attempt, and those of each look for what it had opened."""

    class Counting(_fragments._Reader):
        def _read(self, start: int) -> Any:
            if start in self._dead:
                return None, start
            found = super()._read(start)
            looked[0] += found[1] - start
            return found

        def _open_at(self, start: int, mistake: int) -> Any:
            looked[0] += 2 * (mistake - start)
            return super()._open_at(start, mistake)

        def _too_deep(self, start: int) -> Any:
            found = super()._too_deep(start)
            looked[0] += len(self._text) - start
            return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_fragments, "_Reader", Counting)
        yield


def test_what_is_deeper_than_can_be_written_is_left_out_and_records_beside_it_are_kept() -> None:
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    found = salvager(f'{{"memories": [{json.dumps(RECORD)}], "more": {deep}, "last": {json.dumps(RECORD)}}}')
    assert found.records == [RECORD, RECORD]
    assert [note.text[:15] for note in found.left_out] == ['{"memories": [', '"more": {"a":{"', "}"]
