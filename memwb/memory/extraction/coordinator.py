"""Saves an agent's messages to its stores in the background: once each, in order, and not lost when a save fails.

Every message is numbered and buffered. When a store's trigger fires, the messages beyond the store's high-water mark
are saved; the mark moves before the save and goes back where it fails. A store's saves run one at a time, those of
different stores at the same time. Each runs as a task of the loop on which it was asked for. A loop that ends cuts its
saves off: these have failed like others, and the next request or flush, on whatever loop, tries again.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import partial
from time import perf_counter
from typing import Any

from ...errors import ConfigError
from .._tasks import a_loop_runs, cuts_off, finished, give_up
from ..events import AfterInvocation, MessageAdded
from ..messages import check_messages
from .batches import Batch, ExtractionStatus, Line, Request
from .filter import Numbered, filtered
from .folds import Folds
from .happenings import (
    Buffered,
    Event,
    Failed,
    Filtered,
    Fired,
    Flushed,
    Saved,
    Skipped,
    TurnEnded,
    Unreadable,
    error_told,
)
from .log import ExtractionLog
from .resolve import Extraction
from .saving import Review, Sink, save_batch
from .triggers import HOOK_ORDER
from .types import ExtractionResult, ExtractionTriggerContext

_log = logging.getLogger("memwb.memory")

_SAVE: ContextVar[Request | None] = ContextVar("memwb_save", default=None)
"""The save that the running code is part of: what reviews, extracts or writes must not wait for its own save."""


class Coordinator:
    """The extraction of one agent.

    Args:
        agent: Whose messages it extracts from, as soon as it is attached.
        agent_number: Which agent of the manager it is, from 1.
        stores: The stores that extract, in their order, with their settings.
        log: Where events go.
        folds: What the manager has injected.
        default_model: For extractors without a model of their own.
        review: Looks through proposed facts; see ``MemoryManager.review``.
        changed: Called when messages have begun or ceased to wait.
    """

    def __init__(
        self,
        agent: Any,
        agent_number: int,
        stores: Sequence[tuple[Any, Extraction]],
        log: ExtractionLog,
        folds: Folds,
        default_model: Any,
        review: Callable[[], Review | None],
        changed: Callable[[Coordinator], None],
    ) -> None:
        self.number = agent_number
        self._lines = {store.name: Line(store, settings) for store, settings in stores}
        self._log, self._folds, self._model = log, folds, default_model
        self._review, self._changed = review, changed
        self._agent = _referring(agent)
        self._buffer: list[Numbered] = []
        self._next = 0
        self._turns = 0  # invocations that have ended
        self._turn = 1  # the one that events belong to: what follows its end is still its own
        self._lock = threading.Lock()  # for short changes only, never held while something is awaited

    def attach(self, agent: Any) -> None:
        """Hook into the agent: its messages, the end of its invocations, and the stores' triggers."""
        agent.add_hook(self._message_added, MessageAdded, order=HOOK_ORDER)
        agent.add_hook(self._invocation_ended, AfterInvocation, order=HOOK_ORDER)
        for line in self._lines.values():
            for trigger in line.settings.triggers:
                name = str(getattr(trigger, "name", type(trigger).__name__))
                fire = partial(self._fired, line, name)
                trigger.attach(ExtractionTriggerContext(agent=agent, fire=fire))

    def serves(self, agent: Any) -> bool:
        """Whether it is this agent's."""
        return self._agent() is agent

    @property
    def owes(self) -> bool:
        """Whether a message waits to be saved or a save is under way."""
        with self._lock:
            waits = any(line.queue or line.open or self._unreadable(line) for line in self._lines.values())
            return bool(self._buffer) or waits

    @property
    def busy(self) -> bool:
        """Whether a save is under way."""
        return any(line.queue for line in self._lines.values())

    @property
    def called_by_itself(self) -> bool:
        """Whether the caller is a part of one of its saves, such as a review, so that waiting for them has no end."""
        save = _SAVE.get()
        return save is not None and any(save in line.queue for line in self._lines.values())

    def status(self) -> list[ExtractionStatus]:
        """Return how far each store has come, in store order."""
        with self._lock:
            return [
                ExtractionStatus(
                    agent=self.number,
                    store=line.name,
                    turns=self._turns,
                    buffered=len(self._buffer),
                    mark=line.mark,
                    saved=line.saved,
                    pending=line.pending(self._buffer),
                    saving=line.current.numbers if line.current else (),
                    unwritten=tuple(text for batch in line.open for text in batch.unwritten),
                    unreadable=tuple(number for kept in self._unreadable(line) for number in kept.numbers),
                    failures=line.failures,
                    backing_off=line.backing_off,
                )
                for line in self._lines.values()
            ]

    def _unreadable(self, line: Line) -> list[Unreadable]:
        return [kept for kept in self._log.unreadable if (kept.agent, kept.store) == (self.number, line.name)]

    # What the agent tells

    def _message_added(self, event: MessageAdded) -> None:
        try:
            check_messages([event.message])
        except ConfigError as error:  # a hook must not end the agent's call
            _log.warning("a message cannot be extracted from and is left out: %s", error)
            return
        with self._lock:
            self._turn = self._turns + 1
            item = Numbered(self._next, event.message, self._folds.found_in(event.message))
            self._next += 1
            self._buffer.append(item)
        self._changed(self)
        self._tell(Buffered, item.number, item.message)

    def _invocation_ended(self, event: AfterInvocation) -> None:
        with self._lock:
            self._turns += 1
            self._turn = self._turns
        self._tell(TurnEnded)

    def _fired(self, line: Line, trigger: str) -> None:
        """Begin a save in the background; called by a trigger."""
        self._tell(Fired, line.name, trigger, self._pending(line))
        with self._lock:
            due = line.is_due()
        if not due:
            self._tell(Skipped, line.name, line.failures, f"{line.failures} failures in a row, every third is tried")
        elif not a_loop_runs():
            self._tell(Skipped, line.name, line.failures, "no event loop runs here; the next request or flush saves")
        else:
            self._enqueue(line, partial(self._save, line))

    def _pending(self, line: Line) -> tuple[int, ...]:
        with self._lock:
            return line.pending(self._buffer)

    def _tell(self, kind: type[Event], *fields: Any, **named: Any) -> Event:
        event = kind(*fields, **named, agent=self.number, turn=self._turn)
        outside = _SAVE.set(None)  # a listener is no part of the save: it may start what waits for it
        try:
            self._log.append(event)
        finally:
            _SAVE.reset(outside)
        return event

    # What a caller asks for

    def begin_flush(self) -> None:
        """Ask for a save of every store, whatever has failed before."""
        for line in self._lines.values():
            self._tell(Fired, line.name, "flush", self._pending(line))
            self._enqueue(line, partial(self._save, line))

    def begin_retry(self) -> None:
        """Ask for another extraction of every unreadable answer's messages."""
        for line in self._lines.values():
            kept = self._unreadable(line)
            if kept:
                self._tell(Fired, line.name, "retry", tuple(number for each in kept for number in each.numbers))
                self._enqueue(line, partial(self._extract_again, line, kept))

    def begin_unwritten(self) -> None:
        """Ask for another try of the facts that are known and not written; no new message is read."""
        for line in self._lines.values():
            if line.open:
                self._tell(Fired, line.name, "retry", tuple(number for batch in line.open for number in batch.numbers))
                self._enqueue(line, partial(self._save, line, open_only=True))

    def change_unwritten(self, store: str, content: str, to: ExtractionResult | None) -> bool:
        """Change a fact whose write failed; see ``MemoryManager.change_unwritten``."""
        with self._lock:
            return store in self._lines and self._lines[store].change_unwritten(content, to)

    async def idle(self) -> None:
        """Wait until no save is under way, those included that begin meanwhile."""
        while last := self._last():
            for line, request in last:
                await self._ended(line, request)

    def _last(self) -> list[tuple[Line, Request]]:
        with self._lock:
            return [(line, line.queue[-1]) for line in self._lines.values() if line.queue]

    def cut_off(self) -> None:
        """Cancel the saves that are under way or wait for their turn."""
        with self._lock:
            tasks = [request.task for line in self._lines.values() for request in line.queue]
        for task in tasks:
            if not task.get_loop().is_closed():
                task.get_loop().call_soon_threadsafe(task.cancel)

    def end_flush(self) -> None:
        """Tell what a flush has left."""
        lines = list(self._lines.values())
        left = {number for line in lines for number in self._pending(line)}
        kept = {number for line in lines for answer in self._unreadable(line) for number in answer.numbers}
        self._tell(Flushed, tuple(sorted(left)), tuple(sorted(kept)))

    # One save at a time

    def _enqueue(self, line: Line, work: Callable[[Request], Awaitable[None]]) -> None:
        import asyncio

        request = Request(work)
        with self._lock:
            request.task = asyncio.get_running_loop().create_task(self._run(line, request))
            request.task.add_done_callback(_heard)
            line.queue.append(request)

    async def _run(self, line: Line, request: Request) -> None:
        _SAVE.set(request)
        try:
            while (before := self._before(line, request)) is not None:
                await self._ended(line, before)
            if not request.given_up:
                await request.work(request)
        finally:
            with self._lock:
                if request in line.queue:
                    line.queue.remove(request)
            self._changed(self)

    def _before(self, line: Line, request: Request) -> Request | None:
        """Return the request that this one waits for."""
        with self._lock:
            at = line.queue.index(request) if request in line.queue else 0
            return line.queue[at - 1] if at else None

    async def _ended(self, line: Line, request: Request) -> None:
        """Wait for a request, and take it out of the queue where its loop has left it there."""
        await finished(request.task)
        with self._lock:
            if request not in line.queue:
                return
            line.queue.remove(request)
            request.given_up = True
        give_up(request.task)
        if request.batch is not None:
            self._failed(line, request, request.batch, RuntimeError("its event loop stands still"), 0.0, True)

    # A save

    async def _save(self, line: Line, request: Request, open_only: bool = False) -> None:
        """Write the facts that could not be written yet, then take and save what is new."""
        touched = False
        for batch in tuple(line.open):
            touched = True
            await self._settle(line, request, batch)
        new = None if open_only else self._take(line, request)
        if new is not None:
            touched = touched or bool(new.kept)
            await self._settle(line, request, new)
        if touched and not request.failed and not request.given_up:
            line.succeeded()

    def _take(self, line: Line, request: Request) -> Batch | None:
        """Take the messages beyond the mark, which moves."""
        with self._lock:
            fresh = [item for item in self._buffer if item.number > line.taken]
            if not fresh or request.given_up:
                return None
            for item in fresh:  # its host may have folded memory into it since
                item.injected += self._folds.found_in(item.message)
            kept, dropped = filtered(fresh, line.settings.filter.exclude)
            batch = Batch(tuple(item.number for item in fresh), kept, before=line.taken)
            line.taken = fresh[-1].number
            request.batch = batch
        for each in dropped:
            if line.untold(each.number):
                self._tell(Filtered, line.name, each.number, each.kinds, each.whole)
        return batch

    async def _extract_again(self, line: Line, kept: Sequence[Unreadable], request: Request) -> None:
        for each in kept:
            if any(each is other for other in self._log.unreadable):
                messages = [Numbered(number, message) for number, message in zip(each.kept, each.messages, strict=True)]
                await self._settle(line, request, Batch(each.numbers, messages, before=None, again=each))

    async def _settle(self, line: Line, request: Request, batch: Batch) -> None:
        """Do what is left to be done for a batch. The broad except is where a failed save ends: the agent goes on."""
        began = perf_counter()
        with self._lock:
            request.batch = batch
        try:
            unreadable = await save_batch(self._sink(line), batch, partial(self._found, line))
        except BaseException as error:
            cut_off = cuts_off(error, request.task)
            self._failed(line, request, batch, error, perf_counter() - began, cut_off)
            if cut_off:
                raise
            return
        self._done(line, request, batch, unreadable, perf_counter() - began)

    def _sink(self, line: Line) -> Sink:
        return Sink(line.store, line.settings, self._model, self._review(), partial(self._tell_of, line))

    def _tell_of(self, line: Line, kind: type[Event], *fields: Any) -> Any:
        return self._tell(kind, line.name, *fields)

    def _found(self, line: Line, batch: Batch) -> None:
        """Keep a batch whose facts are known until they are written; its messages are not asked about again."""
        with self._lock:
            line.open.append(batch)
        if batch.again is not None:
            self._log.settle(batch.again)

    def _done(self, line: Line, request: Request, batch: Batch, unreadable: Unreadable | None, seconds: float) -> None:
        if request.given_up:  # whoever took over saves it again, and tells of it
            return
        with self._lock:
            request.batch = None
            if batch in line.open:
                line.open.remove(batch)
            self._trim()
        if unreadable is None:
            kept = tuple(item.number for item in batch.kept)
            facts = [(fact.result.content, fact.deduplicated) for fact in batch.facts or ()]
            written = tuple(text for text, known in facts if not known)
            deduplicated = tuple(text for text, known in facts if known)
            fields = (batch.numbers, kept, written, deduplicated, seconds)
            self._tell(Saved, line.name, *fields, as_messages=batch.facts is None and bool(kept))
        elif batch.again is not None:
            self._log.settle(batch.again)  # the newer answer is kept in its place

    def _failed(
        self, line: Line, request: Request, batch: Batch, error: BaseException, seconds: float, cut_off: bool
    ) -> None:
        """Move the mark back to where it was before the batch, and count one failure for the whole save."""
        with self._lock:
            if request.given_up and request.batch is None:  # whoever took over has done this
                return
            request.batch = None
            if batch.facts is None and batch.before is not None:
                line.taken = batch.before
            line.failures += not request.failed
            request.failed = True
            failures = line.failures
        level = logging.ERROR if line.backing_off else logging.WARNING
        told = "it was cut off" if cut_off else error_told(error)
        trace = error if _log.isEnabledFor(logging.DEBUG) else None
        _log.log(level, "saving to store %r failed, %d in a row: %s", line.name, failures, told, exc_info=trace)
        if cut_off:  # it goes on its way, and the frames with it
            error = type(error)(*error.args)
        _let_go_of_frames(error)
        self._tell(Failed, line.name, batch.numbers, error, failures, batch.unwritten, cut_off, seconds)

    def _trim(self) -> None:
        """Let go of the messages that every store has saved."""
        mark = min(line.saved for line in self._lines.values())
        self._buffer = [item for item in self._buffer if item.number > mark]


