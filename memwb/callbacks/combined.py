"""Formats with filters, and queries that remember: callbacks made of others, which can be written out as plain code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ConfigError
from ..memory.queries import latest_user_message
from ..memory.types import InjectionFormatContext, InjectionQueryContext, MemoryEntry
from .filters import remember
from .source import begin_with, source_of

Filter = Callable[[list[MemoryEntry]], list[MemoryEntry]]


@dataclass(frozen=True, init=False)
class Filtered:
    """A format for the entries that filters leave; where they leave none, there is no text and nothing is injected.

    Attributes:
        format: A format callback.
        filters: Functions from entries to the entries that stay, run in this order.
    """

    format: Callable[[Any], str]
    filters: tuple[Filter, ...]

    def __init__(self, format: Callable[[Any], str], *filters: Filter) -> None:
        for callback in (format, *filters):
            if not callable(callback):
                raise ConfigError(
                    f"Filtered: {callback!r:.80} is no function; give a format and then filters, such as "
                    "Filtered(bullet_list, no_duplicates).",
                    key="format" if callback is format else "filters",
                    value=callback,
                )
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "filters", filters)

    def __call__(self, context: InjectionFormatContext) -> str:
        """Return the text to inject."""
        entries = list(context.entries)
        for chosen in self.filters:
            entries = chosen(entries)
        return self.format(replace(context, entries=entries)) if entries else ""

    @property
    def source(self) -> str | None:
        """Code that does the same, or None where a part has no source that can be written out."""
        source = source_of(self.format)
        for chosen in reversed(self.filters):
            source = None if source is None else with_filter(source, chosen)
        return source


@dataclass(frozen=True)
class Remembering:
    """A query that keeps what the conversation says, for the filter ``not_said`` in the format of the same model call.

    Attributes:
        query: What it searches for; by default the user's latest words.
    """

    query: Callable[[Any], str | None] = latest_user_message

    def __call__(self, context: InjectionQueryContext) -> str | None:
        """Return the text to search for."""
        remember(context)
        return self.query(context)

    @property
    def source(self) -> str | None:
        """Code that does the same, or None where the query has no source that can be written out."""
        source = source_of(self.query)
        return None if source is None else remembering(source)


def with_filter(source: str, chosen: Filter, name: str = "") -> str | None:
    """Return a format's source with a filter put first in it, or None where that cannot be done.

    Args:
        source: Code with a format.
        chosen: The filter.
        name: The format's name in the code; by default its last function.
    """
    definition = source_of(chosen)
    if definition is None:
        return None
    called = definition.partition("(")[0].removeprefix("def ")
    if f"entries = {called}(" in source:
        return source  # it is filtered by this already
    statements = [f"{{0}}.entries = {called}({{0}}.entries)"]
    if '.entries:\n        return ""' not in source:
        statements += ["if not {0}.entries:", '    return ""']
    return begin_with(source, statements, [definition], name)


def remembering(source: str, name: str = "") -> str | None:
    """Return a query's source that keeps what the conversation says, or None where that cannot be done."""
    if "def remember(" in source:
        return source
    return begin_with(source, ["remember({0})"], [source_of(remember) or ""], name)
