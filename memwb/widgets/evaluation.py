"""The panel of an evaluation: settings by quality and tokens, and the cases that one wins and loses against another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..workbench.evaluation import EvaluationState
from .panel import Panel
from .panes.evaluation import evaluation_pane
from .view import TreeView

if TYPE_CHECKING:
    from ..evaluation import Case, Report
    from ..memory import InjectionTrace
    from ..workbench import WorkbenchState


class EvaluationPanel(Panel):
    """A report to look at: the settings with their intervals, quality against tokens, and two of them case by case.

    Args:
        bench: The workbench that cases are opened in.
        report: What ``memwb.evaluate`` returned.
        cases: See :meth:`memwb.Workbench.evaluation`.
        stores: The same.
        settings: The same.
    """

    def __init__(
        self,
        bench: WorkbenchState,
        report: Report,
        cases: Any = None,
        stores: Any = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._view = TreeView(self._act)
        super().__init__(EvaluationState(bench, report, cases, stores, settings), [self._view])
        self.add_class("memwb-evaluation")

    async def choose(self, **changes: str) -> None:
        """Change what is shown.

        Args:
            **changes: ``metric`` (such as ``"reached"`` or ``"recall@5"``), ``order`` of the settings (``"quality"``,
                ``"tokens"`` or ``"given"``), ``first`` and ``second`` (the settings that are compared), ``listed``
                (``"won"``, ``"lost"``, ``"tied"`` or ``"left out"``).

        Raises:
            ConfigError: An unknown name or value; nothing was changed.
        """
        self.state.choose(**changes)

    async def show(self, case: str, setting: str | None = None) -> InjectionTrace:
        """Open a case in the workbench under a setting, by default the first of the two, and return its trace.

        Raises:
            ConfigError: There is no such case or setting, or what is needed to open it was not given.
        """
        trace: InjectionTrace = await self.state.show(case, setting)
        return trace

    async def keep(self) -> Case:
        """Take the labels given in the workbench into the case that is open there, and return it; see :attr:`cases`.

        Raises:
            ConfigError: The workbench does not show a case that was opened here.
        """
        case: Case = await self.state.keep()
        return case

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases with the labels that were kept, for :func:`memwb.evaluation.save_cases` and the next evaluation."""
        cases: tuple[Case, ...] = self.state.cases
        return cases

    def _draw(self) -> None:
        self._view.show(evaluation_pane(self.state))

    async def _do_choose(self, message: dict[str, Any]) -> None:
        await self.choose(**{message["name"]: message["value"]})

    async def _do_show(self, message: dict[str, Any]) -> None:
        await self.show(message["case"], message["setting"])

    async def _do_keep(self, _message: dict[str, Any]) -> None:
        await self.keep()
