"""The comparison's screen: a name to pin settings under, what is pinned, and the arms side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._text import shortened
from ...workbench.arms_html import comparison_tree
from .parts import head

if TYPE_CHECKING:
    from ...workbench.arms import PinnedArm
    from ...workbench.comparing import ComparingState

_NAME_LENGTH = 40


def comparison_pane(state: ComparingState) -> Node:
    """Return the whole screen as one tree."""
    if state.comparison is None:
        shown: Node = el("div", "memwb-empty", "Pin settings, change them, and compare: what differs stands here.")
    else:
        shown = comparison_tree(state.comparison, hide=False)
    told = "made before the last change: compare again" if state.old else ""
    return el(
        "div",
        "memwb-frame" + (" memwb-outdated" if state.old else ""),
        head("Comparison with the settings in force", el("span", "memwb-push", told, role="status")),
        _bar(state),
        el("div", "memwb-banner", state.refused, role="alert") if state.refused else None,
        el("div", "memwb-scroll", shown, role="region", aria_label="Arms side by side", tabindex="0"),
        data_revision=state.revision,
    )


def _bar(state: ComparingState) -> Node:
    name = el(
        "input",
        "",
        type="text",
        placeholder="name for these settings",
        aria_label="Name for the settings in force",
        data_field="name",
        action={"do": "pin", "enter": True},
    )
    pinned = [_arm(arm) for arm in state.bench.arms.pinned.values()]
    compare = [
        el("button", "memwb-fix" if calls == "open" else "", text, action={"do": "compare", "calls": calls})
        for calls, text in (("open", "Compare this call"), ("all", "Compare all calls"))
    ]
    return el(
        "div",
        "memwb-writing memwb-pinning",
        name,
        el("button", "memwb-save", "Pin", action={"do": "pin", "form": True}, title="keep the settings in force"),
        *pinned,
        el("span", "memwb-push", *compare),
        role="form",
        aria_label="Arms",
    )


def _arm(arm: PinnedArm) -> Node:
    return el(
        "span",
        "memwb-pinned",
        shortened(arm.name, _NAME_LENGTH),
        el("button", "", "×", action={"do": "unpin", "name": arm.name}, aria_label=f"unpin {arm.name}"),
        title=repr(arm),
        data_key=f"arm {arm.name}",
    )
