"""The verdict: what arrived at a model call, or why not, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .._text import counted
from ..memory.notes import stop_words_only

if TYPE_CHECKING:
    from .preview import Preview


@dataclass(frozen=True)
class Verdict:
    """What the screen says on top.

    Attributes:
        kind: ``arrived``; ``doubtful`` (more than half of what arrived matched on stop words alone);
            ``missing`` (the entry that is looked for did not arrive); ``nothing`` (nothing was injected, for a
            reason) or ``failed`` (nothing was injected, by a fault).
        sentence: The same in words.
    """

    kind: Literal["arrived", "doubtful", "missing", "nothing", "failed"]
    sentence: str


def verdict_of(preview: Preview) -> Verdict:
    """Judge a preview: by the entry that is looked for, where there is one, else by what arrived."""
    trace, explanation = preview.trace, preview.explanation
    if explanation is not None and (trace.stage("search").status != "failed" or explanation.stage == "store"):
        return Verdict("arrived" if explanation.arrived else "missing", explanation.sentence)
    if trace.injected:
        return _arrived(preview)
    if trace.error is not None:
        reason = f"{trace.skipped_at} failed, {trace.reason}"
        return Verdict("failed", f"Nothing arrived: {reason}. The agent would go on without memory.")
    reason = (preview.unwritten if trace.skipped_at == "search" else "") or trace.reason
    fileless = f"; {preview.fileless}" if preview.fileless and preview.fileless not in reason else ""
    return Verdict("nothing", f"Nothing arrived: {reason}{fileless}.")


def _arrived(preview: Preview) -> Verdict:
    trace = preview.trace
    kept = [hit for hit in trace.hits if hit.kept]
    noise = sum(map(stop_words_only, kept))
    sentence = f"{len(kept)} of {counted(preview.found, 'hit')} arrived, {preview.size} tokens"
    if noise:
        which = "all" if noise == len(kept) else f"{noise} of them"
        sentence += f"; {which} matched on stop words alone"
    if preview.down:
        sentence += f"; {preview.down} failed"
    if preview.starved is not None:
        sentence += f"; {next(note.text for note in trace.notes if note.kind == 'starved')}"
    if preview.fileless:
        sentence += f"; {preview.fileless}"
    return Verdict("doubtful" if 2 * noise > len(kept) else "arrived", f"{sentence}.")
