"""Search by meaning and both searches fused, over any store: scores against plain numpy, ranks against the formula."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.catalog import Record
from memwb.errors import ConfigError
from memwb.memory import MemoryManager
from memwb.ranking import HashingEmbedder, fuse
from memwb.stores import (
    BulkWritable,
    Editable,
    Exchangeable,
    Hybrid,
    Listable,
    Semantic,
    SQLiteMemoryStore,
    TestMemoryStore,
)
from memwb.testing import MemoryStoreContract

WIDE = 1 << 14  # so many dimensions that no two words of a test share one


def notes(*texts, **config):
    return TestMemoryStore.from_records(texts, name="notes", **config)


class Counting(HashingEmbedder):
    """Remembers which texts it was asked for."""

    def __init__(self):
        super().__init__(WIDE)
        self.asked = []

    async def embed(self, texts):
        self.asked.append(list(texts))
        return await super().embed(texts)


class ReadOnly:
    """A store of somebody else's that can be listed and no more."""

    name, description, max_search_results, writable, extraction = "foreign", "theirs", 3, False, None

    def __init__(self, *texts):
        self._store = notes(*texts)
        self.count, self.page, self.get = self._store.count, self._store.page, self._store.get

    async def search(self, query, options=None):
        found = await self._store.search(query, options)
        for entry in found:
            entry.__dict__.pop("_id")  # tells no ids
        return found


class TestSemantic(MemoryStoreContract):
    @pytest.fixture
    def store(self):
        return Semantic(TestMemoryStore(name="notes", persist=False), HashingEmbedder(WIDE))


class TestHybrid(MemoryStoreContract):
    @pytest.fixture
    def store(self):
        return Hybrid(TestMemoryStore(name="notes", persist=False), HashingEmbedder(WIDE))


@pytest.mark.parametrize("engine", [Semantic, Hybrid])
def test_it_promises_what_its_store_can_do_and_no_more(engine):
    abilities = (Listable, Editable, BulkWritable, Exchangeable)
    over, read_only = engine(notes(), HashingEmbedder()), engine(ReadOnly(), HashingEmbedder())

    assert [isinstance(over, ability) for ability in abilities] == [True] * 4
    assert [isinstance(read_only, ability) for ability in abilities] == [True, False, False, False]
    assert (isinstance(over, engine), type(over).__name__, over.writable) == (True, engine.__name__, True)
    assert (read_only.name, read_only.description, read_only.max_search_results, read_only.writable) == (
        "foreign",
        "theirs",
        3,
        False,
    )
    MemoryManager([over, read_only])


WORDS = st.lists(st.sampled_from("tea green black milk cup hot cold".split()), min_size=1, max_size=6).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=30, unique=True), WORDS, st.integers(1, 40), st.sampled_from([8, 256]))
def test_scores_and_ranks_are_those_of_plain_numpy(texts, query, limit, dimensions):
    embedder = HashingEmbedder(dimensions)

    found = asyncio.run(Semantic(notes(*texts), embedder).search(query, {"max_search_results": limit}))

    vectors, vector = asyncio.run(embedder.embed(texts)), asyncio.run(embedder.embed([query]))[0]
    likeness = {text: float(numpy.dot(row, vector)) for text, row in zip(texts, vectors, strict=True)}
    best = sorted(((score, text) for text, score in likeness.items() if score > 0), reverse=True)[:limit]
    assert [entry.metadata["_relevanceScore"] for entry in found] == pytest.approx([one for one, _ in best], abs=2e-6)
    assert all(likeness[entry.content] == pytest.approx(entry.metadata["_relevanceScore"], abs=2e-6) for entry in found)


async def test_of_equal_scores_the_most_recent_comes_first():
    first = datetime(2026, 1, 1, tzinfo=UTC)
    times = {"tea one": 1, "tea two": 3, "tea four": 2, "tea five": 3}
    records = [Record(text, text, first + timedelta(days=days)) for text, days in times.items()]
    store = Semantic(TestMemoryStore.from_records(records, name="notes"), HashingEmbedder(WIDE))

    found = [entry.content for entry in await store.search("tea")]

    assert found == ["tea two", "tea five", "tea four", "tea one"]
    assert [entry.content for entry in await store.search("tea", {"max_search_results": 3})] == found[:3]


