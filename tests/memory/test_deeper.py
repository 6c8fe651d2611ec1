"""A look below the cut: what the stores hold for a query, and what they say when they fail at it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from memwb.memory import InjectionTrace, MemoryManager, Ranking, ranking_of
from tests.memory.stores import BareStore, FailingStore, ListedStore, WordStore, user

TEAS = [f"tea number {at}" for at in range(8)]


class Later(ListedStore):
    """A store that fails whenever it is asked for more than two."""

    error: BaseException = ValueError("at most 2")

    async def search(self, query: str, options: Any = None) -> Any:
        if options["max_search_results"] > 2:
            raise self.error
        return await super().search(query, options)


async def traced(*stores: Any, limit: int = 2) -> tuple[MemoryManager, InjectionTrace]:
    manager = MemoryManager(list(stores), injection={"max_entries": limit})
    return manager, await manager.trace_injection([user("tea")])


class TestHowDeep:
    async def test_it_asks_for_all_that_match_where_the_store_can_say(self) -> None:
        store = ListedStore("home", *TEAS)
        assert [hit.rank for hit in await ranking_of(MemoryManager([store]), "tea")] == list(range(1, 9))
        assert store.asked == [("tea", {"max_search_results": 8})]

    async def test_else_for_a_hundred(self) -> None:
        store = WordStore("home", *TEAS)
        await ranking_of(MemoryManager([store]), "tea")
        assert store.asked == [("tea", {"max_search_results": 100})]

    async def test_a_limit_given_is_the_limit(self) -> None:
        hits = await ranking_of(MemoryManager([ListedStore("home", *TEAS), ListedStore("away", *TEAS)]), "tea", 2)
        assert [(hit.store, hit.rank) for hit in hits] == [("home", 1), ("home", 2), ("away", 1), ("away", 2)]


class TestMarks:
    async def test_the_hits_that_an_injection_kept_are_marked(self) -> None:
        manager, trace = await traced(ListedStore("home", "tea"), ListedStore("away", *TEAS[:3]))
        assert [
            (hit.store, hit.rank, hit.kept, hit.cut_by) for hit in await ranking_of(manager, "tea", trace=trace)
        ] == [
            ("home", 1, True, None),
            ("away", 1, True, None),
            ("away", 2, False, "max_entries"),
            ("away", 3, False, "max_entries"),
        ]

    async def test_the_same_text_twice_in_a_store_is_told_apart(self) -> None:
        manager, trace = await traced(ListedStore("home", *["tea"] * 3))
        assert [(hit.id, hit.kept, hit.cut_by) for hit in await ranking_of(manager, "tea", trace=trace)] == [
            ("a", True, None),
            ("b", True, None),
            ("c", False, "max_entries"),
        ]

    async def test_without_an_injection_nothing_is_kept(self) -> None:
        hits = await ranking_of(MemoryManager([ListedStore("home", "tea")]), "tea")
        assert [(hit.kept, hit.cut_by) for hit in hits] == [(False, "max_entries")]


class TestFailures:
    async def test_where_no_store_fails_there_are_none(self) -> None:
        manager, trace = await traced(ListedStore("home", *TEAS))
        ranking = await ranking_of(manager, "tea", trace=trace)
        assert (ranking.failures, len(ranking)) == ({}, 8)
        assert ranking[:2] == trace.hits

    async def test_a_store_that_failed_in_the_injection_is_not_asked_again(self) -> None:
        failing = FailingStore("cloud")
        manager, trace = await traced(failing, ListedStore("home", "tea"))
        ranking = await ranking_of(manager, "tea", trace=trace)
        assert (len(failing.asked), [hit.store for hit in ranking], ranking.failures) == (1, ["home"], {})

    async def test_of_a_store_that_fails_only_now_the_injections_hits_stand(self) -> None:
        manager, trace = await traced(Later("later", *TEAS), ListedStore("home", *TEAS[:3]))
        ranking = await ranking_of(manager, "tea", trace=trace)
        assert ranking[:2] == trace.hits[:2]
        assert [(hit.store, hit.rank, hit.kept) for hit in ranking] == [
            ("later", 1, True),
            ("later", 2, True),
            ("home", 1, False),
            ("home", 2, False),
            ("home", 3, False),
        ]
        assert ranking.failures == {"later": Later.error}

    async def test_its_hits_for_another_query_are_none_for_this_one(self) -> None:
        manager, trace = await traced(Later("later", *TEAS))
        ranking = await ranking_of(manager, "number", trace=trace)
        assert (ranking, ranking.failures) == ((), {"later": Later.error})

    async def test_a_store_that_is_none_any_more_failed_too(self) -> None:
        class Forgetful(BareStore):
            async def search(self, query: str, options: Any = None) -> Any:
                return await super().search(query, options) if options["max_search_results"] == 2 else None

        manager, trace = await traced(Forgetful("odd", "tea"))
        ranking = await ranking_of(manager, "tea", trace=trace)
        assert (ranking, list(ranking.failures)) == (trace.hits, ["odd"])

    async def test_an_interrupt_passes_through(self) -> None:
        class Counting(ListedStore):
            async def count_matches(self, query: str) -> int:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await ranking_of(MemoryManager([Counting("home", "tea")]), "tea")


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda ranking: pickle.loads(pickle.dumps(ranking))])
async def test_a_ranking_survives_being_copied_and_pickled(again: Any) -> None:
    hits = await ranking_of(MemoryManager([ListedStore("home", "tea")]), "tea")
    ranking = again(Ranking(hits, {"cloud": ValueError("no")}))
    assert (ranking, list(ranking.failures)) == (tuple(hits), ["cloud"])