def check_takes_hooks(agent: Any, stores: Iterable[str]) -> None:
    """Refuse an agent whose messages could never arrive.

    Raises:
        ConfigError: It has no ``add_hook``.
    """
    if not callable(getattr(agent, "add_hook", None)):
        raise ConfigError(
            f"MemoryManager: extraction is on for {', '.join(stores)}, but this {type(agent).__name__} has no "
            "add_hook(callback, event_type, order=100), by which messages and triggers reach it.",
            key="agent",
            value=agent,
        )


def _heard(task: Any) -> None:
    """Take note of what ended a save: the log has told of it, and the event loop need not."""
    if not task.cancelled():
        task.exception()


def _referring(agent: Any) -> Callable[[], Any]:
    """Return what gives the agent as long as it lives; of some classes it cannot be told when that ends."""
    try:
        return weakref.ref(agent)
    except TypeError:
        return lambda: agent


def _let_go_of_frames(error: BaseException) -> None:
    """Forget where an exception, and those behind it, came from: else the log would keep every batch in memory."""
    seen: set[int] = set()
    errors: list[BaseException | None] = [error]
    while errors:
        each = errors.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = None
            errors += [each.__cause__, each.__context__, *_parts(each)]


def _parts(error: BaseException) -> list[BaseException]:
    parts = getattr(error, "errors", None)
    return [part for part in parts if isinstance(part, BaseException)] if isinstance(parts, list) else []
