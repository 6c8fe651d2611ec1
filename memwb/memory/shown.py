"""Whether a format callback shows an entry that it was given, and which filter leaves it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .types import InjectionFormatContext, MemoryEntry
    from .wanted import Wanted


@dataclass
class Watched:
    """A format that gives what another one gives, and tells whether that shows one entry.

    A format with ``filters`` (see ``memwb.callbacks.Filtered``) is looked at filter by filter. Of any other, the text
    is: it shows an entry without which it would be another text.

    Attributes:
        format: The format in force.
        wanted: The entry.
        shown: Whether the last text shows it; None before there was one, or where it was not among the entries.
        dropped_by: The name of the filter that left it out; "" where none is known to.
        floor: The least score that this filter lets through, where it has a parameter ``least``; else None.
    """

    format: Callable[[Any], Any]
    wanted: Wanted
    shown: bool | None = field(default=None, init=False)
    dropped_by: str = field(default="", init=False)
    floor: Any = field(default=None, init=False)

    def __call__(self, context: InjectionFormatContext) -> Any:
        """Return the other format's text."""
        text = self.format(replace(context, entries=list(context.entries)))
        self.shown, self.dropped_by, self.floor = None, "", None
        if isinstance(text, str) and any(map(self.wanted.is_entry, context.entries)):
            try:
                self._look(text, context)
            except Exception:  # it has given its text, and only fails when it is asked again
                self.shown = True
        return text

    @property
    def __name__(self) -> str:  # what the trace calls it
        return str(getattr(self.format, "__name__", type(self.format).__name__))

    def _look(self, text: str, context: InjectionFormatContext) -> None:
        entries: Sequence[MemoryEntry] = list(context.entries)
        for chosen in filters_of(self.format):
            entries = chosen(list(entries))
            if not any(map(self.wanted.is_entry, entries)):
                self.shown, self.dropped_by, self.floor = False, name_of(chosen), _floor_of(chosen)
                return
        rest = [entry for entry in context.entries if not self.wanted.is_entry(entry)]
        self.shown = bool(text.strip()) and self.format(replace(context, entries=rest)) != text


def filters_of(format: Any) -> tuple[Callable[[Any], Any], ...]:
    """Return the filters of a format that is made of them."""
    filters = getattr(format, "filters", ())
    return filters if isinstance(filters, tuple) and all(map(callable, filters)) else ()


def without_filter(format: Any, name: str) -> Any:
    """Return a format that is made of filters without those of a name."""
    left = [chosen for chosen in filters_of(format) if name_of(chosen) != name]
    return type(format)(format.format, *left) if left else format.format


def name_of(callback: Any) -> str:
    """Return what a filter is called; of a partial, what its function is."""
    function = getattr(callback, "func", callback)
    return str(getattr(function, "__name__", type(function).__name__))


def _floor_of(chosen: Callable[[Any], Any]) -> Any:
    """Return the ``least`` that a filter is called with; of a partial, what it was given, else the default."""
    import inspect

    parameter = inspect.signature(chosen).parameters.get("least")
    return None if parameter is None or parameter.default is parameter.empty else parameter.default
