"""The types of long-term memory, under the names that the Strands Agents SDK documents for them.

Options and configs are typed dicts (every key may be left out unless a docstring says otherwise), contexts and
results are dataclasses, and a store or a callback is whatever has the right shape: none of the protocols has to be
inherited from, so a store written for the SDK is accepted as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, TypedDict

from .._redact import shown

if TYPE_CHECKING:
    from .extraction.types import ExtractionConfig

Metadata = dict[str, Any]
"""What an entry carries beside its text: JSON values under text keys."""

Message = dict[str, Any]
"""``{"role": "user" | "assistant", "content": [block, ...]}``; a block is a dict with its kind as its key."""

Placement = Literal["prepend", "append"]
"""Where the block lands in the user's message: before it (SDK 1.48) or after it (SDK 1.54 and later)."""

InjectionTrigger = Literal["userTurn", "everyTurn"]
"""``"userTurn"``: the last message is a user's and holds no tool result. ``"everyTurn"``: every model call."""

RELEVANCE_SCORE = "_relevanceScore"
"""The metadata key under which a store reports how well an entry matched."""


@dataclass
class MemoryEntry:
    """One memory, as a store returns it.

    Attributes:
        content: The text of the memory.
        store_name: The store it came from; the manager sets it, a store need not.
        metadata: What the store keeps beside the text, or None.
    """

    content: str
    store_name: str | None = None
    metadata: Metadata | None = None

    def __repr__(self) -> str:
        content, metadata = shown(self.content), shown(self.metadata)
        return f"MemoryEntry(content={content!r}, store_name={self.store_name!r}, metadata={metadata!r})"

    @property
    def id(self) -> str | None:
        """The record's id where the store tells it, else None; no part of equality, repr or ``asdict``."""
        return self.__dict__.get("_id")


def identified(entry: MemoryEntry, id: str | None) -> MemoryEntry:
    """Attach a record's id to an entry and return the same entry."""
    if id is not None:
        entry.__dict__["_id"] = id
    return entry


class Model(Protocol):
    """A language model, as far as memwb needs one. ``memwb.bridge.strands.model`` makes any Strands model into one."""

    async def complete(self, system: str, messages: list[Message]) -> str:
        """Return the answer's text to ``messages`` under the system prompt ``system``."""
        ...


class SearchOptions(TypedDict, total=False):
    """Options of :meth:`MemoryStore.search`.

    Attributes:
        max_search_results: The most entries to return, at least 1. The manager always sets it.
    """

    max_search_results: int | None


class MemorySearchOptions(SearchOptions, total=False):
    """Options of ``MemoryManager.search``.

    Attributes:
        stores: Names of the stores to search. Absent: all of them; an empty list: none.
    """

    stores: list[str] | None


class MemoryAddOptions(TypedDict, total=False):
    """Options of ``MemoryManager.add``.

    Attributes:
        stores: Names of the writable stores to write to. Absent: all of them; an empty list is an error.
        metadata: Stored with the content.
    """

    stores: list[str] | None
    metadata: Metadata | None


class MemoryToolConfig(TypedDict, total=False):
    """How a memory tool presents itself to the model.

    Attributes:
        name: Replaces the tool's name.
        description: Replaces the first part of its description; the list of stores still follows.
    """

    name: str
    description: str


class MemoryAddToolConfig(MemoryToolConfig, total=False):
    """How the ``add_memory`` tool presents itself and writes.

    Attributes:
        stores: The stores it may write to, as names or stores. Absent: every writable store with ``add``.
        wait_for_writes: True (default): answer ``{"stored": n}`` once written, failures are raised.
            False: answer ``{"accepted": n}`` at once; ``MemoryManager.flush`` waits for these writes.
    """

    stores: Sequence[str | MemoryStore]
    wait_for_writes: bool


@dataclass
class AddMessagesContext:
    """What the manager tells :meth:`MemoryStore.add_messages` about a batch.

    Attributes:
        sequence_numbers: One number a message, in the messages' order: rising, with gaps where a message was
            filtered away, the same again when a batch is retried. They start at 0 for each agent.
    """

    sequence_numbers: list[int] | None = None


class _Fields:
    """Names the fields that a callback's context has to a callback that reads another one, iterates or subscripts."""

    def __getattr__(self, name: str) -> NoReturn:
        from ..errors import nearest

        names = tuple(type(self).__annotations__)
        raise AttributeError(f"{self._has(names)}, no {name!r}.{nearest(name, names)}", name=name, obj=self)

    def __getitem__(self, key: Any) -> NoReturn:  # what iterating asks for, too
        names = tuple(type(self).__annotations__)
        raise TypeError(f"{self._has(names)} and is no list or dict itself; read context.{names[0]}.")

    def _has(self, names: Sequence[str]) -> str:
        return f"{type(self).__name__} has {', '.join(f'.{name}' for name in names)}"


