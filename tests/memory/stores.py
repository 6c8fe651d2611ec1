"""Small stores for the tests: each is the least that shows one behaviour, and none touches a file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from memwb.memory import MemoryEntry, Message
from memwb.memory.types import identified
from memwb.ranking import overlap, tokenize


class BareStore:
    """The five attributes and a search that finds what it was given, in that order, whatever the query is."""

    def __init__(self, name: str, *found: str | MemoryEntry, **settings: Any) -> None:
        self.name = name
        self.description: str | None = None
        self.max_search_results: int | None = None
        self.writable = False
        self.extraction: Any = None
        self.found = [MemoryEntry(item) if isinstance(item, str) else item for item in found]
        self.asked: list[tuple[str, Any]] = []
        for key, value in settings.items():
            setattr(self, key, value)

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        self.asked.append((query, options))
        return self.found[: options["max_search_results"]]


class WordStore(BareStore):
    """Ranks by shared words, tells ids (``a``, ``b``, ... in the order given) and takes its own tokenizer's words."""

    tokenizer = staticmethod(tokenize)

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        self.asked.append((query, options))
        return self._ranked(query)[: options["max_search_results"]]

    def _ranked(self, query: str) -> list[MemoryEntry]:
        words = tokenize(query)
        scored = []
        for at, entry in enumerate(self.found):
            if score := overlap(words, tokenize(entry.content)):
                metadata = {**(entry.metadata or {}), "_relevanceScore": score}
                named = identified(MemoryEntry(entry.content, metadata=metadata), chr(ord("a") + at))
                scored.append((-score, at, named))
        return [entry for _, _, entry in sorted(scored, key=lambda item: item[:2])]


class ListedStore(WordStore):
    """A store that can also say how many entries match, and list them."""

    async def count_matches(self, query: str) -> int:
        return len(self._ranked(query))

    async def count(self, where: str = "") -> int:
        return len(await self.page(0, len(self.found), where=where))

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Any]:
        matching = [record for record in self._records() if where.casefold() in record.content.casefold()]
        return matching[offset : offset + limit]

    async def get(self, id: str) -> Any:
        return next((record for record in self._records() if record.id == id), None)

    def _records(self) -> list[Any]:
        return [
            identified(MemoryEntry(entry.content, metadata=entry.metadata), chr(ord("a") + at))
            for at, entry in enumerate(self.found)
        ]


class AddStore(WordStore):
    """A store that takes texts; ``refuses`` holds texts that it fails on, ``seconds`` is how long a write takes."""

    def __init__(self, name: str, *found: str, refuses: Sequence[str] = (), seconds: float = 0, **settings: Any):
        super().__init__(name, *found, **{"writable": True, **settings})
        self.refuses, self.seconds = refuses, seconds
        self.writes: list[tuple[str, Any]] = []

    async def add(self, content: str, metadata: Any = None) -> str:
        await asyncio.sleep(self.seconds)
        if content in self.refuses:
            raise OSError(f"{self.name} is full")
        self.writes.append((content, metadata))
        self.found.append(MemoryEntry(content, metadata=metadata))
        return "done"


class MessageStore(BareStore):
    """A writable store that takes messages alone."""

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(name, **{"writable": True, **settings})

    async def add_messages(self, messages: list[Message], context: Any = None) -> None:
        return None


class FailingStore(BareStore):
    """A store whose search raises."""

    def __init__(self, name: str, error: BaseException | None = None, **settings: Any) -> None:
        super().__init__(name, **settings)
        self.error = error or ConnectionError("no route")

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        self.asked.append((query, options))
        raise self.error


def user(*texts: str) -> Message:
    return {"role": "user", "content": [{"text": text} for text in texts]}


def assistant(*texts: str) -> Message:
    return {"role": "assistant", "content": [{"text": text} for text in texts]}


def tool_use(name: str = "look", id: str = "1") -> Message:
    return {"role": "assistant", "content": [{"toolUse": {"toolUseId": id, "name": name, "input": {}}}]}


def tool_result(text: str = "found", id: str = "1") -> Message:
    result = {"toolUseId": id, "status": "success", "content": [{"text": text}]}
    return {"role": "user", "content": [{"toolResult": result}]}
