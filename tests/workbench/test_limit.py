"""A callback's time limit: what it returns and raises comes through, and what overstays is stopped."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import gc
import logging
import threading
import time

import pytest

from memwb.workbench.limit import Budget, CallbackTimeoutError, limited


def endless():
    while True:
        pass


OTHERS = []
"""Threads of earlier tests that have not ended yet."""


@pytest.fixture(autouse=True)
def only_threads_of_this_test():
    OTHERS[:] = threading.enumerate()


def running():
    alive = [thread for thread in threading.enumerate() if thread.name == "memwb-callback"]
    return [thread for thread in alive if thread not in OTHERS]


async def until_none_runs(seconds=2.0):
    for _ in range(int(seconds * 100)):
        if not running():
            break
        await asyncio.sleep(0.01)
    return running()


async def test_what_the_function_returns_comes_through():
    assert await limited(lambda first, second: first + second, 1, 2) == 3


async def test_the_function_runs_in_a_thread_of_its_own():
    assert await limited(threading.current_thread) is not threading.current_thread()


@pytest.mark.parametrize(
    "raised",
    [
        ZeroDivisionError("division by zero"),
        TimeoutError("the server is slow"),  # its own, not the limit's
        concurrent.futures.TimeoutError(),
        concurrent.futures.CancelledError(),
        KeyError("content"),
    ],
    ids=repr,
)
async def test_what_the_function_raises_comes_through_as_it_is(raised):
    def fails():
        raise raised

    with pytest.raises(type(raised)) as caught:
        await limited(fails, seconds=1)
    assert caught.value is raised


async def test_a_stop_iteration_becomes_an_error_that_names_it():
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        await limited(lambda: next(iter([])), seconds=1)
    assert isinstance(caught.value.__cause__, StopIteration)


@pytest.mark.parametrize("exit", [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
async def test_a_function_that_exits_ends_neither_the_kernel_nor_the_caller(exit):
    def leaves():
        raise exit

    with pytest.raises(RuntimeError, match=f"the callback raised {exit.__name__}"):
        await limited(leaves, seconds=1)


async def test_an_endless_loop_is_stopped_at_its_limit():
    started = time.monotonic()
    with pytest.raises(CallbackTimeoutError, match=r"^longer than 0.1 s; it was stopped$") as caught:
        await limited(endless, seconds=0.1)

    assert time.monotonic() - started < 10
    assert (caught.value.seconds, caught.value.still_running) == (0.1, False)
    assert await until_none_runs() == []


async def test_the_loop_stays_free_while_a_callback_hangs():
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticker = asyncio.create_task(tick())
    with pytest.raises(CallbackTimeoutError):
        await limited(endless, seconds=0.3)
    ticker.cancel()
    assert ticks > 5


async def test_a_call_into_c_that_cannot_be_stopped_is_said_to_run_on():
    with pytest.raises(CallbackTimeoutError, match="it still runs, inside a call that Python cannot stop") as caught:
        await limited(time.sleep, 0.6, seconds=0.05)

    assert caught.value.still_running
    assert await until_none_runs() == []


async def test_a_callback_that_swallows_every_exception_is_said_to_run_on():
    free = threading.Event()

    def stubborn():
        while not free.is_set():
            with contextlib.suppress(BaseException):  # what a bare except in a person's code does
                free.wait(0.01)

    with pytest.raises(CallbackTimeoutError) as caught:
        await limited(stubborn, seconds=0.05)
    free.set()

    assert caught.value.still_running
    assert await until_none_runs() == []


async def test_cancelling_the_caller_stops_the_thread():
    task = asyncio.create_task(limited(endless, seconds=60))
    await asyncio.sleep(0.05)
    assert len(running()) == 1

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await until_none_runs() == []


async def test_an_exception_that_comes_too_late_is_dropped_without_a_warning(caplog):
    caplog.set_level(logging.ERROR)

    def late():
        time.sleep(0.15)
        raise ValueError("too late")

    with pytest.raises(CallbackTimeoutError):
        await limited(late, seconds=0.05)
    await until_none_runs()
    gc.collect()
    await asyncio.sleep(0)
    assert caplog.messages == []


async def test_many_at_once_do_not_disturb_each_other():
    async def one(number):
        return await limited(lambda: number, seconds=5)

    assert await asyncio.gather(*map(one, range(20))) == list(range(20))


async def test_an_outcome_that_came_in_time_counts_also_where_the_loop_looks_late(monkeypatch):
    async def late(awaitable, seconds):
        await asyncio.sleep(0.1)  # while the callback ends
        raise TimeoutError

    monkeypatch.setattr(asyncio, "wait_for", late)
    assert await limited(lambda: "in time", seconds=0.05) == "in time"


async def test_calls_on_one_budget_share_its_time_and_the_one_that_comes_too_late_is_not_made():
    budget, called = Budget(0.3), []

    def work(seconds):
        called.append(seconds)
        time.sleep(seconds)
        return seconds

    assert await budget.limited(work, 0.01) == 0.01
    with pytest.raises(CallbackTimeoutError):
        await budget.limited(work, 1)
    with pytest.raises(CallbackTimeoutError, match=r"longer than 0\.3 s; it was stopped"):
        await budget.limited(work, 0.02)
    assert called == [0.01, 1]


async def test_a_callback_runs_in_the_context_of_its_caller_and_what_it_sets_stays():
    said = contextvars.ContextVar("said", default="nothing")

    async def call(words):
        said.set(words)
        await limited(lambda: said.set(f"{said.get()}, and more"))
        await asyncio.sleep(0.01)
        return await limited(said.get)

    assert await asyncio.gather(call("one"), call("two")) == ["one, and more", "two, and more"]
    assert said.get() == "nothing"
