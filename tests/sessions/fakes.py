"""Models that summarise, and a store of a few lines that follows the documented protocol and nothing else."""

from __future__ import annotations

import asyncio
import copy
from types import SimpleNamespace


class SmallModel:
    """memwb's protocol: ``complete(system, messages)``.

    Attributes:
        answer: What it answers: a text, an exception to raise, or a function of the prompt.
        asked: The prompts so far.
        seconds: How long it takes.
    """

    def __init__(self, answer="They talked.", seconds=0.0):
        self.answer, self.seconds = answer, seconds
        self.asked = []

    async def complete(self, system, messages):
        return await self._answered(messages[0]["content"][0]["text"])

    async def _answered(self, prompt):
        self.asked.append(prompt)
        await asyncio.sleep(self.seconds)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(prompt) if callable(self.answer) else self.answer


class DefinableModel(SmallModel):
    """Definable's protocol: ``(await ainvoke(messages=..., assistant_message=...)).content``."""

    complete = None

    async def ainvoke(self, *, messages, assistant_message):
        assert [message.role for message in messages] == ["system", "user"]
        assert assistant_message.role == "assistant"
        return SimpleNamespace(content=await self._answered(messages[1].content))


class PlainStore:
    """Follows the documented protocol and has nothing beyond it: no transaction, no limit, times order its entries.

    Attributes:
        fails: The number of the write that raises, counted from 1 over adds and deletes; None for none.
    """

    def __init__(self):
        self.held = []
        self.initialized = 0
        self.fails, self.writes = None, 0

    async def initialize(self):
        await asyncio.sleep(0)
        self.initialized += 1

    async def close(self):
        self.initialized = 0

    def _write(self):
        self.writes += 1
        if self.writes == self.fails:
            raise OSError("disk full")

    async def add(self, entry):
        assert self.initialized
        self._write()
        self.held.append(copy.deepcopy(entry))

    async def get_entries(self, session_id, user_id="default"):
        found = [entry for entry in self.held if (entry.session_id, entry.user_id) == (session_id, user_id)]
        return copy.deepcopy(sorted(found, key=lambda entry: entry.created_at))

    async def get_entry(self, memory_id):
        return copy.deepcopy(next((entry for entry in self.held if entry.memory_id == memory_id), None))

    async def update(self, entry):
        self.held = [copy.deepcopy(entry) if one.memory_id == entry.memory_id else one for one in self.held]

    async def delete(self, memory_id):
        self._write()
        self.held = [entry for entry in self.held if entry.memory_id != memory_id]

    async def delete_session(self, session_id, user_id="default"):
        self.held = [entry for entry in self.held if (entry.session_id, entry.user_id) != (session_id, user_id)]

    async def count(self, session_id, user_id="default"):
        return len(await self.get_entries(session_id, user_id))


def said(entries):
    """Role and content of each entry, as one text each."""
    return [f"{entry.role}: {entry.content}" for entry in entries]


async def talk(memory, count, session_id="s", user_id="u", start=1):
    """Add so many messages in turns: ``m1`` of the user, ``m2`` of the assistant and so on."""
    for number in range(start, start + count):
        role = "user" if number % 2 else "assistant"
        await memory.add({"role": role, "content": f"m{number}"}, session_id, user_id)
