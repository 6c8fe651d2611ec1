"""Saves and event loops: loops end, stand still, run in other threads, and nothing is lost with them."""

from __future__ import annotations

import asyncio
import sys
import threading
import warnings
from typing import Any

from memwb.memory import Failed, MemoryManager, ModelExtractor, Saved
from memwb.stores import TestMemoryStore
from memwb.testing import FaultyModel, ScriptedModel
from tests.memory.extraction.host import Host, Inbox, attached, fact_of_each_line, facts, settle
from tests.memory.stores import AddStore, user


def test_a_loop_that_ends_cuts_a_save_off_and_the_next_flush_makes_it() -> None:
    inbox = Inbox(seconds=0.2)
    manager, host = asyncio.run(attached(inbox))

    async def call() -> None:
        host.turn("tea")
        await asyncio.sleep(0.01)

    asyncio.run(call())
    [status] = manager.extraction_status()
    assert (inbox.batches, status.saved, status.mark, status.failures) == ([], -1, -1, 1)
    assert [(event.cancelled, event.numbers) for event in manager.extraction_log.of(Failed)] == [(True, (0, 1))]
    asyncio.run(manager.flush())
    assert [numbers for numbers, _ in inbox.batches] == [[0, 1]]
    assert manager.extraction_status()[0].saved == 1


async def test_a_save_that_was_cancelled_before_it_began_is_made_by_the_next_request() -> None:
    inbox = Inbox()
    manager, host = await attached(inbox)
    host.turn("tea")
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await settle()
    assert (inbox.calls, manager.extraction_status()[0].failures) == ([], 0)
    host.turn("milk")
    await settle()
    assert inbox.calls == [[0, 1, 2, 3]]


def test_facts_written_before_the_loop_ended_are_not_written_again() -> None:
    class Uneven(AddStore):
        async def add(self, content: str, metadata: Any = None) -> str:
            await asyncio.sleep(0.5 if content == "slow" and self.slow else 0)
            return await super().add(content, metadata)

        slow = True

    model = ScriptedModel([[{"content": "quick"}, {"content": "slow"}]])
    home = Uneven("home", extraction={"extractor": ModelExtractor(model)})
    manager, host = asyncio.run(attached(home))

    async def call() -> None:
        host.turn("tea")
        flush = asyncio.ensure_future(manager.flush())
        await asyncio.sleep(0.05)
        flush.cancel()

    asyncio.run(call())
    assert home.writes == [("quick", None)]
    home.slow = False
    asyncio.run(manager.flush())
    assert home.writes == [("quick", None), ("slow", None)]
    assert len(model.asked) == 1


def test_a_loop_that_stood_still_does_not_save_again_when_it_goes_on() -> None:
    inbox = Inbox(seconds=0.1)
    manager, host = asyncio.run(attached(inbox))
    loop = asyncio.new_event_loop()

    async def call() -> None:
        host.turn("tea")
        await asyncio.sleep(0.01)

    try:
        loop.run_until_complete(call())
        asyncio.run(manager.flush())
        assert [numbers for numbers, _ in inbox.batches] == [[0, 1]]
        loop.run_until_complete(asyncio.sleep(0.2))
        assert [numbers for numbers, _ in inbox.batches] == [[0, 1]]
        assert len(manager.extraction_log.of(Failed)) == len(manager.extraction_log.of(Saved)) == 1
    finally:
        loop.close()


def test_a_flush_of_another_thread_waits_instead_of_saving_twice() -> None:
    inbox = Inbox(seconds=0.2)
    manager, host = asyncio.run(attached(inbox))
    begun = threading.Event()

    async def call() -> None:
        host.turn("tea")
        await asyncio.sleep(0.01)
        begun.set()
        await asyncio.sleep(0.4)

    thread = threading.Thread(target=lambda: asyncio.run(call()))
    thread.start()
    assert begun.wait(5)
    asyncio.run(manager.flush())
    assert inbox.calls == [[0, 1]]
    assert manager.extraction_status()[0].saved == 1
    thread.join()
    assert inbox.calls == [[0, 1]]


