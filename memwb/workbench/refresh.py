"""One refresh at a time, the newest wins, always on the event loop of the notebook.

Widget callbacks arrive on changing threads and loops, so they only ask for a refresh; the work itself runs on the loop
that was there when the workbench was made, which is also the loop of the user's own ``await store.search(...)``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

PAUSE = 0.25
"""Seconds of quiet after a keystroke before its refresh begins."""

_TICK = 0.2  # a cell that only awaits can be interrupted when its loop wakes: so it wakes


class Refresher:
    """Runs ``work()`` after changes; callable from any thread.

    Args:
        work: Does the refresh and publishes it, after its last await.
        on_error: Told of an exception that ``work`` lets out.
    """

    def __init__(self, work: Callable[[], Awaitable[None]], on_error: Callable[[Exception], None]) -> None:
        self._work, self._on_error = work, on_error
        self._lock = threading.Lock()
        self._asked = 0
        self._done = 0
        self._task: asyncio.Task[None] | None = None
        self._spawned: set[asyncio.Task[Any]] = set()
        self._closed = False
        self.loop: asyncio.AbstractEventLoop | None = None
        self._capture()

    @property
    def pending(self) -> bool:
        """Whether something changed that no refresh has answered yet."""
        return self._asked != self._done

    def request(self, pause: float = 0.0) -> None:
        """Ask for a refresh after ``pause`` seconds of quiet; an unfinished one is dropped."""
        if self._closed:
            return
        with self._lock:
            self._asked += 1
        self._capture()
        self._on_loop(lambda: self._start(pause))

    def spawn(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Run another action of the page on the notebook's loop; a failure goes to ``on_error``."""
        self._capture()
        self._on_loop(lambda: self._keep(work))

    async def settled(self) -> None:
        """Return when the newest request has been answered.

        A loop that has ended (``asyncio.run`` in a script) is replaced by the running one.
        """
        here = asyncio.get_running_loop()
        if self.loop is None or self.loop.is_closed() or not self.loop.is_running():
            self.loop, self._task = here, None
        if self.loop is not here:
            waiting = asyncio.run_coroutine_threadsafe(self._settled_here(), self.loop)
            await asyncio.wrap_future(waiting)
        else:
            await self._settled_here()

    def close(self) -> None:
        """End what runs; later requests are ignored."""
        self._closed = True
        self._on_loop(self._cancel_all)

    async def _settled_here(self) -> None:
        while self.pending and not self._closed:
            if self._task is None or self._task.done():
                self._start(0.0)
            assert self._task is not None
            await asyncio.wait({self._task}, timeout=_TICK)

    def _capture(self) -> None:
        if self.loop is not None and not self.loop.is_closed():
            return
        try:
            self.loop, self._task = asyncio.get_running_loop(), None
        except RuntimeError:  # a plain script: the loop comes with the first await
            self.loop = None

    def _on_loop(self, action: Callable[[], None]) -> None:
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(action)

    def _start(self, pause: float) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
        assert self.loop is not None
        self._task = self.loop.create_task(self._run(pause))

    async def _run(self, pause: float) -> None:
        if pause:
            await asyncio.sleep(pause)
        answering = self._asked
        try:
            await self._work()
        except Exception as error:  # the last boundary: a failed refresh is shown, not lost
            self._on_error(error)
        self._done = answering

    def _keep(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        assert self.loop is not None
        task = self.loop.create_task(self._reported(work))
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)

    async def _reported(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        try:
            await work()
        except Exception as error:
            self._on_error(error)

    def _cancel_all(self) -> None:
        for task in (self._task, *self._spawned):
            if task is not None:
                task.cancel()
