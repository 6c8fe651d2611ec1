"""A real Strands Agent whose model writes down what it is given and follows a script."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, tool
from strands.memory import MemoryManager
from strands.models import Model

TOOL_ANSWER = "the latex mat and the tea"


@tool
def look() -> str:
    """Look something up."""
    return TOOL_ANSWER


class StreamingModel(Model):
    """A model that does nothing but stream, which a class derived from it does."""

    def update_config(self, **model_config: Any) -> None:
        return None

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


class CapturingModel(StreamingModel):
    """Writes down the agent's history and the messages it is given at each call.

    Attributes:
        script: What to answer at the coming calls: a text before a call of ``look``, or None for an end of the turn.
        calls: For each call so far the agent's durable history, and the messages that the model was given.
    """

    def __init__(self) -> None:
        self.agent: Any = None
        self.script: list[str] = []
        self.calls: list[tuple[list[Any], list[Any]]] = []

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        self.calls.append((copy.deepcopy(self.agent.messages), copy.deepcopy(messages)))
        yield {"messageStart": {"role": "assistant"}}
        said = self.script.pop(0) if self.script else None
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "done" if said is None else said or "looking"}}}
        yield {"contentBlockStop": {}}
        if said is not None:
            call = {"name": "look", "toolUseId": f"look-{len(self.calls)}"}
            yield {"contentBlockStart": {"start": {"toolUse": call}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if said is None else "tool_use"}}


def agent_with(stores: list[Any], injection: Any, **settings: Any) -> tuple[Any, CapturingModel]:
    """Build an agent over the SDK's own memory manager, and its model."""
    model = CapturingModel()
    manager = MemoryManager(stores, search_tool_config=False, injection=injection)
    given = {"name": "oracle", "state": {"memories": "yes"}, "callback_handler": None, "tools": [look], **settings}
    model.agent = Agent(model=model, memory_manager=manager, **given)
    return model.agent, model
