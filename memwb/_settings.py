"""The checks of what a store is built with; ``where`` begins the error."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from . import _files
from .errors import ConfigError


def checked_path(value: Any, name: str, where: str) -> Path:
    """Return a path with ``~`` expanded, fixed against the current folder, else raise :class:`ConfigError`."""
    if not isinstance(value, str | os.PathLike) or not isinstance(text := os.fspath(value), str):
        raise ConfigError(f"{where}: {name} is {value!r:.80}; it must be a text or a Path.", key=name, value=value)
    if not text.strip() or "\0" in text:
        raise ConfigError(f"{where}: {name} {text!r} must not be empty, blank or hold a NUL.", key=name, value=value)
    try:
        os.fsencode(text)
        return _files.expand(text)
    except UnicodeEncodeError as error:
        told = f"{where}: {name} {text!r:.80} holds a character that no file's name can have."
        raise ConfigError(told, key=name, value=value) from error
    except RuntimeError as error:  # ~someone who does not exist, or no home folder at all
        raise ConfigError(f"{where}: {name} {text!r}: {error}", key=name, value=value) from error


def checked_flag(value: Any, name: str, where: str) -> bool:
    """Return True or False, else raise :class:`ConfigError`."""
    if isinstance(value, bool):
        return value
    raise ConfigError(f"{where}: {name} is {value!r:.80}; it must be True or False.", key=name, value=value)


def checked_seconds(value: Any, name: str, where: str) -> float:
    """Return a number of seconds that is not negative, else raise :class:`ConfigError`."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
        return value
    raise ConfigError(
        f"{where}: {name} is {value!r:.80}; it must be a number of seconds, at least 0.", key=name, value=value
    )
