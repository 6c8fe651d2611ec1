"""memwb extracts as the SDK does: the same messages, triggers, failures and flushes lead to the same store calls.

Each case drives both sides through the same steps: messages, ends of invocations, flushes, and gates that let slow
stores and models go on. Compared is every call of every store, with its messages and sequence numbers, in each store's
order: what two stores do between two steps has no order.
Where memwb departs on purpose, a test of its own shows what each side does.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from itertools import groupby
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import memory as sdk
from strands.hooks.events import AfterInvocationEvent, MessageAddedEvent

import memwb.memory as ours
from tests.interop import worlds
from tests.interop.capture import StreamingModel
from tests.memory.extraction.host import Host
from tests.memory.stores import AddStore, BareStore, user

SEEDS = range(8)
CONVERSATIONS = 40  # a seed


async def quiet() -> None:
    """Let everything happen that waits for no gate."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    while ready:  # noqa: ASYNC110 - no event tells that a loop has nothing to do
        await asyncio.sleep(0)


class Gate:
    """Lets calls through, or holds them until it is opened."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []
        self.closed = False

    async def passed(self) -> None:
        if self.closed:
            self.waiting.append(asyncio.get_running_loop().create_future())
            await self.waiting[-1]

    def release(self) -> None:
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)


def answered(asked: str) -> str:
    """One fact for each of the user's lines in the transcript, which follows the first empty line."""
    transcript = asked.partition("\n\n")[2]
    facts = dict.fromkeys(line[6:].strip() for line in transcript.splitlines() if line.startswith("user: "))
    return json.dumps([{"content": fact, "metadata": {"n": 1}} for fact in facts if fact])


class Answering:
    """The model of both sides: the SDK streams from it, memwb asks it for a text."""

    def __init__(self, answer: Callable[[str], str] = answered, faults: list[bool] | None = None) -> None:
        self.answer, self.faults = answer, faults or []
        self.gate = Gate()
        self.systems: list[str] = []

    async def complete(self, system: str, messages: list[Any]) -> str:
        self.systems.append(system)
        await self.gate.passed()
        if self.faults and self.faults.pop(0):
            raise ConnectionError("the model is down")
        return self.answer(messages[0]["content"][0]["text"])


class Streaming(StreamingModel):
    """An :class:`Answering` as a model of the SDK."""

    def __init__(self, model: Answering) -> None:
        self.model = model

    async def stream(self, messages: Any, tool_specs: Any = None, system: Any = None, **kw: Any) -> AsyncIterator[Any]:
        text = await self.model.complete(system or "", messages)
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


class SdkHost(Host):
    """The same agent with the SDK's events."""

    def fire(self, event: Any) -> None:
        hooks = [hook for hook in self.hooks if hook[1] is type(event)]
        if event.should_reverse_callbacks:
            hooks.reverse()
        for callback, _, _ in sorted(hooks, key=lambda hook: hook[2]):
            callback(event)

    def add(self, *messages: Any) -> None:
        for message in messages:
            self.messages.append(message)
            self.fire(MessageAddedEvent(agent=self, message=message))  # type: ignore[arg-type]

    def end(self) -> None:
        self.fire(AfterInvocationEvent(agent=self))  # type: ignore[arg-type]


class Noting(BareStore):
    """Notes each call, and fails or waits as it is told."""

    def __init__(self, name: str, calls: list[Any], faults: list[bool], extraction: Any) -> None:
        super().__init__(name, writable=True, extraction=extraction)
        self.calls, self.faults, self.gate = calls, faults, Gate()

    async def noted(self, *call: Any) -> None:
        self.calls.append((self.name, *call))
        await self.gate.passed()
        if self.faults and self.faults.pop(0):
            raise OSError("the store is down")
        self.calls.append((self.name, "done"))


class TakesMessages(Noting):
    async def add_messages(self, messages: list[Any], context: Any = None) -> None:
        await self.noted("messages", messages, context.sequence_numbers)


class TakesFacts(Noting):
    async def add(self, content: str, metadata: Any = None) -> None:
        await self.noted("fact", content, metadata)


class Own:
    """An extractor that is no side's own; it may fail."""

    def __init__(self, side: Any, faults: list[bool]) -> None:
        self.side, self.faults = side, faults

    async def extract(self, messages: list[Any], context: Any = None) -> list[Any]:
        if self.faults and self.faults.pop(0):
            raise LookupError("the extractor failed")
        return [self.side.ExtractionResult(f"{message['role']} {len(message['content'])}") for message in messages]


