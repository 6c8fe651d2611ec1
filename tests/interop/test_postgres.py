"""PostgresMemoryStore in a real agent: by memwb's plugin, and by Strands' own memory manager."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.memory import MemoryManager as SdkManager

from memwb.bridge.strands import plugin, read, scripted
from memwb.errors import StoreUnavailableError
from memwb.memory import MemoryManager
from memwb.ranking import HashingEmbedder
from memwb.stores import PostgresMemoryStore
from tests.interop.capture import CapturingModel
from tests.postgres import PostgresServer, required, running

ASKED = "Which mats can I buy for yoga?"


@pytest.fixture
async def store(postgres: PostgresServer) -> AsyncIterator[Any]:
    opened = PostgresMemoryStore(postgres.new_database(), embedder=HashingEmbedder(64), name="team")
    await opened.add_many(["Allergic to latex <b>, also in yoga mats", "Likes green tea", "Has two cats"])
    yield opened
    await opened.close()


async def test_an_agent_with_the_plugin_gets_what_the_trace_shows(store: Any) -> None:
    manager = MemoryManager([store], injection={"max_entries": 1})
    model = scripted(["Rubber-free ones."])
    agent = Agent(model=model, plugins=[plugin(manager)], callback_handler=None)
    await agent.invoke_async(ASKED)
    asked = [{"role": "user", "content": [{"text": ASKED}]}]
    assert model.asked[0].messages == await manager.inject(asked)
    assert "Allergic to latex &lt;b&gt;" in str(model.asked[0].messages)


async def test_strands_own_manager_searches_adds_and_injects_with_it(store: Any) -> None:
    model = CapturingModel()
    manager = SdkManager([store], injection=True, add_tool_config=True)
    agent = model.agent = Agent(model=model, memory_manager=manager, callback_handler=None)
    await agent.invoke_async(ASKED)
    assert [entry.content for entry in await manager.search("latex")] == ["Allergic to latex <b>, also in yoga mats"]
    ((_, given),) = model.calls
    assert "Allergic to latex" in str(given)
    reading = read(agent)
    ours = MemoryManager(reading.stores, injection=reading.injection)
    assert entry_lines(await ours.inject([{"role": "user", "content": [{"text": ASKED}]}])) == entry_lines(given)
    await manager.add("Moved to Oslo")
    assert await store.count() == 4


def entry_lines(messages: Any) -> list[str]:
    """Return the lines of the block, wherever this release of the SDK puts it."""
    texts = [block["text"] for message in messages for block in message["content"]]
    return [line for text in texts for line in text.split("\n") if line.startswith("<entry")]


async def test_an_agent_works_on_when_the_database_goes_away() -> None:
    required()
    with running() as server:
        team = PostgresMemoryStore(server.new_database(), name="team")
        await team.add("Allergic to latex")
        model = scripted(["Yes.", "No."])
        agent = Agent(model=model, plugins=[plugin(MemoryManager([team]))], callback_handler=None)
        await agent.invoke_async("latex?")
        server.stop("immediate")
        assert str(await agent.invoke_async("latex?")).strip() == "No."
        assert entry_lines(model.asked[0].messages) == ['<entry source="team">Allergic to latex</entry>']
        await team.close()


def test_an_agent_is_not_made_while_the_database_is_away() -> None:
    required()
    away = PostgresMemoryStore("postgresql://postgres@127.0.0.1:1/team", name="team")
    with pytest.raises(StoreUnavailableError, match="cannot be reached"):
        Agent(model=scripted([]), plugins=[plugin(MemoryManager([away]))], callback_handler=None)
