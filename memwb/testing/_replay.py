"""A recorded conversation, gone through again as an agent would: the same hooks, the same injections, step by step."""

from __future__ import annotations

import inspect
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from .. import conversations
from .._text import counted, quoted
from ..memory.events import AfterInvocation, BeforeModelCall, MessageAdded
from ..memory.messages import copied, has_tool_result, text
from ._as_of import AsOf, Hindsight, times_of, times_told
from ._faults import refused

if TYPE_CHECKING:
    from ..memory import Call, InjectionTrace, MemoryManager, Message


@dataclass(frozen=True, repr=False)
class ReplayStep:
    """What happened in one step of a replay: a message joined the history, after a model call where it is an answer.

    Attributes:
        number: Of the step, from 1.
        invocation: Of the agent, from 1.
        message: The message that joined; None where the recording ends before the answer.
        call: Which model call it was, an index into ``model_inputs`` and ``traces``; None for a message that was not
            asked of the model.
        trace: The call's injection, None without a call.
        ended: Whether the invocation ended with this step.
    """

    number: int
    invocation: int
    message: Message | None
    call: int | None = None
    trace: InjectionTrace | None = None
    ended: bool = False

    def __repr__(self) -> str:
        parts = []
        if self.trace is not None and self.call is not None:
            parts.append(f"model call {self.call + 1}: {self.trace.summary}")
        parts.append("no answer recorded" if self.message is None else _told(self.message))
        if self.ended:
            parts.append(f"invocation {self.invocation} ended")
        return f"ReplayStep({self.number}: {'; '.join(parts)})"


