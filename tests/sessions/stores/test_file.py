"""FileStore on the disk: names, lines, damage, other programs, and what a cut-off write leaves."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb import _files
from memwb.errors import ConfigError, DamagedFileError, DuplicateEntryError, StoreBusyError
from memwb.sessions import FileStore, Memory, MemoryEntry, SessionInfo
from memwb.sessions.stores import _lines
from memwb.testing import ScriptedModel
from memwb.testing.sessions import ODD_IDS, session_entry

PROJECT = Path(__file__).parents[3]
CASES = PROJECT / "tests" / "cases"


@pytest.fixture
def base(tmp_path):
    return tmp_path / "memory"


def definable_line(entry):
    """A line as Definable documents and writes it."""
    return json.dumps(entry.to_dict(), ensure_ascii=False) + "\n"


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(lines).encode())
    return path


def written(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_an_entry_is_one_line_in_the_file_of_its_session_and_user(base):
    entry = session_entry("m1", "session-1", "alice", message_data={"k": ["é"]})
    await FileStore(base).add(entry)

    text = (base / "session-1" / "alice.jsonl").read_text(encoding="utf-8")
    assert (text.count("\n"), text[-1]) == (1, "\n")
    assert list(json.loads(text).items()) == list(entry.to_dict().items())


async def test_what_definable_wrote_is_opened_and_what_is_added_stands_in_its_file(base):
    entries = [session_entry(f"m{n}", "a:b", "50%", created_at=float(-n), message_data={"n": n}) for n in range(3)]
    path = write(base / "a:b" / "50%.jsonl", *map(definable_line, entries))
    store = FileStore(base)

    assert await store.get_entries("a:b", "50%") == entries[::-1]
    await store.add(session_entry("m9", "a:b", "50%"))
    await store.update(replace(entries[0], content="changed"))
    await store.delete("m1")
    assert [(record["memory_id"], record["content"]) for record in written(path)] == [
        ("m0", "changed"),
        ("m2", "text of m2"),
        ("m9", "text of m9"),
    ]
    assert await store.sessions() == [SessionInfo("a:b", "50%", 3, -2.0, 1.0)]


async def test_b16_good_lines_are_served_and_each_bad_one_is_reported_once(base):
    case = json.loads((CASES / "B16-damaged-lines.json").read_text(encoding="utf-8"))
    lines = [line["text"] + "\n" * line["eol"] for line in case["lines"]]
    path = write(base / case["file"], *lines)
    before = path.read_bytes()
    store = FileStore(base)

    with pytest.warns(UserWarning, match="left as they are") as told:
        assert [entry.memory_id for entry in await store.get_entries("s1", "u1")] == ["m1", "m4", "m9"]
    assert await store.count("s1", "u1") == 3
    assert (await store.get_entry("m4")).content == "kettle is loud"
    assert await FileStore(base).get_entry("m4") == await store.get_entry("m4")
    assert [(file, place) for file, place, _ in store.damage] == [
        (str(path), f"line {number}") for number in (2, 3, 5, 6, 7)
    ]
    assert [str(warning.message).partition(": ")[2].rpartition(", line")[2] for warning in told] == [
        " 2: no JSON: line 1, column 52: not JSON (Unterminated string starting at) and 4 more places. "
        "They are left out, and left as they are; `damage` of the store lists all."
    ]
    assert path.read_bytes() == before


async def test_damaged_lines_are_kept_when_the_file_is_written_anew_and_not_told_of_again(base):
    bad = ['{"cut": ', "null", "[1]", "null"]
    good = [definable_line(session_entry(f"m{number}")) for number in range(4)]
    path = write(base / "s1" / "default.jsonl", *(f"{a}{b}\n" for a, b in zip(good, bad, strict=True)))
    store = FileStore(base)
    with pytest.warns(UserWarning, match="left as they are") as told:
        assert await store.count("s1") == 4
    assert len(told) == 1

    await store.delete("m1")
    assert [place for _, place, _ in store.damage] == ["line 2", "line 3", "line 5", "line 7"]
    await store.update(session_entry("m2", content="changed"))
    await store.replace_session("s1", "default", [session_entry("new")])
    assert path.read_text().splitlines()[1:] == bad
    assert [place for _, place, _ in store.damage] == [f"line {number}" for number in range(2, 6)]
    assert await store.get_entries("s1") == [session_entry("new")]
    await store.delete_session("s1")
    assert store.damage == []


async def test_b17_a_cut_last_line_swallows_nothing(base):
    path = write(base / "s1" / "default.jsonl", definable_line(session_entry("one")), '{"memory_id": "two", "con')
    store = FileStore(base)
    await store.add(session_entry("three"))

    with pytest.warns(UserWarning, match=r"line 2: no JSON"):
        assert [entry.memory_id for entry in await store.get_entries("s1")] == ["one", "three"]
    assert await store.count("s1") == 2
    assert path.read_bytes().split(b"\n")[1] == b'{"memory_id": "two", "con'


async def test_a_last_line_without_newline_is_an_entry_also_when_more_is_added_to_it(base):
    path = write(base / "s1" / "default.jsonl", definable_line(session_entry("m1"))[:-1])
    store = FileStore(base)
    assert await store.count("s1") == 1
    await store.add(session_entry("m2"))
    with path.open("a") as file:
        file.write(definable_line(session_entry("m3"))[:-9])
    with pytest.warns(UserWarning, match="line 3"):
        assert await store.count("s1") == 2
    with path.open("a") as file:
        file.write(definable_line(session_entry("m3"))[-9:] + definable_line(session_entry("m4")))
    assert [entry.memory_id for entry in await store.get_entries("s1")] == ["m1", "m2", "m3", "m4"]
    assert store.damage == []


async def test_b20_a_byte_order_mark_costs_no_entry_and_stays(base):
    lines = [definable_line(session_entry(f"m{number}")) for number in range(2)]
    path = write(base / "s1" / "default.jsonl", "\ufeff", *lines)
    store = FileStore(base)

    assert await FileStore(base).get_entry("m0") == session_entry("m0")
    assert [entry.memory_id for entry in await store.get_entries("s1")] == ["m0", "m1"]
    await store.update(session_entry("m0", content="changed"))
    assert path.read_bytes().startswith(b"\xef\xbb\xbf{")
    assert [entry.content for entry in await store.get_entries("s1")] == ["changed", "text of m1"]
    assert store.damage == []


def test_b20_the_bytes_are_the_same_in_every_locale(tmp_path):
    script = """
