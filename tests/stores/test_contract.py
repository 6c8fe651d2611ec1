"""TestMemoryStore keeps the contract of every long-term store, in a file and in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from memwb.stores import BulkWritable, Editable, Listable, TestMemoryStore
from memwb.testing import MemoryStoreContract


class TestInAFile(MemoryStoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> TestMemoryStore:
        return TestMemoryStore(name="notes", path=tmp_path / "notes.json")


class TestInMemory(MemoryStoreContract):
    @pytest.fixture
    def store(self) -> TestMemoryStore:
        return TestMemoryStore(name="notes", persist=False)


def test_it_can_be_listed_edited_and_written_in_bulk() -> None:
    store = TestMemoryStore(name="notes", persist=False)
    assert isinstance(store, Listable)
    assert isinstance(store, BulkWritable)
    assert isinstance(store, Editable)
