"""The memory tools of a workbench, called by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets

from ..errors import ConfigError
from ..workbench.searching import Comparison
from ..workbench.tools import DryWrite, ToolCall, ToolsState, is_add_tool
from .panel import Panel, close_inside
from .panes.tools import tool_result, tool_spec, tool_tabs
from .view import TreeView

if TYPE_CHECKING:
    from ..workbench import WorkbenchState


class ToolsPanel(Panel):
    """The tools as the model sees them, a form for each, and its answer word for word.

    The search tool's answer stands beside what the injection brings for the same text. The add tool is tried without
    writing until "Write" is pressed.

    Args:
        bench: The workbench's state.
    """

    def __init__(self, bench: WorkbenchState) -> None:
        state = ToolsState(bench)
        self._tabs, self._spec, self._result = (TreeView(self._act) for _ in range(3))
        self._form = ipywidgets.VBox()
        self._fields: dict[str, ipywidgets.Widget] = {}
        self._shown = ""
        left, right = ipywidgets.VBox([self._spec, self._form]), ipywidgets.VBox([self._result])
        body = ipywidgets.HBox([left, right])
        for widget, name in (
            (self._tabs, "top"),
            (self._form, "form"),
            (left, "left"),
            (right, "right"),
            (body, "body"),
        ):
            widget.add_class(f"memwb-{name}")
        super().__init__(state, [self._tabs, body])
        self.add_class("memwb-tools")

    async def run(self, name: str, **arguments: Any) -> ToolCall:
        """Call a tool as a model would; ``add_memory`` really writes. ConfigError where there is no such tool."""
        call: ToolCall = await self.state.run(name, arguments)
        return call

    async def dry_run(self, entries: Sequence[str], stores: Sequence[str] | None = None) -> tuple[DryWrite, ...]:
        """Say for each text and store what writing it would do; nothing is written."""
        found: tuple[DryWrite, ...] = await self.state.dry_run(entries, stores)
        return found

    async def compare(self, text: str) -> Comparison:
        """Say what the search tool returns for a text beside what the injection brings for it, and why they differ."""
        comparison: Comparison = await self.state.compare(text)
        return comparison

    def _draw(self) -> None:
        if self.state.chosen != self._shown:
            self._shown = self.state.chosen
            self._make_form()
        self._spec.show(tool_spec(self.state))
        self._result.show(tool_result(self.state))
        self._tabs.show(tool_tabs(self.state))

    def _make_form(self) -> None:
        old = self._form.children
        tool = self.state.tools.get(self._shown)
        self._fields = {}
        buttons: list[ipywidgets.Widget] = []
        if tool is not None:
            for name, schema in tool.input_schema["properties"].items():
                if name != "stores" or len(tool.stores) > 1:
                    self._fields[name] = _field(name, schema, tool.stores)
            if is_add_tool(tool):
                buttons = [self._button("Dry run", self._dry_run), self._button("Write", self._call)]
            else:
                buttons = [self._button("Call", self._search)]
        self._form.children = [*self._fields.values(), ipywidgets.HBox(buttons)] if buttons else []
        for widget in old:
            _close(widget)

    def _button(self, label: str, action: Any) -> ipywidgets.Button:
        button = ipywidgets.Button(description=label)
        button.add_class("memwb-open")
        button.on_click(lambda _button: self.state.spawn(action))
        return button

    def _arguments(self) -> dict[str, Any]:
        return {name: _value(name, field) for name, field in self._fields.items()}

    async def _call(self) -> None:
        await self.state.run(self._shown, self._arguments())

    async def _search(self) -> None:
        await self._call()
        query = self._fields["query"].value
        if query.strip():
            await self.state.compare(query)

    async def _dry_run(self) -> None:
        arguments = self._arguments()
        await self.state.dry_run(arguments["entries"], arguments.get("stores"))

    def _do_choose(self, message: dict[str, Any]) -> None:
        self.state.choose(message["to"])


def _field(name: str, schema: dict[str, Any], stores: Sequence[str]) -> ipywidgets.Widget:
    """Return the control for one argument of a tool, as its schema asks."""
    label = ipywidgets.Layout(width="auto")
    tip = schema["description"]
    if name == "stores":
        size = min(4, len(stores))
        field = ipywidgets.SelectMultiple(options=stores, description=name, rows=size, tooltip=tip, layout=label)
    elif schema["type"] == "array":
        field = ipywidgets.Textarea(description=name, placeholder="one a line", rows=3, tooltip=tip, layout=label)
    else:
        field = ipywidgets.Text(description=name, placeholder=tip, tooltip=tip, layout=label)
    if name != "stores":
        # Else each key is sent when the kernel is done with the one before, and a button could overtake the last.
        field.continuous_update = False
    field.style.description_width = "140px"
    return field


def _value(name: str, field: ipywidgets.Widget) -> Any:
    """Return what a control says, in the type that the tool takes."""
    if isinstance(field, ipywidgets.SelectMultiple):
        return list(field.value)
    if isinstance(field, ipywidgets.Textarea):
        return [line for line in field.value.split("\n") if line.strip()]
    if name != "max_search_results" or not field.value.strip():
        return field.value
    try:
        return int(field.value)
    except ValueError:
        raise ConfigError(f"{name} must be a whole number, not {field.value!r}.", key=name, value=field.value) from None


def _close(widget: ipywidgets.Widget) -> None:
    close_inside(widget)
    widget.close()
