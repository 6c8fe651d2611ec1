"""The open model call as a labelled case, and cases with stores and settings as a folder that a test is held to."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._options import Redact
from .._text import shortened
from ..errors import ConfigError
from ..evaluation import Case, CaseFolder, save_folder
from ..memory.messages import copied
from ..memory.suggestions import retokenized
from ..memory.wanted import LISTED
from ..stores import TestMemoryStore

if TYPE_CHECKING:
    from .state import WorkbenchState

__all__ = ["case_of", "label", "save_cases"]


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


def label(state: WorkbenchState, entry: Any, expected: bool = True) -> tuple[str, ...]:
    """Mark an entry as one that the open call should bring, or as none, and return what it should bring now.

    The verdict is about these entries, and :func:`case_of` takes them. They belong to this call alone: labelling at
    another one begins anew, so keep each call that is done as a case.

    Args:
        state: The workbench.
        entry: A hit, an entry, a record, or its id or whole text.
        expected: Whether it should arrive.

    Raises:
        ConfigError: It is no entry, id or text; nothing was changed.
    """
    name = _named(entry)
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(
            f"Workbench: label takes a hit, an entry, or its id or text, not {entry!r:.80}; such as "
            "`await wb.label(wb.state.hits[0])`.",
            key="entry",
            value=entry,
        )
    same = {name, name.strip(), str(getattr(entry, "content", name)).strip()}
    others = tuple(each for each in state.expected if each not in same and each.strip() not in same)
    if expected and len(others) < len(state.expected):
        return state.expected
    wanted = (*others, name) if expected else others
    if wanted != state.expected:
        state.return_to(replace(state.moment(), expected=wanted, expected_at=state.call))
    return wanted


async def save_cases(
    state: WorkbenchState,
    folder: str | os.PathLike[str],
    cases: Iterable[Case],
    *,
    replace: bool = False,
    redact: Redact = None,
) -> CaseFolder:
    """Write a case folder with the stores that are searched and the settings as they stand, named ``workbench``.

    Args:
        state: The workbench.
        folder: Where; see :func:`memwb.evaluation.save_folder`, also for what it raises.
        cases: Labelled cases, as :func:`case_of` gives them.
        replace: Whether a case folder that is there gives way to the new one.
        redact: Whether texts are masked.

    Raises:
        ConfigError: A case expects an entry that none of these stores holds; nothing was written. Stores that cannot
            list their entries are taken to hold it.
    """
    await state.settled()
    cases = list(cases)
    await _check_held(state, cases)
    listed = _listed(state)
    # The SDK's test store cannot list its file; the reader of that file ranks as it does.
    saved = [each if isinstance(each := listed[one.name], TestMemoryStore) else one for one in state.source.stores]
    by_name = {store.name: retokenized(store, state.tokenizer) for store in saved}
    stores = [by_name[name] for name in state.store_names]
    return await save_folder(folder, stores, cases, {"workbench": state.injection}, replace=replace, redact=redact)


async def _check_held(state: WorkbenchState, cases: Iterable[Any]) -> None:
    """Refuse cases that expect what no store that is saved with them holds: they could only fail."""
    listed = {name: store for name, store in _listed(state).items() if name in state.store_names}
    if not all(hasattr(store, "page") and hasattr(store, "get") for store in listed.values()):
        return
    lost: dict[str, list[str]] = {}
    for case in cases:
        for expected in getattr(case, "expected", ()):
            if not any([await _holds(store, expected) for store in listed.values()]):
                lost.setdefault(expected, []).append(case.id)
    if lost:
        told = "; ".join(f"{shortened(id, 60)!r} (case {', '.join(map(repr, of[:3]))})" for id, of in lost.items())
        names = ", ".join(map(repr, listed))
        raise ConfigError(
            f"save_cases: no store here ({names}) holds {told}. Name expected entries by their id or whole text in a "
            "store that is searched; nothing was written.",
            key="expected",
            value=tuple(lost),
        )


def _listed(state: WorkbenchState) -> dict[str, Any]:
    return {store.name: state.source.listings.get(store.name, store) for store in state.source.stores}


async def _holds(store: Any, expected: str) -> bool:
    """Whether a store holds an entry with this id or text."""
    if await store.get(expected) is not None:
        return True
    found = await store.page(0, LISTED, where=expected.strip())
    return any(record.content.strip() == expected.strip() for record in found)


def _named(entry: Any) -> Any:
    """Return an entry's id, else its text; what is no entry as it is."""
    return getattr(entry, "id", None) or getattr(entry, "content", entry)
