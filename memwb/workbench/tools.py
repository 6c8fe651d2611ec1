"""The memory tools as a model sees them: called by hand, tried without writing, and weighed against the injection."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._text import quoted, shortened
from ..errors import ConfigError, nearest
from ..memory import InjectionTrace, MemoryManager
from ..memory.tools import MemoryTool, in_scope
from ..memory.types import has_method
from .closing import while_open
from .screen import ScreenState
from .searching import Comparison, compared, is_test_store
from .told import told

if TYPE_CHECKING:
    from .state import WorkbenchState

_PAGE = 200  # records looked through at a time for a text that a store holds already


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool by hand.

    Attributes:
        tool: The tool's name.
        arguments: What it was called with, blank fields left out.
        payload: What the tool returned, None where it failed.
        error: Why it failed, in a sentence; "" where it did not.
    """

    tool: str
    arguments: dict[str, Any]
    payload: Any = None
    error: str = ""

    @property
    def text(self) -> str:
        """The payload as the JSON text that a model gets; "" where the tool failed."""
        return "" if self.error else json.dumps(self.payload, ensure_ascii=False, default=str)

    def __repr__(self) -> str:
        return f"ToolCall({self.tool}: {self.error or shortened(self.text, 100)})"


@dataclass(frozen=True)
class DryWrite:
    """What one store would do with one text; nothing was written.

    Attributes:
        content: The text.
        store: The store's name.
        outcome: ``new``, ``repeat`` (the store holds the text already), ``refused``, or ``unknown`` (the store takes
            it, and does not list what it holds).
        sentence: The same in words.
        id: The id of the entry that it repeats, where there is one.
    """

    content: str
    store: str
    outcome: str
    sentence: str
    id: str | None = None

    def __repr__(self) -> str:
        return f"DryWrite({quoted(self.content)} to {self.store!r}: {self.sentence})"


