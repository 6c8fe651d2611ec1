"""MemoryManager: several stores behind one search, one add, a few tools and one injection."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from .._text import visible
from ..errors import AggregateMemoryError, ConfigError, StoreNotFoundError
from .checks import checked_stores
from .extraction.resolve import resolve_extraction
from .injection import Call, run_injection
from .messages import check_conversation
from .search import SearchResult, ask_stores
from .settings import (
    DEFAULT_MAX_SEARCH_RESULTS,
    Injection,
    at_least_one,
    checked_options,
    checked_query,
    checked_review,
    resolve_injection,
)
from .tools import add_tool, named, search_tool, tool_config
from .trace import InjectionTrace
from .types import (
    MemoryAddOptions,
    MemoryAddToolConfig,
    MemoryInjectionConfig,
    MemorySearchOptions,
    MemoryStore,
    MemoryToolConfig,
    Message,
    has_method,
)
from .writes import AcceptedWrites

if TYPE_CHECKING:
    from .explain import Explanation
    from .extraction.attachments import Attachments
    from .extraction.batches import ExtractionStatus
    from .extraction.log import ExtractionLog
    from .extraction.resolve import Extraction
    from .extraction.saving import Review
    from .extraction.types import ExtractionResult

_log = logging.getLogger("memwb.memory")


class MemoryManager:
    """Long-term memory for agents, with the names and the behaviour of the Strands Agents SDK.

    Args:
        stores: At least one store; names are unique. A store written for the SDK is taken as it is.
        search_tool_config: True (default) or a :class:`~memwb.memory.MemoryToolConfig`: offer ``search_memory``.
        add_tool_config: False (default), True or a :class:`~memwb.memory.MemoryAddToolConfig`: offer ``add_memory``.
        injection: True (default), False or a :class:`~memwb.memory.MemoryInjectionConfig`.

    Attributes:
        review: None (default), or an async function that looks through extracted facts before they are written: given
            the :class:`~memwb.memory.Proposed` event, it returns the ``ExtractionResult`` objects that are to be
            written, changed or not. The save, and a flush, wait for it; where it raises, or returns what cannot be
            stored, it is asked again at the next try, the model is not. memwb's own.

    Raises:
        ConfigError: A setting that could only fail or be ignored later; the message names the store and the key.
    """

    name = "strands:memory-manager"

    def __init__(
        self,
        stores: Sequence[MemoryStore],
        search_tool_config: bool | MemoryToolConfig | None = True,
        add_tool_config: bool | MemoryAddToolConfig | None = False,
        injection: bool | MemoryInjectionConfig | None = True,
    ) -> None:
        self._review: Review | None = None
        self._stores = checked_stores(stores)
        extracting = [(store, found) for store in self._stores if (found := resolve_extraction(store))]
        self._extraction = self._attachments(extracting) if extracting else None
        self._add_stores = [store for store in self._stores if store.writable and has_method(store, "add")]
        self._injection = resolve_injection(injection)
        self._accepted = AcceptedWrites(self._make_write)
        self._tools = self._build_tools(search_tool_config, add_tool_config)

    def __repr__(self) -> str:
        return f"MemoryManager({', '.join(visible(store.name) for store in self._stores)})"

    @property
    def stores(self) -> tuple[Any, ...]:
        """The stores, in the order in which they were given."""
        return tuple(self._stores)

    @property
    def injection(self) -> MemoryInjectionConfig | None:
        """The injection settings with every default filled in, or None where injection is off."""
        return self._injection.config() if self._injection else None

    @property
    def hooks(self) -> NoReturn:
        """Not there: an agent of the SDK that takes the manager for a plugin asks for it, and is told what to take."""
        raise AttributeError(
            "a memwb MemoryManager is no plugin of the Strands SDK; write "
            "Agent(plugins=[memwb.bridge.strands.plugin(manager)])"
        )

    @property
    def tools(self) -> list[Any]:
        """The tools for a model: search, add, then the stores' own in store order."""
        return list(self._tools)

    async def search(self, query: str, options: MemorySearchOptions | None = None) -> SearchResult:
        """Search the chosen stores at the same time and join what they return.

        The order is that of the stores, then each store's own ranking: scores of different stores do not compare. A
        store that fails is logged and left out.

        Args:
            query: Handed to every store unchanged.
            options: ``stores``: names to search (absent: all, empty: none, repeats count once);
                ``max_search_results``: the most entries from each store, where absent the store's own, else 3.

        Returns:
            A list of entries with ``store_name`` set; its ``failures`` maps store names to exceptions.

        Raises:
            StoreNotFoundError: An unknown store is named; no store was asked.
            ConfigError: A query that is no text, an unknown option, or a ``max_search_results`` below 1.
        """
        given = checked_options(options, ("max_search_results", "stores"), "MemoryManager: search")
        checked_query(query, "MemoryManager: search: ")
        limit = given.get("max_search_results")
        if limit is not None:
            at_least_one(limit, "MemoryManager: max_search_results", "max_search_results")
        stores = self._stores if given.get("stores") is None else self._named(given["stores"])
        limits = [limit or store.max_search_results or DEFAULT_MAX_SEARCH_RESULTS for store in stores]
        return SearchResult(await ask_stores(stores, query, limits))

    async def add(self, content: str, options: MemoryAddOptions | None = None) -> None:
        """Write a text to several stores at the same time.

        Args:
            content: The text.
            options: ``stores``: names to write to (absent: every writable store that has ``add``);
                ``metadata``: stored with it.

        Raises:
            StoreNotFoundError: An unknown store is named.
            ConfigError: A named store is read-only or has no ``add``, or no store is left; nothing was written.
            AggregateMemoryError: Some stores failed; it names them, the others hold the text.
        """
        given = checked_options(options, ("stores", "metadata"), "MemoryManager: add")
        metadata = given.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            raise ConfigError(
                f"MemoryManager: metadata must be a dict or None, not {metadata!r}. Nothing was written.",
                key="metadata",
                value=metadata,
            )
        stores = self._add_stores if given.get("stores") is None else self._writable(given["stores"])
        if not stores:
            raise ConfigError(
                "MemoryManager: no writable store to add to. Name one, or give the manager a store with writable=True.",
                key="stores",
                value=given.get("stores"),
            )
        import asyncio

        outcomes = await asyncio.gather(
            *(_written(store, content, metadata) for store in stores), return_exceptions=True
        )
        failed = {
            store.name: outcome
            for store, outcome in zip(stores, outcomes, strict=True)
            if isinstance(outcome, BaseException)
        }
        if failed:
            causes = "; ".join(f"{name}: {cause}" for name, cause in failed.items())
            raise AggregateMemoryError(
                f"MemoryManager: writing to {', '.join(failed)} failed: {causes}", list(failed.values()), list(failed)
            )

    async def inject(
        self,
        messages: Sequence[Message],
        config: bool | MemoryInjectionConfig | None = None,
        *,
        state: Any = None,
        agent: Any = None,
        call: Call | None = None,
    ) -> list[Message]:
        """Return the messages that the model gets: ``trace_injection(...).messages``."""
        trace = await self.trace_injection(messages, config, state=state, agent=agent, call=call)
        return trace.messages

    async def trace_injection(
        self,
        messages: Sequence[Message],
        config: bool | MemoryInjectionConfig | None = None,
        *,
        state: Any = None,
        agent: Any = None,
        call: Call | None = None,
    ) -> InjectionTrace:
        """Run the injection for one model call and return what each stage did.

        Args:
            messages: The conversation as it stands before the call. Never changed.
            config: Replaces the manager's settings for this run; None keeps them.
            state: Shown to a trigger predicate.
            agent: Shown to a trigger predicate.
            call: Runs a user's callback, ``await call(callback, context)``; by default it is called directly.

        Raises:
            ConfigError: ``config`` is refused, or the conversation is no list. A failure inside a stage never raises:
                it is in the trace.
        """
        check_conversation(messages)
        trace = await run_injection(
            self._stores,
            messages,
            self._settings(config),
            state=state,
            agent=agent,
            call=call,
        )
        if self._extraction is not None and trace.injected:
            self._extraction.remember(messages, trace.messages)
        return trace

    async def why(
        self,
        target: Any,
        messages: Sequence[Message],
        config: bool | MemoryInjectionConfig | None = None,
        *,
        state: Any = None,
        agent: Any = None,
        call: Call | None = None,
    ) -> Explanation:
        """Explain why an entry reached the model at this call, or why not, and what would bring it in.

        Args:
            target: A hit, an entry or a record, which is looked for in the store that it names; or an entry's id, or a
                text that the entry holds, looked for in all stores in their order.
            messages: As for :meth:`trace_injection`, like the arguments after it.
            config: See there.
            state: See there.
            agent: See there.
            call: See there; it also runs the callbacks of the changes that are tried.

        Raises:
            ConfigError: ``config`` is refused, the conversation is no list, or ``target`` is nothing to look for.
        """
        from .explain import explain

        check_conversation(messages)
        return await explain(self, target, messages, self._settings(config), state=state, agent=agent, call=call)

    def _settings(self, config: bool | MemoryInjectionConfig | None) -> Injection | None:
        """Return the settings of one run: those given for it, else the manager's own."""
        return self._injection if config is None else resolve_injection(config)

    async def init_agent(self, agent: Any) -> None:
        """Initialise the stores that want it, and begin to extract from the agent's messages where a store asks for it.

        Call it once for each agent, before its first call. The agent hands over its messages and the end of its
        invocations by ``add_hook(callback, event_type, order=100)``, with the types of ``memwb.memory.events``; the
        callbacks are plain functions, which start saves in the background on the loop that is running.

        Raises:
            ConfigError: A store extracts, and the agent has no ``add_hook``.
            Exception: What a store's ``initialize`` raises.
        """
        for store in self._stores:
            if has_method(store, "initialize"):
                await store.initialize()
        if self._extraction is not None:
            self._extraction.attach(agent)

    @property
    def review(self) -> Review | None:
        """What looks through extracted facts before they are written; see the class."""
        return self._review

    @review.setter
    def review(self, review: Review | None) -> None:
        self._review = checked_review(review)

    @property
    def extraction(self) -> dict[str, Extraction]:
        """The settings of the stores that extract, by name, defaults filled in.

        A save looks at ``extractor`` and ``filter`` when it begins, so that changing them here changes the next save;
        triggers are attached once, by :meth:`init_agent`.
        """
        return self._extraction.settings if self._extraction else {}

    @cached_property
    def extraction_log(self) -> ExtractionLog:
        """What happens while memories are extracted, as typed events; empty where no store extracts."""
        from .extraction.log import ExtractionLog

        return ExtractionLog()

    def extraction_status(self) -> list[ExtractionStatus]:
        """Return, for each agent and each store that extracts, what is saved, what waits and what failed."""
        return self._extraction.status() if self._extraction else []

    async def wait_for_saves(self) -> None:
        """Wait for the saves that are under way, and for those that begin meanwhile, without asking for any."""
        if self._extraction is not None:
            await self._extraction.idle()

    def cut_off_saves(self) -> None:
        """Cancel the saves that are under way, such as one whose model never answers; returns at once.

        A save that was cut off has failed: its messages wait for the next request or flush.
        """
        if self._extraction is not None:
            self._extraction.cut_off()

    async def retry_unreadable(self) -> int:
        """Extract again from the messages whose answers held no list of facts; see ``extraction_log.unreadable``.

        Never raises. What fails, or is unreadable again, is kept.

        Returns:
            How many answers are still unreadable.
        """
        return await self._extraction.retry_unreadable() if self._extraction else 0

    async def retry_unwritten(self) -> None:
        """Write the extracted facts again whose write failed, without asking a model. Never raises."""
        if self._extraction is not None:
            await self._extraction.retry_unwritten()

    def change_unwritten(self, store: str, content: str, to: ExtractionResult | None) -> bool:
        """Have another fact written in the place of one whose write failed, or none; False where there is none."""
        return self._extraction is not None and self._extraction.change_unwritten(store, content, to)

    def accept_write(self, content: str, stores: list[str]) -> None:
        """Take over a write that was answered with "accepted": it is made in the background, at the latest by flush.

        A write that fails, or whose event loop ends before it was made, stays accepted, and the next flush makes it;
        so does one that was accepted where no loop runs.

        Raises:
            StoreNotFoundError: An unknown store is named.
            ConfigError: The content is no text, or a named store is read-only or has no ``add``.
        """
        if not isinstance(content, str):
            what = f"MemoryManager: accept_write: content must be a text, not {content!r:.80}. Nothing was accepted."
            raise ConfigError(what, key="content", value=content)
        names = [store.name for store in self._writable(stores)]
        if names:
            self._accepted.accept(content, names)
        else:  # an add tool whose scope is empty answers "accepted" too, as in the SDK
            _log.warning("an accepted memory is written nowhere: no store was named")

    async def flush(self) -> None:
        """Save what is left: the messages of all agents, and the writes that were accepted and are still open.

        Waits for the saves under way too, and for those that begin meanwhile. Tries every store, whatever has failed
        before, once. Failures never raise: they are logged, and what failed is tried again by the next flush, where a
        store lacks it. A store or a model that never answers holds it up; ``asyncio.wait_for(manager.flush(), 30)``
        leaves the saves under way.

        Raises:
            MemwbError: Called inside a save, by its review, extractor or store: it would wait for itself.
        """
        await self._drain(None)

    async def flush_agent(self, agent: Any) -> None:
        """Save what is left of one agent, at the end of its loop: :meth:`flush` without the others.

        What another agent has under way, in its invocation or in its saves, is left alone and not waited for; so are
        accepted writes that another loop is making.
        """
        await self._drain(agent)

    async def _drain(self, agent: Any) -> None:
        """Save what one agent owes, or all of them for None."""
        extraction, accepted, here = self._extraction, self._accepted, agent is not None
        failures = accepted.failures
        if extraction is None:
            await accepted.flush(failures, here)
            return
        coordinators = extraction.begin_flush(agent)
        while accepted.waiting(failures, here) or extraction.busy(agent):
            await accepted.flush(failures, here)
            await extraction.idle(agent)
        extraction.end_flush(coordinators)

    def _attachments(self, stores: list[tuple[Any, Extraction]]) -> Attachments:
        from .extraction.attachments import Attachments

        return Attachments(stores, self.extraction_log, lambda: self._review)

    async def _make_write(self, content: str, stores: list[str]) -> None:
        await self.add(content, {"stores": stores})

    def _named(self, names: Sequence[str]) -> list[Any]:
        by_name = {store.name: store for store in self._stores}
        if isinstance(names, str) or not isinstance(names, Iterable):
            what = f"the text {names!r}; write [{names!r}]" if isinstance(names, str) else f"{names!r:.80}"
            raise ConfigError(
                f"MemoryManager: stores must be a list of names, not {what}.",
                key="stores",
                value=names,
                allowed=tuple(by_name),
            )
        names = list(names)
        for name in names:
            if not isinstance(name, str) or name not in by_name:
                raise StoreNotFoundError(name, by_name)
        return [by_name[name] for name in dict.fromkeys(names)]

    def _writable(self, names: Sequence[str], what: str = "store") -> list[Any]:
        stores = self._named(names)
        for store in stores:
            if not store.writable:
                raise ConfigError(f"MemoryManager: {what} {store.name!r} is read-only.", key="stores", value=store.name)
            if not has_method(store, "add"):
                raise ConfigError(
                    f"MemoryManager: {what} {store.name!r} has no add method.", key="stores", value=store.name
                )
        return stores

    def _build_tools(self, search: bool | MemoryToolConfig | None, add: bool | MemoryAddToolConfig | None) -> list[Any]:
        tools: list[Any] = []
        search_config = tool_config(search, "search_tool_config", ("name", "description"))
        if search_config is not None:
            tools.append(search_tool(self, search_config))  # type: ignore[arg-type]
        add_config = tool_config(add, "add_tool_config", ("name", "description", "stores", "wait_for_writes"))
        if add_config is not None:
            if not self._add_stores:
                raise ConfigError("MemoryManager: add_tool_config is on but no writable store has an add method.")
            scope = add_config.get("stores")
            stores = self._add_stores if scope is None else self._writable(named(scope), "add_tool_config store")
            tools.append(add_tool(self, add_config, stores))  # type: ignore[arg-type]
        for store in self._stores:
            if has_method(store, "get_tools"):
                tools.extend(store.get_tools())
        return tools


async def _written(store: Any, content: str, metadata: Any) -> None:
    """Write to one store; that an ``add`` fails before there is anything to await is a failed write like any other."""
    await store.add(content, metadata)
