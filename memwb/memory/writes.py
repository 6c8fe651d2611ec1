"""Writes that a tool answered with "accepted": made in the background, and not lost with the loop they began on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._tasks import finished, give_up

if TYPE_CHECKING:
    import asyncio

_log = logging.getLogger("memwb.memory")


@dataclass(eq=False)
class _Write:
    content: str
    stores: list[str]
    task: asyncio.Task[None] | None = None


class AcceptedWrites:
    """The accepted writes that are still open.

    Each begins at once, as a task of the running event loop. When that loop ends before the write was made, the write
    stays open and the next :meth:`flush`, on whatever loop, makes it. So a write happens at least once: a store that
    had taken the text just before its loop ended is given it again.

    Args:
        make: Writes a text to the named stores.
    """

    def __init__(self, make: Callable[[str, list[str]], Awaitable[Any]]) -> None:
        self._make = make
        self._open: list[_Write] = []
        self._lock = threading.Lock()  # flushes of several threads must not begin a write twice

    @property
    def waiting(self) -> bool:
        """Whether a write is open."""
        return bool(self._open)

    def accept(self, content: str, stores: list[str]) -> None:
        """Begin a write on the running loop."""
        write = _Write(content, stores)
        with self._lock:
            self._begin(write)
            self._open.append(write)

    async def flush(self) -> None:
        """Wait until no write is open, making again those whose loop has ended. Failures are logged, never raised."""
        while self._open:
            with self._lock:
                tasks = [self._live(write) for write in self._open]
            for task in tasks:
                await finished(task)

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
            _log.warning("an accepted memory could not be stored: %s", error)
        # Not reached by a task that was cancelled: its write is still owed.
        if write in self._open:
            self._open.remove(write)
