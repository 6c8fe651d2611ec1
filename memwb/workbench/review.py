"""The callbacks under review: what is doubtful about them, and the format on hostile entries."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .. import callbacks
from ..memory.types import InjectionQueryContext
from .editor import NAMES
from .limit import Budget
from .lint import TOKEN_BUDGET, Finding, Findings, findings
from .probe import Probe, probe

if TYPE_CHECKING:
    from .state import WorkbenchState


class Review:
    """What is doubtful about a workbench's callbacks.

    Attributes:
        token_budget: Tokens of a block above which :meth:`lint` speaks.
    """

    def __init__(self, state: WorkbenchState, publish: Callable[[], None]) -> None:
        self._state, self._publish = state, publish
        self._probed: tuple[Any, Probe | None] = (None, None)
        self._found: dict[str, tuple[Any, tuple[Finding, ...]]] = {}  # by callback: what was looked at, what was found
        self.token_budget = TOKEN_BUDGET

    def findings(self, name: str) -> tuple[Finding, ...]:
        """Return what is doubtful about one callback, as far as its text and the present preview show it.

        Nothing is run for it.
        """
        state = self._state
        fresh = state.preview is not None and not state.pending and not state.failure
        trace = state.preview.trace if fresh and state.preview else None
        slot = state.slots[name]
        key = (slot.source, slot.function, slot.ahead, slot.problem, slot.differed, trace, self.token_budget)
        if name not in self._found or self._found[name][0] != key:  # a page asks at every drawing
            self._found[name] = key, findings(slot, trace, state.seen, self.token_budget)
        return self._found[name][1]

    async def lint(self) -> Findings:
        """Return what is doubtful about all callbacks when the preview shows the settings as they stand."""
        await self._state.settled()
        return Findings(one for name in NAMES for one in self.findings(name))

    async def probe(self) -> Probe:
        """Render hostile entries with the format in force, and return what got out of its place.

        The format runs once for each of them and four times on harmless ones, all within the time limit of one
        callback; before each the query, which may keep something for it, on a conversation that says "Hello.". The
        preview stays as it is.
        """
        await self._state.settled()
        function, query = self._format, self._state.slots["query"].function

        def called(context: Any) -> Any:
            """Call the format as a model call does, where the query may keep something for it."""
            if query is not None:
                with suppress(Exception):  # what the query makes of these words does not matter here
                    query(InjectionQueryContext([{"role": "user", "content": [{"text": "Hello."}]}]))
            return function(context)

        found = await probe(called, Budget(self._state.time_limit).limited)
        self._probed = function, found
        self._publish()
        return found

    @property
    def probed(self) -> Probe | None:
        """What :meth:`probe` found out about the format in force, None where it was not asked."""
        function, found = self._probed
        return found if function is self._format else None

    @property
    def _format(self) -> Any:
        return self._state.slots["format"].function or callbacks.default_block
