"""Several stores are asked at the same time, and what one of them does stays its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memwb.memory import MemoryEntry
from memwb.memory.search import ask_stores
from tests.memory.stores import BareStore


class Meeting(BareStore):
    """Answers once all that share its barrier are being asked."""

    def __init__(self, name: str, barrier: asyncio.Barrier) -> None:
        super().__init__(name, name)
        self.barrier = barrier

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        await self.barrier.wait()
        return self.found


class Endless(BareStore):
    """Never answers, and writes down that it was ended."""

    ended = False
    begun = False

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        self.begun = True
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True
        return []


class Late(BareStore):
    """Answers after some rounds of the event loop."""

    rounds = 0

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        for _ in range(self.rounds):
            await asyncio.sleep(0)
        return self.found


class Impatient(BareStore):
    """Gives itself no time."""

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()
        return []


async def contents(stores: list[Any]) -> list[list[str]]:
    answers = await ask_stores(stores, "x", [5] * len(stores))
    assert [answer.store for answer in answers] == stores
    return [[entry.content for entry in answer.entries] for answer in answers]


async def test_no_store_gives_no_answer() -> None:
    assert await ask_stores([], "x", []) == []


@pytest.mark.parametrize("count", [1, 2, 3, 8])
async def test_all_stores_are_being_asked_at_once(count: int) -> None:
    barrier = asyncio.Barrier(count)
    names = [f"s{number}" for number in range(count)]
    async with asyncio.timeout(10):
        assert await contents([Meeting(name, barrier) for name in names]) == [[name] for name in names]


@pytest.mark.parametrize("rounds", [(0, 0, 0), (5, 0, 2), (0, 3, 1), (2, 2, 2)])
async def test_answers_come_in_the_order_of_the_stores_whichever_is_first(rounds: tuple[int, ...]) -> None:
    stores = [Late(name, name, rounds=number) for name, number in zip("abc", rounds, strict=True)]
    assert await contents(stores) == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("count", [1, 2, 5])
async def test_a_cancelled_search_ends_in_every_store(count: int) -> None:
    stores = [Endless(str(number)) for number in range(count)]
    asking = asyncio.create_task(ask_stores(stores, "x", [1] * count))
    await asyncio.sleep(0.01)
    assert [store.begun for store in stores] == [True] * count
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.sleep(0)
    assert [store.ended for store in stores] == [True] * count


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_store_that_runs_out_of_its_own_time_fails_alone(place: int) -> None:
    stores: list[Any] = [Late(name, name, rounds=2) for name in "abc"]
    stores[place] = Impatient("impatient")
    answers = await ask_stores(stores, "x", [5] * 3)
    assert [type(answer.error) for answer in answers] == [TimeoutError if n == place else type(None) for n in range(3)]
    assert [len(answer.entries) for answer in answers] == [0 if n == place else 1 for n in range(3)]


class Stop(BaseException):
    """Stands for an interrupt."""


async def test_an_interrupt_passes_through_and_ends_the_other_searches() -> None:
    class Interrupted(BareStore):
        async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
            await asyncio.sleep(0)
            raise Stop

    others = [Endless("a"), Endless("b")]
    with pytest.raises(Stop):
        await ask_stores([Interrupted("interrupted"), *others], "x", [1] * 3)
    await asyncio.sleep(0)
    assert [store.ended for store in others] == [True, True]
