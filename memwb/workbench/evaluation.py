"""The screen of an evaluation: which settings are better, in which cases, and why: a case opens in the workbench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ..datasets import Case, Dataset
from ..errors import ConfigError, nearest
from ..evaluation import Arm, CaseResult, Comparison, Interval, Report, checked_cases
from ..evaluation._prompt import in_prompt
from ..evaluation._stores import stores_by_owner
from ..evaluation.arms import ALL
from ..evaluation.front import by_tokens, grouped
from ..memory.messages import copied
from .closing import while_open
from .screen import ScreenState

if TYPE_CHECKING:
    from ..memory import InjectionTrace
    from .state import WorkbenchState

__all__ = ["LISTS", "ORDERS", "ComparedCase", "EvaluationState", "Standing"]

ORDERS = ("quality", "tokens", "given")
"""What the settings can be sorted by: the best first, the cheapest first, or as the report has them."""

LISTS = ("won", "lost", "tied", "left out")
"""Which cases of two settings can be listed, seen from the first one."""

List = Literal["won", "lost", "tied", "left out"]


@dataclass(frozen=True)
class Standing:
    """One setting on the leaderboard.

    Attributes:
        name: Its name.
        number: Its number in the plot, the cheapest is 1; None where a figure is missing.
        quality: The metric's mean with its interval, None without a case.
        tokens: Mean size of the block.
        failed: Cases that failed.
        draws: Runs a case; more than one where it is drawn by lot.
        on_front: Whether no other setting has as much for fewer tokens, or more for as many.
        differs: What it has otherwise than the report's first setting, as ``"max_entries 3"``.
    """

    name: str
    number: int | None
    quality: Interval | None
    tokens: float | None
    failed: int
    draws: int
    on_front: bool
    differs: tuple[str, ...]


@dataclass(frozen=True)
class ComparedCase:
    """One case under the two settings that are compared."""

    first: CaseResult
    second: CaseResult


class EvaluationState(ScreenState):
    """What the panel of an evaluation shows.

    Args:
        bench: The workbench in which cases are opened.
        report: What ``memwb.evaluate`` returned.
        cases: The cases that it was given; needed to open one.
        stores: What was searched, as ``evaluate`` takes it. Default: the data set's own stores, where ``cases`` is one,
            else those of the workbench.
        settings: The settings that it was given; needed to open a case.

    Attributes:
        metric: The figure that is shown.
        order: What the settings are sorted by.
        first: The setting whose wins and losses are shown.
        second: The setting that it is compared with.
        listed: Which cases are listed.
        opened: The case and setting that are open in the workbench; None before the first.
        told: What became of the case that was opened last.

    Raises:
        ConfigError: It is no report, or cases, stores or settings have the wrong form.
    """

    def __init__(
        self,
        bench: WorkbenchState,
        report: Report,
        cases: Any = None,
        stores: Any = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(report, Report):
            raise ConfigError(
                f"Evaluation: {report!r:.80} is no report; give what `await memwb.evaluate(cases, settings)` returned, "
                "or Report.from_jsonl(path).",
                key="report",
                value=report,
            )
        super().__init__()
        self.bench, self.report = bench, report
        checked = () if cases is None else checked_cases(cases)
        self._cases: dict[str, Case] = {case.id: case for case in checked}
        self._given = cases
        self._stores = cases.store if stores is None and isinstance(cases, Dataset) else stores
        self._settings: dict[str, Any] = dict(settings or {})
        self._own = list(bench.source.stores)
        self._searched: dict[Any, list[Any]] = {}
        self._compared: dict[tuple[str, str, str], Comparison] = {}
        self._grouped: dict[tuple[str, str], dict[str, tuple[int, dict[str, float | None]]]] = {}
        self.metric, self.order, self.listed = "reached", "quality", "lost"
        names = list(report)
        self.first, self.second = (names[1], names[0]) if len(names) > 1 else (names[0], names[0])
        self.opened: tuple[str, str] | None = None
        self.told = ""
        self._marked: tuple[str, ...] | None = None  # the labels as they were shown last
        self._undo = bench.subscribe(self._bench_changed)

    # -- reading ------------------------------------------------------------------------------------------------

    @property
    def standings(self) -> tuple[Standing, ...]:
        """The settings in the order that was chosen."""
        report, metric = self.report, self.metric
        numbers = {name: at for at, name in enumerate(by_tokens(report, metric), 1)}
        front = report.pareto(metric)
        rows = [
            Standing(
                name,
                numbers.get(name),
                report.interval(name, metric),
                report[name].tokens,
                report[name].failed,
                report.draws[name],
                name in front,
                self._differs(name),
            )
            for name in report
        ]
        if self.order == "quality":
            rows.sort(key=lambda row: (row.quality is None, -(row.quality.mean if row.quality else 0)))
        elif self.order == "tokens":
            rows.sort(key=lambda row: (row.tokens is None, row.tokens or 0))
        return tuple(rows)

    @property
    def comparison(self) -> Comparison:
        """The first setting against the second one by the metric."""
        key = self.first, self.second, self.metric
        if key not in self._compared:
            self._compared[key] = self.report.compare(*key)
        return self._compared[key]

    @property
    def shown(self) -> tuple[ComparedCase, ...]:
        """The cases that are listed, in the report's order."""
        first = {result.case: result for result in self.report.of(self.first)}
        second = {result.case: result for result in self.report.of(self.second)}
        return tuple(ComparedCase(first[id], second[id]) for id in self.ids(self.listed))

    def ids(self, listed: str) -> tuple[str, ...]:
        """Return the ids of the cases of a list, see :data:`LISTS`."""
        found = self.comparison
        return {"won": found.wins, "lost": found.losses, "tied": found.ties, "left out": found.left_out}[listed]

    def grouped(self, by: Literal["category", "owner"]) -> dict[str, tuple[int, dict[str, float | None]]]:
        """Return, for each category or owner, its cases that need memory, and each setting's mean of the metric."""
        key = self.metric, by
        if key not in self._grouped:
            self._grouped[key] = grouped(self.report, *key)
        return self._grouped[key]

    @property
    def lacking(self) -> tuple[str, ...]:
        """What has to be given before a case can be opened: of ``cases`` and ``settings`` those that are missing."""
        given = {"cases": self._cases, "settings": self._settings}
        return tuple(name for name, value in given.items() if not value)

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases that were given, with the labels that :meth:`keep` took over since."""
        return tuple(self._cases.values())

    @property
    def relabelled(self) -> tuple[str, ...] | None:
        """What the open case should bring by labels that the workbench has got since; None where none has changed."""
        case = self._in_workbench()
        if case is None or set(self.bench.expected) == set(case.expected):
            return None
        return self.bench.expected

    # -- changing -----------------------------------------------------------------------------------------------

    def choose(self, **changes: str) -> None:
        """Change ``metric``, ``order``, ``first``, ``second`` or ``listed``.

        Raises:
            ConfigError: An unknown name or value; nothing was changed.
        """
        allowed: dict[str, Sequence[str]] = {
            "metric": self.report.metrics,
            "order": ORDERS,
            "first": tuple(self.report),
            "second": tuple(self.report),
            "listed": LISTS,
        }
        changes = {name: "rr" if name == "metric" and value == "mrr" else value for name, value in changes.items()}
        for name, value in changes.items():
            if name not in allowed:
                raise ConfigError(
                    f"Evaluation: {name!r} cannot be chosen; {', '.join(allowed)} can.{nearest(name, allowed)}",
                    key=name,
                    value=value,
                    allowed=tuple(allowed),
                )
            if value not in allowed[name]:
                raise ConfigError(
                    f"Evaluation: {name} is {value!r:.80}; it must be one of {', '.join(map(repr, allowed[name]))}."
                    f"{nearest(str(value), allowed[name])}",
                    key=name,
                    value=value,
                    allowed=tuple(allowed[name]),
                )
        for name, value in changes.items():
            setattr(self, name, value)
        self.refused = ""
        self.revision += 1
        self._publish()

    @while_open
    async def show(self, case: str, setting: str | None = None) -> InjectionTrace:
        """Open a case in the workbench: its conversation, its owner's stores, a setting, and what it expects.

        Args:
            case: The case's id.
            setting: Default: the first of the two that are compared.

        Returns:
            The trace of the case. :attr:`told` says whether it is as in the report.

        Raises:
            ConfigError: There is no such case or setting, or what is needed to open it was not given.
        """
        setting = self.first if setting is None else setting
        opened, arm = self._case(case), self._arm(setting)
        stores = [arm.draws[0](store) for store in self._stores_of(opened, arm)]
        bench = self.bench
        if list(map(id, stores)) != list(map(id, bench.source.stores)):  # else what is staged there stays
            bench.switch(stores)
        bench.put(messages=copied(opened.messages), injection=arm.injection, tokenizer=None, stores=None)
        bench.return_to(replace(bench.moment(), expected=tuple(opened.expected), expected_at=bench.call))
        bench.look_for("", pause=0.0)
        await bench.settled()
        self.opened, self.refused = (case, setting), ""
        self.told = self._as_reported(opened, setting, bench.trace)
        self.revision += 1
        self._publish()
        return bench.trace

    @while_open
    async def keep(self) -> Case:
        """Take what the workbench expects now into the open case, see :attr:`cases`, and return it.

        The report's figures stay those of the labels before, until the cases are evaluated again.

        Raises:
            ConfigError: The workbench does not show a case that was opened here.
        """
        await self.bench.settled()
        case = self._in_workbench()
        if case is None:
            raise ConfigError(
                "Evaluation: the workbench shows no case that was opened here, so there are no labels to keep. Open "
                'one: `await panel.show("its id")`. A call of another conversation is kept by `wb.case(id)`.',
                key="case",
            )
        if self.relabelled is not None:
            case = Case(case.id, case.messages, self.bench.expected, case.owner, case.category)
            self._cases[case.id] = case
            self.told = f"Labels of {case.id!r:.80} kept: evaluate panel.cases again for their figures."
        self.refused = ""
        self._marked = None
        self.revision += 1
        self._publish()
        return case

    def close(self) -> None:
        """End what runs; the workbench goes on."""
        self._undo()
        super().close()

    # -- inside -------------------------------------------------------------------------------------------------

    def _in_workbench(self) -> Case | None:
        """Return the case that was opened last, where the workbench still shows its call."""
        case = self._cases.get(self.opened[0]) if self.opened is not None else None
        return case if case is not None and list(self.bench.seen) == list(case.messages) else None

    def _bench_changed(self) -> None:
        if self.opened is not None and self._marked != (marked := self.relabelled):
            self._marked = marked
            self._publish()

    def _case(self, id: str) -> Case:
        if self.lacking:
            needed = " and ".join(f"{name}={name}" for name in self.lacking)
            raise ConfigError(
                f"Evaluation: a report holds neither cases nor settings. To open one here, give {needed} as "
                f"evaluate had them: `wb.evaluation(report, cases=cases, settings=settings)`.",
                key=self.lacking[0],
            )
        if id not in self._cases:
            raise ConfigError(
                f"Evaluation: there is no case {id!r:.80} among the cases given.{nearest(str(id), self._cases)}",
                key="case",
                value=id,
            )
        return self._cases[id]

    def _arm(self, setting: str) -> Arm:
        if setting not in self._settings:
            raise ConfigError(
                f"Evaluation: there is no setting {setting!r:.80} among the settings given; they are "
                f"{', '.join(map(repr, self._settings))}.{nearest(str(setting), self._settings)}",
                key="setting",
                value=setting,
                allowed=tuple(self._settings),
            )
        given = self._settings[setting]
        return given if isinstance(given, Arm) else Arm(given)

    def _stores_of(self, case: Case, arm: Arm) -> list[Any]:
        """Return what an arm searches for a case: where nothing was given, what the workbench had when this began."""
        given = self._stores if arm.over is None else arm.over
        if given is None:
            return self._own
        key = id(given), case.owner
        if key not in self._searched:
            self._searched[key] = stores_by_owner(self._given, [case], given)[case.owner]
        return self._searched[key]

    def _as_reported(self, case: Case, setting: str, trace: InjectionTrace) -> str:
        """Say whether the trace shows what the report has."""
        found = next((each for each in self.report.of(setting) if each.case == case.id), None)
        if found is None:
            return "The report has no such case."
        if self.report.draws[setting] > 1:
            return f"This is the first of {self.report.draws[setting]} draws; the report has their mean."
        if found.error is not None:
            return f"In the report this case failed: {found.error}"
        reached = in_prompt(trace)
        here = {each.id for each in reached} | {each.content.strip() for each in reached}
        missed = tuple(each for each in case.expected if each.strip() not in here)
        if found.figures.get("entries") == len(reached) and found.missed == missed:
            return ""
        return (
            f"This is not what the report has: {found.figures.get('entries'):.0f} entries, of the expected ones "
            f"{len(found.missed):,} missing. Stores, settings or the code were others when it was made."
        )

    def _differs(self, name: str) -> tuple[str, ...]:
        settings = self.report.settings
        base = settings.get(next(iter(self.report)), {})
        changed = {key: value for key, value in settings.get(name, {}).items() if base.get(key, _MISSING) != value}
        return tuple(f"{key} {_spoken(value, base.get(key))}" for key, value in changed.items())

    def __repr__(self) -> str:
        return f"Evaluation({self.comparison!r})"


_MISSING = object()


def _spoken(value: Any, other: Any) -> str:
    """Return a setting's value for a table: functions without the hash of their source, where their names differ."""
    if isinstance(value, list):
        return f"in {len(value):,} draws"
    if value == ALL:
        return "all"
    name = str(value).rpartition("@")[0]
    return name if name and name != str(other).rpartition("@")[0] else str(value)
