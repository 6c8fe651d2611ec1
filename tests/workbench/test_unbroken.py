"""Ctrl-C and a cancellation wait for a write of several stores; asked twice, what was written is put back."""

from __future__ import annotations

import asyncio
import signal

import pytest

from memwb.stores import TestMemoryStore
from memwb.workbench.entries import EntriesState
from memwb.workbench.unbroken import unbroken


@pytest.fixture(autouse=True)
def heard():
    """Hear SIGINT as a terminal's program does: one that a shell starts in the background may have it ignored."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


def staged(folder, exchange_of_second):
    """Return entries with changes of two stores, and what gives the texts of both."""
    stores = [TestMemoryStore(name=name, path=folder / f"{name}.json") for name in ("one", "two")]
    entries = EntriesState(stores, {}, editable=True)
    entries.choose(store=None)

    async def fill():
        for store in stores:
            await store.add_many([{"id": store.name, "content": "before"}])
        await entries.put(edit={"one": "after", "two": "after"})

    async def texts():
        return [(await TestMemoryStore(name=each.name, path=each.path).page(0, 1))[0].content for each in stores]

    usual = stores[1].exchange

    async def exchange(before, after, *, only_check=False):
        return await (usual(before, after, only_check=True) if only_check else exchange_of_second(usual, before, after))

    stores[1].exchange = exchange
    return entries, fill, texts


def test_ctrl_c_in_the_middle_of_a_write_is_heard_after_it(tmp_path):
    async def interrupted(usual, before, after):
        signal.raise_signal(signal.SIGINT)
        return await usual(before, after)

    entries, fill, texts = staged(tmp_path, interrupted)
    asyncio.run(fill())
    usual = signal.getsignal(signal.SIGINT)
    loop = asyncio.new_event_loop()
    for run in (asyncio.run, loop.run_until_complete):  # the one cancels, the other one is interrupted where it is
        with pytest.raises(KeyboardInterrupt):
            run(entries.write())
        assert signal.getsignal(signal.SIGINT) is usual
        assert (asyncio.run(texts()), len(entries.staged), entries.undoable) == (["after", "after"], 0, 1)
        asyncio.run(entries.undo())
        asyncio.run(entries.put(edit={"one": "after", "two": "after"}))
    loop.close()


async def test_a_cancellation_waits_until_all_is_written_and_a_second_one_until_all_is_put_back(tmp_path):
    reached, answered = asyncio.Event(), asyncio.Event()

    async def slow(usual, before, after):
        reached.set()
        await answered.wait()
        return await usual(before, after)

    entries, fill, texts = staged(tmp_path, slow)
    await fill()
    for times, outcome in ((2, (["before", "before"], 2, 0)), (1, (["after", "after"], 0, 1))):
        reached.clear()
        task = asyncio.create_task(entries.write())
        await reached.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        if times == 1:
            answered.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await texts(), len(entries.staged), entries.undoable) == outcome


async def test_the_error_of_work_that_failed_after_a_cancellation_is_its_cause():
    going = asyncio.Event()

    async def failing():
        await going.wait()
        raise OSError("the disk is full")

    task = asyncio.create_task(unbroken(failing))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    going.set()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert "disk is full" in str(caught.value.__cause__)


def test_ctrl_c_is_heard_once_all_have_ended_and_a_second_one_at_once():
    async def run(times):
        first, second = asyncio.Event(), asyncio.Event()
        one = asyncio.create_task(unbroken(first.wait))
        await asyncio.sleep(0)
        other = asyncio.create_task(unbroken(second.wait))
        await asyncio.sleep(0)
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        told.append("held")
        first.set()
        await one
        told.append("first")
        second.set()
        await other
        told.append("second")

    usual = signal.getsignal(signal.SIGINT)
    for times, expected in ((1, ["held", "first"]), (2, [])):
        told = []
        loop = asyncio.new_event_loop()
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(run(times))
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()
        assert told == expected
        assert signal.getsignal(signal.SIGINT) is usual


def test_a_second_ctrl_c_ends_a_write_to_a_store_that_does_not_answer(tmp_path):
    async def hanging(usual, before, after):
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()

    entries, fill, texts = staged(tmp_path, hanging)
    asyncio.run(fill())
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(entries.write())
    assert (asyncio.run(texts()), len(entries.staged), entries.undoable) == (["before", "before"], 2, 0)
