"""What an exchange of records leaves behind, whichever store made it."""

from __future__ import annotations

from dataclasses import dataclass

from ..catalog import Record


@dataclass
class Exchanged:
    """What an exchange wrote, kept so that ``store.take_back`` can undo it; each store adds what it needs for that.

    Attributes:
        before: The records as they were.
        after: The records as they are now.
    """

    before: tuple[Record, ...]
    after: tuple[Record, ...]
