"""PostgresMemoryStore keeps the contract of every long-term store, by words, by meaning and by both."""

from __future__ import annotations

from typing import Any

import pytest

from memwb.ranking import HashingEmbedder
from memwb.stores import BulkWritable, Editable, Exchangeable, Listable
from memwb.testing import MemoryStoreContract

from .conftest import Opens


class TestByWords(MemoryStoreContract):
    @pytest.fixture
    def store(self, opens: Opens) -> Any:
        return opens()


class TestFused(MemoryStoreContract):
    @pytest.fixture
    def store(self, opens: Opens) -> Any:
        return opens(embedder=HashingEmbedder(512))


class TestOfOneOwner(MemoryStoreContract):
    @pytest.fixture
    def store(self, opens: Opens) -> Any:
        return opens(owner="Ann ' O'Hara\0")


def test_it_can_be_listed_edited_exchanged_and_written_in_bulk(opens: Opens) -> None:
    store = opens()
    for ability in (Listable, BulkWritable, Editable, Exchangeable):
        assert isinstance(store, ability)
