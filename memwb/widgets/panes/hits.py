"""What stands above the table of hits, or in its place where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._text import counted
from ...workbench.scores import histogram, meaning
from .empty import empty
from .parts import cropped, failed_stores, frame, head

if TYPE_CHECKING:
    from ...memory import Hit
    from ...workbench import Preview, WorkbenchState


def hits(state: WorkbenchState, sort: str = "") -> Node:
    """Return the bar above the hits and what went wrong, or what is missing where there are none.

    Args:
        state: The workbench's.
        sort: What the table is sorted by, where it is not the order of the block.
    """
    preview = state.preview
    found = preview.hits if preview is not None else ()
    counts = [*_counts(preview, sort), _label(preview)] if preview is not None and found else []
    bar = head("Hits", *counts, _search(state))
    if preview is None:
        return frame(bar, label="Hits")
    if found:
        failures = [*failed_stores(preview.trace), *(_not_asked_again(*failure) for failure in _failures(preview))]
        told = [el("div", "memwb-more memwb-bad", text) for text in failures]
        content: list[Node | str] = [bar, *told, _scores(state, preview)]
    else:
        content = list(frame(bar, _nothing(state, preview), label="Hits").children)
    return el("div", f"{'memwb-pending ' * state.pending}memwb-frame", *content)


def _label(preview: Preview) -> Node:
    """The button that marks the chosen hit as one that this call should bring, for a case."""
    chosen = next((hit for hit in preview.hits if preview.is_explained(hit)), None)
    wanted = chosen is not None and preview.is_wanted(chosen)
    title = "the chosen hit is one that this call should bring: await wb.label(hit); wb.case(id) keeps it"
    return el(
        "button",
        "",
        "expected",
        action=None if chosen is None else {"do": "label", "key": hit_key(chosen), "on": not wanted},
        aria_pressed=str(wanted).lower(),
        aria_disabled="true" if chosen is None else None,
        title=title if chosen is not None else "choose a hit to mark it as one that this call should bring",
        data_key="label",
    )


def _scores(state: WorkbenchState, preview: Preview) -> Node:
    """What the scores mean, and how they are spread; folded until it is wanted."""
    bins = histogram(preview.hits)
    most = max((each.hits for each in bins), default=1)
    rows = [
        el(
            "div",
            "memwb-bin",
            el("span", "memwb-number", each.label),
            el(
                "span",
                "memwb-bars",
                el("span", "memwb-bar", style_width=f"{100 * each.kept / most:.0f}%"),
                el("span", "memwb-bar memwb-cutbar", style_width=f"{100 * (each.hits - each.kept) / most:.0f}%"),
                aria_hidden="true",
            ),
            el("span", "", f"{counted(each.hits, 'hit')}, {each.kept:,} kept"),
        )
        for each in bins
    ]
    told = f"scores: {meaning(state)}"
    return el("details", "memwb-scores", el("summary", "", told), *rows, data_key="scores")


def _search(state: WorkbenchState) -> Node:
    field = el(
        "input",
        "",
        action={"do": "find"},
        value=cropped(state.looked_for, 200),
        type="text",
        placeholder="a word of it, or its id",
    )
    return el("label", "memwb-push", "find entry ", field)


def _counts(preview: Preview, sort: str) -> list[Node]:
    shown, more = len(preview.hits), unseen(preview)
    counts = [el("span", "", f"top {shown:,}, {more:,} more matched" if more else f"{shown:,} matched")]
    if sort:  # the line of the cut says nothing in another order
        counts.append(el("button", "", "back to the block's order", action={"do": "unsort"}))
    return counts


def _nothing(state: WorkbenchState, preview: Preview) -> Node:
    trace = preview.trace
    if failed := failed_stores(trace):
        return el("div", "memwb-empty memwb-bad", *(el("p", "", text) for text in failed))
    if (nothing := empty(state)) is not None:
        return nothing
    what = "Nothing was searched" if trace.stage("search").status == "not reached" else "No hits"
    stored = "" if preview.entries is None else f"{counted(preview.entries, 'entry is', 'entries are')} stored."
    return el("div", "memwb-empty", el("p", "", el("strong", "", f"{what}: {trace.reason}.")), el("p", "", stored))


def hit_key(hit: Hit) -> str:
    """Name a hit within the page, so that a line of the block can point at it."""
    return f"{hit.store}/{hit.rank}"


def in_block_order(found: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """Return the hits that were kept and those that were cut, each in store order and by rank."""
    return [hit for hit in found if hit.kept], [hit for hit in found if not hit.kept]


def unseen(preview: Preview) -> int:
    """Return how many more entries matched than are among the hits."""
    return max(0, (preview.matching or 0) - len(preview.hits))


def _failures(preview: Preview) -> list[tuple[str, BaseException]]:
    """The stores that answered the injection, and failed when they were asked for what lies below the cut."""
    return list(getattr(preview.hits, "failures", {}).items())


def _not_asked_again(store: str, error: BaseException) -> str:
    return f"store {store!r} failed when it was asked for what lies below the cut: {cropped(repr(error), 300)}"
