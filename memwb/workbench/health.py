"""Looking through stores for what is damaged or doubtful, and saving what is readable of a damaged file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._dom import Node, el
from .._redact import without_quotes
from .._text import counted, shortened, visible
from ..errors import ConfigError, DamagedFileError
from ..memory.search import is_the_stores_own
from ..ranking.near import normal_form
from .rows import StoreRows
from .silence import missing_file
from .told import told

_MOST = 200  # findings of one store that are told


@dataclass(frozen=True)
class Finding:
    """Something that is damaged or doubtful.

    Attributes:
        store: The name of the store.
        place: Where it is: a file and a place in it, or an entry's id.
        fault: What is wrong, in words.
        advice: What to do.
        damaged: Whether the store cannot be used until it is mended.
    """

    store: str
    place: str
    fault: str
    advice: str
    damaged: bool = False

    @property
    def shown(self) -> str:
        """The fault, with what it quotes as ``memwb.options(redact=...)`` has it."""
        return without_quotes(self.fault)

    def __repr__(self) -> str:
        return f"Finding({self})"

    def __str__(self) -> str:
        return f"{self.store}, {self.place}: {self.shown}. {self.advice}."


class Health:
    """What was found; its repr is a text, and a notebook shows it as a table.

    Attributes:
        findings: What was found, store by store.
        checked: What was looked through, by store: how many entries, or that it could not be.
    """

    def __init__(self, findings: Sequence[Finding], checked: Mapping[str, str]) -> None:
        self.findings, self.checked = tuple(findings), dict(checked)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def summary(self) -> str:
        """What was looked through and how much was found, in a sentence."""
        looked = "; ".join(f"{name}: {what}" for name, what in self.checked.items())
        return f"{counted(len(self), 'finding') if len(self) else 'Nothing found'} ({looked})"

    @property
    def damaged(self) -> tuple[str, ...]:
        """The stores whose file is damaged."""
        return tuple(dict.fromkeys(finding.store for finding in self.findings if finding.damaged))

    def __repr__(self) -> str:
        return visible("\n".join([self.summary, *(f"- {finding}" for finding in self.findings)]))

    def node(self) -> Node:
        """Return the findings as a tree of elements."""
        rows = [
            el(
                "tr",
                "memwb-bad" if finding.damaged else "",
                *(el("td", "", text) for text in (finding.store, finding.place, finding.shown, finding.advice)),
            )
            for finding in self.findings
        ]
        head = el(
            "tr", "", *(el("th", "", name, scope="col") for name in ("store", "place", "what is wrong", "what to do"))
        )
        return el(
            "div",
            "memwb-health mathjax_ignore tex2jax_ignore",
            el("p", "", el("strong", "", self.summary)),
            el("table", "", el("thead", "", head), el("tbody", "", *rows)) if rows else None,
        )

    def _repr_html_(self) -> str:
        return self.node().to_html()


async def examine(stores: Mapping[str, Any]) -> Health:
    """Look through stores; nothing is changed."""
    findings, checked = _clashes(stores), {}
    for name, store in stores.items():
        if not hasattr(store, "page"):
            checked[name] = "it cannot list its entries, so they were not looked through"
            continue
        try:
            records = await StoreRows(store).all()
        except BaseException as error:
            if not is_the_stores_own(error):
                raise
            findings += _damage(name, store, error)
            checked[name] = "it cannot be read"
            continue
        findings += [
            Finding(name, f"{Path(file).name}, {place}", reason, _advice(reason))
            for file, place, reason in getattr(store, "damage", ())[:_MOST]
        ]
        findings += _doubtful(name, records)
        checked[name] = counted(len(records), "entry", "entries")
        if (path := missing_file(store)) is not None:
            advice = "Nothing was ever written to it, or its path is wrong"
            findings.append(Finding(name, str(path), "there is no file", advice))
    return Health(findings, checked)


def _advice(reason: str) -> str:
    return (
        "Delete one of them, by its text"
        if reason.startswith("the id ")
        else "It is left as it is; the others can be read"
    )


def _damage(name: str, store: Any, error: BaseException) -> list[Finding]:
    """Tell each place of a damaged file that salvaging would leave out or change."""
    path = getattr(store, "path", None)
    if not isinstance(error, DamagedFileError) or path is None or not hasattr(store, "salvage"):
        return [Finding(name, str(path or name), told(error), "Look at the file", True)]
    advice = "Salvage what is readable: `await wb.entries.salvage()`"
    notes = store.salvageable()
    found = [Finding(name, str(error.place or path), error.cause, advice, True)]
    found += [
        Finding(name, note.place, f"{note.reason} ({shortened(note.text, 60)})", "Salvaging leaves it out", True)
        for note in notes.left_out[:_MOST]
    ]
    return found + [
        Finding(name, note.place, f"{note.reason} ({shortened(note.text, 60)})", "Salvaging mends it", True)
        for note in notes.changed[:_MOST]
    ]


def _doubtful(name: str, records: Sequence[Any]) -> list[Finding]:
    found: list[Finding] = []
    texts: dict[str, str] = {}
    for record in records:
        where = f"entry {shortened(record.id, 40)}"
        if not record.content.strip():
            found.append(Finding(name, where, "its text is blank", "Delete it"))
        elif (first := texts.setdefault(normal_form(record.content), record.id)) != record.id and not record.role:
            found.append(Finding(name, where, f"it says the same as {shortened(first, 40)}", "Merge the two"))
        if record.created_at is None:
            found.append(Finding(name, where, "its time cannot be read as one", "It counts as older than all others"))
    return found[:_MOST]


def _clashes(stores: Mapping[str, Any]) -> list[Finding]:
    """Find stores whose names differ in letter case alone, and those with one file."""
    found = []
    names: dict[str, str] = {}
    files: dict[str, str] = {}
    for name, store in stores.items():
        first = names.setdefault(name.casefold(), name)
        if first != name:
            found.append(
                Finding(name, "its name", f"{first!r} is the same but for letter case", "Give one another name")
            )
        path = getattr(store, "path", None)
        if path is not None:
            other = files.setdefault(os.path.normcase(os.path.realpath(path)), name)
            if other != name:
                fault = f"it is the file of {other!r} too, so each entry is there twice"
                found.append(Finding(name, str(path), fault, "Give one another path"))
    return found


async def rescue(stores: Mapping[str, Any], name: str | None, to: Any) -> Any:
    """Salvage the file of a store; see ``EntriesState.salvage``."""
    if not isinstance(name, str) or name not in stores:
        told = f"Entries: store is {name!r:.60}; say which one to salvage: {', '.join(stores)}."
        raise ConfigError(told, key="store", value=name, allowed=tuple(stores))
    store = stores[name]
    if getattr(store, "path", None) is None or not hasattr(store, "salvage"):
        raise ConfigError(f"Entries: {name!r} has no file that could be salvaged.", key="store", value=name)
    path = Path(store.path)
    return await store.salvage(path.with_name(f"{path.stem}.rescued{path.suffix}") if to is None else to)
