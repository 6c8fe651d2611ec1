"""Backends for long-term memory, each a ``memwb.memory.MemoryStore``, and what a store may be able to do besides."""

from __future__ import annotations

from ._config import TestMemoryStoreConfig
from ._exchange import Exchange
from ._items import TestMemoryAddResult
from ._salvage import Salvage, SalvageNote
from .json_file import TestMemoryStore
from .protocols import BulkItem, BulkWritable, Editable, Exchangeable, FilteredSearchOptions, Listable
from .session_search import SessionSearch

__all__ = [
    "BulkItem",
    "BulkWritable",
    "Editable",
    "Exchange",
    "Exchangeable",
    "FilteredSearchOptions",
    "Listable",
    "Salvage",
    "SalvageNote",
    "SessionSearch",
    "TestMemoryAddResult",
    "TestMemoryStore",
    "TestMemoryStoreConfig",
]
