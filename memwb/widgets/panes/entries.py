"""The entries: stores, filters, what is staged, and what opens in the table's place: a form, a diff, findings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..._dom import Node, el
from ..._text import counted, shortened
from .empty import empty
from .parts import SHOWN_CHARACTERS, cropped, frame

if TYPE_CHECKING:
    from ...catalog import Record
    from ...workbench import WorkbenchState
    from ...workbench.entries import EntriesState
    from ...workbench.health import Health

_BUTTONS = 32
"""Characters that the buttons of all stores have room for."""

ALL = "all stores"


@dataclass
class Opened:
    """What is open in the table's place.

    Attributes:
        kind: ``add``, ``edit``, ``merge``, ``diff`` or ``health``; "" for the table.
        number: Of the form, so that the page makes new fields for each.
        records: The entries that the form is about.
        store: Where a new entry goes.
        text: What stands in the field of the text at first.
        metadata: What stands in the field of the metadata at first.
        error: Why it could not be saved.
        health: What the check has found.
        said: What the last action of the page came to, in a sentence.
        filters: Whether the filters are shown.
    """

    kind: str = ""
    number: int = 0
    records: list[Record] = field(default_factory=list)
    store: str = ""
    text: str = ""
    metadata: str = ""
    error: str = ""
    health: Health | None = None
    said: str = ""
    filters: bool = False


def listed(state: WorkbenchState, opened: Opened | None = None) -> bool:
    """Whether the table of entries stands below the bar; else the pane shows something in its place."""
    preview, entries = state.preview, state.entries
    if preview is None or entries.problem or (opened is not None and opened.kind):
        return False
    return bool(entries.total or entries.filters or entries.staged or not preview.unwritten)


def entries_pane(state: WorkbenchState, tabs: Node, opened: Opened) -> Node:
    """Return the tab of the entries, without its table."""
    entries = state.entries
    rows = [el("div", "memwb-head", tabs, *_stores(entries)), _tools(entries, opened)]
    if opened.filters:
        rows.append(_filters(entries))
    bar = el("div", "", *rows)
    if opened.kind in ("add", "edit", "merge"):
        return _form(entries, bar, opened)
    if opened.kind == "diff":
        back = el("button", "memwb-cancel", "Back to the entries", action={"do": "entry_close"})
        return el("div", "memwb-writing", frame(bar, entries.diff().node(), label="Staged changes"), _foot(back))
    if opened.kind == "health" and opened.health is not None:
        return _health(bar, opened.health)
    if entries.problem:
        return frame(bar, el("div", "memwb-empty memwb-bad", entries.problem), label="Entries")
    return bar if listed(state, opened) else frame(bar, empty(state), label="Entries")


def _stores(entries: EntriesState) -> list[Node]:
    """A button for each store and one for all; where they would not fit, a box to choose from."""
    names = entries.stores
    if len(names) < 2:
        return []
    if sum(map(len, names)) <= _BUTTONS:
        pressed = {name: str(name == entries.store).lower() for name in (None, *names)}
        return [
            el("button", "", "all", action={"do": "store", "to": None}, aria_pressed=pressed[None], aria_label=ALL),
            *(el("button", "", name, action={"do": "store", "to": name}, aria_pressed=pressed[name]) for name in names),
        ]
    options = [el("option", "", ALL, value=-1, selected="selected" if entries.store is None else None)]
    options += [
        el("option", "", shortened(name, 80), value=at, selected="selected" if name == entries.store else None)
        for at, name in enumerate(names)
    ]
    return [
        el("select", "memwb-push", *options, action={"do": "store"}, aria_label="store", title=entries.store or ALL)
    ]


def _tools(entries: EntriesState, opened: Opened) -> Node:
    filtered = bool(replace(entries.filters, duplicates=False))
    filters = _button(
        "filters" + (" on" if filtered else ""), "entry_filters", aria_expanded=str(opened.filters).lower()
    )
    doubles = _button(
        "duplicates",
        "entry_duplicates",
        aria_pressed=str(entries.filters.duplicates).lower(),
        title="Only entries that say nearly the same, by group: wb.entries.choose(duplicates=True)",
    )
    health = _button("health", "entry_health", title="Look for damage and doubtful entries: await wb.entries.health()")
    parts: list[Node | None] = [filters, doubles, health]
    if entries.editable:
        parts += _editing(entries, opened)
    elif opened.said:
        parts.append(el("span", "memwb-said", opened.said, role="status"))
    return el("div", "memwb-entry-tools", *parts)


def _editing(entries: EntriesState, opened: Opened) -> list[Node | None]:
    chosen = len(entries.selected_ids)
    faults = {name: fault for name, fault in entries.faults.items() if entries.store in (None, name)}
    if len(faults) == (len(entries.stores) if entries.store is None else 1):
        return [el("span", "memwb-dim", f"{next(iter(faults.values()))}.")]
    staged = len(entries.staged)
    return [
        _button("add", "entry_add", title="wb.entries.stage(add=[...])", aria_label="Add an entry"),
        _button(
            "edit", "entry_edit", off=chosen != 1, title="Enter: edit the chosen entry", aria_label="Edit the entry"
        ),
        _button(
            "delete", "entry_delete", off=not chosen, title="Delete: the chosen entries", aria_label="Delete entries"
        ),
        _button(
            "merge", "entry_merge", off=chosen < 2, title="Make the chosen entries one", aria_label="Merge entries"
        ),
        _staged_bar(staged) if staged else None,
        _button("Undo", "entry_undo", title="Take the last write back: await wb.entries.undo()")
        if entries.undoable and not staged
        else None,
        el("span", "memwb-said", opened.said, role="status") if opened.said else None,
    ]


def _staged_bar(staged: int) -> Node:
    return el(
        "span",
        "memwb-staged",
        el("strong", "", f"{counted(staged, 'change')} staged"),
        _button("Diff", "entry_diff", title="wb.entries.diff()"),
        _button("Write", "entry_write", "memwb-fix", title="All at once or nothing: await wb.entries.write()"),
        _button("Discard", "entry_discard", title="wb.entries.unstage()"),
    )


def _button(text: str, do: str, classes: str = "", *, off: bool = False, **more: Any) -> Node:
    return el("button", classes, text, action={"do": do}, aria_disabled="true" if off else None, data_key=do, **more)


def _filters(entries: EntriesState) -> Node:
    filters = entries.filters
    fields = (
        ("owner", filters.owner, "whose"),
        ("since", filters.since, "2026-01-31"),
        ("until", filters.until, "2026-01-31"),
        ("metadata", filters.metadata, "a.b[0] = x, a.b ~ x"),
    )
    return el(
        "div",
        "memwb-entry-filters",
        *(
            el(
                "label",
                "",
                f"{name} ",
                el(
                    "input",
                    "memwb-path" if name == "metadata" else "",
                    type="text",
                    value="" if value is None else str(value),
                    placeholder=hint,
                    action={"do": "entry_filter", "name": name, "enter": True},
                ),
                data_key=name,
            )
            for name, value, hint in fields
        ),
        el("small", "", "Enter filters"),
    )


def _form(entries: EntriesState, bar: Node, opened: Opened) -> Node:
    titles = {"add": "New entry", "edit": "Edit the entry", "merge": f"Merge {len(opened.records)} entries into one"}
    editable = [name for name in entries.stores if name not in entries.faults]
    stores = None
    if opened.kind == "add" and len(editable) > 1:
        options = [
            el("option", "", shortened(name, 60), value=name, selected="" if name == opened.store else None)
            for name in editable
        ]
        stores = el("label", "", "store ", el("select", "", *options, data_field="store", aria_label="Store"))
    texts = [
        el(
            "div",
            "memwb-field",
            el("small", "", f"{record.store}, {shortened(record.id, 30)}"),
            el("pre", "", cropped(record.content, 2_000)),
        )
        for record in (opened.records if opened.kind == "merge" else ())
    ]
    fields = el(
        "div",
        "memwb-fields",
        stores,
        el("div", "memwb-bad", opened.error, role="alert", data_key="error") if opened.error else None,
        _field("text", "Text that stays" if opened.kind == "merge" else "Text", opened.text, opened, take=True),
        None if opened.kind == "merge" else _field("metadata", "Metadata, a JSON object", opened.metadata, opened),
        *texts,
        data_key=f"entry form {opened.number}",
    )
    stage = el(
        "button",
        "memwb-save",
        "Stage",
        action={"do": "entry_save", "form": True},
        title="Ctrl + Enter; nothing is written",
    )
    cancel = el("button", "memwb-cancel", "Cancel", action={"do": "entry_close"}, title="Escape")
    title = titles[opened.kind]
    foot = _foot(stage, cancel)
    return el(
        "div",
        "memwb-writing memwb-form memwb-entry-form",
        frame(bar, fields, label=title),
        foot,
        role="form",
        aria_label=title,
    )


def _field(name: str, title: str, value: str, opened: Opened, *, take: bool = False) -> Node:
    writing = el(
        "textarea",
        "memwb-json" if name == "metadata" else "",
        value=value,
        rows=min(max(2, value.count("\n") + 1 + len(value) // 60), 10),
        aria_label=title,
        spellcheck="false" if name == "metadata" else None,
        data_field=name,
        data_take=f"entry {opened.number}" if take else None,
    )
    return el("div", "memwb-field", el("small", "", title), writing, data_key=f"{name} {opened.number}")


def _health(bar: Node, health: Health) -> Node:
    saves = [
        el(
            "button",
            "memwb-fix",
            f"Salvage {shortened(name, 40)}",
            action={"do": "entry_salvage", "store": name},
            title="Writes what is readable to a new file, and keeps a copy: await wb.entries.salvage()",
        )
        for name in health.damaged
    ]
    back = el("button", "memwb-cancel", "Back to the entries", action={"do": "entry_close"})
    return el("div", "memwb-writing", frame(bar, health.node(), label="Health of the stores"), _foot(*saves, back))


def _foot(*buttons: Node) -> Node:
    return el("div", "memwb-foot", *buttons)


def too_long(record: Record) -> bool:
    """Whether an entry's text is too long for a field of the page."""
    return len(record.content) > SHOWN_CHARACTERS
