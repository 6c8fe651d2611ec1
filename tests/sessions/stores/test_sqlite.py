"""SQLiteStore: one connection, no open transaction, other programs, damage, and Definable's databases."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from memwb.errors import ConfigError, DamagedFileError, DuplicateEntryError, EntryNotFoundError, StoreBusyError
from memwb.sessions import MemoryEntry, SessionInfo, SQLiteStore
from memwb.testing.sessions import session_entry

PROJECT = Path(__file__).parents[3]

# The documented columns in the documented order, with indexes of one column each.
DEFINABLE = """
CREATE TABLE session_entries (memory_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, user_id TEXT NOT NULL DEFAULT
'default', role TEXT NOT NULL DEFAULT 'user', content TEXT NOT NULL DEFAULT '', message_data TEXT, created_at REAL
NOT NULL, updated_at REAL NOT NULL);
CREATE INDEX idx_session_entries_session ON session_entries(session_id);
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


def written(path, *entries, loose=False):
    """Make a database as another program does; ``loose``: with columns that take anything."""
    with sqlite3.connect(path) as connection:
        connection.executescript(DEFINABLE.replace(" NOT NULL", "").replace(" REAL", "") if loose else DEFINABLE)
        for entry in entries:
            values = entry.to_dict() if isinstance(entry, MemoryEntry) else entry
            data = values["message_data"]
            row = {**values, "message_data": json.dumps(data) if isinstance(data, dict) else data}
            connection.execute(
                "INSERT INTO session_entries VALUES (:memory_id, :session_id, :user_id, :role, :content, "
                ":message_data, :created_at, :updated_at)",
                row,
            )
    connection.close()


def rows(path, statement="SELECT * FROM session_entries"):
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


async def test_the_table_has_the_documented_columns_in_their_order_and_one_index(path):
    await SQLiteStore(path).add(session_entry("m1", "s", "u", message_data={"k": ["é"]}))

    assert rows(path) == [("m1", "s", "u", "user", "text of m1", '{"k":["é"]}', 1.0, 1.0)]
    assert [row[0] for row in rows(path, "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE INDEX%'")] == [
        "session_entries_in_order"
    ]
    plan = rows(
        path, "EXPLAIN QUERY PLAN SELECT count(*) FROM session_entries WHERE session_id = 's' AND user_id = 'u'"
    )
    assert "COVERING INDEX session_entries_in_order" in plan[0][3]


async def test_a_database_of_definable_is_opened_and_given_the_index(path):
    entries = [session_entry(f"m{n}", "s1", "u", created_at=float(-n), message_data={"n": n}) for n in range(3)]
    written(path, *entries)
    store = SQLiteStore(path)

    assert await store.get_entries("s1", "u") == entries[::-1]
    await store.add(session_entry("m9", "s1", "u"))
    assert await store.sessions() == [SessionInfo("s1", "u", 4, -2.0, 1.0)]
    assert rows(path, "PRAGMA index_list(session_entries)")[0][1] == "session_entries_in_order"
    assert rows(path)[-1] == ("m9", "s1", "u", "user", "text of m9", None, 1.0, 1.0)


async def test_b16_a_bad_cell_costs_its_row_alone_and_is_reported_once(path):
    good = [session_entry(f"m{number}", created_at=float(number)) for number in (0, 9)]
    bad = {
        "json": {"message_data": "{oops"},
        "list": {"message_data": "[1]"},
        "nan": {"message_data": '{"n": NaN}'},
        "time": {"created_at": "later"},
        "infinite": {"updated_at": float("inf")},
        "blob": {"content": b"bytes"},
        "no content": {"content": None},
        "no user": {"user_id": ""},
    }
    written(path, good[0], *({**session_entry(id).to_dict(), **cell} for id, cell in bad.items()), good[1], loose=True)
    before = rows(path)
    store = SQLiteStore(path)

    with pytest.warns(UserWarning, match="left as it is") as told:
        assert await store.count("s1") == 2
    assert len(told) == 7
    assert await store.get_entries("s1") == good
    assert await store.get_entries("s1", limit=2) == good
    with pytest.warns(UserWarning, match="created_at is 'later', no time"):  # which sorts as the newest
        assert await SQLiteStore(path).get_entries("s1", limit=1) == good[1:]
    with pytest.warns(UserWarning, match="user_id is empty"):
        assert await store.sessions() == [SessionInfo("s1", "default", 2, 0.0, 9.0)]
    assert [place for _, place, _ in store.damage] == [f"memory_id {id!r}" for id in bad]
    assert {table for table, _, _ in store.damage} == {"session_entries"}
    assert await store.get_entry("json") is None
    with pytest.raises(EntryNotFoundError):
        await store.update(session_entry("json"))
    with pytest.raises(DuplicateEntryError):
        await store.add(session_entry("json"))
    assert rows(path) == before
    await store.delete("json")
    assert len(store.damage) == 7


