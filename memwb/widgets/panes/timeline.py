"""The timeline's screen: the headline, entries x calls, and each call in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._text import counted, shortened
from ...tokens import sized
from ...workbench.picture import RANKS, SHOWN_CALLS, SHOWN_ENTRIES, legend, rank, signs
from .parts import head

if TYPE_CHECKING:
    from ...workbench.timeline import Timeline, TimelineCall, TimelineEntry, TimelineState

_LABEL_LENGTH = 90
_MARKS = {"done": ("✓", "memwb-good"), "skipped": ("–", "memwb-warn"), "failed": ("✗", "memwb-bad")}


def timeline_pane(state: TimelineState) -> Node:
    """Return the whole screen as one tree."""
    timeline = state.last
    pending = " memwb-pending" if state.pending else ""
    return el(
        "div",
        f"memwb-frame{pending}",
        el("div", "memwb-verdict", el("span", "memwb-sentence", _headline(state), role="status", aria_live="polite")),
        *(el("div", "memwb-banner", text) for text in (state.failure, state.refused) if text),
        *_parts(timeline, state.bench.call) if timeline is not None else (),
        data_revision=state.bench.revision,
    )


def _headline(state: TimelineState) -> str:
    if state.last is None:
        return f"Running {counted(len(state.bench.calls), 'call')}…"
    return state.last.headline


def _parts(timeline: Timeline, chosen: int) -> list[Node]:
    if not timeline.calls:
        return []
    calls = _around(timeline.calls, chosen)
    told = el("span", "memwb-push memwb-legend", *_colours(), "; ".join([*legend(timeline), *_unseen(timeline, calls)]))
    parts = []
    if timeline.entries:
        heat = el("div", "memwb-scroll", _heat(timeline, calls, chosen), role="region", aria_label="Entries by call")
        parts.append(el("div", "memwb-frame memwb-heat", head("Entries × calls", told), heat))
    lines = el("div", "memwb-scroll", _calls(calls, chosen), role="region", aria_label="Calls")
    tokens = el("span", "memwb-push", f"{timeline.size} tokens in all", title=timeline.counter.name)
    parts.append(el("div", "memwb-frame memwb-calllist", head("Calls", tokens), lines))
    return parts


def _colours() -> list[Node]:
    return [
        el("span", f"memwb-box memwb-rank-{at}", f"{at}" + "+" * (at == len(RANKS)), aria_hidden="true")
        for at in range(1, len(RANKS) + 1)
    ]


def _around(calls: tuple[TimelineCall, ...], chosen: int) -> tuple[TimelineCall, ...]:
    """Return as many calls as are shown, with the chosen one among them."""
    first = max(0, min(chosen - SHOWN_CALLS // 2, len(calls) - SHOWN_CALLS))
    return calls[first : first + SHOWN_CALLS]


def _unseen(timeline: Timeline, calls: tuple[TimelineCall, ...]) -> list[str]:
    said = []
    if (more := len(timeline.entries) - SHOWN_ENTRIES) > 0:
        said.append(f"{counted(more, 'more entry', 'more entries')} not shown")
    if len(calls) < len(timeline.calls):
        said.append(f"calls {calls[0].number:,} to {calls[-1].number:,} of {len(timeline.calls):,}")
    return said


def _heat(timeline: Timeline, calls: tuple[TimelineCall, ...], chosen: int) -> Node:
    columns = [el("th", "", _open(call, chosen), scope="col", title=call.said) for call in calls]
    rows = [_row(entry, timeline, calls, chosen) for entry in timeline.entries[:SHOWN_ENTRIES]]
    return el(
        "table",
        "memwb-cells",
        el(
            "thead",
            "",
            el("tr", "", el("th", "", "entry", scope="col"), el("th", "memwb-came", "came", scope="col"), *columns),
        ),
        el("tbody", "", *rows),
    )


def _open(call: TimelineCall, chosen: int) -> Node:
    here = call.number == chosen
    return el(
        "button",
        "memwb-chosen" if here else "",
        str(call.number),
        action={"do": "show", "call": call.number},
        aria_label=f"open call {call.number} in the workbench",
        aria_current="true" if here else None,
        data_view=f"call {call.number}" if here else None,
    )


def _row(entry: TimelineEntry, timeline: Timeline, calls: tuple[TimelineCall, ...], chosen: int) -> Node:
    kinds = ", ".join(dict.fromkeys(mark.kind for mark in entry.marks))
    text = shortened(entry.content, 400)
    sign = el("span", "memwb-sign", signs(entry), " ", role="img", aria_label=f"{kinds}:") if kinds else None
    label = el(
        "th",
        "memwb-pointed" if kinds else "",
        sign,
        shortened(entry.content, _LABEL_LENGTH),
        scope="row",
        title=f"{kinds}: {text}" if kinds else text,
    )
    came, tokens = len(entry.places), sized(timeline.counter, entry.tokens * len(entry.places))
    times = el("td", "memwb-came", f"{came}/{len(timeline.calls)}", title=f"in {came} of the calls, {tokens} tokens")
    return el("tr", "", label, times, *[_cell(entry, call, chosen) for call in calls])


def _cell(entry: TimelineEntry, call: TimelineCall, chosen: int) -> Node:
    place, lacks = entry.places.get(call.number), entry.is_expected_at(call.number)
    if place is not None:
        mark, said = el("span", f"memwb-box memwb-rank-{rank(place)}", str(place)), f"place {place} in the block"
    elif lacks:
        mark, said = el("span", "memwb-box memwb-lacking", "✗"), "not in the block"
    elif call.number in entry.cut:
        mark, said = el("span", "memwb-box memwb-hollow", "·"), "found, not in the block"
    else:
        mark, said = el("span", "memwb-box", ""), "not found"
    return el(
        "td",
        "memwb-chosen" if call.number == chosen else "",
        mark,
        title=f"call {call.number}: {'expected, ' * lacks}{said}",
        action={"do": "show", "call": call.number},
    )


def _calls(calls: tuple[TimelineCall, ...], chosen: int) -> Node:
    titles = ("call", "answers", "trigger", "query", "entries", "tokens", "outcome")
    return el(
        "table",
        "memwb-lines",
        el("thead", "", el("tr", "", *(_title(title) for title in titles))),
        el("tbody", "", *(_line(call, chosen) for call in calls)),
    )


def _title(title: str) -> Node:
    return el("th", "memwb-number" if title in ("call", "entries", "tokens") else "", title, scope="col")


def _line(call: TimelineCall, chosen: int) -> Node:
    trace = call.trace
    stage = trace.stage("trigger")
    mark, kind = _MARKS.get(stage.status, ("·", "memwb-dim"))
    return el(
        "tr",
        "memwb-chosen" if call.number == chosen else "",
        el("td", "memwb-number", _open(call, chosen)),
        el("td", "", call.said),
        el("td", kind, mark, title=stage.reason or None),
        el("td", "", shortened(trace.query, 80) if trace.query is not None else el("span", "memwb-dim", "none")),
        el("td", "memwb-number", str(call.entries)),
        el("td", "memwb-number", sized(call.counter, call.tokens)),
        el("td", "memwb-bad" if trace.error else "", "injected" if trace.injected else shortened(trace.summary, 160)),
        data_key=f"call {call.number}",
    )
