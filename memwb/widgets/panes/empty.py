"""What to say where there is nothing: a missing file, an empty store and a query without a match are three things."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._dom import Node, el
from ..._text import counted
from .parts import failed_stores

if TYPE_CHECKING:
    from ...workbench import WorkbenchState

_LARGEST_LOOKED_INTO = 20_000_000  # bytes: a bigger file is named without its count of entries


def never_written(state: WorkbenchState) -> str:
    """Say that nothing was ever written, and why as far as it can be seen; "" when the stores hold entries or fail."""
    if state.preview is None or state.preview.entries != 0 or failed_stores(state.preview.trace):
        return ""
    missing = [store for store in _stores(state) if missing_file(store) is not None]
    if missing:
        return f"{missing_file(missing[0])} does not exist, so {missing[0].name!r} is empty"
    names = " and ".join(repr(store.name) for store in _stores(state))
    return f"nothing was ever written to {names}"


def missing_file(store: Any) -> Path | None:
    """Return the file that a store would read, if there is none yet."""
    path = getattr(store, "path", None)
    return path if isinstance(path, Path) and not path.exists() else None


def empty(state: WorkbenchState) -> Node | None:
    """Return what is missing and what to do about it, or None when the stores hold entries."""
    reason = never_written(state)
    if not reason:
        return None
    write = el("code", "", "await store.add(...)")
    agents = ", or let an agent write: its add tool is off unless it is switched on."
    content: list[Node] = [
        el("p", "", el("strong", "", f"{reason[0].upper()}{reason[1:]}.")),
        el("p", "", "Write to it with ", write, agents),
    ]
    for store in _stores(state):
        if (path := missing_file(store)) is not None:
            content.extend(_beside(path))
    return el("div", "memwb-empty", *content)


def _beside(path: Path) -> list[Node]:
    """Name the stores' files that lie beside a missing one, each with a button that opens it."""
    try:
        files = sorted(file for file in path.parent.iterdir() if file.suffix == ".json" and file.is_file())
    except OSError:
        return []
    rows = []
    for file in files[:5]:
        count = _count_in(file)
        if count is not None:
            button = el("button", "", "Open", action={"do": "open", "path": str(file)}, aria_label=f"Open {file.name}")
            rows.append(el("p", "", f"Beside it: {file.name} with {count} ", button))
    return rows


def _count_in(file: Path) -> str | None:
    """Return how many entries a file holds, in words; None when it is no store's file."""
    try:
        found = file.stat()
        return _entries_in(file, found.st_size, found.st_mtime_ns)
    except (OSError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=32)  # a page is drawn at each keystroke, and these files are read once
def _entries_in(file: Path, size: int, _changed: int) -> str | None:
    if size > _LARGEST_LOOKED_INTO:
        return "very many entries"
    records = json.loads(file.read_bytes())
    if not isinstance(records, list) or not all(isinstance(item, dict) and "content" in item for item in records):
        return None
    return counted(len(records), "entry", "entries")


def _stores(state: WorkbenchState) -> list[Any]:
    """The stores that are searched, each as it can be listed."""
    chosen = [store for store in state.source.stores if store.name in state.store_names]
    return [state.source.listings.get(store.name, store) for store in chosen]
