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

_CELL = 18  # pixels
_LABEL = 330  # pixels that the entries' texts take
_LABEL_LENGTH = 46  # characters
_TOP = 24


def strength(place: int) -> float:
    """Return how strongly a cell is filled: the first entry of the block most, the sixth and later ones least."""
    return max(0.35, 1 - 0.13 * (place - 1))


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
    marks = ["■ in the block, the stronger its colour, the nearer to its top"]
    if any(entry.cut for entry in timeline.entries):
        marks.append("□ found, not in the block")
    return marks


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
    label = escape(shortened(masked(entry.content), _LABEL_LENGTH))
    yield f'<text x="{_LABEL - 8}" y="{y + 13}" text-anchor="end">{label}</text>'
    for column, number in enumerate(numbers):
        box = f'x="{_LABEL + column * _CELL + 2}" y="{y + 2}" width="{_CELL - 4}" height="{_CELL - 4}" rx="2"'
        if number in entry.places:
            place = entry.places[number]
            yield f'<rect {box} fill="#1976d2" fill-opacity="{strength(place):.2f}"/>'
        elif number in entry.cut:
            yield f'<rect {box} fill="none" stroke="currentColor" stroke-opacity=".55"/>'
        else:
            yield f'<rect {box} fill-opacity=".07"/>'
