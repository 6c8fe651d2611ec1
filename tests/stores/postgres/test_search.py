"""Searches by words, by meaning and by both, against stores and sums that need no database."""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest

from memwb.errors import ConfigError
from memwb.ranking import HashingEmbedder, fuse, tokenize_any_script, tokenize_without_stop_words
from memwb.stores import TestMemoryStore
from memwb.stores._filters import holds
from memwb.stores.postgres import _searching

from .conftest import Opens

WORDS = "tea green black the a coffee mug 乌龙茶 東京 naïve C++ it's \\ ' :* & | ! <-> \0 'tea' ชาเขียว".split(" ")
HOSTILE = ["'; DROP TABLE notes; --", "tea' | 'x", "\\", "a:*", "!tea & (x", "%s %(x)s {table}", "\0", "x" * 5000]


def texts(rng: random.Random, count: int) -> list[str]:
    made = [" ".join(rng.choices(WORDS, k=rng.randint(1, 8))) for _ in range(count)]
    return [text for text in dict.fromkeys(made) if text.strip()]


async def test_words_rank_as_in_the_documented_store_with_the_same_tokens(opens: Opens) -> None:
    rng = random.Random("words")
    items = [{"content": text, "id": f"n{n}"} for n, text in enumerate(texts(rng, 300))]
    store, known = opens(), TestMemoryStore(name="n", persist=False, tokenizer=tokenize_any_script)
    for each in (store, known):
        await each.add_many(items)
    for query in [*texts(rng, 40), *WORDS, *HOSTILE]:
        expected = await known.search(query, {"max_search_results": 1000})
        assert await store.search(query, {"max_search_results": 1000}) == expected
        assert await store.search(query, {"max_search_results": 7}) == expected[:7]
        assert await store.count_matches(query) == len(expected)
        for meant in (
            {"id": "n7"},
            {"content": " tea\n"},
            {"where": "乌龙茶 T"},
            {"id": "n3", "where": "é"},
            {"id": "\ud800"},
        ):
            assert await store.best_match(query, **meant) == await known.best_match(query, **meant)


async def test_the_query_alone_can_leave_stop_words_out(opens: Opens) -> None:
    store = opens(tokenizer=tokenize_without_stop_words)
    await store.add_many(["the cat", "the dog", "a cat of the dog"])
    assert [entry.content for entry in await store.search("the cat")] == ["a cat of the dog", "the cat"]
    assert await store.search("the") == []


@pytest.mark.parametrize("count", [50, 400])
async def test_meaning_ranks_as_the_products_of_the_vectors(opens: Opens, count: int) -> None:
    rng, embedder = random.Random("meaning"), HashingEmbedder(64)
    contents = texts(rng, count)
    store = opens(embedder=embedder, search_by="meaning", least=-1)
    await store.add_many(contents)
    vectors = await embedder.embed(contents)
    for query in texts(rng, 10):
        products = dict(zip(contents, vectors @ (await embedder.embed([query]))[0], strict=True))
        found = await store.search(query, {"max_search_results": 10})
        scores = [entry.metadata["_relevanceScore"] for entry in found]
        assert scores == pytest.approx([products[entry.content] for entry in found], abs=1e-5)
        assert scores == pytest.approx(sorted(products.values(), reverse=True)[:10], abs=1e-5)


