"""An agent for the tests of extraction: it holds hooks and calls them as the SDK does, and stores that take notes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from memwb.memory import (
    AfterInvocation,
    ExtractionLog,
    InvocationTrigger,
    MemoryManager,
    Message,
    MessageAdded,
    ModelExtractor,
)
from memwb.testing import ScriptedModel
from tests.memory.stores import AddStore, BareStore, assistant, user


class Host:
    """An agent without a model call: messages are added and invocations end when a test says so."""

    def __init__(self, model: Any = None, **attributes: Any) -> None:
        self.messages: list[Message] = []
        self.model, self.aux_model = model, None
        self.hooks: list[tuple[Callable[[Any], Any], type, float]] = []
        for name, value in attributes.items():
            setattr(self, name, value)

    def add_hook(self, callback: Callable[[Any], Any], event_type: type, order: float = 0) -> None:
        self.hooks.append((callback, event_type, order))

    def fire(self, event: Any) -> None:
        hooks = [hook for hook in self.hooks if hook[1] is type(event)]
        if isinstance(event, AfterInvocation):  # as in the SDK
            hooks.reverse()
        for callback, _, _ in sorted(hooks, key=lambda hook: hook[2]):
            callback(event)

    def add(self, *messages: Message) -> None:
        for message in messages:
            self.messages.append(message)
            self.fire(MessageAdded(self, message))

    def end(self) -> None:
        self.fire(AfterInvocation(self))

    def turn(self, words: str, answer: str = "ok") -> None:
        """One invocation: the user's words and an answer."""
        self.add(user(words), assistant(answer))
        self.end()


class Inbox(BareStore):
    """Takes messages: notes batches and their numbers; ``faults`` are raised, one a call, None for none."""

    def __init__(
        self, name: str = "inbox", faults: Sequence[BaseException | None] = (), seconds: float = 0, **settings: Any
    ) -> None:
        given = {"writable": True, "extraction": {"trigger": InvocationTrigger()}, **settings}
        super().__init__(name, **given)
        self.faults, self.seconds = list(faults), seconds
        self.calls: list[list[int]] = []
        self.batches: list[tuple[list[int], list[Message]]] = []

    async def add_messages(self, messages: list[Message], context: Any = None) -> None:
        self.calls.append(context.sequence_numbers)
        if self.seconds:
            await asyncio.sleep(self.seconds)
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        self.batches.append((context.sequence_numbers, messages))


def fact_of_each_line(system: str, messages: list[Message]) -> str:
    """Answer with one fact for each of the user's lines in the transcript."""
    lines = messages[0]["content"][0]["text"].splitlines()
    return json.dumps([{"content": line[6:]} for line in lines if line.startswith("user: ")])


def facts(name: str = "facts", *, extractor: Any = None, trigger: Any = None, **settings: Any) -> AddStore:
    """A store that takes facts after each invocation, by default one for each of the user's lines."""
    extractor = extractor or ModelExtractor(ScriptedModel(fact_of_each_line))
    return AddStore(name, extraction={"trigger": trigger or InvocationTrigger(), "extractor": extractor}, **settings)


async def attached(*stores: Any, model: Any = None, **settings: Any) -> tuple[MemoryManager, Host]:
    """A manager over the stores, and an agent with it."""
    manager, host = MemoryManager(list(stores), **settings), Host(model)
    await manager.init_agent(host)
    return manager, host


def told(log: ExtractionLog) -> list[str]:
    """The log's events as a reader sees them."""
    return [repr(event) for event in log]


async def settle() -> None:
    """Let everything that needs no time happen."""
    for _ in range(20):
        await asyncio.sleep(0)