async def test_only_texts_that_are_new_are_embedded():
    embedder = Counting()
    beneath = notes("green tea", "black tea")
    store = Semantic(beneath, embedder)
    await store.search("tea")
    await store.search("milk")
    await beneath.add("milk")
    await beneath.update((await beneath.page(0, 1))[0].id, content="white tea")
    await beneath.delete((await beneath.page(1, 1))[0].id)

    found = await store.search("white milk")

    assert sorted(entry.content for entry in found) == ["milk", "white tea"]
    assert embedder.asked == [["black tea", "green tea"], ["tea"], ["milk"], ["milk", "white tea"], ["white milk"]]


async def test_a_store_without_revisions_is_looked_at_each_time():
    store = Semantic(ReadOnly("green tea"), embedder := Counting())
    await store.search("tea")
    await store.store._store.add("black tea")

    assert len(await store.search("tea")) == 2
    assert embedder.asked == [["green tea"], ["tea"], ["black tea"], ["tea"]]


async def test_searches_at_once_embed_the_store_once():
    store = Semantic(notes("green tea", "black tea"), embedder := Counting())

    await asyncio.gather(*(store.search("tea") for _ in range(5)))

    assert embedder.asked == [["black tea", "green tea"], *[["tea"]] * 5]


@pytest.mark.parametrize("engine", [Semantic, Hybrid])
async def test_a_blank_query_and_an_empty_store_find_nothing(engine):
    assert await engine(notes("tea"), HashingEmbedder()).search(" \n") == []
    assert await engine(notes(), HashingEmbedder()).search("tea") == []
    assert await engine(notes(), HashingEmbedder()).count_matches("tea") == 0


@pytest.mark.parametrize("engine", [Semantic, Hybrid])
async def test_the_best_match_is_the_one_of_the_whole_ranking(engine):
    store = engine(notes("green tea", "black tea", "tea", "milk"), HashingEmbedder(WIDE))
    ranking = await store.search("green tea", {"max_search_results": 9})

    for rank, entry in enumerate(ranking, 1):
        for asked in ({"id": entry.id}, {"content": f" {entry.content} "}):
            assert await store.best_match("green tea", **asked) == (rank, entry)
    assert (await store.best_match("green tea", where="TEA"))[0] == 1
    assert await store.best_match("green tea", content="milk") is None
    assert await store.count_matches("green tea") == len(ranking) == 3


async def test_entries_at_least_and_below_are_not_found():
    texts = ("green tea", "green tea with milk", "tea and so much more of it")
    scores = {
        entry.content: entry.metadata["_relevanceScore"]
        for entry in await Semantic(notes(*texts), HashingEmbedder(WIDE)).search("green tea")
    }

    found = await Semantic(notes(*texts), HashingEmbedder(WIDE), least=0.5).search("green tea")

    assert scores == pytest.approx({texts[0]: 1, texts[1]: 2 / 8**0.5, texts[2]: 1 / 14**0.5}, abs=1e-6)
    assert [entry.content for entry in found] == list(texts[:2])


async def test_a_fused_score_is_the_sum_over_both_rankings():
    texts = ["green tea green tea", "tea", "green leaves of the tea in a cup", "milk"]
    beneath, embedder = notes(*texts), HashingEmbedder(WIDE)

    found = await Hybrid(beneath, embedder).search("green tea")

    rankings = [
        [entry.content for entry in await store.search("green tea")] for store in (beneath, Semantic(beneath, embedder))
    ]
    assert [(entry.content, entry.metadata["_relevanceScore"]) for entry in found] == fuse(rankings)
    assert [entry.content for entry in await Hybrid(beneath, embedder).search("green tea", {"max_search_results": 1})]
    assert len(await Hybrid(beneath, embedder, depth=1).search("green tea")) in (1, 2)


async def test_entries_of_a_store_without_ids_are_fused_by_their_text():
    found = await Hybrid(ReadOnly("green tea", "tea"), HashingEmbedder(WIDE)).search("green tea")

    assert [(entry.content, entry.metadata["_relevanceScore"]) for entry in found] == [
        ("green tea", 2 / 61),
        ("tea", 2 / 62),
    ]


