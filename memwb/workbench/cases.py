"""The open model call as a labelled case: "this conversation should bring these entries"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..evaluation import Case
from ..memory.messages import copied

if TYPE_CHECKING:
    from .state import WorkbenchState

__all__ = ["case_of"]


def case_of(
    state: WorkbenchState,
    id: str,
    expected: Iterable[Any] | None = None,
    *,
    owner: str | None = None,
    category: str | None = None,
) -> Case:
    """Return the conversation before the open call, with what it should bring.

    Args:
        state: The workbench.
        id: The case's name.
        expected: Hits, entries, records, ids or texts; ``[]`` for a call that needs no memory. An entry counts by its
            id, where its store tells one, else by its text. Default: what the workbench expects at this call.
        owner: Whose memories are searched.
        category: What kind of case it is.

    Raises:
        ConfigError: Nothing is said to be expected, or a field has the wrong form.
    """
    if expected is None and not state.expected:
        raise ConfigError(
            f"Case {id!r}: expected is missing; name the entries that the call needs, such as "
            "`expected=[state.hits[0]]`, or give `expected=[]` for a call that needs none.",
            key="expected",
        )
    if isinstance(expected, str) or not (expected is None or isinstance(expected, Iterable)):
        raise ConfigError(
            f"Case {id!r}: expected is {expected!r:.80}; it must be a list of hits, ids or texts.",
            key="expected",
            value=expected,
        )
    named = state.expected if expected is None else tuple(dict.fromkeys(map(_named, expected)))
    return Case(id, copied(state.seen), named, owner, category)


def _named(entry: Any) -> Any:
    """Return an entry's id, else its text; what is no entry as it is."""
    return getattr(entry, "id", None) or getattr(entry, "content", entry)