async def test_b16_text_that_is_no_utf8_costs_its_row_alone(path):
    written(path, session_entry("m1"), session_entry("m2"), session_entry("m3"))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE session_entries SET content = CAST(X'61FF62' AS TEXT) WHERE memory_id = 'm2'")
    connection.close()
    store = SQLiteStore(path)

    with pytest.warns(UserWarning, match="memory_id 'm2': content"):
        assert [entry.memory_id for entry in await store.get_entries("s1")] == ["m1", "m3"]
    assert await store.count("s1") == 2
    assert await store.get_entry("m3") == session_entry("m3")


async def test_damaged_rows_stay_when_their_session_is_replaced_and_are_seen_when_they_come_later(path):
    written(path, session_entry("m1"), {**session_entry("bad").to_dict(), "message_data": "{"})
    store = SQLiteStore(path)
    with pytest.warns(UserWarning, match="'bad'"):
        assert await store.count("s1") == 1
    await store.replace_session("s1", "default", [session_entry("new")])
    assert [row[0] for row in rows(path)] == ["bad", "new"]
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO session_entries VALUES ('later', 's1', 'default', 'user', '', '{', 1, 1)")
    connection.close()
    with pytest.warns(UserWarning, match="'later'"):
        assert await store.count("s1") == 1
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE session_entries SET message_data = NULL WHERE memory_id = 'bad'")
    connection.close()
    assert len(await store.get_entries("s1")) == 2
    assert (await store.count("s1"), len(store.damage)) == (2, 1)


async def test_a_count_is_kept_only_until_anybody_changes_the_database_or_damage_is_met(path):
    store, other = SQLiteStore(path), SQLiteStore(path)
    await store.add_many([session_entry(id) for id in "abcd"])
    assert [await store.count("s1"), await store.count("s1"), await store.count("s2")] == [4, 4, 0]
    await other.delete("a")
    assert (await store.count("s1"), await other.count("s1")) == (3, 3)
    await store.add(session_entry("e", session_id="s2"))
    assert [await store.count("s1"), await store.count("s2")] == [3, 1]
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE session_entries SET message_data = 'x' WHERE memory_id = 'b'")
    connection.close()
    await store.count("s1")
    with pytest.warns(UserWarning, match="no JSON"):
        assert len(await store.get_entries("s1")) == 2
    assert await store.count("s1") == 2


async def test_entries_that_are_given_one_by_one_are_not_all_in_memory(path):
    async with SQLiteStore(path) as store:
        await store.add_many([session_entry(f"m{n}", content="x" * 2_000) for n in range(4_000)])
        tracemalloc.start()
        count = 0
        async for _ in store.iter_entries("s1"):
            count += 1
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert count == 4_000
    assert peak < 4_000_000  # of 8 MB


def gone(path):
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


async def test_a_database_that_is_removed_while_it_is_open_is_made_anew_by_the_next_write(path):
    async with SQLiteStore(path) as store, SQLiteStore(path) as other:
        await store.add(session_entry("a"))
        gone(path)
        await store.add(session_entry("b"))

        assert [row[0] for row in rows(path)] == ["b"]
        assert [each.memory_id for each in await other.get_entries("s1")] == ["b"]
        assert await store.count("s1") == 1


async def test_a_database_that_is_renamed_or_replaced_while_it_is_open_is_left_for_what_the_path_names(path, tmp_path):
    store = SQLiteStore(path)
    await store.add(session_entry("old"))
    for each in tmp_path.glob("memory.db*"):
        each.rename(tmp_path / each.name.replace("memory", "kept"))
    await store.add(session_entry("new"))
    await store.add(session_entry("newer"))
    assert [[row[0] for row in rows(tmp_path / name)] for name in ("kept.db", "memory.db")] == [
        ["old"],
        ["new", "newer"],
    ]

    written(tmp_path / "other.db", session_entry("theirs"))
    gone(path)
    (tmp_path / "other.db").rename(path)
    await store.add(session_entry("ours"))
    await store.close()
    assert [row[0] for row in rows(path)] == ["theirs", "ours"]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


