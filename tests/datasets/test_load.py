"""The shipped data sets: what is in them, and that no caller can spoil them for the next."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memwb import datasets
from memwb.catalog import Record
from memwb.errors import ConfigError
from memwb.memory import text


def test_two_data_sets_are_shipped() -> None:
    assert datasets.names() == ("ikat-demo", "memorybank-en")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("ikat-demo", "Dataset(ikat-demo: 34 owners, 625 entries, 238 cases)"),
        ("memorybank-en", "Dataset(memorybank-en: 15 owners, 566 entries, 100 cases)"),
    ],
)
def test_a_data_set_tells_its_size(name: str, shown: str) -> None:
    data = datasets.load(name)

    assert repr(data) == shown
    assert (len(data.entries), len(data.cases), len(data.owners)) == tuple(
        int(part.split()[0]) for part in (shown.split(", ")[1], shown.split(", ")[2], shown.split(": ")[1])
    )


def test_ikat_demo_has_turns_that_need_memory_and_turns_that_need_none() -> None:
    cases = datasets.load("ikat-demo").cases

    assert sum(bool(case.expected) for case in cases) == 159
    assert [bool(case.expected) for case in cases] == [case.category != "no-memory" for case in cases]


def test_memorybank_has_one_question_without_an_answer() -> None:
    unlabelled = [case for case in datasets.load("memorybank-en").cases if not case.expected]

    assert [(case.id, case.category) for case in unlabelled] == [("John Zhang/q4", "unanswerable")]


@pytest.mark.parametrize("name", datasets.names())
def test_each_case_expects_entries_of_its_own_owner(name: str) -> None:
    data = datasets.load(name)
    owner_of = {entry.id: entry.owner for entry in data.entries}

    assert len(owner_of) == len(data.entries)
    assert {(owner_of[id], case.owner) for case in data.cases for id in case.expected} <= {(o, o) for o in data.owners}
    assert {case.owner for case in data.cases} <= set(data.owners)


@pytest.mark.parametrize("name", datasets.names())
def test_an_owners_entries_are_in_the_order_of_their_times(name: str) -> None:
    data = datasets.load(name)
    for owner in data.owners:
        times = [entry.created_at for entry in data.of(owner).entries]
        assert times == sorted(set(filter(None, times)))


def test_an_entry_is_a_record_with_its_owner() -> None:
    assert datasets.load("ikat-demo", owner="2024-test/0").entries[0] == Record(
        id="2024-test/0#1",
        content="I practice yoga daily.",
        created_at=datetime(2024, 1, 1, tzinfo=UTC),
        owner="2024-test/0",
        metadata={"owner": "2024-test/0", "topic": "Traveling to Egypt"},
    )


def test_one_owners_part_can_be_loaded() -> None:
    part = datasets.load("ikat-demo", owner="2024-test/11")

    assert repr(part) == "Dataset(ikat-demo: owner '2024-test/11', 22 entries, 10 cases)"
    assert {entry.owner for entry in part.entries} == {case.owner for case in part.cases} == {"2024-test/11"}
    assert part == datasets.load("ikat-demo").of("2024-test/11")


def test_a_case_is_found_by_its_id() -> None:
    case = datasets.load("ikat-demo").case("2024-test/11/t4")

    assert (case.owner, text(case.messages[-1])) == (
        "2024-test/11",
        "Tell me more about the last one, please... I am curious about the price too.",
    )


@pytest.mark.parametrize(
    ("ask", "message", "key"),
    [
        (lambda: datasets.load("ikat_demo"), "no data set 'ikat_demo'.*Did you mean 'ikat-demo'?", "name"),
        (
            lambda: datasets.load("ikat-demo", "2024-test-11"),
            "no owner '2024-test-11'. Did you mean '2024-test/11'",
            "owner",
        ),
        (
            lambda: datasets.load("memorybank-en").case("Emily/q99"),
            "no case 'Emily/q99'. Did you mean 'Emily/q",
            "case",
        ),
        (lambda: datasets.load("memorybank-en").store("Emile"), "no owner 'Emile'. Did you mean 'Emily'", "owner"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(ask, message: str, key: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match=message) as caught:
        ask()

    assert caught.value.key == key


def test_what_one_caller_changes_the_next_does_not_see() -> None:
    first = datasets.load("ikat-demo")
    assert first.entries[0].metadata is not None
    first.entries[0].metadata.clear()
    first.cases[0].messages.clear()

    second = datasets.load("ikat-demo")
    assert second.entries[0].metadata == {"owner": "2024-test/0", "topic": "Traveling to Egypt"}
    assert len(first.cases[0].messages) == len(second.cases[0].messages) == 1


@pytest.mark.parametrize("name", datasets.names())
def test_licence_credit_and_source_come_with_the_data(name: str) -> None:
    data = datasets.load(name)

    assert data.license == "MIT"
    assert "Copyright (c) 2023" in data.attribution
    assert data.source.startswith("https://github.com/")
    assert "What was changed" in data.notice
    assert "Permission is hereby granted, free of charge" in data.notice


async def test_a_store_holds_one_owners_entries_with_their_ids_and_times() -> None:
    data = datasets.load("ikat-demo", owner="2024-test/11")
    store = data.store()

    held = await store.page(0, 100)
    assert store.name == "profile"
    assert [(each.id, each.content, each.created_at, each.metadata) for each in held] == [
        (each.id, each.content, each.created_at, each.metadata) for each in data.entries
    ]


@pytest.mark.parametrize("name", datasets.names())
async def test_a_store_of_all_owners_holds_every_entry(name: str) -> None:
    data = datasets.load(name)

    assert [each.id for each in await data.store().page(0, 1000)] == [each.id for each in data.entries]


async def test_two_stores_know_nothing_of_each_other() -> None:
    data = datasets.load("ikat-demo", owner="2024-test/11")
    one, other = data.store(), data.store("2024-test/11")
    await one.add("I own a parrot.")

    assert (await one.count(), await other.count()) == (23, 22)
    assert one.path is None