def made_early(side: Any) -> Any:
    """Return a trigger that fires at each message, as an instance of the side's trigger class."""

    class AtOnce(side.ExtractionTrigger):  # type: ignore[misc, name-defined]
        name = "at once"

        def attach(self, context: Any) -> None:
            event = MessageAddedEvent if side is sdk else ours.MessageAdded
            context.agent.add_hook(lambda event: context.fire(), event, order=200)

    return AtOnce()


def by_step_and_store(calls: list[Any]) -> list[Any]:
    """Return the calls between two marks sorted by store, each store's own order kept."""
    groups = [list(group) for _, group in groupby(calls, key=lambda call: isinstance(call, str))]
    return [call for group in groups for call in sorted(group, key=lambda call: call[0])]


class Side:
    """One of the two: the same seed gives the same stores, settings and steps."""

    def __init__(self, seed: str, side: Any) -> None:
        self.rng, self.side = random.Random(seed), side
        self.calls: list[Any] = []
        self.models: list[Answering] = []
        names = self.rng.sample(worlds.NAMES, self.rng.choice([1, 1, 2, 3]))
        # Where one of several stores fails while another saves, the SDK loses messages; a test below shows it.
        self.faulty = len(names) == 1 or self.rng.random() < 0.5
        self.slow = len(names) == 1 or not self.faulty
        self.default = Answering(faults=self.faults())
        self.stores = [self.store(name) for name in names]
        model = Streaming(self.default) if side is sdk else self.default
        self.host = (SdkHost if side is sdk else Host)(model, aux_model=model)
        self.manager = side.MemoryManager(self.stores, injection=False)
        self.flushes: list[asyncio.Task[None]] = []

    def faults(self) -> list[bool]:
        kind = self.rng.choice(["none", "none", "some", "many first"] if self.faulty else ["none"])
        if kind == "many first":
            return [True] * self.rng.randint(8, 18)
        return [] if kind == "none" else [self.rng.random() < 0.4 for _ in range(30)]

    def store(self, name: str) -> Any:
        config: dict[str, Any] = {}
        if self.rng.random() < 0.85:
            config["trigger"] = self.trigger()
        if self.rng.random() < 0.4:
            exclude = self.rng.choice([[], ["text"], ["toolUse", "image"], ["reasoningContent", "toolResult"]])
            config["filter"] = self.side.MemoryMessageFilter(exclude=exclude)
        if self.rng.random() < 0.55:
            faults = self.faults()
            return TakesMessages(name, self.calls, faults, config or self.rng.choice([True, {}]))
        kind = self.rng.choice(["default", "own model", "own"])
        if kind == "own model":
            model = Answering(faults=self.faults())
            self.models.append(model)
            given = Streaming(model) if self.side is sdk else model
            config["extractor"] = self.side.ModelExtractor(given, system_prompt=self.rng.choice([None, "Only tea."]))
        elif kind == "own":
            config["extractor"] = Own(self.side, self.faults())
        return TakesFacts(name, self.calls, [], config or True)

    def trigger(self) -> Any:
        one: Callable[[], Any] = lambda: self.rng.choice(  # noqa: E731
            [
                self.side.InvocationTrigger(),
                self.side.IntervalTrigger(turns=self.rng.choice([1, 2, 3])),
                made_early(self.side),
            ]
        )
        return one() if self.rng.random() < 0.7 else [one() for _ in range(self.rng.choice([1, 2]))]

    async def run(self) -> list[Any]:
        await self.manager.init_agent(self.host)
        for _ in range(self.rng.randint(5, 40)):
            self.step()
            await quiet()
            self.calls.append("step")
        for gate in self.gates():
            gate.closed = False
        for _ in range(3):
            flush = asyncio.ensure_future(self.manager.flush())
            while not flush.done():
                for gate in self.gates():
                    gate.release()
                await quiet()
            self.calls.append("flushed")
        await asyncio.gather(*self.flushes)
        return by_step_and_store(self.calls)

    def gates(self) -> list[Gate]:
        return [holder.gate for holder in (self.default, *self.models, *self.stores)]

    def step(self) -> None:
        kind = self.rng.choices(["turn", "message", "end", "gate", "release", "flush"], [10, 3, 2, 3, 4, 1])[0]
        gate = self.rng.choice(self.gates())
        messages = worlds.conversation(self.rng)[:6]
        if kind == "turn":
            self.host.add(*messages)
            self.host.end()
        elif kind == "message":
            self.host.add(*messages[:1])
        elif kind == "end":
            self.host.end()
        elif kind == "gate":
            gate.closed = self.slow and not gate.closed
        elif kind == "release":
            gate.release()
        else:
            self.flushes.append(asyncio.ensure_future(self.manager.flush()))


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_same_steps_lead_to_the_same_store_calls_with_the_same_numbers(seed: int) -> None:
    happened: set[str] = set()
    for number in range(CONVERSATIONS):
        theirs = await Side(f"{seed} {number}", sdk).run()
        side = Side(f"{seed} {number}", ours)
        assert await side.run() == theirs, (seed, number)
        happened |= {type(event).__name__ for event in side.manager.extraction_log}
    assert happened >= {"Buffered", "Filtered", "Fired", "Skipped", "Asked", "Proposed", "Saved", "Failed", "Flushed"}


