"""What the rows of the table hold, and how a text becomes one that Postgres takes.

Postgres takes every character but NUL. So U+0000 is written as two characters U+0001, and U+0001 as U+0001 U+0002:
all other texts stand in the database as they are, and sorting goes by code points all the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ... import _json
from ..._time import parse_stamp
from ...catalog import Record
from ...errors import ConfigError
from ...ranking import tokenize_any_script
from ._server import WHERE

MOST_BYTES = 1000
"""An id or an owner stands in an index, which takes no longer ones."""

_MOST_WORDS = 900_000  # bytes: a tsvector takes 1 MB
_LONG_WORD = 400  # bytes: a tsvector takes 2 kB

COLUMNS = (
    "place",
    "id",
    "digest",
    "owner",
    "role",
    "content",
    "folded",
    "metadata",
    "metadata_text",
    "created_at",
    "updated_at",
    "words",
)


@dataclass(frozen=True)
class Row:
    """A row as it is written; ``place`` None: after all others.

    Attributes:
        place: The order of adding.
        id: Names the entry.
        content: Its text.
        metadata: As JSON text, exactly as given; None where there is none.
        created_at: When it was added.
        updated_at: When it was changed last.
        owner: Whose memory it is.
        role: Who spoke.
    """

    place: int | None
    id: str
    content: str
    metadata: str | None
    created_at: datetime
    updated_at: datetime | None = None
    owner: str | None = None
    role: str | None = None

    @property
    def digest(self) -> bytes:
        """What two entries of one owner with one text, blanks around it left out, have in common."""
        return digest_of(self.content, self.owner)

    def values(self) -> dict[str, Any]:
        """Return what its columns hold, ``place`` left out."""
        return {
            "id": encoded(self.id),
            "digest": self.digest,
            "owner": encoded(self.owner),
            "role": encoded(self.role),
            "content": encoded(self.content),
            "folded": encoded(self.content.casefold()),
            "metadata": None if self.metadata is None else facets(json.loads(self.metadata)),
            "metadata_text": self.metadata,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "words": vector_text(tokenize_any_script(self.content)),
        }

    def record(self, store: str) -> Record:
        """Return it for a person to browse."""
        metadata = None if self.metadata is None else json.loads(self.metadata)
        return Record(self.id, self.content, self.created_at, self.updated_at, store, self.owner, self.role, metadata)


READ = (
    "t.place, t.id, t.content, t.metadata_text, t.created_at AT TIME ZONE 'UTC', t.updated_at AT TIME ZONE 'UTC', "
    "t.owner, t.role"
)
"""The columns that :func:`read` takes, in its order."""


def read(values: tuple[Any, ...]) -> Row:
    """Return a row of the database."""
    place, id, content, metadata, created, updated, owner, role = values[:8]
    return Row(
        place,
        decoded(id),
        decoded(content),
        metadata,
        created.replace(tzinfo=UTC),
        None if updated is None else updated.replace(tzinfo=UTC),
        None if owner is None else decoded(owner),
        None if role is None else decoded(role),
    )


def encoded(text: str | None) -> str | None:
    """Return a text as Postgres takes it, in which there is no NUL."""
    if text is None or ("\0" not in text and "\1" not in text):
        return text
    return text.replace("\1", "\1\2").replace("\0", "\1\1")


def decoded(text: str) -> str:
    """Return what :func:`encoded` was given."""
    if "\1" not in text:
        return text
    parts = text.split("\1\1")
    # "\1\1" never begins inside another pair: a pair that begins with \1 ends with \1 or \2.
    return "\0".join(part.replace("\1\2", "\1") for part in parts)


def storable(text: str) -> bool:
    """Whether UTF-8 can hold a text; what is not so is in no entry."""
    return _json.lone_surrogate(text) is None


def digest_of(content: str, owner: str | None) -> bytes:
    """Return the hash of a content and its owner."""
    whose = b"" if owner is None else b"+" + owner.encode()
    return hashlib.sha256(hashlib.sha256(whose).digest() + content.strip().encode()).digest()


def facets(metadata: Mapping[str, Any]) -> str:
    """Return metadata as jsonb takes them, to be filtered by."""
    text = json.dumps(metadata, ensure_ascii=False)
    if "\\u0000" not in text and "\\u0001" not in text:
        return text
    return json.dumps(_encoded(metadata), ensure_ascii=False)


def _encoded(value: Any) -> Any:
    if isinstance(value, str):
        return encoded(value)
    if isinstance(value, Mapping):
        return {encoded(key): _encoded(inner) for key, inner in value.items()}
    return list(map(_encoded, value)) if isinstance(value, list) else value


def vector_text(words: Iterable[str]) -> str:
    """Write words as a tsvector. Of more than fits into one, the first in the order of code points are taken."""
    lexemes, size = [], 0
    for word in sorted(filter(storable, words)):
        lexeme = _lexeme(word)
        size += len(lexeme.encode()) + 4
        if size > _MOST_WORDS:
            break
        lexemes.append(lexeme)
    return " ".join(map(_quoted, lexemes))


def query_text(words: Collection[str]) -> str:
    """Write words as a tsquery that asks for any of them; "" where there are none."""
    return " | ".join(_quoted(_lexeme(word)) for word in sorted(filter(storable, words)))


def _lexeme(word: str) -> str:
    word = encoded(word) or ""
    if len(word.encode()) <= _LONG_WORD:
        return word
    return word[:50] + hashlib.sha256(word.encode()).hexdigest()


def _quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def checked_short(value: str | None, name: str) -> str | None:
    """Refuse an id or an owner that no index takes."""
    if value is None or len(value.encode()) <= MOST_BYTES:
        return value
    told = f"{WHERE}: {name} {value[:40]!r}… has {len(value.encode()):,} bytes; it may have up to {MOST_BYTES:,}."
    raise ConfigError(told, key=name, value=value)


def time_of(stamp: str | None, now: datetime) -> datetime:
    """Return a checked time as a datetime, ``now`` where there is none."""
    return now if stamp is None else parse_stamp(stamp)


def json_of(metadata: dict[str, Any] | None) -> str | None:
    """Return checked metadata as JSON text."""
    return None if metadata is None else json.dumps(metadata, ensure_ascii=False)
