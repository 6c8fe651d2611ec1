"""The tools' screen: what the model is told of a tool, and what a call, a dry run or a comparison gave."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._text import shortened
from .parts import cropped, head

if TYPE_CHECKING:
    from ...memory.tools import MemoryTool
    from ...workbench.searching import Comparison
    from ...workbench.tools import DryWrite, ToolCall, ToolsState

_OUTCOMES = {
    "new": ("✓", "memwb-good"),
    "repeat": ("=", "memwb-warn"),
    "refused": ("✗", "memwb-bad"),
    "unknown": ("?", "memwb-warn"),
}
_CONTENT_LENGTH = 200


def tool_tabs(state: ToolsState) -> Node:
    """Return the tools' names, one of them chosen, and what could not be done."""
    buttons = [
        el("button", "", name, action={"do": "choose", "to": name}, role="tab", aria_selected=str(chosen).lower())
        for name in state.tools
        for chosen in (name == state.chosen,)
    ]
    tabs = el("div", "memwb-tabs", *buttons, role="tablist", aria_label="Tools")
    hint = el("span", "memwb-push", "what the model is told, called by hand")
    banner = el("div", "memwb-banner", state.refused, role="alert") if state.refused else None
    return el("div", "", el("div", "memwb-head", el("h3", "", "Tools"), tabs, hint), banner)


def tool_spec(state: ToolsState) -> Node:
    """Return the tool's description and schema, word for word as the model gets them."""
    tool = state.tools.get(state.chosen)
    if tool is None:
        return el("div", "memwb-empty", "No tool: the manager offers none.")
    inside = el("div", "memwb-scroll", *_told(tool), role="region", aria_label="What the model is told", tabindex="0")
    return el("div", "memwb-frame", head("What the model is told"), inside)


def _told(tool: MemoryTool) -> list[Node]:
    schema = json.dumps(tool.input_schema, indent=2, ensure_ascii=False)
    return [
        el("p", "", el("code", "", tool.name)),
        el("pre", "memwb-part", tool.description),
        el("details", "", el("summary", "", "schema of its arguments"), el("pre", "memwb-part", schema)),
    ]


def tool_result(state: ToolsState) -> Node:
    """Return what the last action gave: a payload, a dry run, and the search tool beside the injection."""
    parts = [*_payload(state.call), *_dry(state.dry)]
    compared = _comparison(state.comparison) if state.comparison is not None else []
    if not parts and not compared:
        parts = [el("div", "memwb-empty", "Fill in the form and call the tool: its answer stands here.")]
    frames = []
    if parts:
        result = el("div", "memwb-scroll", *parts, role="region", aria_label="Result", tabindex="0")
        frames.append(el("div", "memwb-frame memwb-payload", head("Result"), result))
    if compared:
        inside = el("div", "memwb-scroll", *compared, role="region", aria_label="Comparison", tabindex="0")
        frames.append(el("div", "memwb-frame memwb-compared", head("Search tool and injection, same text"), inside))
    return el("div", "memwb-frame", *frames)


def _payload(call: ToolCall | None) -> list[Node]:
    if call is None:
        return []
    given = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    asked = el("p", "memwb-dim", shortened(f"{call.tool}({given})", 400))
    if call.error:
        return [asked, el("p", "memwb-bad", f"failed: {call.error}")]
    return [asked, el("pre", "memwb-part", cropped(call.text))]


def _dry(dry: tuple[DryWrite, ...]) -> list[Node]:
    if not dry:
        return []
    rows = []
    for write in dry:
        mark, kind = _OUTCOMES[write.outcome]
        rows.append(
            el(
                "tr",
                "",
                el("td", kind, mark),
                el("td", "memwb-name", write.store),
                el("td", "", shortened(write.content, _CONTENT_LENGTH)),
                el("td", "", write.sentence),
            )
        )
    titles = el("tr", "", *(el("th", "", title, scope="col") for title in ("", "store", "text", "what would happen")))
    table = el("table", "memwb-lines", el("thead", "", titles), el("tbody", "", *rows))
    return [el("p", "", el("strong", "", "Dry run: nothing was written.")), table]


def _comparison(comparison: Comparison) -> list[Node]:
    rows = [
        el(
            "tr",
            "" if entry.tool or entry.injected else "memwb-dim",
            el("td", "memwb-number", str(entry.rank)),
            el("td", "memwb-good" if entry.tool else "memwb-dim", "✓" if entry.tool else "–"),
            el("td", "memwb-good" if entry.injected else "memwb-dim", "✓" if entry.injected else "–"),
            el("td", "memwb-name", entry.store),
            el("td", "", shortened(entry.content, _CONTENT_LENGTH)),
            el("td", "", entry.reason),
        )
        for entry in comparison.entries
    ]
    titles = ("rank", "tool", "injection", "store", "entry", "why they differ")
    header = el("tr", "", *(el("th", "", title, scope="col") for title in titles))
    table = el("table", "memwb-lines", el("thead", "", header), el("tbody", "", *rows))
    return [el("p", "", comparison.sentence), table]