# What memwb does otherwise, on purpose: (what the SDK's store got, what memwb's got).


async def both(make_stores: Callable[[Any], list[Any]], act: Callable[..., Any], model: Any = None) -> tuple[Any, Any]:
    """Do the same on both sides, ``act(manager, host, stores)``, and return what each gave."""
    given = []
    for side, host_type in ((sdk, SdkHost), (ours, Host)):
        made = Streaming(model()) if side is sdk and model else model() if model else None
        stores, host = make_stores(side), host_type(made, aux_model=made)
        manager = side.MemoryManager(stores, injection=False)
        await manager.init_agent(host)
        given.append(await act(manager, host, stores))
    return given[0], given[1]


def facts_store(side: Any, **attributes: Any) -> AddStore:
    return AddStore("facts", extraction={"trigger": side.InvocationTrigger()}, **attributes)


async def test_a_retry_writes_only_what_failed_where_the_sdk_asks_again_and_doubles_the_rest() -> None:
    wordings = ["likes tea", "enjoys tea", "is fond of tea"]

    def model() -> Answering:
        left = list(wordings)
        return Answering(lambda asked: json.dumps([{"content": left.pop(0)}, {"content": "owns a cat"}]))

    async def act(manager: Any, host: Host, stores: list[Any]) -> Any:
        stores[0].refuses = ["owns a cat"]
        host.turn("I like tea and own a cat")
        await manager.flush()
        stores[0].refuses = []
        await manager.flush()
        return [content for content, _ in stores[0].writes]

    theirs, here = await both(lambda side: [facts_store(side)], act, model)
    assert theirs == ["likes tea", *theirs[1:-2], theirs[-2], "owns a cat"]
    assert len(theirs) > 2
    assert here == ["likes tea", "owns a cat"]


async def test_an_unreadable_answer_keeps_its_messages_where_the_sdk_drops_them() -> None:
    async def act(manager: Any, host: Host, stores: list[Any]) -> Any:
        host.turn("I like tea")
        await manager.flush()
        if isinstance(manager, ours.MemoryManager):
            await manager.retry_unreadable()
        await manager.flush()
        return [content for content, _ in stores[0].writes]

    def model() -> Answering:
        left = ["I would rather not.", '[{"content": "likes tea"}]']
        return Answering(lambda asked: left.pop(0))

    assert await both(lambda side: [facts_store(side)], act, model) == ([], ["likes tea"])


async def test_brackets_in_prose_do_not_spoil_an_answer_and_metadata_that_is_no_object_goes() -> None:
    async def act(manager: Any, host: Host, stores: list[Any]) -> Any:
        host.turn("I like tea")
        await manager.flush()
        return stores[0].writes

    def model(answer: str) -> Callable[[], Answering]:
        return lambda: Answering(lambda asked: answer)

    prose = model('From [1]: [{"content": "likes tea"}]')
    assert await both(lambda side: [facts_store(side)], act, prose) == ([], [("likes tea", None)])
    odd = model('[{"content": "likes tea", "metadata": "today"}, {"content": "likes tea"}]')
    assert await both(lambda side: [facts_store(side)], act, odd) == (
        [("likes tea", "today"), ("likes tea", None)],
        [("likes tea", None)],
    )


def test_a_save_that_ended_with_its_loop_is_made_later_where_the_sdk_counts_it_as_done() -> None:
    class Slow(TakesMessages):
        async def add_messages(self, messages: list[Any], context: Any = None) -> None:
            await asyncio.sleep(0.1)
            await super().add_messages(messages, context)

    given = []
    for side, host_type in ((sdk, SdkHost), (ours, Host)):
        store, host = Slow("slow", [], [], {"trigger": side.InvocationTrigger()}), host_type()
        manager = side.MemoryManager([store], injection=False)

        async def call(manager: Any = manager, host: Host = host) -> None:
            await manager.init_agent(host)
            host.turn("I like tea")
            await asyncio.sleep(0.01)

        async def flush(manager: Any = manager) -> None:
            await manager.flush()

        asyncio.run(call())
        asyncio.run(flush())
        given.append([call[3] for call in store.calls if call[1] == "messages"])
    assert given == [[], [[0, 1]]]


