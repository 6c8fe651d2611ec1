"""What tells one evaluation from another: its settings in words, and hashes of its cases and entries.

Two runs whose descriptions are equal give the same figures, as far as callbacks and stores are deterministic. A
function is described by its name and a hash of its source: one that was changed under its old name is another one.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any

import orjson

from .._collector import without_collector
from ..memory.settings import resolve_injection
from ..stores import Listable
from .arms import Arm
from .cases import Case

__all__ = ["Contents", "described", "hash_of_cases", "name_of"]

_PAGE = 5_000


def described(arm: Arm) -> dict[str, Any]:
    """Return a setting's keys and values as texts and numbers; a function is ``name@hash of its source``."""
    settings = resolve_injection(arm.injection)
    if settings is None:
        return {"injection": False}
    values = {key: _value(value) for key, value in settings.config().items()}
    if arm.stores is not None:
        values["stores"] = [_value(draw) for draw in arm.draws] if len(arm.draws) > 1 else _value(arm.draws[0])
    if arm.over is not None:
        values["over"] = name_of(arm.over)
    return values


def name_of(value: Any) -> str:
    """Return what a person calls a value: a function's name with what was filled in, a store's name, else its repr."""
    if isinstance(value, partial):
        given = [*map(name_of, value.args), *(f"{key}={name_of(item)}" for key, item in value.keywords.items())]
        return f"{name_of(value.func)}({', '.join(given)})"
    name = getattr(value, "__name__", None)
    if isinstance(name, str):
        return name.lstrip("_")
    if isinstance(getattr(value, "name", None), str):
        return str(value.name)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {name_of(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(name_of, value))
    if value is None or isinstance(value, str | int | float | bool):
        return str(value)
    return type(value).__name__


def hash_of_cases(cases: Iterable[Case]) -> str:
    """Return a hash of the cases with all that an evaluation reads of them."""
    read = ("id", "messages", "expected", "owner", "category")
    return _hash([case.__dict__[name] for name in read] for case in cases)  # without the copies that a case hands out


@dataclass
class Contents:
    """What the stores hold, read once before an evaluation.

    Attributes:
        hash: A hash of each owner's stores, their names and entries; of one that cannot list them, of its name alone.
        names: Owner -> the ids and the texts of all entries; None where a store cannot list them.
    """

    hash: str
    names: dict[str | None, set[str] | None]

    @classmethod
    async def of(cls, groups: Iterable[Mapping[str | None, Sequence[Any]]]) -> Contents:
        """Read the stores of each owner, each store once."""
        read: dict[int, tuple[str, set[str] | None]] = {}
        parts: list[Any] = []
        names: dict[str | None, set[str] | None] = {}
        for by_owner in groups:
            for owner, stores in by_owner.items():
                for store in stores:
                    if id(store) not in read:
                        read[id(store)] = await _read(store)
                    hashed, held = read[id(store)]
                    parts.append([owner, hashed])
                    so_far = names.get(owner, set())
                    names[owner] = None if so_far is None or held is None else so_far | held if so_far else held
        return cls(_hash(parts), names)

    def unknown(self, case: Case) -> tuple[str, ...]:
        """Return what a case expects and no store holds, as far as the stores tell."""
        held = self.names.get(case.owner, set())
        return () if held is None else tuple(each for each in case.expected if not {each, each.strip()} & held)


async def _read(store: Any) -> tuple[str, set[str] | None]:
    parts: list[Any] = [store.name, name_of(getattr(store, "tokenizer", None))]
    if not isinstance(store, Listable):
        return _hash(parts), None
    held: set[str] = set()
    done = 0
    with without_collector():
        while page := await store.page(done, _PAGE):
            parts.append([(record.id, record.content, record.created_at, record.metadata) for record in page])
            held.update([record.id for record in page], [record.content.strip() for record in page])
            done += len(page)
        return _hash(parts), held


def _hash(parts: Iterable[Any]) -> str:
    digest = blake2b(digest_size=8)
    for part in parts:
        digest.update(_bytes(part) + b"\n")
    return digest.hexdigest()


def _bytes(part: Any) -> bytes:
    try:
        return orjson.dumps(part, default=repr, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # integers beyond 64 bits, lone surrogates, keys that are no text
        return json.dumps(part, default=repr).encode()


def _value(value: Any) -> Any:
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return f"{name_of(value)}@{_hash([_code(value)])}"


def _code(value: Any) -> Any:
    """Return what makes a function what it is, as far as it can be told: source, filled-in values, enclosed values."""
    if isinstance(value, partial):
        return [_code(value.func), list(map(_code, value.args)), {k: _code(v) for k, v in value.keywords.items()}]
    if inspect.isfunction(value):
        enclosed = [_cell(cell) for cell in value.__closure__ or ()]
        return [_source(value), enclosed, [_code(default) for default in value.__defaults__ or ()]]
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, list | tuple):
        return list(map(_code, value))
    if inspect.isclass(value) or inspect.isbuiltin(value):
        return _source(value)
    held = {name: _code(item) for name, item in vars(value).items()} if hasattr(value, "__dict__") else {}
    return [_source(type(value)), held]


def _cell(cell: Any) -> Any:
    content = cell.cell_contents
    if inspect.isfunction(content):
        return _source(content)  # without what it encloses, which may be itself
    plain = isinstance(content, str | int | float | bool) or content is None
    return content if plain else repr(content) if isinstance(content, tuple | list) else type(content).__name__


def _source(value: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):  # a built-in, or code that no file holds
        code = getattr(value, "__code__", None)
        return f"{getattr(value, '__qualname__', value)} {code.co_code.hex() if code else ''}"
