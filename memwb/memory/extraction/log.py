"""What happens while memories are extracted, kept in the order in which it happened."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

from ..._text import counted
from .happenings import Event, Unreadable

_log = logging.getLogger("memwb.memory")

MAX_EVENTS = 5_000
"""So many events a log keeps before it lets go of its oldest."""

_Kind = TypeVar("_Kind", bound=Event)


class ExtractionLog(Sequence[Event]):
    """The events of a manager's extraction, oldest first; a screen subscribes to it, a notebook prints it.

    Args:
        limit: So many events it keeps; the oldest go first. What :attr:`unreadable` holds is kept beside. An event
            ``Buffered`` holds the agent's own message, images too, so that these stay in memory as long as it is kept,
            also when they are saved and the agent has dropped them.

    Attributes:
        dropped: How many events are gone.
    """

    def __init__(self, limit: int = MAX_EVENTS) -> None:
        self.dropped = 0
        self._events: deque[Event] = deque(maxlen=limit)
        self._unreadable: list[Unreadable] = []
        self._subscribers: list[Callable[[Event], Any]] = []
        self._lock = threading.Lock()  # several agents, in threads of their own, may share a manager

    @property
    def unreadable(self) -> tuple[Unreadable, ...]:
        """The answers that held no list of facts, with their messages, until ``retry_unreadable`` has read them."""
        return tuple(self._unreadable)

    def subscribe(self, callback: Callable[[Event], Any]) -> Callable[[], None]:
        """Call ``callback`` with each event from now on, and return what ends that.

        It is called at once, in the thread in which the event happened, and must not wait. What it raises is logged.
        """
        self._subscribers.append(callback)

        def undo() -> None:
            if callback in self._subscribers:
                self._subscribers.remove(callback)

        return undo

    def of(self, kind: type[_Kind], store: str | None = None) -> list[_Kind]:
        """Return the events of one type, such as ``Saved``, of one store where it is named."""
        return [
            event
            for event in tuple(self._events)
            if isinstance(event, kind) and store in (None, getattr(event, "store", None))
        ]

    def append(self, event: Event) -> None:
        """Take in an event; what extracts does this."""
        with self._lock:
            if len(self._events) == self._events.maxlen:
                self.dropped += 1
            self._events.append(event)
            if isinstance(event, Unreadable):
                self._unreadable.append(event)
        for callback in tuple(self._subscribers):
            try:
                callback(event)
            except Exception:  # a listener's fault must not become a failed save
                _log.exception("a subscriber of the extraction log failed at %r", event)

    def settle(self, event: Unreadable) -> None:
        """Let go of an unreadable answer whose messages have been extracted since."""
        with self._lock:
            self._unreadable = [kept for kept in self._unreadable if kept is not event]

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        return list(self._events)[index] if isinstance(index, slice) else self._events[index]

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(tuple(self._events))

    def __repr__(self) -> str:
        kinds = [type(event).__name__.lower() for event in self]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        waiting = f"; {counted(len(self._unreadable), 'unreadable answer')} kept" if self._unreadable else ""
        return f"ExtractionLog({counted(len(kinds), 'event')}{': ' if counts else ''}{counts}{waiting})"

    def __str__(self) -> str:
        from ._timeline import log_text

        return log_text(self)

    def _repr_html_(self) -> str:
        from ._timeline import log_html

        return log_html(self)
