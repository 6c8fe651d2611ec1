"""Answers of async stores for properties, with a loop running or without one."""

from __future__ import annotations

import asyncio
import threading

import pytest

from memwb.errors import ConfigError
from memwb.workbench import now as module
from memwb.workbench.now import now


async def at_once():
    return threading.current_thread()


async def later():
    await asyncio.sleep(0.01)
    return threading.current_thread()


async def failing_later():
    await asyncio.sleep(0.01)
    raise TimeoutError("the store's own")


def test_without_a_loop_all_work_is_done_here():
    assert (now(at_once), now(later)) == (threading.main_thread(), threading.main_thread())


async def test_beside_a_loop_work_that_waits_is_done_in_a_thread():
    assert now(at_once) is threading.main_thread()
    assert now(later) is not threading.main_thread()


async def test_what_it_raises_comes_through():
    with pytest.raises(TimeoutError, match="the store's own"):
        now(failing_later)


async def test_work_that_needs_the_blocked_loop_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    loop = asyncio.get_running_loop()

    async def on_the_loop():
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop))

    with pytest.raises(ConfigError, match=r"use `await memwb\.frame"):
        now(on_the_loop)
    await asyncio.sleep(0.05)  # now the loop is free, and the thread ends
