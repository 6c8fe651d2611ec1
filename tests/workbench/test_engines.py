"""Engines in the workbench: stores that search by meaning, by both, or in a database, opened, explained and edited."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from memwb import callbacks, datasets
from memwb.errors import ConflictError
from memwb.evaluation import Arm, evaluate, grid
from memwb.ranking import HashingEmbedder
from memwb.sessions import MemoryEntry, SQLiteStore
from memwb.stores import Hybrid, Semantic, SessionSearch, SQLiteMemoryStore, TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.scores import histogram, meaning
from memwb.workbench.source import open_source

TEXTS = ("green tea", "tea with milk", "black coffee")
WIDE = HashingEmbedder(1 << 14)


def notes(*texts):
    return TestMemoryStore.from_records(texts or TEXTS, name="notes")


async def saved(path):
    store = SQLiteMemoryStore(path)
    await store.add_many(TEXTS)
    store.close()
    return path


async def shown(source, message="green tea", **settings):
    state = WorkbenchState(source, message, **settings)
    await state.settled()
    return state


async def test_a_database_of_memories_is_told_from_one_of_sessions_by_its_tables(tmp_path):
    path = await saved(tmp_path / "notes.db")
    async with SQLiteStore(tmp_path / "sessions.db") as sessions:
        await sessions.add(MemoryEntry("monday", "a", "ann", content="green tea"))

    (store,), (past,) = open_source(path).stores, open_source(str(tmp_path / "sessions.db")).stores

    assert (type(store), store.name, store.path, type(past)) == (SQLiteMemoryStore, "notes", path, SessionSearch)
    state = await shown(str(path))
    assert [hit.content for hit in state.hits] == ["green tea", "tea with milk"]
    state.close()


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (lambda: Semantic(notes(), WIDE), "likeness to the query (cosine): higher is nearer"),
        (lambda: Hybrid(notes(), WIDE), "places in several rankings, 1 / (60 + place) added up: higher is nearer"),
        (lambda: SQLiteMemoryStore(":memory:"), "BM25, rare words weigh more: higher is nearer"),
        (
            lambda: SQLiteMemoryStore(":memory:", ranking="overlap"),
            "words of the query that an entry holds: higher is nearer",
        ),
    ],
)
async def test_a_workbench_says_what_the_scores_of_an_engine_mean(engine, said):
    store = engine()
    await store.add("green")
    state = await shown(store)

    assert (meaning(state), [one.hits for one in histogram(state.hits)]) == (said, [1] * len(state.hits))
    state.close()


async def why(store, target, **injection):
    state = await shown(store, injection=injection or True)
    found = await state.why(target)
    state.close()
    return found


async def test_why_tells_the_similarity_and_the_floor():
    format = callbacks.Filtered(callbacks.bullet_list, partial(callbacks.score_floor, least=0.45))
    store = Semantic(notes("green tea", "tea with milk and more"), WIDE)

    assert (await why(store, "tea with milk and more", format=format)).sentence == (
        "'tea with milk and more' did not arrive: it was kept at rank 2, but the filter score_floor left it out "
        "(similarity 0.316, floor 0.45)."
    )
    assert (await why(store, "green tea")).sentence == "'green tea' arrived: rank 1, similarity 1."
    assert (await why(store, "tea with milk and more", max_entries=1)).sentence == (
        "'tea with milk and more' did not arrive: rank 2, limit 1, similarity 0.316."
    )


async def test_why_tells_that_an_engine_does_not_return_an_entry_without_judging_its_words():
    found = await why(Semantic(notes(), WIDE), "black coffee")

    assert found.sentence == "'black coffee' did not arrive: 'notes' does not return it for this query."


async def test_engines_are_arms_of_a_comparison():
    state = await shown(notes(), "tea milk", injection={"max_entries": 1})
    state.arms.pin("meaning", stores=Semantic(notes(), WIDE))
    state.arms.pin("both", stores=Hybrid(notes(), WIDE))

    comparison = await state.arms.compare()

    assert {"meaning", "both"} <= set(comparison.arms)
    state.close()


async def test_engines_are_arms_of_an_evaluation():
    data = datasets.load("ikat-demo")
    cases = data.cases[:3]
    arms = {"meaning": Arm({}, lambda store: Semantic(store, WIDE)), "both": Arm({}, lambda store: Hybrid(store, WIDE))}

    result = await evaluate(cases, {"overlap": {}, **arms}, stores=data.store)

    assert len(result.results) == 9
    assert [each.error for each in result.results] == [None] * 9


async def test_engines_are_an_axis_of_a_sweep():
    data = datasets.load("ikat-demo")
    engines = {"words": data.store, "meaning": lambda owner: Semantic(data.store(owner), WIDE)}

    result = await evaluate(data.cases[:2], grid(stores=engines, max_entries=[1, 5]), stores=data.store)

    assert list(dict.fromkeys(each.setting for each in result.results)) == [
        f"stores={engine}, max_entries={most}" for engine in engines for most in (1, 5)
    ]
    assert [each.error for each in result.results] == [None] * 8


@pytest.fixture
async def store(tmp_path):
    store = SQLiteMemoryStore(await saved(tmp_path / "notes.db"))
    yield store
    store.close()


@pytest.mark.parametrize("over", [lambda store: store, lambda store: Hybrid(store, WIDE)], ids=["database", "hybrid"])
async def test_entries_are_browsed_edited_in_one_write_and_taken_back(store, over):
    before = await store.page(0, 9)
    green, milk, _ = before
    state = await shown(over(store), editable=True)
    entries = state.entries
    await entries.load()
    assert [record.content for record in entries.records] == list(TEXTS)

    entries.stage(edit={green.id: "white tea"}, delete=[milk.id], add=["oolong"])
    await entries.write()

    assert [record.content for record in await store.page(0, 9)] == ["white tea", "black coffee", "oolong"]
    assert [entry.content for entry in await store.search("oolong white tea milk")] == ["white tea", "oolong"]
    await entries.undo()
    assert await store.page(0, 9) == before
    assert await store.search("white oolong") == []
    assert [finding.fault for finding in (await entries.health()).findings if finding.damaged] == []
    state.close()


async def test_an_exchange_of_what_was_changed_meanwhile_writes_nothing(store):
    green, milk, _ = await store.page(0, 9)
    await store.update(milk.id, content="tea alone")
    before = await store.page(0, 9)

    with pytest.raises(ConflictError, match="now says 'tea alone'"):
        await store.exchange([green, milk], [])
    done = await store.exchange([green], [replace(green, content="white tea")], only_check=True)

    assert done.after[0].content == "white tea"
    assert await store.page(0, 9) == before


async def test_entries_may_take_each_others_texts(store):
    green, milk, _ = await store.page(0, 9)

    done = await store.exchange(
        [green, milk], [replace(green, content=milk.content), replace(milk, content=green.content)]
    )

    assert [record.content for record in await store.page(0, 9)] == ["tea with milk", "green tea", "black coffee"]
    await store.take_back(done)
    assert [record.content for record in await store.page(0, 9)] == list(TEXTS)
