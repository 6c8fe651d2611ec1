"""What a workbench keeps: settings to compare with those in force, and its still for pages without a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._options import options
from ..workbench.still import Still, still

if TYPE_CHECKING:
    from ..workbench.arms import PinnedArm
    from ..workbench.sides import Comparison
    from ..workbench.state import WorkbenchState
    from .comparison import ComparisonPanel


class Keeping:
    """The part of :class:`memwb.Workbench` that keeps settings and sets them side by side."""

    state: WorkbenchState

    def pin(self, name: str, stores: Any = None) -> PinnedArm:
        """Keep the settings in force, with their callbacks and stores, under a name for :meth:`compare`.

        Pinned again under this name they take the place of those before.

        Args:
            name: Such as ``"two turns"``.
            stores: What this arm searches, in any form that a workbench opens, such as the folder of a snapshot of an
                earlier day. Default: what the workbench searches now.

        Raises:
            ConfigError: The name is blank or taken, or the stores cannot be opened; nothing was changed.
        """
        return self.state.arms.pin(name, stores)

    def unpin(self, name: str) -> None:
        """Forget settings that were kept; ConfigError where there are none of this name."""
        self.state.arms.unpin(name)

    @property
    def arms(self) -> dict[str, PinnedArm]:
        """The settings that were kept, by name."""
        return self.state.arms.pinned

    async def compare(
        self,
        calls: str | int | Sequence[int] = "open",
        *,
        messages: Any = None,
        cases: Any = None,
        stores: Any = None,
        no_memory: bool = True,
        placements: bool = False,
    ) -> Comparison:
        """Run the settings in force and all pinned ones over the same model calls, and return how they differ.

        The conversation, the state and the settings in force stay as they are. Callbacks run as they do for a preview.

        Args:
            calls: ``"open"``, ``"all"``, or numbers of calls, from 1.
            messages: Another conversation, in any form that a workbench takes, or several: a dict of conversations by
                name, or a list of lists of messages or of Paths. ``"open"`` is then the last call of each.
            cases: Labelled cases, or a data set, in place of a conversation, each at its own call.
            stores: For cases: what is searched for each owner, as ``memwb.evaluate`` takes it. Default: a data set's
                own stores, for other cases those of each arm.
            no_memory: Whether an arm with the injection switched off is added.
            placements: Whether an arm is added that puts the block on the other side of the user's words.

        Returns:
            A frozen comparison: ``.calls``, ``.differences(arm)``, ``.totals(arm)``, ``.to_frame()``; a table in a
            cell. It is ``empty`` where no arm differs. An entry moves when its place in the block changes.

        Raises:
            ConfigError: There is no such call, a case is none or its owner has no stores, or cases are given together
                with a conversation.
        """
        return await self.state.arms.compare(
            calls, messages=messages, cases=cases, stores=stores, no_memory=no_memory, placements=placements
        )

    async def label(self, entry: Any, expected: bool = True) -> tuple[str, ...]:
        """Mark an entry as one that the open call should bring, or as none; return what it should bring now.

        :meth:`case` takes these labels over, and the verdict is about them. They belong to this call alone: labelling
        at another call begins anew, so keep each call that is done as a case.

        Args:
            entry: A hit, an entry, a record, or its id or whole text.
            expected: Whether it should arrive.

        Raises:
            ConfigError: It is no entry, id or text; nothing was changed.
        """
        from ..workbench.cases import label

        await self.state.settled()
        wanted = label(self.state, entry, expected)
        await self.state.settled()
        return wanted

    def comparison(self) -> ComparisonPanel:
        """Return a panel that pins settings and sets them side by side; ``await`` shows it finished."""
        from .comparison import ComparisonPanel

        return ComparisonPanel(self.state)

    def still(self) -> Still:
        """Return the settled screen as a page without scripts: it shows itself in a cell, and ``save(path)`` writes it.

        Raises:
            StaleTraceError: A change waits for its refresh: ``await wb`` first.
        """
        return still(self.state)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Add the still to the widget's view, for pages that have no kernel to ask."""
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        state = self.state
        if bundle and options().stills and state.preview is not None and not state.pending and not state.failure:
            bundle["text/html"] = still(state).html
        return bundle
