"""The two triggers that come with memory extraction."""

from __future__ import annotations

from ..events import AfterInvocation
from ..settings import at_least_one
from .types import ExtractionTrigger, ExtractionTriggerContext

HOOK_ORDER = 100
"""Where the triggers stand among an agent's hooks: after the host's own, so that they see the settled turn."""


class InvocationTrigger(ExtractionTrigger):
    """Extracts after every invocation of the agent."""

    name = "invocation"

    def attach(self, context: ExtractionTriggerContext) -> None:
        """Fire at the end of each invocation."""
        context.agent.add_hook(lambda event: context.fire(), AfterInvocation, order=HOOK_ORDER)

    def __repr__(self) -> str:
        return "InvocationTrigger()"


class IntervalTrigger(ExtractionTrigger):
    """Extracts after every ``turns`` invocations; each attachment counts for itself.

    Args:
        turns: A whole number, at least 1.

    Raises:
        ConfigError: Any other ``turns``, True and False included.
    """

    name = "interval"

    def __init__(self, turns: int) -> None:
        self.turns = at_least_one(turns, "IntervalTrigger: turns", "turns")

    def attach(self, context: ExtractionTriggerContext) -> None:
        """Fire at the end of every ``turns``-th invocation after this attachment."""
        seen = 0

        def count(event: object) -> None:
            nonlocal seen
            seen += 1
            if seen % self.turns == 0:
                context.fire()

        context.agent.add_hook(count, AfterInvocation, order=HOOK_ORDER)

    def __repr__(self) -> str:
        return f"IntervalTrigger({self.turns})"
