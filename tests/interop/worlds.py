"""Random stores, settings and conversations, drawn from one seeded generator, for both sides of a comparison."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from memwb.memory import MemoryEntry, Message
from memwb.stores import TestMemoryStore
from tests.memory.stores import BareStore, FailingStore, WordStore

LEFT_UNASKED = [
    pytest.mark.filterwarnings("ignore:coroutine 'Echo.search' was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <coroutine object Echo.search:pytest.PytestUnraisableExceptionWarning"
    ),
]
"""Marks for tests of the SDK's manager: where one store fails before it is awaited, it never awaits the others."""

WORDS = (
    "tea coffee milk the a is cane walk latex mat yoga morning İzmir Straße café 東京 C++ don't 42 "
    "<b> </entry> & \"quoted\" 'single' $5 {name} %s \\1 line\nbreak tab\tstop \x1b[31m para\u2028graph 🍵"
).split(" ")
NAMES = ["home", "work", 'n" evil="1', "<b>", "a & b", "日本", "it's", "x y"]


def text(rng: random.Random, most: int = 6) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))


def entries(rng: random.Random, most: int = 8) -> list[MemoryEntry]:
    metadata: list[Any] = [None, {}, {"source": "<i>"}, {"n": 1, "nested": {"a": [1, None]}}]
    return [MemoryEntry(text(rng), None, rng.choice(metadata)) for _ in range(rng.randint(0, most))]


class Generous(BareStore):
    """Returns all that it holds, however little was asked for, under a store name of its own."""

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        return [MemoryEntry(entry.content, "another name", entry.metadata) for entry in self.found]


class Slow(WordStore):
    """Lets the stores registered after it answer first."""

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return await super().search(query, options)


class Echo(BareStore):
    """Returns the very query, so that a comparison sees it."""

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        return [MemoryEntry(f"asked: {query!r} for {options}")]


class Forgetful(BareStore):
    """Forgets to return anything."""

    async def search(self, query: str, options: Any = None) -> Any:
        return None


class OldSignature(BareStore):
    """Cannot be called as a manager calls it."""

    async def search(self, query: str) -> Any:  # type: ignore[override]
        return []


class Blocking(BareStore):
    """Answers at once, with nothing to await."""

    def search(self, query: str, options: Any = None) -> Any:
        return []


def store(rng: random.Random, name: str) -> Any:
    """Return a store that only reads, so that both sides can be given the very same one."""
    found = entries(rng)
    settings = {"max_search_results": rng.choice([None, 1, 2, 9]), "description": rng.choice([None, "About tea"])}
    kind = rng.choices(
        ["words", "slow", "bare", "generous", "echo", "memwb", "failing", "cancelled", "empty", "broken"],
        [6, 3, 3, 1, 3, 4, 1, 0.3, 1, 0.4],
    )[0]
    if kind == "memwb":
        return TestMemoryStore.from_records(
            [{"content": entry.content, "metadata": entry.metadata} for entry in found if entry.content.strip()],
            name=name,
        )
    if kind == "failing":
        return FailingStore(name, rng.choice([ConnectionError("no route"), ValueError("bad"), KeyError("k")]))
    if kind == "cancelled":
        return FailingStore(name, asyncio.CancelledError())
    classes: dict[str, Any] = {"words": WordStore, "slow": Slow, "bare": BareStore, "generous": Generous, "echo": Echo}
    if kind == "broken":
        return rng.choice([Forgetful, OldSignature, Blocking])(name, *found, **settings)
    return classes.get(kind, WordStore)(name, *([] if kind == "empty" else found), **settings)


def stores(rng: random.Random) -> list[Any]:
    return [store(rng, name) for name in rng.sample(NAMES, rng.choices([1, 2, 3], [5, 3, 2])[0])]


# Callbacks. Each works on the attributes that the contexts of both sides have.


def last_two(context: Any) -> str:
    return "\n".join(
        block["text"] for message in context.messages[-2:] for block in message["content"] if "text" in block
    )


def constant(context: Any) -> str:
    return "tea and latex"


def padded(context: Any) -> str:
    return "  tea\n"


def nothing(context: Any) -> None:
    return None


def blank(context: Any) -> str:
    return " \n\t"


def empty(context: Any) -> str:
    return ""


def number(context: Any) -> Any:
    return 5


