"""The file of an SQLiteMemoryStore: owners, filters, tokenizers, and what goes wrong, told with the file's name."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime

import pytest

from memwb.catalog import Record
from memwb.errors import ConfigError, DamagedFileError, DuplicateEntryError, StoreBusyError
from memwb.memory import MemoryManager
from memwb.ranking import tokenize, tokenize_any_script
from memwb.sessions import MemoryEntry, SQLiteStore
from memwb.stores import SQLiteMemoryStore


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "notes.db"


async def contents(store):
    return [record.content for record in await store.page(0, 99)]


async def test_nothing_is_touched_before_the_first_call_and_then_the_folder_is_made(path):
    store = SQLiteMemoryStore(path)
    assert (store.name, path.parent.exists()) == ("notes", False)

    await store.add("green tea")

    assert await contents(SQLiteMemoryStore(str(path))) == ["green tea"]
    assert repr(store) == f"SQLiteMemoryStore({str(path)!r})"


async def test_a_record_keeps_what_it_brings(path):
    store = SQLiteMemoryStore(path, clock=lambda: datetime(2026, 1, 2, tzinfo=UTC), new_id=iter("xyz").__next__)
    given = Record("a", "tea", datetime(2025, 1, 1, tzinfo=UTC), owner="ann", role="user", metadata={"n": 2**70})

    results = await store.add_many([given, {"content": "milk", "owner": "bob", "id": "b"}, "milk", " milk "])

    assert [(result.id, result.deduplicated) for result in results] == [
        ("a", False),
        ("b", False),
        ("x", False),
        ("x", True),
    ]
    first, second, third = await store.page(0, 9)
    assert (first.id, first.created_at, first.owner, first.role, first.metadata) == (
        "a",
        given.created_at,
        "ann",
        "user",
        {"n": 2**70},
    )
    assert (second.owner, third.owner, third.created_at) == ("bob", None, datetime(2026, 1, 2, tzinfo=UTC))
    with pytest.raises(DuplicateEntryError, match=r"notes\.db' already holds an entry with the id 'a'"):
        await store.add_many(["other", {"content": "new", "id": "a"}])
    assert await store.count() == 3


async def test_owners_are_kept_apart(path):
    everybody, ann, bob = (SQLiteMemoryStore(path, owner=owner) for owner in (None, "ann", "bob"))
    await ann.add("green tea")
    await bob.add("green tea")
    await everybody.add("green tea")
    (of_bob,) = await bob.page(0, 9)

    assert [await store.count() for store in (everybody, ann, bob)] == [3, 1, 1]
    assert [len(await store.search("tea")) for store in (everybody, ann, bob)] == [3, 1, 1]
    assert len(await everybody.search("tea", {"owner": "ann"})) == 1
    assert (await ann.get(of_bob.id), await ann.delete(of_bob.id), await ann.count_matches("tea")) == (None, False, 1)
    assert (await everybody.owners(), await ann.owners()) == (["ann", "bob"], ["ann"])
    with pytest.raises(ConfigError, match="confined to 'ann'"):
        await ann.search("tea", {"owner": "bob"})
    with pytest.raises(ConfigError, match="confined to 'ann'"):
        await ann.add_many([{"content": "tea", "owner": "bob"}])
    await ann.clear()
    assert [await store.count() for store in (everybody, ann, bob)] == [2, 0, 1]


async def test_a_search_is_narrowed_down_to_metadata_of_exactly_these_values(path):
    store = SQLiteMemoryStore(path)
    await store.add_many(
        [{"content": f"tea {at}", "metadata": {"n": value}} for at, value in enumerate([1, 1.0, True, "1", [1]])]
    )

    found = [
        [entry.content for entry in await store.search("tea", {"metadata": {"n": value}})]
        for value in (1, 1.0, True, "1", [1], None)
    ]

    assert found == [["tea 0"], ["tea 1"], ["tea 2"], ["tea 3"], ["tea 4"], []]
    with pytest.raises(ConfigError, match="SQLiteMemoryStore: search has no key 'topic'; the keys are max_search"):
        await store.search("tea", {"topic": 1})


HOSTILE = [
    "'; DROP TABLE memories; --",
    '" OR 1=1',
    "%_*",
    "a\0b",
    "NEAR(tea, 5) AND *",
    "\N{ZERO WIDTH JOINER}",
    "x" * 100_000,
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_texts_are_texts(path, text):
    store = SQLiteMemoryStore(path, owner=text)
    await store.add("green tea", {text: text})
    await store.add(text + "!")

    assert await contents(store) == ["green tea", text + "!"]
    assert [entry.metadata[text] for entry in await store.search("tea", {"metadata": {text: text}})][:1] == [text]
    assert await store.count(text.upper()) == 1
    await store.search(text)
    assert await store.get(text) is None


async def test_a_file_keeps_the_tokenizer_that_it_was_made_with(path):
    await SQLiteMemoryStore(path, tokenizer=tokenize).add("the green tea of 東京都")

    store = SQLiteMemoryStore(path)
    assert await store.search("東京") == []
    assert store.tokenizer is tokenize
    other = SQLiteMemoryStore(path, tokenizer=tokenize_any_script)
    with pytest.raises(ConfigError, match=r"notes\.db': its index is made by the tokenizer tokenize, and tokenize_any"):
        await other.search("東京")
    await other.reindex()
    assert len(await other.search("東京")) == 1
    assert len(await SQLiteMemoryStore(path).search("東京")) == 1


async def test_a_tokenizer_of_ones_own_has_to_be_given_again(path):
    await SQLiteMemoryStore(path, tokenizer=str.split).add("a,b c")

    assert len(await SQLiteMemoryStore(path, tokenizer=str.split).search("a,b")) == 1
    with pytest.raises(ConfigError, match="and none was given"):
        await SQLiteMemoryStore(path).search("a,b")


async def test_a_file_of_something_else_is_refused_and_left(tmp_path):
    text, other, sessions = tmp_path / "text.db", tmp_path / "other.db", tmp_path / "sessions.db"
    text.write_text("no database at all " * 100)
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE things (a)")
    async with SQLiteStore(sessions) as store:
        await store.add(MemoryEntry("monday", "a", "ann", content="tea"))

    for file, said in ((text, "not a database"), (other, "with the tables things"), (sessions, "session_entries")):
        before = file.read_bytes()
        with pytest.raises(DamagedFileError, match=f"{file.name}.*{said}"):
            await SQLiteMemoryStore(file).add("tea")
        assert file.read_bytes() == before
    with pytest.raises(OSError, match="is a folder, not a database"):
        await SQLiteMemoryStore(tmp_path).count()


async def test_a_file_of_a_later_version_is_refused(path):
    store = SQLiteMemoryStore(path)
    await store.add("tea")
    store.close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE about SET value = 2 WHERE key = 'version'")

    with pytest.raises(DamagedFileError, match="it is of version 2, and this memwb reads version 1"):
        await SQLiteMemoryStore(path).count()


async def test_a_file_that_another_program_holds_is_waited_for_and_then_named(path):
    store = SQLiteMemoryStore(path, timeout=0.05)
    await store.add("tea")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert len(await store.search("tea")) == 1  # readers do not wait
        with pytest.raises(StoreBusyError, match=r"notes\.db"):
            await store.add("milk")
        other.execute("ROLLBACK")
    await store.add("milk")
    assert await contents(store) == ["tea", "milk"]


async def test_a_store_that_is_not_writable_refuses_every_write(path):
    await SQLiteMemoryStore(path).add("tea")
    store = SQLiteMemoryStore(path, writable=False)
    (record,) = await store.page(0, 9)
    calls = [
        store.add("a"),
        store.add_many(["a"]),
        store.update(record.id, "a"),
        store.delete(record.id),
        store.clear(),
        store.reindex(),
        store.exchange([record], []),
    ]
    for call in calls:
        with pytest.raises(ConfigError, match=r"notes\.db': it is not writable"):
            await call
    assert (await contents(store), store.fixed) == (["tea"], "it was built with writable=False")
    MemoryManager([store])


async def test_a_file_that_is_replaced_is_seen(path, tmp_path):
    store, other = SQLiteMemoryStore(path), SQLiteMemoryStore(tmp_path / "other.db")
    await store.add("tea")
    await other.add("milk")
    before = await store.revision()
    store.close()
    other.close()
    os.replace(tmp_path / "other.db", path)

    assert (await contents(store), await store.revision() == before) == (["milk"], False)


async def test_its_revision_changes_with_what_it_holds_and_only_then(path):
    store, other = SQLiteMemoryStore(path), SQLiteMemoryStore(path)
    result = await store.add("tea")
    before = await store.revision()
    await other.search("tea")
    assert await store.revision() == before
    seen = {before}
    for change in (
        other.update(result.id, metadata={}),
        other.update(result.id, content="milk"),
        other.delete(result.id),
    ):
        await change
        seen.add(await store.revision())
    assert len(seen) == 4


def test_threads_and_loops_may_share_a_store_and_a_file(path):
    store = SQLiteMemoryStore(path)
    failures = []

    def work(number):
        own = SQLiteMemoryStore(path)

        async def add():
            for at in range(10):
                await (store if at % 2 else own).add(f"tea {number} {at}")
                await store.search("tea")

        try:
            asyncio.run(add())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert asyncio.run(store.count_matches("tea")) == 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
async def test_a_forked_process_goes_on_with_the_store(path):
    store = SQLiteMemoryStore(path)
    await store.add("tea of the parent")
    child = multiprocessing.get_context("fork").Process(target=lambda: asyncio.run(store.add("tea of the child")))
    child.start()
    child.join()

    assert (child.exitcode, await store.count_matches("tea")) == (0, 2)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("path", ""),
        ("path", 7),
        ("name", " "),
        ("owner", ""),
        ("ranking", "tfidf"),
        ("tokenizer", "words"),
        ("max_search_results", 0),
        ("writable", 1),
        ("durable", None),
        ("timeout", -1),
        ("description", 3),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(setting, value):
    with pytest.raises(ConfigError, match=f"SQLiteMemoryStore.*{setting}"):
        SQLiteMemoryStore(**{"path": ":memory:", setting: value})


async def test_errors_name_this_store(path):
    store = SQLiteMemoryStore(path)
    for call in (
        store.add(""),
        store.add_many(["a", 7]),
        store.page(0, 1, sort="n"),
        store.get(7),
        store.add("a", "b"),
    ):
        with pytest.raises(ConfigError, match=r"^SQLiteMemoryStore: "):
            await call


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs kill")
def test_processes_that_are_killed_lose_nothing_acknowledged():
    """The small form of tests/scripts/database_stress.py."""
    command = [sys.executable, "-m", "tests.scripts.database_stress", *"--processes 4 --kills 6 --seconds 2".split()]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "0 lost, 0 twice" in done.stdout


async def test_what_no_entry_can_hold_is_looked_for_and_not_found(path):
    store = SQLiteMemoryStore(path)
    await store.add("green tea")

    assert await store.search("tea", {"owner": "\ud800"}) == []
    assert (await store.count("\ud800"), await store.page(0, 9, where="\ud800")) == (0, [])
    for meant in ({"id": "\ud800"}, {"content": "\ud800"}, {"where": "\ud800"}):
        assert await store.best_match("tea", **meant) is None
    assert await store.page(2**63, 9, "content") == []


async def test_a_refused_value_is_told_with_this_stores_name_and_the_item(path):
    store = SQLiteMemoryStore(path)

    with pytest.raises(ConfigError, match=r"^SQLiteMemoryStore: where must be a text, not 5"):
        await store.count(5)
    with pytest.raises(ConfigError, match=r"^SQLiteMemoryStore: where must be a text, not 5"):
        await store.best_match("tea", where=5)
    with pytest.raises(ConfigError, match=r"^SQLiteMemoryStore: item 2: owner must be a text, not int 5"):
        await store.add_many(["tea", {"content": "milk", "owner": 5}])


async def test_tables_that_others_put_beside_the_memories_lock_nothing_away(path):
    await SQLiteMemoryStore(path).add("green tea")
    await SQLiteStore(path).add(MemoryEntry("s", "m", "ann", "user", "hello"))

    assert await contents(SQLiteMemoryStore(path)) == ["green tea"]
