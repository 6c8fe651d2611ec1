"""The neutral row of all kinds of memory."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from typing import Any

import pytest

from memwb.catalog import Record


def test_a_record_needs_an_id_and_a_content() -> None:
    record = Record("r1", "tea")
    rest = (record.created_at, record.updated_at, record.store, record.owner, record.role, record.metadata)
    assert rest == (None,) * 6


def test_records_are_values() -> None:
    first, second = (Record("r1", "tea", datetime(2026, 1, 1, tzinfo=UTC), metadata={"n": [1]}) for _ in range(2))
    assert first == second
    assert len({first, second}) == 1
    assert first != Record("r1", "tea", first.created_at, metadata={})
    record: Any = first
    with pytest.raises(FrozenInstanceError):
        record.content = "coffee"
