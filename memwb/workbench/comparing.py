"""The comparison of a workbench's arms as a screen: made when it is asked for, and said to be old after a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .closing import while_open
from .screen import ScreenState

if TYPE_CHECKING:
    from .arms import PinnedArm
    from .sides import Comparison
    from .state import WorkbenchState


class ComparingState(ScreenState):
    """What the comparison's panel shows.

    Args:
        bench: The workbench's state; nothing in it is changed but its arms.

    Attributes:
        comparison: The newest comparison, None before the first.
        calls: What it is made over: ``"open"`` or ``"all"``.
    """

    def __init__(self, bench: WorkbenchState) -> None:
        super().__init__()
        self.bench = bench
        self.comparison: Comparison | None = None
        self.calls = "open"
        self._made_of: Any = None
        self._undo = bench.subscribe(self._publish)

    @property
    def old(self) -> bool:
        """Whether settings, conversation or arms have changed since the comparison was made."""
        return self.comparison is not None and self._made_of != self._now()

    @while_open
    async def compare(self, calls: str = "open") -> Comparison:
        """Compare the arms at the open call or at all calls, and return the comparison.

        Raises:
            ConfigError: There is no such call.
        """
        await self.bench.settled()
        made_of = self._now()
        found = await self.bench.arms.compare(calls, placements=True)
        self.comparison, self.calls, self._made_of, self.refused = found, calls, made_of, ""
        self.revision += 1
        self._publish()
        return found

    @while_open
    async def pin(self, name: str) -> PinnedArm:
        """Keep the settings in force under a name, and return the arm.

        Raises:
            ConfigError: The name is blank or taken.
        """
        await self.bench.settled()  # what is typed in an editor is part of them
        arm = self.bench.arms.pin(name.strip())
        self.refused = ""
        self._publish()
        return arm

    @while_open
    async def unpin(self, name: str) -> None:
        """Forget an arm; ConfigError where there is none of this name."""
        self.bench.arms.unpin(name)
        self.refused = ""
        self._publish()

    def close(self) -> None:
        """End what runs; the workbench goes on."""
        self._undo()
        super().close()

    def _now(self) -> Any:
        bench = self.bench
        return (bench.revision, bench.call, tuple(bench.arms.pinned.values()))

    def __repr__(self) -> str:
        return repr(self.comparison) if self.comparison is not None else "Comparison(nothing was compared yet)"