async def test_of_many_vectors_the_index_finds_nearly_all(opens: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = numpy.random.default_rng(1).normal(size=(900, 32)).astype(numpy.float32)
    numbers /= numpy.linalg.norm(numbers, axis=1, keepdims=True)

    class Numbered:
        name, dimensions = "numbered", 32

        async def embed(self, given: Any) -> Any:
            return numbers[[int(text) for text in given]]

    store = opens(embedder=Numbered(), search_by="meaning", least=-1)
    await store.add_many([{"content": str(n), "metadata": {"odd": n % 2 == 1}} for n in range(900)])
    monkeypatch.setattr(_searching, "MOST_EXACT", 0)
    for narrowed, others in (({}, range(900)), ({"metadata": {"odd": True}}, range(1, 900, 2))):
        hits = 0
        for query in range(20):
            nearest = sorted(others, key=lambda n, query=query: -float(numbers[n] @ numbers[query]))[:10]
            found = await store.search(str(query), {"max_search_results": 10, **narrowed})
            hits += len({entry.content for entry in found} & set(map(str, nearest)))
        assert hits >= 180


async def test_both_are_fused_by_their_places(opens: Opens) -> None:
    rng, embedder = random.Random("fused"), HashingEmbedder(64)
    store = opens(embedder=embedder)
    await store.add_many(texts(rng, 80))
    for query in texts(rng, 10):
        rankings = []
        for kind in ("words", "meaning"):
            store.search_by = kind
            rankings.append([entry.id for entry in await store.search(query, {"max_search_results": 100})])
        store.search_by = "fused"
        found = await store.search(query, {"max_search_results": 5})
        assert [(entry.id, entry.metadata["_relevanceScore"]) for entry in found] == fuse(rankings)[:5]
        if found:
            assert await store.best_match(query, id=found[-1].id) == (len(found), found[-1])
        assert await store.count_matches(query) == len(await store.search(query, {"max_search_results": 1000}))


METADATA: list[dict[str, Any] | None] = [
    None,
    {},
    {"n": 1},
    {"n": 1.0},
    {"n": True},
    {"n": "1"},
    {"n": None},
    {"n": [1, 2]},
    {"n": [1]},
    {"n": {"a": 1}},
    {"n": {"a": 1, "b": 2}},
    {"n": 1, "topic": "tea"},
    {"it's": "'; --", "a\0b": "c\1\0"},
    {"n": 2**70, "deep": [[{"x": [None]}]]},
]


@pytest.mark.parametrize("by", ["words", "meaning", "fused"])
async def test_a_search_is_narrowed_to_metadata_and_owners_exactly(opens: Opens, by: str) -> None:
    store = opens(embedder=HashingEmbedder(32), search_by=by)
    items = [{"content": f"tea {n}", "metadata": each, "owner": "ann"} for n, each in enumerate(METADATA)]
    await store.add_many([*items, {"content": "tea", "metadata": {"n": 1}, "owner": "b\0b"}, "tea"])
    for asked in METADATA:
        found = await store.search("tea", {"metadata": asked, "owner": "ann", "max_search_results": 99})
        expected = {f"tea {n}" for n, each in enumerate(METADATA) if holds(each, asked or {})}
        assert {entry.content for entry in found} == expected
    assert [entry.metadata["n"] for entry in await store.search("tea", {"owner": "b\0b"})] == [1]
    assert await store.search("tea", {"owner": "nobody"}) == []
    assert await store.search("tea", {"owner": "\ud800"}) == []


async def test_metadata_come_back_exactly(opens: Opens) -> None:
    store = opens()
    told = {
        "z": 1,
        "a": 1.0,
        "big": 2**70,
        "small": 1e-300,
        "large": 1e22,
        "minus": -0.0,
        "nul": "a\0\1",
        "é": {"b": []},
    }
    await store.add("tea", told)
    (record,) = await store.page(0, 1)
    assert repr(record.metadata) == repr(told)


async def test_hostile_texts_are_found_and_change_nothing(opens: Opens) -> None:
    store = opens()
    await store.add_many([{"content": f"tea {text}", "id": text, "metadata": {text: text}} for text in HOSTILE[:-1]])
    for text in HOSTILE[:-1]:
        assert (await store.get(text)).content == f"tea {text}"
        assert await store.count(where=text) >= 1
        assert [entry.id for entry in await store.search("tea", {"metadata": {text: text}})] == [text]
    for text in ("\ud800", "tea \udfff"):
        assert (await store.search(text), await store.get(text), await store.count(where=text)) in (
            ([], None, 0),
            (await store.search("tea"), None, 0),
        )
        assert await store.delete(text) is False


async def test_a_text_with_more_words_than_an_index_takes_is_kept_whole(opens: Opens) -> None:
    store = opens()
    text = " ".join(f"{number:06}" for number in range(200_000))
    await store.add(text)
    ((record,),) = [await store.page(0, 1)]
    assert record.content == text
    assert len(await store.search("000001")) == 1


async def test_entries_added_without_an_embedder_are_embedded_later(opens: Opens) -> None:
    plain, embedder = opens(), HashingEmbedder(64)
    await plain.add_many([f"tea {number}" for number in range(300)])
    store = opens(embedder=embedder, search_by="meaning")
    assert await store.search("tea") == []
    told: list[tuple[int, int]] = []
    assert await store.embed_missing(lambda done, total: told.append((done, total))) == 300
    assert told == [(256, 300), (300, 300)]
    assert await store.embed_missing() == 0
    assert (await store.search("tea 7", {"max_search_results": 1}))[0].content == "tea 7"


async def test_a_vector_of_an_earlier_text_counts_for_none(opens: Opens) -> None:
    store, plain = opens(embedder=HashingEmbedder(64), search_by="meaning"), opens()
    added = await store.add("green tea")
    await plain.update(added.id, content="coffee")
    assert await store.search("green tea") == []
    assert await store.embed_missing() == 1
    assert [entry.content for entry in await store.search("coffee")] == ["coffee"]
    await store.update(added.id, content="water")
    assert [entry.content for entry in await store.search("water")] == ["water"]


async def test_two_models_keep_vectors_of_their_own(opens: Opens) -> None:
    small, large = (opens(embedder=HashingEmbedder(size), search_by="meaning") for size in (8, 3000))
    await small.add("green tea")
    await large.add("black tea")
    assert [entry.content for entry in await small.search("tea")] == ["green tea"]
    assert [entry.content for entry in await large.search("tea")] == ["black tea"]
    assert await large.embed_missing() == 1
    assert {entry.content for entry in await large.search("tea")} == {"green tea", "black tea"}


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"embedder": "minilm"}, "embedder"),
        ({"search_by": "meaning"}, "search_by"),
        ({"search_by": "bm25", "embedder": HashingEmbedder(8)}, "search_by"),
        ({"least": 2}, "least"),
        ({"connections": 0}, "connections"),
        ({"connect_timeout": -1}, "connect_timeout"),
        ({"owner": ""}, "owner"),
        ({"owner": "x" * 1001}, "owner"),
        ({"max_search_results": 0}, "max_search_results"),
        ({"writable": 1}, "writable"),
    ],
)
def test_a_bad_setting_is_refused_at_once(opens: Opens, settings: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=r"^PostgresMemoryStore: ") as caught:
        opens(**settings)
    assert caught.value.key == key


def test_the_sums_are_of_vectors_that_the_database_keeps_exactly() -> None:
    vector = numpy.array([0.1, 1 / 3, -1e-20], numpy.float32)
    assert numpy.array_equal(numpy.array(_searching.vector_text(vector)[1:-1].split(","), numpy.float32), vector)
