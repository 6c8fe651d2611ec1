"""The settings of an injection while a person changes them: the plain ones, and the callbacks in their editors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from ..callbacks.complete import Problem
from ..memory import InjectionTrace, MemoryInjectionConfig
from ..memory.settings import Injection
from .editor import NAMES, Slot, check_source, refuse_mistake
from .gallery import choose
from .refresh import PAUSE
from .screen import ScreenState


class SettingsState(ScreenState):
    """The part of the workbench's state that holds the injection settings.

    Attributes:
        on: Whether injection is on.
        slots: The callbacks, each with its editor's text.
    """

    def __init__(self) -> None:
        super().__init__()
        self.on = True
        self.slots = {name: Slot(name) for name in NAMES}
        self._base = Injection()

    @property
    def trace(self) -> InjectionTrace:
        """What the settings give."""
        raise NotImplementedError

    def put(self, pause: float = 0.0, **changes: Any) -> None:
        """Change settings without waiting for the refresh."""
        raise NotImplementedError

    @property
    def settings(self) -> Injection | None:
        """The injection settings in force, None where injection is off."""
        if not self.on:
            return None
        settings: Injection = replace(
            self._base,
            query=self.slots["query"].function,
            format=self.slots["format"].function,
            trigger=self.slots["trigger"].function or self._base.trigger,
        )
        return settings

    @property
    def injection(self) -> MemoryInjectionConfig | bool:
        """The settings in the form that a manager takes; False where injection is off."""
        settings = self.settings
        return settings.config() if settings else False

    @property
    def problems(self) -> dict[str, Problem]:
        """The mistakes in the callbacks: in an editor's text that is ahead, or when the callback ran last."""
        return {name: slot.problem for name, slot in self.slots.items() if slot.problem is not None}

    def changed(self, pause: float = 0.0) -> None:
        """Ask for a refresh; the state is stale until it is done."""
        self.refused = ""
        self._refresher.request(pause)
        self._publish()

    def type(self, name: str, source: str, pause: float = PAUSE) -> None:
        """Take an editor's text as it is typed: checked at once, applied after a pause when it is complete."""
        slot = self.slots[name]
        slot.type(source)
        if slot.ready:
            self.changed(pause)
        else:
            self._publish()

    async def edit(self, name: str, source: str) -> InjectionTrace:
        """Put a callback's source in force, as the editor does, and return the fresh trace.

        Args:
            name: ``query``, ``format`` or ``trigger``.
            source: Its text; blank for the default.

        Raises:
            ConfigError: There is no such callback, or the source has a mistake, which is told with its line and stands
                in :attr:`problems`; the callback before it stays in force.
        """
        self.apply(name, source)
        await self.settled()
        refuse_mistake(self.slots[name], source)
        return self.trace

    def apply(self, name: str, source: str) -> None:
        """Take an editor's text to be put in force at once; a mistake in it is shown, and changes nothing else.

        Raises:
            ConfigError: There is no such callback, or the source is no text.
        """
        check_source(name, source)
        self.slots[name].give(source)
        self.changed()

    async def choose(self, name: str, choice: str) -> InjectionTrace:
        """Do what the choice beside an editor does, and return the fresh trace.

        Args:
            name: ``query``, ``format`` or ``trigger``.
            choice: A name of ``memwb.workbench.gallery.CHOICES``: a ready callback takes the place of the one in force,
                as with :meth:`set`; a filter is written into the text of the format that is there.

        Raises:
            ConfigError: There is no such choice, or the text cannot take the filter; nothing was changed.
        """
        choose(self, name, choice)
        await self.settled()
        return self.trace

    def undo(self, name: str) -> None:
        """Bring back the editor's text from before a cell replaced it."""
        if self.slots[name].undo():
            self.changed()

    def _take_injection(self, settings: Injection | None) -> None:
        """Put all injection settings in force at once; the callbacks live in their slots."""
        self.on = settings is not None
        if settings is None:
            return  # what was set is kept, for when it is switched on again
        trigger = settings.trigger
        callbacks = {"query": settings.query, "format": settings.format}
        callbacks["trigger"] = None if isinstance(trigger, str) else trigger  # type: ignore[assignment]
        for name, function in callbacks.items():
            if self.slots[name].function is not function:
                self.slots[name].use(function)
        self._base = replace(
            settings, query=None, format=None, trigger=trigger if isinstance(trigger, str) else "userTurn"
        )

    def _put_callback(self, name: str, value: Any) -> None:
        if name == "trigger" and (value is None or isinstance(value, str)):
            self._base = replace(self._base, trigger=value or "userTurn")
            value = None
        if name == "trigger" and value is None and self.slots[name].function is None:
            return
        self.slots[name].use(value)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Log what the callbacks print."""
        with ExitStack() as slots:
            for slot in self.slots.values():
                slots.enter_context(slot.listening())
            yield
