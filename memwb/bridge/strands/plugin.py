"""memwb's memory manager in an agent of the SDK."""

from __future__ import annotations

import weakref
from dataclasses import replace
from functools import cached_property
from typing import Any

from ...errors import ConfigError
from ...memory import InjectionTrace, MemoryManager
from ...memory.messages import copied
from .host import Host, add_middleware, agent_tool, loop_ends_with_the_call, model_stage

_LAST = 1_000  # where the drain stands among the hooks after an invocation: after every trigger


class StrandsPlugin:
    """What :func:`plugin` returns: one manager, for as many agents as it is given to.

    Attributes:
        manager: The memory manager.
        name: The name of the SDK's own manager, so that an agent never gets two memories by mistake.
        hooks: None of its own: they are added when an agent is built.
    """

    def __init__(self, manager: MemoryManager) -> None:
        self.manager = manager
        self.name = manager.name
        self.hooks: list[Any] = []
        self._agents: weakref.WeakSet[Any] = weakref.WeakSet()
        self._traces: weakref.WeakKeyDictionary[Any, InjectionTrace] = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"StrandsPlugin({self.manager!r})"

    @cached_property
    def tools(self) -> list[Any]:
        """The manager's tools as tools of the SDK."""
        return [agent_tool(tool) for tool in self.manager.tools]

    async def init_agent(self, agent: Any) -> None:
        """Give an agent the memory: its stores, its extraction, its injection. The SDK calls this.

        A second time for the same agent changes nothing.
        """
        from strands.hooks.events import AfterInvocationEvent

        if agent in self._agents:
            return
        host = Host(agent)
        await self.manager.init_agent(host)
        self._agents.add(agent)
        if self.manager.injection is not None:
            add_middleware(agent, model_stage().Input, self._inject)

        async def drain(event: Any) -> None:
            """Save what the agent owes before the loop of a synchronous call ends: no agent flushes a plugin."""
            if loop_ends_with_the_call():
                await self.manager.flush_agent(host)

        agent.add_hook(drain, AfterInvocationEvent, order=_LAST)

    def trace(self, agent: Any) -> InjectionTrace | None:
        """Return the trace of the agent's latest model call; None before the first one, and with injection off."""
        return self._traces.get(agent)

    async def _inject(self, context: Any) -> Any:
        """Return the context of a model call with the block folded into its messages.

        The trace gets copies of its own: handlers that come later may change the messages in place.
        """
        agent = context.agent
        trace = await self.manager.trace_injection(copied(context.messages), state=agent.state, agent=agent)
        self._traces[agent] = trace
        if not trace.injected:
            return context
        changes: dict[str, Any] = {"messages": copied(trace.messages)}
        if hasattr(context, "dynamic_trailing_blocks") and _ends_with_the_block(trace, context.messages):  # from 1.54
            changes["dynamic_trailing_blocks"] = context.dynamic_trailing_blocks + 1
        return replace(context, **changes)


def _ends_with_the_block(trace: InjectionTrace, before: Any) -> bool:
    """Whether the block is the very last thing that the model gets, where a provider may leave it out of its cache."""
    return bool(trace.messages[-1]["content"][:-1] == before[-1]["content"])


def plugin(manager: MemoryManager) -> StrandsPlugin:
    """Return a memory manager as a plugin for agents of the Strands SDK, 1.48 to the newest.

    ::

        agent = Agent(plugins=[bridge.strands.plugin(manager)])

    Each model call gets exactly what ``manager.trace_injection`` shows for it, the block where the manager's
    ``placement`` says; the agent's own history stays as it is. The tools are the manager's. A synchronous call
    (``agent("...")``) saves all that is the agent's own before it returns, and leaves other agents alone. On a loop of
    your own, saves run in the background, as with the SDK's manager, and ``await manager.flush()`` waits for them: call
    it before the loop ends.

    Raises:
        ConfigError: It is no memory manager.
    """
    if not isinstance(manager, MemoryManager):
        what = "the class itself; write MemoryManager([...])" if manager is MemoryManager else f"{manager!r:.80}"
        raise ConfigError(
            f"bridge.strands.plugin: manager must be a memwb.MemoryManager, not {what}. A store goes into one: "
            "plugin(MemoryManager([store])).",
            key="manager",
            value=manager,
        )
    return StrandsPlugin(manager)
