"""What the state of every screen has: who listens to it, the loop that it works on, and what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .refresh import Action, Refresher
from .told import told


class ScreenState:
    """The base of the workbench's state and of those of its panels.

    A screen that refreshes does so in :meth:`_refresh`, which ``self._refresher.request()`` asks for.

    Attributes:
        failure: Why the last refresh failed; "" where it did not.
        refused: Why the last action was not done; "" where it was.
        revision: Grows with each result, each failure and each refusal.
    """

    def __init__(self) -> None:
        self.failure = self.refused = ""
        self.revision = 0
        self._subscribers: dict[object, Callable[[], None]] = {}
        self._refresher = Refresher(self._refresh, self._failed, self._refuse)

    @property
    def pending(self) -> bool:
        """Whether a change waits for its refresh."""
        return self._refresher.pending

    async def settled(self) -> None:
        """Return when everything that was asked for is done."""
        await self._refresher.settled()

    def spawn(self, work: Action, *, foreign: bool = False) -> None:
        """Run an action of the page, or of a ``foreign`` loop such as a live agent's, on the notebook's loop.

        What it raises is told in :attr:`refused`.
        """
        self._refresher.spawn(work, foreign=foreign)

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], object]:
        """Call ``callback`` after each change; the function returned undoes it (twice is harmless)."""
        key = object()
        self._subscribers[key] = callback
        return partial(self._subscribers.pop, key, None)

    def close(self) -> None:
        """End what runs and forget the subscribers."""
        self._refresher.close()
        self._subscribers.clear()

    async def _refresh(self) -> None:
        """Do nothing: a screen may have no refresh of its own."""

    def _failed(self, error: Exception) -> None:
        self.failure = told(error)
        self.revision += 1
        self._publish()

    def _refuse(self, error: Exception) -> None:
        self.refused = told(error)
        self.revision += 1
        self._publish()

    def _publish(self) -> None:
        for callback in tuple(self._subscribers.values()):
            callback()