def test_agents_in_threads_of_their_own_share_a_manager() -> None:
    inbox = Inbox()
    manager = MemoryManager([inbox])
    hosts = [Host() for _ in range(8)]

    async def talk(host: Host) -> None:
        await manager.init_agent(host)
        for turn in range(20):
            host.turn(f"tea {turn}")
            await asyncio.sleep(0)

    threads = [threading.Thread(target=lambda host=host: asyncio.run(talk(host))) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(manager.flush())
    assert sorted(number for numbers, _ in inbox.batches for number in numbers) == sorted(list(range(40)) * 8)
    assert all(status.pending == () for status in manager.extraction_status())


def test_agents_may_be_attached_in_one_thread_while_another_flushes() -> None:
    manager = MemoryManager([Inbox()])
    hosts = [Host() for _ in range(400)]
    failed: list[BaseException] = []

    async def attach() -> None:
        for host in hosts:
            await manager.init_agent(host)

    def run() -> None:
        try:
            asyncio.run(attach())
        except BaseException as error:
            failed.append(error)

    async def flush() -> None:
        while any(thread.is_alive() for thread in threads):
            await manager.flush()

    threads = [threading.Thread(target=run) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        asyncio.run(flush())
    finally:
        sys.setswitchinterval(interval)
        for thread in threads:
            thread.join()
    assert failed == []
    assert [status.agent for status in manager.extraction_status()] == list(range(1, 401))
    assert {len(host.hooks) for host in hosts} == {3}


async def test_what_one_agent_owes_is_saved_without_waiting_for_another_or_splitting_its_turn() -> None:
    model = FaultyModel(ScriptedModel(fact_of_each_line), ["ok", "hang"])
    home = facts("home", extractor=ModelExtractor(model))
    manager = MemoryManager([home])
    mine, open_turn, hanging = Host(), Host(), Host()
    for host in (mine, open_turn, hanging):
        await manager.init_agent(host)
    mine.turn("tea")
    await settle()
    hanging.turn("bread")
    await settle()
    open_turn.add(user("milk"))
    mine.add(user("jam"))
    await asyncio.wait_for(manager.flush_agent(mine), 5)
    assert home.writes == [("tea", None), ("jam", None)]
    assert [(status.pending, status.saving) for status in manager.extraction_status()] == [
        ((), ()),
        ((0,), ()),
        ((0, 1), (0, 1)),
    ]
    manager.cut_off_saves()
    await manager.flush()
    assert sorted(content for content, _ in home.writes) == ["bread", "jam", "milk", "tea"]


def test_accepted_writes_of_a_running_loop_are_left_alone_by_the_end_of_another_agents_call() -> None:
    home = AddStore("home", seconds=2.0)
    manager = MemoryManager([home], add_tool_config={"wait_for_writes": False}, search_tool_config=False)
    begun = threading.Event()

    async def other() -> None:
        manager.accept_write("slow", ["home"])
        await asyncio.sleep(0.05)  # by then it waits for the store
        begun.set()
        await manager.flush()

    async def mine() -> list[Any]:
        manager.accept_write("mine", ["home"])
        home.seconds = 0
        await manager.flush_agent(Host())
        return list(home.writes)

    thread = threading.Thread(target=lambda: asyncio.run(other()))
    thread.start()
    assert begun.wait(5)
    assert asyncio.run(mine()) == [("mine", None)]
    thread.join()
    assert home.writes == [("mine", None), ("slow", None)]


def test_b25_saves_that_wait_for_each_other_work_on_one_loop_after_another() -> None:
    home = facts("home", seconds=0.01)
    manager, host = asyncio.run(attached(home))

    async def call(*words: str) -> None:
        for each in words:
            host.turn(each)
        await manager.flush()

    asyncio.run(call("tea", "milk"))
    asyncio.run(call("bread", "jam"))
    assert sorted(content for content, _ in home.writes) == ["bread", "jam", "milk", "tea"]
    assert manager.extraction_log.of(Failed) == []


async def test_b24_in_a_running_loop_extraction_is_awaited_and_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        home = facts("home")
        manager, host = await attached(home)
        host.turn("tea")
        await manager.flush()
        await manager.retry_unreadable()
    assert home.writes == [("tea", None)]


def test_b22_metadata_that_is_no_object_leaves_a_store_that_reads(tmp_path: Any) -> None:
    class Careless:
        async def extract(self, messages: list[Any], context: Any = None) -> list[Any]:
            from memwb.memory import ExtractionResult

            return [ExtractionResult("likes tea", "a note")]  # type: ignore[arg-type]

    model = ScriptedModel(['[{"content": "owns a cat", "metadata": "a note"}]'])

    async def call() -> list[str]:
        for extractor in (Careless(), ModelExtractor(model)):
            store = TestMemoryStore(name="notes", path=tmp_path / "notes.json", extraction={"extractor": extractor})
            manager, host = await attached(store)
            host.add(user("tea"))
            await manager.flush()
            assert manager.extraction_status()[0].pending == ()
        return [entry.content for entry in await store.search("likes owns tea cat")]

    assert asyncio.run(call()) == ["owns a cat", "likes tea"]


async def test_b42_a_fact_that_the_store_holds_is_told_as_deduplicated(tmp_path: Any) -> None:
    model = ScriptedModel(lambda *_: [{"content": "likes tea", "metadata": {"n": 1}}])
    store = TestMemoryStore(name="notes", path=tmp_path / "notes.json", extraction={"extractor": ModelExtractor(model)})
    manager, host = await attached(store)
    for words in ("tea", "more tea"):
        host.add(user(words))
        await manager.flush()
    told = [(event.written, event.deduplicated) for event in manager.extraction_log.of(Saved)]
    assert told == [(("likes tea",), ()), ((), ("likes tea",))]
    assert await store.count() == 1


async def test_b03_flush_waits_for_accepted_writes_and_saves_that_begin_because_of_each_other() -> None:
    inbox, home = Inbox(seconds=0.01), AddStore("home", seconds=0.01)
    manager, host = await attached(inbox, home, add_tool_config={"wait_for_writes": False}, search_tool_config=False)
    rounds = iter(range(2))

    def again(event: object) -> None:
        if isinstance(event, Saved) and next(rounds, None) is not None:
            manager.accept_write("tea", ["home"])
            host.turn("milk")

    manager.extraction_log.subscribe(again)
    host.turn("bread")
    await manager.flush()
    assert (len(inbox.batches), len(home.writes)) == (3, 2)
    assert [status.pending for status in manager.extraction_status()] == [()]


async def test_b03_an_accepted_write_that_fails_does_not_hold_up_a_flush_beside_extraction() -> None:
    inbox, home = Inbox(), AddStore("home", refuses=["tea"])
    manager, host = await attached(inbox, home, add_tool_config={"wait_for_writes": False}, search_tool_config=False)
    manager.accept_write("tea", ["home"])
    host.turn("milk")
    await asyncio.wait_for(manager.flush(), 10)
    assert (inbox.calls, home.writes) == ([[0, 1]], [])
    home.refuses = []
    await manager.flush()
    assert home.writes == [("tea", None)]


def test_b03_an_accepted_write_survives_the_end_of_its_loop_beside_extraction() -> None:
    inbox, home = Inbox(seconds=0.3), AddStore("home", seconds=0.3)
    manager = MemoryManager([inbox, home], add_tool_config={"wait_for_writes": False}, search_tool_config=False)
    host = Host()

    async def call() -> None:
        await manager.init_agent(host)
        assert await manager.tools[0]({"entries": ["tea"]}) == {"accepted": 1}
        host.turn("milk")
        await asyncio.sleep(0.01)

    asyncio.run(call())
    assert (inbox.batches, home.writes) == ([], [])
    asyncio.run(manager.flush())
    assert ([numbers for numbers, _ in inbox.batches], home.writes) == ([[0, 1]], [("tea", None)])
