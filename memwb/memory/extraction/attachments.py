"""A manager's extraction: one coordinator for each of its agents, one log for all of them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import MemwbError
from ..types import Message
from .batches import ExtractionStatus
from .coordinator import Coordinator, check_takes_hooks
from .folds import Folds
from .log import ExtractionLog
from .resolve import Extraction
from .saving import Review
from .types import ExtractionResult


class Attachments:
    """The agents that a manager was given to, as far as their messages are extracted.

    An agent keeps its coordinator alive by its hooks. The manager does so only while messages wait, so that a manager
    may outlive any number of agents.

    Args:
        stores: The stores that extract, in their order, with their settings.
        log: Where events go.
        review: Gives the manager's ``review`` as it is at the moment.
    """

    def __init__(
        self, stores: Sequence[tuple[Any, Extraction]], log: ExtractionLog, review: Callable[[], Review | None]
    ) -> None:
        self._stores, self._log, self._review = stores, log, review
        self._folds = Folds()
        self._all: weakref.WeakValueDictionary[int, Coordinator] = weakref.WeakValueDictionary()
        self._owing: dict[int, Coordinator] = {}
        self._count = 0
        self._lock = threading.Lock()  # agents come, and are flushed, in threads of their own

    @property
    def settings(self) -> dict[str, Extraction]:
        """The settings of the stores that extract, by name."""
        return {store.name: settings for store, settings in self._stores}

    def attach(self, agent: Any) -> None:
        """Begin to extract from an agent's messages; a second time for the same agent changes nothing.

        Raises:
            ConfigError: The agent takes no hooks.
        """
        check_takes_hooks(agent, self.settings)
        model = self._default_model(agent)
        with self._lock:
            if any(coordinator.serves(agent) for coordinator in self._living()):
                return
            self._count += 1
            coordinator = Coordinator(
                agent, self._count, self._stores, self._log, self._folds, model, self._review, self._changed
            )
            self._all[coordinator.number] = coordinator
        coordinator.attach(agent)

    def remember(self, messages: Sequence[Message], folded: Sequence[Message]) -> None:
        """Note what was injected, so that it is not extracted."""
        self._folds.remember(messages, folded)

    def status(self) -> list[ExtractionStatus]:
        """Return how far each store has come with each agent's messages."""
        return [status for coordinator in self._coordinators() for status in coordinator.status()]

    def begin_flush(self, agent: Any = None) -> list[Coordinator]:
        """Ask for a save of everything that is left of all agents, or of one; return whom it was asked of.

        Raises:
            MemwbError: Called inside one of the saves.
        """
        coordinators = self._waited_for("flush", agent)
        for coordinator in coordinators:
            coordinator.begin_flush()
        return coordinators

    def end_flush(self, coordinators: Sequence[Coordinator]) -> None:
        """Tell what a flush has left."""
        for coordinator in coordinators:
            coordinator.end_flush()

    def busy(self, agent: Any = None) -> bool:
        """Whether a save is under way, of any agent or of one."""
        return any(coordinator.busy for coordinator in self._coordinators(agent))

    async def idle(self, agent: Any = None) -> None:
        """Wait for the saves that are under way, of all agents or of one, and for those that begin meanwhile.

        Raises:
            MemwbError: Called inside one of the saves.
        """
        for coordinator in self._waited_for("wait_for_saves", agent):
            await coordinator.idle()

    def cut_off(self) -> None:
        """Cancel the saves that are under way."""
        for coordinator in self._coordinators():
            coordinator.cut_off()

    async def retry_unreadable(self) -> int:
        """Extract the messages of unreadable answers again; return how many answers are still unreadable.

        Raises:
            MemwbError: Called inside a save.
        """
        for coordinator in self._waited_for("retry_unreadable"):
            coordinator.begin_retry()
        await self.idle()
        return len(self._log.unreadable)

    async def retry_unwritten(self) -> None:
        """Try the facts again that are known and not written."""
        for coordinator in self._waited_for("retry_unwritten"):
            coordinator.begin_unwritten()
        await self.idle()

    def change_unwritten(self, store: str, content: str, to: ExtractionResult | None) -> bool:
        """Change a fact whose write failed; return whether there was one."""
        return any(coordinator.change_unwritten(store, content, to) for coordinator in self._coordinators())

    def _coordinators(self, agent: Any = None) -> list[Coordinator]:
        with self._lock:
            return [one for one in self._living() if agent is None or one.serves(agent)]

    def _waited_for(self, call: str, agent: Any = None) -> list[Coordinator]:
        coordinators = self._coordinators(agent)
        if any(coordinator.called_by_itself for coordinator in coordinators):
            raise MemwbError(
                f"MemoryManager: {call}() was called inside a save, by its review, its extractor or its store: the "
                "save would wait for itself. Return first, and call it afterwards."
            )
        return coordinators

    def _living(self) -> list[Coordinator]:
        living = [found for reference in self._all.valuerefs() if (found := reference()) is not None]
        return sorted(living, key=lambda coordinator: coordinator.number)

    def _default_model(self, agent: Any) -> Any:
        """Return the model for extractors that have none; an agent is not asked for one that nobody needs."""
        if all(settings.extractor is None for _, settings in self._stores):
            return None
        return getattr(agent, "aux_model", None) or getattr(agent, "model", None)

    def _changed(self, coordinator: Coordinator) -> None:
        with self._lock:
            if coordinator.owes:
                self._owing[coordinator.number] = coordinator
            else:
                self._owing.pop(coordinator.number, None)
