"""The injection itself: trigger, query, search, format, fold.

There is one pipeline. The preview, a real injection, an evaluation and an export all run it, and each stage ends in
an outcome of its own, so that "nothing found" and "the store is down" never look alike. The order and the rules are
those of the Strands Agents SDK; where the SDK would abort the agent's call or inject nothing without a word because a
callback returned something of the wrong type, the stage fails here and injects nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Any

from .._text import counted, cropped, quoted, said, visible
from ..errors import BrokenStoreError, MemwbError, StoresFailedError
from .messages import check_messages, copied, fold, is_user_turn, latest, text
from .search import StoreAnswer, ask_stores
from .settings import Injection
from .trace import STAGES, InjectionTrace, Stage, StageName, nothing_found
from .types import InjectionContext, InjectionFormatContext, InjectionQueryContext, MemoryEntry, Message, identified

_log = logging.getLogger("memwb.memory")

Call = Callable[[Callable[[Any], Any], Any], Awaitable[Any]]
"""Runs ``callback(context)`` for the pipeline; a workbench puts its time limit here."""


class _Skip(Exception):
    """A stage ends the injection, for a reason and without a fault."""


class _Run:
    """The state of one run: what the stages so far have found."""

    def __init__(self, stores: Sequence[Any], messages: Sequence[Message], settings: Injection) -> None:
        self.stores, self.settings = stores, settings
        self.messages: list[Message] = list(messages)
        self.folded: list[Message] = self.messages
        self.query: str | None = None
        self.answers: list[StoreAnswer] = []
        self.entries: list[MemoryEntry] = []
        self.text: str | None = None


async def run_injection(
    stores: Sequence[Any],
    messages: Sequence[Message],
    settings: Injection | None,
    *,
    state: Any = None,
    agent: Any = None,
    call: Call | None = None,
    host_placement: str | None = None,
) -> InjectionTrace:
    """Run the injection over ``messages`` and return its trace; ``settings`` None means that it is off."""
    if settings is None:
        off = [Stage("trigger", "skipped", "injection is off"), *(Stage(name) for name in STAGES[1:])]
        return InjectionTrace(stages=off, messages=messages, settings=None)
    run = _Run(stores, messages, settings)
    context = InjectionContext(messages=run.messages, state=state, agent=agent)
    call = call or _directly
    steps: dict[StageName, Callable[[], Awaitable[str]]] = {
        "trigger": lambda: _trigger(run, context, call),
        "query": lambda: _query(run, call),
        "search": lambda: _search(run),
        "format": lambda: _format(run, call),
        "fold": lambda: _fold(run),
    }
    stages: list[Stage] = []
    for name, step in steps.items():
        stages.append(await _ended(name, step))
        if stages[-1].status != "done":
            break
    stages.extend(Stage(name) for name in STAGES[len(stages) :])
    return InjectionTrace(
        stages=stages,
        messages=run.folded,
        settings=settings,
        query=run.query,
        answers=run.answers,
        entries=run.entries,
        text=run.text,
        host_placement=host_placement,
    )


async def _directly(callback: Callable[[Any], Any], context: Any) -> Any:
    return callback(context)


async def _ended(name: StageName, step: Callable[[], Awaitable[str]]) -> Stage:
    """Run one stage. The broad except is the boundary at which the agent's call goes on without memory."""
    started = perf_counter()
    try:
        reason = await step()
    except _Skip as skip:
        return Stage(name, "skipped", str(skip), seconds=perf_counter() - started)
    except Exception as error:
        _log.warning("injection failed at %s: %r; the model call goes on without memory", name, error)
        return Stage(name, "failed", _sentence(error), error, perf_counter() - started)
    return Stage(name, "done", reason, seconds=perf_counter() - started)


def _sentence(error: Exception) -> str:
    """Say what an exception says; of a text without end only the beginning, since screens and files keep reasons."""
    message = visible(cropped(said(error)))
    if isinstance(error, MemwbError):
        return cropped(message)
    return cropped(f"{type(error).__name__}: {message}" if message else type(error).__name__)


async def _trigger(run: _Run, context: InjectionContext, call: Call) -> str:
    check_messages(run.messages)
    trigger = run.settings.trigger
    if trigger == "everyTurn":
        return "'everyTurn' fires before every model call"
    if trigger == "userTurn":
        if is_user_turn(run.messages):
            return "'userTurn', the last message is the user's own"
        raise _Skip(f"'userTurn', {_last_message(run.messages)}")
    assert callable(trigger)
    context.messages = copied(run.messages)
    if not _plain(await call(trigger, context), "trigger", "true or false"):
        raise _Skip(f"the predicate {_name(trigger)} said no")
    return f"the predicate {_name(trigger)} said yes"