def raises(context: Any) -> Any:
    raise LookupError("lost")


def long_conversation(context: Any) -> Any:
    return len(context.messages) > 2 and len(context.messages)


def by_state(context: Any) -> Any:
    return context.state.get("memories")


def ends_with_a_tool(context: Any) -> bool:
    return any("toolResult" in block for block in context.messages[-1]["content"]) if context.messages else False


def knows_its_agent(context: Any) -> bool:
    return context.agent.name == "oracle"


def plain_lines(context: Any) -> str:
    return "\n".join(f"{entry.store_name}: {entry.content} {entry.metadata}" for entry in context.entries)


def leading_line(context: Any) -> str:
    return "\nKnown:\n" + "\n".join(entry.content for entry in context.entries)


QUERIES: list[Callable[[Any], Any]] = [last_two, constant, padded, nothing, blank, empty, number, raises]
FORMATS: list[Callable[[Any], Any]] = [plain_lines, leading_line, nothing, blank, empty, raises]
PREDICATES: list[Callable[[Any], Any]] = [
    long_conversation,
    by_state,
    ends_with_a_tool,
    knows_its_agent,
    nothing,
    raises,
]


def injection(rng: random.Random) -> Any:
    """Return an injection setting that both sides take: True, False or a config."""
    if rng.random() < 0.12:
        return rng.choice([True, True, True, False, {}])
    config: dict[str, Any] = {}
    if rng.random() < 0.7:
        config["max_entries"] = rng.choice([1, 2, 3, 4, 7, 20, None])
    if rng.random() < 0.75:
        config["trigger"] = rng.choice(["everyTurn", "everyTurn", "userTurn", None, rng.choice(PREDICATES)])
    if rng.random() < 0.4:
        config["query"] = rng.choice([*QUERIES, last_two, constant])
    if rng.random() < 0.3:
        config["format"] = rng.choice([*FORMATS, plain_lines, leading_line])
    return config


# Conversations


def user_message(rng: random.Random) -> Message:
    blocks: list[dict[str, Any]] = [{"text": text(rng, 4)} for _ in range(rng.choices([0, 1, 2], [1, 8, 2])[0])]
    extra = [
        {"text": rng.choice(["", "  ", "\n"])},
        {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}},
        {"document": {"format": "txt", "name": "notes", "source": {"bytes": b"tea"}}},
        {"cachePoint": {"type": "default"}},
    ]
    if rng.random() < 0.2:
        blocks.insert(rng.randint(0, len(blocks)), rng.choice(extra))
    message: Message = {"role": "user", "content": blocks}
    if rng.random() < 0.2:
        message["metadata"] = {"custom": {"tea": 1}}
    return message


def assistant_message(rng: random.Random) -> Message:
    blocks: list[dict[str, Any]] = [{"text": text(rng, 4)} for _ in range(rng.choices([1, 2], [4, 1])[0])]
    if rng.random() < 0.1:
        blocks.insert(0, {"reasoningContent": {"reasoningText": {"text": "tea?", "signature": "s"}}})
    return {"role": "assistant", "content": blocks}


def tool_round(rng: random.Random, id: str) -> list[Message]:
    call = {"toolUse": {"toolUseId": id, "name": "look", "input": {"for": "tea"}}}
    before = [{"text": text(rng, 3)}] if rng.random() < 0.5 else []
    result = {"toolUseId": id, "status": "success", "content": [{"text": text(rng, 3)}]}
    after = [{"text": text(rng, 3)}] if rng.random() < 0.15 else []
    return [
        {"role": "assistant", "content": [*before, call]},
        {"role": "user", "content": [{"toolResult": result}, *after]},
    ]


def conversation(rng: random.Random) -> list[Message]:
    """Return a conversation that ends with a user's words, a tool's result or, now and then, with the assistant."""
    messages: list[Message] = []
    for turn in range(rng.choices([0, 1, 2, 3], [1, 5, 4, 3])[0]):
        messages.append(user_message(rng))
        for step in range(rng.choices([0, 1, 2], [6, 3, 1])[0]):
            messages += tool_round(rng, f"call-{turn}-{step}")
        messages.append(assistant_message(rng))
    ending = rng.random()
    if ending < 0.7:
        messages.append(user_message(rng))
    elif ending < 0.9:
        messages += [user_message(rng), *tool_round(rng, "call-last")]
    return messages
