"""Opening a snapshot: its files are read and checked, and no code in them is run."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _files
from .._json import NotJsonError, loads
from .._whole_folder import standing
from ..conversations import unpacked
from ..errors import ConfigError, DamagedFileError
from ..memory.messages import check_messages, model_calls
from ..memory.settings import CALLBACKS, resolve_injection
from ..memory.suggestions import TOKENIZERS, tokenizer_named
from ..stores.saved import open_saved
from ..tokens import counter_named
from .arms import PinnedArm
from .source import Source

if TYPE_CHECKING:
    from .state import WorkbenchState

__all__ = ["ABOUT", "ARMS", "SETTINGS", "STORES", "TALK", "VERSION", "Kept", "is_snapshot", "open_snapshot"]

ABOUT, TALK, SETTINGS, STORES, ARMS = "snapshot.json", "conversation.jsonl", "settings.py", "stores", "arms"
VERSION = 1

_LOOKS = 10  # at a folder that others replace while it is read


@dataclass(frozen=True)
class Kept:
    """What a snapshot holds beside stores, conversation and settings, to be put into the workbench that opens it.

    Attributes:
        about: The values of ``snapshot.json``.
        callbacks: The source of each callback by its name; it runs when the workbench refreshes, as a typed one does.
        arms: The pinned settings.
    """

    about: dict[str, Any]
    callbacks: dict[str, str]
    arms: tuple[PinnedArm, ...] = ()

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
        state.arms.restore(self.arms)
        if settings:
            for name, source in self.callbacks.items():
                state.slots[name].give(source)
        if talk:
            state.return_to(replace(state.moment(), call=about["call"], expected_at=about["expected_at"]))
            state.look_for(about["looked_for"])


def is_snapshot(path: Path) -> bool:
    """Whether a folder is a snapshot, also where a killed process left it aside."""
    return standing(path, ABOUT) is not None


def open_snapshot(path: Path) -> Source:
    """Open a snapshot as a workbench's source; no code in it is run.

    One that is replaced in the middle of the reading is read again, so that no mixture of two is opened.

    Raises:
        DamagedFileError: A file in it cannot be read as what it should be.
        ConfigError: A newer memwb has written it.
        OSError: A file is missing or cannot be opened.
    """
    for left in range(_LOOKS, -1, -1):
        place = standing(path, ABOUT) or path
        before = _identity(place)
        try:
            source = _opened(place)
        except (OSError, DamagedFileError):
            if not left or (before is not None and _identity(place) == before):
                raise
            continue
        if not left or _identity(place) == before:
            break
    return source


def _identity(place: Path) -> tuple[int, int] | None:
    try:
        status = place.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _opened(path: Path) -> Source:
    about = _read_about(path / ABOUT)
    injection, callbacks = _read_settings(path / SETTINGS)
    stores, messages = open_saved(path), _read_talk(path / TALK)
    known = {store.name: store for store in stores}
    if unknown := [name for name in about["searched"] if name not in known]:
        raise DamagedFileError(path / ABOUT, "", f"it searches stores that are not there: {unknown}")
    calls = len(model_calls(messages))
    for key in ("call", "expected_at"):
        if not 0 <= about[key] <= calls:
            raise DamagedFileError(path / ABOUT, "", f"the conversation has no model call {about[key]}")
    return Source(
        list(stores),
        injection=injection,
        messages=messages,
        expected=tuple(about["expected"]),
        placement=about["placement"],
        state=about["state"],
        kept=Kept(about, callbacks, tuple(_read_arm(path, at, arm, known) for at, arm in enumerate(about["arms"], 1))),
    )


def _read_arm(path: Path, at: int, about: dict[str, Any], known: dict[str, Any]) -> PinnedArm:
    place = path / ARMS / str(at)
    injection, callbacks = _read_settings(place / SETTINGS)
    names = about["stores"]
    if unknown := [name for name in names or () if name not in known]:
        raise DamagedFileError(
            path / ABOUT, "", f"its arm {about['name']!r} searches stores that are not there: {unknown}"
        )
    stores = open_saved(place) if names is None else [known[name] for name in names]
    try:
        settings = resolve_injection(injection, prefix="")
    except ConfigError as error:
        raise DamagedFileError(place / SETTINGS, "", str(error)) from error
    return PinnedArm(about["name"], settings, tuple(stores), about["own"], callbacks)


_TEXT_OR_NONE = (str, type(None))
_KINDS: dict[str, Any] = {
    "call": int,
    "expected": list,
    "expected_at": int,
    "looked_for": str,
    "searched": list,
    "tokenizer": _TEXT_OR_NONE,
    "token_counter": _TEXT_OR_NONE,
    "placement": _TEXT_OR_NONE,
    "state": (dict, type(None)),
    "arms": list,
}
_KINDS_OF_ARM: dict[str, Any] = {"name": str, "own": bool, "stores": (list, type(None))}
_SAID = {int: "a whole number", str: "a text", list: "a list", bool: "true or false", dict: "an object"}


def _read_about(file: Path) -> dict[str, Any]:
    about = _parsed(file, _read(file))
    if not isinstance(about, dict) or not _is(about.get("format"), int):
        raise DamagedFileError(file, "", "it is no description of a snapshot")
    if about["format"] > VERSION:
        raise ConfigError(
            f"Workbench: {str(file.parent)!r} was written by a newer memwb: its snapshot has format "
            f"{about['format']}, and this one reads {VERSION}; update it.",
            key="source",
            value=str(file.parent),
        )
    about = {"expected_at": about.get("call", 0), "arms": [], **about}  # which the first ones did not have
    wrong = [*_wrong(about, _KINDS, "")]
    for key in ("expected", "searched"):
        wrong += _wrong_items(about.get(key), key, str)
    wrong += _wrong_items(about["arms"], "arms", dict)
    for at, arm in enumerate(about["arms"] if isinstance(about["arms"], list) else ()):
        if isinstance(arm, dict):
            wrong += _wrong(arm, _KINDS_OF_ARM, f"arms[{at}].")
            wrong += _wrong_items(arm.get("stores"), f"arms[{at}].stores", str)
    for key, allowed in (("tokenizer", (None, *TOKENIZERS)), ("placement", (None, "append", "prepend"))):
        if not wrong and about[key] not in allowed:
            wrong.append(f"{key} is {about[key]!r:.60}; it takes {', '.join(map(str, allowed[1:]))} or null")
    if wrong:
        raise DamagedFileError(file, "", "; ".join(wrong[:3]))
    return about


def _wrong(values: dict[str, Any], kinds: dict[str, Any], where: str) -> list[str]:
    """Return what is missing or of another kind, in words."""
    told = []
    for key, kind in kinds.items():
        if key not in values:
            told.append(f"{where}{key} is missing")
        elif not _is(values[key], kind):
            told.append(f"{where}{key} is {values[key]!r:.60}, not {_said(kind)}")
    return told


def _wrong_items(values: Any, name: str, kind: Any) -> list[str]:
    items = enumerate(values if isinstance(values, list) else ())
    return [f"{name}[{at}] is {item!r:.60}, not {_said(kind)}" for at, item in items if not _is(item, kind)]


def _is(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _said(kind: Any) -> str:
    return f"{_SAID[kind[0]]} or null" if isinstance(kind, tuple) else _SAID[kind]


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
