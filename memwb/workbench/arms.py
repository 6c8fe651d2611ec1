"""Settings side by side: what each arm gives at the same model calls, and how it differs from the settings in force."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from ..callbacks.complete import IncompleteError
from ..datasets import Dataset
from ..errors import ConfigError
from ..evaluation import checked_cases
from ..evaluation._stores import stores_by_owner
from ..memory import InjectionTrace, Message, text
from ..memory.messages import model_calls
from ..memory.settings import Injection
from ..memory.types import RELEVANCE_SCORE, Placement
from ..tokens import TokenCounter
from .checks import check_stores, checked_call
from .code import build
from .preview import Question, Stores
from .sides import ComparedCall, Comparison, Outcome, Place, unknown_arm
from .source import open_source, read_messages

if TYPE_CHECKING:
    from .state import WorkbenchState

__all__ = ["NOW", "NO_MEMORY", "OTHER_PLACE", "Arms", "PinnedArm"]

NOW, NO_MEMORY, OTHER_PLACE = "now", "no memory", "now, other placement"
"""The arms that need no pin: the settings in force, the injection switched off, the block on the user's other side."""

_OWN = (NOW, NO_MEMORY, OTHER_PLACE)


@dataclass(frozen=True)
class PinnedArm:
    """Settings that were kept under a name.

    Attributes:
        name: The name.
        settings: The injection settings with their callbacks, None where injection was off.
        stores: What is searched, in order.
        own: Whether these were given when it was pinned; then cases do not search their owner's stores in it.
        sources: The callbacks of an opened snapshot, as text; they become functions of ``settings`` at the first
            comparison.
    """

    name: str
    settings: Injection | None
    stores: tuple[Any, ...]
    own: bool = False
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        limit = "injection off" if self.settings is None else f"max_entries {self.settings.max_entries}"
        return f"PinnedArm({self.name!r}: {limit}; {', '.join(store.name for store in self.stores)})"


class Arms:
    """The arms of a workbench.

    Args:
        bench: The workbench's state; comparing changes nothing in it.
        publish: Told when an arm comes or goes.
    """

    def __init__(self, bench: WorkbenchState, publish: Callable[[], None]) -> None:
        self._bench, self._publish = bench, publish
        self._pinned: dict[str, PinnedArm] = {}

    @property
    def pinned(self) -> dict[str, PinnedArm]:
        """The arms by name, in the order in which they were pinned first."""
        return dict(self._pinned)

    def pin(self, name: str, stores: Any = None) -> PinnedArm:
        """Keep the settings in force under a name; one that is there already is replaced.

        Args:
            name: The arm's name.
            stores: What this arm searches, in any form that a workbench opens, such as a snapshot's folder. Default:
                what the workbench searches now.

        Raises:
            ConfigError: The name is blank or one of the arms that need no pin, or the stores cannot be opened; nothing
                was changed.
        """
        if not isinstance(name, str) or not name.strip() or name in _OWN:
            raise ConfigError(
                f"Workbench: pin needs a name for the settings, such as 'two turns', not {name!r:.60}; "
                f"{', '.join(map(repr, _OWN))} need no pin.",
                key="name",
                value=name,
            )
        if stores is None:
            searched = self._bench.question().stores.stores
        else:
            opened = open_source(stores)
            check_stores(opened)
            searched = tuple(opened.stores)
        arm = self._pinned[name] = PinnedArm(name, self._bench.settings, searched, own=stores is not None)
        self._publish()
        return arm

    def restore(self, arms: Iterable[PinnedArm]) -> None:
        """Take over the arms of a snapshot."""
        self._pinned = {arm.name: arm for arm in arms}

    async def ready(self) -> list[PinnedArm]:
        """Return the pinned arms, with what a snapshot kept as text of their callbacks made into functions.

        Raises:
            ConfigError: A text does not run; its arm is named.
        """
        for name, arm in self.pinned.items():
            if not arm.sources or arm.settings is None:
                continue
            try:
                built = {key: await build(key, text, {}, self._bench.time_limit) for key, text in arm.sources.items()}
            except IncompleteError as error:
                raise ConfigError(
                    f"Workbench: a callback of the arm {name!r} does not run: {error}. Pin it anew, or "
                    f"`wb.unpin({name!r})`.",
                    key="name",
                    value=name,
                ) from error
            if self._pinned.get(name) is arm:
                self._pinned[name] = replace(arm, settings=replace(arm.settings, **built), sources={})  # type: ignore[arg-type]
        return list(self._pinned.values())

    def free_name(self) -> str:
        """Return a name that no arm has, for settings that are pinned without one."""
        return next(name for at in count(1) if (name := f"settings {at}") not in self._pinned)

    def unpin(self, name: str) -> None:
        """Forget an arm.

        Raises:
            ConfigError: There is none of this name.
        """
        if not isinstance(name, str) or name not in self._pinned:
            raise unknown_arm(name, tuple(self._pinned))
        del self._pinned[name]
        self._publish()

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
        """Run the settings in force and the arms over the same model calls; see ``Workbench.compare``."""
        bench = self._bench
        await bench.settled()
        asked = _asked(bench, calls, messages, cases, stores)
        arms = [PinnedArm(NOW, bench.settings, bench.question().stores.stores), *await self.ready()]
        if placements and bench.settings is not None:
            other: Placement = "prepend" if bench.settings.placement == "append" else "append"
            arms.append(PinnedArm(OTHER_PLACE, replace(bench.settings, placement=other), arms[0].stores))
        if no_memory:
            arms.append(PinnedArm(NO_MEMORY, None, arms[0].stores))
        compared = []
        for name, seen, searched in asked:
            here = [arm if searched is None or arm.own else replace(arm, stores=tuple(searched)) for arm in arms]
            compared.append(ComparedCall(name, tuple([await self._run(arm, seen) for arm in here])))
        return Comparison(tuple(arm.name for arm in arms), tuple(compared))

    async def _run(self, arm: PinnedArm, seen: Sequence[Message]) -> Outcome:
        bench = self._bench
        question = Question(
            Stores(arm.stores),
            list(seen),
            arm.settings,
            agent=bench.source.agent,
            state=bench.agent_state,
            placement=bench.source.placement if arm.name != OTHER_PLACE else None,
        )
        return _outcome(arm.name, await question.trace(bench.call_limited), bench.token_counter)


