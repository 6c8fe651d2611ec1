"""Writes that were answered with "accepted" are made, whatever becomes of the loop they began on."""

from __future__ import annotations

import asyncio
import logging
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import memwb.bridge
import memwb.memory
from memwb.errors import ConfigError, StoreNotFoundError
from memwb.memory import MemoryManager
from memwb.testing import FaultyStore
from tests.memory.stores import AddStore, BareStore


def fire_and_forget(store: Any) -> tuple[MemoryManager, Any]:
    manager = MemoryManager([store], add_tool_config={"wait_for_writes": False}, search_tool_config=False)
    return manager, manager.tools[0]


async def test_the_answer_comes_before_the_write_and_flush_waits_for_it() -> None:
    store = AddStore("home", seconds=0.05)
    manager, add = fire_and_forget(store)
    assert await add({"entries": ["tea", "milk"]}) == {"accepted": 2}
    assert store.writes == []
    await manager.flush()
    assert store.writes == [("tea", None), ("milk", None)]


async def test_writes_are_made_without_a_flush_while_the_loop_goes_on() -> None:
    store = AddStore("home")
    _, add = fire_and_forget(store)
    await add({"entries": ["tea"]})
    await asyncio.sleep(0.05)
    assert store.writes == [("tea", None)]


async def test_accepted_writes_run_at_the_same_time() -> None:
    all_begun = asyncio.Barrier(20)

    class Waiting(AddStore):
        async def add(self, content: str, metadata: Any = None) -> str:
            await all_begun.wait()
            return await super().add(content, metadata)

    store = Waiting("home")
    manager, add = fire_and_forget(store)
    await add({"entries": [f"tea {at}" for at in range(20)]})
    await asyncio.wait_for(manager.flush(), 10)
    assert len(store.writes) == 20


async def test_b03_a_write_that_fails_is_logged_and_tried_once_by_each_flush_until_it_is_made(caplog: Any) -> None:
    store = AddStore("home")
    failing = FaultyStore(store, add=["fail"] * 3)
    manager, add = fire_and_forget(failing)
    with caplog.at_level(logging.WARNING, "memwb.memory"):
        await add({"entries": ["tea"]})
        await asyncio.sleep(0.05)
    told = "an accepted memory could not be stored, the next flush tries again: MemoryManager: writing to home failed"
    assert told in caplog.text
    for tries in (2, 3):
        await manager.flush()
        assert (len(failing.calls), store.writes) == (tries, [])
    for _ in range(2):
        await manager.flush()
        assert (len(failing.calls), store.writes) == (4, [("tea", None)])


async def test_b03_a_store_that_has_taken_an_accepted_write_is_not_given_it_again() -> None:
    home, work = AddStore("home"), AddStore("work")
    manager = MemoryManager(
        [FaultyStore(home, add=["ok", "fail"]), FaultyStore(work, add=["fail", "fail", "ok"])],
        add_tool_config={"wait_for_writes": False},
        search_tool_config=False,
    )
    await manager.tools[0]({"entries": ["tea"]})
    for written in ([], [("tea", None)]):
        await asyncio.sleep(0.01)
        await manager.flush()
        assert (home.writes, work.writes) == ([("tea", None)], written)


async def test_b03_flushes_at_the_same_time_try_a_failed_write_once() -> None:
    failing = FaultyStore(AddStore("home"), add="fail")
    manager, add = fire_and_forget(failing)
    await add({"entries": ["tea"]})
    await asyncio.sleep(0.05)
    await asyncio.gather(*(manager.flush() for _ in range(5)))
    assert len(failing.calls) == 2


def test_b03_an_accepted_write_survives_the_end_of_its_loop() -> None:
    store = AddStore("home", seconds=0.3)
    manager, add = fire_and_forget(store)
    assert asyncio.run(add({"entries": ["tea"]})) == {"accepted": 1}
    assert store.writes == []  # the loop is gone, and the write with it
    asyncio.run(manager.flush())
    assert store.writes == [("tea", None)]
    asyncio.run(manager.flush())
    assert store.writes == [("tea", None)]


def test_b03_flush_on_the_same_loop_makes_it_before_that_loop_ends() -> None:
    store = AddStore("home", seconds=0.3)
    manager, add = fire_and_forget(store)

    async def cell() -> None:
        assert await add({"entries": ["tea"]}) == {"accepted": 1}
        await manager.flush()

    asyncio.run(cell())
    assert store.writes == [("tea", None)]


