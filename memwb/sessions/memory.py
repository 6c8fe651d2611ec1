"""Session memory: the messages of conversations, kept in a store and shortened by summaries when they grow long."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from .. import _time
from .._text import counted, said
from ..errors import ConfigError, EntryNotFoundError, SummaryError
from .messages import ContextMessage, context_message, message_parts, with_content
from .preview import Outcome, SummaryEvent, SummaryPreview
from .summarize import (
    TIME_LIMIT,
    SummarizeStrategy,
    ask,
    check_shrinks,
    checked_count,
    checked_model,
    checked_time_limit,
)
from .swap import Overtaken, entry_class, swap_in, swap_out
from .types import MemoryEntry, MemoryStore

_EVENTS = 1_000
_KNOWN = 10_000
_TICK = 1e-6  # seconds between two entries of one moment, which stores order by their times
_PATIENCE = 10  # the most entries that are added after a failure before a model is asked again


class Memory:
    """The memory of conversations: each message of a session as an entry of a store.

    With a model, a session that has more than ``max_messages`` entries is summarised after the next :meth:`add`: the
    first entries are pinned, the last ones kept, the middle becomes one summary; see :class:`SummarizeStrategy`. The
    model is asked while others go on adding. Until its answer is there nothing changes, and a failure changes nothing:
    it is logged, noted in :attr:`events`, and tried again when the session has grown.

    ``async with`` closes the store at the end. It can be used again afterwards.

    Args:
        store: Where entries are kept: any store that follows :class:`MemoryStore`, Definable's own included. Default: a
            new InMemoryStore.
        model: Who summarises: something with Definable's async ``ainvoke``, or memwb's ``complete(system, messages)``.
            None: nothing is summarised.
        enabled: Whether :meth:`add` stores anything.
        max_messages: How many entries a session may have before it is summarised, at least 1.
        pin_count: How many entries stay at the start.
        recent_count: How many entries stay at the end.
        description: Told to an agent about this memory.
        time_limit: Seconds that the model may take.

    Attributes:
        events: What became of the latest summaries, oldest first.

    Raises:
        ConfigError: A setting has a wrong value, or with a model, no summary could ever bring a session to its limit.
    """

    def __init__(
        self,
        store: MemoryStore | None = None,
        model: Any = None,
        enabled: bool = True,
        max_messages: int = 100,
        pin_count: int = 2,
        recent_count: int = 5,
        description: str | None = None,
        *,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        if store is None:
            from .stores.in_memory import InMemoryStore

            store = InMemoryStore()
        self.store: Any = _checked_store(store)
        self.model = checked_model(model)
        if not isinstance(enabled, bool):
            raise ConfigError(
                f"Memory: enabled is {enabled!r:.80}; it must be True or False.", key="enabled", value=enabled
            )
        if not (description is None or isinstance(description, str)):
            told = f"Memory: description is {description!r:.80}; it must be a text or None."
            raise ConfigError(told, key="description", value=description)
        self.enabled = enabled
        self.max_messages = checked_count("max_messages", max_messages, 1)
        self.pin_count = checked_count("pin_count", pin_count)
        self.recent_count = checked_count("recent_count", recent_count)
        self.description = description
        self.time_limit = checked_time_limit(time_limit)
        self.events: list[SummaryEvent] = []
        self._starting: Any = None
        self._ready = False
        self._last: dict[tuple[str, str], float] = {}
        self._summarising: set[tuple[str, str]] = set()
        self._failed: dict[tuple[str, str], tuple[int, int]] = {}  # entries there were, and failures in a row
        if model is not None:
            check_shrinks(self.max_messages, self.pin_count, self.recent_count)

    def __repr__(self) -> str:
        model = "no model" if self.model is None else f"summarised above {self.max_messages} by {_named(self.model)}"
        return f"Memory({_named(self.store)}; {model}{'' if self.enabled else '; switched off'})"

    # -- reading ------------------------------------------------------------------------------------------------

    async def get_entries(
        self, session_id: str = "default", user_id: str = "default", limit: int | None = None
    ) -> list[MemoryEntry]:
        """Return a session's entries, the oldest first; with ``limit`` only the newest so many.

        Raises:
            ConfigError: ``limit`` is no whole number of at least 0.
        """
        if limit is not None:
            checked_count("limit", limit)
        await self._started()
        entries: list[MemoryEntry] = await self.store.get_entries(session_id, user_id)
        return entries if limit is None else entries[len(entries) - min(limit, len(entries)) :]

    async def get_context_messages(self, session_id: str = "default", user_id: str = "default") -> list[ContextMessage]:
        """Return a session as messages for a model, the oldest first, tool calls as they were added.

        A summary comes as a message of the role ``system``, its text quoted between ``<summary>`` and ``</summary>``
        with & < > escaped.
        """
        return [context_message(entry) for entry in await self.get_entries(session_id, user_id)]

    # -- writing ------------------------------------------------------------------------------------------------

    async def add(self, message: Any, session_id: str = "default", user_id: str = "default") -> MemoryEntry | None:
        """Store a message as the newest of its session, and summarise the session where it has grown too long.

        Args:
            message: Any object or dict with ``role`` and ``content`` (a text, None, or a list of blocks); its
                ``tool_calls`` or ``tool_call_id`` are kept.
            session_id: The session.
            user_id: Its user.

        Returns:
            The entry; None where the memory is switched off. Once it is returned it is stored: a summary that fails
            raises nothing.

        Raises:
            ConfigError: It is no message; the error names the field.
        """
        if not self.enabled:
            return None
        parts = message_parts(message, session_id, user_id)
        await self._started()
        time = await self._next_time(session_id, user_id)
        made: MemoryEntry = entry_class(self.store)(**parts, memory_id=_time.new_id(), created_at=time, updated_at=time)
        await self.store.add(made)
        await self._shorten(session_id, user_id)
        return made

    async def update(self, memory_id: str, content: str) -> MemoryEntry:
        """Give an entry another text and return it; its time of change moves, its calls and ids stay.

        Raises:
            EntryNotFoundError: The store has no such entry.
        """
        await self._started()
        entry = await self.store.get_entry(memory_id)
        if entry is None:
            raise EntryNotFoundError(memory_id, _named(self.store))
        data = with_content(entry, content)
        changed: MemoryEntry = replace(entry, content=content, message_data=data, updated_at=_time.now().timestamp())
        await self.store.update(changed)
        return changed

    async def delete(self, memory_id: str) -> None:
        """Remove an entry; nothing happens where there is none."""
        await self._started()
        await self.store.delete(memory_id)

    async def clear(self, session_id: str, user_id: str | None = "default") -> None:
        """Remove the entries of a session: those of one user, or with ``user_id=None`` of all users."""
        await self._started()
        await self.store.delete_session(session_id, user_id)

    async def close(self) -> None:
        """Close the store; it opens again when it is used next."""
        self._ready, self._starting = False, None
        await self.store.close()

    async def __aenter__(self) -> Self:
        await self._started()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    # -- summaries ----------------------------------------------------------------------------------------------

    async def preview_summary(
        self, session_id: str = "default", user_id: str = "default", *, ask_model: bool = True
    ) -> SummaryPreview:
        """Return what a summary would pin, replace and keep, and what the model answers. Nothing is changed.

        Args:
            session_id: The session.
            user_id: Its user.
            ask_model: Whether the model is asked; else there is the prompt, and no answer.
        """
        entries = await self.get_entries(session_id, user_id)
        strategy = SummarizeStrategy(self.pin_count, self.recent_count, time_limit=self.time_limit)
        plan = strategy.plan(entries)
        preview = SummaryPreview(session_id, user_id, plan)
        if not plan.replaced:
            there = counted(len(entries), "entry", "entries")
            problem = f"of {there} fewer than two lie between those that are pinned and those that are kept"
            return replace(preview, problem=problem)
        if not ask_model:
            return preview
        if self.model is None:
            return replace(preview, problem="there is no model to ask")
        try:
            return replace(preview, answer=await ask(self.model, preview.prompt, self.time_limit))
        except SummaryError as error:
            return replace(preview, problem=error.reason)

    async def apply_summary(self, preview: SummaryPreview) -> MemoryEntry:
        """Put a summary in the place of what it replaces, and return its entry.

        Entries that were added since the preview stay where they are. The entries replaced are kept in the summary's
        message data, so that :meth:`undo_summary` can bring them back, in another process too.

        Raises:
            ConfigError: It is no preview.
            SummaryError: There is no answer, or a blank one, or an entry that it replaces was changed or removed
                meanwhile. Nothing was changed. What a store raises is passed on, the session being as it was.
        """
        if not isinstance(preview, SummaryPreview):
            told = f"Memory: {preview!r:.80} is no preview; give what preview_summary returned."
            raise ConfigError(told, key="preview", value=preview)
        summary = preview.summary
        if summary is None:
            raise SummaryError(f"{preview.problem or 'the model has not been asked'}.")
        if not isinstance(preview.answer, str) or not preview.answer.strip():
            raise SummaryError(f"its text is {preview.answer!r:.80}; a summary must be a text that is not blank.")
        await self._started()
        written = await swap_in(self.store, summary, preview.replaced)
        shorter = f"{counted(len(preview.replaced), 'entry', 'entries')} became one summary"
        self._note(preview.session_id, preview.user_id, "written", shorter)
        return written

    async def undo_summary(self, session_id: str = "default", user_id: str = "default") -> list[MemoryEntry]:
        """Bring back the entries that the session's summary replaced, take the summary away, and return them.

        It reaches back one summary: an earlier one that comes back is final.

        Raises:
            SummaryError: The session has no summary, or one that was written elsewhere and keeps no entries, or what it
                keeps is damaged. Nothing was changed.
        """
        await self._started()
        back = await swap_out(self.store, session_id, user_id)
        text = f"{counted(len(back), 'entry', 'entries')} came back in place of the summary"
        self._note(session_id, user_id, "undone", text)
        return back

    async def _shorten(self, session_id: str, user_id: str) -> None:
        """Summarise a session that has grown too long; one at a time, and a failure is noted, never raised."""
        key = session_id, user_id
        if self.model is None or key in self._summarising:
            return
        self._summarising.add(key)
        try:
            check_shrinks(self.max_messages, self.pin_count, self.recent_count)
            count = await self.store.count(session_id, user_id)
            before, failures = self._failed.get(key, (0, 0))
            if count <= self.max_messages or (failures and count - before < min(failures, _PATIENCE)):
                return
            self._failed[key] = count, failures + 1  # until it is done
            preview = await self.preview_summary(session_id, user_id)
            if preview.replaced and preview.problem:
                self._note(session_id, user_id, "failed", preview.problem)
            elif preview.replaced:
                await self.apply_summary(preview)
                del self._failed[key]
        except Overtaken as error:  # somebody else has summarised or changed the session meanwhile
            self._failed.pop(key, None)
            import logging

            logging.getLogger(__name__).info("Memory: session %r of user %r: %s", session_id, user_id, error)
        except Exception as error:
            self._note(session_id, user_id, "failed", f"{type(error).__name__}: {said(error)}")
        finally:
            self._summarising.discard(key)

    def _note(self, session_id: str, user_id: str, outcome: Outcome, text: str) -> None:
        self.events.append(SummaryEvent(session_id, user_id, outcome, text))
        del self.events[:-_EVENTS]
        if outcome == "failed":
            message = "Memory: session %r of user %r was not summarised, its entries stay as they are: %s"
            import logging

            logging.getLogger(__name__).warning(message, session_id, user_id, text)

    # -- the store ----------------------------------------------------------------------------------------------

    async def _started(self) -> None:
        """Initialise the store once, however many first calls come at the same time."""
        if self._ready:
            return
        import asyncio

        loop = asyncio.get_running_loop()
        if self._starting is None or self._starting.get_loop() is not loop:
            self._starting = loop.create_task(self.store.initialize())
        starting = self._starting
        try:
            await asyncio.shield(starting)
        except BaseException:
            if starting.done():
                self._starting = None  # tried again at the next call
            raise
        self._ready = True

    async def _next_time(self, session_id: str, user_id: str) -> float:
        """Return the time for a new entry: now, but later than the session's last."""
        key = session_id, user_id
        if key not in self._last:
            newest = {"limit": 1} if hasattr(self.store, "replace_session") else {}  # elsewhere it may be the oldest
            entries = await self.store.get_entries(session_id, user_id, **newest)
            last = max((entry.created_at or 0.0 for entry in entries), default=0.0)
            self._last[key] = max(last, self._last.get(key, 0.0))  # another add may have come meanwhile
        if len(self._last) > _KNOWN:
            self._last = {key: self._last[key]}
        now = _time.now().timestamp()
        self._last[key] = now if now > self._last[key] else self._last[key] + _TICK
        return self._last[key]


def _checked_store(store: Any) -> Any:
    if isinstance(store, MemoryStore) and not isinstance(store, type):
        return store
    given = f"the class {store.__name__}" if isinstance(store, type) else f"{type(store).__name__} {store!r:.80}"
    hint = f"SQLiteStore({store!r:.80})" if isinstance(store, str) else 'SQLiteStore("memory.db")'
    raise ConfigError(
        f"Memory: {given} is no store of sessions. Give a store, such as {hint}, or any object with the methods of "
        "memwb.sessions.MemoryStore.",
        key="store",
        value=store,
    )


def _named(value: object) -> str:
    return type(value).__name__
