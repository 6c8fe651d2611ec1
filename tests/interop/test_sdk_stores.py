"""The SDK's own stores in the workbench: as they are, listed where that can be done, their scores with a meaning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("strands")

from strands.vended_memory_stores.test_memory_store import TestMemoryStore as SdkTestMemoryStore

import memwb
from memwb.bridge.strands import Measure, listing, measure
from memwb.catalog import Record
from memwb.errors import ConfigError
from memwb.memory import MemoryEntry, MemoryManager
from memwb.stores import Editable, Listable
from memwb.workbench import WorkbenchState
from memwb.workbench.cases import save_cases
from tests.memory.stores import WordStore


def file_store(tmp_path: Path, **given: Any) -> Any:
    module = pytest.importorskip("strands.vended_memory_stores.file_memory_store", reason="newer than this SDK")
    from strands.storage import LocalFileStorage

    return module.FileMemoryStore(name="notes", storage=LocalFileStorage(str(tmp_path)), **given)


async def with_notes(tmp_path: Path) -> Any:
    store = file_store(tmp_path)
    for content in ("# Tea\nLikes green tea", "# Mats\nAllergic to latex <b>", "# Café\nLikes the café"):
        await store.add(content)
    return store


async def test_a_file_store_is_searched_as_it_is_and_listed_read_only(tmp_path: Path) -> None:
    store = await with_notes(tmp_path)
    state = WorkbenchState([store], "Which green tea?")
    await state.settled()
    assert repr(state) == "Workbench(1 store, 3 entries; call 1: 1 of 1 hit injected)"
    assert [record.content for record in state.entries.records] == [
        "# Café\nLikes the café",
        "# Mats\nAllergic to latex <b>",
        "# Tea\nLikes green tea",
    ]
    explanation = await state.why("latex")
    assert (explanation.arrived, explanation.store) == (False, "notes")
    assert not isinstance(listing(store), Editable)


def beside(tmp_path: Path, name: str, data: bytes) -> None:
    next(tmp_path.rglob("tea.md")).with_name(name).write_bytes(data)


async def test_a_file_stores_listing_follows_the_files(tmp_path: Path) -> None:
    store = await with_notes(tmp_path)
    view = listing(store)
    assert isinstance(view, Listable)
    assert repr(view) == "FileMemoryStore('notes', read-only)"
    tea = Record("tea.md", "# Tea\nLikes green tea", store="notes", metadata={"path": "tea.md"})
    assert await view.get("tea.md") == tea
    assert await view.get("milk.md") is None
    assert (await view.count(), await view.count("LIKES"), await view.count("milk")) == (3, 2, 0)
    assert [record.id for record in await view.page(1, 1)] == ["mats.md"]
    assert [record.id for record in await view.page(0, 9, "-content", "likes")] == ["tea.md", "caf.md"]
    assert [record.id for record in await view.page(0, 9, "created_at")] == ["caf.md", "mats.md", "tea.md"]
    await store.add("# Tea\nAnd black tea")
    assert (await view.page(2, 1))[0].content == "# Tea\nLikes green tea\nAnd black tea"
    beside(tmp_path, "odd.md", b" caf\xe9 \n")
    assert (await view.get("odd.md")) == Record("odd.md", "caf\ufffd", store="notes", metadata={"path": "odd.md"})
    assert (await store.search("odd"))[0].content == "caf\ufffd"


async def test_the_stores_of_the_sdk_become_frames(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    store = SdkTestMemoryStore(name="home", path=str(tmp_path / "home.json"))
    await store.add("tea", {"n": 1})
    assert (await memwb.frame(store))["content"].tolist() == ["tea"]
    files = await with_notes(tmp_path / "files")
    assert (await memwb.frame(files))["metadata.path"].tolist() == ["caf.md", "mats.md", "tea.md"]
    with pytest.raises(ConfigError, match="cannot list its entries"):
        await memwb.frame(WordStore("home"))


class Client:
    """A knowledge base that answers each question with the same results."""

    def __init__(self, *scores: float | None) -> None:
        self.scores = scores
        self.asked: list[Any] = []

    def retrieve(self, **asked: Any) -> Any:
        self.asked.append(asked)
        results: list[Any] = []
        for at, score in enumerate(self.scores):
            result: dict[str, Any] = {"content": {"text": f"fact {at}"}, "metadata": {"user": "me"}}
            results.append(result if score is None else {**result, "score": score})
        return {"retrievalResults": results}

    def get_knowledge_base(self, **asked: Any) -> Any:
        return {"knowledgeBase": {"knowledgeBaseConfiguration": {"type": "VECTOR"}}}


def knowledge_base(client: Client, **given: Any) -> Any:
    pytest.importorskip("boto3")
    from strands.vended_memory_stores.bedrock_knowledge_base import BedrockKnowledgeBaseStore

    config: Any = {"knowledge_base_id": "KB1", "runtime_client": client, "agent_client": client}
    return BedrockKnowledgeBaseStore(config=config, name="kb", **given)


async def test_a_knowledge_base_is_searched_as_it_is_and_says_that_it_cannot_be_listed() -> None:
    client = Client(0.9, 0.4)
    state = WorkbenchState([knowledge_base(client)], "What do you know?", injection={"max_entries": 1})
    await state.settled()
    assert client.asked[0]["retrievalQuery"] == {"text": "What do you know?"}
    assert state.trace.text == '<memory>\n<entry source="kb">fact 0</entry>\n</memory>'
    assert [hit.score for hit in state.trace.hits] == [None, None]
    assert [state.source.measured(hit) for hit in state.trace.hits] == ["score 0.9", "score 0.4"]
    assert state.source.notes[0] == "store 'kb' cannot list its entries: it is seen through its search"
    assert "under '_relevance_score'" in state.source.notes[1]


@pytest.mark.parametrize(
    ("given", "meaning"), [({"min_score": 0.2}, "similarity"), ({"max_score": 1.2}, "distance"), ({}, "score")]
)
async def test_a_knowledge_bases_score_is_a_similarity_or_a_distance_as_its_bound_says(
    given: Any, meaning: Any
) -> None:
    try:
        store = knowledge_base(Client(0.9, None), **given)
    except Exception as error:  # before there were bounds
        pytest.skip(f"this SDK knows no bound of scores: {error}")
    if given and not hasattr(store, next(iter(given))):
        pytest.skip("this SDK knows no bound of scores")
    found = measure(store)
    assert found == Measure("_relevance_score", meaning)
    assert [found.of(entry) for entry in await store.search("x")] == [0.9, None]


async def test_a_file_stores_score_counts_words(tmp_path: Path) -> None:
    store = await with_notes(tmp_path)
    found = measure(store)
    assert found == Measure("score", "count")
    assert [found.of(entry) for entry in await store.search("green tea")] == [2]


def test_a_file_store_with_a_search_of_its_own_tells_a_similarity(tmp_path: Path) -> None:
    store = file_store(tmp_path)
    store._storage._search_strategy = SimpleNamespace(search=None)
    assert measure(store) == Measure("score", "similarity")


def test_a_test_store_counts_words_and_other_stores_say_nothing() -> None:
    assert measure(SdkTestMemoryStore(name="home", persist=False)) == Measure("_relevanceScore", "count")
    assert measure(WordStore("home")) is None
    for metadata in (None, {}, {"_relevanceScore": True}, {"_relevanceScore": "3"}):
        assert Measure("_relevanceScore", "count").of(MemoryEntry("tea", None, metadata)) is None


async def test_a_file_store_in_a_manager_of_memwbs_takes_what_is_added(tmp_path: Path) -> None:
    manager = MemoryManager([file_store(tmp_path)], add_tool_config=True)
    await manager.add("# Tea\nLikes oolong")
    assert [entry.content for entry in await manager.search("oolong")] == ["# Tea\nLikes oolong"]


async def test_the_import_that_the_readme_names_gives_a_store_that_a_workbench_opens(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert f"`from {SdkTestMemoryStore.__module__.rpartition('.')[0]} import TestMemoryStore`" in readme
    theirs = SdkTestMemoryStore(name="notes", path=str(tmp_path / "notes.json"))
    await theirs.add("I am allergic to latex.")
    ours = memwb.TestMemoryStore(name="notes", path=tmp_path / "notes.json")
    for store in (theirs, ours):
        state = WorkbenchState(store, "Is latex fine?")
        await state.settled()
        assert repr(state) == "Workbench(1 store, 1 entry; call 1: 1 of 1 hit injected)"


async def test_cases_over_the_sdks_test_store_are_saved_with_what_its_file_holds(tmp_path: Path) -> None:
    theirs = SdkTestMemoryStore(name="notes", path=str(tmp_path / "notes.json"))
    await theirs.add("I am allergic to latex.")
    state = WorkbenchState(theirs, "Is latex fine?")
    await state.settled()

    case = state.case("latex", ["I am allergic to latex."])
    folder = await save_cases(state, tmp_path / "cases", [case])
    assert [result.figures["reached"] for result in folder.baseline.results] == [1.0]
    more = [case, replace(case, id="again")]
    assert len((await save_cases(state, tmp_path / "cases", more, replace=True)).cases) == 2
