"""Sessions without a screen: which there are, what was said in one, what a model gets of it, and its summary."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import conversations
from .._text import counted, quoted, shortened
from ..catalog import is_session_store
from ..errors import ConfigError, SummaryError, nearest
from ..sessions import ContextMessage, Memory, MemoryEntry, SessionInfo, SummaryPreview
from ..sessions.messages import context_message
from ..sessions.swap import is_undoable
from .closing import while_open
from .screen import ScreenState
from .session_rows import SessionRows

if TYPE_CHECKING:
    import pandas

    from ..memory import Message
    from .state import WorkbenchState

PAGE_SIZE = 50
"""Entries of a session on one page."""

SETTINGS = ("max_messages", "pin_count", "recent_count", "time_limit")
_FILTERS = ("where", "role", "page")


class SessionsState(ScreenState):
    """What the panel of sessions shows: drive it with ``await``, read its attributes, listen with :meth:`subscribe`.

    Nothing in the store changes but by :meth:`apply` and :meth:`undo`.

    Args:
        store: A store of sessions that lists them, or a Memory, whose model and settings are taken. It stays open when
            this is closed.
        model: Who is asked for a summary; see :class:`memwb.sessions.Memory`.
        bench: The workbench that a session can be opened in.
        **settings: ``max_messages``, ``pin_count``, ``recent_count`` and ``time_limit``, as for a Memory.

    Attributes:
        memory: The memory over the store; it never summarises by itself here.
        rows: The sessions as rows of a table.
        sessions: The sessions there are.
        chosen: The session that is shown, None before one is opened.
        entries: Its entries, all of them.
        where: Text that the entries shown hold, in any letter case.
        role: The role of the entries shown, "" for all.
        page: The page of entries that is shown, from 0; it opens at the last.
        preview: The summary that was previewed last, None before one and after the session has changed.
        busy: What is under way, in a sentence, or "".
        failure: Why the store could not be read, or "".
        refused: Why the last action was not done, or "".
        revision: How many refreshes and actions are complete.

    Raises:
        ConfigError: It is no such store, or a setting has a wrong value.
    """

    def __init__(self, store: Any, model: Any = None, bench: WorkbenchState | None = None, **settings: Any) -> None:
        super().__init__()
        self.memory = _memory(store, model, settings)
        self.bench = bench
        self.rows = SessionRows(self.memory.store)
        self.sessions: Sequence[SessionInfo] = ()
        self.chosen: SessionInfo | None = None
        self.entries: list[MemoryEntry] = []
        self.where, self.role, self.page = "", "", 0
        self.preview: SummaryPreview | None = None
        self.busy = ""
        self._key: tuple[str, str] | None = None
        self._read_failure: Exception | None = None
        self.changed()

    # -- reading ------------------------------------------------------------------------------------------------

    @property
    def users(self) -> int:
        """How many users have sessions."""
        return len({info.user_id for info in self.sessions})

    @property
    def damage(self) -> Sequence[tuple[str, str, str]]:
        """What the store could not read, as far as it was met: ``(file or table, place, reason)``."""
        return tuple(getattr(self.memory.store, "damage", ()))

    @property
    def roles(self) -> dict[str, int]:
        """The roles in the session that is shown, and how many entries of each there are, in order of appearance."""
        return dict(Counter(entry.role for entry in self.entries))

    @property
    def found(self) -> list[MemoryEntry]:
        """The entries that the filter leaves."""
        sought = self.where.casefold()
        return [entry for entry in self.entries if self.role in ("", entry.role) and sought in entry.content.casefold()]

    @property
    def pages(self) -> int:
        """How many pages of entries the filter leaves, at least 1."""
        return max(1, -(-len(self.found) // PAGE_SIZE))

    @property
    def shown(self) -> list[MemoryEntry]:
        """The entries on the page that is shown."""
        return self.found[self.page * PAGE_SIZE : (self.page + 1) * PAGE_SIZE]

    @property
    def context(self) -> list[ContextMessage]:
        """The session as a model gets it: what ``Memory.get_context_messages`` returns."""
        return [context_message(entry) for entry in self.entries]

    @property
    def undoable(self) -> bool:
        """Whether the session has a summary that can be taken back."""
        return any(is_undoable(entry) for entry in self.entries)

    @property
    def frame(self) -> pandas.DataFrame:
        """The sessions as a DataFrame: session_id, user_id, count, first, last."""
        from ..frames import sessions_frame

        return sessions_frame(self.sessions)

    @property
    def entries_frame(self) -> pandas.DataFrame:
        """The entries that the filter leaves as a DataFrame, see :func:`memwb.frames.entries_frame`."""
        from ..frames import entries_frame

        return entries_frame(self.found)

    def __repr__(self) -> str:
        if self.failure:
            return f"Sessions(the refresh failed: {shortened(self.failure, 120)})"
        if not self.revision:
            return "Sessions(not settled: `await` it first)"
        parts = f"{counted(len(self.sessions), 'session')} of {counted(self.users, 'user')}"
        if self.chosen is None:
            return f"Sessions({parts})"
        shown = counted(len(self.entries), "entry", "entries")
        if self.where or self.role:
            shown = f"{len(self.found):,} of {shown}"
        return f"Sessions({parts}; {quoted(self.chosen.session_id)} of {quoted(self.chosen.user_id)}: {shown})"

    # -- changing -----------------------------------------------------------------------------------------------

    @while_open
    async def read(self, session_id: str, user_id: str | None = None) -> list[MemoryEntry]:
        """Show a session and return its entries.

        Args:
            session_id: The session.
            user_id: Its user; may be left out where only one user has a session of this id.

        Raises:
            ConfigError: There is no such session, or several users have one.
            Exception: What the store raised.
        """
        await self.settled()
        if self._read_failure is not None:  # the store may be well again
            self.changed()
            await self.settled()
        users = [info.user_id for info in self.sessions if info.session_id == session_id]
        if user_id is None and len(users) == 1:
            user_id = users[0]
        if user_id not in users:
            if self._read_failure is not None:
                raise self._read_failure
            raise ConfigError(self._no_session(session_id, user_id, users), key="session_id", value=session_id)
        self.show(session_id, str(user_id))
        await self.settled()
        if self._read_failure is not None:
            raise self._read_failure
        return self.entries

    def _no_session(self, session_id: str, user_id: str | None, users: Sequence[str]) -> str:
        if users and user_id is None:
            several = ", ".join(map(repr, users[:5])) + (" and others" if len(users) > 5 else "")
            return f"Sessions: {session_id!r} is a session of {several}; give user_id."
        if users:
            return f"Sessions: user {user_id!r} has no session {session_id!r}.{nearest(user_id, users)}"
        known = {info.session_id for info in self.sessions}
        return f"Sessions: there is no session {session_id!r} among {len(self.sessions):,}.{nearest(session_id, known)}"

    def show(self, session_id: str, user_id: str) -> None:
        """Show a session without waiting for it; see :meth:`read`."""
        if (session_id, user_id) != self._key:
            self._key, self.preview = (session_id, user_id), None
            self.where, self.role, self.page = "", "", -1
        self.changed()

    @while_open
    async def filter(self, **changes: Any) -> list[MemoryEntry]:
        """Change ``where``, ``role`` or ``page`` of the session that is shown, and return the entries on the page.

        Raises:
            ConfigError: An unknown name or value; nothing was changed.
        """
        for key, value in changes.items():
            if key not in _FILTERS:
                message = f"Sessions: unknown filter {key!r}; it takes {', '.join(_FILTERS)}.{nearest(key, _FILTERS)}"
                raise ConfigError(message, key=key, value=value, allowed=_FILTERS)
            if key == "page" and (not isinstance(value, int) or isinstance(value, bool)):
                raise ConfigError(f"Sessions: page is {value!r}; it must be a whole number.", key=key, value=value)
            if key != "page" and not isinstance(value, str):
                raise ConfigError(f"Sessions: {key} is {value!r}; it must be a text.", key=key, value=value)
        if changes.get("role", "") not in ("", *self.roles):
            raise ConfigError(
                f"Sessions: no entry has the role {changes['role']!r}; there are {', '.join(self.roles)}.",
                key="role",
                value=changes["role"],
                allowed=tuple(self.roles),
            )
        self.where, self.role = changes.get("where", self.where), changes.get("role", self.role)
        self.page = changes.get("page", -1)
        self._turn_page()
        self._done()
        return self.shown

    @while_open
    async def set(self, **changes: Any) -> None:
        """Change ``max_messages``, ``pin_count``, ``recent_count`` or ``time_limit``; a previewed summary is dropped.

        Raises:
            ConfigError: An unknown name or a wrong value; nothing was changed.
        """
        _refuse_unknown(changes)
        settings = {key: getattr(self.memory, key) for key in SETTINGS}
        Memory(model=self.memory.model, **{**settings, **changes})  # checks them
        for key, value in changes.items():
            setattr(self.memory, key, value)
        self.preview = None
        self.changed()
        await self.settled()

    @while_open
    async def plan_summary(self) -> SummaryPreview:
        """Return what a summary would pin, replace and keep, and the prompt; no model is asked.

        Raises:
            ConfigError: No session is shown.
        """
        return await self._previewed(ask_model=False)

    @while_open
    async def preview_summary(self) -> SummaryPreview:
        """Ask the model for a summary of the session that is shown; nothing in the store is changed.

        Raises:
            ConfigError: No session is shown.
        """
        return await self._previewed(ask_model=True)

    @while_open
    async def write_summary(self, text: str) -> SummaryPreview:
        """Put a summary of one's own in the place of the model's answer.

        Raises:
            ConfigError: No session is shown, or the text is blank.
        """
        if not text.strip():
            raise ConfigError("Sessions: a summary must not be blank.", key="text", value=text)
        preview = self.preview or await self._previewed(ask_model=False)
        self.preview = replace(preview, answer=text.strip(), problem="")
        self._done()
        return self.preview

    @while_open
    async def apply(self) -> MemoryEntry:
        """Put the summary that was previewed in the place of what it replaces, and return its entry.

        Raises:
            SummaryError: No summary was previewed, it has no answer, or the session has changed since.
        """
        if self.preview is None:
            raise SummaryError("none was previewed; preview it first.")
        written = await self.memory.apply_summary(self.preview)
        self.preview = None
        self.changed()
        await self.settled()
        return written

    @while_open
    async def undo(self) -> list[MemoryEntry]:
        """Take back the summary of the session that is shown, and return the entries that came back.

        Raises:
            SummaryError: The session has no summary that could be taken back.
        """
        back = await self.memory.undo_summary(*self._shown_key())
        self.preview = None
        self.changed()
        await self.settled()
        return back

    async def messages(self) -> list[Message]:
        """Return the session that is shown as a conversation, for a workbench or a replay."""
        return await conversations.from_session(self.memory.store, *self._shown_key())

    @while_open
    async def to_workbench(self) -> None:
        """Make the session that is shown the conversation of the workbench.

        Raises:
            ConfigError: No session is shown, or there is no workbench.
        """
        if self.bench is None:
            raise ConfigError(
                "Sessions: this panel belongs to no workbench; give Workbench(messages=...) its messages."
            )
        await self.bench.set(messages=await self.messages())

    def changed(self) -> None:
        """Ask for a refresh: what the store holds is read again."""
        self.refused = ""
        self._refresher.request()
        self._publish()

    # -- inside -------------------------------------------------------------------------------------------------

    def _shown_key(self) -> tuple[str, str]:
        if self._key is None:
            raise ConfigError("Sessions: no session is shown; read one first.", key="session_id")
        return self._key

    async def _previewed(self, *, ask_model: bool) -> SummaryPreview:
        key = self._shown_key()
        self.busy = "Asking the model for a summary…" if ask_model and self.memory.model is not None else ""
        self._publish()
        try:
            preview = await self.memory.preview_summary(*key, ask_model=ask_model)
        finally:
            self.busy = ""
        if key == self._key:  # else another session is shown by now
            self.preview = preview
        self._done()
        return preview

    async def _refresh(self) -> None:
        found = await self.rows.read()
        key = self._key
        entries = await self.memory.get_entries(*key) if key else []
        if self._refresher.overtaken:
            return
        self.sessions = found
        self.chosen = next((info for info in found if (info.session_id, info.user_id) == key), None)
        if entries != self.entries:
            self.preview = None
        self.entries = entries
        if self.role not in self.roles:
            self.role = ""
        self._turn_page()
        self.failure, self._read_failure = "", None
        self.revision += 1
        asyncio.get_running_loop().call_soon(self._publish)

    def _turn_page(self) -> None:
        """Bring the page into its range; a negative one counts from the end."""
        page = self.page + self.pages if self.page < 0 else self.page
        self.page = min(max(page, 0), self.pages - 1)

    def _done(self) -> None:
        self.refused = ""
        self.revision += 1
        self._publish()

    def _failed(self, error: Exception) -> None:
        self._read_failure = error
        super()._failed(error)


def _refuse_unknown(settings: Iterable[str]) -> None:
    for key in settings:
        if key not in SETTINGS:
            message = f"Sessions: unknown setting {key!r}; it takes {', '.join(SETTINGS)}.{nearest(key, SETTINGS)}"
            raise ConfigError(message, key=key, allowed=SETTINGS)


def _memory(store: Any, model: Any, settings: dict[str, Any]) -> Memory:
    """Return a memory over a store of sessions, or with the settings of another memory."""
    _refuse_unknown(settings)
    if isinstance(store, Memory):
        settings = {**{key: getattr(store, key) for key in SETTINGS}, **settings}
        store, model = store.store, store.model if model is None else model
    if not is_session_store(store) or not hasattr(store, "sessions"):
        raise ConfigError(
            f"Sessions: {type(store).__name__} is no store that lists sessions (it needs get_entries, get_entry, "
            "delete_session and sessions).",
            key="store",
            value=store,
        )
    return Memory(store, model, **settings)
