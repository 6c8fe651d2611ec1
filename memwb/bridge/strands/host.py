"""How memwb's memory meets an agent of the SDK: its events, its middleware, its tools, its loops."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any

from ...memory.events import AfterInvocation, BeforeModelCall, MessageAdded
from .models import model


class Host:
    """An agent as memwb's memory manager sees it: hooks take memwb's events, models are memwb's models.

    Everything else is the agent's own, so that a trigger written for the SDK works in a store of memwb too.

    Args:
        agent: The agent. It is not kept alive: a manager may outlive many.
    """

    def __init__(self, agent: Any) -> None:
        self._agent = weakref.ref(agent)
        self._models = {name: getattr(agent, name) for name in ("aux_model", "model") if hasattr(agent, name)}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (agent := self._agent()) is None:
            raise AttributeError(name)
        return getattr(agent, name)

    def add_hook(self, callback: Callable[[Any], Any], event_type: Any = None, *, order: float = 0) -> None:
        """Call ``callback`` at events of the agent; memwb's own event types stand for the SDK's."""
        from strands.hooks import events

        translations: dict[Any, tuple[Any, Callable[[Any], Any]]] = {
            MessageAdded: (events.MessageAddedEvent, lambda event: MessageAdded(event.agent, event.message)),
            BeforeModelCall: (
                events.BeforeModelCallEvent,
                lambda event: BeforeModelCall(event.agent, event.agent.messages),
            ),
            AfterInvocation: (events.AfterInvocationEvent, lambda event: AfterInvocation(event.agent)),
        }
        agent = self._agent()
        assert agent is not None  # hooks are added while it is built
        if event_type not in translations:
            agent.add_hook(callback, event_type, order=order)
            return
        theirs, translated = translations[event_type]
        agent.add_hook(lambda event: callback(translated(event)), theirs, order=order)

    @cached_property
    def model(self) -> Any:
        """The agent's model, as memwb calls models."""
        return model(self._models["model"])

    @cached_property
    def aux_model(self) -> Any:
        """What the agent keeps for side work, as memwb calls models; its own model where it has none."""
        return model(self._models["aux_model"]) if "aux_model" in self._models else self.model


def model_stage() -> Any:
    """Return the SDK's token for the stage in which the model is called."""
    try:
        from strands.middleware.stages import InvokeModelStage
    except ImportError:  # up to 1.61
        from strands._middleware.stages import InvokeModelStage
    return InvokeModelStage


def add_middleware(agent: Any, phase: Any, handler: Any) -> None:
    """Register a handler for a phase of the model call."""
    if hasattr(agent, "add_middleware"):
        agent.add_middleware(phase, handler)
    else:  # up to 1.61
        agent._middleware_registry.add_middleware(phase, handler)


def agent_tool(tool: Any) -> Any:
    """Return a memory tool as one of the SDK's: it checks arguments and writes results as the SDK's own tools do.

    What a store offers besides is handed on as it is.
    """
    from strands import tool as decorated

    from ...memory.tools import MemoryTool

    if not isinstance(tool, MemoryTool):
        return tool
    schema = {"json": tool.input_schema}
    return decorated(name=tool.name, description=tool.description, inputSchema=schema)(tool.run)


def loop_ends_with_the_call() -> bool:
    """Whether the running loop was made for one synchronous call of an agent, which ends it and all its tasks."""
    import asyncio

    from strands._async import run_async

    home = run_async.__code__.co_filename
    return any(
        getattr(getattr(task.get_coro(), "cr_code", None), "co_filename", "") == home for task in asyncio.all_tasks()
    )
