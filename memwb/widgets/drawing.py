"""When a screen is drawn: at once for news, and not for each of many changes that come together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

GAP = 0.05
"""Seconds between two drawings: who holds a key down, or a cell that changes much, gets the last state soon enough."""

QUIET = 0.1
"""Seconds that a result may take before the page shows that it waits for one: most are there sooner."""


class Drawing:
    """Calls ``draw``: at once, or a little later where there is more to come. The last change is always drawn.

    A drawing costs the kernel and the page more than most results do. So a change whose result is on its way is not
    drawn before it, and what follows the last drawing closely waits for its turn.

    Args:
        draw: Draws the whole screen.
        waits: Whether a result is on its way.
    """

    def __init__(self, draw: Callable[[], None], waits: Callable[[], bool]) -> None:
        self._draw, self._waits = draw, waits
        self._drawn = -GAP
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # the timer's: one that has ended calls nothing any more
        self._due = 0.0

    def __call__(self) -> None:
        """Draw what has changed, in the running loop, soon; without one at once."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return self.now()
        present = time.monotonic()
        due = max(present + QUIET if self._waits() else present, self._drawn + GAP)
        if due <= present:
            return self.now()
        if self._timer is not None and self._loop is loop and self._due <= due:
            return None
        self.cancel()
        self._loop, self._due = loop, due
        self._timer = loop.call_later(due - present, self.now)
        return None

    def now(self) -> None:
        """Draw at once."""
        self.cancel()
        self._draw()
        self._drawn = time.monotonic()

    def flush(self) -> None:
        """Draw what waits for its turn."""
        if self._timer is not None:
            self.now()

    def cancel(self) -> None:
        """Draw nothing more of what has changed so far."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
