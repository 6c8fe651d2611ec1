"""The comparison of a workbench: settings are pinned, and set side by side with those in force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..workbench.comparing import ComparingState
from .panel import Panel
from .panes.comparison import comparison_pane
from .view import TreeView

if TYPE_CHECKING:
    from ..workbench import WorkbenchState
    from ..workbench.arms import PinnedArm
    from ..workbench.sides import Comparison


class ComparisonPanel(Panel):
    """Arms side by side at the open call or at all calls: the settings in force, what is pinned, and no memory.

    Args:
        bench: The workbench's state.
    """

    def __init__(self, bench: WorkbenchState) -> None:
        self._view = TreeView(self._act)
        super().__init__(ComparingState(bench), [self._view])

    @property
    def comparison(self) -> Comparison | None:
        """The newest comparison as data; None before the first."""
        found: Comparison | None = self.state.comparison
        return found

    async def compare(self, calls: str = "open") -> Comparison:
        """Compare the arms at the open call (``"open"``) or at all calls (``"all"``), and return the comparison."""
        found: Comparison = await self.state.compare(calls)
        return found

    async def pin(self, name: str) -> PinnedArm:
        """Keep the settings in force under a name; ConfigError where it is blank or taken."""
        arm: PinnedArm = await self.state.pin(name)
        return arm

    async def unpin(self, name: str) -> None:
        """Forget an arm; ConfigError where there is none of this name."""
        await self.state.unpin(name)

    def _draw(self) -> None:
        self._view.show(comparison_pane(self.state))

    async def _do_pin(self, message: dict[str, Any]) -> None:
        typed = message["value"] if "value" in message else message.get("values", {}).get("name", "")
        await self.pin(str(typed))

    async def _do_unpin(self, message: dict[str, Any]) -> None:
        await self.unpin(message["name"])

    async def _do_compare(self, message: dict[str, Any]) -> None:
        await self.compare(message["calls"])
