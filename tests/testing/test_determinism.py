"""Clocks and ids for repeatable runs."""

from __future__ import annotations

import gc
import threading
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memwb import _time
from memwb.stores import TestMemoryStore
from memwb.testing import FrozenClock, SequentialIds, _determinism, frozen

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_frozen_clock_stands_until_it_is_moved() -> None:
    clock = FrozenClock()
    assert [clock(), clock()] == [START, START]
    assert clock.advance(minutes=1, seconds=30) == START + timedelta(seconds=90)
    clock.advance(timedelta(days=-1))
    assert clock() == START + timedelta(seconds=90, days=-1)
    assert repr(clock) == "FrozenClock('2025-12-31T00:01:30.000Z')"


def test_a_clock_can_move_by_itself() -> None:
    clock = FrozenClock("2026-01-01T00:00:00Z", step=timedelta(seconds=1))
    assert [clock(), clock(), clock()] == [START + timedelta(seconds=second) for second in range(3)]


def test_a_clock_gives_utc_and_needs_a_zone() -> None:
    clock = FrozenClock(datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))))
    assert (clock(), clock().utcoffset()) == (START, timedelta(0))
    with pytest.raises(ValueError, match="no time zone"):
        FrozenClock(datetime(2026, 1, 1))


def test_ids_count_up() -> None:
    ids = SequentialIds()
    assert [ids(), ids()] == ["id-1", "id-2"]
    assert SequentialIds("memory ", start=7)() == "memory 7"
    assert repr(ids) == "SequentialIds('id-')"


def test_ids_are_never_given_twice_to_threads() -> None:
    ids, given = SequentialIds(), []
    threads = [threading.Thread(target=lambda: given.extend(ids() for _ in range(200))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(given)) == 800


async def test_frozen_reaches_stores_built_before_in_every_thread() -> None:
    store = TestMemoryStore(name="notes", persist=False)
    with frozen("2030-01-01T00:00:00Z") as (clock, new_id):
        await store.add("tea")
        seen: list[Any] = []
        thread = threading.Thread(target=lambda: seen.extend((_time.now(), _time.new_id())))
        thread.start()
        thread.join()
        assert seen == [datetime(2030, 1, 1, tzinfo=UTC), "id-2"]
        assert (clock(), new_id()) == (datetime(2030, 1, 1, tzinfo=UTC), "id-3")
    (record,) = await store.page(0, 9)
    assert (record.id, record.created_at) == ("id-1", datetime(2030, 1, 1, tzinfo=UTC))
    assert len(_time.new_id()) == 36


async def test_two_frozen_runs_write_the_same() -> None:
    runs = []
    for _ in range(2):
        with frozen():
            store = TestMemoryStore(name="notes", persist=False)
            await store.add_many(["one", "two"])
            await store.add("three")
            runs.append(await store.page(0, 9))
    assert runs[0] == runs[1]
    assert [record.id for record in runs[0]] == ["id-1", "id-2", "id-3"]


def test_sources_of_ones_own_can_be_frozen_and_blocks_nest() -> None:
    clock = FrozenClock(step=timedelta(seconds=1))
    with frozen(clock, lambda: "outer") as outer:
        assert outer.clock is clock
        with frozen(START - timedelta(days=1)):
            assert (_time.now(), _time.new_id()) == (START - timedelta(days=1), "id-1")
        assert (_time.now(), _time.new_id()) == (START, "outer")


def test_a_notebook_starts_and_stops_it() -> None:
    before = _time._sources
    freeze = frozen()
    assert freeze.start().clock() == START
    assert _time.now() == START
    freeze.stop()
    assert _time._sources is before


def test_what_a_notebook_started_lasts_though_it_was_not_kept() -> None:
    before = _time._sources
    frozen().start()
    gc.collect()
    assert _time.now() == START
    _determinism._started[-1].stop()
    assert _time._sources is before


async def test_a_store_with_sources_of_its_own_keeps_them() -> None:
    store = TestMemoryStore(name="notes", persist=False, clock=FrozenClock(), new_id=SequentialIds("own-"))
    with frozen("2030-01-01T00:00:00Z"):
        await store.add("tea")
    (record,) = await store.page(0, 9)
    assert (record.id, record.created_at) == ("own-1", START)
