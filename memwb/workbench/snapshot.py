"""A workbench as a folder of readable files: stores, conversation, settings with their callbacks, and what is open.

::

    stores/             the memories, a file a store, and stores.json with their names, order and search
    conversation.jsonl  a message a line
    settings.py         the settings and callbacks, as `wb.export` writes them for an agent
    snapshot.json       the open call, what is expected there, what is searched

The same workbench gives the same bytes, so that a version control system shows what changed.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _files
from .._json import NotJsonError, loads
from .._options import options
from .._redact import Redact, masked_data
from .._settings import checked_path
from ..conversations import unpacked
from ..errors import ConfigError, DamagedFileError
from ..evaluation._masks import WordMask, in_messages
from ..evaluation.settings_file import settings_source
from ..memory.messages import check_messages, model_calls
from ..memory.settings import CALLBACKS
from ..memory.suggestions import TOKENIZERS, tokenizer_named
from ..stores.saved import open_saved, save_stores
from ..tokens import counter_named
from .source import Source

if TYPE_CHECKING:
    from .state import WorkbenchState

__all__ = ["Kept", "is_snapshot", "open_snapshot", "snapshot"]

ABOUT, TALK, SETTINGS, STORES = "snapshot.json", "conversation.jsonl", "settings.py", "stores"

_VERSION = 1
_OURS = {ABOUT, TALK, SETTINGS, STORES, "__pycache__"}
_BESIDE = "It stands in a snapshot: `memwb.Workbench(folder)` opens it with its stores and conversation.\n"


@dataclass(frozen=True)
class Kept:
    """What a snapshot holds beside stores, conversation and settings, to be put into the workbench that opens it.

    Attributes:
        about: The values of ``snapshot.json``.
        callbacks: The source of each callback by its name; it runs when the workbench refreshes, as a typed one does.
    """

    about: dict[str, Any]
    callbacks: dict[str, str]

    def restore(self, state: WorkbenchState, *, settings: bool, talk: bool) -> None:
        """Put callbacks and open call into a workbench that was opened on the snapshot.

        Args:
            state: The workbench.
            settings: Whether it has the snapshot's settings.
            talk: Whether it has the snapshot's conversation.
        """
        about = self.about
        state.store_names = tuple(about["searched"])
        state.tokenizer = tokenizer_named(about["tokenizer"]) if about["tokenizer"] else None
        state.token_counter = counter_named(about["token_counter"])
        if settings:
            for name, source in self.callbacks.items():
                state.slots[name].give(source)
        if talk:
            state.return_to(replace(state.moment(), call=about["call"], expected_at=about["call"]))
            state.look_for(about["looked_for"])


async def snapshot(bench: Any, folder: str | os.PathLike[str], *, redact: Redact = None) -> Path:
    """Write a workbench into a folder that ``Workbench(folder)`` opens anywhere.

    Stores are kept whole, with ids, times and metadata, and live in memory when they are opened again. The folder
    appears whole or not at all. An earlier snapshot there is replaced.

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
            message holds what JSON cannot; or the folder is something else. Nothing is written.
    """
    state: WorkbenchState = getattr(bench, "state", bench)
    await state.settled()
    path = checked_path(folder, "folder", "snapshot")
    _refuse_foreign(path)
    wanted = options().redact if redact is None else redact
    mask: Callable[[str], str] | None = WordMask() if wanted is True else wanted or None
    files = {
        SETTINGS: _settings(state),
        TALK: "".join(_line(message, at, mask) for at, message in enumerate(state.messages)),
        ABOUT: json.dumps(await _about(state, mask), ensure_ascii=False, indent=2) + "\n",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = os.urandom(6).hex()
    new, old = path.with_name(f".{path.name}.{mark}.new"), path.with_name(f".{path.name}.{mark}.old")
    try:
        new.mkdir()
        await save_stores(
            new, [state.source.listings.get(each.name, each) for each in state.source.stores], redact=mask
        )
        for name, text in files.items():
            (new / name).write_bytes(text.encode("utf-8", "backslashreplace"))
        if path.exists():
            path.rename(old)
        new.rename(path)
    except BaseException:
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(new, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    return path


def is_snapshot(path: Path) -> bool:
    """Whether a folder is a snapshot."""
    return (path / ABOUT).is_file()


def open_snapshot(path: Path) -> Source:
    """Open a snapshot as a workbench's source; no code in it is run.

    Raises:
        DamagedFileError: A file in it cannot be read as what it should be.
        ConfigError: A newer memwb has written it.
        OSError: A file is missing or cannot be opened.
    """
    about = _read_about(path / ABOUT)
    injection, callbacks = _read_settings(path / SETTINGS)
    stores, messages = open_saved(path), _read_talk(path / TALK)
    if unknown := [name for name in about["searched"] if name not in [store.name for store in stores]]:
        raise DamagedFileError(path / ABOUT, "", f"it searches stores that are not there: {unknown}")
    if not 0 <= about["call"] <= len(model_calls(messages)):
        raise DamagedFileError(path / ABOUT, "", f"the conversation has no model call {about['call']}")
    return Source(
        list(stores),
        injection=injection,
        messages=messages,
        expected=tuple(about["expected"]),
        placement=about["placement"],
        state=about["state"],
        kept=Kept(about, callbacks),
    )


# -- writing --------------------------------------------------------------------------------------------------------


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


def _settings(state: WorkbenchState) -> str:
    searched = list(state.store_names)
    try:
        return settings_source(state.settings, SETTINGS.removesuffix(".py"), stores=searched, beside=_BESIDE)
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
    given = state.agent_state
    about = {
        "format": _VERSION,
        "call": state.call,
        "expected": [await _named(state, each, mask) for each in state.expected],
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


# -- reading --------------------------------------------------------------------------------------------------------


def _read_about(file: Path) -> dict[str, Any]:
    about = _parsed(file, _read(file))
    if not isinstance(about, dict) or not isinstance(about.get("format"), int):
        raise DamagedFileError(file, "", "it is no description of a snapshot")
    if about["format"] > _VERSION:
        raise ConfigError(
            f"Workbench: {str(file.parent)!r} was written by a newer memwb: its snapshot has format "
            f"{about['format']}, and this one reads {_VERSION}; update it.",
            key="source",
            value=str(file.parent),
        )
    kinds: dict[str, Any] = {
        "call": int,
        "expected": list,
        "looked_for": str,
        "searched": list,
        "tokenizer": (str, type(None)),
        "token_counter": (str, type(None)),
        "placement": (str, type(None)),
        "state": (dict, type(None)),
    }
    wrong = [key for key, kind in kinds.items() if key not in about or not isinstance(about[key], kind)]
    if about.get("tokenizer") not in (None, *TOKENIZERS):
        wrong.append("tokenizer")
    if wrong:
        raise DamagedFileError(file, "", f"{', '.join(map(repr, wrong))} are missing or not what they should be")
    return about


def _read_talk(file: Path) -> list[Any]:
    lines = [(at, line) for at, line in enumerate(_read(file).split(b"\n"), 1) if line.strip()]
    messages = [unpacked(_parsed(file, line, at)) for at, line in lines]
    try:
        check_messages(messages)
    except ConfigError as error:
        raise DamagedFileError(file, "", str(error)) from error
    return messages


def _read_settings(file: Path) -> tuple[Any, dict[str, str]]:
    """Return the settings without the callbacks, and the source of each callback; nothing is run."""
    source = _read(file).decode("utf-8", "replace")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        place = f"line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise DamagedFileError(file, place, str(error)) from error
    values = {
        each.targets[0].id: each.value
        for each in tree.body
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
    }
    injection = values.get("injection")
    if isinstance(injection, ast.Constant) and injection.value is False:
        return False, {}
    if not isinstance(injection, ast.Dict):
        raise DamagedFileError(file, "", "it assigns no settings to 'injection'")
    settings: dict[str, Any] = {}
    callbacks = {}
    for key, value in zip(injection.keys, injection.values, strict=True):
        name = key.value if isinstance(key, ast.Constant) else None
        if name in CALLBACKS and isinstance(value, ast.Name):
            callbacks[str(name)] = _source_of(source, tree, value.id)
        elif isinstance(name, str) and isinstance(value, ast.Constant):
            settings[name] = value.value
        else:
            line = f"line {value.lineno}"
            raise DamagedFileError(file, line, "a setting is no plain value and no callback of this file")
    placement = values.get("PLACEMENT")
    if isinstance(placement, ast.Constant):
        settings.setdefault("placement", placement.value)
    return settings, callbacks


def _source_of(source: str, tree: ast.Module, function: str) -> str:
    """Return a function with what it uses of its module, the function last: an editor takes the last one."""
    own = {"injection", "PLACEMENT", "STORES"}
    defined: dict[str, ast.stmt] = {}
    for statement in tree.body:
        for name in _names(statement) - own:
            defined[name] = statement
    wanted: dict[int, ast.stmt] = {}
    ahead = [function]
    while ahead:
        statement = defined.get(ahead.pop())  # type: ignore[assignment]
        if statement is not None and id(statement) not in wanted:
            wanted[id(statement)] = statement
            ahead += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    last = defined.get(function)
    parts = [each for each in tree.body if id(each) in wanted and each is not last]
    return "\n\n".join(_text(source, each) for each in (*parts, last) if each is not None) + "\n"


def _names(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(each.asname or each.name).partition(".")[0] for each in statement.names} - {"annotations"}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _text(source: str, statement: ast.stmt) -> str:
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(each.lineno for each in decorators)])
    return "\n".join(source.split("\n")[first - 1 : statement.end_lineno])


def _parsed(file: Path, data: bytes, line: int | None = None) -> Any:
    try:
        return loads(data)
    except NotJsonError as error:
        raise DamagedFileError(file, error.place if line is None else f"line {line}", error.cause) from error


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise _files.described(error, f"The snapshot's {file} cannot be read: {error.strerror}.", file) from error
