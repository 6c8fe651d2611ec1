"""Which entries a conversation is about: those that should arrive at a call, and the one that is looked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ..memory.search import is_the_stores_own
from ..memory.wanted import LISTED

if TYPE_CHECKING:
    from .state import WorkbenchState


@dataclass(frozen=True)
class Mark:
    """An entry that a person pointed at.

    Attributes:
        kind: ``expected`` or ``looked for``.
        content: The entry's text; the id or text that was given, where no store was found to hold it.
        id: Its id, where its store tells one.
        store: Its store, None where none was found.
        call: The call at which it should arrive; None for one that is looked for, wherever it arrives.
    """

    kind: Literal["expected", "looked for"]
    content: str
    id: str | None = None
    store: str | None = None
    call: int | None = None

    def means(self, store: str | None, id: str | None, content: str) -> bool:
        """Whether this is the entry: by its id where both have one, else by its text."""
        same = self.id == id if self.id and id else self.content.strip() == content.strip()
        return same and self.store in (None, store)


async def marks_of(bench: WorkbenchState) -> tuple[Mark, ...]:
    """Return what is expected and what is looked for, in this order."""
    moment = bench.moment()
    listed = [bench.source.listings.get(store.name, store) for store in bench.source.stores]
    marks = []
    for item in moment.expected:
        record = await record_of(listed, item)
        found = Mark("expected", item, call=moment.expected_at)
        if record is not None:
            found = replace(found, content=record.content, id=record.id, store=record.store)
        marks.append(found)
    about = bench.preview.explanation if bench.looked_for and bench.preview is not None else None
    if about is not None:
        marks.append(Mark("looked for", about.target, about.id, about.store))
    return tuple(marks)


async def record_of(stores: Iterable[Any], item: str) -> Any:
    """Return the first record with this id or text in stores that can list, else None."""
    for store in stores:
        if not (hasattr(store, "page") and hasattr(store, "get")):
            continue
        try:
            found = [await store.get(item), *await store.page(0, LISTED, where=item.strip())]
        except BaseException as error:  # a store that fails is named by the trace
            if not is_the_stores_own(error):
                raise
            continue
        for record in found:
            if record is not None and item.strip() in (record.id, record.content.strip()):
                return record
    return None
