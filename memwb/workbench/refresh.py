"""One refresh at a time, the newest wins, always on the event loop of the notebook.

Widget callbacks arrive on changing threads and loops, so they only ask for a refresh; the work itself runs on the loop
that was there when the workbench was made, which is also the loop of the user's own ``await store.search(...)``.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

PAUSE = 0.25
"""Seconds of quiet after a keystroke before its refresh begins."""

_LOOK = 0.02  # how often a thread looks whether all is settled on the loop of another
_TICK = 0.2  # a cell that only awaits can be interrupted when its loop wakes: so it wakes

Action = Callable[[], Coroutine[Any, Any, Any]]


class Refresher:
    """Runs ``work()`` after changes; callable from any thread.

    Args:
        work: Does the refresh and publishes it, after its last await and unless it was overtaken.
        on_error: Told of an exception that ``work`` lets out.
        on_refused: Told of an exception that an action lets out.
    """

    def __init__(
        self,
        work: Callable[[], Awaitable[None]],
        on_error: Callable[[Exception], None],
        on_refused: Callable[[Exception], None],
    ) -> None:
        self._work, self._on_error, self._on_refused = work, on_error, on_refused
        self._lock = threading.Lock()
        self._asked = 0
        self._done = 0
        self._task: asyncio.Task[None] | None = None
        self._working: asyncio.Task[None] | None = None  # the work inside it, while nothing has overtaken it
        self._actions: deque[Action] = deque()  # those that still wait for the loop
        self._acting: set[asyncio.Task[Any]] = set()
        self._made: set[asyncio.Task[Any]] = set()  # whatever has not ended, on the loops of before too
        self._closed = False
        self.loop: asyncio.AbstractEventLoop | None = None
        self._capture()

    @property
    def pending(self) -> bool:
        """Whether something changed that no refresh has answered yet."""
        return self._asked != self._done

    @property
    def closed(self) -> bool:
        """Whether it was closed: a request that comes now is never answered."""
        return self._closed

    @property
    def overtaken(self) -> bool:
        """Whether the refresh that asks is no longer the newest: it goes on where a store swallowed its end."""
        return asyncio.current_task() is not self._working

    def request(self, pause: float = 0.0) -> None:
        """Ask for a refresh after ``pause`` seconds of quiet; an unfinished one is dropped."""
        with self._lock:
            self._asked += 1
        if self._closed:
            return
        self._capture()
        self._on_loop(lambda: self._start(pause))

    def spawn(self, action: Action, *, foreign: bool = False) -> None:
        """Run another action of the page on the notebook's loop; a failure goes to ``on_refused``.

        A ``foreign`` action comes from a loop that is not the notebook's, such as that of an agent on its own thread:
        without a loop to run on it waits for the next :meth:`settled`.
        """
        if self._closed:
            return
        self._actions.append(action)
        if not foreign:
            self._capture()
        self._on_loop(self._start_actions)

    async def settled(self) -> None:
        """Return when every action has run and the newest request has been answered, whatever loop that is on.

        A loop that has ended (``asyncio.run`` in a script or in another thread) is replaced by the running one.
        """
        here = asyncio.get_running_loop()
        while True:
            loop = self._present(here)
            settled = self._settled_here() if loop is here else self._settled_there(loop)
            if await settled:
                self._sweep()
                return

    def close(self) -> None:
        """End what runs; later requests are ignored."""
        self._closed = True
        self._actions.clear()
        self._on_loop(self._cancel_all)

    async def _settled_here(self) -> bool:
        """Return whether all is settled: not so where another loop has taken over meanwhile."""
        here = asyncio.get_running_loop()
        while self.loop is here and not self._closed:
            self._begin()
            running = self._running()
            if asyncio.current_task() in self._acting:
                running -= self._acting  # an action may wait here too, and two of them not for each other
            if not running:
                return True
            await asyncio.wait(running, timeout=_TICK, return_when=asyncio.FIRST_COMPLETED)
        return self._closed

    async def _settled_there(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Wait until all is settled on another thread's loop, and return whether it is: not so where that has ended.

        It is looked at from here: a task over there would end with that loop, whoever waits for it.
        """
        while self.loop is loop and loop.is_running() and not self._closed:
            if not (self.pending or self._actions or self._running()):
                return True
            self._on_loop(self._begin)
            await asyncio.sleep(_LOOK)
        return self._closed

    def _begin(self) -> None:
        """Start what was asked for and has not been started, or was ended from outside."""
        self._start_actions()
        if self.pending and (self._task is None or self._task.done()):
            self._start(0.0)

    def _running(self) -> set[asyncio.Task[Any]]:
        return {task for task in (self._task, *tuple(self._acting)) if task is not None and not task.done()}

    def _present(self, here: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop:
        """Return the loop that the work runs on: from now on this one, where the one before has ended."""
        with self._lock:
            if self.loop is None or self.loop.is_closed() or not self.loop.is_running():
                self._move_to(here)
            assert self.loop is not None
            return self.loop

    def _capture(self) -> None:
        with self._lock:
            if self.loop is not None and not self.loop.is_closed():
                return
            try:
                self._move_to(asyncio.get_running_loop())
            except RuntimeError:  # a plain script: the loop comes with the first await
                self.loop = None

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Work on another loop from now on; what the old one left unfinished has ended with it."""
        self.loop, self._task, self._working = loop, None, None
        self._acting.clear()
        self._sweep()

    def _new_task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._made.add(task)
        task.add_done_callback(self._made.discard)
        return task

    def _sweep(self) -> None:
        """Let go of tasks whose loop was closed before they ended.

        A loop that ends takes what another thread asks of it to its very last turn, and never runs it. Such a task
        would be told to the user as destroyed and its coroutine as never awaited, though the next loop does the work.
        """
        for task in tuple(self._made):
            if task.get_loop().is_closed():
                self._made.discard(task)
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio has no public way to say it
                work = task.get_coro()
                assert work is not None
                with contextlib.suppress(Exception):  # of a store that cleans up without its loop
                    work.close()

    def _on_loop(self, action: Callable[[], object]) -> None:
        """Have the loop do something, unless it ends or another one takes over before it does."""
        loop = self.loop
        if loop is not None and not loop.is_closed():
            with contextlib.suppress(RuntimeError):  # closed in this very moment, by the thread that it ran in
                loop.call_soon_threadsafe(lambda: action() if self.loop is loop else None)

    def _start(self, pause: float) -> None:
        if self._closed:
            return
        if self._task is not None and not self._task.done():
            self._task.cancel()
        self._working = None
        self._task = self._new_task(self._run(pause))

    async def _run(self, pause: float) -> None:
        if pause:
            await asyncio.sleep(pause)
        answering = self._asked
        this = asyncio.current_task()
        assert this is not None
        # In a task of its own: a store that cancels the task which asks it ends that one, and this one hears of it.
        working = self._working = self._new_task(self._answered(answering))
        try:
            await working
        except asyncio.CancelledError:
            if this.cancelling() or this is not self._task:
                raise
            self._done = answering
            self._on_error(RuntimeError("a store cancelled the call that asked it"))

    async def _answered(self, answering: int) -> None:
        failure: Exception | None = None
        try:
            await self._work()
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # the last boundary: a failed refresh is shown, and never ends the kernel
            failure = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__} was raised")
        if self.overtaken:
            return
        self._done = answering
        if failure is not None:
            self._on_error(failure)

    def _start_actions(self) -> None:
        while self._actions:
            task = self._new_task(self._reported(self._actions.popleft()))
            self._acting.add(task)
            task.add_done_callback(self._acting.discard)

    async def _reported(self, action: Action) -> None:
        try:
            await action()
        except Exception as error:
            self._on_refused(error)

    def _cancel_all(self) -> None:
        for task in (self._task, *self._acting):
            if task is not None:
                task.cancel()