def test_b03_a_flush_of_another_thread_waits_instead_of_writing_twice() -> None:
    store = AddStore("home", seconds=0.3)
    manager, add = fire_and_forget(store)
    accepted = threading.Event()

    async def first() -> None:
        await add({"entries": ["tea"]})
        accepted.set()
        await asyncio.sleep(0.6)

    thread = threading.Thread(target=lambda: asyncio.run(first()))
    thread.start()
    assert accepted.wait(5)
    asyncio.run(manager.flush())
    assert store.writes == [("tea", None)]
    thread.join()
    assert store.writes == [("tea", None)]


def test_b03_a_loop_that_stood_still_does_not_write_again_when_it_goes_on() -> None:
    store = AddStore("home", seconds=0.1)
    manager, add = fire_and_forget(store)
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(add({"entries": ["tea"]}))
        asyncio.run(manager.flush())
        assert store.writes == [("tea", None)]
        loop.run_until_complete(asyncio.sleep(0.3))
        assert store.writes == [("tea", None)]
    finally:
        loop.close()


async def test_b03_flushes_at_the_same_time_write_once() -> None:
    store = AddStore("home", seconds=0.05)
    manager, add = fire_and_forget(store)
    await add({"entries": ["tea"]})
    await asyncio.gather(*(manager.flush() for _ in range(5)))
    assert store.writes == [("tea", None)]


async def test_equal_texts_accepted_twice_are_written_twice() -> None:
    store = AddStore("home", seconds=0.01)
    manager, add = fire_and_forget(store)
    await add({"entries": ["tea", "tea"]})
    await manager.flush()
    assert store.writes == [("tea", None), ("tea", None)]


async def test_a_flush_that_is_given_up_leaves_the_write_under_way() -> None:
    store = AddStore("home", seconds=0.1)
    manager, add = fire_and_forget(store)
    await add({"entries": ["tea"]})
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(manager.flush(), 0.01)
    await asyncio.sleep(0.2)
    assert store.writes == [("tea", None)]


async def test_b24_in_a_running_loop_everything_is_awaited_and_nothing_warns() -> None:
    store = AddStore("home")
    manager, add = fire_and_forget(store)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert await manager.search("tea") == []
        await add({"entries": ["tea"]})
        await manager.add("milk")
        await manager.flush()
        await manager.init_agent(object())
        assert len((await manager.inject([{"role": "user", "content": [{"text": "tea"}]}]))[0]["content"]) == 2
        await manager.why("milk", [])
    assert sorted(content for content, _ in store.writes) == ["milk", "tea"]


@pytest.mark.parametrize("package", [memwb.memory, memwb.bridge], ids=lambda package: package.__name__)
def test_b24_no_module_starts_a_loop_or_patches_one(package: Any) -> None:
    folder = Path(package.__file__).parent
    sources = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    starts = ("asyncio.run(", "run_until_complete", "new_event_loop", "set_event_loop", "nest_asyncio")
    assert [(name, word) for name, source in sources.items() for word in starts if word in source] == []


@pytest.mark.parametrize(
    ("content", "stores", "kind", "told"),
    [
        (5, ["home"], ConfigError, "accept_write: content must be a text, not 5"),
        ("tea", ["zorg"], StoreNotFoundError, "zorg"),
        ("tea", "home", ConfigError, r"stores must be a list of names, .*write \['home'\]"),
        ("tea", ["closed"], ConfigError, "'closed' is read-only"),
    ],
)
async def test_a_write_that_could_never_be_made_is_not_accepted(
    content: Any, stores: Any, kind: type[Exception], told: str
) -> None:
    home = AddStore("home")
    manager = MemoryManager([home, BareStore("closed")])
    with pytest.raises(kind, match=told):
        manager.accept_write(content, stores)
    await manager.flush()
    assert home.writes == []


async def test_a_write_for_no_store_is_told_of_and_not_tried(caplog: Any) -> None:
    home = AddStore("home")
    manager = MemoryManager([home])
    manager.accept_write("tea", [])
    await manager.flush()
    assert (home.writes, caplog.messages) == ([], ["an accepted memory is written nowhere: no store was named"])


def test_a_write_that_is_accepted_where_no_loop_runs_is_made_by_the_next_flush() -> None:
    home = AddStore("home")
    manager = MemoryManager([home])
    manager.accept_write("tea", ["home"])
    asyncio.run(manager.flush())
    assert home.writes == [("tea", None)]
