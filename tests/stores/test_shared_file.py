"""One file, many writers: threads, loops, store objects, processes and foreign programs."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from memwb import _files
from memwb.stores import TestMemoryStore
from memwb.stores import _record_file as record_file

from .conftest import StoreFile

RECORD = {"id": "r1", "content": "tea is green", "createdAt": "2026-01-01T00:00:00.000Z"}


class Reader(threading.Thread):
    """Reads the file over and over, as a foreign program would, and counts the moments at which it does not parse."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.stopped, self.bad, self.reads = path, threading.Event(), 0, 0

    def run(self) -> None:
        while not self.stopped.is_set():
            try:
                json.loads(self.path.read_bytes())
            except FileNotFoundError:
                pass
            except ValueError:
                self.bad += 1
            self.reads += 1

    def __enter__(self) -> Reader:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.join()


async def test_b01a_adds_gathered_on_one_loop_are_all_kept(file: StoreFile) -> None:
    store = file.store()
    with Reader(file.path) as reader:
        await asyncio.gather(*(store.add(f"tea {number}") for number in range(10)))
    assert sorted(file.contents()) == sorted(f"tea {number}" for number in range(10))
    assert (reader.bad, reader.reads > 0) == (0, True)


def test_b01b_two_stores_on_one_path_keep_each_others_adds(file: StoreFile, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("read", "replace"):  # each read and write lets the others run first
        original = getattr(_files, name)
        slow = lambda *args, original=original, **kw: (time.sleep(0.001), original(*args, **kw))[1]  # noqa: E731
        monkeypatch.setattr(_files, name, slow)

    def work(store: TestMemoryStore, name: str) -> None:
        for number in range(10):
            asyncio.run(store.add(f"{name} {number}"))

    threads = [threading.Thread(target=work, args=(file.store(name=name), name)) for name in ("left", "right")]
    with Reader(file.path) as reader:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(file.contents()) == sorted(f"{name} {number}" for name in ("left", "right") for number in range(10))
    assert reader.bad == 0


async def test_b01b_two_stores_on_one_path_see_each_other_at_every_call(file: StoreFile) -> None:
    stores = [file.store(name="left"), file.store(name="right")]
    for number in range(20):
        await stores[number % 2].add(f"tea {number}")
        for store in stores:
            assert await store.count() == number + 1
            assert (await store.search(f"{number}"))[0].content == f"tea {number}"


def test_b01c_threads_with_a_loop_each_lose_nothing(file: StoreFile) -> None:
    store = file.store()

    def work(thread: int) -> None:
        asyncio.run(store.add(f"tea {thread}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    with Reader(file.path) as reader:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(file.contents()) == sorted(f"tea {number}" for number in range(20))
    times = [record["createdAt"] for record in file.records()]
    assert times == sorted(set(times))
    assert reader.bad == 0


PROGRAM = """
import asyncio, sys
from memwb.stores import TestMemoryStore

async def main(path, name):
    store = TestMemoryStore(name="notes", path=path)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(50):
        result = await store.add(f"{name} {number}")
        assert not result.deduplicated
        found = await store.search(f"{name} {number}", {"max_search_results": 1})
        assert found[0].content == f"{name} {number}", found
        print(result.id, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def run_at_once(path: Path, names: list[str]) -> list[str]:
    """Start one process for each name, let them go together, and return the ids that they reported."""
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in names
    ]
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    outputs = [program.communicate(timeout=120)[0] for program in programs]
    assert [program.returncode for program in programs] == [0] * len(programs)
    return "".join(outputs).split()


def test_b02_two_processes_lose_nothing_that_was_acknowledged(file: StoreFile) -> None:
    with Reader(file.path) as reader:
        acknowledged = run_at_once(file.path, ["alpha", "beta"])
    assert sorted(record["id"] for record in file.records()) == sorted(acknowledged)
    assert sorted(file.contents()) == sorted(f"{name} {number}" for name in ("alpha", "beta") for number in range(50))
    assert reader.bad == 0
    assert file.neighbours() == ["notes.json", "notes.json.lock"]


def test_b25_the_store_belongs_to_no_event_loop(file: StoreFile) -> None:
    store = file.store()

    async def two(name: str) -> None:
        await asyncio.gather(*(store.add(f"{name} {number}") for number in range(2)))

    asyncio.run(two("first"))
    asyncio.run(two("second"))
    assert sorted(file.contents()) == ["first 0", "first 1", "second 0", "second 1"]


async def test_every_call_sees_what_a_foreign_program_wrote(file: StoreFile) -> None:
    store = file.store()
    assert await store.count() == 0
    for number in range(30):  # the same size each time, and often the same tick of the clock
        file.write(json.dumps([{**RECORD, "content": f"tea {number:02}"}]))
        assert [entry.content for entry in await store.search("tea")] == [f"tea {number:02}"]
        assert await store.get("r1") == (await store.page(0, 1))[0]
    os.remove(file.path)
    assert await store.search("tea") == []
    file.write(b"")
    assert await store.count() == 0
    await store.add("coffee")
    assert file.contents() == ["coffee"]


async def test_a_change_without_any_trace_in_size_and_times_is_seen_within_two_seconds(file: StoreFile) -> None:
    store = file.store()
    for _ in range(3):
        for word in ("mint", "dill"):
            before = file.path.stat() if file.path.exists() else None
            file.write(json.dumps([{**RECORD, "content": f"tea {word}"}]))
            if before is not None:
                os.utime(file.path, ns=(before.st_atime_ns, before.st_mtime_ns))
            assert [entry.content for entry in await store.search("tea")] == [f"tea {word}"]


async def test_an_unchanged_old_file_is_parsed_once(file: StoreFile, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    parse = record_file.parse
    monkeypatch.setattr(record_file, "parse", lambda data, path: (parsed.append(len(data)), parse(data, path))[1])
    monkeypatch.setattr(record_file, "_SETTLED_NS", 50_000_000)
    file.write(json.dumps([RECORD]))
    store = file.store()
    for _ in range(3):
        assert await store.count() == 1  # young: compared byte by byte, parsed once
    await asyncio.sleep(0.1)
    assert await store.count() == 1
    reads: list[Any] = []
    monkeypatch.setattr(record_file._files, "read", lambda path: reads.append(path))
    assert await store.count() == 1
    assert (len(parsed), reads) == (1, [])


async def test_what_a_foreign_program_keeps_in_a_record_survives(file: StoreFile) -> None:
    foreign = [
        {"createdAt": "2026-01-01", "x": {"y": [1e-05, 2**70, None]}, "id": "r1", "metadata": None, "content": "tea"},
        {"id": "r2", "content": "coffee", "createdAt": "", "updatedAt": "2026"},
    ]
    file.write(json.dumps(foreign))
    await file.store().add("water")
    assert file.bytes() == json.dumps([*foreign, file.records()[2]], indent=2, ensure_ascii=False).encode()
    assert [record.metadata for record in await file.store().page(0, 2)] == [None, None]


async def test_a_link_stays_a_link_and_permissions_stay(file: StoreFile, tmp_path: Path) -> None:
    file.write(json.dumps([RECORD]))
    file.path.chmod(0o600)
    link = tmp_path / "link.json"
    link.symlink_to(file.path)
    await TestMemoryStore(name="notes", path=link).add("coffee")
    assert file.contents() == ["tea is green", "coffee"]
    assert (link.is_symlink(), oct(file.path.stat().st_mode)[-3:]) == (True, "600")


async def test_a_folder_in_the_place_of_the_file_is_an_error_with_the_whole_path(file: StoreFile) -> None:
    file.path.mkdir(parents=True)
    store = file.store()
    with pytest.raises(IsADirectoryError, match=r"^TestMemoryStore: could not read ") as caught:
        await store.search("tea")
    assert str(file.path) in str(caught.value)
    assert caught.value.__dict__["path"] == file.path
    with pytest.raises(OSError, match=r"^TestMemoryStore: could not ") as caught:
        await store.add("tea")
    assert str(file.path) in str(caught.value)


async def test_a_file_in_the_place_of_the_folder_is_an_error_with_the_whole_path(file: StoreFile) -> None:
    file.path.parent.write_bytes(b"")
    for call in (file.store().search("tea"), file.store().add("tea")):
        with pytest.raises(NotADirectoryError, match=r"^TestMemoryStore: could not ") as caught:
            await call
        assert str(file.path) in str(caught.value)


async def test_a_write_that_fails_is_an_error_and_nothing_was_stored(
    file: StoreFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = file.store()
    await store.add("tea")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(_files.os, "replace", full)
        with pytest.raises(OSError, match=r"^TestMemoryStore: could not write .*notes\.json: No space left on device"):
            await store.add("coffee")
    assert file.contents() == ["tea"]
    assert [record.content for record in await store.page(0, 9)] == ["tea"]
    assert (await store.add("coffee")).deduplicated is False
    assert file.neighbours() == ["notes.json", "notes.json.lock"]


async def test_an_interrupted_write_leaves_the_file_whole_and_the_store_usable(
    file: StoreFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = file.store()
    await store.add("tea")
    for moment in ("replace", "stat", "utime"):
        original = getattr(os, moment)

        def interrupt(*args: Any, original: Any = original, **kwargs: Any) -> None:
            original(*args, **kwargs)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(_files.os, moment, interrupt)
            with pytest.raises(KeyboardInterrupt):
                asyncio_free(store.add(f"lost or kept at {moment}"))
        assert file.contents()[0] == "tea"
        assert [record.content for record in await store.page(0, 99)] == file.contents()
        await store.add(f"after {moment}")
        assert file.contents()[-1] == f"after {moment}"
    assert file.neighbours() == ["notes.json", "notes.json.lock"]


def asyncio_free(coroutine: Any) -> Any:
    """Run a coroutine that never waits, without a loop that would take the interrupt for itself."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")
