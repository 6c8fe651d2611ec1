"""When something is to fail: always, by a list, or by lot from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from ..errors import ConfigError, nearest

OK = "ok"

Schedule = str | Sequence[str] | Mapping[str, float]
"""One fault for every call; one a call in a list, ``"ok"`` after its end; or shares of all calls by fault."""


class Faults(Iterator[str]):
    """Tells for one call after another how it fails; ``"ok"``: it does not.

    Args:
        given: See :data:`Schedule`.
        known: The faults there are.
        seed: Of the drawing by lot.
        where: What an error names.

    Raises:
        ConfigError: An unknown fault, or shares that are not between 0 and 1 together.
    """

    def __init__(self, given: Schedule, known: Sequence[str], seed: str, where: str) -> None:
        if not isinstance(given, str | Sequence | Mapping):
            raise refused(where, given, "a fault, a list of faults, or a mapping from faults to shares", "faults")
        names = [given] if isinstance(given, str) else list(given)
        for name in names:
            if name not in (OK, *known):
                raise ConfigError(
                    f"{where}: there is no fault {name!r}; the faults are {', '.join(known)}, and 'ok' for none."
                    f"{nearest(name, known)}",
                    key="faults",
                    value=name,
                    allowed=(OK, *known),
                )
        for share in given.values() if isinstance(given, Mapping) else ():
            if isinstance(share, bool) or not isinstance(share, int | float):
                raise refused(f"{where}: a share", share, "a number from 0 to 1", "faults")
        self._always = given if isinstance(given, str) else None
        self._listed = iter(() if isinstance(given, str | Mapping) else names)
        self._shares = dict(given) if isinstance(given, Mapping) else {}
        self._random = random.Random(seed)
        total = sum(self._shares.values())
        if total > 1 or any(share < 0 for share in self._shares.values()):
            raise ConfigError(
                f"{where}: the shares {self._shares} must be 0 or more, and together at most 1.",
                key="faults",
                value=given,
            )

    def __next__(self) -> str:
        if self._always is not None:
            return self._always
        drawn = self._random.random() if self._shares else 1.0
        for name, share in self._shares.items():
            drawn -= share
            if drawn < 0:
                return name
        return next(self._listed, OK)


def refused(where: str, value: object, allowed: str, key: str) -> ConfigError:
    """Return the error of an argument that is not what it must be."""
    return ConfigError(f"{where} must be {allowed}, not {value!r:.80}.", key=key, value=value)


def check_slow_and_error(where: str, seconds: object, error: object) -> None:
    """Check how long a slow call takes and what a failing one raises.

    Raises:
        ConfigError: One of them is no such thing.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise refused(f"{where}: seconds", seconds, "a number of seconds, 0 or more", "seconds")
    if error is not None and not isinstance(error, BaseException):
        raise refused(f"{where}: error", error, "an exception such as OSError('down'), or None", "error")


async def wait_forever() -> None:
    """Wait until the task is cancelled."""
    import asyncio

    await asyncio.Event().wait()
