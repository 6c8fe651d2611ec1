"""How traces and explanations look on a page without widgets: plain tables with the matched words marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._dom import Node, el
from .._redact import masked, masked_words
from .._text import counted, shortened
from .notes import stop_words_only

if TYPE_CHECKING:
    from .explain import Explanation
    from .trace import Hit, InjectionTrace, Stage

SHOWN_HITS = 50
SHOWN_CHARACTERS = 20_000

MARKS = {"done": "✓", "skipped": "–", "failed": "✗", "not reached": "·"}


def marked(text: str, tokens: Sequence[str], weak: bool = False) -> list[Node | str]:
    """Split a text into plain parts and ``mark`` elements around the whole words that are among ``tokens``."""
    if not tokens:
        return [text]
    wanted = set(tokens)
    parts: list[Node | str] = []
    at = 0
    for word in re.finditer(r"\w+", text):
        if word.group().lower() in wanted:
            if word.start() > at:
                parts.append(text[at : word.start()])
            parts.append(el("mark", "memwb-weak" if weak else "", word.group()))
            at = word.end()
    if at < len(text):
        parts.append(text[at:])
    return parts or [text]


def trace_html(trace: InjectionTrace) -> str:
    """Return the outcome, the stages, the hits with the cut, the notes and the block."""
    return el(
        "div",
        "memwb-trace mathjax_ignore tex2jax_ignore",
        el("p", "", el("strong", "", _hidden(trace.summary, trace))),
        el("ol", "", *(el("li", "", _hidden(_stage_line(stage), trace)) for stage in trace.stages)),
        _hits_table(trace.hits[:SHOWN_HITS]) if trace.hits else None,
        _more(len(trace.hits) - SHOWN_HITS, "hit"),
        el("ul", "", *(el("li", "", f"{note.kind}: {_hidden(note.text, trace)}") for note in trace.notes))
        if trace.notes
        else None,
        *(_block(_hidden(trace.text, trace)) if trace.injected and trace.text else ()),
    ).to_html()


def _hidden(sentence: str, about: InjectionTrace | Explanation) -> str:
    return masked_words(sentence, about.secrets)


def _block(text: str) -> list[Node | None]:
    return [el("pre", "", text[:SHOWN_CHARACTERS]), _more(len(text) - SHOWN_CHARACTERS, "character")]


def _more(number: int, noun: str) -> Node | None:
    """Say how much is left out: a notebook keeps its outputs in its file."""
    return el("p", "", f"… and {counted(number, f'more {noun}')}, not shown here") if number > 0 else None


def _stage_line(stage: Stage) -> str:
    detail = f": {stage.reason}" if stage.reason else ""
    return f"{MARKS[stage.status]} {stage.name} {stage.status}{detail}"


def _hits_table(hits: Sequence[Hit]) -> Node:
    head = el("tr", "", *(el("th", "", name, scope="col") for name in ("", "rank", "score", "store", "entry")))
    return el("table", "", el("thead", "", head), el("tbody", "", *map(_hit_row, hits)))


def _hit_row(hit: Hit) -> Node:
    score = "" if hit.score is None else f"{hit.score:g}"
    weak = stop_words_only(hit)
    text = masked(hit.content)
    content = marked(text if len(text) <= 400 else shortened(text, 400), hit.matched, weak)
    return el(
        "tr",
        "",
        el("td", "", "kept" if hit.kept else f"cut: {hit.cut_by}"),
        el("td", "", str(hit.rank)),
        el("td", "", score),
        el("td", "", hit.store),
        el("td", "", *content, el("small", "", " (stop words only)") if weak else None),
    )


def explanation_html(explanation: Explanation) -> str:
    """Return the sentence, what is known beside it, and the changes that were tried and work."""
    lines = [el("li", "", _hidden(line[:1].upper() + line[1:], explanation)) for line in explanation.details]
    lines += [el("li", "", _hidden(f"Try: {suggestion.text}", explanation)) for suggestion in explanation.suggestions]
    mark = "✓" if explanation.arrived else "✗"
    return el(
        "div",
        "memwb-explanation mathjax_ignore tex2jax_ignore",
        el("p", "", el("strong", "", f"{mark} {_hidden(explanation.sentence, explanation)}")),
        el("ul", "", *lines) if lines else None,
    ).to_html()