async def test_messages_of_a_failed_save_stay_while_another_store_saves_where_the_sdk_lets_go_of_them() -> None:
    async def act(manager: Any, host: Host, stores: list[Any]) -> Any:
        failing = stores[1]
        failing.gate.closed = True
        host.turn("I like tea")
        await quiet()  # one store has saved, the other is about to fail
        failing.gate.closed = False
        failing.gate.release()
        await manager.flush()
        return [call[3] for call in failing.calls if call[0] == "failing" and call[1] == "messages"]

    def stores(side: Any) -> list[Any]:
        calls: list[Any] = []
        config = {"trigger": side.InvocationTrigger()}
        return [TakesMessages("well", calls, [], config), TakesMessages("failing", calls, [True], config)]

    assert await both(stores, act) == ([[0, 1]], [[0, 1], [0, 1]])


async def test_every_agent_of_a_manager_is_flushed_where_the_sdk_knows_the_last_one_alone() -> None:
    given = []
    for side, host_type in ((sdk, SdkHost), (ours, Host)):
        store = TakesMessages("inbox", [], [], True)
        manager, hosts = side.MemoryManager([store], injection=False), [host_type(), host_type()]
        for host in hosts:
            await manager.init_agent(host)
            host.add(user("I like tea"))
        await manager.flush()
        given.append(len([call for call in store.calls if call[1] == "messages"]))
    assert given == [1, 2]


async def test_a_store_that_raises_cancelled_error_has_failed_where_the_sdk_loses_the_messages() -> None:
    class Cancelling(TakesMessages):
        async def add_messages(self, messages: list[Any], context: Any = None) -> None:
            if not self.calls:
                self.calls.append("cancelled")
                raise asyncio.CancelledError
            await super().add_messages(messages, context)

    async def act(manager: Any, host: Host, stores: list[Any]) -> Any:
        host.turn("I like tea")
        await manager.flush()
        await manager.flush()
        return [call[3] for call in stores[0].calls if call[1] == "messages"]

    def stores(side: Any) -> list[Any]:
        return [Cancelling("inbox", [], [], {"trigger": side.IntervalTrigger(9)})]

    assert await both(stores, act) == ([], [[0, 1]])


async def test_what_was_injected_is_not_extracted_where_the_sdk_takes_it_for_the_users_words() -> None:
    class Remembering(TakesMessages):
        async def search(self, query: str, options: Any = None) -> Any:
            return [ours.MemoryEntry("likes tea")]

    async def act(manager: Any, host: Host, stores: list[Any]) -> Any:
        if isinstance(manager, ours.MemoryManager):
            host.add(*await manager.inject([user("tea?")], {}))
        else:
            block = {"text": '<memory>\n<entry source="inbox">likes tea</entry>\n</memory>'}
            host.add({"role": "user", "content": [block, {"text": "tea?"}]})
        await manager.flush()
        return [len(call[2][0]["content"]) for call in stores[0].calls if call[1] == "messages"]

    assert await both(lambda side: [Remembering("inbox", [], [], True)], act) == ([2], [1])


async def test_the_format_follows_a_prompt_of_ones_own_as_it_does_in_newer_releases_of_the_sdk() -> None:
    model = Answering()
    store = AddStore("facts", extraction={"extractor": ours.ModelExtractor(model, system_prompt="Only drinks.")})
    manager, host = ours.MemoryManager([store]), Host()
    await manager.init_agent(host)
    host.turn("I like tea")
    await manager.flush()
    assert model.systems[0].startswith("Only drinks.\n\n")
    assert "JSON array" in model.systems[0]


async def test_a_store_cannot_change_the_agents_history_by_what_it_is_given() -> None:
    class Rude(TakesMessages):
        async def add_messages(self, messages: list[Any], context: Any = None) -> None:
            messages[0]["content"][0]["text"] = "changed"

    async def act(manager: Any, host: Host, stores: list[Any]) -> Any:
        host.add(user("tea"))
        await manager.flush()
        return host.messages[0]["content"][0]["text"]

    assert await both(lambda side: [Rude("inbox", [], [], True)], act) == ("changed", "tea")
