"""The text of the test beside an exported module."""

from __future__ import annotations

BESIDE = """\
{test}.py holds what the workbench showed for one model call, and
compares it with what a model gets from the installed SDK. Neither file needs memwb.
"""
"""What the module says of the test."""

TEST = '''\
{mark}
"""The settings of {name}.py give a model what the workbench showed, byte for byte.

It needs pytest and strands-agents 1.48 or newer, and no memwb, no network and no key. The conversation and the memories
below are those of the model call that was open in the workbench.
"""

import asyncio
import copy
import importlib.util
import re
from importlib.metadata import version
from pathlib import Path

from strands import Agent
from strands.memory import MemoryEntry, MemoryManager
from strands.models import Model

MESSAGES = {messages}

NAME, STATE = {agent}, {state}

# What each store was asked, and what it answered: texts with their metadata, or None where it failed.
ANSWERS = {answers}

# What the model gets. Message AT is the one with the block, as strands-agents writes it from each of these releases on.
GIVEN = {given}

AT = {at}

FOLDED = {folded}


class Store:
    """Answers as a store did in the workbench, and notes what it was asked."""

    description = max_search_results = extraction = None
    writable = False

    def __init__(self, answer):
        self.name, self.entries = answer["store"], answer["entries"]
        self.asked = []

    async def search(self, query, options=None):
        self.asked.append((query, options["max_search_results"]))
        if self.entries is None:
            raise ConnectionError("failed in the workbench too")
        return [MemoryEntry(content=content, metadata=copy.deepcopy(metadata)) for content, metadata in self.entries]


class CapturingModel(Model):
    """Notes the messages that it gets."""

    def update_config(self, **config):
        pass

    def get_config(self):
        return {{}}

    def structured_output(self, *args, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, *args, **kwargs):
        self.messages = copy.deepcopy(messages)
        yield {{"messageStart": {{"role": "assistant"}}}}
        yield {{"contentBlockStart": {{"start": {{}}}}}}
        yield {{"contentBlockDelta": {{"delta": {{"text": "done"}}}}}}
        yield {{"contentBlockStop": {{}}}}
        yield {{"messageStop": {{"stopReason": "end_turn"}}}}


def exported():
    path = Path(__file__).with_name("{name}.py")
    spec = importlib.util.spec_from_file_location("{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_model_gets_what_the_workbench_showed():
    stores = [Store(answer) for answer in ANSWERS]
    manager = MemoryManager(stores=stores, search_tool_config=False, injection=exported().injection)
    model = CapturingModel()
    agent = Agent(model=model, memory_manager=manager, name=NAME, state=STATE, callback_handler=None)
    agent.messages = copy.deepcopy(MESSAGES)
    asyncio.run(agent.invoke_async(None))

    release = tuple(int(number) for number in re.findall(r"\\d+", version("strands-agents"))[:2])
    expected = copy.deepcopy(GIVEN)
    if FOLDED:
        expected[AT] = FOLDED[max(since for since in FOLDED if since <= release)]
    assert model.messages == expected
    assert [store.asked for store in stores] == [answer["asked"] for answer in ANSWERS]
    history = [(message["role"], message["content"]) for message in agent.messages[: len(MESSAGES)]]
    assert history == [(message["role"], message["content"]) for message in MESSAGES]
'''
