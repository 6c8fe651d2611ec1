"""Backends for long-term memory, each a ``memwb.memory.MemoryStore``, and what a store may be able to do besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import loading
from ._config import TestMemoryStoreConfig
from ._exchange import Exchange
from ._items import TestMemoryAddResult
from ._salvage import Salvage, SalvageNote
from .json_file import TestMemoryStore
from .protocols import BulkItem, BulkWritable, Editable, Exchangeable, FilteredSearchOptions, Listable
from .session_search import SessionSearch

if TYPE_CHECKING:
    from ._copy import copy
    from .postgres import PostgresMemoryStore
    from .semantic import Hybrid, Semantic
    from .sqlite import SQLiteMemoryStore

__all__ = [
    "BulkItem",
    "BulkWritable",
    "Editable",
    "Exchange",
    "Exchangeable",
    "FilteredSearchOptions",
    "Hybrid",
    "Listable",
    "PostgresMemoryStore",
    "SQLiteMemoryStore",
    "Salvage",
    "SalvageNote",
    "Semantic",
    "SessionSearch",
    "TestMemoryAddResult",
    "TestMemoryStore",
    "TestMemoryStoreConfig",
    "copy",
]

__getattr__, __dir__ = loading(
    __name__,
    {
        "._copy": "copy",
        ".postgres": "PostgresMemoryStore",
        ".semantic": "Hybrid Semantic",
        ".sqlite": "SQLiteMemoryStore",
    },
)
