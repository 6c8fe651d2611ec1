"""The three stores keep the contract that `memwb.testing` gives to everybody's stores."""

from __future__ import annotations

import pytest

from memwb.sessions import FileStore, InMemoryStore, MemoryStore, SQLiteStore
from memwb.testing import SessionStoreContract


class TestInMemoryStore(SessionStoreContract):
    @pytest.fixture
    def store(self):
        return InMemoryStore()


class TestSQLiteStore(SessionStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        return SQLiteStore(tmp_path / "memory.db")


class TestFileStore(SessionStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        return FileStore(tmp_path / "memory")


@pytest.mark.parametrize("kind", [InMemoryStore, SQLiteStore, FileStore])
def test_it_has_the_documented_methods(kind):
    assert isinstance(kind(), MemoryStore)
