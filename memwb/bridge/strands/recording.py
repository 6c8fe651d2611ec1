"""What a live agent's model really got, call by call, beside what memwb makes of the same call."""

from __future__ import annotations

import copy
import logging
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, overload

from ... import _time
from ..._text import counted, cropped
from ...errors import ConfigError
from ...memory import InjectionTrace, Message
from ...memory.injection import run_injection
from ...memory.settings import Injection, resolve_injection
from .host import add_middleware, model_stage
from .reading import MARK, Reading, read
from .sent import sent

_log = logging.getLogger("memwb.bridge")


@dataclass(frozen=True, repr=False)
class RecordedCall:
    """One model call of a live agent.

    Attributes:
        number: Of the call since the recording began, from 1.
        before: The agent's history before the call, with the SDK's own keys.
        after: What the model got.
        trace: The injection of this call: the agent's own where memwb injects, else memwb's over the same history,
            stores and settings, made at the moment of the call.
        state: A copy of the agent's state at the call, which a trigger predicate sees.
        at: When it was made.
        difference: How what the model got differs from the trace, in a sentence; empty where it is the same, byte for
            byte.
    """

    number: int
    before: list[Message]
    after: list[Message]
    trace: InjectionTrace
    state: Any = None
    difference: str = ""
    at: datetime | None = None

    def __repr__(self) -> str:
        outcome = f"differs: {self.difference}" if self.difference else "as the trace shows"
        return f"RecordedCall({self.number}: {self.trace.summary}; the model got {outcome})"


class Recording(Sequence[RecordedCall]):
    """The model calls of a live agent since :func:`attach`, in order.

    Attributes:
        agent: The agent.
        label: What it is, in a few words.
        problem: Why a call could not be recorded, where one could not; the agent's call went on.
    """

    def __init__(self, agent: Any, reading: Reading, tell: Callable[[RecordedCall], None]) -> None:
        self.agent, self.label = agent, reading.label
        self.problem = self._ended = ""
        self._reading, self._tell, self._tap = reading, tell, _tap(agent)
        self._settings = _settings(reading)
        self._calls: list[RecordedCall] = []

    @overload
    def __getitem__(self, at: int) -> RecordedCall: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[RecordedCall]: ...
    def __getitem__(self, at: int | slice) -> RecordedCall | Sequence[RecordedCall]:
        return self._calls[at]

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[RecordedCall]:
        return iter(tuple(self._calls))

    @property
    def attached(self) -> bool:
        """Whether it still listens."""
        return self in self._tap.recordings

    @property
    def differing(self) -> list[RecordedCall]:
        """The calls at which the model got something else than the trace shows."""
        return [call for call in self if call.difference]

    def detach(self, why: str = "") -> None:
        """Stop listening; what was recorded stays. Twice is harmless.

        Args:
            why: What has ended it, for the repr.
        """
        if self.attached:
            self._tap.recordings.remove(self)
            self._ended = f"; ended{why and f', {why}'}"

    def __repr__(self) -> str:
        different = len(self.differing)
        told = f", {different} with a difference" if different else ", each as its trace shows" if self else ""
        return f"Recording({self.label}: {counted(len(self), 'model call')}{told}{self._ended})"

    async def record(self, context: Any) -> None:
        """Write down a call that is about to be made. Nothing that fails here reaches the agent."""
        try:
            at, before = _time.now(), copy.deepcopy(list(context.agent.messages))
            after = sent(context.messages)
            trace = await self._trace(before, context.agent)
            state = copy.deepcopy(context.agent.state)
            differs = difference(sent(trace.messages), after)
            call = RecordedCall(len(self) + 1, before, after, trace, state, differs, at)
            self._calls.append(call)
            self._tell(call)
        except Exception as error:
            self.problem = f"call {len(self) + 1} could not be recorded: {error!r}"
            _log.warning("%s: %s", self.label, self.problem, exc_info=True)

    async def _trace(self, before: list[Message], agent: Any) -> InjectionTrace:
        own = self._reading.plugin
        if own is not None and (made := own.trace(agent)) is not None:
            return made
        return await run_injection(
            self._reading.stores,
            before,
            self._settings,
            state=copy.deepcopy(agent.state),
            agent=agent,
            host_placement=self._reading.placement,
        )


