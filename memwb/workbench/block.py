"""Whether the block is well-formed markup, where not, and which characters in it a reader would not see."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple
from xml.parsers import expat

from .._redact import masked
from .._text import counted, quoted, seen_apart, visible
from ..memory import Hit, InjectionTrace

_MARKUP = re.compile(r"\s*<[A-Za-z_!?/]")
_ROOT = "<r>"


@dataclass(frozen=True)
class Fault:
    """Where the block is no well-formed XML 1.0.

    Attributes:
        line: From 1.
        column: From 1, in characters.
        reason: What the parser says.
        entry: The entry whose text stands there, None where that cannot be told.
    """

    line: int
    column: int
    reason: str
    entry: Hit | None = None

    @property
    def sentence(self) -> str:
        """The fault in words."""
        of = f", in {quoted(masked(self.entry.content), 40)}" if self.entry is not None else ""
        return f"not well-formed: line {self.line}, column {self.column}{of}: {self.reason}"


class Hidden(NamedTuple):
    r"""A character of the block that a reader would not see.

    Attributes:
        escape: How it is shown: ``\u200b``.
        name: Unicode's name for it, with its code: ``zero width space U+200B``.
        lines: The lines that hold it, from 1.
    """

    escape: str
    name: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """What can be said of the form of a block.

    Attributes:
        kind: ``"none"`` where nothing is injected; ``"text"`` without markup, as a bullet list; ``"well-formed"`` or
            ``"broken"`` XML.
        fault: Where it is broken.
        hidden: Characters that a page would hide or turn around.
    """

    kind: Literal["none", "text", "well-formed", "broken"]
    fault: Fault | None = None
    hidden: tuple[Hidden, ...] = ()

    @property
    def sentence(self) -> str:
        """The form in words; "" where there is nothing to say."""
        form = {"none": "", "text": "no markup", "well-formed": "well-formed", "broken": ""}[self.kind]
        parts = [self.fault.sentence if self.fault is not None else form]
        if self.hidden:
            shown = ", ".join(
                f"{each.escape} ({each.name}) in line {', '.join(map(str, each.lines[:5]))}" for each in self.hidden[:5]
            )
            parts.append(f"{counted(len(self.hidden), 'hidden character')}: {shown}")
        return "; ".join(filter(None, parts))

    def __repr__(self) -> str:
        return f"Block({self.sentence or 'nothing injected'})"


def checked_block(trace: InjectionTrace) -> Block:
    """Return what can be said of the form of a trace's block."""
    text = trace.text
    if not trace.injected or text is None:
        return Block("none")
    hidden = _hidden(text)
    if not _MARKUP.match(text):
        return Block("text", hidden=hidden)
    fault = _fault(text)
    if fault is None:
        return Block("well-formed", hidden=hidden)
    line, column, reason = fault
    owners = entry_lines(trace, text.split("\n"))
    return Block("broken", Fault(line, column, reason, owners[line - 1] if line <= len(owners) else None), hidden)


def entry_lines(trace: InjectionTrace, lines: list[str]) -> list[Hit | None]:
    """Return for each line of the block the hit that it shows, as far as that can be told."""
    kept = [hit for hit in trace.hits if hit.kept]
    if trace.settings is not None and trace.settings.format is None:
        # The opening tag, then each entry with as many lines as it has, then the closing tag.
        return [None, *(hit for hit in kept for _ in range(hit.content.count("\n") + 1)), None]
    owners: list[Hit | None] = [None] * len(lines)
    pieces = [(hit, [part for part in hit.content.strip().split("\n") if part.strip()]) for hit in kept]
    for hit, parts in pieces:
        for at in range(len(lines)):
            if (
                owners[at] is None
                and parts
                and all(part.strip() in line for part, line in zip(parts, lines[at:], strict=False))
            ):
                owners[at : at + len(parts)] = [hit] * min(len(parts), len(lines) - at)
                break
    return owners


def _fault(text: str) -> tuple[int, int, str] | None:
    parser = expat.ParserCreate("utf-8")
    try:
        parser.Parse(f"{_ROOT}{text}</r>".encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        line = text.split("\n")[error.lineno - 1 : error.lineno]
        at = error.offset - (len(_ROOT) if error.lineno == 1 else 0)
        before = line[0].encode("utf-8", "surrogatepass")[: max(0, at)] if line else b""
        column = len(before.decode("utf-8", "ignore")) + 1
        reason = expat.ErrorString(error.code)
        return (
            error.lineno,
            column,
            "a character that XML does not allow, or a stray & or <" if error.code == 4 else reason,
        )
    return None


def _hidden(text: str) -> tuple[Hidden, ...]:
    if text.isprintable() or visible(text) == text:
        return ()
    found: dict[tuple[str, str], dict[int, None]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        for escape, name in seen_apart(line):
            if name:
                found.setdefault((escape, name), {})[number] = None
    return tuple(Hidden(*sign, tuple(lines)) for sign, lines in found.items())
