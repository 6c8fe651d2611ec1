"""The panels that a workbench opens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .keeping import Keeping

if TYPE_CHECKING:
    from ..evaluation import Report
    from ..workbench.state import WorkbenchState
    from .evaluation import EvaluationPanel
    from .extraction import ExtractionPanel
    from .sessions import SessionsPanel
    from .timeline import TimelinePanel
    from .tools import ToolsPanel


class Panels(Keeping):
    """The part of :class:`memwb.Workbench` that opens further panels: each is made by a call and shown by a cell."""

    state: WorkbenchState

    def timeline(self) -> TimelinePanel:
        """Return a panel of every model call of the conversation under the settings as they stand."""
        from .timeline import TimelinePanel

        return TimelinePanel(self.state)

    def extraction(self, messages: Any = None, model: Any = None, **settings: Any) -> ExtractionPanel:
        """Return a panel in which the conversation goes through the stores' extraction, step by step.

        Writes go to copies of the stores in memory unless ``write_to="stores"`` asks for the stores themselves.

        Args:
            messages: Another conversation; default the workbench's own.
            model: Asked for the facts; default the agent's, where the source is one, else a rule that needs no key.
            **settings: See :class:`memwb.widgets.extraction.ExtractionPanel`.
        """
        from .extraction import ExtractionPanel

        return ExtractionPanel(self.state, messages, model, **settings)

    def sessions(self, store: Any = None, model: Any = None, **settings: Any) -> SessionsPanel:
        """Return a panel of agents' sessions: find one, read it, see what a model gets of it, preview its summary.

        Args:
            store: A store of sessions, or a Memory; default the one that the workbench was opened on.
            model: Asked for summaries; default the Memory's, where the source is one.
            **settings: See :class:`memwb.widgets.sessions.SessionsPanel`.

        Raises:
            ConfigError: The workbench was opened on something else, and no store is given.
        """
        from .sessions import SessionsPanel

        store = self.state.source.sessions if store is None else store
        if store is None:
            raise ConfigError(
                "Workbench: this source has no sessions. Open a database or a folder of them, or give the store: "
                "`wb.sessions(store)`.",
                key="store",
            )
        return SessionsPanel(store, model, self.state, **settings)

    def evaluation(
        self, report: Report, cases: Any = None, stores: Any = None, settings: Mapping[str, Any] | None = None
    ) -> EvaluationPanel:
        """Return a panel of a report: which settings are better, by how much, and which cases each wins and loses.

        A case that is chosen there is opened here, under the setting that it is looked at with.

        Args:
            report: What ``await memwb.evaluate(cases, settings, stores)`` returned.
            cases: The cases that it was given. They and the settings are needed to open a case; a report has neither.
            stores: What was searched, as ``evaluate`` takes it. Default: the data set's own stores, where ``cases`` is
                one, else what is open here.
            settings: The settings that it was given.

        Raises:
            ConfigError: It is no report, or a case has the wrong form.
        """
        from .evaluation import EvaluationPanel

        return EvaluationPanel(self.state, report, cases, stores, settings)

    def tools(self) -> ToolsPanel:
        """Return a panel of the memory tools: as the model sees them, called by hand, tried without writing."""
        from .tools import ToolsPanel

        return ToolsPanel(self.state)
