"""Work that is done to its end, since its half would be a damage: what asks to stop meanwhile is heard afterwards."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

_T = TypeVar("_T")


async def unbroken(work: Callable[[], Awaitable[_T]]) -> _T:
    """Do something and return what it gives; a cancellation or Ctrl-C is raised when it has ended.

    Asked a second time it stops where it is, as when a store does not answer.

    Raises:
        asyncio.CancelledError: It was asked to stop; the work is done all the same, or failed as ``__cause__`` says.
        KeyboardInterrupt: As for a cancellation.
    """
    with _interrupts:
        task = asyncio.ensure_future(work())
        stopped: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as error:
                if stopped is not None or _interrupts.asked > 1:
                    task.cancel()
                stopped = error
        if stopped is not None:
            raise stopped from (None if task.cancelled() else task.exception())
        return task.result()


class _Interrupts:
    """Keeps the first SIGINT until all blocks have ended that it was entered for; a second one is let through at once.

    Attributes:
        asked: How many came.
    """

    def __init__(self) -> None:
        self.asked = 0
        self._inside = 0
        self._usual: Any = None

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():  # no other one is interrupted
            return
        self._inside += 1
        if self._inside == 1 and callable(usual := signal.getsignal(signal.SIGINT)):
            self.asked, self._usual = 0, usual
            signal.signal(signal.SIGINT, self._hold)

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._inside -= 1
        if self._inside == 0 and self._usual is not None:
            usual, self._usual = self._usual, None
            signal.signal(signal.SIGINT, usual)
            if self.asked == 1:
                usual(signal.SIGINT, None)

    def _hold(self, number: int, frame: Any) -> None:
        self.asked += 1
        if self.asked > 1:
            self._usual(number, frame)


_interrupts = _Interrupts()
