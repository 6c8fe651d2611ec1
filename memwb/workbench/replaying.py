"""One run of a conversation over stores that extract: on copies of the stores, or on the stores themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from .._text import shortened
from ..bridge import strands
from ..errors import ConfigError, nearest
from ..memory import (
    ExtractionConfig,
    ExtractionResult,
    IntervalTrigger,
    InvocationTrigger,
    MemoryContentBlockType,
    MemoryManager,
    MemoryMessageFilter,
    Message,
    ModelExtractor,
)
from ..memory.extraction.resolve import resolve_extraction
from ..memory.settings import at_least_one
from ..memory.types import has_method
from ..testing import FaultyStore, ReplayAgent
from .copies import copy_of
from .extraction_view import Story
from .facts import Desk, Fact, FactState

if TYPE_CHECKING:
    from ..memory.extraction.resolve import Extraction
    from .state import WorkbenchState

WRITE_TO = ("copies", "stores")

KINDS = get_args(MemoryContentBlockType)


@dataclass(frozen=True)
class ExtractionSettings:
    """How the conversation is extracted; None leaves what the stores' own settings say.

    Attributes:
        system_prompt: What the extractor is told to look for; the form of the answer is always added to it.
        every: Extract after so many turns. A store without extraction settings is extracted after every turn.
        exclude: The kinds of content blocks that the filter drops.
        review: Whether facts wait for a decision before they are written.
        write_to: ``"copies"`` of the stores in memory, or the ``"stores"`` themselves.
    """

    system_prompt: str | None = None
    every: int | None = None
    exclude: tuple[str, ...] | None = None
    review: bool = True
    write_to: Literal["copies", "stores"] = "copies"


def checked(given: dict[str, Any]) -> dict[str, Any]:
    """Return settings in the form that :class:`ExtractionSettings` holds.

    Raises:
        ConfigError: An unknown setting, or a value that it does not have.
    """
    known = tuple(ExtractionSettings.__dataclass_fields__)
    for name in given:
        if name not in known:
            raise ConfigError(
                f"Extraction: there is no setting {name!r}; there are {', '.join(known)}.{nearest(name, known)}",
                key=name,
                allowed=known,
            )
    return {name: _checked(name, value) for name, value in given.items()}


def _checked(name: str, value: Any) -> Any:
    if name == "every" and value is not None:
        return at_least_one(value, "Extraction: every", "every")
    if name == "exclude" and value is not None:
        kinds = (value,) if isinstance(value, str) else tuple(value)
        for kind in kinds:
            _one_of("exclude", kind, KINDS)
        return kinds
    if name == "write_to":
        return _one_of("write_to", value, WRITE_TO)
    if name == "review":
        return _one_of("review", value, (True, False)) is True
    if name == "system_prompt" and value is not None:
        if not isinstance(value, str):
            raise ConfigError(f"Extraction: system_prompt must be a text, not {value!r:.80}.", key=name, value=value)
        return value if value.strip() else None
    return value


def _one_of(name: str, value: Any, known: Sequence[Any]) -> Any:
    if not any(value is each or (isinstance(value, str) and value == each) for each in known):
        names = tuple(map(str, known))
        raise ConfigError(
            f"Extraction: {name} {shortened(repr(value), 80)} is none of {', '.join(names)}.{nearest(value, names)}",
            key=name,
            value=value,
            allowed=names,
        )
    return value


def checked_model(model: Any) -> Any:
    """Return a model that a panel is given, or None for the default one.

    Raises:
        ConfigError: It cannot be asked for facts.
    """
    if model is None or callable(getattr(model, "complete", None)):
        return model
    sdk = " A model of the Strands SDK becomes one by memwb.bridge.strands.model(model)."
    raise ConfigError(
        f"Extraction: model must have 'async complete(system, messages)', not be {shortened(repr(model), 80)}; None is "
        f"the agent's model, or a rule that needs no key.{sdk if callable(getattr(model, 'stream', None)) else ''}",
        key="model",
        value=model,
    )


@dataclass
class Replay:
    """A conversation on its way through a manager.

    Attributes:
        agent: Goes through it.
        manager: Injects and extracts.
        desk: Where proposed facts are decided on.
        extracting: The names of the stores that extract.
        lacks: What a copy cannot show, by store.
        story: All that was logged, as a screen shows it.
    """

    agent: ReplayAgent
    manager: MemoryManager
    desk: Desk
    extracting: tuple[str, ...]
    lacks: dict[str, str]
    story: Story
    _behind: set[asyncio.Future[Any]] = field(default_factory=set, repr=False)

    def begin(self, work: Awaitable[Any]) -> None:
        """Have something done that may wait for decisions."""
        task = asyncio.ensure_future(work)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    def edit(self, fact: Fact, content: str) -> None:
        """Change the text of a fact that waits, or of one that is to be tried again; see :meth:`Desk.edit`."""
        before, failed = fact.content, fact.state == "failed"
        self.desk.edit(fact, content)
        if failed:
            self.manager.change_unwritten(fact.store, before, ExtractionResult(content, fact.metadata))

    def decide(self, facts: Sequence[Fact], state: FactState) -> bool:
        """Accept or reject facts; see :meth:`Desk.decide`."""
        failed = [fact for fact in facts if fact.state == "failed"]
        asks = self.desk.decide(facts, state)
        for fact in failed if state == "rejected" else ():
            self.manager.change_unwritten(fact.store, fact.content, None)
        return asks

    async def quiet(self, happened: asyncio.Event) -> None:
        """Wait until every save has ended or waits for a decision.

        Args:
            happened: Set whenever something was logged or decided.
        """
        ended = asyncio.ensure_future(self.manager.wait_for_saves())
        try:
            while working := {task for task in (ended, *self._behind) if not task.done()}:
                happened.clear()
                await asyncio.sleep(0)  # what a decision or a trigger has set going begins now
                if self._only_waits():
                    return
                news = asyncio.ensure_future(happened.wait())
                try:
                    await asyncio.wait({news, *working}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    news.cancel()
        finally:
            ended.cancel()

    def _only_waits(self) -> bool:
        saving = [status.store for status in self.manager.extraction_status() if status.saving]
        return bool(saving) and all(map(self.desk.holds, saving))

    def close(self) -> None:
        """Cut off what is under way."""
        self.desk.close()
        self.manager.cut_off_saves()
        for task in tuple(self._behind):
            task.cancel()


async def open_replay(
    bench: WorkbenchState,
    settings: ExtractionSettings,
    messages: Sequence[Message],
    model: Any,
    changed: Callable[[], None],
) -> Replay:
    """Set up a run from its beginning.

    Args:
        bench: Whose stores and injection it has.
        settings: How to extract.
        messages: The conversation.
        model: Asked by extractors without a model of their own.
        changed: Called when a fact begins to wait for a decision.

    Raises:
        ConfigError: No store can take what is extracted.
    """
    stores = bench.source.stores
    chosen = extracting(stores, settings)
    if not chosen:
        raise ConfigError(
            "Extraction: no store is writable, so nothing can be written to the stores themselves. Write to copies, or "
            "open the workbench on a writable store.",
            key="write_to",
            value="stores",
        )
    targets: list[Any] = []
    lacks: dict[str, str] = {}
    for store in stores:
        if not any(store is each for each in chosen):
            targets.append(store)
            continue
        target: Any = FaultyStore(store)  # the store itself, under settings that are not its own
        if settings.write_to == "copies":
            target, lack = await copy_of(store, bench.source.listings.get(store.name))
            lacks |= {store.name: lack} if lack else {}
        target.extraction = config_of(target, resolve_extraction(store), settings)
        targets.append(target)
    desk = Desk(changed, asks=settings.review)
    manager = MemoryManager(targets, search_tool_config=False, injection=bench.injection)
    manager.review = desk.review
    agent = ReplayAgent(messages, manager, aux_model=model, call=bench.call_limited, wait_for_saves=False)
    names = tuple(store.name for store in chosen)
    return Replay(agent, manager, desk, names, lacks, Story(names))


def extracting(stores: Sequence[Any], settings: ExtractionSettings) -> list[Any]:
    """Return the stores to extract into: those that have it on, else those that can be written to, else any copy."""
    chosen = [store for store in stores if resolve_extraction(store)] or [
        store for store in stores if _can_write(store)
    ]
    return chosen or (list(stores) if settings.write_to == "copies" else [])


def _can_write(store: Any) -> bool:
    return bool(store.writable) and (has_method(store, "add") or has_method(store, "add_messages"))


def config_of(store: Any, own: Extraction | None, settings: ExtractionSettings) -> ExtractionConfig:
    """Return a store's extraction settings with those of the screen in place of its own."""
    config: ExtractionConfig = {"trigger": InvocationTrigger()}
    if own is not None:
        config["trigger"], config["filter"] = list(own.triggers), own.filter
        if own.extractor is not None:
            config["extractor"] = _in_memwbs_form(own.extractor)
    if settings.every is not None:
        config["trigger"] = IntervalTrigger(settings.every)
    if settings.exclude is not None:
        config["filter"] = MemoryMessageFilter(exclude=list(settings.exclude))  # type: ignore[arg-type]
    if settings.system_prompt is not None and has_method(store, "add"):
        config["extractor"] = ModelExtractor(model_of(config.get("extractor")), settings.system_prompt)
    return config


def _in_memwbs_form(extractor: Any) -> Any:
    """Return memwb's extractor for the SDK's own, with its prompt and model: the SDK's asks models of the SDK alone."""
    if type(extractor).__name__ != "ModelExtractor" or not strands.is_strands(extractor):
        return extractor
    model = getattr(extractor, "_model", None)
    return ModelExtractor(
        strands.model(model) if model is not None else None, getattr(extractor, "_system_prompt", None)
    )


def model_of(extractor: Any) -> Any:
    """Return the model that an extractor has of its own, or None."""
    return getattr(extractor, "model", None)
