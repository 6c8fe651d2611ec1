"""Entries of unlike stores on one screen: who holds what, by owner, date and metadata, and what is there twice."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from memwb.catalog import Record
from memwb.errors import ConfigError
from memwb.sessions import InMemoryStore, MemoryEntry
from memwb.stores import SessionSearch, TestMemoryStore
from memwb.workbench.entries import EntriesState

from .fakes import ListStore, SearchStore

NOTES = [
    Record(
        "1",
        "I like tea.",
        datetime(2026, 1, 1, 9, tzinfo=UTC),
        metadata={"tags": ["a", "b"], "where": {"city": "Köln"}},
    ),
    Record("2", "I like milk.", datetime(2026, 1, 2, 23, 59, tzinfo=UTC), metadata={"tags": ["b"], "n": 1}),
    Record("3", "i LIKE  tea.", datetime(2026, 1, 3, tzinfo=UTC), metadata={"a.b": "dotted"}),
    Record("4", "Nothing known.", datetime(2025, 12, 30, tzinfo=UTC)),
]


@pytest.fixture
async def entries():
    held = InMemoryStore()
    await held.add(MemoryEntry("s1", "m1", "alice", content="I like tea.", created_at=0.0))
    stores = [
        TestMemoryStore.from_records(NOTES, name="notes"),
        SessionSearch(held, name="talks"),
        SearchStore("hidden", name="far"),
        ListStore("I own a boat.", name="list"),
    ]
    return EntriesState(stores, {})


async def shown(entries, **chosen):
    entries.choose(**chosen)
    await entries.load()
    assert entries.problem == ""
    return [(record.store, record.id) for record in entries.records]


async def test_all_stores_are_shown_one_after_the_other_each_entry_with_its_store(entries):
    assert await shown(entries, store=None) == [
        ("notes", "1"), ("notes", "2"), ("notes", "3"), ("notes", "4"), ("talks", "m1"), ("list", "e1"),
    ]  # fmt: skip
    assert entries.faults["far"] == "'far' cannot list its entries, so none can be edited here"
    assert list(entries.frame["store"]) == ["notes"] * 4 + ["talks", "list"]
    entries.toggle("talks: m1")
    assert list(entries.selected["content"]) == ["I like tea."]
    assert repr(entries) == "EntriesState(all stores: 6 entries, page 1 of 1, 1 selected)"


@pytest.mark.parametrize(
    ("chosen", "ids"),
    [
        ({"where": "TEA"}, ["1", "3", "m1"]),
        ({"owner": "ALI"}, ["m1"]),
        ({"since": date(2026, 1, 2)}, ["2", "3"]),
        ({"until": "2026-01-02"}, ["1", "2", "4", "m1"]),
        ({"since": "2026-01-01T10:00", "until": datetime(2026, 1, 2, 23, 59)}, ["2"]),
        ({"metadata": "tags"}, ["1", "2"]),
        ({"metadata": "tags[1]"}, ["1"]),
        ({"metadata": "tags[0] = b"}, ["2"]),
        ({"metadata": "where.city ~ KÖ"}, ["1"]),
        ({"metadata": "n = 1"}, ["2"]),
        ({"metadata": r"a\.b = dotted"}, ["3"]),
        ({"metadata": "tags ~ b", "where": "milk"}, ["2"]),
        ({"metadata": "session_id = s1"}, ["m1"]),
        ({"sort": "-content"}, ["3", "4", "e1", "1", "m1", "2"]),
        ({"sort": "-created_at"}, ["3", "2", "1", "4", "m1", "e1"]),
        ({"sort": "metadata.n"}, ["2", "1", "3", "4", "m1", "e1"]),
    ],
    ids=str,
)
async def test_they_are_filtered_and_sorted_together(entries, chosen, ids):
    assert [id for _, id in await shown(entries, store=None, **chosen)] == ids
    assert entries.total == len(ids)


async def test_near_duplicates_stand_together_by_group_also_across_stores(entries):
    assert await shown(entries, store=None, duplicates=True) == [("notes", "1"), ("notes", "3"), ("talks", "m1")]
    assert {entries.group_of(record) for record in entries.records} == {(1, 3)}
    assert await shown(entries, store="notes") == [("notes", "1"), ("notes", "3")]
    assert len(await shown(entries, duplicates=False)) == 4


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"since": "yesterday"}, "since is 'yesterday'; it must be a day or a time"),
        ({"until": 3}, "until is 3"),
        ({"owner": None}, "owner is None; it must be a text"),
        ({"duplicates": "yes"}, "True or False"),
        ({"metadata": "a[x] = 1"}, "must be a path such as a.b"),
        ({"store": "node"}, "it takes notes, talks, far, list. Did you mean 'notes'"),
    ],
    ids=range(6),
)
async def test_a_filter_that_cannot_be_is_refused_and_nothing_changes(entries, chosen, message):
    with pytest.raises(ConfigError, match=message):
        entries.choose(**{"where": "tea", **chosen})
    assert (entries.where, bool(entries.filters)) == ("", False)
