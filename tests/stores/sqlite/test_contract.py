"""SQLiteMemoryStore keeps the contract of every long-term store, whatever its ranking and wherever it lies."""

from __future__ import annotations

import pytest

from memwb.stores import BulkWritable, Editable, Exchangeable, Listable, SQLiteMemoryStore
from memwb.testing import MemoryStoreContract


class TestInAFile(MemoryStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        return SQLiteMemoryStore(tmp_path / "notes.db")


class TestInMemoryByOverlap(MemoryStoreContract):
    @pytest.fixture
    def store(self):
        return SQLiteMemoryStore(":memory:", ranking="overlap")


class TestOfOneOwner(MemoryStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        return SQLiteMemoryStore(tmp_path / "notes.db", owner="alice")


def test_it_can_be_listed_edited_written_in_bulk_and_edited_at_once():
    store = SQLiteMemoryStore(":memory:")
    assert [isinstance(store, kind) for kind in (Listable, Editable, BulkWritable, Exchangeable)] == [True] * 4
