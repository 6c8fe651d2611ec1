"""Stores of a few lines, which say what was asked of them and can fail, wait or hide what they hold."""

from __future__ import annotations

import asyncio

from memwb.catalog import Record
from memwb.memory import MemoryEntry
from memwb.memory.types import identified
from memwb.ranking import overlap, tokenize


class SearchStore:
    """Finds by shared words and cannot do anything else; earlier contents win among equals.

    Attributes:
        searched: The queries so far, each with its limit.
        seconds: How long a search takes.
        error: Raised by a search instead of an answer.
    """

    description = None
    max_search_results = None
    writable = False
    extraction = None

    def __init__(self, *contents, name="profile", seconds=0.0, error=None):
        self.name, self.contents = name, list(contents)
        self.seconds, self.error = seconds, error
        self.searched = []

    async def search(self, query, options=None):
        limit = (options or {}).get("max_search_results") or 10
        self.searched.append((query, limit))
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return [self._entry(at, score) for score, at in self._ranked(query)[:limit]]

    def _ranked(self, query):
        words = tokenize(query)
        scored = [(overlap(words, tokenize(content)), at) for at, content in enumerate(self.contents)]
        return sorted(((score, at) for score, at in scored if score), key=lambda pair: (-pair[0], pair[1]))

    def _entry(self, at, score):
        return MemoryEntry(self.contents[at], None, {"_relevanceScore": score})


class ListStore(SearchStore):
    """Can list what it holds as well, and count what matches; the ids are e1, e2 and so on."""

    tokenizer = staticmethod(tokenize)

    async def count_matches(self, query):
        return len(self._ranked(query))

    async def count(self, where=""):
        return len(self._filtered(where))

    async def page(self, offset, limit, sort=None, where=""):
        records = self._filtered(where)
        if sort:
            key = sort.removeprefix("-")
            records.sort(key=lambda record: getattr(record, key), reverse=sort.startswith("-"))
        return records[offset : offset + limit]

    async def get(self, id):
        return next((record for record in self._filtered("") if record.id == id), None)

    def _filtered(self, where):
        records = [Record(f"e{at}", content, store=self.name) for at, content in enumerate(self.contents, 1)]
        return [record for record in records if where.casefold() in record.content.casefold()]

    def _entry(self, at, score):
        return identified(super()._entry(at, score), f"e{at + 1}")


ABOUT_ME = (
    "I am allergic to latex.",
    "I want to learn more about the world of art.",
    "I have moderate mobility issues and use a cane.",
    "I like jazz.",
)


def user(text):
    return {"role": "user", "content": [{"text": text}]}


def assistant(text):
    return {"role": "assistant", "content": [{"text": text}]}


def tool_call(name="clock", **arguments):
    return {"role": "assistant", "content": [{"toolUse": {"name": name, "toolUseId": "t1", "input": arguments}}]}


def tool_result(text="noon"):
    block = {"toolUseId": "t1", "status": "success", "content": [{"text": text}]}
    return {"role": "user", "content": [{"toolResult": block}]}
