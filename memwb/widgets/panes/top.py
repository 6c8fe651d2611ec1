"""The verdict in one sentence, the fix that was tried, the call picker and the five stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._text import quoted, shortened
from .parts import failed_stores

if TYPE_CHECKING:
    from ...memory import Explanation, Stage, Suggestion
    from ...workbench import Preview, WorkbenchState

_VERDICTS = {
    "arrived": ("✓", "memwb-good"),
    "doubtful": ("⚠", "memwb-warn"),
    "missing": ("✗", "memwb-bad"),
    "nothing": ("–", "memwb-warn"),
    "failed": ("✗", "memwb-bad"),
}
TRIED_TOKENIZER = (
    "These hits are found by a tokenizer that is set here alone; an agent's stores search by it when they are built "
    "with it, such as tokenizer=memwb.ranking.tokenize_any_script."
)
_MARKS = {"done": ("✓", "memwb-good"), "skipped": ("–", "memwb-warn"), "failed": ("✗", "memwb-bad")}


def top(state: WorkbenchState, *, why_open: bool = False) -> Node:
    """Return the verdict bar, what went wrong with the refresh itself, and the strip of stages."""
    preview = state.preview
    if preview is None:
        sentence = el("span", "memwb-sentence", _waiting(state), role="status")
        return el("div", "", el("div", "memwb-verdict", sentence), data_revision=state.revision)
    popover = _popover(state, preview) if why_open else None
    return el(
        "div",
        "memwb-pending" if state.pending else "",
        _verdict_bar(state, preview, why_open),
        *(el("div", "memwb-banner", banner) for banner in _banners(state)),
        el("div", "memwb-stages", *_strip(state, preview), _ahead(state), aria_label="Stages", role="group"),
        popover,
        data_revision=state.revision,
    )


def _waiting(state: WorkbenchState) -> str:
    return state.failure or "Not run yet: await the workbench in a cell, or change a setting."


def _verdict_bar(state: WorkbenchState, preview: Preview, why_open: bool) -> Node:
    verdict = preview.verdict
    mark, kind = _VERDICTS[verdict.kind]
    return el(
        "div",
        "memwb-verdict",
        el("span", kind, mark, aria_hidden="true"),
        el("span", "memwb-sentence", verdict.sentence, role="status", aria_live="polite"),
        # There also where it has nothing to say: no line of the bar comes and goes with it.
        el(
            "button",
            "",
            "Why",
            action={"do": "why"},
            aria_expanded=str(why_open).lower(),
            disabled=None if _has_more(preview) else "disabled",
        ),
        _fix(preview),
        _calls(state),
    )


def _has_more(preview: Preview) -> bool:
    return preview.explanation is not None or bool(preview.trace.notes) or preview.trace.error is not None


def _fix(preview: Preview) -> Node | None:
    if not preview.suggestions:
        return None
    suggestion = preview.suggestions[0]
    text = f"Try: {suggestion.text}"
    short = text.partition(" (")[0]  # what comes in or goes out beside it is in the tool tip, and behind "Why"
    return el("button", "memwb-fix", short, action={"do": "try", "text": suggestion.text}, title=text)


def _calls(state: WorkbenchState) -> Node | None:
    if len(state.calls) < 2 or not state.call:
        return None
    call, last = state.call, len(state.calls)
    return el(
        "span",
        "memwb-calls",
        "call",
        _step("◀", "previous call", call - 1, call > 1),
        f"{call}/{last}",
        _step("▶", "next call", call + 1, call < last),
    )


def _step(sign: str, label: str, to: int, possible: bool) -> Node:
    """A button that stays in reach of the keyboard where it does nothing: else the focus would be lost at the end."""
    action = {"do": "call", "to": to} if possible else None
    return el("button", "", sign, action=action, aria_label=label, aria_disabled=None if possible else "true")


def _banners(state: WorkbenchState) -> list[str]:
    banners = [*state.live.notes, *state.source.notes]
    if state.tokenizer is not None:
        banners.append(TRIED_TOKENIZER)
    if state.failure:
        banners.insert(0, f"The last refresh failed, what you see is older: {state.failure}")
    if state.refused:
        banners.insert(0, f"That could not be done: {state.refused}")
    return banners


def _ahead(state: WorkbenchState) -> Node | None:
    """Say that an editor's text is newer than what is shown, without moving anything."""
    names = [name for name, slot in state.slots.items() if slot.ahead]
    if not names:
        return None
    return el("span", "memwb-ahead memwb-warn", f"⚠ older than the {' and '.join(names)} editor")


def _strip(state: WorkbenchState, preview: Preview) -> list[Node | str]:
    trace = preview.trace
    strip: list[Node | str] = []
    for stage in trace.stages:
        if strip:
            strip.append(el("span", "memwb-dim", "›", aria_hidden="true"))
        strip.append(_stage(stage, state, preview))
    return strip


