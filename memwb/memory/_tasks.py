"""Waiting for tasks wherever they run: a loop may end, stand still, or run in another thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

_LOOK_EVERY = 0.005  # seconds


async def finished(task: asyncio.Task[Any]) -> None:
    """Wait until a task is done, or its loop no longer runs, so that it can do nothing more; never raises its error."""
    import asyncio

    loop = task.get_loop()
    if loop is asyncio.get_running_loop():
        await asyncio.wait([task])
        return
    while not task.done() and loop.is_running():  # noqa: ASYNC110 - an event of another loop cannot be awaited here
        await asyncio.sleep(_LOOK_EVERY)


def give_up(task: asyncio.Task[Any]) -> None:
    """Cancel a task whose loop stands still: should that loop go on later, the work is no longer the task's own."""
    loop = task.get_loop()
    if not task.done() and not loop.is_running() and not loop.is_closed():
        task.cancel()


def runs_elsewhere(task: asyncio.Task[Any] | None) -> bool:
    """Whether the loop of another thread is at work on a task."""
    import asyncio

    if task is None or task.done():
        return False
    return task.get_loop().is_running() and task.get_loop() is not asyncio.get_running_loop()


def a_loop_runs() -> bool:
    """Whether a task can begin here: whether an event loop runs in this thread."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def cuts_off(error: BaseException, task: asyncio.Task[Any]) -> bool:
    """Whether an exception stops ``task`` from outside; work that raises CancelledError itself has merely failed."""
    import asyncio

    if isinstance(error, asyncio.CancelledError):
        return task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)
