"""Entries: documented fields and defaults, and their form as dicts."""

from __future__ import annotations

from dataclasses import fields

import pytest

from memwb.errors import ConfigError
from memwb.sessions import MemoryEntry
from memwb.testing import frozen


def test_an_entry_has_the_documented_fields_in_the_documented_order():
    assert [field.name for field in fields(MemoryEntry)] == [
        "session_id",
        "memory_id",
        "user_id",
        "role",
        "content",
        "message_data",
        "created_at",
        "updated_at",
    ]


def test_what_is_not_given_has_its_documented_default():
    with frozen("2026-01-01T00:00:00Z"):
        entry = MemoryEntry("s")
    assert entry == MemoryEntry("s", "id-1", "default", "user", "", None, 1767225600.0, 1767225600.0)
    assert MemoryEntry("s").memory_id != MemoryEntry("s").memory_id


def test_given_times_and_ids_are_kept_and_ask_for_no_new_ones():
    with frozen() as (_, new_id):
        assert MemoryEntry("s", "m", created_at=0.0, updated_at=5).updated_at == 5
        assert new_id() == "id-1"
        assert MemoryEntry("s", "m", created_at=3.0).created_at == 3.0


def test_a_dict_holds_all_fields_shares_nothing_and_makes_an_equal_entry():
    entry = MemoryEntry("s", "m", "u", "assistant", "c", {"tool_calls": [{"id": "t"}]}, 1.0, 2.0)
    data = entry.to_dict()
    assert MemoryEntry.from_dict(data) == entry
    assert list(data) == [
        "memory_id",
        "session_id",
        "user_id",
        "role",
        "content",
        "message_data",
        "created_at",
        "updated_at",
    ]
    made = MemoryEntry.from_dict(data)
    data["message_data"]["tool_calls"].append(1)
    assert made == entry == MemoryEntry("s", "m", "u", "assistant", "c", {"tool_calls": [{"id": "t"}]}, 1.0, 2.0)


def test_a_dict_may_lack_fields_and_have_others_but_needs_a_session():
    assert MemoryEntry.from_dict(
        {"session_id": "s", "memory_id": "m", "created_at": 1, "mine": 2, "updated_at": 1}
    ) == (MemoryEntry("s", "m", created_at=1, updated_at=1))
    with pytest.raises(ConfigError, match=r"no session_id"):
        MemoryEntry.from_dict({"memory_id": "m"})
