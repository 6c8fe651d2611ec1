"""Extraction inside a real agent: the same saves as with the SDK's own manager, and nothing left unsaved."""

from __future__ import annotations

import asyncio
import random
import threading
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.memory import MemoryManager as SdkManager
from strands.memory.extraction.triggers import IntervalTrigger as SdkIntervalTrigger

from memwb.bridge.strands import plugin, scripted
from memwb.memory import IntervalTrigger, InvocationTrigger, MemoryManager, ModelExtractor
from memwb.stores import TestMemoryStore

GREEN = '[{"content": "The user likes green tea."}]'


class Sink:
    """Takes messages, and notes their texts and numbers at each call."""

    description = max_search_results = None
    writable = True

    def __init__(self, extraction: Any = True, *, seconds: float = 0.0, fails: int = 0) -> None:
        self.name, self.extraction, self.seconds, self.fails = "sink", extraction, seconds, fails
        self.saves: list[Any] = []

    async def search(self, query: str, options: Any = None) -> list[Any]:
        return []

    async def add_messages(self, messages: Any, context: Any) -> None:
        await asyncio.sleep(self.seconds)
        if self.fails:
            self.fails -= 1
            raise ConnectionError("no route")
        texts = [(message["role"], [next(iter(block)) for block in message["content"]]) for message in messages]
        self.saves.append((texts, list(context.sequence_numbers)))

    @property
    def numbers(self) -> list[int]:
        return [number for _, numbers in self.saves for number in numbers]


def search(query: str) -> list[Any]:
    return [{"toolUse": {"name": "search_memory", "input": {"query": query}}}]


def every_two(trigger: Any) -> Any:
    return {"trigger": [trigger(2)]}


def agents(extraction: Any, answers: Any) -> list[Any]:
    """Return an agent with memwb's memory and one with the SDK's, each over a sink of its own."""
    made = []
    for ours in (True, False):
        sink = Sink(extraction(IntervalTrigger if ours else SdkIntervalTrigger))
        given: Any = (
            {"plugins": [plugin(MemoryManager([sink]))]} if ours else {"memory_manager": SdkManager([sink])}  # type: ignore[list-item]
        )
        made.append((Agent(model=scripted(answers), callback_handler=None, **given), sink))
    return made


def test_a_second_time_for_the_same_agent_changes_nothing() -> None:
    sink = Sink({"trigger": InvocationTrigger()})
    memory, answering = plugin(MemoryManager([sink])), scripted(["Hello."])  # type: ignore[list-item]
    agent = Agent(model=answering, plugins=[memory], callback_handler=None)
    asyncio.run(memory.init_agent(agent))
    agent("Hi.")
    assert [status.agent for status in memory.manager.extraction_status()] == [1]
    assert sink.numbers == [0, 1]


ANSWERS = ["Hello.", search("tea"), "Green.", "Bye."]


@pytest.mark.parametrize("extraction", [lambda trigger: True, every_two])
def test_synchronous_calls_save_what_the_sdks_own_manager_saves(extraction: Any) -> None:
    made = agents(extraction, ANSWERS)
    for agent, _ in made:
        for words in ("Hi", "Which tea?", "Bye"):
            agent(words)
    (_, ours), (_, theirs) = made
    assert ours.saves == theirs.saves
    assert ours.numbers == [0, 1, 2, 5, 6, 7]  # the call of the tool and its result are filtered away


async def test_calls_on_a_loop_save_what_the_sdks_own_manager_saves() -> None:
    made = agents(every_two, ANSWERS)
    saved = []
    for agent, sink in made:
        for words in ("Hi", "Which tea?", "Bye"):
            await agent.invoke_async(words)
            await asyncio.sleep(0.01)
            saved.append(len(sink.saves))
        manager = agent.memory_manager or agent._plugin_registry._plugins["strands:memory-manager"].manager
        await manager.flush()
    assert saved == [0, 1, 1, 0, 1, 1]
    assert made[0][1].saves == made[1][1].saves
    assert made[0][1].numbers == [0, 1, 2, 5, 6, 7]