@pytest.mark.parametrize("engine", [Semantic, Hybrid])
async def test_a_search_is_narrowed_down_to_metadata(engine):
    items = [{"content": f"tea {number}", "metadata": {"n": value}} for number, value in enumerate([1, 1.0, True, "1"])]
    store = engine(notes(*items, "tea alone"), HashingEmbedder(WIDE))

    found = {
        repr(value): [entry.content for entry in await store.search("tea", {"metadata": {"n": value}})]
        for value in (1, 1.0, True, "1", None)
    }

    assert found == {"1": ["tea 0"], "1.0": ["tea 1"], "True": ["tea 2"], "'1'": ["tea 3"], "None": []}
    assert await store.search("tea", {"owner": "alice"}) == []
    with pytest.raises(ConfigError, match=f"{engine.__name__}: owner is ''"):
        await store.search("tea", {"owner": ""})
    with pytest.raises(ConfigError, match=f"{engine.__name__}: metadata"):
        await store.search("tea", {"metadata": {"n": {1, 2}}})


async def test_ids_and_times_are_told_where_the_store_tells_them():
    beneath = notes("tea", provenance=True)
    (record,) = await beneath.page(0, 1)

    (entry,) = await Semantic(beneath, HashingEmbedder()).search("tea")

    assert (entry.id, entry.metadata["id"]) == (record.id, record.id)
    assert entry.metadata["createdAt"] == (await beneath.search("tea"))[0].metadata["createdAt"]


async def test_more_entries_than_can_be_compared_are_refused():
    store = Semantic(notes("tea", "milk"), HashingEmbedder(), max_entries=1)

    with pytest.raises(ConfigError, match=r"'notes' holds 2 entries; max_entries is 1, since each of them is compared"):
        await store.search("tea")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"store": object()}, "object cannot be searched by meaning"),
        ({"embedder": "MiniLM"}, "embedder is 'MiniLM'; it must have a name"),
        ({"least": 2}, "least is 2; it must be a number from -1 to 1"),
        ({"max_entries": 0}, "max_entries is 0"),
        ({"max_search_results": 0}, "max_search_results is 0"),
    ],
)
@pytest.mark.parametrize("engine", [Semantic, Hybrid])
def test_a_setting_that_cannot_be_used_is_refused(engine, given, said):
    with pytest.raises(ConfigError, match=f"{engine.__name__}: {said}"):
        engine(**{"store": notes(), "embedder": HashingEmbedder(), **given})


@pytest.mark.parametrize("given", [{"depth": 0}, {"k": -1}])
def test_a_fusion_that_cannot_be_is_refused(given):
    with pytest.raises(ConfigError, match=f"{next(iter(given))} is"):
        Hybrid(notes(), HashingEmbedder(), **given)


@pytest.mark.parametrize("engine", [Semantic, Hybrid])
async def test_another_embedder_makes_all_vectors_anew(engine):
    store = engine(notes("green tea", "black coffee"), HashingEmbedder(64))
    await store.search("tea")

    store.embedder = HashingEmbedder(WIDE)

    assert [entry.content for entry in await store.search("tea")] == ["green tea"]


async def test_entries_of_others_take_no_places_of_a_narrowed_fusion():
    store = notes(*({"content": f"tea {number}", "metadata": {"n": 1}} for number in range(5)), "much else and tea")
    items = [{"content": "rather a lot of words about green tea", "metadata": {"n": 2}}]
    await store.add_many([*items, *({"content": f"tea cup {number}"} for number in range(5))])

    (found,) = await Hybrid(store, HashingEmbedder(WIDE), depth=3).search("tea cup", {"metadata": {"n": 2}})

    assert (found.content, found.metadata["_relevanceScore"]) == (items[0]["content"], 2 / 61)


async def test_owners_are_those_of_the_store_beneath():
    everybody = Semantic(SQLiteMemoryStore(":memory:"), HashingEmbedder(WIDE))
    await everybody.add("tea", owner="ann")
    await everybody.add("tea", owner="bob")

    assert [record.owner for record in await everybody.page(0, 9)] == ["ann", "bob"]
    assert len(await everybody.search("tea", {"owner": "ann"})) == 1
    assert Semantic(SQLiteMemoryStore(":memory:", owner="ann"), HashingEmbedder()).owner == "ann"
    assert not hasattr(Semantic(notes("tea"), HashingEmbedder()), "owner")
