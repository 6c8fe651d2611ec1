"""The extraction's results: proposed facts, what the model was asked, the log, and two prompts side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._text import counted, shortened
from ...memory.extraction.happenings import numbers_told
from .parts import cropped

if TYPE_CHECKING:
    from ...workbench.comparison import PromptComparison
    from ...workbench.extraction import ExtractionState
    from ...workbench.extraction_view import Exchange
    from ...workbench.facts import Fact

TABS = {"facts": "Facts", "model": "Model", "log": "Log", "compare": "Two prompts"}

_SHOWN_FACTS = 300
_SHOWN_EXCHANGES = 60
_SHOWN_EVENTS = 300
_LONGEST_PROMPT = 6_000
_STATES = {
    "accepted": ("◐", "memwb-warn", "being written"),
    "rejected": ("–", "memwb-dim", "rejected"),
    "written": ("✓", "memwb-good", "written"),
    "known": ("=", "memwb-warn", "held already"),
}


def extraction_tabs(state: ExtractionState, tab: str) -> Node:
    """Return the row of tabs."""
    counts = {"facts": len(state.facts), "model": len(state.exchanges), "log": len(state.log)}
    buttons = [
        el(
            "button",
            "",
            f"{title} {counts[name]:,}" if counts.get(name) else title,
            action={"do": "tab", "to": name},
            role="tab",
            aria_selected=str(name == tab).lower(),
            data_key=name,
        )
        for name, title in TABS.items()
    ]
    waiting = len(state.waiting)
    decide = [
        el("button", "memwb-fix", f"Accept all {waiting}", action={"do": "accept"}, data_key="accept all"),
        el("button", "", "Reject all", action={"do": "reject"}, data_key="reject all"),
    ]
    unreadable = any(status.unreadable for status in state.status)
    again = el(
        "button", "memwb-fix", "Ask again", action={"do": "retry"}, title="about the answers that could not be read"
    )
    return el(
        "div",
        "memwb-head",
        el("div", "memwb-tabs", *buttons, role="tablist", aria_label="Results"),
        el("span", "memwb-push", *(decide if tab == "facts" and waiting else ()))
        if tab != "model"
        else el("span", "memwb-push", again if unreadable else None),
    )


def extraction_results(state: ExtractionState, tab: str) -> Node:
    """Return what the open tab holds."""
    content = {"facts": _facts, "model": _exchanges, "log": _log, "compare": _compared}[tab](state)
    return el("div", "memwb-scroll", *content, role="region", aria_label=TABS[tab], tabindex="0", data_key=tab)


def _facts(state: ExtractionState) -> list[Node]:
    facts = state.facts
    if not facts:
        return [el("div", "memwb-empty", "No fact was proposed yet. A trigger, or a flush, has the messages read.")]
    waiting = [fact for fact in facts if fact.open]
    decided = [fact for fact in reversed(facts) if not fact.open]
    rows = [_proposed(fact) for fact in waiting[:_SHOWN_FACTS]]
    if decided:
        rows.append(
            el("table", "memwb-lines", el("tbody", "", *map(_decided, decided[:_SHOWN_FACTS])), data_key="decided")
        )
    hidden = len(waiting[_SHOWN_FACTS:]) + len(decided[_SHOWN_FACTS:])
    if hidden:
        rows.append(el("div", "memwb-more", f"{hidden:,} more"))
    return rows


def _proposed(fact: Fact) -> Node:
    where = f"{fact.store}, from {numbers_told(fact.numbers)}"
    failed = fact.state == "failed"
    accept = "Try again" if failed else "Accept"
    return el(
        "div",
        "memwb-proposed",
        el(
            "input",
            "memwb-wide",
            action={"do": "type", "fact": fact.id},
            value=fact.content,
            type="text",
            aria_label=f"fact {fact.id}, for {where}",
            data_key="text",
        ),
        el(
            "button",
            "memwb-fix",
            accept,
            action={"do": "accept", "fact": fact.id},
            aria_label=f"{accept.lower()} {fact.id}",
        ),
        el("button", "", "Reject", action={"do": "reject", "fact": fact.id}, aria_label=f"reject {fact.id}"),
        el("small", "memwb-bad", "✗ not written, is tried again") if failed else None,
        el("small", "", where + (f"; was: {shortened(fact.proposed, 120)}" if fact.edited else "")),
        data_key=fact.id,
    )


def _decided(fact: Fact) -> Node:
    sign, kind, words = _STATES[fact.state]
    edited = f", edited; was: {shortened(fact.proposed, 120)}" if fact.edited else ""
    return el(
        "tr",
        "memwb-dim" if fact.state == "rejected" else "",
        el("td", kind, sign, title=words),
        el("td", "", cropped(fact.content, 600)),
        el("td", "memwb-name", fact.store),
        el("td", "", f"{words}{edited}; {numbers_told(fact.numbers)}"),
        data_key=fact.id,
    )


def _exchanges(state: ExtractionState) -> list[Node]:
    exchanges = state.exchanges
    if not exchanges:
        return [el("div", "memwb-empty", "No model was asked yet.")]
    shown = list(enumerate(exchanges, 1))[-_SHOWN_EXCHANGES:]
    return [_exchange(exchange, number) for number, exchange in reversed(shown)]


def _exchange(exchange: Exchange, number: int) -> Node:
    problem = el("p", "memwb-bad", f"✗ {shortened(exchange.problem, 300)}") if exchange.problem else None
    answer = "no answer yet" if exchange.answer is None else exchange.answer or "(empty)"
    return el(
        "div",
        "memwb-message",
        el("div", "memwb-role", f"{number}. for {exchange.store}, about {numbers_told(exchange.numbers)}"),
        problem,
        *(el("p", "memwb-warn", f"⚠ {note}") for note in exchange.notes),
        el(
            "details",
            "",
            el("summary", "", "system prompt"),
            el("pre", "memwb-part", cropped(exchange.system, _LONGEST_PROMPT)),
        ),
        el("details", "", el("summary", "", "transcript"), el("pre", "memwb-part", cropped(exchange.transcript))),
        el("pre", "memwb-part memwb-injected", cropped(answer)),
        data_key=f"x{number}",
    )


def _log(state: ExtractionState) -> list[Node]:
    events = list(state.log)
    rows = [
        el(
            "tr",
            "memwb-bad" if type(event).__name__ in ("Failed", "Unreadable", "Skipped") else "",
            el("td", "memwb-number", str(number)),
            el("td", "memwb-name", f"turn {event.turn}"),
            el("td", "memwb-name", type(event).__name__),
            el("td", "", event.told),
            data_key=f"e{number}",
        )
        for number, event in list(enumerate(events, 1))[-_SHOWN_EVENTS:]
    ]
    if not rows:
        return [el("div", "memwb-empty", "Nothing has happened yet.")]
    more = (
        el("div", "memwb-more", counted(len(events) - len(rows), "earlier event")) if len(events) > len(rows) else None
    )
    return [*([more] if more else []), el("table", "memwb-lines", el("tbody", "", *reversed(rows)))]


def _compared(state: ExtractionState) -> list[Node]:
    comparison = state.comparison
    if comparison is None:
        hint = "Both are asked about the whole conversation. Nothing is written."
        return [el("div", "memwb-empty", hint)]
    return [
        el("p", "", comparison.sentence),
        *(
            el("p", "memwb-dim", f"for {', '.join(each.stores) or 'no store'}: asked {shortened(each.model, 60)}")
            for each in comparison.asked
        ),
        *(
            el("p", "memwb-bad", f"{name}: {shortened(problem, 300)}")
            for name, problem in zip("AB", comparison.problems, strict=True)
            if problem
        ),
        _table(comparison),
        *(
            el("details", "", el("summary", "", f"answer to {name}"), el("pre", "memwb-part", cropped(answer)))
            for name, answer in zip("AB", comparison.answers, strict=True)
        ),
    ]


def _table(comparison: PromptComparison) -> Node:
    rows = [
        el(
            "tr",
            "",
            el("td", "memwb-good" if fact.a else "memwb-dim", "✓" if fact.a else "–"),
            el("td", "memwb-good" if fact.b else "memwb-dim", "✓" if fact.b else "–"),
            el("td", "", cropped(fact.content, 600)),
            el("td", "memwb-dim", f"held by {', '.join(fact.held_by)}" if fact.held_by else ""),
        )
        for fact in comparison.facts[:_SHOWN_FACTS]
    ]
    titles = el("tr", "", *(el("th", "", title, scope="col") for title in ("A", "B", "fact", "")))
    return el("table", "memwb-lines", el("thead", "", titles), el("tbody", "", *rows))
