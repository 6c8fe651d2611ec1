"""Refuses stores that a manager could not work with, when it is built."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ..errors import ConfigError
from .settings import at_least_one
from .types import has_method


def checked_stores(stores: Sequence[Any]) -> list[Any]:
    """Return the stores as a list, each a store of its own name and file, and able to do what its settings say.

    Raises:
        ConfigError: One of them is not; the message names it.
    """
    if isinstance(stores, str) or not isinstance(stores, Sequence):
        raise ConfigError(
            f"MemoryManager: stores must be a list of stores, not {stores!r}.", key="stores", value=stores
        )
    if not stores:
        raise ConfigError("MemoryManager: at least one store is needed; the list is empty.", key="stores", value=[])
    seen: dict[str, Any] = {}
    files: dict[str, str] = {}
    for store in stores:
        _check_shape(store)
        if store.name in seen:
            raise ConfigError(f"MemoryManager: two stores are named {store.name!r}; names must differ.", key="stores")
        if store.writable and not (has_method(store, "add") or has_method(store, "add_messages")):
            raise ConfigError(
                f"MemoryManager: store {store.name!r} is writable but has no add or add_messages method.", key="stores"
            )
        if store.max_search_results is not None:
            at_least_one(
                store.max_search_results,
                f"MemoryManager: store {store.name!r}: max_search_results",
                "max_search_results",
            )
        seen[store.name] = store
        _refuse_shared_file(store, files)
    return list(stores)


def _check_shape(store: Any) -> None:
    missing = [
        name
        for name in ("name", "description", "max_search_results", "writable", "extraction", "search")
        if not hasattr(store, name)
    ]
    if missing:
        raise ConfigError(
            f"MemoryManager: {type(store).__name__} is no memory store: it lacks {', '.join(missing)}. "
            "See memwb.memory.MemoryStore for what a store needs.",
            key="stores",
            value=store,
        )
    if not isinstance(store.name, str):
        raise ConfigError(
            f"MemoryManager: a {type(store).__name__} has the name {store.name!r}; a name is a text.",
            key="name",
            value=store.name,
        )


def _refuse_shared_file(store: Any, files: dict[str, str]) -> None:
    path = getattr(store, "path", None)
    if not isinstance(path, str | os.PathLike):
        return
    real = os.path.normcase(os.path.realpath(path))
    if real in files:
        raise ConfigError(
            f"MemoryManager: stores {files[real]!r} and {store.name!r} share the file {path}. "
            "Give each a path of its own, or use one of them.",
            key="stores",
        )
    files[real] = store.name
