"""The types of session memory, under the names that Definable documents for them.

A store is whatever has the methods of :class:`MemoryStore`: nothing has to be inherited from, so a store written for
Definable is accepted as it is.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

from .. import _time
from .._redact import fields_shown
from ..errors import ConfigError


@dataclass
class MemoryEntry:
    """One message of a session, or what stands for several of them.

    Attributes:
        session_id: The session it belongs to.
        memory_id: Names the entry within its store; a random UUID where none is given.
        user_id: Whose entry it is: users with the same session id share nothing.
        role: Who speaks: "user", "assistant", "tool", "system", or "summary" for what replaced other entries.
        content: The text.
        message_data: The message as structured data (its tool calls, say), JSON values under text keys, or None.
        created_at: When it was made, in seconds since 1970 (UTC); now where no time is given. It orders a session.
        updated_at: When it was last changed, likewise.
    """

    session_id: str
    memory_id: str | None = None
    user_id: str = "default"
    role: str = "user"
    content: str = ""
    message_data: dict[str, Any] | None = None
    created_at: float | None = None
    updated_at: float | None = None

    def __post_init__(self) -> None:
        if self.memory_id is None:
            self.memory_id = _time.new_id()
        if self.created_at is None or self.updated_at is None:
            now = _time.now().timestamp()
            self.created_at = now if self.created_at is None else self.created_at
            self.updated_at = now if self.updated_at is None else self.updated_at

    def __repr__(self) -> str:
        return fields_shown(self, "content", "message_data")

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dict that shares nothing with the entry."""
        return {
            "memory_id": self.memory_id,
            "session_id": self.session_id,
            "user_id": self.user_id,
            "role": self.role,
            "content": self.content,
            "message_data": copy.deepcopy(self.message_data),
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make an entry from what :meth:`to_dict` gave. Missing fields have their default, others are left out.

        Raises:
            ConfigError: There is no ``session_id``. A ValueError.
        """
        if "session_id" not in data:
            raise ConfigError(f"MemoryEntry: {dict(data)!r:.80} has no session_id.", key="session_id")
        known = {key: data[key] for key in cls.__dataclass_fields__ if key in data}
        return cls(**{**known, "message_data": copy.deepcopy(known.get("message_data"))})


@dataclass(frozen=True)
class SessionInfo:
    """One user's part of a session, as a list of sessions shows it.

    Attributes:
        session_id: The session.
        user_id: The user.
        count: How many entries there are, at least 1.
        first: ``created_at`` of the oldest entry.
        last: ``created_at`` of the newest entry.
    """

    session_id: str
    user_id: str
    count: int
    first: float
    last: float


@runtime_checkable
class MemoryStore(Protocol):
    """The shape of a store of sessions, with the methods that Definable documents."""

    async def initialize(self) -> None:
        """Prepare the store. Calling it again, or not at all, does no harm in memwb's stores."""
        ...

    async def close(self) -> None:
        """Release what the store holds open."""
        ...

    async def add(self, entry: MemoryEntry) -> None:
        """Store a new entry."""
        ...

    async def get_entries(self, session_id: str, user_id: str = "default") -> list[MemoryEntry]:
        """Return the entries of a user's session by ``created_at``, oldest first; of equal times, the earlier added."""
        ...

    async def get_entry(self, memory_id: str) -> MemoryEntry | None:
        """Return the entry with this id, or None."""
        ...

    async def update(self, entry: MemoryEntry) -> None:
        """Replace the entry that has the same ``memory_id``."""
        ...

    async def delete(self, memory_id: str) -> None:
        """Remove the entry with this id, if there is one."""
        ...

    async def delete_session(self, session_id: str, user_id: str = "default") -> None:
        """Remove all entries of a user's session."""
        ...

    async def count(self, session_id: str, user_id: str = "default") -> int:
        """Return how many entries a user's session has."""
        ...


@runtime_checkable
class SupportsReplace(Protocol):
    """A store that can exchange a user's session as a whole, or not at all."""

    async def replace_session(
        self,
        session_id: str,
        user_id: str,
        entries: Sequence[MemoryEntry],
        expected: Sequence[MemoryEntry] | None = None,
    ) -> bool:
        """Put these entries in the place of all that the user's session holds; return whether that was done.

        With ``expected``, what the caller saw there, it is done only if the session holds just that, in this order.
        """
        ...


@runtime_checkable
class SupportsSessions(Protocol):
    """A store that can be browsed and loaded in bulk."""

    async def sessions(self) -> list[SessionInfo]:
        """Return what sessions there are."""
        ...

    async def add_many(self, entries: Iterable[MemoryEntry]) -> None:
        """Store new entries: all of them or none."""
        ...

    def iter_entries(self, session_id: str, user_id: str = "default") -> AsyncIterator[MemoryEntry]:
        """Give the entries of a user's session one after the other, in the order of ``get_entries``."""
        ...


@runtime_checkable
class SupportsRevision(Protocol):
    """A store that tells cheaply whether it may hold something else than before."""

    async def revision(self, session_id: str | None = None) -> Hashable:
        """Return what is another after each change (of one session), whoever made it; None where that is not known."""
        ...
