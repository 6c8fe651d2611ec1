"""The ranking against SQLite's own bm25(), and against the documented overlap; ties; pruning changes nothing."""

from __future__ import annotations

import asyncio
import random
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.ranking import rank, tokenize, tokenize_any_script, tokenize_without_stop_words
from memwb.ranking.counted import counts
from memwb.stores import SQLiteMemoryStore, TestMemoryStore

WORDS = [f"w{number}" for number in range(12)]
COMMON = [0.7, 0.5, 0.3, 0.2, *[0.08] * 8]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), min_size=1, max_size=40)


def drawn(count, seed):
    """Texts, no two alike, in which some words stand nearly everywhere and others seldom."""
    rng = random.Random(seed)
    texts = []
    for number in range(count):
        words = [word for word, often in zip(WORDS, COMMON, strict=True) for _ in range(3) if rng.random() < often / 2]
        texts.append(" ".join([*words, f"n{number}"]))
    return texts


def by_fts5(texts, query, tokenizer=tokenize):
    """Return the scores that SQLite's own bm25() gives over the same tokens."""
    database = sqlite3.connect(":memory:")
    database.execute('CREATE VIRTUAL TABLE texts USING fts5(words, tokenize = "unicode61 remove_diacritics 0")')
    database.executemany(
        "INSERT INTO texts VALUES (?)", ((" ".join(counts(tokenizer, text).elements()),) for text in texts)
    )
    wanted = " OR ".join(f'"{token}"' for token in sorted(set(tokenizer(query))))
    found = database.execute("SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ?", (wanted,)).fetchall()
    database.close()
    return {texts[rowid - 1]: score for rowid, score in found}


async def made(texts, **settings):
    store = SQLiteMemoryStore(":memory:", **{"tokenizer": tokenize, **settings})
    await store.add_many(texts)
    return store


@given(
    TEXTS.map(lambda texts: list(dict.fromkeys(texts))), st.sets(st.sampled_from(WORDS), min_size=1), st.integers(1, 9)
)
def test_scores_are_those_of_sqlites_own_bm25(texts, query, limit):
    async def search():
        store = await made(texts)
        return await store.search(" ".join(query), {"max_search_results": limit}), await store.count_matches(
            " ".join(query)
        )

    found, matches = asyncio.run(search())

    expected = by_fts5(texts, " ".join(query))
    assert matches == len(expected)
    scores = [entry.metadata["_relevanceScore"] for entry in found]
    assert scores == pytest.approx(sorted(expected.values(), reverse=True)[:limit], abs=2e-6)
    assert scores == pytest.approx([expected[entry.content] for entry in found], abs=2e-6)


@pytest.mark.parametrize("tokenizer", [tokenize, tokenize_any_script, tokenize_without_stop_words])
async def test_every_tokenizer_is_scored_by_its_own_tokens(tokenizer):
    texts = ["the tea of the morning", "green tea and black tea", "coffee is not tea", "東京 の 東京", "a cup"]

    store = await made(texts, tokenizer=tokenizer)

    for query in ("the tea", "green morning", "東京"):
        expected = by_fts5(texts, query, tokenizer) if tokenizer(query) else {}
        found = {entry.content: entry.metadata["_relevanceScore"] for entry in await store.search(query)}
        assert found == pytest.approx(expected, abs=2e-6)


async def test_after_edits_the_scores_are_those_of_what_is_left():
    texts = drawn(300, 1)
    store = await made(texts)
    records = await store.page(0, 300)
    for record in records[::3]:
        await store.delete(record.id)
    for record in records[1::3]:
        await store.update(record.id, content=f"{record.content} w3 w3 again")
    left = [record.content for record in await store.page(0, 300)]

    found = await store.search("w0 w3 w9", {"max_search_results": 300})

    assert {entry.content: entry.metadata["_relevanceScore"] for entry in found} == pytest.approx(
        by_fts5(left, "w0 w3 w9"), abs=2e-6
    )


