"""The store contract finds what is wrong with a store, and the package loads pytest only for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import memwb.testing
from memwb.memory.types import MemoryEntry
from memwb.sessions import InMemoryStore
from memwb.testing import MemoryStoreContract, SessionStoreContract, sanitize_file
from tests.sessions.fakes import PlainStore

ROOT = Path(__file__).parents[2]


class ReadOnlyStore:
    """The least that is a store: it has nothing, and takes nothing."""

    name, description, max_search_results, writable, extraction = "empty", None, None, False, None

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        if options and options["max_search_results"] < 1:
            raise ValueError("max_search_results")
        return []


async def test_a_store_is_not_asked_for_what_it_cannot_do() -> None:
    contract, store = MemoryStoreContract(), ReadOnlyStore()
    contract.test_it_has_the_attributes_of_a_store(store)
    await contract.test_an_empty_store_finds_nothing(store)
    await contract.test_a_limit_below_one_is_refused(store, 0)
    for test, reason in (
        (contract.test_adds_at_once_are_all_kept, "the store has no add"),
        (contract.test_a_listable_store_lists_what_was_added_in_order, "the store is not Listable"),
        (contract.test_a_bulk_write_stores_all_or_nothing, "the store is not BulkWritable"),
        (contract.test_an_editable_store_changes_and_removes_records, "the store is not Editable"),
    ):
        with pytest.raises(pytest.skip.Exception, match=reason):
            await test(store)


class ForgetfulStore(ReadOnlyStore):
    writable = True

    def __init__(self) -> None:
        self.entries: list[MemoryEntry] = []

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        return self.entries

    async def add(self, content: str, metadata: Any = None) -> None:
        self.entries = [MemoryEntry(content, metadata=metadata)]


@pytest.mark.parametrize(
    "test",
    [
        "test_a_limit_cuts_the_end_of_the_ranking",
        "test_adds_at_once_are_all_kept",
        "test_what_a_caller_does_to_its_own_metadata_changes_nothing",
    ],
)
async def test_a_store_that_breaks_the_contract_fails(test: str) -> None:
    with pytest.raises(AssertionError):
        await getattr(MemoryStoreContract(), test)(ForgetfulStore())


async def test_a_store_of_sessions_is_not_asked_for_what_it_cannot_do() -> None:
    contract, store = SessionStoreContract(), PlainStore()
    for test, reason in (
        (contract.test_a_bulk_write_stores_all_or_nothing, "the store is not SupportsSessions"),
        (contract.test_sessions_are_listed_with_their_users_and_times, "the store is not SupportsSessions"),
        (contract.test_a_session_is_replaced_as_a_whole_or_not_at_all, "the store is not SupportsReplace"),
        (contract.test_a_new_store_has_no_damage, "the store does not tell of damage"),
    ):
        with pytest.raises(pytest.skip.Exception, match=reason):
            await test(store)


class MixingStore(InMemoryStore):
    """Tells users apart by nothing, and keeps the oldest of a limit."""

    async def get_entries(self, session_id: str, user_id: str = "default", limit: int | None = None) -> Any:
        found = [row for (session, _), rows in self._sessions.items() if session == session_id for row in rows]
        return [await self.get_entry(id) for id in found][:limit]


@pytest.mark.parametrize(
    "test",
    [
        "test_b50_a_limit_keeps_the_newest_oldest_of_them_first",
        "test_entries_come_by_time_and_of_equal_times_in_the_order_of_adding",
        "test_b31_b35_any_text_is_an_id_and_none_is_taken_for_another",
    ],
)
async def test_a_store_of_sessions_that_breaks_the_contract_fails(test: str) -> None:
    with pytest.raises(AssertionError):
        await getattr(SessionStoreContract(), test)(MixingStore())


@pytest.mark.parametrize("contract", ["MemoryStoreContract", "SessionStoreContract"])
def test_the_testing_tools_load_pytest_only_for_the_contract(contract: str) -> None:
    code = (
        "import sys, memwb.testing; print('pytest' in sys.modules)\n"
        f"memwb.testing.{contract}; print('pytest' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"memwb\.testing.*'Nothing'"):
        _ = memwb.testing.Nothing


def test_the_shipped_sanitize_file_is_the_notebooks_own() -> None:
    assert sanitize_file().read_bytes() == (ROOT / "notebooks" / "nbval_sanitize.cfg").read_bytes()
