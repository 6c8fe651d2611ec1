"""The still of a workbench: what its settled screen shows, as a page that needs no kernel and no script."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._dom import Node, el
from .._redact import masked, masked_words
from .._settings import checked_path
from .._text import counted, cropped
from ..memory._html import MARKS, marked
from ..memory.messages import text

if TYPE_CHECKING:
    from ..memory import Hit, InjectionTrace, Message
    from .preview import Preview
    from .state import WorkbenchState

__all__ = ["Still", "still"]

SHOWN_MESSAGES, SHOWN_HITS = 8, 30
MESSAGE_LENGTH, HIT_LENGTH, BLOCK_LENGTH = 400, 160, 6_000  # characters

_SIGNS = {"arrived": "✓", "doubtful": "⚠", "missing": "✗", "nothing": "–", "failed": "✗"}

# Colours are the page's own where it is one of Jupyter's; elsewhere those that the reader's system asks for.
_STYLE = """
.memwb-still { --s-fg: var(--jp-ui-font-color1, #222); --s-bg: var(--jp-layout-color1, #fff);
  --s-dim: var(--jp-ui-font-color2, #5f5f5f); --s-line: var(--jp-border-color2, #d5d5d5); --s-cut: #b34700;
  color: var(--s-fg); background: var(--s-bg); border: 1px solid var(--s-line); border-radius: 6px; padding: 8px 12px;
  font: 13px/1.45 var(--jp-ui-font-family, system-ui, sans-serif); overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { .memwb-still { --s-fg: var(--jp-ui-font-color1, #e4e4e4);
  --s-bg: var(--jp-layout-color1, #1b1b1b); --s-dim: var(--jp-ui-font-color2, #b0b0b0);
  --s-line: var(--jp-border-color2, #444); --s-cut: #ffb074; } }
[data-jp-theme-light="true"] .memwb-still { --s-cut: #b34700; }
[data-jp-theme-light="false"] .memwb-still { --s-cut: #ffb074; }
.memwb-still h3 { font-size: 11px; letter-spacing: .06em; text-transform: uppercase; color: var(--s-dim);
  margin: 10px 0 2px; }
.memwb-still p { margin: 2px 0; } .memwb-still small { color: var(--s-dim); font-size: 12px; }
.memwb-still table { border-collapse: collapse; width: 100%; color: inherit; background: none; }
.memwb-still :is(td, th) { text-align: left; padding: 1px 8px 1px 0; vertical-align: top; color: inherit;
  background: none; }
.memwb-still .memwb-cutline td { border-top: 2px solid var(--s-cut); color: var(--s-cut); }
.memwb-still pre { white-space: pre-wrap; margin: 0; font: 12px/1.4 var(--jp-code-font-family, monospace);
  color: inherit; background: none; }
.memwb-still mark { background: none; color: inherit; font-weight: 600; text-decoration: underline; }
"""


@dataclass(frozen=True)
class Still:
    """A page without scripts, which shows itself in a cell.

    Attributes:
        html: The page's markup; every text in it is escaped.
        summary: What it shows, in one line.
    """

    html: str
    summary: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as a file that any browser opens, and return the path."""
        file = checked_path(path, "path", "still")
        head = (
            '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>memwb</title>'
        )
        file.write_text(f"{head}\n{self.html}\n", encoding="utf-8", errors="replace", newline="\n")
        return file

    def __repr__(self) -> str:
        return f"Still({self.summary})"

    def _repr_html_(self) -> str:
        return self.html


def still(state: WorkbenchState) -> Still:
    """Return what the settled screen shows: verdict, stages, conversation, hits with the cut, block, settings.

    Memory text is masked as ``memwb.options(redact=...)`` says. Of what is long the beginning is kept, and how much is
    not shown is said.

    Raises:
        StaleTraceError: A change waits for its refresh: ``await wb`` first.
    """
    trace, preview = state.trace, state.preview
    assert preview is not None  # or there were no trace
    page = el(
        "div",
        "memwb-still mathjax_ignore tex2jax_ignore",
        *_top(state, trace, preview),
        *_talk(state.seen, len(state.messages)),
        *_hits(preview),
        *_block(preview),
        *_settings(state),
    )
    return Still(f"<style>{_STYLE}</style>{page.to_html()}", repr(state))


def secrets(state: WorkbenchState) -> Iterable[str]:
    """Yield the texts that a sentence of the workbench may quote."""
    preview = state.preview
    if preview is not None:
        yield from (hit.content for hit in preview.hits)
        yield preview.trace.query or ""
        for about in (preview.explanation, preview.starved):
            if about is not None:
                yield about.target
                yield from about.words
    yield from (text(message) for message in state.messages)
    yield state.looked_for


def _top(state: WorkbenchState, trace: InjectionTrace, preview: Preview) -> list[Node | None]:
    quoted = list(secrets(state))
    verdict = preview.verdict
    stages = " › ".join(f"{stage.name} {MARKS[stage.status]} {stage.reason}".strip() for stage in trace.stages)
    call = f"call {state.call} of {len(state.calls)}" if state.call else "no model call"
    tries = [
        masked_words(suggestion.text, [*quoted, *suggestion.brings, *suggestion.drops])
        for suggestion in preview.suggestions[:3]
    ]
    return [
        el("p", "", el("strong", "", f"{_SIGNS[verdict.kind]} {masked_words(cropped(verdict.sentence, 600), quoted)}")),
        *(el("p", "", f"Try: {cropped(each, 300)}") for each in tries),
        el("p", "", el("small", "", f"{call}; {masked_words(cropped(stages, 800), quoted)}")),
    ]


def _talk(seen: Sequence[Message], all_messages: int) -> list[Node | None]:
    if not seen:
        return [_head("Conversation"), el("p", "", "No message.")]
    shown = [
        el("p", "", el("small", "", f"{message['role']} "), masked(cropped(_said(message), MESSAGE_LENGTH)))
        for message in seen[-SHOWN_MESSAGES:]
    ]
    later = all_messages - len(seen)
    left = [
        f"{counted(len(seen) - len(shown), 'earlier message')} not shown" if len(seen) > len(shown) else "",
        f"{counted(later, 'later message')} not shown to the model" if later else "",
    ]
    return [_head("Conversation"), *shown, _left("; ".join(filter(None, left)))]


def _said(message: Message) -> str:
    kinds = ", ".join(next(iter(block), "empty") for block in message["content"])
    return text(message) or f"({kinds})"


def _hits(preview: Preview) -> list[Node | None]:
    hits = preview.hits
    kept, cut = [hit for hit in hits if hit.kept], [hit for hit in hits if not hit.kept]
    if not hits:
        return [_head("Hits"), el("p", "", "No hits.")]
    below = max(0, SHOWN_HITS - len(kept))
    limit = preview.trace.settings.max_entries if preview.trace.settings else 0
    line = el("tr", "memwb-cutline", el("td", "", f"max_entries {limit}: {len(cut)} cut", colspan="4"))
    names = ("rank", "score", "store", "entry")
    head = el("tr", "", *(el("th", "", name, scope="col") for name in names))
    rows = [*map(_hit, kept[:SHOWN_HITS]), line if cut else None, *map(_hit, cut[:below])]
    more = max(preview.matching or 0, len(hits)) - min(len(kept), SHOWN_HITS) - min(len(cut), below)
    return [
        _head("Hits"),
        el("table", "", el("thead", "", head), el("tbody", "", *rows)),
        _left(f"{counted(more, 'more hit')} not shown" if more > 0 else ""),
    ]


def _hit(hit: Hit) -> Node:
    content = masked(cropped(hit.content, HIT_LENGTH))
    score = "" if hit.score is None else f"{hit.score:g}"
    cells = (str(hit.rank), score, hit.store)
    return el("tr", "", *(el("td", "", cell) for cell in cells), el("td", "", *marked(content, hit.matched)))


def _block(preview: Preview) -> list[Node | None]:
    trace = preview.trace
    if not trace.injected or not trace.text:
        return []
    entries = [entry.content for entry in trace.entries]
    return [
        _head(f"Block, {preview.size} tokens"),
        el("pre", "", masked_words(trace.text[:BLOCK_LENGTH], entries)),
        _left(
            f"{len(trace.text) - BLOCK_LENGTH:,} more characters not shown" if len(trace.text) > BLOCK_LENGTH else ""
        ),
    ]


def _settings(state: WorkbenchState) -> list[Node | None]:
    settings = state.settings
    said = [f"stores {', '.join(state.store_names) or 'none'}"]
    if settings is None:
        said.insert(0, "injection off")
    else:
        values: dict[str, Any] = {name: getattr(settings, name) for name in ("trigger", "query", "format")}
        named = [f"{name} {_name(value)}" for name, value in values.items() if value is not None]
        said = [f"max_entries {settings.max_entries}", *named, f"placement {settings.placement}", *said]
    return [_head("Settings"), el("p", "", cropped("; ".join(said), 600))]


def _name(value: Any) -> str:
    return value if isinstance(value, str) else str(getattr(value, "__name__", type(value).__name__))


def _head(title: str) -> Node:
    return el("h3", "", title)


def _left(said: str) -> Node | None:
    return el("p", "", el("small", "", f"… {said}")) if said else None
