"""Settings that search the same store for the same text share one search, and get what they would get alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memwb.evaluation import Case, evaluate, grid
from memwb.evaluation._asked import Sharing
from memwb.memory.deeper import finds
from memwb.stores import TestMemoryStore

WORDS = st.lists(st.sampled_from(["tea", "jar", "cane", "red"]), max_size=4).map(" ".join)


class Own(TestMemoryStore):
    """A store of somebody's own, which is asked each time."""

    __test__ = False
    asked = 0

    async def search(self, query, options=None):
        Own.asked += 1
        return await super().search(query, options)


def cases(*texts):
    return [
        Case(f"{at}", [{"role": "user", "content": [{"text": text}]}], ["red tea"]) for at, text in enumerate(texts)
    ]


async def test_one_search_serves_all_sizes_and_the_report_is_the_same(monkeypatch):
    records = ["red tea", "tea in a jar", "a cane", "red cane and tea"]
    settings = {**grid(max_entries=[1, 3, 2]), "all of them": {"max_entries": 500}}
    asked = []
    plain = TestMemoryStore.search

    async def counting(self, query, options=None):
        asked.append((query, (options or {}).get("max_search_results")))
        return await plain(self, query, options)

    monkeypatch.setattr(TestMemoryStore, "search", counting)
    shared = await evaluate(cases("tea", "cane"), settings, TestMemoryStore.from_records(records, name="s"))
    assert [each for each in asked if each[1] < 500] == [("tea", 4), ("cane", 4)]

    apart = await evaluate(cases("tea", "cane"), settings, Own.from_records(records, name="s"))
    assert Own.asked >= 2 * len(settings)
    assert [each.figures for each in apart.results] == [each.figures for each in shared.results]


@given(st.lists(WORDS.filter(bool), unique=True, max_size=8), WORDS, st.lists(st.integers(1, 12), max_size=4))
def test_what_is_shared_is_what_the_store_gives(records, query, limits):
    import asyncio

    store = TestMemoryStore.from_records(records, name="s")
    asked = Sharing(limits).store(store)
    assert finds(asked)

    async def both(limit):
        options = {"max_search_results": limit}
        return [
            [(each.id, each.content, each.metadata) for each in await one.search(query, options)]
            for one in (store, asked)
        ]

    for limit in limits:
        alone, together = asyncio.run(both(limit))
        assert together == alone


def test_a_store_of_ones_own_is_left_as_it_is():
    own = Own.from_records(["tea"], name="s")
    sharing = Sharing([5])
    assert sharing.store(own) is own
    plain = TestMemoryStore.from_records(["tea"], name="s")
    assert sharing.store(plain) is sharing.store(plain)
