"""What lies at a path is told by looking: memories, sessions in a database, sessions in a folder, or something else."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from memwb.errors import ConfigError
from memwb.sessions import FileStore, InMemoryStore, Memory, MemoryEntry, SQLiteStore
from memwb.stores import SessionSearch, TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.paths import open_path
from memwb.workbench.source import open_source

ENTRY = MemoryEntry("monday", "a", "ann", content="I walk with a cane.")


async def database(path):
    async with SQLiteStore(path) as store:
        await store.add(ENTRY)
    return path


async def folder(path):
    async with FileStore(path) as store:
        await store.add(ENTRY)
    return path


@pytest.mark.parametrize("make", [database, folder])
@pytest.mark.parametrize("name", ["memory.db", "memory.json", "memory"])
async def test_sessions_are_told_by_what_is_there_and_searched(make, name, tmp_path):
    path = await make(tmp_path / name)

    for form in (path, str(path)):
        opened = open_source(form)
        (store,) = opened.stores
        assert (type(store), store.name, type(opened.sessions)) == (
            SessionSearch,
            "memory",
            {database: SQLiteStore, folder: FileStore}[make],
        )
    state = WorkbenchState(path, "Do I walk?")
    await state.settled()
    assert repr(state) == "Workbench(1 store, 1 entry; call 1: 1 of 1 hit injected)"
    assert await opened.sessions.get_entries("monday", "ann") == [ENTRY]
    await opened.sessions.close()
    state.close()


async def test_a_file_of_memories_is_one_whatever_its_name(tmp_path):
    path = tmp_path / "memory.db"
    path.write_text(json.dumps([{"id": "1", "content": "tea", "createdAt": "2026-01-01T00:00:00.000Z"}]))

    assert isinstance(open_path(path), TestMemoryStore)
    assert [record.content for record in await open_path(path).page(0, 9)] == ["tea"]
    assert isinstance(open_path(tmp_path / "none.json"), TestMemoryStore)


async def test_a_store_of_sessions_and_a_memory_are_opened_too():
    store = InMemoryStore()
    memory = Memory(store)

    assert (open_source(store).sessions, open_source(memory).sessions) == (store, memory)
    assert await open_source(memory).stores[0].count() == 0
    assert open_source(TestMemoryStore(name="notes", persist=False)).sessions is None


def test_an_empty_folder_has_no_sessions_yet(tmp_path):
    assert isinstance(open_path(tmp_path), FileStore)


def test_what_is_something_else_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "session_1" / "agents" / "agent_default").mkdir(parents=True)
    (tmp_path / "lines.jsonl").write_text("{}")
    (tmp_path / "empty.db").touch()
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE things (id)")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    for name, told in (
        ("", r"is a folder without sessions .*; it holds 'empty.db', 'lines.jsonl', 'other.db', 'session_1'; give a"),
        ("session_1", r"is a session of the Strands SDK; open it by Workbench\(\.\.\., messages=Path\(\.\.\.\)\)"),
        ("lines.jsonl", "is a JSONL file; give the folder of sessions that it lies in"),
        ("empty.db", "is empty; give the path of a database of memories or sessions; SQLiteMemoryStore"),
        ("none.db", "does not exist; give the path of a database of memories or sessions; SQLiteMemoryStore"),
        (
            "other.db",
            r"is a database without memories and without sessions \(the table .*\); it holds 'things'; give another",
        ),
    ):
        with pytest.raises(ConfigError, match=told) as caught:
            open_path(tmp_path / name)
        assert caught.value.key == "source"
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


async def test_sessions_of_which_nothing_can_be_read_are_told_with_their_damage(tmp_path):
    lines = await folder(tmp_path / "sessions") / "monday" / "ann.jsonl"
    lines.write_bytes(b"null\n" * 3)

    state = WorkbenchState(tmp_path / "sessions", "cane")
    with pytest.warns(UserWarning, match="line [123]"):
        await state.settled()
    told = "'sessions' holds nothing that can be read: ann.jsonl, line 1: it is None, no JSON object, and 2 others"
    assert repr(state) == f"Workbench(1 store, 0 entries; call 1: nothing found: {told})"
    state.close()


async def test_sessions_are_searched_in_a_workbench_beside_other_stores():
    sessions = InMemoryStore()
    await sessions.add(ENTRY)
    notes = TestMemoryStore.from_records(["A cane is a stick."], name="notes")
    state = WorkbenchState([notes, SessionSearch(sessions, user_id="ann")], "cane")
    await state.settled()

    assert [(hit.store, hit.entry.content) for hit in state.preview.trace.hits] == [
        ("notes", "A cane is a stick."),
        ("sessions", "I walk with a cane."),
    ]
    state.close()


def test_a_path_without_suffix_that_does_not_exist_says_what_lies_beside_it(tmp_path):
    for name in ("a.txt", "b.txt", "c.txt", "d.txt", "notes.json", ".hidden"):
        tmp_path.joinpath(name).touch()
    tmp_path.joinpath("note").mkdir()

    with pytest.raises(ConfigError) as refused:
        open_path(tmp_path / "notes")
    assert str(refused.value) == (
        f"Workbench: {str(tmp_path / 'notes')!r} does not exist; beside it: 'note/', 'notes.json', 'a.txt', 'b.txt', "
        "'c.txt' and 1 more; for a new file of memories give a name with .json."
    )
    with pytest.raises(ConfigError, match=r"there is no folder '.*nowhere' either; for a new file"):
        open_path(tmp_path / "nowhere" / "notes")
    with pytest.raises(ConfigError, match="beside it: nothing; for a new file"):
        open_path(tmp_path / "note" / "notes")
