"""Time and ids: where they come from, and how a time is written.

Everything in memwb that needs the time or a new id asks :func:`now` and :func:`new_id`. Both go through one pair of
sources, which :func:`overridden` replaces for a while: that is how ``memwb.testing.frozen()`` makes a run repeatable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Gives the current time as an aware datetime."""

IdFactory = Callable[[], str]
"""Gives a text that it has not given before."""


def _system_clock() -> datetime:
    return datetime.now(UTC)


def _random_id() -> str:
    """Return a random UUID (version 4) as text; a third of the time that the uuid module takes."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


_sources: tuple[Clock, IdFactory] = (_system_clock, _random_id)


def now() -> datetime:
    """Return the current time in UTC."""
    return _sources[0]()


def new_id() -> str:
    """Return a new id, a random UUID."""
    return _sources[1]()


@contextmanager
def overridden(clock: Clock, new_id: IdFactory) -> Iterator[None]:
    """Let :func:`now` and :func:`new_id` ask these sources instead, in every thread, until the block ends."""
    global _sources
    before, _sources = _sources, (clock, new_id)
    try:
        yield
    finally:
        _sources = before


def stamp(time: datetime) -> str:
    """Write an aware time as ``YYYY-MM-DDTHH:MM:SS.mmmZ``, in UTC; what is finer than a millisecond is cut off.

    Raises:
        ValueError: The time has no zone, so that it names no moment.
    """
    if time.tzinfo is None or time.utcoffset() is None:
        raise ValueError(f"The time {time.isoformat()} has no time zone; use an aware one, as datetime.now(UTC) gives.")
    if time.tzinfo is not UTC:
        time = time.astimezone(UTC)
    return time.isoformat(timespec="milliseconds")[:-6] + "Z"


def parse_stamp(text: str) -> datetime:
    """Read a time in ISO 8601 form into an aware datetime in UTC; one without a zone counts as UTC.

    Raises:
        ValueError: The text is no such time, or lies outside the years 1 to 9999.
    """
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is no time in ISO 8601 form, such as '2026-01-31T12:00:00.000Z'.") from error
