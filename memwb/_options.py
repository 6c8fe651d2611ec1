"""What holds for the whole process: whether stills are kept, and how memory text is masked outside of the live page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .errors import ConfigError

__all__ = ["Options", "Redact", "checked_redact", "options"]

Redact = Callable[[str], str] | bool | None
"""False or None: texts are shown. True: a sign for each letter and digit. A function: what it returns for a text."""


@dataclass(frozen=True)
class Options:
    """What holds.

    Attributes:
        stills: Whether a workbench in a saved notebook keeps its still, for pages without a kernel.
        redact: How memory text is masked in reprs, stills and exports.
    """

    stills: bool = True
    redact: Redact = None


_now = Options()
_LEFT_OUT: Any = object()


def options(*, stills: bool = _LEFT_OUT, redact: Redact = _LEFT_OUT) -> Options:
    """Set what holds for the whole process, and return it; without arguments only return it.

    Args:
        stills: False: no still is written into notebooks.
        redact: True masks every word of memory text by signs of the same length, a function gives the text to show
            (of a sentence that quotes memory it gets the whole sentence), False or None shows all. It holds for reprs,
            HTML forms, stills and exports from then on. The live page, the data of a trace and DataFrames show memory
            as it is, and so do the user's own words and what an exception of somebody else's quotes.

    Raises:
        ConfigError: A value is none of these; nothing was changed.
    """
    global _now
    new = _now
    if stills is not _LEFT_OUT:
        if not isinstance(stills, bool):
            raise ConfigError(f"options: stills must be True or False, not {stills!r:.60}.", key="stills", value=stills)
        new = replace(new, stills=stills)
    if redact is not _LEFT_OUT:
        new = replace(new, redact=checked_redact(redact, "options"))
    _now = new
    return new


def checked_redact(value: Any, where: str) -> Redact:
    """Return what masks memory text, else raise :class:`ConfigError`, which begins with ``where``."""
    if value is None or isinstance(value, bool) or callable(value):
        return value  # type: ignore[no-any-return]
    raise ConfigError(
        f"{where}: redact must be True, False or a function that returns the text to show, not {value!r:.60}.",
        key="redact",
        value=value,
    )