class ReplayAgent:
    """Goes through a recorded conversation as an agent would, with the hooks in the order of the Strands Agents SDK.

    For each message of the user, or of a tool, ``MessageAdded``; then ``BeforeModelCall``, the injection, the answer
    with its ``MessageAdded``; and where the answer calls no tool, ``AfterInvocation``. So a user's turn is one
    invocation, with a model call before each answer in it. An assistant's message that answers nobody (a greeting at
    the start) joins without a call. A recording that ends with a user's or a tool's message ends with a call that has
    no answer, and its invocation stays open.

    ::

        agent = ReplayAgent(messages, manager)
        await agent.step()          # one message
        await agent.run()           # the rest
        await manager.flush()       # what the triggers have left
        agent.model_inputs[2]       # what the model got at its third call

    Replayed on today's store, an old conversation meets the memories that were made from it. ``as_of`` leaves out what
    was written after the turn; what the replay itself writes stays visible, as it was then. Without it, an injection
    with newer entries has a note that says so, where the messages tell their times.

    Args:
        messages: The conversation, in any form that :func:`memwb.conversations.read` takes, such as texts that take
            turns and end with the user's; copied.
        manager: Its injection and its extraction take part.
        model: Answers, ``await model.complete(system_prompt, messages)``, in place of the recorded answers. Recorded
            tool calls stay, since a model that gives a text calls no tool. Default: the recorded answers.
        as_of: When each message was said: the key under which a message, or its ``metadata``, holds its time
            (``"created_at"``), a function of the message, or a list with one time for each message of ``recorded``,
            which lacks the system messages at the start. A time is an aware datetime or its ISO 8601 text; None stands
            for the time of the message before.
        aux_model: The default model of the extraction, which else is ``model``.
        system_prompt: Given to ``model``.
        call: Runs the manager's callbacks; see :meth:`MemoryManager.trace_injection`.
        wait_for_saves: Whether each step waits for the saves that it began, so that every run is the same. Else they go
            on behind the replay, as they do behind an agent, and a step may come before what an earlier one found.

    Attributes:
        messages: The history so far.
        model_inputs: For each model call so far a copy of the messages that the model got.
        traces: For each model call so far its injection.
        recorded: The whole recording.
        state: A dict that trigger predicates see.

    Raises:
        ConfigError: A message is none, or ``as_of`` gives no times.
    """

    name = "replay"

    def __init__(
        self,
        messages: Sequence[Message],
        manager: MemoryManager,
        model: Any = None,
        *,
        as_of: AsOf | None = None,
        aux_model: Any = None,
        system_prompt: str = "",
        call: Call | None = None,
        wait_for_saves: bool = True,
    ) -> None:
        check_arguments(messages, manager, model, aux_model)
        self.recorded: list[Message] = conversations.read(messages)
        self.messages: list[Message] = []
        self.model_inputs: list[list[Message]] = []
        self.traces: list[InjectionTrace] = []
        self.model, self.aux_model, self.system_prompt = model, aux_model, system_prompt
        self.state: dict[str, Any] = {}
        times = times_told(self.recorded) if as_of is None else times_of(self.recorded, as_of)
        self._hindsight = Hindsight(manager, times, leave_out=as_of is not None, call=call)
        self._manager, self._waits = manager, wait_for_saves
        self._hooks: dict[str, list[tuple[float, Callable[[Any], Any]]]] = {}
        self._started = self._open = self._waiting = False
        self._at = self._steps = self._invocations = 0

    def add_hook(self, callback: Callable[[Any], Any], event_type: type, order: float = 0) -> None:
        """Call ``callback``, async or not, with each event of a type; lower orders first.

        The SDK's type of the same event stands for memwb's own (``AfterInvocationEvent`` for ``AfterInvocation``), so
        that a trigger written for the SDK fires here too.
        """
        if not callable(callback):
            raise refused(
                "ReplayAgent: add_hook: callback", callback, "a function of the event, async or not", "callback"
            )
        if not isinstance(event_type, type):
            allowed = "a class of events, such as memwb.memory.AfterInvocation"
            raise refused("ReplayAgent: add_hook: event_type", event_type, allowed, "event_type")
        name = event_type.__name__.removesuffix("Event")
        insort(self._hooks.setdefault(name, []), (order, callback), key=lambda hook: hook[0])

    @property
    def done(self) -> bool:
        """Whether the recording has been gone through."""
        return self._at == len(self.recorded) and not self._waiting

    @property
    def position(self) -> int:
        """How many messages of the recording have been gone through."""
        return self._at

    async def run(self) -> list[ReplayStep]:
        """Take all the steps that are left, and return them."""
        return [step async for step in self]

    async def step(self) -> ReplayStep | None:
        """Let the next message join, after the model call that it answers; None when there is none left.

        What a hook, a store's ``initialize`` or the model raises passes through; the invocation has ended then, and the
        next step tries the same model call again.
        """
        if not self._started:
            await self._manager.init_agent(self)
            self._started = True
        if self.done:
            return None
        self._steps += 1
        step = ReplayStep(self._steps, self._invocations, None)
        recorded = self.recorded[self._at] if self._at < len(self.recorded) else None
        try:
            if recorded is None or (self._waiting and recorded["role"] != "user"):
                step = await self._answered(step, recorded)
            else:
                step = await self._joined(step, recorded)
        except BaseException:
            if self._open:
                await self._end()
            raise
        if self._waits:
            await self._manager.wait_for_saves()
        return step

    def __aiter__(self) -> ReplayAgent:
        return self

    async def __anext__(self) -> ReplayStep:
        step = await self.step()
        if step is None:
            raise StopAsyncIteration
        return step

    async def _joined(self, step: ReplayStep, message: Message) -> ReplayStep:
        """Add a message that the model was not asked for: a user's, a tool's, or a greeting."""
        asks = message["role"] == "user"
        if self._open and not self._waiting and asks and not has_tool_result(message):
            await self._end()  # a tool call that never had its result
        self._begin()
        self._at, self._waiting = self._at + 1, asks
        await self._add(message)
        return replace(
            step, invocation=self._invocations, message=message, ended=not asks and await self._ended(message)
        )

    async def _answered(self, step: ReplayStep, recorded: Message | None) -> ReplayStep:
        """Call the model with the messages so far, and add its answer."""
        self._begin()
        await self._fire(BeforeModelCall(self, self.messages))
        trace = await self._hindsight.trace(self)
        self.model_inputs.append(copied(trace.messages))
        self.traces.append(trace)
        answer = await self._answer(trace.messages, recorded)
        self._waiting = False
        self._at += recorded is not None
        step = replace(step, invocation=self._invocations, call=len(self.traces) - 1, trace=trace)
        if answer is None:
            return step
        await self._add(answer)
        return replace(step, message=answer, ended=await self._ended(answer))

    async def _answer(self, messages: list[Message], recorded: Message | None) -> Message | None:
        if self.model is None or (recorded is not None and _calls_a_tool(recorded)):
            return recorded
        said = await self.model.complete(self.system_prompt, copied(messages))
        return {"role": "assistant", "content": [{"text": said}]}

    def _begin(self) -> None:
        if not self._open:
            self._open = True
            self._invocations += 1

    async def _ended(self, answer: Message) -> bool:
        if _calls_a_tool(answer):
            return False
        await self._end()
        return True

    async def _end(self) -> None:
        self._open = False
        await self._fire(AfterInvocation(self))

    async def _add(self, message: Message) -> None:
        self.messages.append(message)
        await self._fire(MessageAdded(self, message))

    async def _fire(self, event: Any) -> None:
        hooks = list(self._hooks.get(type(event).__name__, ()))
        if isinstance(event, AfterInvocation):  # as in the SDK: what tidies up runs in the opposite order
            hooks = [hook for _, group in groupby(hooks, key=lambda hook: hook[0]) for hook in reversed(list(group))]
        for _, callback in hooks:
            result = callback(event)
            if inspect.isawaitable(result):
                await result

    def __repr__(self) -> str:
        state = "done" if self.done else f"{self.position} of {counted(len(self.recorded), 'message')}"
        return f"ReplayAgent({state}; {counted(len(self.model_inputs), 'model call')})"


def check_arguments(messages: Any, manager: Any, model: Any, aux_model: Any) -> None:
    """Check what a replay works with.

    Raises:
        ConfigError: The messages are no list, the manager does not extract and inject, or a model cannot be asked.
    """
    if isinstance(messages, str) or not isinstance(messages, Iterable):
        raise refused(
            "ReplayAgent: messages", messages, "a list of messages, as conversations.read takes it", "messages"
        )
    if isinstance(manager, type) or not callable(getattr(manager, "init_agent", None)):
        raise refused(
            "ReplayAgent: manager", manager, "a memwb.memory.MemoryManager (write MemoryManager([store]))", "manager"
        )
    for name, given in (("model", model), ("aux_model", aux_model)):
        if given is not None and not (hasattr(given, "complete") or hasattr(given, "stream")):
            raise refused(
                f"ReplayAgent: {name}", given, "a model with 'async complete(system, messages)', or None", name
            )


def _calls_a_tool(message: Message) -> bool:
    return any("toolUse" in block for block in message["content"])


def _told(message: Message) -> str:
    said = text(message)
    if said:
        return f"{message['role']} {quoted(said)}"
    kinds = [kind for block in message["content"] for kind in block]
    return f"{message['role']} {', '.join(kinds) or 'nothing'}"
