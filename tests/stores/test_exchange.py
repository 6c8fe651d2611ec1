"""Records are exchanged in one write or not at all, and taking it back gives the file the bytes that it had."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.catalog import Record
from memwb.errors import ConfigError, ConflictError, DuplicateEntryError
from memwb.sessions import FileStore, InMemoryStore, MemoryEntry, SQLiteStore
from memwb.stores import Exchangeable, SessionSearch, TestMemoryStore

TEXTS = (
    st.text(min_size=1, max_size=8)
    .filter(str.strip)
    .filter(lambda text: not any("\ud800" <= c < "\ue000" for c in text))
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "notes.json"


async def contents(store):
    return [record.content for record in await store.page(0, 100)]


async def filled(path, *texts):
    store = TestMemoryStore(name="notes", path=path)
    await store.add_many([{"content": text, "metadata": {"n": at}} for at, text in enumerate(texts)])
    return store, await store.page(0, 100)


async def test_changed_removed_and_added_records_are_one_write(path):
    store, seen = await filled(path, "tea", "milk", "rice")

    await store.exchange(
        [seen[0], seen[2]], [replace(seen[0], content="green tea", metadata=None), Record("new", "bread")]
    )

    assert await contents(store) == ["green tea", "milk", "bread"]
    first, _, last = json.loads(path.read_bytes())
    assert (first["id"], first["createdAt"], "metadata" in first) == (seen[0].id, _stamp(seen[0]), False)
    assert (last["id"], last["createdAt"] > _stamp(seen[2])) == ("new", True)


def _stamp(record):
    return record.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.parametrize("layout", ["documented", "with a newline at its end", "compact", "with foreign fields"])
async def test_taking_it_back_gives_the_very_bytes_in_any_layout(path, layout):
    store, seen = await filled(path, "tea", "milk", "rice")
    records = json.loads(path.read_bytes())
    if layout == "with a newline at its end":
        path.write_bytes(path.read_bytes() + b"\n")
    elif layout == "compact":
        path.write_text(json.dumps(records))
    elif layout == "with foreign fields":
        path.write_text(json.dumps([{"rating": 5, **record} for record in records], indent=2))
    before = path.read_bytes()

    done = await store.exchange(seen[:2], [replace(seen[1], content="oat milk"), Record("new", "bread")])
    assert path.read_bytes() != before
    await store.take_back(done)
    assert path.read_bytes() == before


async def test_a_file_that_was_not_there_is_not_there_again(path):
    store = TestMemoryStore(name="notes", path=path)
    done = await store.exchange([], [Record("new", "bread")])
    assert path.exists()
    await store.take_back(done)
    assert not path.exists()


async def test_a_record_that_was_changed_meanwhile_is_not_overwritten(path):
    store, seen = await filled(path, "tea", "milk", "rice")
    other = TestMemoryStore(name="notes", path=path)
    await other.update(seen[0].id, "black tea")
    await other.delete(seen[1].id)
    await other.update(seen[2].id, metadata={"n": 2.0})
    before = path.read_bytes()

    with pytest.raises(ConflictError) as caught:
        await store.exchange(seen, [])
    assert dict(caught.value.conflicts) == {
        seen[0].id: "now says 'black tea'",
        seen[1].id: "is no longer there",
        seen[2].id: "now has the metadata {'n': 2.0}",
    }
    assert path.read_bytes() == before


async def test_what_others_add_meanwhile_stays_when_it_is_written_and_when_it_is_taken_back(path):
    store, seen = await filled(path, "tea", "milk", "rice")
    other = TestMemoryStore(name="notes", path=path)
    await other.add("from elsewhere")
    done = await store.exchange(seen[1:], [replace(seen[2], content="brown rice"), Record("new", "bread")])
    assert await contents(store) == ["tea", "brown rice", "from elsewhere", "bread"]

    await other.add("and later")
    await store.take_back(done)
    assert await contents(store) == ["tea", "milk", "rice", "from elsewhere", "and later"]
    assert await store.page(0, 3) == seen


async def test_a_change_of_what_was_written_is_not_taken_back_over(path):
    store, seen = await filled(path, "tea", "milk")
    done = await store.exchange(seen, [replace(seen[0], content="green tea")])
    await TestMemoryStore(name="notes", path=path).update(seen[0].id, "black tea")
    before = path.read_bytes()

    with pytest.raises(ConflictError, match="now says 'black tea'"):
        await store.take_back(done)
    assert path.read_bytes() == before


async def test_a_text_or_an_id_that_another_record_holds_is_refused(path):
    store, seen = await filled(path, "tea", "milk", "rice")
    before = path.read_bytes()
    for gone, new in (
        ([seen[0]], [replace(seen[0], content=" milk ")]),
        ([], [Record("new", "milk")]),
        ([], [Record(seen[0].id, "bread")]),
        ([], [Record("new", "bread"), Record("newer", "bread")]),
    ):
        with pytest.raises(DuplicateEntryError):
            await store.exchange(gone, new)
    assert path.read_bytes() == before
    await store.exchange(seen[:2], [replace(seen[0], content="milk")])  # its holder goes in the same write
    assert await contents(store) == ["milk", "rice"]


async def test_a_check_alone_writes_nothing(path):
    store, seen = await filled(path, "tea")
    before = path.read_bytes()
    await store.exchange(seen, [], only_check=True)
    with pytest.raises(ConflictError):
        await store.exchange([replace(seen[0], content="milk")], [], only_check=True)
    assert path.read_bytes() == before


async def test_a_store_that_is_not_writable_refuses(path):
    await filled(path, "tea")
    store = TestMemoryStore(name="notes", path=path, writable=False)
    with pytest.raises(ConfigError, match="not writable"):
        await store.exchange(await store.page(0, 1), [])


@st.composite
def exchanges(draw):
    texts = draw(st.lists(TEXTS, unique_by=str.strip, max_size=6))
    fates = draw(st.lists(st.sampled_from(["stays", "goes", "changes"]), min_size=len(texts), max_size=len(texts)))
    new = draw(st.lists(TEXTS, max_size=3))
    return texts, fates, new


async def _exchanged(store, fates, new, **more):
    seen = await store.page(0, 100)
    touched = [record for record, fate in zip(seen, fates, strict=True) if fate != "stays"]
    kept = [record for record, fate in zip(seen, fates, strict=True) if fate == "changes"]
    after = [replace(record, content=f"{at} {record.content} changed") for at, record in enumerate(kept)]
    added = [Record(f"new {at}", f"{at} {text} added", **more) for at, text in enumerate(new)]
    return await store.exchange(touched, after + added)


@given(exchanges())
def test_any_exchange_of_a_file_taken_back_gives_its_bytes(tmp_path_factory, exchange):
    texts, fates, new = exchange
    path = tmp_path_factory.mktemp("stores") / "notes.json"

    async def run():
        store, _ = await filled(path, *texts)
        before = path.read_bytes() if path.exists() else None
        await store.take_back(await _exchanged(store, fates, new))
        return before, path.read_bytes() if path.exists() else None

    before, after = asyncio.run(run())
    assert before == after


@pytest.mark.parametrize("kind", ["memory", "database", "folder"])
@given(exchanges())
def test_any_exchange_of_sessions_taken_back_gives_their_entries(tmp_path_factory, kind, exchange):
    texts, fates, new = exchange
    folder = tmp_path_factory.mktemp("sessions")

    async def run():
        made = {
            "memory": InMemoryStore,
            "database": lambda: SQLiteStore(folder / "a.db"),
            "folder": lambda: FileStore(folder),
        }
        async with made[kind]() as held:
            for at, text in enumerate(texts):
                data = {"role": "user", "content": text, "n": at} if at % 2 else None
                await held.add(MemoryEntry(f"s{at % 3}", content=text, message_data=data))
            before, files = await _entries(held), _files(folder)
            view = SessionSearch(held)
            done = await _exchanged(view, fates, new, metadata={"session_id": "s1"})
            if done.new or done.old:
                assert await _entries(held) != before
            await view.take_back(done)
            return before, files, await _entries(held), _files(folder)

    before, files, entries, later = asyncio.run(run())
    assert entries == before
    if kind == "folder":
        assert later == files


async def _entries(store):
    return {info.session_id: await store.get_entries(info.session_id) for info in await store.sessions()}


def _files(folder):
    """What the folder holds, but for the lock file, which stays."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("[!.]*")}


