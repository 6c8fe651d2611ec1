"""The settings of a TestMemoryStore and their checks."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import _files
from .._settings import checked_flag, checked_path
from .._time import Clock, IdFactory
from ..errors import ConfigError
from ..memory.settings import at_least_one, refuse_unknown
from ..memory.types import MemoryStoreConfig
from ..ranking import Tokenizer
from ._items import checked_text
from ._records import PREFIX, WHERE


class TestMemoryStoreConfig(MemoryStoreConfig, total=False):
    """The keyword arguments of :class:`TestMemoryStore`. ``name`` is required.

    Attributes:
        persist: True (default): the entries are kept in a file. False: in memory, until the process ends.
        durable: True: a write is acknowledged once it is on the disk, so that it outlives a power cut too. False
            (default): it outlives a kill and an interrupt. Waiting for the disk takes milliseconds at each write.
        path: The file. Default: ``~/.strands/memory/<name>.json``, with unsafe characters of the name replaced.
            Not used with ``persist=False``.
        provenance: True: a search tells each entry's id and time in its metadata too, as ``id`` and ``createdAt``, so
            that a format can show them in any agent; what was stored under these keys stays. memwb's own, as are the
            following and ``durable``.
        clock: Gives the time of new records, aware.
        new_id: Gives the id of new records, a text.
        tokenizer: Turns a text into its tokens, for queries and contents alike. Default: the documented one,
            :func:`memwb.ranking.tokenize`. Shipped beside it: :func:`~memwb.ranking.tokenize_any_script` for text
            without spaces, marks and forms of letters, and :func:`~memwb.ranking.tokenize_without_stop_words`. One of
            your own must always give the same tokens for the same text, since what it gave is kept.
    """

    persist: bool
    durable: bool
    provenance: bool
    path: str | os.PathLike[str]
    clock: Clock | None
    new_id: IdFactory | None
    tokenizer: Tokenizer | None


TestMemoryStoreConfig.__test__ = False  # type: ignore[attr-defined]  # pytest: not a test class; no place in the body

_KEYS = tuple(TestMemoryStoreConfig.__annotations__)  # with the inherited ones


def check_config(config: Mapping[str, Any]) -> None:
    """Raise :class:`ConfigError` for the first setting with an unknown name or a value that it cannot take."""
    refuse_unknown(config, _KEYS, f"{PREFIX}the store")
    if "name" not in config:
        raise ConfigError(f"{PREFIX}name is required: TestMemoryStore(name='notes').", key="name")
    checked_text(config["name"], "name")
    description = config.get("description")
    if description is not None and not isinstance(description, str):
        raise ConfigError(
            f"{PREFIX}description is {description!r:.80}; it must be a text.", key="description", value=description
        )
    if config.get("max_search_results") is not None:
        at_least_one(config["max_search_results"], f"{PREFIX}max_search_results", "max_search_results")
    for key in ("writable", "persist", "durable", "provenance"):
        checked_flag(config.get(key, True), key, WHERE)
    for key, what in (("clock", "a time"), ("new_id", "an id"), ("tokenizer", "a text's tokens")):
        _check_function(config.get(key), key, what)


def _check_function(value: Any, key: str, what: str) -> None:
    if value is None or (callable(value) and not inspect.iscoroutinefunction(value)):
        return
    raise ConfigError(
        f"{PREFIX}{key} is {value!r:.80}; it must be a plain function that gives {what}.", key=key, value=value
    )


def file_of(config: Mapping[str, Any]) -> Path | None:
    """Return where the store keeps its records, fixed now; None for a store in memory. Touches no file."""
    if not config.get("persist", True):
        return None
    path = config.get("path")
    if path is None:
        path = f"~/.strands/memory/{_files.safe_name(config['name'])}.json"
    return checked_path(path, "path", WHERE)