def _last_message(messages: Sequence[Message]) -> str:
    if not messages:
        return "there is no message"
    if messages[-1]["role"] == "user":
        return "the last message is a tool result"
    return f"the last message is the {messages[-1]['role']}'s"


async def _query(run: _Run, call: Call) -> str:
    callback = run.settings.query
    if callback is None:
        role = "user" if is_user_turn(run.messages) else "assistant"
        message = latest(run.messages, role)
        run.query = text(message) if message else None
        source = f"the latest {role} message"
        if not run.query:
            raise _Skip(f"there is no text in {source}" if message else f"there is no {role} message")
        return f"{source}: {quoted(run.query)}"
    result = _plain(await call(callback, InjectionQueryContext(copied(run.messages))), "query", "text or None")
    if result is not None and not isinstance(result, str):
        raise TypeError(f"the query callback {_name(callback)} returned {_kind(result)}; text or None is expected")
    run.query = result
    if result is None or not result.strip():
        shown = "None" if result is None else "blank text"
        raise _Skip(f"the query callback {_name(callback)} returned {shown}")
    return f"the callback {_name(callback)}: {quoted(result)}"


async def _search(run: _Run) -> str:
    assert run.query is not None
    limit = run.settings.max_entries
    run.answers = await ask_stores(run.stores, run.query, [limit] * len(run.stores))
    found = [entry for answer in run.answers for entry in answer.entries]
    failed = [answer for answer in run.answers if answer.error is not None]
    for answer in failed:
        if isinstance(answer.error, BrokenStoreError):  # it ends the SDK's search, the other stores' entries included
            raise answer.error
    if not found and failed:
        raise StoresFailedError({answer.store.name: answer.error for answer in failed if answer.error is not None})
    if not found:
        raise _Skip(await nothing_found(run.stores, run.query))
    run.entries = found[:limit]
    kept = f"{counted(len(found), 'hit')}, {len(run.entries)} kept (max_entries {limit})"
    return kept + (f"; failed: {', '.join(visible(answer.store.name) for answer in failed)}" if failed else "")


async def _format(run: _Run, call: Call) -> str:
    callback = run.settings.format
    if callback is None:
        run.text = default_format(run.entries)
        return f"the default block, {counted(len(run.text), 'character')}"
    # The callback's context holds copies: what it does to them stays its own.
    context = InjectionFormatContext([_entry_copy(entry) for entry in run.entries])
    result = _plain(await call(callback, context), "format", "text")
    if not isinstance(result, str):
        raise TypeError(f"the format callback {_name(callback)} returned {_kind(result)}; text is expected")
    run.text = result
    if not result.strip():
        raise _Skip(f"the format callback {_name(callback)} returned blank text")
    return f"the callback {_name(callback)}, {counted(len(result), 'character')}"


async def _fold(run: _Run) -> str:
    assert run.text is not None
    folded = fold(run.messages, run.text, run.settings.placement)
    if folded is None:
        raise _Skip("there is no user message to fold the block into")
    run.folded = folded
    return f"{run.settings.placement}ed to the last user message"


def default_format(entries: Sequence[MemoryEntry]) -> str:
    """Render entries as Strands' default block: ``<memory>``, one escaped ``<entry>`` a line, ``</memory>``."""
    lines = ["<memory>"]
    for entry in entries:
        source = f' source="{escape_attribute(entry.store_name)}"' if entry.store_name else ""
        lines.append(f"<entry{source}>{escape_text(entry.content)}</entry>")
    return "\n".join([*lines, "</memory>"])


def escape_text(value: str) -> str:
    """Escape ``&``, ``<`` and ``>`` for XML text."""
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_attribute(value: str) -> str:
    """Escape text for a quoted XML attribute: as :func:`escape_text`, and both quotation marks."""
    return escape_text(value).replace('"', "&quot;").replace("'", "&#39;")


def _entry_copy(entry: MemoryEntry) -> MemoryEntry:
    return identified(MemoryEntry(entry.content, entry.store_name, copied(entry.metadata)), entry.id)


def _plain(result: Any, what: str, expected: str) -> Any:
    """Refuse an awaitable: callbacks are called without await."""
    if hasattr(result, "__await__"):
        if hasattr(result, "close"):
            result.close()  # else Python warns of a coroutine that was never awaited
        raise TypeError(f"the {what} callback returned an awaitable; {expected} is expected, from a plain function")
    return result


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {quoted(repr(value), 40)}"


def _name(callback: Any) -> str:
    return str(getattr(callback, "__name__", type(callback).__name__))
