"""Types of long-term memory: entries, and which methods of a store count."""

from __future__ import annotations

import asyncio
import copy
import pickle
from dataclasses import asdict
from typing import Any, Protocol

import pytest

import memwb.memory as memory
from memwb.memory import InjectionContext, InjectionFormatContext, InjectionQueryContext, MemoryEntry, MemoryStore
from memwb.memory.types import has_method, identified
from tests.memory.stores import AddStore, BareStore


def test_an_entry_holds_content_store_and_metadata_in_this_order() -> None:
    entry = MemoryEntry("tea", "home", {"cup": 1})
    assert entry == MemoryEntry(content="tea", store_name="home", metadata={"cup": 1})
    assert repr(entry) == "MemoryEntry(content='tea', store_name='home', metadata={'cup': 1})"


def test_an_entry_without_an_id_says_none() -> None:
    assert MemoryEntry("tea").id is None


def test_an_id_is_no_part_of_equality_repr_or_asdict() -> None:
    plain, named = MemoryEntry("tea"), identified(MemoryEntry("tea"), "r1")
    assert named.id == "r1"
    assert named == plain
    assert repr(named) == repr(plain)
    assert asdict(named) == {"content": "tea", "store_name": None, "metadata": None}


def test_an_id_cannot_be_assigned() -> None:
    with pytest.raises(AttributeError):
        MemoryEntry("tea").id = "r1"  # type: ignore[misc]


def test_no_id_leaves_an_entry_without_one() -> None:
    assert identified(MemoryEntry("tea"), None).id is None


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda entry: pickle.loads(pickle.dumps(entry))])
def test_an_id_survives_copying(again: Any) -> None:
    assert again(identified(MemoryEntry("tea"), "r1")).id == "r1"


class _Inheriting(MemoryStore):
    def __init__(self) -> None:
        self.name, self.description, self.max_search_results = "inheriting", None, None
        self.writable, self.extraction = False, None


class _Adding(_Inheriting):
    async def add(self, content: str, metadata: Any = None) -> str:
        return "added"


class _GrandChild(_Adding):
    pass


class _Withdrawn(_Adding):
    add = None  # type: ignore[assignment]


class _ForeignProtocol(Protocol):
    async def add(self, content: str, metadata: Any = None) -> Any: ...


class _Foreign(_ForeignProtocol):
    pass


class _ForeignAdding(_ForeignProtocol):
    async def add(self, content: str, metadata: Any = None) -> Any:
        return "added"


class _Mixin:
    async def add(self, content: str, metadata: Any = None) -> Any:
        return "mixed in"


class _MixedIn(_Mixin, _Inheriting):
    pass


class _ShadowedMixin(_Inheriting, _Mixin):
    pass


@pytest.mark.parametrize(
    ("store", "counts"),
    [
        (_Inheriting(), False),
        (_Adding(), True),
        (_GrandChild(), True),
        (_Withdrawn(), False),
        (_Foreign(), False),
        (_ForeignAdding(), True),
        (_MixedIn(), True),
        (_ShadowedMixin(), False),
        (BareStore("bare"), False),
        (AddStore("add"), True),
    ],
    ids=lambda value: type(value).__name__.strip("_"),
)
def test_a_method_counts_when_the_class_defines_it(store: Any, counts: bool) -> None:
    assert has_method(store, "add") is counts


def test_a_method_set_on_the_instance_alone_does_not_count() -> None:
    store = BareStore("bare")
    store.add = lambda content: None  # type: ignore[attr-defined]
    assert not has_method(store, "add")


@pytest.mark.parametrize("name", ["add", "add_messages"])
async def test_calling_an_inherited_write_names_the_class(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"_Inheriting does not implement {name}"):
        await getattr(_Inheriting(), name)([])


async def test_the_other_inherited_methods_do_nothing() -> None:
    store = _Inheriting()
    assert (await store.initialize(), store.get_tools()) == (None, [])


def test_every_public_name_is_there() -> None:
    documented = """
        AddMessagesContext AggregateMemoryError ExtractionConfig ExtractionResult ExtractionTrigger
        ExtractionTriggerContext Extractor ExtractorContext InjectionConfig InjectionContext InjectionFormatContext
        InjectionQueryContext InjectionTrigger IntervalTrigger InvocationTrigger MemoryAddOptions MemoryAddToolConfig
        MemoryContentBlockType MemoryEntry MemoryInjectionConfig MemoryManager MemoryManagerConfig MemoryMessageFilter
        MemorySearchOptions MemoryStore MemoryStoreConfig MemoryToolConfig Metadata ModelExtractor
        SearchOptions InjectionQueryCallback InjectionFormatCallback InjectionTrace Model ExtractionLog
    """.split()
    assert [name for name in documented if name not in memory.__all__] == []
    assert [name for name in memory.__all__ if not hasattr(memory, name)] == []


def test_typed_dicts_take_every_key_as_optional() -> None:
    empty: list[Any] = [
        memory.SearchOptions(),
        memory.MemorySearchOptions(),
        memory.MemoryAddOptions(),
        memory.MemoryToolConfig(),
        memory.MemoryAddToolConfig(),
        memory.MemoryInjectionConfig(),
        memory.MemoryStoreConfig(),
    ]
    assert all(options == {} for options in empty)


def test_contexts_are_dataclasses_with_the_documented_fields() -> None:
    assert memory.InjectionContext(messages=[]) == memory.InjectionContext([], None, None)
    assert memory.InjectionQueryContext(messages=[]).messages == []
    assert memory.InjectionFormatContext(entries=[]).entries == []
    assert memory.AddMessagesContext().sequence_numbers is None


def test_a_store_is_usable_without_inheriting_anything() -> None:
    manager = memory.MemoryManager([BareStore("bare", "tea")])
    assert asyncio.run(manager.search("anything")) == [MemoryEntry("tea", "bare")]


@pytest.mark.parametrize(
    ("context", "read", "told"),
    [
        (InjectionQueryContext([]), lambda c: c.message, ".messages, no 'message'. Did you mean 'messages'?"),
        (InjectionFormatContext([]), lambda c: c.messages, ".entries, no 'messages'."),
        (InjectionContext([]), lambda c: c.tools, ".messages, .state, .agent, no 'tools'."),
        (InjectionQueryContext([]), list, ".messages and is no list or dict itself; read context.messages."),
        (InjectionFormatContext([]), lambda c: c[0], ".entries and is no list or dict itself; read context.entries."),
    ],
)
def test_a_context_names_its_fields_to_a_callback_that_reads_another_one(context: Any, read: Any, told: str) -> None:
    with pytest.raises((AttributeError, TypeError)) as error:
        read(context)
    assert str(error.value) == f"{type(context).__name__} has {told}"
    assert copy.deepcopy(context) == pickle.loads(pickle.dumps(context)) == context
