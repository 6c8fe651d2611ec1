"""How an extraction log looks when it is printed, and on a page without widgets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._redact import masked_words, texts_in
from ..._text import counted

if TYPE_CHECKING:
    from .happenings import Event
    from .log import ExtractionLog

SHOWN_EVENTS = 300
"""So many events, the newest, are shown: a notebook keeps its outputs in its file."""


def log_text(log: ExtractionLog) -> str:
    """Return the events one a line, under a line for each turn of each agent."""
    lines = [_left_out(log)] if _hidden(log) else []
    for title, events in _turns(log):
        lines.append(title)
        lines += [f"  {_kind(event):<10}  {_told(event)}" for event in events]
    return "\n".join(lines) or "nothing has happened yet"


def log_html(log: ExtractionLog) -> str:
    """Return the events as a table for each turn of each agent."""
    parts: list[Node] = []
    for title, events in _turns(log):
        rows = [el("tr", "", el("td", "", _kind(event)), el("td", "", _told(event))) for event in events]
        parts += [el("h4", "", title), el("table", "", el("tbody", "", *rows))]
    return el(
        "div",
        "memwb-extraction mathjax_ignore tex2jax_ignore",
        el("p", "", el("strong", "", repr(log))),
        el("p", "", _left_out(log)) if _hidden(log) else None,
        *parts,
    ).to_html()


def _turns(log: ExtractionLog) -> Iterator[tuple[str, list[Event]]]:
    shown = list(log)[-SHOWN_EVENTS:]
    several = len({event.agent for event in log}) > 1
    for (agent, turn), events in groupby(shown, key=lambda event: (event.agent, event.turn)):
        yield f"turn {turn}" + (f" of agent {agent}" if several else ""), list(events)


def _kind(event: Event) -> str:
    name = type(event).__name__
    return "turn ended" if name == "TurnEnded" else name.lower()


def _told(event: Event) -> str:
    return masked_words(event.told, texts_in(event))


def _hidden(log: ExtractionLog) -> int:
    return log.dropped + max(0, len(log) - SHOWN_EVENTS)


def _left_out(log: ExtractionLog) -> str:
    return f"… {counted(_hidden(log), 'earlier event')}, not shown here"
