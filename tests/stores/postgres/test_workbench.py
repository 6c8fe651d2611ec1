"""The workbench over a database: browsed, edited and taken back, explained, evaluated like any other store."""

from __future__ import annotations

import pytest

from memwb.errors import ConflictError
from memwb.evaluation import Case, evaluate
from memwb.ranking import HashingEmbedder
from memwb.workbench import WorkbenchState

from .conftest import Opens


async def test_entries_are_browsed_edited_and_taken_back(opens: Opens) -> None:
    store = opens("edited entries", name="team")
    await store.add_many([{"content": f"I like {what}.", "id": what} for what in ("tea", "milk", "rice")])
    before = await store.page(0, 9)
    state = WorkbenchState([store], "Which tea?", editable=True)
    await state.settled()
    entries = state.entries
    await entries.put(add=["I own a boat."], edit={"tea": {"content": "I like green tea.", "metadata": {"n": [1]}}})
    await entries.put(delete=["milk"])
    assert [change.kind for change in await entries.write()] == ["added", "changed", "deleted"]
    assert [record.content for record in await store.page(0, 9)] == [
        "I like green tea.",
        "I like rice.",
        "I own a boat.",
    ]
    await entries.undo()
    assert await store.page(0, 9) == before
    await entries.put(edit={"rice": "I like wild rice."})
    await opens("edited entries").update("rice", content="I like brown rice.")
    with pytest.raises(ConflictError):
        await entries.write()
    entries.unstage()
    entries.choose(where="BROWN", sort="-content")
    await entries.load()
    assert [record.id for record in entries.records] == ["rice"]


async def test_why_says_the_rank_and_what_the_score_is(opens: Opens) -> None:
    store = opens(embedder=HashingEmbedder(256), name="team")
    await store.add_many(["likes green tea", "likes black tea", "has two cats"])
    told = []
    for kind in ("words", "meaning", "fused"):
        store.search_by = kind
        state = WorkbenchState([store], "green tea")
        await state.settled()
        told.append((await state.why("likes green tea")).sentence)
    assert told[0].startswith("'likes green tea' arrived: rank 1")
    assert "similarity" in told[1]
    assert told[2].startswith("'likes green tea' arrived: rank 1")


async def test_it_is_an_engine_of_an_evaluation(opens: Opens) -> None:
    store = opens()
    await store.add_many(["likes green tea", "has two cats"])
    messages = [{"role": "user", "content": [{"text": "Which tea?"}]}]
    report = await evaluate([Case("c1", messages, ["likes green tea"])], {"default": {}}, store)
    assert report.summary()["recall@5"].tolist() == [1.0]
