"""The timeline as a picture for pages without a kernel: entries down, calls across."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from .._redact import masked
from .._text import counted, shortened

if TYPE_CHECKING:
    from .timeline import Timeline, TimelineEntry

SHOWN_ENTRIES = 40
SHOWN_CALLS = 60

SIGNS = {"expected": "★", "looked for": "●"}
"""What stands before an entry that somebody pointed at."""

_CELL = 18  # pixels
_LABEL = 330  # pixels that the entries' texts take
_LABEL_LENGTH = 46  # characters
_TOP = 24


RANKS = ("#0b3c8c", "#1f6fd0", "#5ea5f2", "#9ccbfa", "#cfe6fd", "#eaf4fe")
"""The colours of the places of the block on a light page, from the first to the sixth and all later ones."""


def rank(place: int) -> int:
    """Return which of the colours a place has, from 1."""
    return min(place, len(RANKS))


def timeline_html(timeline: Timeline) -> str:
    """Return the headline, the picture, and what it leaves out."""
    parts = ['<div class="memwb-timeline mathjax_ignore tex2jax_ignore">']
    parts.append(f"<p><strong>{escape(timeline.headline)}</strong></p>")
    if timeline.entries:
        parts.append(timeline_svg(timeline))
        parts.append(f"<p><small>{'; '.join([*legend(timeline), *left_out(timeline)])}</small></p>")
    parts.append("</div>")
    return "".join(parts)


def legend(timeline: Timeline) -> list[str]:
    """Say what the marks mean that the picture holds."""
    marks = ["1, 2, … its place in the block"]
    if any(entry.cut for entry in timeline.entries):
        marks.append("□ found, not in the block")
    kinds = {mark.kind for entry in timeline.entries for mark in entry.marks}
    if "expected" in kinds:
        marks.append("★ expected, ✗ where it should be in the block and is not")
    if "looked for" in kinds:
        marks.append("● looked for")
    return marks


def signs(entry: TimelineEntry) -> str:
    """Return the signs that stand before an entry's text, "" for none."""
    kinds = {mark.kind for mark in entry.marks}
    return "".join(sign for kind, sign in SIGNS.items() if kind in kinds)


def left_out(timeline: Timeline) -> list[str]:
    """Say how many entries and calls the picture does not show."""
    said = []
    if (more := len(timeline.entries) - SHOWN_ENTRIES) > 0:
        said.append(f"{counted(more, 'more entry', 'more entries')} not shown")
    if (more := len(timeline.calls) - SHOWN_CALLS) > 0:
        said.append(f"{counted(more, 'more call')} not shown")
    return said


def timeline_svg(timeline: Timeline) -> str:
    """Return the picture as SVG; it takes the text colour of the page that it stands on."""
    entries, calls = timeline.entries[:SHOWN_ENTRIES], timeline.calls[:SHOWN_CALLS]
    width, height = _LABEL + _CELL * len(calls) + 4, _TOP + _CELL * len(entries) + 4
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(timeline.headline)}" fill="currentColor" font-family="sans-serif" '
        'font-size="12">'
    ]
    for column, call in enumerate(calls):
        x = _LABEL + column * _CELL + _CELL / 2
        parts.append(
            f'<text x="{x:g}" y="15" text-anchor="middle" font-size="10"><title>{escape(masked(call.said))}</title>'
            f"{call.number}</text>"
        )
    numbers = [call.number for call in calls]
    for row, entry in enumerate(entries):
        parts.extend(_row(entry, _TOP + row * _CELL, numbers))
    return "".join([*parts, "</svg>"])


def _row(entry: TimelineEntry, y: int, numbers: list[int]) -> Iterator[str]:
    label = escape(f"{signs(entry)} {shortened(masked(entry.content), _LABEL_LENGTH)}".strip())
    weight = ' font-weight="600"' if entry.marks else ""
    yield f'<text x="{_LABEL - 8}" y="{y + 13}" text-anchor="end"{weight}>{label}</text>'
    for column, number in enumerate(numbers):
        x = _LABEL + column * _CELL
        box = f'x="{x + 2}" y="{y + 2}" width="{_CELL - 4}" height="{_CELL - 4}" rx="2"'
        inside = f'x="{x + _CELL / 2:g}" y="{y + 13}" text-anchor="middle" font-size="10"'
        if number in entry.places:
            place = entry.places[number]
            colour, ink = RANKS[rank(place) - 1], "#fff" if rank(place) < 3 else "#10243f"
            yield f'<rect {box} fill="{colour}" stroke="currentColor" stroke-opacity=".25"/>'
            yield f'<text {inside} fill="{ink}">{place}</text>'
        elif entry.is_expected_at(number):
            yield f'<rect {box} fill="none" stroke="#d32f2f" stroke-width="1.5"/><text {inside} fill="#d32f2f">✗</text>'
        elif number in entry.cut:
            yield f'<rect {box} fill="none" stroke="currentColor" stroke-opacity=".55"/>'
        else:
            yield f'<rect {box} fill-opacity=".07"/>'