def attach(agent: Any, workbench: Any = None) -> Recording:
    """Record each model call of a live agent from now on.

    The agent goes on as it is: its history, its answers and its settings are not touched. An agent with the SDK's own
    MemoryManager does not tell what it injected, so memwb runs its own pipeline beside it: its stores are asked once
    more at each call, and its callbacks run once more, on a copy of its state.

    Args:
        agent: A Strands Agent with the SDK's MemoryManager or with memwb's plugin.
        workbench: Opens each call as it is recorded (it needs a method ``recorded(call)``); None only records.

    Returns:
        The recording, a sequence of :class:`RecordedCall`. ``recording.detach()`` ends it.

    Raises:
        ConfigError: The agent has no memory, or it is no Strands Agent.
    """
    reading = read(agent)
    if reading.agent is None:
        raise ConfigError(
            f"bridge.strands.attach: {reading.label} is no agent; only an agent calls a model. Give the Strands Agent.",
            key="agent",
            value=agent,
        )
    recording = Recording(agent, reading, _nothing if workbench is None else workbench.recorded)
    recording._tap.recordings.append(recording)
    return recording


def _nothing(_call: RecordedCall) -> None:
    pass


def _settings(reading: Reading) -> Injection | None:
    """Return the settings with which memwb injects what the agent injects."""
    given: Any = reading.injection
    return resolve_injection({**({} if given is True else given), "placement": reading.placement} if given else False)


class _Tap:
    """The one handler that an agent gets, however often it is recorded; without a recording it only passes on."""

    def __init__(self, agent: Any) -> None:
        from strands.hooks.events import BeforeModelCallEvent

        self.recordings: list[Recording] = []
        add_middleware(agent, model_stage().Wrap, self._listener())
        agent.add_hook(self._go_last, BeforeModelCallEvent)

    def _listener(self) -> Any:
        async def listen(context: Any, next_call: Any) -> Any:
            for recording in tuple(self.recordings):
                await recording.record(context)
            async for event in next_call(context):
                yield event

        setattr(listen, MARK, True)
        return listen

    def _go_last(self, event: Any) -> None:
        """Stand next to the model: a handler that was added later could still change what it gets."""
        handlers = event.agent._middleware_registry._handlers.get(model_stage(), [])
        handlers.sort(key=lambda tagged: getattr(tagged.handler, MARK, False))


# A tap lives as long as its agent, whose handlers hold it: held here it would keep the agent.
_taps: weakref.WeakKeyDictionary[Any, weakref.ref[_Tap]] = weakref.WeakKeyDictionary()


def _tap(agent: Any) -> _Tap:
    known = _taps.get(agent)
    tap = known() if known is not None else None
    if tap is None:
        tap = _Tap(agent)
        _taps[agent] = weakref.ref(tap)
    return tap


_SHOWN = 60
"""Characters of a text that a difference shows."""

_LED_IN = 20
"""Characters that it shows before the place where two texts part."""


def difference(expected: Sequence[Message], got: Sequence[Message]) -> str:
    """Say how what a model got differs from what was expected; empty where it does not."""
    for at, (one, other) in enumerate(zip(expected, got, strict=False), 1):
        if one != other:
            return f"message {at} ({other['role']}) {_blocks(one['content'], other['content'])}"
    if len(expected) != len(got):
        return f"there are {counted(len(got), 'message')} where {len(expected)} were expected"
    return ""


def _blocks(expected: Sequence[Any], got: Sequence[Any]) -> str:
    for at, (one, other) in enumerate(zip(expected, got, strict=False), 1):
        if one != other:
            begin = _where_they_part(one.get("text"), other.get("text"))
            return f"has as block {at} {_shown(other, begin)}, where {_shown(one, begin)} was expected"
    more, place = len(got) - len(expected), min(len(got), len(expected))
    if more > 0:
        return f"has {counted(more, 'more block')} than expected: {_shown(got[place])}"
    if more < 0:
        return f"lacks {counted(-more, 'block')}: {_shown(expected[place])}"
    return "has another role than expected"


def _where_they_part(one: Any, other: Any) -> int:
    """Return where two texts begin to differ, less a few characters that tell where that is."""
    if not isinstance(one, str) or not isinstance(other, str):
        return 0
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return max(0, same - _LED_IN) if max(len(one), len(other)) > _SHOWN else 0


def _shown(block: Any, begin: int = 0) -> str:
    if "text" not in block:
        return f"a block of kind {next(iter(block), None)!r}"
    return repr(("…" if begin else "") + cropped(block["text"][begin:], _SHOWN))