def _stage(stage: Stage, state: WorkbenchState, preview: Preview) -> Node:
    mark, kind = _MARKS.get(stage.status, ("·", "memwb-off"))
    if stage.name == "search" and stage.status == "done" and preview.down:
        mark, kind = "⚠", "memwb-warn"
    off = " memwb-off" if stage.status == "not reached" else ""
    title = f"{stage.name} {stage.status}" + (f": {stage.reason}" if stage.reason else "")
    detail = _detail(stage, preview)
    if stage.name == "search" and stage.status == "skipped" and preview.unwritten:
        detail = "nothing is stored"
    return el(
        "span",
        f"memwb-stage{off}",
        el("strong", "", stage.name),
        " ",
        el("span", kind, mark),
        f" {detail}" if detail else None,
        title=title if stage.status == "not reached" else f"{title} ({1000 * stage.seconds:.1f} ms)",
        aria_label=title,
    )


def _detail(stage: Stage, preview: Preview) -> str:
    """The few words that stand beside a stage that was done; its sentence is in the tool tip."""
    if stage.status != "done":
        return shortened(stage.reason, 44) if stage.status != "not reached" else ""
    trace = preview.trace
    assert trace.settings is not None
    callback = {"query": trace.settings.query, "format": trace.settings.format}.get(stage.name)
    named = f"{getattr(callback, '__name__', 'callback')} " if callback else ""
    if stage.name == "trigger":
        return trace.settings.trigger if isinstance(trace.settings.trigger, str) else "predicate"
    if stage.name == "query":
        return f"{named}{quoted(trace.query or '', 28)}"
    if stage.name == "search":
        down = preview.down
        return f"{_matched(preview)}, kept {len(trace.entries)}" + (f", {down} failed" if down else "")
    return f"{named}{preview.size} tok" if stage.name == "format" else trace.settings.placement


def _matched(preview: Preview) -> str:
    found = f"{preview.found:,}"
    return f"{found} of {preview.entries:,}" if preview.entries is not None else found


def _popover(state: WorkbenchState, preview: Preview) -> Node:
    explanation, trace = preview.explanation or preview.starved, preview.trace
    content: list[Node] = []
    if explanation is not None:
        if explanation.sentence != preview.verdict.sentence:
            content.append(el("p", "", el("strong", "", explanation.sentence)))
        if explanation.matched:
            content.append(el("p", "", f"Words of the query in it: {', '.join(explanation.matched)}"))
        if explanation.missing and explanation.store is not None:
            content.append(
                el("p", "", f"Words of the query not in it: {shortened(', '.join(explanation.missing), 200)}")
            )
        if explanation.words:
            content.append(el("p", "", f"Its own words: {shortened(', '.join(explanation.words), 200)}"))
        content.extend(_tried(explanation))
        content.extend(_around(explanation))
    if trace.error is not None and not failed_stores(trace):  # those are among the notes
        content.append(el("p", "memwb-bad", f"{trace.skipped_at} failed: {trace.reason}"))
    if trace.notes:
        content.append(el("p", "", "Worth knowing about this call:"))
        content.append(
            el("ul", "", *(el("li", "", el("strong", "", note.kind), f": {note.text}") for note in trace.notes))
        )
    close = el("button", "memwb-close", "✕", action={"do": "why"}, aria_label="Close")
    return el("div", "memwb-popover", close, *content, role="dialog", aria_label="Why")


def _around(explanation: Explanation) -> list[Node]:
    """What took the places before the entry, which others hold the text that was asked for, and what to do."""
    content = []
    if explanation.before:
        content.append(el("p", "", "Ranked before it:"))
        content.append(el("ol", "", *(el("li", "", quoted(hit.content, 80)) for hit in explanation.before)))
    if explanation.others:
        content.append(el("p", "", "Others that hold it:"))
        buttons = [
            el("button", "", quoted(other.content, 80), action={"do": "other", "at": at})
            for at, other in enumerate(explanation.others)
        ]
        content.append(el("ul", "", *(el("li", "", button) for button in buttons)))
    return [*content, *([el("p", "", explanation.advice)] if explanation.advice else [])]


def _tried(explanation: Explanation) -> list[Node]:
    if explanation.arrived:
        return []
    if not explanation.suggestions and explanation.advice:
        return []
    if not explanation.suggestions:
        tries = "another limit, query, order of stores or format, and its words said by the user"
        return [el("p", "", f"None of the changes that memwb tries brings it in: {tries}.")]
    rows = [el("li", "", *_change(suggestion)) for suggestion in explanation.suggestions]
    return [el("p", "", "Changes that were tried on this call and bring it in:"), el("ul", "", *rows)]


def _change(suggestion: Suggestion) -> tuple[Node | str, ...]:
    """The button, and beside it what else would come in or go out."""
    short, _, beside = suggestion.text.partition(" (")
    button = el("button", "", f"Try: {short}", action={"do": "try", "text": suggestion.text})
    return (button, f" {beside.removesuffix(')')}") if beside else (button,)
