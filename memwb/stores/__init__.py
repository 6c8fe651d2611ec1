"""Backends for long-term memory, each a ``memwb.memory.MemoryStore``, and what a store may be able to do besides."""

from __future__ import annotations

from ._config import TestMemoryStoreConfig
from ._items import TestMemoryAddResult
from .json_file import TestMemoryStore
from .protocols import BulkItem, BulkWritable, Listable

__all__ = ["BulkItem", "BulkWritable", "Listable", "TestMemoryAddResult", "TestMemoryStore", "TestMemoryStoreConfig"]
