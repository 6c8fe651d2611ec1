"""Memories move between stores of both lineages, frames and JSONL files, and nothing is lost or doubled."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from memwb.catalog import Record
from memwb.errors import ConfigError, DamagedFileError, DuplicateEntryError
from memwb.frames import entries_frame, records_frame
from memwb.sessions import InMemoryStore, Memory, MemoryEntry, SQLiteStore
from memwb.stores import TestMemoryStore
from memwb.testing import frozen
from memwb.transfer import Refusal, Transfer, read_jsonl, transfer, write_jsonl
from tests.sessions.fakes import PlainStore

CALLS = {"role": "assistant", "content": "tea", "tool_calls": [{"id": "k"}]}
ENTRIES = [
    MemoryEntry("s1", "a", "ann", "user", "I like tea.\u2028", None, 1.25, 2.5),
    MemoryEntry("s1", "b", "ann", "assistant", "tea", CALLS, 2.0, 2.0),
    MemoryEntry("s2", "c", "bob", "summary", "", {"replaced": [{"content": "x"}], "order": ["a"]}, 3.0, 3.0),
]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RECORDS = [
    Record("r1", "I like jazz.", NOON, metadata={"topic": "music"}),
    Record("r2", "I own a boat.", NOON.replace(hour=13)),
]


async def sessions_with(*entries):
    store = InMemoryStore()
    await store.add_many(entries)
    return store


async def all_of(store):
    return [
        entry for info in await store.sessions() for entry in await store.get_entries(info.session_id, info.user_id)
    ]


# -- sessions to sessions ------------------------------------------------------------------------------------------


async def test_sessions_are_copied_as_they_are_and_only_once():
    source, target = await sessions_with(*ENTRIES), InMemoryStore()

    assert await transfer(source, target) == Transfer(new=("a", "b", "c"))
    assert await all_of(target) == ENTRIES
    again = await transfer(source, target)
    assert (again, repr(again)) == (Transfer(duplicates=("a", "b", "c")), "Transfer(0 new, 3 duplicates)")
    assert await all_of(source) == ENTRIES


async def test_a_dry_run_tells_the_same_and_writes_nothing():
    source, target = await sessions_with(*ENTRIES), await sessions_with(ENTRIES[0])

    told = await transfer(source, target, dry_run=True)
    assert repr(told) == "Transfer(2 new, 1 duplicate; nothing was written)"
    assert await all_of(target) == ENTRIES[:1]
    done = await transfer(source, target)
    assert (told.new, told.duplicates) == (done.new, done.duplicates) == (("b", "c"), ("a",))


@pytest.mark.parametrize(
    ("collision", "told", "contents"),
    [
        ("skip", "Transfer(2 new, 1 duplicate)", ["another a", "tea", ""]),
        ("replace", "Transfer(2 new, 1 replaced)", ["I like tea.\u2028", "tea", ""]),
        ("new id", "Transfer(3 new, 1 of them under another id)", ["I like tea.\u2028", "another a", "tea", ""]),
    ],
)
async def test_an_id_that_is_taken_is_met_as_was_asked_for(collision, told, contents):
    target = await sessions_with(MemoryEntry("s1", "a", "ann", content="another a", created_at=1.5, updated_at=1.5))

    with frozen():
        done = await transfer(ENTRIES, target, collision=collision)
    assert repr(done) == told
    assert done.renamed == ({"a": "id-1"} if collision == "new id" else {})
    assert [entry.content for entry in await all_of(target)] == contents


async def test_fail_writes_nothing_at_all():
    taken = MemoryEntry("s9", "c", content="another c", created_at=1.0, updated_at=1.0)
    target = await sessions_with(taken)

    with pytest.raises(DuplicateEntryError) as caught:
        await transfer(ENTRIES, target, collision="fail")
    assert (caught.value.id, await all_of(target)) == ("c", [taken])


async def test_a_replacement_that_fails_leaves_what_was_there():
    class Full(InMemoryStore):
        full = False

        async def add(self, entry):
            if self.full and entry.content != "another a":
                raise OSError("disk full")
            await super().add(entry)

    target = Full()
    await target.add(MemoryEntry("s1", "a", content="another a"))
    before, target.full = await all_of(target), True
    with pytest.raises(OSError, match="disk full"):
        await transfer(ENTRIES[:1], target, collision="replace")
    assert await all_of(target) == before


async def test_one_session_or_user_alone_is_copied():
    source = await sessions_with(*ENTRIES)

    assert (await transfer(source, InMemoryStore(), session_id="s1")).new == ("a", "b")
    assert (await transfer(source, InMemoryStore(), user_id="bob")).new == ("c",)
    assert (await transfer(ENTRIES, InMemoryStore(), user_id="bob")).new == ("c",)


async def test_what_the_target_cannot_hold_is_refused_with_the_reason_and_the_rest_is_copied():
    entries = [MemoryEntry("s", "bad", content="bad \ud83d end"), MemoryEntry("", "none"), ENTRIES[0]]
    target = InMemoryStore()

    done = await transfer(entries, target)
    assert (done.new, [refusal.id for refusal in done.refused]) == (("a",), ["bad", "none"])
    assert "content holds a lone surrogate" in done.refused[0].reason
    assert repr(done) == "Transfer(1 new, 2 refused)"
    assert await all_of(target) == [ENTRIES[0]]


async def test_stores_of_anybodys_are_sources_by_session_and_targets():
    target = PlainStore()

    assert (await transfer(ENTRIES, target)).new == ("a", "b", "c")
    assert (await transfer(target, InMemoryStore(), session_id="s1", user_id="ann")).new == ("a", "b")
    with pytest.raises(ConfigError, match="PlainStore cannot list its sessions"):
        await transfer(target, InMemoryStore())


# -- between the lineages ------------------------------------------------------------------------------------------


async def test_entries_become_memories_and_entries_again():
    notes = TestMemoryStore(name="notes", persist=False)

    done = await transfer(await sessions_with(*ENTRIES), notes)
    assert (done.new, [refusal.id for refusal in done.refused]) == (("a", "b"), ["c"])  # a memory is never blank
    assert await notes.page(0, 9) == [
        Record(
            id="a",
            content="I like tea.\u2028",
            created_at=datetime(1970, 1, 1, 0, 0, 1, 250_000, tzinfo=UTC),
            store="notes",
            metadata={"session_id": "s1", "user_id": "ann", "role": "user"},
        ),
        Record(
            id="b",
            content="tea",
            created_at=datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC),
            store="notes",
            metadata={"tool_calls": [{"id": "k"}], "session_id": "s1", "user_id": "ann", "role": "assistant"},
        ),
    ]

    back = InMemoryStore()
    await transfer(notes, back)
    assert await all_of(back) == [
        MemoryEntry("s1", "a", "ann", "user", "I like tea.\u2028", None, 1.25, 1.25),
        MemoryEntry("s1", "b", "ann", "assistant", "tea", {"tool_calls": [{"id": "k"}]}, 2.0, 2.0),
    ]


async def test_memories_become_entries_of_the_session_that_is_named():
    target = InMemoryStore()

    done = await transfer(RECORDS, target, dry_run=True)
    assert done.refused[0] == Refusal("r1", "a memory that becomes an entry needs a session; give session_id.")
    await transfer(RECORDS, target, session_id="s", user_id="ann")
    assert await all_of(target) == [
        MemoryEntry("s", "r1", "ann", "user", "I like jazz.", {"topic": "music"}, NOON.timestamp(), NOON.timestamp()),
        MemoryEntry("s", "r2", "ann", "user", "I own a boat.", None, NOON.timestamp() + 3600, NOON.timestamp() + 3600),
    ]


async def test_long_term_stores_keep_ids_and_times_and_hold_a_text_once():
    source = TestMemoryStore.from_records(RECORDS, name="old")
    target = TestMemoryStore.from_records([Record("x", " I own a boat.", NOON)], name="new")

    assert await transfer(source, target) == Transfer(new=("r1",), duplicates=("r2",))
    assert [(each.id, each.created_at) for each in await target.page(0, 9)] == [("x", NOON), ("r1", NOON)]


@pytest.mark.parametrize(
    ("collision", "told", "contents"),
    [
        ("skip", "Transfer(1 new, 1 duplicate)", ["another r1", "I own a boat."]),
        ("replace", "Transfer(1 new, 1 replaced)", ["I like jazz.", "I own a boat."]),
        ("new id", "Transfer(2 new, 1 of them under another id)", ["another r1", "I like jazz.", "I own a boat."]),
    ],
)
async def test_an_id_that_another_memory_has_is_met_as_was_asked_for(collision, told, contents):
    target = TestMemoryStore.from_records([Record("r1", "another r1", NOON)], name="new")

    assert repr(await transfer(RECORDS, target, collision=collision)) == told
    assert [each.content for each in await target.page(0, 9)] == contents


async def test_a_store_that_has_only_add_is_written_to_one_by_one():
    class Adding:
        name, writable = "adding", True

        def __init__(self):
            self.added = []

        async def add(self, content, metadata=None):
            self.added.append((content, metadata))

    target = Adding()
    await transfer(RECORDS, target)
    assert target.added == [("I like jazz.", {"topic": "music"}), ("I own a boat.", None)]


async def test_what_cannot_be_a_source_or_a_target_is_refused():
    read_only = TestMemoryStore(name="notes", persist=False, writable=False)

    for source, target, options, told in (
        (object(), InMemoryStore(), {}, "cannot read object"),
        ([3], InMemoryStore(), {}, "item 0 is 3, neither an entry nor a record"),
        (RECORDS, object(), {}, "cannot write to object"),
        (RECORDS, read_only, {}, "the store 'notes' is read-only"),
        (RECORDS, read_only, {"collision": "replce"}, r"collision is 'replce'; .* Did you mean 'replace'\?"),
    ):
        with pytest.raises(ConfigError, match=told):
            await transfer(source, target, **options)


# -- files and frames ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("items", [ENTRIES, RECORDS], ids=["entries", "records"])
async def test_jsonl_gives_back_what_was_written(tmp_path, items):
    path = tmp_path / "new folder" / "items.jsonl"

    assert write_jsonl(path, items) == path
    assert read_jsonl(path) == items
    assert [json.loads(line)["content"] for line in path.read_text("utf-8").split("\n") if line] == [
        item.content for item in items
    ]
    with pytest.raises(ConfigError, match="exists; take another name, or remove it"):
        write_jsonl(path, items)


async def test_a_store_goes_to_a_file_and_comes_back(tmp_path):
    path = tmp_path / "backup.jsonl"

    told = await transfer(await sessions_with(*ENTRIES), path, dry_run=True)
    assert (told.new, path.exists()) == (("a", "b", "c"), False)
    await transfer(await sessions_with(*ENTRIES), path)
    target = InMemoryStore()
    assert await transfer(path, target) == Transfer(new=("a", "b", "c"))
    assert await all_of(target) == ENTRIES


async def test_frames_are_sources(tmp_path):
    sessions, notes = InMemoryStore(), TestMemoryStore(name="notes", persist=False)

    await transfer(entries_frame(ENTRIES), sessions)
    await transfer(records_frame(RECORDS), notes)
    assert await all_of(sessions) == ENTRIES
    assert [record.id for record in await notes.page(0, 9)] == ["r1", "r2"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": "x", "cont', "not JSON"),
        ("null", "neither an entry nor a record"),
        ('{"content": 3}', "neither an entry nor a record"),
        ('{"content": "x", "created_at": "noon"}', "'noon' is no time"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, line, told):
    path = tmp_path / "items.jsonl"
    path.write_text(f'\ufeff{{"id": "x", "content": "tea"}}\r\n\n{line}\n', "utf-8")

    with pytest.raises(DamagedFileError, match=told) as caught:
        read_jsonl(path)
    assert caught.value.place == "line 3"


async def test_what_json_cannot_hold_is_refused(tmp_path):
    bad = [Record("nan", "tea", metadata={"n": float("nan")}), Record("half", "bad \ud83d end"), RECORDS[0]]

    done = await transfer(bad, tmp_path / "items.jsonl")
    assert ([refusal.id for refusal in done.refused], done.new) == (["nan", "half"], ("r1",))
    assert read_jsonl(tmp_path / "items.jsonl") == [RECORDS[0]]
    with pytest.raises(ConfigError, match="there is no file"):
        read_jsonl(tmp_path / "none.jsonl")


async def test_without_tqdm_there_is_no_bar(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)

    await transfer(ENTRIES, InMemoryStore())
    await transfer(ENTRIES, InMemoryStore(), progress=False)
    assert capsys.readouterr() == ("", "")


async def test_files_and_folders_of_stores_are_no_jsonl_files_and_are_left_alone(tmp_path):
    async with SQLiteStore(tmp_path / "a.db") as store:
        await store.add_many(ENTRIES)
    database = (tmp_path / "a.db").read_bytes()
    (tmp_path / "copy.jsonl").write_bytes(database)
    (tmp_path / "folder").mkdir()

    for source, hint in (("a.db", "SQLiteStore"), ("copy.jsonl", "SQLiteStore"), ("folder", "FileStore")):
        with pytest.raises(ConfigError, match=f"{source}' is a .*; give memwb.sessions.{hint}") as caught:
            await transfer(tmp_path / source, InMemoryStore())
        assert caught.value.key == "source"
    for dry_run in (True, False):
        for target in ("new.db", "a.db", "new.SQLite", "folder"):
            with pytest.raises(ConfigError, match=r"not a JSONL file; give memwb\.sessions\.") as caught:
                await transfer(ENTRIES, tmp_path / target, dry_run=dry_run)
            assert caught.value.key == "target"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.db", "copy.jsonl", "folder"]
    assert (tmp_path / "a.db").read_bytes() == database


async def test_a_memory_stands_for_its_store_as_source_and_target():
    source, target = Memory(await sessions_with(*ENTRIES)), Memory()

    assert len((await transfer(source, target)).new) == len(ENTRIES)
    assert await all_of(target.store) == await all_of(source.store)


async def test_an_id_that_is_taken_is_told_with_the_collisions_that_would_do():
    held = MemoryEntry("other", ENTRIES[0].memory_id, content="another")
    with pytest.raises(DuplicateEntryError, match="Nothing was written: take another collision: 'skip', 'replace' or"):
        await transfer(ENTRIES, await sessions_with(held), collision="fail")


async def test_the_bar_counts_what_is_written(monkeypatch):
    shown = []

    class Bar:
        def __init__(self, **options):
            shown.append((options["total"], options["unit"]))

        def update(self, count):
            shown.append(count)

        def close(self):
            shown.append("closed")

    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Bar))
    held = MemoryEntry("other", ENTRIES[0].memory_id, content="another")
    await transfer(ENTRIES, await sessions_with(held), collision="replace")
    assert shown == [(len(ENTRIES), "entry"), len(ENTRIES) - 1, 1, "closed"]