async def test_what_was_known_of_the_rows_of_a_replaced_database_is_forgotten(path):
    written(path, {**session_entry("bad").to_dict(), "message_data": "{"}, session_entry("m1"))
    async with SQLiteStore(path) as store:
        with pytest.warns(UserWarning, match="'bad'"):
            assert await store.count("s1") == 1
        gone(path)
        written(path, session_entry("m2"), {**session_entry("worse").to_dict(), "message_data": "{"})
        with pytest.warns(UserWarning, match="'worse'"):
            assert await store.count("s1") == 1
        assert [at for _, at, _ in store.damage] == ["memory_id 'worse'"]


def test_b26_a_store_that_nobody_closes_keeps_no_process_alive_and_prints_nothing(path):
    for scope in ("store = None", "pass"):
        program = f"""
import asyncio, threading
from memwb.sessions import MemoryEntry, SQLiteStore
{scope}
async def main():
    {"global store" if scope != "pass" else "pass"}
    store = SQLiteStore({str(path)!r})
    await store.add(MemoryEntry("s1"))
    assert threading.active_count() == 1
asyncio.run(main())
"""
        begin = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            cwd=PROJECT, capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert time.monotonic() - begin < 10
    assert len(rows(path)) == 2


def test_b29_the_first_use_is_made_once_however_many_callers_loops_and_threads_race(path, monkeypatch):
    opened, connect = [], sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: opened.append(args) or connect(*args, **more))
    store, before = SQLiteStore(path), threading.active_count()

    async def add(prefix, count):
        await asyncio.gather(*(store.add(session_entry(f"{prefix}{number}")) for number in range(count)))

    asyncio.run(add("a", 20))
    asyncio.run(add("b", 5))
    threads = [threading.Thread(target=lambda n=n: asyncio.run(add(f"t{n}.", 5))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(opened), asyncio.run(store.count("s1"))) == (1, 45)
    assert threading.active_count() <= before


async def test_b30_no_transaction_stays_open_after_a_call_however_it_ends(path):
    store = SQLiteStore(path)
    await store.add(session_entry("m1"))
    for action in (
        store.add(session_entry("m1")),
        store.add_many([session_entry("m2"), session_entry("m1")]),
        store.update(session_entry("none")),
        store.update(session_entry("m1", "elsewhere")),
        store.replace_session("s2", "default", [session_entry("m3", "s2"), session_entry("m1", "s2")]),
    ):
        with pytest.raises((ValueError, KeyError)):
            await action
        assert not store._database._connection.in_transaction
        with sqlite3.connect(path, timeout=0) as other:  # hence another program can write
            other.execute("UPDATE session_entries SET role = 'x'")
        other.close()
    assert [row[0] for row in rows(path)] == ["m1"]


async def test_a_locked_database_is_waited_for_while_the_event_loop_runs(path):
    store = SQLiteStore(path)
    await store.add(session_entry("m1"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ticks = 0
    adding = asyncio.create_task(store.add(session_entry("m2")))
    for _ in range(20):
        await asyncio.sleep(0.002)
        ticks += 1
    assert (ticks, adding.done()) == (20, False)
    assert await store.count("s1") == 1  # readers do not wait
    other.execute("COMMIT")
    await adding
    assert await store.count("s1") == 2
    other.close()


async def test_a_database_that_stays_locked_is_an_error_that_names_the_file_and_nothing_is_changed(path):
    store = SQLiteStore(path, timeout=0.05)
    await store.add(session_entry("m1"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for action in (
        store.add(session_entry("m2")),
        store.update(session_entry("m1", content="new")),
        store.delete("m1"),
        store.replace_session("s1", "default", []),
    ):
        with pytest.raises(StoreBusyError, match=str(path)) as caught:
            await action
        assert (caught.value.path, caught.value.seconds) == (path, 0.05)
        assert isinstance(caught.value, OSError)
    cancelled = asyncio.create_task(SQLiteStore(path).add(session_entry("m3")))
    await asyncio.sleep(0.02)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    other.execute("ROLLBACK")
    other.close()
    await store.add(session_entry("m4"))
    assert [row[0] for row in rows(path)] == ["m1", "m4"]


async def test_the_database_is_waited_for_while_it_is_opened_too(path):
    written(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreBusyError, match=str(path)):
        await SQLiteStore(path, timeout=0.02).initialize()
    adding = asyncio.create_task(SQLiteStore(path).add(session_entry("m1")))
    await asyncio.sleep(0.02)
    other.execute("ROLLBACK")
    other.close()
    await adding
    assert len(rows(path)) == 1


@pytest.mark.parametrize("content", [b"no database at all" * 99, b"\x00" * 4096])
async def test_a_file_that_is_no_database_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=str(path)):
        await SQLiteStore(path).add(session_entry("m1"))
    assert path.read_bytes() == content


async def test_a_table_of_that_name_with_other_columns_is_refused(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE session_entries (id, text)")
    connection.close()
    with pytest.raises(DamagedFileError, match="no column memory_id, session_id"):
        await SQLiteStore(path).count("s1")
    assert rows(path, "SELECT count(*) FROM sqlite_master") == [(1,)]


async def test_a_place_where_no_file_can_be_is_an_os_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "memory.db"):
        with pytest.raises(OSError, match=str(path)):
            await SQLiteStore(path).add(session_entry("m1"))
    with pytest.raises(IsADirectoryError, match="is a folder, not a database; FileStore keeps sessions in folders"):
        await SQLiteStore(tmp_path).get_entries("s1")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("wal", [False, True])
def test_a_database_that_may_only_be_read_is_read(tmp_path, wal):
    """The reader is another user, who may neither change the file nor make one beside it."""
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o755)
    for part in (*tmp_path.parents[:3], tmp_path):
        part.chmod(part.stat().st_mode | 0o055) if part != Path("/") else None
    written(folder / "memory.db", session_entry("m1"))
    if wal:
        asyncio.run(_opened_and_closed(folder / "memory.db"))
    os.chmod(folder / "memory.db", 0o644)
    program = f"""
import asyncio, os, sys
sys.path.insert(0, {str(PROJECT)!r})
from memwb.sessions import MemoryEntry, SQLiteStore
import sqlite3
os.setgid(65534); os.setuid(65534)
async def main():
    store = SQLiteStore({str(folder / "memory.db")!r})
    assert [entry.memory_id for entry in await store.get_entries("s1")] == ["m1"]
    assert (await store.count("s1"), len(await store.sessions())) == (1, 1)
    try:
        await store.add(MemoryEntry("s1"))
    except OSError as error:
        assert "memory.db" in str(error), error
    else:
        raise AssertionError("written")
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


async def _opened_and_closed(path):
    async with SQLiteStore(path) as store:
        await store.count("s1")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_and_its_parent_both_go_on(path):
    program = f"""
import asyncio, os
from memwb.sessions import MemoryEntry, SQLiteStore
store = SQLiteStore({str(path)!r})
def add(prefix, count):
    async def adding():
        for number in range(count):
            await store.add(MemoryEntry("s1", f"{{prefix}}{{number}}"))
    asyncio.run(adding())
add("before", 3)
children = []
for child in range(3):
    pid = os.fork()
    if not pid:
        add(f"child{{child}}.", 10)
        os._exit(0)
    children.append(pid)
add("parent", 10)
asyncio.run(store.close())
assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(rows(path)) == 3 + 10 + 30


async def test_b37_the_file_is_fixed_when_the_store_is_built_and_its_folders_are_made(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    home, here = SQLiteStore("~/memory.db"), SQLiteStore("sub/new/memory.db")
    await here.add(session_entry("m1"))
    monkeypatch.chdir("/")
    await here.close()
    await here.add(session_entry("m2"))
    await home.add(session_entry("m1"))
    assert await here.count("s1") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "sub"]
    assert (tmp_path / "home" / "memory.db").exists()


async def test_b54_text_after_a_nul_is_found_by_a_filter(path):
    store = SQLiteStore(path)
    await store.add(session_entry("m1", content="a\x00b"))
    assert [entry.content for entry in await store.get_entries("s1") if "b" in entry.content] == ["a\x00b"]
    assert len((await store.get_entry("m1")).content) == 3


async def test_a_database_in_memory_lasts_until_it_is_closed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = SQLiteStore(":memory:")
    await store.add(session_entry("m1"))
    assert await store.get_entries("s1") == [session_entry("m1")]
    await store.close()
    assert await store.get_entries("s1") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", [None, -1, float("inf"), "5", True])
def test_a_bad_setting_is_refused(bad):
    with pytest.raises(ConfigError, match="timeout"):
        SQLiteStore("x", timeout=bad)
    if bad is not True:
        with pytest.raises(ConfigError, match="durable"):
            SQLiteStore("x", durable=bad)
    if bad != "5":
        with pytest.raises(ConfigError, match="db_path"):
            SQLiteStore(bad)


async def test_a_durable_store_waits_for_the_disk_at_each_write(path):
    for durable, mode in ((False, 1), (True, 2)):
        store = SQLiteStore(path, durable=durable)
        assert await store._execute("PRAGMA synchronous") == [(mode,)]
        assert await store._execute("PRAGMA journal_mode") == [("wal",)]
        await store.close()