import asyncio, sys
from memwb.sessions import *
async def main():
    for store in (FileStore(sys.argv[1] + "/files"), SQLiteStore(sys.argv[1] + "/memory.db"), InMemoryStore()):
        await store.add(MemoryEntry("東京", "m1", "naïve ✓", content="naïve ✓ 東京", created_at=1.0, updated_at=1.0))
        assert (await store.get_entries("東京", "naïve ✓"))[0].content == "naïve ✓ 東京"
        assert [info.session_id for info in await store.sessions()] == ["東京"]
asyncio.run(main())
"""
    program = write(tmp_path / "program.py", script)
    environments = ({"PYTHONUTF8": "0", "LC_ALL": "C"}, {"PYTHONUTF8": "1"})
    for number, environment in enumerate(environments):
        (tmp_path / str(number)).mkdir()
        subprocess.run(
            [sys.executable, "-W", "error", str(program), str(tmp_path / str(number))],
            env={**os.environ, "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": str(PROJECT), **environment},
            check=True,
        )
    found = [
        {os.fsencode(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.jsonl")}
        for folder in (tmp_path / "0", tmp_path / "1")
    ]
    assert found[0] == found[1]
    assert list(found[0]) == ["files/東京/naïve ✓.jsonl".encode()]


async def test_b31_hostile_ids_stay_inside_the_folder_and_are_safe_names(tmp_path, base):
    outside = write(tmp_path / "victim" / "default.jsonl", definable_line(session_entry("v", "../victim")))
    store = FileStore(base)
    for number, id in enumerate(ODD_IDS):
        await store.add(session_entry(f"m{number}", id, id))
    assert await store.get_entries("../victim") == []
    await store.delete_session("../victim")
    await store.delete_session("..", None)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory", "victim"]
    assert outside.exists()
    names = [path.name for path in base.iterdir()]
    assert len({name.casefold() for name in names}) == len(ODD_IDS)  # with the lock file, but "..\x" was removed
    assert all(len(name.encode()) <= 200 and name.isprintable() and name.rstrip(". ") == name for name in names)
    assert not any(set(name) & set('<>:"/\\|?*') for name in names)
    assert sorted(info.session_id for info in await store.sessions()) == sorted(set(ODD_IDS) - {".."})


async def test_ids_that_are_safe_names_are_their_own_names_and_others_are_encoded(base):
    store = FileStore(base)
    for number, id in enumerate(["chat 7", "東京", "a@b.com", "Ab", "aB", "a/b", "x" * 200]):
        await store.add(session_entry(f"m{number}", id))
    names = {path.name for path in base.iterdir() if path.is_dir()}
    (long,) = (name for name in names if len(name) > 20)
    assert re.fullmatch("%x{60}~[0-9a-f]{64}", long)
    assert names - {long} == {"chat 7", "東京", "a@b.com", "Ab", "%a%42", "%a%2fb"}


async def test_names_of_one_write_never_differ_in_case_alone(base):
    await FileStore(base).add_many(session_entry(f"m{n}", id, id) for n, id in enumerate(["Ab", "aB", "ab"]))
    await FileStore(base).add_many(session_entry(f"u{n}", "s", id) for n, id in enumerate(["Ab", "aB", "ab"]))
    for folder in (base, base / "s"):
        names = [path.name.casefold() for path in folder.iterdir()]
        assert len(set(names)) == len(names)
    assert len(await FileStore(base).sessions()) == 6


async def test_a_file_in_the_place_of_a_sessions_folder_is_left_alone(base):
    write(base / "notes", "mine")
    store = FileStore(base)
    await store.add(session_entry("m1", "notes"))
    assert await store.get_entries("notes") == [session_entry("m1", "notes")]
    assert (base / "notes").read_text() == "mine"
    assert (base / "%notes").is_dir()


async def test_an_encoded_name_and_an_id_that_looks_like_it_are_told_apart_by_the_records(base):
    write(base / "%a%2fb" / "default.jsonl", definable_line(session_entry("raw", "%a%2fb")))
    store = FileStore(base)
    await store.add(session_entry("m1", "a/b"))

    assert await store.get_entries("%a%2fb") == [session_entry("raw", "%a%2fb")]
    assert await store.get_entries("a/b") == [session_entry("m1", "a/b")]


async def test_a_line_of_another_session_is_damage_and_a_file_out_of_place_is_told(base):
    path = write(
        base / "s1" / "default.jsonl",
        definable_line(session_entry("m1")),
        definable_line(session_entry("m2", "s2")),
        definable_line(session_entry("m1", content="again")),
    )
    copy = write(base / "copy" / "default.jsonl", definable_line(session_entry("m5", "s1")))
    store = FileStore(base)

    with pytest.warns(UserWarning, match=r"left out, and left as (it is|they are)"):
        assert await store.sessions() == [SessionInfo("s1", "default", 1, 1.0, 1.0)]
    assert [(file, place) for file, place, _ in store.damage] == [
        (str(copy), "line 1"),
        (str(path), "line 2"),
        (str(path), "line 3"),
    ]
    assert await store.get_entries("copy") == []


@pytest.mark.filterwarnings("ignore:.*of session 'other'")
@pytest.mark.parametrize("place", [0, 1, 3])
async def test_a_line_of_somebody_elses_never_makes_a_file_his(base, place):
    """A foreign line is damage wherever it stands, also once it is the first good line, or the only one."""
    lines = [definable_line(session_entry(f"m{number}", created_at=float(number))) for number in range(3)]
    lines.insert(place, definable_line(session_entry("foreign", "other")))
    path = write(base / "s1" / "default.jsonl", *lines)
    store = FileStore(base)

    async def held():
        stores = (store, FileStore(base))
        found = [[entry.memory_id for entry in await one.get_entries("s1")] for one in stores]
        assert [info.session_id for one in stores for info in await one.sessions()] == ["s1"] * 2 * bool(found[0])
        assert await store.get_entries("other") == []
        assert await FileStore(base).get_entry("foreign") is None
        assert found[0] == found[1]
        assert sorted(base.rglob("*.jsonl")) == [path]
        assert json.loads(lines[place]) in written(path)
        return found[0]

    assert await held() == ["m0", "m1", "m2"]
    await store.delete("m0")
    assert await held() == ["m1", "m2"]
    await store.update(session_entry("m1", content="new"))
    assert (await FileStore(base).get_entry("m1")).content == "new"
    await store.add(session_entry("m3", created_at=9.0))
    assert await held() == ["m1", "m2", "m3"]
    assert await store.replace_session("s1", "default", [session_entry("n1")])
    assert await held() == ["n1"]
    await store.delete("n1")
    assert await held() == []
    await FileStore(base).add(session_entry("m4"))
    assert await held() == ["m4"]


async def test_a_file_with_a_foreign_line_in_front_is_summarised_in_its_place(base):
    lines = [definable_line(session_entry(f"m{number}", created_at=float(number))) for number in range(9)]
    write(base / "s1" / "default.jsonl", definable_line(session_entry("foreign", "a/b")), *lines)
    memory = Memory(FileStore(base), model=ScriptedModel(["in short"]), max_messages=9)
    with pytest.warns(UserWarning, match="of session 'a/b'"):
        await memory.add({"role": "user", "content": "tenth"}, "s1")
    assert [entry.content for entry in await memory.get_entries("s1")] == [
        *("text of m0", "text of m1", "in short", "text of m5", "text of m6", "text of m7", "text of m8", "tenth"),
    ]
    assert [(info.session_id, info.count) for info in await FileStore(base).sessions()] == [("s1", 8)]  # told once


async def test_a_file_that_is_found_under_a_name_of_other_letter_case_stays_its_owners(base):
    await FileStore(base).add(session_entry("m1", "aB"))
    os.symlink("aB", base / "AB")  # as a file system that knows no case shows it
    store = FileStore(base)
    assert await store.get_entries("AB") == []
    await store.add(session_entry("m2", "AB"))
    assert [await FileStore(base).get_entries(id) for id in ("aB", "AB")] == [
        [session_entry("m1", "aB")],
        [session_entry("m2", "AB")],
    ]


async def test_a_file_that_cannot_be_read_is_damage_and_the_others_are_served(base):
    await FileStore(base).add_many(session_entry(f"m{number}", f"s{number}") for number in range(2))
    bad = [base / "loop", base / "s0" / "loop.jsonl", base / "s0" / "u.jsonl", base / "s2" / "default.jsonl"]
    bad[2].mkdir()
    bad[3].mkdir(parents=True)
    for loop in bad[:2]:
        loop.symlink_to(loop.name)
    old = FileStore(base)
    with pytest.warns(UserWarning, match="it cannot be read: ") as told:
        assert [info.session_id for info in await old.sessions()] == ["s0", "s1"]
    assert [damage[:2] for damage in old.damage] == [(str(path), "all lines") for path in bad]
    assert len(told) == len(bad)

    assert await old.sessions() == await old.sessions()
    await old.add(session_entry("m2", "s1"))
    await old.add_many([session_entry("m3", "s1"), session_entry("m4", "new")])
    await old.update(session_entry("m1", "s1", content="changed"))
    await old.delete("m3")
    assert [entry.content for entry in await old.get_entries("s1")] == ["changed", "text of m2"]
    assert await old.get_entry("nobody's") is None
    await old.delete_session("s0", None)
    assert [info.session_id for info in await old.sessions()] == ["new", "s1"]
    for action in (old.get_entries("s2"), old.add(session_entry("m5", "s2"))):
        with pytest.raises(IsADirectoryError):
            await action
    bad[3].rmdir()
    await old.add(session_entry("m5", "s2"))
    assert str(bad[3]) not in [place for place, _, _ in old.damage]


@pytest.mark.filterwarnings("ignore:.*it cannot be read")
async def test_a_revision_can_be_told_beside_a_file_that_cannot_be_read(base, monkeypatch):
    await FileStore(base).add_many(session_entry(f"m{number}", f"s{number}") for number in range(2))
    (base / "s0" / "u.jsonl").mkdir()
    monkeypatch.setattr("memwb.sessions.stores._looked._SETTLED_NS", 0)
    store = FileStore(base)
    await store.sessions()
    seen = [await store.revision(), await store.revision("s0")]
    assert None not in seen
    assert [await store.revision(), await store.revision("s0")] == seen
    await store.add(session_entry("m2", "s0"))
    assert await store.revision() != seen[0]


async def test_fields_that_memwb_does_not_know_are_kept_by_an_update(base):
    record = {**session_entry("m1").to_dict(), "mine": {"n": 2**70}}
    path = write(base / "s1" / "default.jsonl", json.dumps(record), "\r\n")
    store = FileStore(base)
    await store.update(session_entry("m1", content="new", message_data={"n": 2**70}))

    (found,) = written(path)
    assert (found["mine"], found["content"], found["message_data"]) == ({"n": 2**70}, "new", {"n": 2**70})


async def test_missing_fields_have_their_documented_defaults_at_every_reading(base):
    write(base / "s1" / "default.jsonl", '{"memory_id": "m1", "session_id": "s1", "created_at": 5}\n')
    for _ in range(2):
        assert await FileStore(base).get_entries("s1") == [
            MemoryEntry("s1", "m1", "default", "user", "", None, 5.0, 5.0)
        ]


async def test_what_other_programs_write_is_seen_at_once_and_unchanged_files_are_not_read_again(base, monkeypatch):
    store = FileStore(base)
    path = write(base / "s1" / "default.jsonl", definable_line(session_entry("m1")))
    for number in range(30):  # of one size, within a tick of the file system's clock
        write(path, definable_line(session_entry("m1", content=f"{number:03}")))
        assert [entry.content for entry in await store.get_entries("s1")] == [f"{number:03}"]
        assert (await store.get_entries("s1", limit=1))[0].content == f"{number:03}"
        assert (await store.get_entry("m1")).content == f"{number:03}"

    old = os.stat(path).st_mtime - 60
    os.utime(path, (old, old))
    monkeypatch.setattr("memwb.sessions.stores._looked._SETTLED_NS", 0)
    assert await store.count("s1") == 1
    monkeypatch.setattr(_files, "read", None)
    assert await store.count("s1") == 1
    assert await store.sessions() == [SessionInfo("s1", "default", 1, 1.0, 1.0)]
    assert len(await store.get_entries("s1", limit=1)) == 1


async def test_what_memwb_itself_added_is_known_without_reading(base, monkeypatch):
    store = FileStore(base)
    for number in range(3):
        await store.add(session_entry(f"m{number}"))
    monkeypatch.setattr(_files, "read", None)
    assert await store.count("s1") == 3
    await store.add(session_entry("m3"))
    assert [entry.memory_id for entry in await store.get_entries("s1", limit=2)] == ["m2", "m3"]
    with pytest.raises(DuplicateEntryError):
        await store.add(session_entry("m3", "s1"))


HOLDS = """
import fcntl, sys
file = open(sys.argv[1], "a+")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def lock_held(base):
    """The folder's lock, held by another process."""
    command = [sys.executable, "-c", HOLDS, str(base / ".memwb.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


@pytest.mark.skipif(os.name == "nt", reason="needs flock")
async def test_while_another_process_writes_the_event_loop_goes_on_and_then_the_write_is_done(base):
    store = FileStore(base)
    await store.add(session_entry("m1"))
    with lock_held(base) as process:
        waiting = [asyncio.ensure_future(action) for action in (
            store.add(session_entry("m2")), FileStore(base).add_many([session_entry("m3")]), store.delete("m1"),
        )]  # fmt: skip
        given_up = asyncio.ensure_future(store.add(session_entry("never")))
        for _ in range(10):
            await asyncio.sleep(0.01)
        assert not any(task.done() for task in waiting)
        given_up.cancel()
        process.kill()
        await asyncio.wait_for(asyncio.gather(*waiting), 20)
    assert sorted(entry.memory_id for entry in await store.get_entries("s1")) == ["m2", "m3"]


@pytest.mark.skipif(os.name == "nt", reason="needs flock")
async def test_a_write_that_waits_too_long_is_an_error_that_names_the_file(base):
    await FileStore(base).add(session_entry("m1"))
    store = FileStore(base, timeout=0.05)
    with lock_held(base):
        with pytest.raises(StoreBusyError, match=r"\.memwb\.lock was locked by another program for 0\.05 sec") as told:
            await store.add(session_entry("m2"))
        assert (told.value.path, told.value.seconds) == (base / ".memwb.lock", 0.05)
        with pytest.raises(StoreBusyError):
            await FileStore(base, timeout=0).delete("m1")
    await store.add(session_entry("m2"))
    assert await store.count("s1") == 2


@pytest.mark.skipif(os.name == "nt", reason="needs flock")
async def test_readers_wait_only_for_what_another_process_is_adding_to_their_session_and_take_nothing_back(base):
    store = FileStore(base)
    await store.add_many([session_entry("m1"), session_entry("m2", "s2")])
    path = base / "s1" / "default.jsonl"
    size, line = path.stat().st_size, definable_line(session_entry("m3"))
    notes = json.dumps([["s1", "default.jsonl", size, 2 * len(line)]])
    with lock_held(base):
        (base / ".memwb").write_text(notes)
        with path.open("a") as file:
            file.write(line)
        for reader in (store, FileStore(base, timeout=0.05)):
            assert await reader.get_entries("s2") == [session_entry("m2", "s2")]
            assert await reader.count("s2") == 1
        for look in (reader.get_entries("s1"), reader.get_entry("m2"), reader.sessions(), reader.revision("s1")):
            with pytest.raises(StoreBusyError):
                await look
        waiting = asyncio.ensure_future(store.count("s1"))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        assert (path.stat().st_size, (base / ".memwb").exists()) == (size + len(line), True)
    assert await waiting == 1
    assert await store.get_entries("s1") == [session_entry("m1")]


def test_a_file_is_no_folder_of_sessions(tmp_path):
    path = tmp_path / "memory.db"
    path.write_bytes(b"")
    with pytest.raises(ConfigError, match=r"memory\.db' is a file; it must be a folder.*SQLiteStore") as refused:
        FileStore(path)
    assert (refused.value.key, refused.value.value) == ("base_dir", str(path))


async def test_a_file_that_could_not_be_read_for_a_while_is_no_damage_afterwards(base, monkeypatch):
    path = write(base / "s1" / "default.jsonl", definable_line(session_entry("m1")))
    store = FileStore(base)

    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    with monkeypatch.context() as patch:
        patch.setattr("memwb._files.look", refuse)
        with pytest.warns(UserWarning, match="it cannot be read: Permission denied"):
            assert await store.sessions() == []
    assert store.damage == []
    assert [info.count for info in await store.sessions()] == [1]
    assert path.exists()


async def test_a_store_made_again_reads_nothing_that_another_one_of_the_process_has_read(base, monkeypatch):
    monkeypatch.setattr("memwb.sessions.stores._looked._SETTLED_NS", 0)
    entries = [session_entry(f"m{number}", created_at=float(number)) for number in range(3)]
    first = FileStore(base)
    await first.add_many(entries)
    assert await first.count("s1") == 3
    with monkeypatch.context() as patch:
        patch.setattr("memwb._files.read", lambda path: pytest.fail("it was read again"))

        again = FileStore(base)
        assert await again.count("s1") == 3
        assert await again.get_entries("s1", limit=1) == entries[2:]
        assert await again.get_entry("m1") == entries[1]


async def test_what_cannot_be_read_is_listed_by_each_store_until_one_of_them_removes_it(base):
    path = write(base / "s1" / "default.jsonl", definable_line(session_entry("m1")), "null\n")
    first, second = FileStore(base), FileStore(base)
    with pytest.warns(UserWarning, match="left as it is"):
        assert await first.count("s1") == 1
    assert await second.count("s1") == 1  # which warns of nothing again
    assert first.damage == second.damage == [(str(path), "line 2", "it is None, no JSON object")]

    await first.delete_session("s1")
    assert [await store.count("s1") for store in (first, second)] == [0, 0]
    assert (first.damage, second.damage) == ([], [])


async def test_two_store_objects_on_one_folder_see_each_other(base):
    first, second = FileStore(base), FileStore(base)
    for number in range(4):
        await first.add(session_entry(f"a{number}", f"s{number % 2}"))
        await second.add(session_entry(f"b{number}", f"s{number % 2}"))
        for store in (first, second):
            for id in (f"a{number}", f"b{number}"):
                with pytest.raises(DuplicateEntryError):
                    await store.add(session_entry(id, "elsewhere"))
    assert await first.sessions() == await second.sessions()
    await first.delete("b1")
    await second.add(session_entry("b1", "s9"))
    assert await first.get_entry("b1") == session_entry("b1", "s9")


async def test_what_a_killed_program_added_in_part_is_taken_back(base):
    store = FileStore(base)
    await store.add(session_entry("m1"))
    kept = base / "s1" / "default.jsonl"
    before = kept.read_bytes()
    lines = [definable_line(session_entry(f"n{number}")) for number in range(2)]
    new = base / "s2" / "default.jsonl"
    notes = [["s1", "default.jsonl", len(before), sum(map(len, lines))], ["s2", "default.jsonl", None, 200]]
    for after in (lines[0], lines[0] + lines[1][:20]):
        for reader in (store, FileStore(base)):
            kept.write_bytes(before + after.encode())
            write(new, lines[0][:50])
            (base / ".memwb").write_text(json.dumps(notes))
            assert await reader.get_entries("s1") == [session_entry("m1")]
            assert (kept.read_bytes(), new.exists(), (base / ".memwb").exists()) == (before, False, False)
    await store.add(session_entry("n0"))
    assert await store.count("s1") == 2


async def test_what_another_program_added_after_a_kill_is_not_taken_back(base):
    store = FileStore(base)
    await store.add(session_entry("m1"))
    path = base / "s1" / "default.jsonl"
    size = path.stat().st_size
    with path.open("a") as file:
        file.write(definable_line(session_entry("n1")) + definable_line(session_entry("foreign")))
    (base / ".memwb").write_text(json.dumps([["s1", "default.jsonl", size, 100]]))
    assert [entry.memory_id for entry in await store.get_entries("s1")] == ["m1", "n1", "foreign"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("cut", [1, 4096, 5400, 12_000])
@pytest.mark.parametrize("foreign", [None, "\n", ""])
@pytest.mark.filterwarnings("ignore:.*no JSON")
def test_what_a_killed_program_added_is_taken_back_unless_another_one_wrote_behind_it(base, foreign, cut, ended):
    asyncio.run(FileStore(base).add(session_entry("m1")))
    path = base / "s1" / "default.jsonl"
    before = path.read_bytes() if ended else path.read_bytes()[:-1]
    path.write_bytes(before)
    many = [session_entry(f"big{number}", content="x" * 5000) for number in range(4)]
    pid = os.fork()
    if not pid:
        really = os.write

        def killed(descriptor, data):
            if len(data) > 20_000:
                really(descriptor, data[:cut])
                os.kill(os.getpid(), signal.SIGKILL)
            return really(descriptor, data)

        os.write = killed
        asyncio.run(FileStore(base).add_many(many))
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert (base / ".memwb").exists()

    left = path.read_bytes()
    if foreign is not None:
        with path.open("a") as file:
            file.write(foreign + definable_line(session_entry("said")))
    found = [entry.memory_id for entry in asyncio.run(FileStore(base).get_entries("s1"))]
    if foreign is None:
        assert (found, path.read_bytes()) == (["m1"], before)
    else:
        assert path.read_bytes() == left + (foreign + definable_line(session_entry("said"))).encode()
        assert ("said" in found) == (foreign == "\n" or left.endswith(b"\n"))
    assert not (base / ".memwb").exists()


async def test_a_file_of_somebodys_in_the_place_of_the_notes_stays_and_is_named(base):
    write(base / ".memwb", "my own")
    with pytest.raises(DamagedFileError, match="Move it to another place"):
        await FileStore(base).add(session_entry("m1"))
    assert (base / ".memwb").read_text() == "my own"


@pytest.mark.parametrize("sizes", [{}, {0: 400}])
async def test_a_write_that_fails_changes_nothing_and_the_next_one_works(base, monkeypatch, sizes):
    store = FileStore(base)
    await store.add(session_entry("m1"))
    before = (base / "s1" / "default.jsonl").read_bytes()
    write_really, calls = os.write, []

    def half(descriptor, data):
        calls.append(data)
        if len(calls) == 1 and not sizes:
            return write_really(descriptor, data[:7])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    for action in (store.add(session_entry("m2")), store.add_many([session_entry("m2"), session_entry("m3", "s3")])):
        with pytest.raises(OSError, match="No space left"):
            await action
        calls.clear()
    monkeypatch.undo()
    assert (base / "s1" / "default.jsonl").read_bytes() == before
    assert not (base / ".memwb").exists()
    await store.add_many([session_entry("m2"), session_entry("m3", "s3")])
    assert await store.count("s1") == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_writers_temporary_file_and_folder_are_removed_by_the_next_write(base, monkeypatch):
    asyncio.run(FileStore(base).add(session_entry("m1")))
    monkeypatch.setattr(os, "replace", lambda *paths: os.kill(os.getpid(), signal.SIGKILL))
    pid = os.fork()
    if not pid:
        asyncio.run(FileStore(base).update(session_entry("m1", content="new")))
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    monkeypatch.undo()
    gone = write(base / ".memwb-gone-0123456789ab" / "u.jsonl", definable_line(session_entry("x", "gone", "u")))
    assert [path.suffix for path in (base / "s1").iterdir() if path.name.startswith(".")] == [".tmp"]

    other = FileStore(base)
    assert asyncio.run(other.get_entry("x")) is None
    asyncio.run(other.add(session_entry("m2", "s2")))
    assert [path.name for path in (base / "s1").iterdir()] == ["default.jsonl"]
    assert not gone.parent.exists()
    assert asyncio.run(other.get_entries("s1")) == [session_entry("m1")]


async def test_removing_a_session_removes_its_folder_and_nothing_that_is_not_its_own(base):
    store = FileStore(base)
    await store.add_many(session_entry(f"m{n}", f"s{n % 2}", f"u{n}") for n in range(6))
    write(base / "s1" / "notes.txt", "mine")
    await store.delete_session("s0", None)
    await store.delete_session("s1", None)
    assert sorted(path.name for path in base.rglob("*")) == [".memwb.lock", "notes.txt", "s1"]


async def test_b37_the_folder_is_fixed_when_the_store_is_built(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    home, here = FileStore("~/memory"), FileStore("sub/new")
    await here.add(session_entry("m1"))
    monkeypatch.chdir("/")
    await here.add(session_entry("m2"))
    await home.add(session_entry("m1"))
    assert await here.count("s1") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "sub"]
    assert (tmp_path / "home" / "memory" / "s1" / "default.jsonl").exists()


@pytest.mark.parametrize("bad", [None, 5, "", " ", "a\0b", b"x"])
def test_a_bad_folder_or_flag_is_refused(bad):
    with pytest.raises(ConfigError, match="base_dir"):
        FileStore(bad)
    with pytest.raises(ConfigError, match="durable"):
        FileStore("x", durable=bad)


@pytest.mark.parametrize("bad", [None, "5", True, -1, float("nan"), float("inf")])
def test_a_timeout_that_is_no_number_of_seconds_is_refused(bad):
    with pytest.raises(ConfigError, match="timeout"):
        FileStore("x", timeout=bad)


async def test_a_durable_store_waits_for_the_disk(base, monkeypatch):
    synced = []
    monkeypatch.setattr(_files, "_sync", synced.append)
    await FileStore(base).add(session_entry("m1"))
    assert synced == []
    await FileStore(base, durable=True).add(session_entry("m2"))
    assert len(synced) == 1
    await FileStore(base, durable=True).add(session_entry("m3", "s2"))
    assert len(synced) > 2


@pytest.mark.parametrize("id", ["m1", "m\u00e9", 'm"1', "m\\u0031", "m/1"])
@pytest.mark.parametrize("ascii", [True, False])
async def test_an_entry_is_found_by_its_id_however_that_is_written(base, id, ascii):
    others = [session_entry(f"x{n}", content=f'"{id}" {id}', message_data={"memory_id": id}) for n in range(2)]
    lines = [json.dumps(entry.to_dict(), ensure_ascii=ascii) + "\n" for entry in (*others, session_entry(id))]
    path = write(base / "s1" / "default.jsonl", *lines)
    for store in (FileStore(base), FileStore(base)):
        assert await store.get_entry(id) == session_entry(id)
        assert await store.get_entry("x") is None
    await FileStore(base).delete(id)
    assert path.read_text(encoding="utf-8") == "".join(lines[:2])


def test_the_lines_that_are_read_are_those_that_are_extended():
    rows = [("m1", "s", "u", "user", "é", None, 1.0, 1.0), ("m2", "s", "u", "user", "b", b'{"k":1}', 0.5, 1.0)]
    data = b"".join(map(_lines.line_of, rows))[:-1]
    read, extended = _lines.Lines(), _lines.Lines()
    read.read(data)
    extended.read(data[: data.index(b"\n")])
    added = b"\n" + _lines.line_of(rows[1])
    extended.extend(rows[1], added)
    read.read(data + b"\n")
    seen = [
        (it.key, it.ids, it.starts, it.ends, it.times, it.in_order, it.size, it.crc, it.lines)
        for it in (read, extended)
    ]
    assert seen[0] == seen[1]


GOOD = session_entry("m", role="assistant", message_data={"n": [1, None], "\u00e9": 1e-5}).to_dict()
LINES = [
    *(json.dumps({**GOOD, "memory_id": id, "created_at": time}) for id in ("a", "b", "c") for time in (0.5, 1.0)),
    *(json.dumps({**GOOD, **odd}, ensure_ascii=False) for odd in (
        {"message_data": None}, {"memory_id": ""}, {"memory_id": 1}, {"memory_id": ["a"]}, {"session_id": "s2"},
        {"user_id": "u2"}, {"user_id": ""}, {"role": None}, {"content": 1}, {"message_data": "{}"},
        {"message_data": []}, {"message_data": {"big": 2**64 + 1}}, {"message_data": {"digits": "1" * 30}},
        {"created_at": 1}, {"created_at": "1"}, {"created_at": 1e301}, {"updated_at": None}, {"updated_at": True},
        {"more": 1},
    )),
    json.dumps({name: value for name, value in GOOD.items() if name != "user_id"}),
    json.dumps(GOOD) + "\r", json.dumps(GOOD)[:-9], json.dumps([GOOD]), json.dumps(GOOD) * 2,
    json.dumps(GOOD).replace("assistant", "\\ud800"), "", " ", "null", "NaN",
]  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=4), st.integers(0, 4), st.booleans(), st.booleans())
def test_lines_are_read_together_as_they_are_one_after_the_other(lines, first, ended, marked):
    data = (b"\xef\xbb\xbf" if marked else b"") + "\n".join(lines).encode() + b"\n" * ended
    start = ("\n".join(lines[:first]) + "\n").encode() if lines[first:] and not marked else b""
    seen = []
    for together in (True, False):
        read = _lines.Lines()
        if not together:
            read._read_common = lambda data, begin: []
        entries = (read.read(start[: len(data)]) if start else []) + read.read(data)
        if start == b"" or len(start) <= len(data):
            assert read.read_again(data) == entries
        state = {name: value for name, value in vars(read).items() if name not in ("_read_common", "common")}
        seen.append((entries, state))
    assert seen[0] == seen[1]
