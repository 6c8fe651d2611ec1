"""A live agent beside the workbench: its model calls open here as they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..memory.messages import copied

if TYPE_CHECKING:
    from ..bridge.strands import RecordedCall, Recording
    from ..memory import InjectionTrace, Message
    from .state import WorkbenchState


class LiveState:
    """The agent that a workbench listens to, and the one of its calls that is open.

    Attributes:
        bench: The workbench.
        recording: The agent's calls so far, None before an agent was attached.
    """

    def __init__(self, bench: WorkbenchState) -> None:
        self.bench = bench
        self.recording: Recording | None = None
        self._opened: tuple[RecordedCall, list[Message]] | None = None

    def attach(self, agent: Any) -> Recording:
        """Record each model call of an agent and open it as it is made; see :func:`memwb.bridge.strands.attach`.

        A workbench listens to one agent: another one, or the same one again, takes the place of the first.

        Raises:
            ConfigError: The agent has no memory, or it is no Strands Agent.
        """
        from ..bridge import strands

        recording = strands.attach(agent, self)
        self.detach("the workbench was attached anew")
        self.recording = recording
        return recording

    def detach(self, why: str = "") -> None:
        """Stop listening; what was recorded stays."""
        if self.recording is not None:
            self.recording.detach(why)

    def recorded(self, call: RecordedCall) -> None:
        """Open a call that was just recorded, on the notebook's loop: the agent may run on another thread."""

        async def open_it() -> None:
            self._open(call)

        self.bench.spawn(open_it, foreign=True)

    async def open(self, number: int) -> InjectionTrace:
        """Open a recorded call, from 1, and return the trace of it under the settings as they stand here.

        Raises:
            ConfigError: There is no such call.
        """
        await self.bench.settled()  # calls that were just recorded open first
        calls = self.recording or ()
        if not isinstance(number, int) or not 1 <= number <= len(calls):
            held = f"calls 1 to {len(calls)}" if calls else "no call yet; attach an agent and let it answer"
            raise ConfigError(f"Workbench: there is no recorded call {number!r}, but {held}.", key="call", value=number)
        self._open(calls[number - 1])
        await self.bench.settled()
        return self.bench.trace

    def _open(self, call: RecordedCall) -> None:
        bench = self.bench
        if self.recording is not None and bench.source.agent is self.recording.agent:
            bench.source = replace(bench.source, state=call.state)
        bench.put(messages=copied(call.before), state=None)
        self._opened = (call, bench.messages)

    @property
    def call(self) -> RecordedCall | None:
        """The recorded call that is open; None when the conversation here is another one by now."""
        if self._opened is None or self._opened[1] is not self.bench.messages:
            return None
        return self._opened[0] if self.bench.call == len(self.bench.calls) else None

    @property
    def notes(self) -> list[str]:
        """What differs between what the agent's model got at the open call and what is shown, in sentences."""
        from ..bridge.strands import difference, sent

        notes = (
            [f"the recording has a gap: {self.recording.problem}"] if self.recording and self.recording.problem else []
        )
        call, preview = self.call, self.bench.preview
        if call is None:
            return notes
        name = f"call {call.number} of {self.recording.label if self.recording else 'the agent'}"
        if call.difference:
            notes.append(f"{name}: what its model got is not what the trace of that moment shows: {call.difference}")
        elif preview is not None and not self.bench.pending:
            now = difference(call.after, sent(preview.trace.messages))
            if now:
                notes.append(
                    f"{name}: with the settings and memories as they stand here its model would get other input: {now}"
                )
        return notes

    @property
    def model_input(self) -> list[Message]:
        """The messages of the preview as a model gets them: without the keys that an SDK keeps for itself."""
        return self.as_sent(self.bench.trace.messages)

    def as_sent(self, messages: Sequence[Message]) -> list[Message]:
        """Return messages as a model gets them here: an agent of the SDK replaces an assistant's blank text, too."""
        if self.bench.source.placement is None and self.call is None:
            return [{"role": message["role"], "content": message["content"]} for message in messages]
        from ..bridge.strands import sent

        return sent(messages)
