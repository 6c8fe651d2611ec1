"""Every call sees what others wrote, however coarse the file system's clock is; nothing is read more than needed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memwb import _files
from memwb.stores import TestMemoryStore

from .conftest import StoreFile

STEP = 4_000_000


def record(text: str) -> dict[str, str]:
    return {"id": "r1", "content": text, "createdAt": "2026-01-01T00:00:00.000Z"}


def in_place(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def replaced(path: Path, data: bytes) -> None:
    temporary = path.with_name("foreign.tmp")
    temporary.write_bytes(data)
    os.replace(temporary, path)


def replaced_twice(path: Path, data: bytes) -> None:
    """After two replacements a file system may give the first file's inode again."""
    replaced(path, b"[]")
    replaced(path, data)


@pytest.fixture
def coarse_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every time that the store sees be floored, as on kernels whose clock ticks every 4 ms."""
    signature = _files.signature

    def floored(status: os.stat_result) -> _files.Signature:
        device, inode, size, *times = signature(status)
        return (device, inode, size, *(time // STEP * STEP for time in times))  # type: ignore[return-value]

    monkeypatch.setattr(_files, "signature", floored)


async def sees_everything(file: StoreFile, write: Callable[[Path, bytes], None], rounds: int) -> None:
    file.write(json.dumps([record("tea 00000")], indent=2))
    store = file.store()
    for number in range(rounds):
        text = f"tea {number:05}"
        write(file.path, json.dumps([record(text)], indent=2).encode())  # always of one size
        assert [entry.content for entry in await store.search("tea")] == [text]
        if number % 7 == 0:
            await store.update("r1", content=f"our {number:05}")
            assert file.contents() == [f"our {number:05}"]
            write(file.path, json.dumps([record(text)], indent=2).encode())
            assert [entry.content for entry in await store.search("tea")] == [text]


@pytest.mark.usefixtures("coarse_times")
@pytest.mark.parametrize("write", [in_place, replaced, replaced_twice])
async def test_no_foreign_write_is_missed_where_times_are_floored(
    file: StoreFile, write: Callable[[Path, bytes], None]
) -> None:
    await sees_everything(file, write, 150)


@pytest.mark.parametrize("write", [in_place, replaced, replaced_twice])
async def test_no_foreign_write_is_missed_with_the_times_of_this_system(
    file: StoreFile, write: Callable[[Path, bytes], None]
) -> None:
    await sees_everything(file, write, 150)


@pytest.mark.parametrize("write", [in_place, replaced])
async def test_no_foreign_write_is_missed_where_the_writer_sets_floored_times(
    file: StoreFile, write: Callable[[Path, bytes], None]
) -> None:
    def floored(path: Path, data: bytes) -> None:
        write(path, data)
        time = path.stat().st_mtime_ns // STEP * STEP
        os.utime(path, ns=(time, time))

    await sees_everything(file, floored, 150)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is read of the file's bytes from now on."""
    found: list[str] = []
    read = _files.read
    monkeypatch.setattr(_files, "read", lambda path: (found.append(Path(path).name), read(path))[1])
    return found


async def test_after_its_own_write_a_store_does_not_read_the_file_again(file: StoreFile, reads: list[str]) -> None:
    store = file.store()
    await store.add("green tea")
    reads.clear()
    for number in range(5):
        await store.add(f"tea {number}")
        await store.search("tea")
        await store.page(0, 9)
        await store.update((await store.page(0, 1))[0].id, metadata={"n": number})
    await store.delete((await store.page(0, 1))[0].id)
    assert reads == []
    in_place(file.path, json.dumps([record("coffee")]).encode())
    assert [entry.content for entry in await store.search("coffee")] == ["coffee"]
    assert reads != []


@pytest.mark.usefixtures("coarse_times")
async def test_where_times_prove_nothing_the_bytes_are_compared(file: StoreFile, reads: list[str]) -> None:
    store = file.store()
    await store.add("green tea")
    reads.clear()
    await store.search("tea")
    assert reads == ["notes.json"]


async def test_what_a_foreign_program_writes_during_an_add_is_not_lost(
    file: StoreFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the moment of the replacement: what it writes between that and the look before it is."""
    store = file.store()
    await store.add("green tea")
    dated = _files._dated
    foreign = iter(["one", "two"])

    def meanwhile(*args: Any) -> _files.Written:
        if (text := next(foreign, None)) is not None:
            file.write(json.dumps([*file.records(), {**record(text), "id": text}]))
        return dated(*args)

    monkeypatch.setattr(_files, "_dated", meanwhile)
    result = await store.add("black tea")
    assert file.contents() == ["green tea", "one", "two", "black tea"]
    assert file.records()[-1]["id"] == result.id
    assert file.neighbours() == ["notes.json", "notes.json.lock"]


async def test_a_program_that_never_stops_writing_makes_the_add_fail_in_words(
    file: StoreFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = file.store()
    await store.add("green tea")
    dated = _files._dated
    count = 0

    def meanwhile(*args: Any) -> _files.Written:
        nonlocal count
        count += 1
        file.write(json.dumps([record(f"foreign {count}")]))
        return dated(*args)

    monkeypatch.setattr(_files, "_dated", meanwhile)
    with pytest.raises(OSError, match=r"could not write .*notes\.json: another program.* keeps changing it") as caught:
        await store.add("black tea")
    assert caught.value.__dict__["path"] == file.path
    assert file.contents() == [f"foreign {count}"]


async def test_a_durable_store_waits_for_the_disk_at_each_write(
    file: StoreFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fsync = os.fsync
    monkeypatch.setattr(_files.os, "fsync", lambda descriptor: (synced.append(descriptor), fsync(descriptor))[1])
    store = file.store(durable=True)
    added = await store.add("green tea")
    for write in (store.add("black tea"), store.update(added.id, content="white tea"), store.delete(added.id)):
        synced.clear()
        await write
        assert len(synced) == 2  # the file and its folder
    await TestMemoryStore(name="other", path=file.path.with_name("other.json")).add("tea")
    assert len(synced) == 2