@dataclass
class InjectionContext(_Fields):
    """What a trigger predicate sees.

    Attributes:
        messages: A copy of the conversation before the call.
        state: The agent's state, or None without an agent.
        agent: The agent, or None.
    """

    messages: list[Message]
    state: Any = None
    agent: Any = None


@dataclass
class InjectionQueryContext(_Fields):
    """What a query callback sees: a copy of the conversation before the model call."""

    messages: list[Message]


@dataclass
class InjectionFormatContext(_Fields):
    """What a format callback sees: copies of the entries that survived the cut, in their order."""

    entries: list[MemoryEntry]


class InjectionQueryCallback(Protocol):
    """Derives the search query; ``None`` or blank text skips the injection."""

    def __call__(self, context: InjectionQueryContext, /) -> str | None:
        """Return the text to search for."""
        ...


class InjectionFormatCallback(Protocol):
    """Renders the entries into the text to inject; markup in them is the callback's to escape."""

    def __call__(self, context: InjectionFormatContext, /) -> str:
        """Return the text to inject."""
        ...


TriggerPredicate = Callable[[InjectionContext], Any]
"""Decides whether to inject, by the truth of its result."""


class InjectionConfig(TypedDict, total=False):
    """When to inject.

    Attributes:
        trigger: ``"userTurn"`` (default), ``"everyTurn"`` or a predicate over :class:`InjectionContext`.
    """

    trigger: InjectionTrigger | TriggerPredicate


class MemoryInjectionConfig(InjectionConfig, total=False):
    """What to inject, and how. Keys that are absent (or None) have the default.

    Attributes:
        max_entries: The most entries in the block, and the most asked of each store; at least 1, default 5.
        query: Default: on a user turn the latest user message's text, else the latest assistant message's.
        format: Default: a ``<memory>`` block with one escaped ``<entry source="...">`` a line.
        placement: ``"prepend"`` (default) or ``"append"``; see :data:`Placement`. memwb's own key.
    """

    max_entries: int
    query: InjectionQueryCallback | None
    format: InjectionFormatCallback | None
    placement: Placement


class MemoryStoreConfig(TypedDict, total=False):
    """The settings that every store has.

    Attributes:
        name: Names the store in tools, blocks and options; unique within a manager. Required.
        description: Told to the model in the tools' descriptions.
        max_search_results: Entries a search returns when the caller does not say.
        writable: Whether the store takes writes.
        extraction: True for the defaults, or a config; off when absent.
    """

    name: str
    description: str | None
    max_search_results: int | None
    writable: bool
    extraction: bool | ExtractionConfig | None


class MemoryManagerConfig(TypedDict, total=False):
    """The arguments of ``MemoryManager`` as a dict. ``stores`` is required."""

    stores: Sequence[MemoryStore]
    search_tool_config: bool | MemoryToolConfig | None
    add_tool_config: bool | MemoryAddToolConfig | None
    injection: bool | MemoryInjectionConfig | None


class MemoryStore(Protocol):
    """The shape of a long-term memory store.

    The five attributes and ``search`` are required; the rest is optional and counts only when the store's own class
    defines it (:func:`has_method`): what is inherited from this protocol is a place holder.
    """

    name: str
    description: str | None
    max_search_results: int | None
    writable: bool
    extraction: bool | ExtractionConfig | None

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the entries that match ``query``, best first."""
        ...

    async def add(self, content: str, metadata: Metadata | None = None) -> Any:
        """Store one text. A repeated write of the same text should not double it."""
        return _missing(self, "add")

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> Any:
        """Take a batch of conversation messages, in their order, for the backend to extract from."""
        return _missing(self, "add_messages")

    async def initialize(self) -> None:
        """Set up what must work before an agent runs; an exception stops the agent from being made."""
        return

    def get_tools(self) -> list[Any]:
        """Return tools of the store's own, offered after the manager's."""
        return []


def _missing(store: object, method: str) -> Any:
    raise NotImplementedError(f"{type(store).__name__} does not implement {method}.")


def has_method(store: object, name: str) -> bool:
    """Whether the store's class defines the method itself.

    A method found on a class that is a ``typing.Protocol`` (memwb's own or an SDK's) is a place holder and does not
    count, nor does an attribute set on the instance alone.
    """
    for owner in type(store).__mro__:
        if name in owner.__dict__:
            return not getattr(owner, "_is_protocol", False) and callable(getattr(store, name, None))
    return False