def test_a_trigger_of_the_sdks_own_works_in_a_store_of_memwbs_manager() -> None:
    sink = Sink({"trigger": SdkIntervalTrigger(turns=1)})
    agent = Agent(model=scripted(["Hello."]), plugins=[plugin(MemoryManager([sink]))], callback_handler=None)
    agent("Hi")
    assert sink.numbers == [0, 1]


def test_a_slow_save_is_over_before_a_synchronous_call_returns() -> None:
    sink = Sink({"trigger": InvocationTrigger()}, seconds=0.2)
    agent = Agent(model=scripted(["Hello.", "Yes."]), plugins=[plugin(MemoryManager([sink]))], callback_handler=None)
    agent("Hi")
    assert sink.numbers == [0, 1]
    agent("Hi again")
    assert sink.numbers == [0, 1, 2, 3]


def test_a_loop_that_ends_too_early_loses_nothing() -> None:
    sink = Sink({"trigger": InvocationTrigger()}, seconds=0.2)
    manager = MemoryManager([sink])
    agent = Agent(model=scripted(["Hello."]), plugins=[plugin(manager)], callback_handler=None)
    asyncio.run(agent.invoke_async("Hi"))  # a loop of the caller's own: its end cuts the save off
    assert sink.numbers == []
    asyncio.run(manager.flush())
    assert sink.numbers == [0, 1]


def test_facts_are_extracted_by_the_agents_own_model() -> None:
    store = TestMemoryStore(name="notes", persist=False, extraction={"trigger": InvocationTrigger()})
    answering = scripted(["Noted.", GREEN, "Green.", "[]"])
    agent = Agent(model=answering, plugins=[plugin(MemoryManager([store]))], callback_handler=None)
    agent("I like green tea.")
    assert [entry.content for entry in asyncio.run(store.search("tea"))] == ["The user likes green tea."]
    assert (answering.asked[1].system or "").endswith(ModelExtractor().system[-40:])
    agent("Which tea do I like?")
    assert "The user likes green tea." in str(answering.asked[2].messages)  # injected into the next call
    assert "<memory>" not in str(answering.asked[3].messages)  # and not extracted from it
    assert "<memory>" not in str(agent.messages)


def test_an_agents_model_for_side_work_extracts_where_it_has_one() -> None:
    side = scripted([GREEN])
    store = TestMemoryStore(name="notes", persist=False, extraction={"trigger": InvocationTrigger()})
    try:
        agent = Agent(
            model=scripted(["Noted."]), aux_model=side, plugins=[plugin(MemoryManager([store]))], callback_handler=None
        )
    except TypeError:
        pytest.skip("this SDK has no model for side work")
    agent("I like green tea.")
    assert len(side.asked) == 1
    assert [entry.content for entry in asyncio.run(store.search("tea"))] == ["The user likes green tea."]


def test_a_file_store_extracts_by_the_sdks_own_extractor(tmp_path: Any) -> None:
    module = pytest.importorskip("strands.vended_memory_stores.file_memory_store", reason="newer than this SDK")
    from strands.storage import LocalFileStorage

    store = module.FileMemoryStore(name="notes", storage=LocalFileStorage(str(tmp_path)), extraction=True)
    answering = scripted(["Noted.", '[{"content": "# Tea\\nLikes green tea"}]'])
    agent = Agent(model=answering, plugins=[plugin(MemoryManager([store]))], callback_handler=None)
    agent("I like green tea.")
    assert [entry.content for entry in asyncio.run(store.search("green"))] == ["# Tea\nLikes green tea"]


def test_one_manager_saves_for_all_of_its_agents() -> None:
    sink = Sink()
    memory = plugin(MemoryManager([sink]))
    for words in ("a", "b"):
        Agent(model=scripted(["Hello."]), plugins=[memory], callback_handler=None)(words)
    assert sorted(sink.numbers) == [0, 0, 1, 1]


