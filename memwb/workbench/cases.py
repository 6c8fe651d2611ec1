"""The open model call as a labelled case, and cases with stores and settings as a folder that a test is held to."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._options import Redact
from ..errors import ConfigError
from ..evaluation import Case, CaseFolder, save_folder
from ..memory.messages import copied
from ..memory.suggestions import retokenized

if TYPE_CHECKING:
    from .state import WorkbenchState

__all__ = ["case_of", "save_cases"]


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


async def save_cases(
    state: WorkbenchState, folder: str | os.PathLike[str], cases: Iterable[Case], *, redact: Redact = None
) -> CaseFolder:
    """Write a case folder with the stores that are searched and the settings as they stand, named ``workbench``.

    Args:
        state: The workbench.
        folder: Where; see :func:`memwb.evaluation.save_folder`, also for what it raises.
        cases: Labelled cases, as :func:`case_of` gives them.
        redact: Whether texts are masked.
    """
    await state.settled()
    by_name = {store.name: retokenized(store, state.tokenizer) for store in state.source.stores}
    stores = [by_name[name] for name in state.store_names]
    return await save_folder(folder, stores, cases, {"workbench": state.injection}, redact=redact)


def _named(entry: Any) -> Any:
    """Return an entry's id, else its text; what is no entry as it is."""
    return getattr(entry, "id", None) or getattr(entry, "content", entry)
