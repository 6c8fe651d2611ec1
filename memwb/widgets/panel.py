"""What the panels beside the workbench share: one screen over one headless state."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any, Self

import ipywidgets

if TYPE_CHECKING:
    from ..workbench.screen import ScreenState


class Panel(ipywidgets.VBox):
    """One screen: draws what its state says, and has its state do what the page asks for.

    A subclass draws in :meth:`_draw`, and answers the message ``{"do": "name", ...}`` of an element of its page in a
    method ``_do_name(message)``, async or not. ``await panel`` settles and returns it: a cell shows it finished.

    Args:
        state: What the panel shows; it is closed with the panel.
        children: The widgets of the screen.
    """

    _closed = True  # until it is made: ipywidgets closes a widget whose __init__ failed, too

    def __init__(self, state: ScreenState, children: Sequence[ipywidgets.Widget]) -> None:
        self.state: Any = state
        super().__init__(list(children))
        self._closed = False
        self.add_class("memwb-bench")
        self.add_class("memwb-panel")
        self._detach = state.subscribe(self._draw)
        self._draw()

    def __await__(self) -> Generator[Any, None, Self]:
        yield from self.state.settled().__await__()
        return self

    def __repr__(self) -> str:
        return repr(self.state)

    def close(self) -> None:
        """Close the widget and everything that it made."""
        if not self._closed:
            self._closed = True
            self._detach()
            self.state.close()
            close_inside(self)
        super().close()

    def _draw(self) -> None:
        raise NotImplementedError

    def _act(self, message: dict[str, Any]) -> None:
        """Do what an element of the page asks for; an unknown message does nothing."""
        action = getattr(self, f"_do_{message['do']}", None)
        if action is not None:
            self.state.spawn(as_coroutine(action, message))


def as_coroutine(
    action: Callable[[dict[str, Any]], Any], message: dict[str, Any]
) -> Callable[[], Coroutine[Any, Any, None]]:
    """Return what runs an action, whether that is async or not."""

    async def run() -> None:
        result = action(message)
        if result is not None:
            await result

    return run


def close_inside(widget: ipywidgets.Widget) -> None:
    """Close the children with their layouts and styles: ipywidgets keeps each alive until it is closed."""
    for child in getattr(widget, "children", ()):
        close_inside(child)
        child.close()
    for name in ("layout", "style"):
        part = getattr(widget, name, None)
        if isinstance(part, ipywidgets.Widget):
            part.close()
