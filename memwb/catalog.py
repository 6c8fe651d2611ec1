"""The neutral row in which both kinds of memory are browsed: long-term stores and sessions."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Record:
    """One stored memory, whichever store holds it.

    A record is a copy: changing its metadata changes nothing in the store.

    Attributes:
        id: Names the record within its store.
        content: Its text.
        created_at: When it was stored, aware and in UTC; None where the store's time cannot be read as one.
        updated_at: When it was last changed; None where the store keeps no such time.
        store: The name of the store.
        owner: Whose memory it is, where the source tells (a user, a session's user, a data set's person).
        role: Who spoke, in session memory.
        metadata: What is kept beside the text; ``{}`` and None are different.
    """

    id: str
    content: str
    created_at: datetime | None = None
    updated_at: datetime | None = None
    store: str | None = None
    owner: str | None = None
    role: str | None = None
    metadata: dict[str, Any] | None = field(default=None, hash=False)
