"""What a program leaves for the next of what it learned of a folder: it saves reading, and is not believed blindly."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import tempfile
import zlib
from io import FileIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb import _files
from memwb.sessions import FileStore
from memwb.sessions.stores import _lines
from memwb.sessions.stores._known import _folders
from memwb.sessions.stores._noted import NAME
from memwb.testing.sessions import session_entry


@pytest.fixture
def base(tmp_path):
    return tmp_path / "memory"


def end_program(base):
    """Do what the end of a program does: let go of all stores on a folder, and so of what is known of it."""
    if str(base) in _folders:
        gc.collect()
    assert str(base) not in _folders, "a store is still held"


def unread(patch):
    """Make reading any file of entries a failure."""
    read = _files.read
    patch.setattr(
        "memwb._files.read",
        lambda path: pytest.fail("it was read") if str(path).endswith(".jsonl") else read(path),
    )


async def filled(base, times=(3.0, 1.0, 2.0)):
    store = FileStore(base)
    entries = [session_entry(f"m{number}", "s", "u", created_at=time) for number, time in enumerate(times)]
    await store.add_many(entries)
    await store.count("s", "u")
    return sorted(entries, key=lambda entry: entry.created_at)


async def test_the_next_program_counts_and_lists_sessions_without_reading_a_line(base, monkeypatch):
    await filled(base)
    end_program(base)

    with monkeypatch.context() as patch:
        unread(patch)
        store = FileStore(base)
        assert await store.count("s", "u") == 3
        [session] = await store.sessions()
        assert (session.session_id, session.user_id, session.count) == ("s", "u", 3)
        assert (session.first, session.last) == (1.0, 3.0)
        assert await store.revision() is not None


async def test_the_next_program_gets_the_entries_in_order_of_time_without_checking_them_again(base, monkeypatch):
    entries = await filled(base)
    end_program(base)

    with monkeypatch.context() as patch:
        patch.setattr(_lines.Lines, "read", lambda *given: pytest.fail("it was checked again"))
        assert await FileStore(base).get_entries("s", "u") == entries


async def test_closing_a_store_leaves_the_note_too(base):
    store = FileStore(base)
    await store.add(session_entry("m1", "s", "u"))
    await store.count("s", "u")
    await store.close()

    assert (base / NAME).exists()


async def test_what_another_program_did_meanwhile_counts_though_size_and_time_are_as_before(base):
    await filled(base)
    end_program(base)
    path = base / "s" / "u.jsonl"
    before, lines = os.stat(path), path.read_bytes().splitlines(keepends=True)
    with path.open("r+b") as file:  # in its place, as Definable writes
        file.write(lines[0].replace(b"{", b"[", 1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    store = FileStore(base)
    with pytest.warns(UserWarning, match="left as it is"):
        assert await store.count("s", "u") == 2
    assert len(await store.get_entries("s", "u")) == 2


async def test_a_file_with_damage_is_not_noted_and_each_program_tells_of_it(base):
    await filled(base)
    with (base / "s" / "u.jsonl").open("ab") as file:
        file.write(b"null\n")

    for _ in range(2):
        with pytest.warns(UserWarning, match="left as it is"):
            assert await FileStore(base).count("s", "u") == 3
        end_program(base)


async def test_a_folder_that_is_only_read_is_left_as_it_is(base):
    entry = session_entry("m1", "s", "u")
    (base / "s").mkdir(parents=True)
    (base / "s" / "u.jsonl").write_text(json.dumps(entry.to_dict()) + "\n", encoding="utf-8")
    os.utime(base / "s" / "u.jsonl", (1e9, 1e9))

    store = FileStore(base)
    assert await store.get_entries("s", "u") == [entry]
    await store.close()
    assert [path.name for path in base.iterdir()] == ["s"]


ROW = [0, 0, 0, 0, 0, 7, "s", "u", 0.0, 0.0, True, True]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        json.dumps({"s/u.jsonl": ROW}).encode(),
        json.dumps({"s/u.jsonl": ROW[:-1]}).encode(),
        json.dumps({"s/u.jsonl": [*ROW[:5], -7, *ROW[6:]]}).encode(),
        json.dumps({"../../etc/passwd": ROW}).encode(),
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("summed", [True, False])
async def test_a_note_that_is_damaged_foreign_or_out_of_date_counts_as_missing(base, monkeypatch, body, summed):
    monkeypatch.setattr("memwb.sessions.stores._looked._SETTLED_NS", 0)
    entries = await filled(base)
    end_program(base)
    head = b"memwb 1 %08x\n" % zlib.crc32(body) if summed else b"memwb 1 00000000\n"
    (base / NAME).write_bytes(head + body)

    store = FileStore(base)
    assert await store.count("s", "u") == 3
    assert await store.get_entries("s", "u") == entries
    del store
    end_program(base)
    assert b"passwd" not in (base / NAME).read_bytes()


async def test_what_stands_in_the_notes_place_is_not_written_over(base, tmp_path):
    await filled(base)
    end_program(base)
    precious = tmp_path / "precious.txt"
    precious.write_text("precious")
    (base / NAME).unlink()
    (base / NAME).symlink_to(precious)

    store = FileStore(base)
    assert await store.count("s", "u") == 3
    await store.close()
    assert precious.read_text() == "precious"

    (base / NAME).unlink()
    (base / NAME).mkdir()
    assert await FileStore(base).count("s", "u") == 3


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "delete", "update", "end", "count", "entries", "foreign"]),
        st.integers(0, 4),
        st.sampled_from(["a", "b"]),
        st.floats(0, 9),
    ),
    max_size=14,
)


@given(ACTIONS)
def test_with_notes_every_answer_is_that_of_a_program_that_reads_everything(actions):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compared(Path(folder), actions))


async def compared(base, actions):
    store = FileStore(base)
    for number, (action, item, session, time) in enumerate(actions):
        entry = session_entry(f"{session}{item}", session, "u", content=f"{number}", created_at=time)
        known = await store.get_entry(entry.memory_id)
        if action == "add" and known is None:
            await store.add(entry)
        elif action == "update" and known is not None:
            await store.update(entry)
        elif action == "delete":
            await store.delete(entry.memory_id)
        elif action == "count":
            await store.count(session, "u")
        elif action == "entries":
            await store.get_entries(session, "u")
        elif action == "foreign" and known is None and (base / session / "u.jsonl").exists():
            with (base / session / "u.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry.to_dict()) + "\n")
        elif action == "end":
            del store
            end_program(base)
            store = FileStore(base)
    del store
    end_program(base)
    with_notes = await answers(base)
    (base / NAME).unlink(missing_ok=True)
    assert with_notes == await answers(base)


async def answers(base):
    store = FileStore(base)
    counts = [await store.count(session, "u") for session in "ab"]
    found = [await store.get_entries(session, "u") for session in "ab"]
    return counts, found, await store.sessions(), [await store.get_entry(f"a{item}") for item in range(5)]


LINES = st.lists(
    st.one_of(
        st.builds(
            lambda id, user, content: json.dumps(
                session_entry(id, "s", user, content=content).to_dict(), ensure_ascii=False
            ).encode(),
            st.sampled_from(["m1", "m2", "needle"]),
            st.sampled_from(["u", "u", "other"]),
            st.sampled_from(["", "x" * 90, '"needle"', "é" * 40, "\\u00e9", "\x7f"]),
        ),
        st.sampled_from([b"", b"null", b'{"memory_id": "needle"', b"\xff", b'"needle"', b"\\u006eeedle"]),
    ),
    max_size=9,
)


@given(LINES, st.booleans(), st.booleans(), st.sampled_from([40, 64, 300]))
def test_an_entry_is_sought_part_by_part_as_it_is_read_line_by_line(lines, bom, complete, part):
    data = (_lines.BOM if bom else b"") + b"\n".join(lines) + (b"\n" if complete and lines else b"")

    def fit(key):
        return _lines.EXACT if key == ("s", "u") else _lines.NOT

    entries = {entry.memory_id: entry for entry in _lines.Lines().read(data, fit)}
    with tempfile.NamedTemporaryFile() as file, pytest.MonkeyPatch.context() as patch:
        file.write(data)
        file.flush()
        patch.setattr(_lines, "_PART", part)
        with FileIO(file.name) as opened:
            found = _lines.sought(opened, "needle", fit)
    if found is False:
        return  # it is looked for in the whole file then
    assert found == entries.get("needle")
