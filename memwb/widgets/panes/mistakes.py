"""What stands below an editor: the mistake at its line, what is doubtful, and what the callback printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._text import shortened

if TYPE_CHECKING:
    from ...workbench.editor import Slot
    from ...workbench.lint import Finding
    from ...workbench.probe import Outcome, Probe


def mistakes(slot: Slot, findings: Sequence[Finding] = (), probe: Probe | None = None) -> Node:
    """Return the state of the editor's text in a line or two, what is doubtful, and what hostile entries showed."""
    if slot.problem is not None:
        place = f"line {slot.problem.line}: " if slot.problem.line else ""
        lines: list[Node] = [el("div", "memwb-bad", f"{place}{slot.problem.message}")]
        if slot.problem.text:
            lines.append(el("pre", "", slot.problem.text))
        if slot.ahead:
            lines.append(el("small", "", "The last callback that was complete stays in force."))
    elif slot.ahead:
        lines = [el("small", "", "Complete: applied after a pause.")]
    elif slot.function is None:
        lines = [el("small", "", "The default is in force; change the text to replace it.")]
    else:
        lines = [el("small", "memwb-good", "In force.")]
    if slot.replaced:
        lines.append(el("button", "", "↶ bring back the earlier text", action={"do": "undo"}))
    lines += [_finding(finding) for finding in findings]
    if probe is not None:
        lines += _probe(probe)
    if slot.printed:
        lines.append(el("pre", "", "\n".join(slot.printed)))
    return el("div", "", *lines, role="status")


def _finding(finding: Finding) -> Node:
    place = f"line {finding.line}: " if finding.line else ""
    return el("div", "memwb-finding", f"⚠ {place}{finding.message}. ", el("small", "", finding.fix))


def _probe(probe: Probe) -> Iterator[Node]:
    bad = probe.broken or probe.stopped
    yield el("div", "memwb-bad" if bad else "memwb-good", f"{'✗' if bad else '✓'} {probe.summary}")
    if probe.unlike:
        yield el("div", "memwb-finding", "⚠ Two runs on the same entries gave two texts.")
    if probe.broken:
        yield el("ul", "memwb-broken", *map(_broken, probe.broken))


def _broken(outcome: Outcome) -> Node:
    text = el("pre", "", shortened(outcome.text, 600)) if outcome.text else None
    told = el("summary", "", el("strong", "", outcome.name), f": {outcome.broke}")
    return el("li", "", el("details", "", told, el("small", "", f"entry: {shortened(outcome.entry.content)}"), text))
