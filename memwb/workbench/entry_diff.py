"""What staged changes do to entries, as differences that a person reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from .._dom import Node, el
from .._redact import masked_words, shown, texts_in
from .._text import counted, shortened, visible
from .rows import METADATA, flattened

if TYPE_CHECKING:
    from ..catalog import Record
    from .changes import Change

SHOWN = 100
"""Changes that a diff shows; how many more there are is said."""

_TOGETHER = 1_000_000  # pieces of the one text times those of the other that are compared, beginning and end aside
_LENGTH = 2_000  # characters that are shown of a piece, and of a text in a repr
_PIECES = re.compile(r"\w+|\s+|[^\w\s]")

Part = tuple[str, str]
"""``same``, ``gone`` or ``new``, and a text."""


def text_parts(before: str, after: str) -> list[Part]:
    """Return how one text becomes the other, in pieces of whole words; of long texts, what differs as one piece."""
    old, new = _PIECES.findall(before), _PIECES.findall(after)
    most = min(len(old), len(new))
    begin = next((at for at in range(most) if old[at] != new[at]), most)
    end = next((at for at in range(most - begin) if old[-1 - at] != new[-1 - at]), most - begin)
    parts: list[Part] = [("same", "".join(old[:begin]))]
    last = "".join(old[len(old) - end :])
    old, new = old[begin : len(old) - end], new[begin : len(new) - end]
    if len(old) * len(new) > _TOGETHER:
        parts += [("gone", "".join(old)), ("new", "".join(new))]
    else:
        for _, start, stop, new_start, new_stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            gone, come = "".join(old[start:stop]), "".join(new[new_start:new_stop])
            parts += [("same", gone)] if gone == come else [("gone", gone), ("new", come)]
    return [(kind, text) for kind, text in [*parts, ("same", last)] if text]


def metadata_changes(before: Record | None, after: Record | None) -> list[tuple[str, str, str]]:
    """Return name, old and new value of each place in the metadata that differs; "" for no value."""
    old, new = (flattened(record.metadata) if record else {} for record in (before, after))
    names = [
        name for name in {**old, **new} if repr(old.get(name)) != repr(new.get(name)) or (name in old) != (name in new)
    ]
    return [(name.removeprefix(METADATA), _value(old, name), _value(new, name)) for name in names]


def _value(values: dict[str, Any], name: str) -> str:
    return shortened(repr(values[name]), 200) if name in values else ""


class EntriesDiff:
    """The difference that staged changes make; its repr is a text, and a notebook shows it as a table.

    Attributes:
        changes: The changes.
    """

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = tuple(changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __repr__(self) -> str:
        lines = [self.summary]
        for change in self.changes[:SHOWN]:
            lines.append(f"{head(change)}:")
            parts = [(kind, _cropped(text)) for kind, text in _parts(change)]
            before, after = ("".join(text for kind, text in parts if kind != other) for other in ("new", "gone"))
            if before != after:
                lines += [f"  - {line}" for line in before.split("\n") if before]
                lines += [f"  + {line}" for line in after.split("\n") if after]
            lines += [f"  {_told(*each)}" for each in metadata_changes(change.before, change.after)]
        if len(self) > SHOWN:
            lines.append(f"and {len(self) - SHOWN:,} more")
        return visible("\n".join([lines[0], *(masked_words(line, texts_in(self.changes)) for line in lines[1:])]))

    @property
    def summary(self) -> str:
        """How many changes there are, in words."""
        kinds = [change.kind for change in self.changes]
        parts = [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]
        return f"{counted(len(self), 'change')} staged{': ' + ', '.join(parts) if parts else ''}"

    def node(self, hide: bool = False) -> Node:
        """Return the difference as a tree of elements; ``hide`` masks as ``memwb.options(redact=...)`` says."""
        rows = [_row(_hidden(change) if hide else change) for change in self.changes[:SHOWN]]
        more = len(self) - SHOWN
        return el(
            "div",
            "memwb-diff mathjax_ignore tex2jax_ignore",
            el("p", "", el("strong", "", self.summary)),
            el("table", "", el("tbody", "", *rows)) if rows else None,
            el("p", "", f"… and {more:,} more") if more > 0 else None,
        )

    def _repr_html_(self) -> str:
        return self.node(hide=True).to_html()


def head(change: Change) -> str:
    """Return what a change is of and what it does, in words."""
    into = f" into {change.into[1]}" if change.into else ""
    return f"{change.kind}{into}, {change.store}, {change.id}"


def _hidden(change: Change) -> Change:
    sides = {}
    for side in ("before", "after"):
        record = getattr(change, side)
        if record is not None:
            record = replace(record, content=shown(record.content), metadata=shown(record.metadata))
        sides[side] = record
    return replace(change, **sides)


def _parts(change: Change) -> list[Part]:
    return text_parts(change.before.content if change.before else "", change.after.content if change.after else "")


def _row(change: Change) -> Node:
    tags = {"gone": "del", "new": "ins"}
    shown = [(kind, _cropped(text)) for kind, text in _parts(change)]
    words = [text if kind == "same" else el(tags[kind], "", text) for kind, text in shown]
    facts = [el("div", "memwb-fact", _told(*each)) for each in metadata_changes(change.before, change.after)]
    into = f" into {shortened(change.into[1], 20)}" if change.into else ""
    return el(
        "tr",
        "",
        el("td", "", el("span", f"memwb-kind memwb-{change.kind}", change.kind + into)),
        el("td", "", el("div", "", change.store), el("small", "", shortened(change.id, 20), title=change.id)),
        el("td", "", el("pre", "", *words), *facts),
        data_key=f"{change.store}\n{change.id}",
    )


def _cropped(text: str) -> str:
    """Return the beginning and the end of what is long: the change may be at either."""
    left = len(text) - _LENGTH
    half = _LENGTH // 2
    return text if left <= 0 else f"{text[:half]} … {left:,} more characters … {text[-half:]}"


def _told(name: str, old: str, new: str) -> str:
    if not old or not new:
        return f"{'+' if new else '−'} {name}: {new or old}"
    return f"{name}: {old} → {new}"
