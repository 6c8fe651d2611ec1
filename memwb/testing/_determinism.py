"""Clocks and ids that give the same at every run."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import NamedTuple

from .. import _time

_START = datetime(2026, 1, 1, tzinfo=UTC)


class FrozenClock:
    """A clock that stands still until it is told to move. Safe in threads.

    ::

        clock = FrozenClock()
        store = TestMemoryStore(name="notes", persist=False, clock=clock)
        clock.advance(minutes=5)

    Args:
        start: The first time, an aware datetime or a text such as ``"2026-01-01T00:00:00Z"``.
        step: How far the clock moves by itself after each time it is asked.
    """

    def __init__(self, start: datetime | str = _START, *, step: timedelta = timedelta(0)) -> None:
        time = _time.parse_stamp(start) if isinstance(start, str) else start
        _time.stamp(time)  # refuses a time without a zone
        self._time, self._step = time.astimezone(UTC), step
        self._lock = threading.Lock()

    def __call__(self) -> datetime:
        """Return the time, in UTC, and move on by ``step``."""
        with self._lock:
            time = self._time
            self._time += self._step
            return time

    def advance(self, by: timedelta | None = None, **units: float) -> datetime:
        """Move the clock, by a timedelta or by its arguments (``seconds=2``), and return the new time."""
        with self._lock:
            self._time += (by or timedelta(0)) + timedelta(**units)
            return self._time

    def __repr__(self) -> str:
        return f"FrozenClock({_time.stamp(self._time)!r})"


class SequentialIds:
    """Ids that count up: ``id-1``, ``id-2`` and so on. Safe in threads.

    Args:
        prefix: What stands before the number.
        start: The first number.
    """

    def __init__(self, prefix: str = "id-", start: int = 1) -> None:
        self._prefix = prefix
        self._numbers = itertools.count(start)

    def __call__(self) -> str:
        """Return the next id."""
        return f"{self._prefix}{next(self._numbers)}"

    def __repr__(self) -> str:
        return f"SequentialIds({self._prefix!r})"


class Frozen(NamedTuple):
    """What :func:`frozen` installs.

    Attributes:
        clock: The clock that all of memwb asks.
        new_id: Where all new ids come from.
    """

    clock: Callable[[], datetime]
    new_id: Callable[[], str]


def frozen(
    clock: Callable[[], datetime] | datetime | str | None = None, new_id: Callable[[], str] | None = None
) -> Freeze:
    """Freeze time and ids everywhere in memwb, in every thread, until the ``with`` block ends.

    It reaches every store, session and trace that was not given a clock or ids of its own, those built before
    included. In a notebook, where a block cannot span cells, call ``start()`` on the result in the first cell.

    ::

        with frozen() as (clock, new_id):
            await store.add("created on 2026-01-01, with the id id-1")

    Args:
        clock: The clock; default a new :class:`FrozenClock`. A time or its text stands for a clock frozen there.
        new_id: The ids; default new :class:`SequentialIds`.
    """
    if clock is None:
        clock = FrozenClock()
    elif isinstance(clock, datetime | str):
        clock = FrozenClock(clock)
    return Freeze(Frozen(clock, SequentialIds() if new_id is None else new_id))


class Freeze:
    """The context manager that :func:`frozen` returns; leaving it brings back what was before."""

    def __init__(self, sources: Frozen) -> None:
        self.sources = sources
        self._open: list[AbstractContextManager[None]] = []

    def __enter__(self) -> Frozen:
        override = _time.overridden(*self.sources)
        override.__enter__()
        self._open.append(override)
        return self.sources

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.pop().__exit__(None, None, None)

    def start(self) -> Frozen:
        """Freeze until :meth:`stop` or the end of the process, whether this object is kept or not."""
        _started.append(self)
        return self.__enter__()

    def stop(self) -> None:
        """End what :meth:`start` began."""
        self.__exit__(None, None, None)
        _started.remove(self)


_started: list[Freeze] = []  # what was started ends with its object, which a notebook's first cell may not keep
