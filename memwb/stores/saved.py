"""Stores kept in a folder as files that a person can read and a version control system can compare.

Each store is one file ``stores/<name>.json`` in the form of a TestMemoryStore, beside ``stores/stores.json``, which
says what the stores are called, in which order they stand, and how they search. Opened again they live in memory alone:
nothing that is done to them changes the files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .. import _files, ranking
from .._json import NotJsonError, dumps, loads
from .._redact import masked_data
from .._time import stamp
from ..catalog import Record
from ..errors import ConfigError, DamagedFileError, MemwbError
from .json_file import TestMemoryStore
from .protocols import Listable

__all__ = ["open_saved", "save_stores"]

LIST = "stores.json"

_TOKENIZERS = ("tokenize", "tokenize_any_script", "tokenize_without_stop_words")
_NOW_AND_THEN = "1970-01-01T00:00:00.000Z"  # of a record whose store tells no time


async def save_stores(
    folder: str | os.PathLike[str], stores: Sequence[Any], *, redact: Callable[[str], str] | None = None
) -> None:
    """Write stores into a folder; the same entries give the same bytes.

    Args:
        folder: Where ``stores/`` is made, or written anew.
        stores: Stores that can list their entries. A store that searches in another way than by shared words, such as
            one of a service, is a TestMemoryStore when it is opened again.
        redact: Gives the text that stands in the place of an entry's, and of the texts in its metadata.

    Raises:
        ConfigError: A store cannot list its entries, or holds one that a file cannot keep, such as half a character; or
            a tokenizer has no name to keep. Nothing is written.
    """
    place = Path(folder) / "stores"
    files: dict[str, bytes] = {}
    listed = []
    for store in stores:
        if not isinstance(store, Listable):
            raise ConfigError(
                f"Store {getattr(store, 'name', store)!r} cannot list its entries (it has no methods count, page and "
                "get), so they cannot be saved.",
                key="stores",
                value=store,
            )
        about: Any = store
        name = f"{_files.safe_name(about.name)}.json"
        while name.casefold() in {LIST, *map(str.casefold, files)}:
            name = f"_{name}"
        records = await store.page(0, max(1, await store.count()))
        values = {key: getattr(about, key, None) for key in ("name", "description", "max_search_results")}
        values["provenance"] = _provenance(about)
        listed.append({**values, "file": name, "tokenizer": _tokenizer_name(about)})
        files[name] = _written([_raw(record, redact) for record in records], values)
    place.mkdir(parents=True, exist_ok=True)
    for name, data in {**files, LIST: dumps(listed)}.items():
        _files.replace(_files.resolve(place / name), data)


def open_saved(folder: str | os.PathLike[str]) -> list[TestMemoryStore]:
    """Open the stores that :func:`save_stores` wrote into a folder, in their order.

    Raises:
        DamagedFileError: A file cannot be read as what it should be.
        OSError: A file is missing, or cannot be opened.
    """
    place = Path(folder) / "stores"
    opened = []
    for about in _read(place / LIST):
        try:
            tokenizer = getattr(ranking, about["tokenizer"]) if about["tokenizer"] in _TOKENIZERS else None
            config = {key: about[key] for key in ("name", "description", "max_search_results", "provenance")}
            file = place / about["file"]
        except (KeyError, TypeError) as error:
            raise DamagedFileError(place / LIST, "", f"it does not describe a store ({error})") from error
        if (
            file.parent != place or ".." in file.parts[-1:]
        ):  # a folder from elsewhere must not read files of this machine
            raise DamagedFileError(place / LIST, "", f"a store's file {about['file']!r:.80} is not in the folder")
        if tokenizer is None:
            raise DamagedFileError(place / LIST, "", f"there is no tokenizer {about['tokenizer']!r}")
        try:
            opened.append(TestMemoryStore.from_records(_read(file), tokenizer=tokenizer, **config))
        except (MemwbError, TypeError) as error:
            raise DamagedFileError(file, "", str(error)) from error
    return opened


def _read(file: Path) -> list[Any]:
    try:
        value = loads(file.read_bytes())
    except NotJsonError as error:
        raise DamagedFileError(file, error.place, error.cause) from error
    except OSError as error:
        raise _files.described(error, f"{file} cannot be read: {error.strerror}.", file) from error
    if not isinstance(value, list):
        raise DamagedFileError(file, "", "it holds no list")
    return value


def _written(raw: list[Any], values: dict[str, Any]) -> bytes:
    """Return a store's file, one that can be opened: a store of somebody else's may hold what ours refuses."""
    try:
        TestMemoryStore.from_records(raw, **values)
        return dumps(raw)
    except (MemwbError, NotJsonError) as error:
        name = values["name"]
        raise ConfigError(f"Store {name!r:.60} cannot be saved: {error}", key="stores", value=name) from error


def _raw(record: Record, redact: Callable[[str], str] | None) -> dict[str, Any]:
    time = _NOW_AND_THEN if record.created_at is None else stamp(record.created_at)
    masked = redact if redact is not None else str
    raw: dict[str, Any] = {"id": record.id, "content": masked(record.content), "createdAt": time}
    if record.metadata is not None:
        raw["metadata"] = record.metadata if redact is None else masked_data(redact, record.metadata)
    return raw


def _tokenizer_name(store: Any) -> str:
    tokenizer = getattr(store, "tokenizer", None) or ranking.tokenize
    name = getattr(tokenizer, "__name__", "")
    if name in _TOKENIZERS and getattr(ranking, name) is tokenizer:
        return str(name)
    raise ConfigError(
        f"Store {store.name!r} has a tokenizer of its own, {name or tokenizer!r}, which a file cannot keep; those that "
        f"it can are {', '.join(_TOKENIZERS)}, of memwb.ranking.",
        key="tokenizer",
        value=tokenizer,
        allowed=_TOKENIZERS,
    )


def _provenance(store: Any) -> bool:
    return getattr(store, "provenance", False) is True
