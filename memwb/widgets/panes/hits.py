"""Every hit in the order of the block, with the line that max_entries draws through them."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._text import counted, shortened
from ...memory._html import marked
from ...memory.notes import stop_words_only
from .empty import empty
from .parts import cropped, failed_stores, frame, head

if TYPE_CHECKING:
    from ...memory import Hit
    from ...workbench import Preview, WorkbenchState

_CONTENT_LENGTH = 400


def hits(state: WorkbenchState) -> Node:
    """Return the hits above and below the cut, or what is missing where there are none."""
    preview = state.preview
    search = el(
        "label",
        "memwb-push",
        "find entry ",
        el(
            "input",
            "",
            action={"do": "find"},
            value=cropped(state.looked_for, 200),
            type="text",
            placeholder="a word of it, or its id",
        ),
    )
    bar = head("Hits", search)
    if preview is None:
        return frame(bar, label="Hits", padded=False)
    content = _rows(state, preview) if preview.hits else [_nothing(state, preview)]
    pane = frame(bar, *content, label="Hits", padded=False, key=state.call)
    return el("div", "memwb-pending memwb-frame", *pane.children) if state.pending else pane


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


def _rows(state: WorkbenchState, preview: Preview) -> list[Node]:
    kept, cut = in_block_order(preview.hits)
    best = max((hit.score for hit in preview.hits if hit.score and isfinite(hit.score)), default=0.0)
    several = len(state.store_names) > 1
    rows = [_row(hit, best, several, state, preview) for hit in kept]
    limit = preview.trace.settings.max_entries if preview.trace.settings else 0
    rows.append(_line(limit, len(kept), len(cut) + _unseen(preview)))
    rows += [_row(hit, best, several, state, preview) for hit in cut]
    if unseen := _unseen(preview):
        rows.append(el("div", "memwb-more", f"{unseen:,} more matched"))
    rows += [el("div", "memwb-more memwb-bad", text) for text in failed_stores(preview.trace)]
    rows += [el("div", "memwb-more memwb-bad", _not_asked_again(*failure)) for failure in _failures(preview)]
    return rows


def _failures(preview: Preview) -> list[tuple[str, BaseException]]:
    """The stores that answered the injection, and failed when they were asked for what lies below the cut."""
    return list(getattr(preview.hits, "failures", {}).items())


def _not_asked_again(store: str, error: BaseException) -> str:
    return f"store {store!r} failed when it was asked for what lies below the cut: {cropped(repr(error), 300)}"


def _unseen(preview: Preview) -> int:
    return max(0, (preview.matching or 0) - len(preview.hits))


def _line(limit: int, kept: int, cut: int) -> Node:
    return el(
        "div",
        "memwb-cut",
        f"max_entries {limit} · {cut:,} cut",
        action={"do": "none"},
        role="slider",
        tabindex="0",
        aria_label="max_entries: arrow keys or dragging move the cut",
        aria_orientation="vertical",
        aria_valuenow=limit,
        aria_valuemin=1,
        aria_valuemax=max(limit, kept + cut),
        data_key="cut",
    )


def _row(hit: Hit, best: float, several: bool, state: WorkbenchState, preview: Preview) -> Node:
    weak = stop_words_only(hit)
    score = "" if hit.score is None else f"{hit.score:g}"
    width = f"{100 * hit.score / best:.0f}%" if hit.score and 0 < hit.score <= best < inf else "0"
    chosen = _is_chosen(hit, preview)
    expected = preview.is_wanted(hit)
    flags = [
        el("span", "", hit.store) if several else None,
        el("span", "memwb-warn", "⚠ stop words only") if weak else None,
        el("span", "memwb-good", "★ expected") if expected else None,
    ]
    return el(
        "div",
        "memwb-hit" + ("" if hit.kept else " memwb-cutoff") + (" memwb-chosen" if chosen else ""),
        el("span", "memwb-rank", str(hit.rank), title=f"rank in the answer of {hit.store!r}"),
        el("span", "memwb-track", el("span", "memwb-bar", style_width=width), aria_hidden="true"),
        el("span", "memwb-score", score, title="score by the store's own measure" if score else None),
        el("span", "memwb-content", *marked(shortened(hit.content, _CONTENT_LENGTH), hit.matched, weak)),
        el("span", "memwb-flags", *flags),
        action={"do": "hit", "store": hit.store, "rank": hit.rank},
        title=f"matched: {shortened(', '.join(hit.matched), 300)}" if hit.matched else None,
        tabindex="0",
        role="button",
        data_key=hit_key(hit),
        data_view=hit_key(hit) if chosen else None,
    )


def _is_chosen(hit: Hit, preview: Preview) -> bool:
    found = preview.explanation
    if found is None or found.store not in (None, hit.store):
        return False
    return found.id == hit.id if found.id and hit.id else found.target == hit.content