class ToolsState(ScreenState):
    """The tools over a workbench's stores.

    Args:
        bench: The workbench's state; its source, stores and settings are read at each call.

    Attributes:
        chosen: The name of the tool that the screen shows.
        call: The last call by hand.
        dry: What the last dry run found.
        comparison: The last comparison.
    """

    def __init__(self, bench: WorkbenchState) -> None:
        super().__init__()
        self.bench = bench
        self.call: ToolCall | None = None
        self.dry: tuple[DryWrite, ...] = ()
        self.comparison: Comparison | None = None
        self._source: Any = None
        self._manager: MemoryManager
        self._undo = bench.subscribe(self._publish)
        self.chosen = next(iter(self.tools), "")

    @property
    def manager(self) -> MemoryManager:
        """The manager whose tools they are: the source's own, else one over its stores that offers both tools.

        Raises:
            ConfigError: No manager takes these stores.
        """
        source = self.bench.source
        if source is not self._source:
            stores = list(source.stores)
            writable = any(store.writable and has_method(store, "add") for store in stores)
            self._manager = source.manager or MemoryManager(stores, add_tool_config=writable)
            self._source = source
        return self._manager

    @property
    def tools(self) -> dict[str, MemoryTool]:
        """The tools by name, as the model is told of them; empty where no manager takes the stores."""
        try:
            own = self.bench.source.tools
            tools = self.manager.tools if own is None else own
            return {tool.name: tool for tool in tools if isinstance(tool, MemoryTool)}
        except ConfigError as error:
            self.refused = told(error)
            return {}

    def tool(self, name: str) -> MemoryTool:
        """Return a tool by its name.

        Raises:
            ConfigError: There is none of this name.
        """
        tools = self.tools
        if name not in tools:
            raise ConfigError(
                f"There is no tool {name!r}; there are {', '.join(tools) or 'none'}.{nearest(name, tools)}",
                key="tool",
                value=name,
                allowed=tuple(tools),
            )
        return tools[name]

    def choose(self, name: str) -> None:
        """Show another tool."""
        self.tool(name)
        self.chosen, self.call, self.dry, self.comparison = name, None, (), None
        self._publish()

    @while_open
    async def run(self, name: str, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> ToolCall:
        """Call a tool as a model would, and keep what it returns; ``add_memory`` really writes.

        A tool that fails gives a call with its error, as the model would be told; it does not raise.

        Raises:
            ConfigError: There is no tool of this name.
        """
        tool = self.tool(name)
        asked = {**(arguments or {}), **named}
        given = {key: value for key, value in asked.items() if value not in (None, "", []) or key == "entries"}
        try:
            self.call = ToolCall(name, given, await tool(given))
        except Exception as error:  # what the tool raises goes to the model as its answer
            self.call = ToolCall(name, given, error=told(error))
        self.refused, self.dry = "", ()
        if is_add_tool(tool) and not self.call.error:
            self.bench.changed()  # what it wrote may be found now
        self._publish()
        return self.call

    @while_open
    async def dry_run(self, entries: Sequence[str], stores: Sequence[str] | None = None) -> tuple[DryWrite, ...]:
        """Say for each text and each store that would be written to what the store would do; nothing is written.

        Args:
            entries: The texts.
            stores: Names of stores, as the tool's argument; None or empty for all that the tool may write to.

        Raises:
            ConfigError: No entry, or no store of that name is in the tool's scope.
        """
        texts = isinstance(entries, Sequence) and all(isinstance(content, str) for content in entries)
        if isinstance(entries, str) or not entries or not texts:
            raise ConfigError(
                f"A dry run takes a list of texts, at least one; not {entries!r:.80}.", key="entries", value=entries
            )
        by_name = {store.name: store for store in self._targets(stores)}
        found = []
        for name, store in by_name.items():
            listing = self.bench.source.listings.get(name, store)
            before: set[str] = set()
            for content in entries:
                found.append(await _would_write(store, listing, content, before))
                before.add(content.strip())
        self.refused, self.dry, self.call = "", tuple(found), None
        self._publish()
        return self.dry

    def _targets(self, stores: Sequence[str] | None) -> list[Any]:
        tool = next((tool for tool in self.tools.values() if is_add_tool(tool)), None)
        if tool is None:
            raise ConfigError(
                "No tool writes here: the manager's add tool is off, or no store is writable and has add.", key="stores"
            )
        names = in_scope(tool.name, list(tool.stores), stores)
        return [store for store in self.bench.source.stores if store.name in names]

    @while_open
    async def compare(self, text: str) -> Comparison:
        """Ask for one text in both ways: by ``search_memory``, and by an injection for a user who says it.

        Raises:
            ConfigError: The text is blank, or no manager takes the stores.
        """
        if not isinstance(text, str) or not text.strip():
            raise ConfigError(f"Give a text to look for, not {text!r:.80}.", key="text", value=text)
        tool = next((tool.name for tool in self.tools.values() if not is_add_tool(tool)), None)
        self.comparison = await compared(
            self.manager, text, await self._injected(text), tool=tool, chosen=self.bench.store_names
        )
        self.refused = ""
        self._publish()
        return self.comparison

    async def _injected(self, text: str) -> InjectionTrace:
        question = replace(self.bench.question(), messages=[{"role": "user", "content": [{"text": text}]}])
        return await question.trace(self.bench.call_limited)

    async def settled(self) -> None:
        """Return when every action has run."""
        await self.bench.settled()
        await super().settled()

    def close(self) -> None:
        """End what runs; the workbench goes on."""
        self._undo()
        super().close()

    def __repr__(self) -> str:
        return f"Tools({', '.join(self.tools) or 'none'})"


def is_add_tool(tool: MemoryTool) -> bool:
    """Whether a tool writes entries, under whatever name."""
    return "entries" in tool.input_schema["properties"]


async def _would_write(store: Any, listing: Any, content: str, before: set[str]) -> DryWrite:
    """Say what a store would do with a text after those in ``before``."""
    from ..stores import TestMemoryStore

    if isinstance(store, TestMemoryStore):  # what it refuses, an empty store of its kind refuses too
        try:
            await TestMemoryStore(name=store.name, persist=False).add(content)
        except Exception as error:
            return DryWrite(content, store.name, "refused", f"it would be refused: {told(error)}")
    if content.strip() in before and is_test_store(store):
        return DryWrite(content, store.name, "repeat", "it repeats an entry of this very call, which is kept")
    if not hasattr(listing, "page"):
        return DryWrite(content, store.name, "unknown", "the store takes it; what it holds already it does not list")
    known = await _held(listing, content.strip())
    if known is None:
        return DryWrite(content, store.name, "new", "it would be stored as a new entry")
    keeps = "the first is kept, the repeat and its metadata are dropped"
    if not is_test_store(store):
        keeps = "whether it would be stored twice is up to the store"
    return DryWrite(content, store.name, "repeat", f"the store holds this text already, as {known!r}: {keeps}", known)


async def _held(listing: Any, wanted: str) -> str | None:
    """Return the id of the first record whose text is ``wanted``, spaces around it aside."""
    at = 0
    while True:
        page = await listing.page(at, _PAGE, where=wanted)
        for record in page:
            if record.content.strip() == wanted:
                return str(record.id)
        if len(page) < _PAGE:
            return None
        at += len(page)
