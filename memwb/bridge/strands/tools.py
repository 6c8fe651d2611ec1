"""The memory tools of the SDK's own manager, as memwb calls tools."""

from __future__ import annotations

from typing import Any

from ...memory.tools import MemoryTool
from .reading import manager_of


def memory_tools(source: Any) -> tuple[Any, ...] | None:
    """Return the memory tools of an agent or of a memory manager of the SDK, told in its words and run by its code.

    Its search and add tools come as :class:`~memwb.memory.tools.MemoryTool`, what the stores offer besides as it is.
    None where there is no manager of the SDK's own.
    """
    manager = manager_of(source)
    if not (hasattr(manager, "_stores") and hasattr(manager, "_add_tool_stores")):
        return None
    return tuple(_memory_tool(manager, tool) for tool in manager.tools)


def _memory_tool(manager: Any, tool: Any) -> Any:
    spec = getattr(tool, "tool_spec", None) or {}
    schema = spec.get("inputSchema", {}).get("json", {})
    known = set(schema.get("properties", ()))
    if "stores" not in known or not known & {"query", "entries"} or not callable(tool):
        return tool
    stores = manager._add_tool_stores if "entries" in known else manager._stores
    return MemoryTool(spec["name"], spec["description"], schema, tool, tuple(store.name for store in stores))
