"""Changes to stored entries, and how a few of them are told."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .._redact import masked
from .._text import counted, quoted
from ..catalog import Record

_TOLD = 5
"""Changes that a repr tells one by one; how many more there are is said."""


@dataclass(frozen=True)
class Change:
    """A change of one entry that is staged.

    Attributes:
        store: The name of the store.
        id: The entry's id there.
        before: The entry as it was seen; None for a new one.
        after: The entry as it is to be; None for one that is deleted.
        into: The entry into which this one is merged: its store and its id; None for none.
    """

    store: str
    id: str
    before: Record | None
    after: Record | None
    into: tuple[str, str] | None = None

    @property
    def kind(self) -> str:
        """``added``, ``changed``, ``deleted``, ``merged``, or ``kept`` for what others are merged into as it is."""
        if self.before is None:
            return "added"
        if self.before == self.after:
            return "kept"
        if self.after is not None:
            return "changed"
        return "deleted" if self.into is None else "merged"


class Changes(tuple[Change, ...]):
    """Changes in the order in which they were staged; equal to a plain tuple of them, with a repr that can be read."""

    def __repr__(self) -> str:
        kinds = Counter(change.kind for change in self)
        lines = [
            f"{counted(len(self), 'change')}"
            + ": " * bool(self)
            + ", ".join(f"{n:,} {kind}" for kind, n in kinds.items())
        ]
        lines += [f"- {change.kind} in {change.store!r}: {_told(change)}" for change in self[:_TOLD]]
        if len(self) > _TOLD:
            lines.append(f"- … {len(self) - _TOLD:,} more")
        return "\n".join(lines)


def _told(change: Change) -> str:
    texts = [quoted(masked(record.content)) for record in (change.before, change.after) if record is not None]
    return " → ".join(dict.fromkeys(texts))
