"""The table of the benchmark: printed, and written into a Markdown file between two marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

BEGIN, END = "<!-- speed -->", "<!-- /speed -->"
HEAD = ("figure", "N", "peer", "newest peer", "memwb", "ratio", "must", "stretch", "held")


@dataclass(frozen=True)
class Row:
    """A row of the table, as texts; ``held`` is "yes", "no" or ""."""

    figure: str
    size: str
    peer: str
    newest: str
    own: str
    ratio: str
    must: str
    stretch: str
    held: str


assert len(HEAD) == len(fields(Row))


def plain(rows: Sequence[Row]) -> str:
    """Return the table for a terminal."""
    lines = [HEAD, *(astuple(row) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEAD))]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" if at < 1 else f"{cell:>{width}}" for at, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(line, widths, strict=True)) for line in lines)
    )


def markdown(rows: Sequence[Row]) -> str:
    """Return the table in Markdown."""
    rule = ["---", *["---:"] * (len(HEAD) - 2), ":---:"]
    return "\n".join(f"| {' | '.join(line)} |" for line in (HEAD, rule, *(astuple(row) for row in rows)))


def write(path: Path, text: str, mark: str = "speed") -> None:
    """Replace what stands between two marks in a Markdown file; a file without them, or none, holds the text alone."""
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    marked = f"{begin}\n\n{text}\n\n{end}"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if begin in old and end in old:
        before, after = old.split(begin)[0], old.split(end)[1]
        path.write_text(f"{before}{marked}{after}", encoding="utf-8")
    elif old:
        raise ValueError(f"{path} has no {begin} and {end} between which the table could be written.")
    else:
        path.write_text(f"{marked}\n", encoding="utf-8")
