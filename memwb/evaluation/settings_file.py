"""Injection settings in a file: the module that ``Workbench.export`` writes, and how it is read back."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import _files
from .._text import counted, cropped, said
from ..callbacks.written import Written, written
from ..errors import ConfigError, DamagedFileError, nearest
from ..memory import MemoryInjectionConfig
from ..memory.settings import CALLBACKS, Injection, resolve_injection

__all__ = ["MARK", "load_settings", "settings_source"]

MARK = "# Exported from a memwb workbench; exporting again writes it anew."
"""The first line of both files: only a file that begins with it is overwritten."""

_MODULE = '''\
{mark}
"""Which memories an agent's model gets, and how: {summary}.

    from strands import Agent
    from strands.memory import MemoryManager
    from {name} import injection

    agent = Agent(model=..., memory_manager=MemoryManager(stores=[...], injection=injection))

{beside}"""

from __future__ import annotations

STORES = {stores!r}
"""The names of the stores that were searched, in this order."""

PLACEMENT = "{placement}"
"""Where the block was shown: {placed}."""
{callbacks}
injection = {injection}
'''

_PLACED = {
    "append": "behind the user's words,\nas strands-agents does from 1.54 on; 1.48 to 1.53 put it before them",
    "prepend": "before the user's words,\nas strands-agents 1.48 to 1.53 do; from 1.54 on it comes behind them",
}

_OWN = ("injection", "PLACEMENT", "STORES")
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


def settings_source(settings: Injection | None, name: str, *, stores: Sequence[str], beside: str) -> str:
    """Return the module that holds settings, with the source of their callbacks; it needs nothing of memwb.

    Args:
        settings: The checked settings, None where the injection is off.
        name: The module's name.
        stores: The names of the stores that are searched, in their order.
        beside: What the module's docstring says of the files beside it: whole lines.

    Raises:
        ConfigError: A callback cannot be written out; what it is, and why, is named.
    """
    callbacks = {
        name: written(name, function) for name in CALLBACKS if callable(function := getattr(settings, name, None))
    }
    parts = _together(list(callbacks.values()))
    placement = (settings or Injection()).placement
    return _MODULE.format(
        mark=MARK,
        name=name,
        beside=beside,
        summary=_summary(settings),
        stores=list(stores),
        placed=_PLACED[placement],
        placement=placement,
        callbacks="".join(f"\n\n{part}" for part in parts) + "\n" * bool(parts),
        injection=_literal(settings, callbacks),
    )


def _summary(settings: Injection | None) -> str:
    if settings is None:
        return "none, the injection is off"
    return f"at most {counted(settings.max_entries, 'entry', 'entries')} at a model call"


def _literal(settings: Injection | None, callbacks: dict[str, Written]) -> str:
    if settings is None:
        return "False"
    values = {"max_entries": str(settings.max_entries)}
    if isinstance(settings.trigger, str):
        values["trigger"] = f'"{settings.trigger}"'
    values.update({name: one.function for name, one in callbacks.items()})
    return "{\n" + "".join(f'    "{key}": {value},\n' for key, value in values.items()) + "}"


def _together(callbacks: list[Written]) -> list[str]:
    """Return the pieces of all callbacks, each once; in one module no name may stand for two things."""
    meanings: dict[str, str] = {}
    for one in callbacks:
        for name, part in one.defined.items():
            if name in _OWN:
                raise _refused(one.slot, name, f"the {one.slot} callback defines {name!r}, a name of the module itself")
            if meanings.setdefault(name, part) != part:
                raise _refused(one.slot, name, f"two callbacks define {name!r}, each in its own way; rename one")
    for one in callbacks:
        for name in sorted(one.builtins_used & (meanings.keys() - one.defined.keys())):
            why = f"the {one.slot} callback uses Python's {name!r}, which another callback defines; rename that one"
            raise _refused(one.slot, name, why)
    return list(dict.fromkeys(part for one in callbacks for part in one.parts))


def _refused(key: str, value: object, why: str) -> ConfigError:
    return ConfigError(f"These settings cannot be written: {why}. Nothing was written.", key=key, value=value)