def of_two_agents(answers: Any) -> tuple[Any, list[Any], Any]:
    """Return the manager of two agents, the agents, and its store; ``answers`` are the second one's."""
    store = TestMemoryStore(name="notes", persist=False, extraction={"trigger": InvocationTrigger()})
    memory = plugin(MemoryManager([store]))
    models = [scripted(lambda asked: "[]" if "JSON" in str(asked.system) else "Hello."), scripted(answers)]
    made = [Agent(model=model, plugins=[memory], callback_handler=None) for model in models]
    return memory.manager, made, store


def test_a_call_does_not_wait_for_the_saves_of_another_agent() -> None:
    asked_for, goes_on = threading.Event(), threading.Event()

    def answers(asked: Any) -> Any:
        if "JSON" not in str(asked.system):
            return "Noted."
        asked_for.set()
        goes_on.wait(20)
        return GREEN

    manager, (quick, slow), store = of_two_agents(answers)
    thread = threading.Thread(target=slow, args=("I like green tea.",))
    thread.start()
    try:
        assert asked_for.wait(10)
        quick("Hi")  # would never return: the other save waits for what follows
        assert [status.pending for status in manager.extraction_status()] == [(), (0, 1)]
    finally:
        goes_on.set()
        thread.join()
    assert asyncio.run(store.count()) == 1


def test_the_end_of_a_call_leaves_the_open_invocation_of_another_agent_alone() -> None:
    answering, goes_on = threading.Event(), threading.Event()
    extracted: list[str] = []

    def answers(asked: Any) -> Any:
        if "JSON" in str(asked.system):
            extracted.append(str(asked.messages))
            return GREEN
        answering.set()
        goes_on.wait(20)
        return "Green, then."

    _, (quick, slow), store = of_two_agents(answers)
    thread = threading.Thread(target=slow, args=("Which tea?",))
    thread.start()
    try:
        assert answering.wait(10)
        quick("Hi")
        assert extracted == []
    finally:
        goes_on.set()
        thread.join()
    [transcript] = extracted
    assert "user: Which tea?\\nassistant: Green, then." in transcript
    assert asyncio.run(store.count()) == 1


@pytest.mark.parametrize("seed", range(12))
def test_whatever_fails_and_however_it_is_called_every_message_is_saved_at_the_end(seed: int) -> None:
    rng = random.Random(f"saves {seed}")
    sink = Sink(
        {"trigger": IntervalTrigger(rng.choice([1, 2, 3]))}, seconds=rng.choice([0, 0.02]), fails=rng.randint(0, 3)
    )
    manager = MemoryManager([sink])
    agent = Agent(model=scripted(["Hello."] * 6), plugins=[plugin(manager)], callback_handler=None)
    for turn in range(6):
        if rng.random() < 0.5:
            agent(f"turn {turn}")
        else:
            asyncio.run(agent.invoke_async(f"turn {turn}"))
    sink.fails = 0
    asyncio.run(manager.flush())
    assert sorted(set(sink.numbers)) == list(range(12))
    assert [status.pending for status in manager.extraction_status()] == [()]


def test_agents_on_threads_of_their_own_share_a_manager_and_lose_nothing() -> None:
    sink, notes = (
        Sink({"trigger": InvocationTrigger()}, seconds=0.01, fails=3),
        TestMemoryStore(name="n", persist=False),
    )
    manager = MemoryManager([sink, notes], add_tool_config={"wait_for_writes": False})
    memory = plugin(manager)

    def talk(number: int) -> None:
        add = [{"toolUse": {"name": "add_memory", "input": {"entries": [f"fact {number}"]}}}]
        agent = Agent(model=scripted([add, "Noted.", "Bye."]), plugins=[memory], callback_handler=None)
        agent("Remember this.")
        agent("Bye")

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(manager.flush())
    assert sorted(sink.numbers) == sorted([0, 3, 4, 5] * 6)  # of each agent; its call of the tool is filtered away
    assert asyncio.run(notes.count()) == 6
    assert [status.pending for status in manager.extraction_status() if status.pending] == []
