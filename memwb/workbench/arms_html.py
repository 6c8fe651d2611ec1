"""A comparison as a tree of elements: a table of figures, and below it what differs at each call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._dom import Node, el
from .._redact import masked
from .._text import counted, shortened
from ..tokens import ESTIMATE, sized

if TYPE_CHECKING:
    from .sides import ComparedCall, Comparison, Difference, Place

SHOWN_CALLS = 20
SHOWN_ENTRIES = 20
SHOWN_LINES = 60
_LENGTH = 200  # characters of an entry or a line


def comparison_tree(comparison: Comparison, hide: bool = True) -> Node:
    """Return the whole comparison; ``hide`` masks memory text where ``memwb.options(redact=...)`` says so."""
    differing = [call for call in comparison.calls if not all(each.empty for each in call.differences)]
    more = len(differing) - SHOWN_CALLS
    return el(
        "div",
        "memwb-sides mathjax_ignore tex2jax_ignore",
        _totals(comparison),
        el("p", "", "No arm differs from the settings in force.") if comparison.empty else None,
        *(_call(call, hide) for call in differing[:SHOWN_CALLS]),
        el("p", "", f"… and {counted(more, 'more call')} that differ, not shown here") if more > 0 else None,
    )


def _totals(comparison: Comparison) -> Node:
    heads = ("arm", "calls injected", "entries", "tokens", "seconds", "calls that differ", "added", "dropped", "moved")
    rows = [_total(comparison, arm) for arm in comparison.arms]
    head = el("tr", "", *(el("th", "", name, scope="col") for name in heads))
    return el("table", "memwb-arms", el("thead", "", head), el("tbody", "", *rows))


def _total(comparison: Comparison, arm: str) -> Node:
    sums = comparison.totals(arm)
    figures = [
        f"{sums['injected']:,} of {len(comparison.calls):,}",
        f"{sums['entries']:,}",
        sized(comparison.calls[0].outcomes[0].counter if comparison.calls else ESTIMATE, int(sums["tokens"])),
        f"{sums['seconds']:.3f}",
    ]
    if arm == comparison.arms[0]:
        figures += [""] * 4
    else:
        found = comparison.differences(arm)
        figures.append(f"{sum(not each.empty for each in found):,}")
        figures += [f"{sum(len(getattr(each, kind)) for each in found):,}" for kind in ("added", "dropped", "moved")]
    return el("tr", "", el("th", "", arm, scope="row"), *(el("td", "", figure) for figure in figures))


def _call(call: ComparedCall, hide: bool) -> Node:
    changed = [each for each in call.differences if not each.empty]
    return el(
        "section",
        "",
        el("h4", "", call.name),
        el("p", "memwb-dim", f"now: {_text(call.outcomes[0].summary, hide and not call.outcomes[0].block)}"),
        *(_difference(each, hide) for each in changed),
    )


def _difference(found: Difference, hide: bool) -> Node:
    lines = [
        *(el("li", "", "added ", _entry(place, hide, "ins")) for place in found.added[:SHOWN_ENTRIES]),
        *(el("li", "", "dropped ", _entry(place, hide, "del")) for place in found.dropped[:SHOWN_ENTRIES]),
        *(
            el("li", "", f"moved {old.rank} → {new.rank} ", _entry(new, hide))
            for old, new in found.moved[:SHOWN_ENTRIES]
        ),
        *(
            el("li", "", f"score {_score(old)} → {_score(new)} ", _entry(new, hide))
            for old, new in found.rescored[:SHOWN_ENTRIES]
        ),
    ]
    return el(
        "details",
        "",
        el("summary", "", el("strong", "", found.arm), f": {found.summary}"),
        el("ul", "", *lines) if lines else None,
        _diff(found.lines, hide) if found.lines else None,
        el("p", "", "The block is the same; it stands at another place in the message.")
        if found.input and not found.lines
        else None,
        open="",
    )


def _diff(lines: Sequence[tuple[str, str]], hide: bool) -> Node:
    shown = [
        el("ins" if sign == "+" else "del", "", f"{sign} {_text(shortened(line, _LENGTH), hide)}\n")
        for sign, line in lines[:SHOWN_LINES]
    ]
    more = len(lines) - SHOWN_LINES
    return el("pre", "memwb-diff", *shown, f"… {counted(more, 'more line')}" if more > 0 else None)


def _entry(place: Place, hide: bool, tag: str = "span") -> Node:
    return el(tag, "", _text(shortened(place.content, _LENGTH), hide), title=f"{place.store}, place {place.rank}")


def _text(text: str, hide: bool) -> str:
    return masked(text) if hide else text


def _score(place: Place) -> str:
    return "none" if place.score is None else f"{place.score:g}"