@pytest.mark.parametrize("ranking", ["bm25", "overlap"])
async def test_a_short_answer_is_the_beginning_of_the_whole_one(ranking):
    store = await made(drawn(1500, 2), ranking=ranking)  # over several blocks, with words that are left out early
    rng = random.Random(3)

    for _ in range(12):
        query = " ".join([*rng.sample(WORDS, rng.randint(1, 8)), *(f"n{rng.randrange(1500)}" for _ in range(2))])
        whole = await store.search(query, {"max_search_results": 1500})
        assert len(whole) == await store.count_matches(query)
        for limit in (1, 3, 10, 60):
            found = await store.search(query, {"max_search_results": limit})
            assert [entry.id for entry in found] == [entry.id for entry in whole[:limit]]


@pytest.mark.parametrize("reverse", [False, True])
async def test_overlap_ranks_as_the_documented_store_does(reverse):
    texts = drawn(400, 4)
    documented = TestMemoryStore.from_records(texts, name="notes")
    records = await documented.page(0, 400, sort="-created_at" if reverse else None)  # times that fall
    store = SQLiteMemoryStore(":memory:", ranking="overlap", tokenizer=tokenize)
    await store.add_many(records)
    stamps = [(tokenize(record.content), record.created_at.isoformat()) for record in records]

    for query in ("w0", "w1 w3 w9", "w0 w1 w2 w3 w4", "n7 w5"):
        found = await store.search(query, {"max_search_results": 50})
        expected = rank(tokenize(query), stamps)[:50]
        assert [(entry.id, entry.metadata["_relevanceScore"]) for entry in found] == [
            (records[place].id, score) for place, score in expected
        ]


async def test_of_equal_scores_the_most_recent_comes_first_however_many_there_are():
    days = [f"2026-01-{day:02}T00:00:00.000Z" for day in (5, 9, 1, 9, 3)]
    store = SQLiteMemoryStore(":memory:")
    await store.add_many([{"content": f"tea {at}", "createdAt": day} for at, day in enumerate(days)])

    ranking = [entry.content for entry in await store.search("tea")]

    assert ranking == ["tea 1", "tea 3", "tea 0", "tea 4", "tea 2"]
    for limit in range(1, 5):
        found = await store.search("tea", {"max_search_results": limit})
        assert [entry.content for entry in found] == ranking[:limit]


@pytest.mark.parametrize("ranking", ["bm25", "overlap"])
@pytest.mark.parametrize("sort", [None, "-created_at"])
async def test_the_best_match_is_the_one_of_the_whole_ranking(ranking, sort):
    records = await TestMemoryStore.from_records(drawn(60, 5), name="notes").page(0, 60, sort=sort)
    store = SQLiteMemoryStore(":memory:", ranking=ranking)
    await store.add_many(records)
    whole = await store.search("w0 w2 w5", {"max_search_results": 60})

    for place, entry in enumerate(whole, 1):
        assert await store.best_match("w0 w2 w5", id=entry.id) == (place, entry)
        assert await store.best_match("w0 w2 w5", content=f" {entry.content}\n") == (place, entry)
    assert await store.best_match("w0 w2 w5", where="W5") == next(
        (place, entry) for place, entry in enumerate(whole, 1) if "w5" in entry.content
    )
    assert await store.best_match("w0 w2 w5", id="no such id") is None


async def test_what_the_score_is_is_told():
    assert (SQLiteMemoryStore(":memory:").score_kind, SQLiteMemoryStore(":memory:", ranking="overlap").score_kind) == (
        "bm25",
        "count",
    )


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我喜欢绿茶", "绿茶"),
        ("緑茶が好きです", "緑茶"),
        ("녹차를 좋아해요", "녹차"),
        ("ฉันชอบชาเขียว", "ชาเขียว"),
        ("मुझे हरी चाय पसंद है", "चाय"),
    ],
    ids=["Chinese", "Japanese", "Korean", "Thai", "Hindi"],
)
async def test_scripts_without_spaces_and_with_marks_are_found(text, query):
    store = SQLiteMemoryStore(":memory:")
    await store.add_many([text, "green tea"])

    assert [entry.content for entry in await store.search(query)] == [text]