def _outcome(name: str, trace: InjectionTrace, counter: TokenCounter) -> Outcome:
    kept = trace.entries if trace.injected else ()
    places = []
    for rank, entry in enumerate(kept, 1):
        score = entry.metadata.get(RELEVANCE_SCORE) if isinstance(entry.metadata, dict) else None
        known = score if isinstance(score, int | float) else None
        places.append(Place(entry.store_name, entry.id, entry.content, rank, known))
    last = next((message for message in reversed(trace.messages) if message["role"] == "user"), None)
    return Outcome(
        name,
        tuple(places),
        (trace.text or "") if trace.injected else "",
        text(last) if last is not None else "",
        counter.count(trace.text or "") if trace.injected else 0,
        trace.seconds,
        trace.summary,
        counter,
        _failure(trace),
    )


def _failure(trace: InjectionTrace) -> str:
    if any(stage.status == "failed" for stage in trace.stages):
        return trace.summary
    return "; ".join(note.text for note in trace.notes if note.kind == "store failed")


def _asked(
    bench: WorkbenchState, calls: Any, messages: Any, cases: Any, stores: Any
) -> list[tuple[str, Sequence[Message], Sequence[Any] | None]]:
    """Return each model call that is compared: its name, the conversation before it, and stores of its own, if any."""
    if cases is None and stores is not None:
        raise ConfigError(
            "Workbench: compare takes stores for the owners of cases; those of an arm are given when it is pinned.",
            key="stores",
            value=stores,
        )
    if cases is not None:
        if messages is not None or calls != "open":
            raise ConfigError(
                "Workbench: compare takes cases, each at its own call, or messages and calls, not both.", key="cases"
            )
        checked = checked_cases(cases)
        own = stores_by_owner(cases, checked, stores) if stores is not None or isinstance(cases, Dataset) else {}
        return [(case.id, list(case.messages), own.get(case.owner)) for case in checked]
    if messages is None:
        return _calls_of("", bench.messages, calls, bench.call or 1)
    if (many := _many(messages)) is None:
        return _calls_of("", read_messages(messages), calls)
    asked: list[tuple[str, Sequence[Message], Sequence[Any] | None]] = []
    for name, given in many:
        try:
            asked += _calls_of(f"{name}, ", read_messages(given), calls)
        except ConfigError as error:
            raise ConfigError(f"{error} This is of {name}.", key=error.key, value=error.value) from error
    return asked


def _many(messages: Any) -> list[tuple[str, Any]] | None:
    """Return several conversations with their names; None where it is one, in whatever form."""
    if isinstance(messages, Mapping) and "role" not in messages and messages:
        return [(str(name), given) for name, given in messages.items()]
    if not isinstance(messages, list | tuple) or not messages:
        return None
    if not all(isinstance(each, list | os.PathLike) for each in messages):
        return None
    return [(f"conversation {at}", given) for at, given in enumerate(messages, 1)]


def _calls_of(
    name: str, given: Sequence[Message], calls: Any, opened: int = 0
) -> list[tuple[str, Sequence[Message], Sequence[Any] | None]]:
    """Return the calls of one conversation that are asked for; ``opened`` is the open one, 0 for the last."""
    ends = model_calls(given) or [len(given)]
    if calls == "all":
        chosen = list(range(1, len(ends) + 1))
    elif calls == "open":
        chosen = [opened or len(ends)]
    else:
        numbers = [calls] if isinstance(calls, int) else calls
        if isinstance(numbers, str) or not isinstance(numbers, Iterable):
            told = f"Workbench: calls is {calls!r:.60}; it must be 'open', 'all', or numbers of calls, such as [1, 2]."
            raise ConfigError(told, key="calls", value=calls, allowed=("open", "all"))
        chosen = [checked_call(call, given, ends) for call in numbers]
    return [(f"{name}call {call}", given[: ends[call - 1]], None) for call in chosen]
