"""Injection settings in a file: the module that ``Workbench.export`` writes, read back."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Any

from .. import _files
from .._text import cropped, said
from ..errors import DamagedFileError, nearest
from ..memory import MemoryInjectionConfig
from ..memory.settings import resolve_injection

__all__ = ["load_settings"]

_ADVICE = "What `wb.export(path)` writes has this form."


def load_settings(path: str | os.PathLike[str]) -> MemoryInjectionConfig | bool:
    """Read the settings that a module holds, in the form that ``Workbench.export`` writes.

    The module is run, like any other that is imported: read a file that is not your own before you load it. It is run
    in a namespace of its own, so that two files of one name do not meet, and nothing is written beside it.

    Args:
        path: The module: it assigns ``injection``, and may say ``PLACEMENT``, where the block was shown.

    Returns:
        The settings as ``MemoryManager(injection=...)`` takes them, with the module's ``PLACEMENT`` as ``placement``
        where they name none. False: the injection is off.

    Raises:
        DamagedFileError: The module cannot be run, or assigns no ``injection``; the message names the line.
        ConfigError: ``injection`` holds a key or a value that no manager takes.
        OSError: The file cannot be read.
    """
    file = Path(path)
    names = _run(file)
    if "injection" not in names:
        public = [name for name in names if not name.startswith("_")]
        cause = f"it assigns no 'injection', the settings.{nearest('injection', public)}"
        raise DamagedFileError(file, "", cause, advice=_ADVICE)
    injection = names["injection"]
    where = f"{file}: "
    if resolve_injection(injection, prefix=where) is None:
        return False
    if injection is True:
        injection = {}
    placement = names.get("PLACEMENT")
    if placement is not None and injection.get("placement") is None:
        injection = {**injection, "placement": placement}
        resolve_injection(injection, prefix=where)
    return dict(injection)  # type: ignore[return-value]


def _run(file: Path) -> dict[str, Any]:
    """Run a module and return its names."""
    try:
        source = file.read_bytes()
    except OSError as error:
        reason = "it does not exist" if isinstance(error, FileNotFoundError) else error.strerror or said(error)
        raise _files.described(error, f"The settings {file} cannot be read: {reason}. {_ADVICE}", file) from error
    names: dict[str, Any] = {"__name__": file.stem, "__file__": str(file)}
    try:
        exec(compile(source, str(file), "exec", dont_inherit=True), names)
    except SyntaxError as error:
        place = f"line {error.lineno}" if error.lineno and error.filename == str(file) else ""
        raise DamagedFileError(file, place, f"SyntaxError: {error.msg}") from error
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        place = f"line {lines[-1]}" if lines else ""
        raise DamagedFileError(file, place, cropped(f"{type(error).__name__}: {said(error)}")) from error
    return names
