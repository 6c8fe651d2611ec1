"""A workbench as a folder of readable files: stores, conversation, settings with their callbacks, and what is open.

::

    stores/             the memories, a file a store, and stores.json with their names, order and search
    conversation.jsonl  a message a line
    settings.py         the settings and callbacks, as `wb.export` writes them for an agent
    arms/               the pinned settings, a folder each: settings.py, and stores/ where it has its own
    snapshot.json       the open call, what is expected and where, what is searched, the names of the arms

The same workbench gives the same bytes, so that a version control system shows what changed.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._options import checked_redact, options
from .._redact import Redact, masked_data, redactor
from .._settings import checked_path
from .._whole_folder import put_in_place, start
from ..errors import ConfigError
from ..evaluation._masks import WordMask, in_messages
from ..evaluation.settings_file import settings_source
from ..memory.settings import Injection
from ..memory.suggestions import TOKENIZERS, tokenizer_named
from ..stores.saved import save_stores
from ..tokens import counter_named
from .snapshot_reading import ABOUT, ARMS, SETTINGS, STORES, TALK, VERSION
from .source import open_source
from .state import WorkbenchState

__all__ = ["snapshot"]

_OURS = {ABOUT, TALK, SETTINGS, STORES, ARMS, "__pycache__"}
_BESIDE = "It stands in a snapshot: `memwb.Workbench(folder)` opens it with its stores and conversation.\n"


async def snapshot(bench: Any, folder: str | os.PathLike[str], *, redact: Redact = None) -> Path:
    """Write a workbench into a folder that ``Workbench(folder)`` opens anywhere.

    Stores are kept whole, with ids, times and metadata, and live in memory when they are opened again. Sessions and the
    stores of an agent are kept as what is searched: they open as plain stores, without a session's ends and an agent's
    tools. What is staged but not written, a live call, and the owners of entries are not kept. Stores that search by
    BM25 or by meaning open as ones that search by shared words, which a warning says.

    The folder appears whole or not at all, and an earlier snapshot there is replaced: whenever the process is killed,
    the name opens as the earlier snapshot or as the new one.

    Args:
        bench: The workbench.
        folder: The folder; those above it are made.
        redact: True puts another word in the place of each word of memories and messages, always the same one, so that
            a search ranks as before; a function gives the text that is kept. Default: ``memwb.options(redact=...)``;
            False keeps all. The source of callbacks is kept as it is: it may hold words of its own.

    Returns:
        The folder.

    Raises:
        ConfigError: A store cannot list its entries; a callback uses other names of the notebook, which are named; a
            message holds what JSON cannot; the folder is something else; or it is no workbench. Nothing is written.
    """
    state = getattr(bench, "state", bench)
    if not isinstance(state, WorkbenchState):
        told = f"snapshot: give the workbench, as `await memwb.snapshot(wb, folder)`; this is {bench!r:.60}."
        raise ConfigError(told, key="bench", value=bench)
    path = checked_path(folder, "folder", "snapshot")
    wanted = options().redact if redact is None else checked_redact(redact, "snapshot")
    await state.settled()
    _refuse_foreign(path)
    mask: Callable[[str], str] | None = WordMask() if wanted is True else redactor(wanted) if wanted else None
    files = {
        SETTINGS: _settings(state.settings, state.store_names),
        TALK: "".join(_line(message, at, mask) for at, message in enumerate(state.messages)),
    }
    arms, stores_of_arms = [], []
    for at, arm in enumerate(await state.arms.ready(), 1):
        place = f"{ARMS}/{at}"
        own = any(each not in map(id, state.source.stores) for each in map(id, arm.stores))
        arms.append({"name": arm.name, "own": arm.own, "stores": None if own else [each.name for each in arm.stores]})
        files[f"{place}/{SETTINGS}"] = _settings(arm.settings, [each.name for each in arm.stores])
        if own:
            stores_of_arms.append((place, arm.stores, open_source(list(arm.stores)).listings))
    about = {**await _about(state, mask), "arms": arms}
    files[ABOUT] = json.dumps(about, ensure_ascii=False, indent=2) + "\n"
    new = start(path)
    try:
        for place, stores, listings in (("", state.source.stores, state.source.listings), *stores_of_arms):
            (new / place).mkdir(parents=True, exist_ok=True)
            await save_stores(new / place, [listings.get(each.name, each) for each in stores], redact=mask)
        for name, text in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(text.encode("utf-8", "backslashreplace"))
        put_in_place(new, path, ABOUT)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    _tell_other_searches([*state.source.stores, *(store for _, own, _ in stores_of_arms for store in own)])
    return path


# -- writing --------------------------------------------------------------------------------------------------------


def _tell_other_searches(stores: Sequence[Any]) -> None:
    kinds = {store.name: getattr(store, "score_kind", "count") for store in stores}
    others = [f"{name!r} ({kind})" for name, kind in kinds.items() if kind != "count"]
    if others:
        warnings.warn(
            f"snapshot: {', '.join(others)} will be searched by shared words when the folder is opened, so other "
            "entries may arrive; to search as before, give the engine over its entries, such as Semantic or Hybrid.",
            stacklevel=3,
        )


def _refuse_foreign(path: Path) -> None:
    if not path.exists():
        return
    inside = {each.name for each in path.iterdir()} if path.is_dir() else set()
    if not path.is_dir() or (inside and (ABOUT not in inside or inside - _OURS)):
        others = ", ".join(map(repr, sorted(inside - _OURS)[:3]))
        held = f"holds {others}, which no snapshot has" if others else "is no snapshot"
        raise ConfigError(
            f"snapshot: {str(path)!r} exists and {held}; take another folder. Nothing was written.",
            key="folder",
            value=str(path),
        )


def _settings(settings: Injection | None, searched: Sequence[str]) -> str:
    try:
        return settings_source(settings, SETTINGS.removesuffix(".py"), stores=searched, beside=_BESIDE)
    except ConfigError as error:
        raise ConfigError(f"snapshot: {error}", key=error.key, value=error.value, allowed=error.allowed) from error


async def _about(state: WorkbenchState, mask: Callable[[str], str] | None) -> dict[str, Any]:
    tokenizer = next((name for name in TOKENIZERS if tokenizer_named(name) is state.tokenizer), None)
    if state.tokenizer is not None and tokenizer is None:
        raise ConfigError(
            f"snapshot: the tokenizer {state.tokenizer!r:.60} has no name that a file could keep; those that have are "
            f"{', '.join(map(repr, TOKENIZERS))}. Nothing was written.",
            key="tokenizer",
            value=state.tokenizer,
            allowed=tuple(TOKENIZERS),
        )
    given, moment = state.agent_state, state.moment()
    about = {
        "format": VERSION,
        "call": state.call,
        "expected": [await _named(state, each, mask) for each in moment.expected],
        "expected_at": moment.expected_at,
        "looked_for": await _named(state, state.looked_for, mask) if state.looked_for else "",
        "searched": list(state.store_names),
        "tokenizer": tokenizer,
        "token_counter": state.token_counter.name if counter_named(state.token_counter.name).exact else None,
        "placement": state.source.placement,
        "state": masked_data(mask, _plain(given)) if mask else _plain(given),
    }
    _checked(about, "the agent's state")
    return about


async def _named(state: WorkbenchState, named: str, mask: Callable[[str], str] | None) -> str:
    """Return an id as it is, and a text of a memory masked."""
    if mask is None:
        return named
    for store in state.source.stores:
        listing = state.source.listings.get(store.name, store)
        if hasattr(listing, "get") and await listing.get(named) is not None:
            return named
    return mask(named)


def _plain(state: Any) -> Any:
    """Return an agent's state as a dict."""
    get = getattr(state, "get", None)
    return state if state is None or isinstance(state, dict) or get is None else get()


def _line(message: Mapping[str, Any], at: int, mask: Callable[[str], str] | None) -> str:
    written = _with_text(in_messages(mask, message) if mask else message)
    line = written if written == message or mask else {"message": written}
    _checked(line, f"message {at}")
    return json.dumps(line, ensure_ascii=False) + "\n"


def _with_text(value: Any) -> Any:
    """Write bytes, as of an image, in the form of the Strands SDK's own files."""
    if isinstance(value, bytes):
        return {"__bytes_encoded__": True, "data": b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {key: _with_text(each) for key, each in value.items()}
    return [_with_text(each) for each in value] if isinstance(value, list) else value


def _checked(value: Any, what: str) -> None:
    """Refuse what would not be read back as the same value."""
    try:
        same = json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        raise ConfigError(
            f"snapshot: {what} holds a value that JSON cannot keep: {value!r:.80}. Nothing was written.",
            key="messages" if what.startswith("message") else "state",
            value=value,
        )
