"""The settings in words: what stands in each, what it means, which stores are searched, how long everything took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._dom import Node, el
from ..._text import counted, shortened
from ...workbench.meanings import MEANINGS, limit_note, placement_note, timings
from .parts import frame, head

if TYPE_CHECKING:
    from ...workbench import WorkbenchState
    from ...workbench.sides import Comparison


def settings(state: WorkbenchState, take: int | None = None, compared: Comparison | None = None) -> Node:
    """Return the pane; ``take``: its button gets the keyboard, once for each number."""
    close = el(
        "button",
        "memwb-push memwb-cancel",
        "close",
        action={"do": "close"},
        aria_label="Close the settings in words",
        data_take=take,
    )
    values = _values(state)
    rows = [_setting(state, name, values[name], meaning) for name, meaning in MEANINGS.items() if name in values]
    if state.settings is None:
        rows.insert(0, el("p", "memwb-warn", "Injection is off: await wb.set(injection=True) switches it on."))
    inside = frame(
        head("Settings in words", close), _pins(state, compared), *rows, _timings(state), label="Settings in words"
    )
    return el("div", "memwb-writing memwb-meanings", inside)


def _pins(state: WorkbenchState, compared: Comparison | None) -> Node:
    """Return a button that keeps the settings, what is kept, and how it differs at the open call."""
    names = ", ".join(shortened(name, 40) for name in state.arms.pinned)
    kept = f"pinned: {names}. wb.comparison() sets them side by side." if names else "to compare others with them"
    pin = el("button", "", "Pin these settings", action={"do": "pin"}, aria_label="Pin these settings")
    compare = (
        el(
            "button",
            "",
            "Compare",
            action={"do": "compare"},
            title="await wb.compare()",
            aria_label="Compare the settings",
        )
        if names
        else None
    )
    found = compared.calls[0].differences if compared is not None else ()
    told = [el("li", "", el("strong", "", shortened(each.arm, 40)), f": {each.summary}") for each in found]
    return el(
        "div",
        "memwb-setting",
        pin,
        " ",
        compare,
        " ",
        el("span", "memwb-dim", kept, role="status"),
        el("ul", "memwb-compared", *told, aria_label="Against the settings in force") if told else None,
        data_key="pins",
    )


def _values(state: WorkbenchState) -> dict[str, str]:
    """Return what stands in each setting, in a word or two."""
    shown = {"stores": f"{len(state.store_names)} of {len(state.source.stores)}"}
    if (given := state.settings) is not None:
        shown["max_entries"] = f"{given.max_entries:,}"
        shown["placement"] = given.placement
        for name in ("trigger", "query", "format"):
            function = getattr(given, name)
            plain = function if isinstance(function, str) else getattr(function, "__name__", type(function).__name__)
            shown[name] = "the default" if function is None else str(plain)
    chosen = state.tokenizer
    shown["tokenizer"] = "each store's own" if chosen is None else getattr(chosen, "__name__", type(chosen).__name__)
    shown["token_counter"] = state.token_counter.name
    shown["messages"] = counted(len(state.messages), "message")
    shown["call"] = f"{state.call} of {len(state.calls)}" if state.call else "none"
    shown["state"] = "none" if state.agent_state is None else "set"
    return shown


def _setting(state: WorkbenchState, name: str, value: str, meaning: str) -> Node:
    notes = {"placement": placement_note, "max_entries": limit_note}
    note = notes[name](state) if name in notes else ""
    return el(
        "div",
        "memwb-setting",
        el("div", "", el("strong", "", name), " ", el("span", "memwb-value", shortened(value, 60))),
        el("div", "memwb-dim", meaning),
        el("div", "memwb-warn", f"⚠ {note}") if note else None,
        _stores(state) if name == "stores" else None,
        data_key=f"setting {name}",
    )


def _stores(state: WorkbenchState) -> Node:
    chosen = list(state.store_names)
    others = [store.name for store in state.source.stores if store.name not in chosen]
    rows = [_store(chosen, name, at) for at, name in enumerate(chosen)]
    rows += [_choice(name, [*chosen, name], held=False) for name in others]
    return el("ul", "memwb-stores", *[el("li", "", row, data_key=f"store {at}") for at, row in enumerate(rows)])


def _store(chosen: Sequence[str], name: str, at: int) -> Node:
    left = [*chosen[:at], *chosen[at + 1 :]]
    earlier = [*left[: at - 1], name, *left[at - 1 :]] if at else None
    up = el(
        "button",
        "",
        "↑",
        action={"do": "stores", "names": earlier} if earlier else None,
        aria_label=f"Search {name} earlier",
        aria_disabled=None if earlier else "true",
    )
    return el("span", "", _choice(name, left or None, held=True), " ", up)


def _choice(name: str, names: Sequence[str] | None, *, held: bool) -> Node:
    return el(
        "button",
        "",
        f"{'☑' if held else '☐'} {shortened(name, 40)}",
        action={"do": "stores", "names": list(names)} if names else None,
        aria_label=f"Search {name}",
        aria_pressed=str(held).lower(),
        aria_disabled=None if names else "true",
        title=name if names else "One store at least is searched.",
    )


def _timings(state: WorkbenchState) -> Node | None:
    if state.preview is None:
        return None
    trace = state.preview.trace
    rows = [
        el("tr", "", el("th", "", what, scope="row"), el("td", "memwb-number", f"{seconds * 1000:,.1f} ms"))
        for what, seconds in timings(trace)
    ]
    summary = el("summary", "", f"timings: {trace.seconds * 1000:,.1f} ms")
    return el("details", "memwb-timings", summary, el("table", "", el("tbody", "", *rows)), data_key="timings")