async def sessions():
    held = InMemoryStore()
    for session in ("s1", "s2"):
        for text in ("tea", "milk"):
            await held.add(MemoryEntry(session, content=text, message_data={"role": "user", "content": text, "n": [1]}))
    return held, SessionSearch(held), await SessionSearch(held).page(0, 10)


async def test_the_message_data_of_a_session_follow_the_text():
    held, view, seen = await sessions()
    await view.exchange(seen[:1], [replace(seen[0], content="green tea", metadata={"session_id": "s1", "n": [2]})])
    entry = await held.get_entry(seen[0].id)
    assert (entry.content, entry.message_data) == ("green tea", {"role": "user", "content": "green tea", "n": [2]})


async def test_an_entry_of_a_session_that_was_changed_meanwhile_is_not_overwritten_nor_is_another_session():
    held, view, seen = await sessions()
    entry = await held.get_entry(seen[3].id)
    await held.update(replace(entry, content="oat milk"))
    before = await _entries(held)
    with pytest.raises(ConflictError, match="now says 'oat milk'"):
        await view.exchange(seen, [])
    assert await _entries(held) == before


async def test_when_the_second_session_cannot_be_written_the_first_is_put_back():
    held, view, seen = await sessions()
    before, replace_session = await _entries(held), held.replace_session

    async def failing(session_id, *args):
        if session_id == "s2":
            raise OSError("the disk is full")
        return await replace_session(session_id, *args)

    held.replace_session = failing
    with pytest.raises(OSError, match="disk is full"):
        await view.exchange(seen, [])
    assert await _entries(held) == before


async def test_a_new_entry_needs_a_session_and_none_is_moved_to_another():
    _, view, seen = await sessions()
    with pytest.raises(ConfigError, match="session_id"):
        await view.exchange([], [Record("new", "bread")])
    with pytest.raises(ConfigError, match="cannot move it"):
        await view.exchange(seen[:1], [replace(seen[0], metadata={"session_id": "s2"})])


def test_what_can_exchange_says_so():
    assert isinstance(TestMemoryStore(name="notes", persist=False), Exchangeable)
    assert isinstance(SessionSearch(InMemoryStore()), Exchangeable)
