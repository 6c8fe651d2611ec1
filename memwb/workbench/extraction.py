"""Extraction watched step by step: a conversation is replayed, and memories write themselves, or fail to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from .._text import counted
from ..bridge import strands
from ..errors import ConfigError, StaleTraceError
from ..memory.messages import copied
from ..testing import ReplayStep
from . import demo
from .asking import models_asked, name_of, questions
from .closing import while_open
from .comparison import PromptComparison, compare_prompts
from .facts import Fact, FactState, checked_text
from .replaying import ExtractionSettings, Replay, checked, checked_model, extracting, open_replay
from .screen import ScreenState
from .source import read_messages

if TYPE_CHECKING:
    from ..memory import MemoryManager, Message
    from ..memory.extraction.batches import ExtractionStatus
    from ..memory.extraction.happenings import Event
    from .extraction_view import Exchange, Line, Tally
    from .state import WorkbenchState

_Result = TypeVar("_Result")


class ExtractionState(ScreenState):
    """Extraction over a workbench's stores: drive it with ``await``, read its attributes.

    What is extracted is written to copies of the stores in memory, unless ``write_to="stores"`` asks for the stores
    themselves. A change of a setting starts the conversation over.

    Args:
        bench: The workbench's state: its stores, its injection and its conversation.
        messages: Another conversation, as :class:`WorkbenchState` takes it. A workbench without one has the demo's.
        model: Asked by extractors without a model of their own. Default: the source's, else the demo model, a rule.
        **settings: See :class:`ExtractionSettings`.

    Raises:
        ConfigError: A message or a setting cannot be taken.
    """

    def __init__(self, bench: WorkbenchState, messages: Any = None, model: Any = None, **settings: Any) -> None:
        super().__init__()
        self.bench = bench
        self._own_messages = None if messages is None else read_messages(messages)
        self._own_model, self._demo = checked_model(model), demo.DemoModel()
        self.settings = ExtractionSettings(**checked(settings))
        self.replay: Replay | None = None
        self.comparison: PromptComparison | None = None
        self.busy = ""
        self._task: asyncio.Task[Any] | None = None
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self._news: set[asyncio.Event] = set()
        self._seen = self._source_seen()
        self._undo = bench.subscribe(self._follow)

    # -- reading ------------------------------------------------------------------------------------------------

    @property
    def messages(self) -> list[Message]:
        """The whole conversation; one that tells more of its user where the workbench has none or shows its demo."""
        own, source = self._own_messages or self.bench.messages, self.bench.source
        return demo.conversation() if not own or (source.demo and own == source.messages) else own

    @property
    def model(self) -> Any:
        """The model that is asked where an extractor has none of its own."""
        return self._own_model or _model_of(self.bench.source.agent) or self._demo

    @property
    def model_name(self) -> str:
        """What the models that a run really asks are called on the page."""
        asked = models_asked(self.bench.source.stores, self.settings, self.model)
        return " and ".join(dict.fromkeys(map(name_of, asked))) or "no model"

    @property
    def shown_messages(self) -> list[Message]:
        """The conversation as it is gone through, what is still to come included."""
        return self.replay.agent.recorded if self.replay else self.messages

    @property
    def will_extract(self) -> tuple[str, ...]:
        """The names of the stores that extract."""
        return tuple(store.name for store in extracting(self.bench.source.stores, self.settings))

    @property
    def position(self) -> int:
        """How many messages have been gone through."""
        return self.replay.agent.position if self.replay else 0

    @property
    def done(self) -> bool:
        """Whether the whole conversation has been gone through."""
        return self.replay is not None and self.replay.agent.done

    @property
    def log(self) -> Sequence[Event]:
        """Everything that happened in this run, in order."""
        return self.replay.story.events if self.replay else ()

    @property
    def lines(self) -> list[Line]:
        """The messages that have joined, and where each stands with each store."""
        return self.replay.story.lines if self.replay else []

    @property
    def exchanges(self) -> list[Exchange]:
        """Every question to a model, and its answer."""
        return self.replay.story.exchanges if self.replay else []

    @property
    def status(self) -> list[ExtractionStatus]:
        """How far each store has come; empty before the first step."""
        return list(self.replay.manager.extraction_status()) if self.replay else []

    @property
    def tallies(self) -> dict[str, Tally]:
        """What each store was given so far."""
        return self.replay.story.tallies if self.replay else {}

    @property
    def facts(self) -> list[Fact]:
        """Every fact that was proposed, and what became of it."""
        return list(self.replay.desk.facts) if self.replay else []

    @property
    def waiting(self) -> list[Fact]:
        """The facts that wait for a decision."""
        return self.replay.desk.waiting if self.replay else []

    @property
    def stores(self) -> tuple[Any, ...]:
        """What the run writes to: the copies, or the stores; empty before the first step."""
        return self.replay.manager.stores if self.replay else ()

    @property
    def unsaved(self) -> tuple[int, ...]:
        """The messages that a flush would still save for some store."""
        return tuple(sorted({number for status in self.status for number in status.pending}))

    @property
    def sentence(self) -> str:
        """How things stand, in one sentence."""
        if self.replay is None:
            return f"{counted(len(self.messages), 'message')} to go through: step, or run to the first facts."
        if waiting := self.waiting:
            stores = {fact.store for fact in waiting}
            names = " and ".join(repr(name) for name in self.replay.extracting if name in stores)
            verb = "waits" if len(waiting) == 1 else "wait"
            return (
                f"{counted(len(waiting), 'fact')} for {names} {verb} for your decision; nothing of it is written yet."
            )
        gone = "All messages gone through" if self.done else f"Message {self.position} of {len(self.messages)}"
        if failing := [status for status in self.status if status.failures]:
            names = ", ".join(f"{status.store!r} ({status.failures} in a row)" for status in failing)
            return f"{gone}. Saves fail: {names}; the messages wait for another try."
        if unreadable := len(self.replay.manager.extraction_log.unreadable):
            what = f"{counted(unreadable, 'answer')} could not be read: ask again, or "
            return f"{gone}. {what}{'its' if unreadable == 1 else 'their'} messages give nothing."
        if unsaved := self.unsaved:
            only = "only a flush saves them" if self.done else "a flush would save them"
            return f"{gone}. {counted(len(unsaved), 'message')} not saved yet: {only}."
        written = sum(fact.state == "written" for fact in self.facts)
        return f"{gone}. Nothing is left to save; {counted(written, 'fact')} written."

    def __repr__(self) -> str:
        return f"Extraction({self.sentence})"

    # -- going on -----------------------------------------------------------------------------------------------

    @while_open
    async def step(self) -> ReplayStep | None:
        """Let the next message join, and wait for the saves that this begins; None when there is none left.

        A save whose facts wait for a decision is not waited for.
        """
        return await self._alone("step", self._step)

    @while_open
    async def run(self) -> list[ReplayStep]:
        """Go on to the end, or to where facts wait for a decision, and return the steps taken."""

        async def steps() -> list[ReplayStep]:
            taken = []
            while not self.waiting and (step := await self._step()) is not None:
                taken.append(step)
            return taken

        return await self._alone("run", steps)

    @while_open
    async def flush(self) -> list[ExtractionStatus]:
        """Save what is left, as the end of a program must, and return how far each store has come.

        Where facts wait for a decision it goes on in the background when they have been decided on.
        """

        async def flush() -> list[ExtractionStatus]:
            await self._begin(lambda manager: manager.flush())
            return self.status

        return await self._alone("flush", flush)

    @while_open
    async def retry_unreadable(self) -> None:
        """Ask again about the messages whose answer could not be read; the answer may wait for a decision again."""
        await self._alone("retry", lambda: self._begin(lambda manager: manager.retry_unreadable()))

    @while_open
    async def restart(self) -> None:
        """Begin the conversation anew; copies are made anew, what reached the stores themselves stays there."""
        self._drop()
        self._changed()

    @while_open
    async def set(self, **changes: Any) -> None:
        """Change settings, and begin the conversation anew.

        Args:
            **changes: See :class:`ExtractionSettings`; None brings back what the stores' own settings say.

        Raises:
            ConfigError: An unknown setting or value; nothing was changed.
        """
        self.settings = replace(self.settings, **checked(changes))
        await self.restart()

    # -- deciding -----------------------------------------------------------------------------------------------

    @while_open
    async def accept(self, fact: Fact | str | None = None, content: str | None = None) -> list[Fact]:
        """Have a proposed fact written, with another text where one is given; one whose write failed is tried again.

        Args:
            fact: The fact, its id or its text; None for all that wait.
            content: Its new text.

        Returns:
            The facts that this was about. Their ``state`` says what became of them, such as ``written`` or ``failed``;
            the others of a batch that still wait hold up the write.

        Raises:
            ConfigError: It was decided on already, or the new text is blank, cannot be stored, or names no one fact.
            EntryNotFoundError: There is no such fact.
        """
        replay = await self._opened()
        facts = replay.desk.find(fact)
        if content is not None and fact is None and len(facts) > 1:
            ids = tuple(each.id for each in facts)
            raise ConfigError(
                f"Extraction: {len(ids)} facts wait, one text is not that of all; name its fact: {', '.join(ids)}.",
                key="fact",
                allowed=ids,
            )
        if content is not None:
            for each in facts:
                checked_text(content, f"fact {each.id}")
            for each in facts:
                replay.edit(each, content)
        return await self._decided(replay, facts, "accepted")

    @while_open
    async def reject(self, fact: Fact | str | None = None) -> list[Fact]:
        """Have a proposed fact not written, or one whose write failed not tried again; see :meth:`accept`."""
        replay = await self._opened()
        return await self._decided(replay, replay.desk.find(fact), "rejected")

    async def _decided(self, replay: Replay, facts: list[Fact], state: FactState) -> list[Fact]:
        if replay.decide(facts, state):
            replay.begin(replay.manager.retry_unwritten())
        await self._quiet()
        return facts

    @while_open
    async def edit(self, fact: Fact | str, content: str) -> None:
        """Change the text of a proposed fact, or of one whose write failed. See :meth:`accept`."""
        replay = await self._opened()
        replay.edit(replay.desk.find(fact)[0], content)

    @while_open
    async def compare(self, prompt_a: str = "", prompt_b: str = "") -> PromptComparison:
        """Return what two prompts make of the whole conversation; nothing is written.

        Each store's model is asked, on the messages that its filter leaves, as in a run.

        Args:
            prompt_a: The first system prompt; "" is the default one.
            prompt_b: The second.

        Raises:
            ConfigError: A prompt is no text.
        """

        async def compare() -> PromptComparison:
            asked = questions(self.bench.source.stores, self.settings, self.messages, self.model)
            stores = self.stores or self.bench.source.stores
            self.comparison = await compare_prompts(asked, (prompt_a, prompt_b), stores)
            return self.comparison

        return await self._alone("compare", compare)

    # -- as a panel asks for it ---------------------------------------------------------------------------------

    async def settled(self) -> None:
        """Return when nothing is under way any more, but for facts that wait for a decision."""
        await self.bench.settled()
        await super().settled()

    def close(self) -> None:
        """End what runs; the workbench goes on."""
        self._undo()
        self._drop()
        super().close()

    # -- inside -------------------------------------------------------------------------------------------------

    async def _step(self) -> ReplayStep | None:
        replay = await self._opened()
        step = await replay.agent.step()
        await self._quiet()
        return step

    async def _begin(self, work: Callable[[MemoryManager], Awaitable[Any]]) -> None:
        """Have the manager do what may wait for decisions: then it goes on behind this."""
        replay = await self._opened()
        replay.begin(work(replay.manager))
        await self._quiet()

    async def _opened(self) -> Replay:
        if self.replay is None:
            replay = await open_replay(self.bench, self.settings, copied(self.messages), self.model, self._changed)
            replay.manager.extraction_log.subscribe(partial(self._logged, replay))
            self.replay = replay
        return self.replay

    def _logged(self, replay: Replay, event: Event) -> None:
        replay.story.take(event)
        replay.desk.take_note(event)
        self._changed()

    async def _quiet(self) -> None:
        """Wait until every save has ended or waits for a decision."""
        if self.replay is not None:
            news = asyncio.Event()  # of this loop
            self._news.add(news)
            try:
                await self.replay.quiet(news)
            finally:
                self._news.discard(news)
            self._changed()

    async def _alone(self, name: str, work: Callable[[], Awaitable[_Result]]) -> _Result:
        """Run an action when those before it have ended; starting over cuts it off."""
        async with self._turn():
            self.busy, self.refused = name, ""
            self._changed()
            task = asyncio.ensure_future(work())
            self._task = task
            try:
                return await task
            except asyncio.CancelledError:
                if self._task is not task:
                    what = "The panel was closed" if self._refresher.closed else "The extraction was started over"
                    raise StaleTraceError(f"{what} meanwhile.") from None
                raise
            finally:
                self.busy = ""
                self._changed()

    def _turn(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not loop:
            self._lock = (loop, asyncio.Lock())
        return self._lock[1]

    def _drop(self) -> None:
        """Let go of the run: what it still does is cut off."""
        replay, task = self.replay, self._task
        self.replay, self.comparison, self._task = None, None, None
        if task is not None:
            task.cancel()
        if replay is not None:
            replay.close()

    def _source_seen(self) -> tuple[Any, ...]:
        bench = self.bench
        return (bench.source.stores, bench.messages, bench.settings)

    def _follow(self) -> None:
        """Begin anew when the workbench has another source, conversation or injection."""
        seen = self._source_seen()
        if seen != self._seen:
            self._seen = seen
            self._drop()
            self._changed()

    def _changed(self) -> None:
        self.revision += 1
        self._publish()

    def _publish(self) -> None:
        for news in tuple(self._news):
            news.set()
        super()._publish()


def _model_of(agent: Any) -> Any:
    """Return the model that an agent would extract with, in memwb's form; None without an agent that has one."""
    model = getattr(agent, "aux_model", None) or getattr(agent, "model", None)
    if callable(getattr(model, "complete", None)) or not callable(getattr(model, "stream", None)):
        return model
    return strands.model(model)
