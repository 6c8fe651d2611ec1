"""Writes that a tool answered with "accepted": made in the background, and not lost with the loop they began on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import AggregateMemoryError
from ._tasks import a_loop_runs, finished, give_up, runs_elsewhere

if TYPE_CHECKING:
    import asyncio

_log = logging.getLogger("memwb.memory")


@dataclass(eq=False)
class _Write:
    """One accepted write: ``stores`` are those that still lack it, ``failed`` is the number of its last failure."""

    content: str
    stores: list[str]
    task: asyncio.Task[None] | None = None
    failed: int = 0


class AcceptedWrites:
    """The accepted writes that are still open.

    Each begins at once, as a task of the running event loop. When that loop ends before the write was made, or a store
    fails, the write stays open and the next :meth:`flush`, on whatever loop, makes it where it is still lacking. So a
    write happens at least once: a store that had taken the text just before its loop ended is given it again.

    Args:
        make: Writes a text to the named stores.

    Attributes:
        failures: How many tries have failed so far. A flush begins with this number and tries each write until it is
            made or has failed since.
    """

    def __init__(self, make: Callable[[str, list[str]], Awaitable[Any]]) -> None:
        self._make = make
        self._open: list[_Write] = []
        self.failures = 0
        self._lock = threading.Lock()  # flushes of several threads must not begin a write twice

    def waiting(self, since: int, here: bool = False) -> bool:
        """Whether :meth:`flush`, with the same arguments, has something to wait for."""
        with self._lock:
            return bool(self._untried(since, here))

    def accept(self, content: str, stores: list[str]) -> None:
        """Begin a write on the running loop; where none runs, it waits for the next flush."""
        write = _Write(content, stores)
        with self._lock:
            if a_loop_runs():
                self._begin(write)
            self._open.append(write)

    async def flush(self, since: int, here: bool = False) -> None:
        """Wait until every write that is open is made or has failed since then. Failures are logged, never raised.

        Args:
            since: How many failures there were.
            here: Leave those alone that another loop is making.
        """
        while self.waiting(since, here):
            with self._lock:
                tasks = [self._live(write) for write in self._untried(since, here)]
            for task in tasks:
                await finished(task)

    def _untried(self, since: int, here: bool) -> list[_Write]:
        return [write for write in self._open if write.failed <= since and not (here and runs_elsewhere(write.task))]

    def _live(self, write: _Write) -> asyncio.Task[None]:
        """Return the task that makes the write, a new one when the old one can no longer do so."""
        task = write.task
        if task is not None and not task.done():
            if task.get_loop().is_running():
                return task
            give_up(task)
        return self._begin(write)

    def _begin(self, write: _Write) -> asyncio.Task[None]:
        import asyncio

        write.task = asyncio.get_running_loop().create_task(self._run(write))
        return write.task

    async def _run(self, write: _Write) -> None:
        try:
            await self._make(write.content, write.stores)
        except Exception as error:
            _log.warning("an accepted memory could not be stored, the next flush tries again: %s", error)
            with self._lock:
                self.failures += 1
                write.failed = self.failures
                if isinstance(error, AggregateMemoryError):
                    write.stores = list(error.stores)
            return
        # Not reached by a task that was cancelled: its write is still owed.
        with self._lock:
            if write in self._open:
                self._open.remove(write)
