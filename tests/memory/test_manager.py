"""MemoryManager: what it refuses when built, search, add, flush and init_agent."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from memwb.errors import AggregateMemoryError, ConfigError, StoreNotFoundError
from memwb.memory import (
    IntervalTrigger,
    InvocationTrigger,
    MemoryEntry,
    MemoryManager,
    MemoryMessageFilter,
    ModelExtractor,
)
from memwb.memory.types import identified
from tests.memory.stores import AddStore, BareStore, FailingStore, MessageStore, WordStore, user


def test_the_name_is_the_documented_one() -> None:
    assert MemoryManager.name == MemoryManager([BareStore("s")]).name == "strands:memory-manager"


def test_the_repr_names_the_stores_and_shows_control_characters() -> None:
    assert repr(MemoryManager([BareStore("home"), BareStore("w\x1b[31m")])) == "MemoryManager(home, w\\x1b[31m)"


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    ([], {}, "at least one store is needed"),
    ("home", {}, "stores must be a list of stores, not 'home'"),
    (BareStore("home"), {}, "stores must be a list of stores"),
    ([BareStore("home"), BareStore("home")], {}, "two stores are named 'home'"),
    ([object()], {}, "object is no memory store: it lacks name, description"),
    ([BareStore("home", writable=True)], {}, "store 'home' is writable but has no add or add_messages"),
    ([BareStore("home", max_search_results=0)], {}, "store 'home': max_search_results is 0"),
    ([BareStore("home", max_search_results="3")], {}, "store 'home': max_search_results is '3'"),
    ([AddStore("home", extraction=True, writable=False)], {}, "store 'home' has extraction but is not writable"),
    ([AddStore("home", extraction={"trigger": []})], {}, "store 'home' has extraction with an empty list of triggers"),
    (
        [MessageStore("home", extraction={"extractor": ModelExtractor()})],
        {},
        "'home' has an extractor but no add",
    ),
    ([AddStore("home", extraction={"triger": []})], {}, "Did you mean 'trigger'?"),
    ([AddStore("home", extraction="always")], {}, "store 'home' has extraction 'always'"),
    (
        [AddStore("home", extraction={"trigger": InvocationTrigger})],
        {},
        "write InvocationTrigger(...)",
    ),
    (
        [AddStore("home", extraction={"trigger": 5})],
        {},
        "the extraction trigger 5, which has no attach",
    ),
    ([AddStore("home", extraction={"extractor": len})], {}, "has no extract to call"),
    ([AddStore("home", extraction={"filter": ["text"]})], {}, "write MemoryMessageFilter(exclude=[...])"),
    ([AddStore("home", extraction={"filter": MemoryMessageFilter(["tooluse"])})], {}, "Did you mean 'toolUse'?"),  # type: ignore[list-item]
    ([BareStore("home")], {"add_tool_config": True}, "add_tool_config is on but no writable store has an add method"),
    ([MessageStore("home")], {"add_tool_config": {}}, "add_tool_config is on but no writable store has an add method"),
    ([AddStore("home")], {"add_tool_config": {"stores": ["hom"]}}, "Did you mean 'home'?"),
    ([AddStore("home"), BareStore("away")], {"add_tool_config": {"stores": ["away"]}}, "'away' is read-only"),
    ([AddStore("home"), MessageStore("log")], {"add_tool_config": {"stores": ["log"]}}, "'log' has no add method"),
    ([AddStore("home")], {"add_tool_config": {"stores": "home"}}, "must be a list of names, not the text 'home'"),
    ([AddStore("home")], {"add_tool_config": {"wait": False}}, "add_tool_config has no key 'wait'"),
    ([AddStore("home")], {"add_tool_config": "yes"}, "add_tool_config must be True, False or a dict, not 'yes'"),
    ([BareStore("home")], {"search_tool_config": {"nam": "find"}}, "Did you mean 'name'?"),
    ([BareStore("home")], {"search_tool_config": 1}, "search_tool_config must be True, False or a dict, not 1"),
    ([BareStore("home")], {"injection": {"max_entry": 1}}, "Did you mean 'max_entries'?"),
]


@pytest.mark.parametrize(("stores", "settings", "words"), REFUSED, ids=[words[:50] for _, _, words in REFUSED])
def test_what_could_only_fail_later_is_refused_when_built(stores: Any, settings: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        MemoryManager(stores, **settings)
    assert str(caught.value).startswith("MemoryManager: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("store", "extraction"),
    [
        (AddStore("s"), True),
        (AddStore("s"), {}),
        (AddStore("s"), None),
        (AddStore("s"), {"trigger": InvocationTrigger()}),
        (AddStore("s"), {"trigger": [IntervalTrigger(2), InvocationTrigger()], "filter": MemoryMessageFilter()}),
        (AddStore("s"), {"extractor": ModelExtractor()}),
        (MessageStore("s"), True),
        (MessageStore("s"), {"trigger": IntervalTrigger(1)}),
        (BareStore("s"), False),
    ],
)
def test_extraction_that_can_work_is_taken(store: Any, extraction: Any) -> None:
    store.extraction = extraction
    assert MemoryManager([store]).stores == (store,)


@pytest.mark.parametrize("turns", [0, -1, True, 2.0, "5", None])
def test_an_interval_of_no_turns_is_refused(turns: Any) -> None:
    with pytest.raises(ConfigError, match=r"IntervalTrigger: turns is .* at least 1"):
        IntervalTrigger(turns)


class TestSearch:
    async def test_entries_come_in_store_order_with_their_stores_name(self) -> None:
        manager = MemoryManager([WordStore("b", "tea 1"), WordStore("a", "tea 2", "tea 3 tea four")])
        assert await manager.search("tea four") == [
            MemoryEntry("tea 1", "b", {"_relevanceScore": 1}),
            MemoryEntry("tea 3 tea four", "a", {"_relevanceScore": 2}),
            MemoryEntry("tea 2", "a", {"_relevanceScore": 1}),
        ]

    async def test_entries_are_new_ones_and_keep_their_ids(self) -> None:
        own = identified(MemoryEntry("tea", "its own name"), "r1")
        found = await MemoryManager([BareStore("home", own)]).search("x")
        assert (found[0].store_name, found[0].id) == ("home", "r1")
        assert own.store_name == "its own name"

    @pytest.mark.parametrize(
        ("own", "given", "asked"),
        [(None, None, 3), (7, None, 7), (7, 2, 2), (None, 2, 2), (1, 9, 9)],
    )
    async def test_the_limit_is_the_callers_else_the_stores_else_three(self, own: Any, given: Any, asked: int) -> None:
        store = BareStore("home", max_search_results=own)
        await MemoryManager([store]).search("tea", {"max_search_results": given} if given else None)
        assert store.asked == [("tea", {"max_search_results": asked})]

    async def test_named_stores_are_asked_in_the_order_named_and_once(self) -> None:
        first, second, third = (WordStore(name, "tea") for name in "abc")
        found = await MemoryManager([first, second, third]).search("tea", {"stores": ["c", "a", "c"]})
        assert [entry.store_name for entry in found] == ["c", "a"]
        assert (len(first.asked), len(second.asked), len(third.asked)) == (1, 0, 1)

    async def test_no_names_searches_none(self) -> None:
        store = WordStore("a", "tea")
        assert await MemoryManager([store]).search("tea", {"stores": []}) == []
        assert store.asked == []

    async def test_none_as_an_option_is_as_if_absent(self) -> None:
        store = WordStore("a", "tea")
        assert len(await MemoryManager([store]).search("tea", {"stores": None, "max_search_results": None})) == 1

    async def test_an_unknown_store_is_an_error_before_any_is_asked(self) -> None:
        store = WordStore("alpha", "tea")
        with pytest.raises(StoreNotFoundError) as caught:
            await MemoryManager([store]).search("tea", {"stores": ["alpha", "alpa"]})
        assert (caught.value.name, caught.value.known, store.asked) == ("alpa", ("alpha",), [])
        assert "Did you mean 'alpha'?" in str(caught.value)
        assert isinstance(caught.value, ValueError)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"max_results": 3}, "Did you mean 'max_search_results'?"),
            ({"max_search_results": 0}, "max_search_results is 0"),
            ({"max_search_results": "3"}, "max_search_results is '3'"),
            ({"stores": "alpha"}, "must be a list of names, not the text 'alpha'"),
        ],
    )
    async def test_options_that_cannot_be_meant_are_refused(self, options: Any, words: str) -> None:
        with pytest.raises(ConfigError, match=r"^MemoryManager: ") as caught:
            await MemoryManager([WordStore("alpha", "tea")]).search("tea", options)
        assert words in str(caught.value)

    async def test_a_store_that_raises_is_logged_left_out_and_listed(self, caplog: Any) -> None:
        error = ConnectionError("no route")
        with caplog.at_level(logging.WARNING, "memwb.memory"):
            found = await MemoryManager([FailingStore("cloud", error), WordStore("home", "tea")]).search("tea")
        assert [entry.content for entry in found] == ["tea"]
        assert found.failures == {"cloud": error}
        assert "store 'cloud' failed to search: ConnectionError('no route')" in caplog.text

    async def test_stores_are_searched_at_the_same_time(self) -> None:
        all_asked = asyncio.Barrier(8)

        class Waiting(BareStore):
            async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
                await all_asked.wait()
                return [MemoryEntry(self.name)]

        manager = MemoryManager([Waiting(str(at)) for at in range(8)])
        found = await asyncio.wait_for(manager.search("x"), 10)
        assert [entry.content for entry in found] == [str(at) for at in range(8)]


class TestAdd:
    async def test_a_text_goes_to_every_writable_store_that_has_add(self) -> None:
        first, second = AddStore("first"), AddStore("second")
        manager = MemoryManager([first, WordStore("read-only"), MessageStore("messages"), second])
        await manager.add("tea")
        assert (first.writes, second.writes) == ([("tea", None)], [("tea", None)])

    async def test_named_stores_alone_get_it_with_its_metadata(self) -> None:
        first, second = AddStore("first"), AddStore("second")
        await MemoryManager([first, second]).add("tea", {"stores": ["second", "second"], "metadata": {"n": 1}})
        assert (first.writes, second.writes) == ([], [("tea", {"n": 1})])

    @pytest.mark.parametrize(
        ("names", "words"),
        [
            (["frist"], "Did you mean 'first'?"),
            (["read-only"], "store 'read-only' is read-only"),
            (["messages"], "store 'messages' has no add method"),
            ([], "no writable store to add to"),
            ("first", "must be a list of names"),
        ],
    )
    async def test_a_store_that_cannot_take_it_is_an_error_and_nothing_is_written(self, names: Any, words: str) -> None:
        store = AddStore("first")
        manager = MemoryManager([store, WordStore("read-only"), MessageStore("messages")])
        with pytest.raises(ValueError, match=r"^MemoryManager: ") as caught:
            await manager.add("tea", {"stores": ["first", *names] if names and isinstance(names, list) else names})
        assert words in str(caught.value)
        assert store.writes == []

    async def test_without_any_writable_store_it_is_an_error(self) -> None:
        with pytest.raises(ConfigError, match="no writable store to add to"):
            await MemoryManager([WordStore("read-only")]).add("tea")

    async def test_unknown_options_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="Did you mean 'metadata'"):
            await MemoryManager([AddStore("first")]).add("tea", {"metadat": {}})  # type: ignore[typeddict-unknown-key]

    async def test_failures_are_gathered_and_the_others_stand(self) -> None:
        stores = [AddStore("a", refuses=["tea"]), AddStore("b"), AddStore("c", refuses=["tea"])]
        with pytest.raises(AggregateMemoryError) as caught:
            await MemoryManager(stores).add("tea")
        assert caught.value.stores == ("a", "c")
        assert list(map(repr, caught.value.errors)) == ["OSError('a is full')", "OSError('c is full')"]
        assert str(caught.value) == "MemoryManager: writing to a, c failed: a: a is full; c: c is full"
        assert stores[1].writes == [("tea", None)]

    async def test_an_add_that_is_no_coroutine_is_a_failed_write(self) -> None:
        class Blocking(AddStore):
            def add(self, content: str, metadata: Any = None) -> Any:
                raise OSError("too early")

        other = AddStore("other")
        with pytest.raises(AggregateMemoryError) as caught:
            await MemoryManager([Blocking("blocking"), other]).add("tea")
        assert (caught.value.stores, other.writes) == (("blocking",), [("tea", None)])

    async def test_writes_are_made_at_the_same_time(self) -> None:
        all_begun = asyncio.Barrier(8)

        class Waiting(AddStore):
            async def add(self, content: str, metadata: Any = None) -> str:
                await all_begun.wait()
                return "done"

        await asyncio.wait_for(MemoryManager([Waiting(str(at)) for at in range(8)]).add("tea"), 10)


class TestInitAgent:
    async def test_stores_that_want_it_are_initialised_in_order(self) -> None:
        order: list[str] = []

        class Remote(BareStore):
            async def initialize(self) -> None:
                order.append(self.name)

        await MemoryManager([Remote("one"), BareStore("two"), Remote("three")]).init_agent(object())
        assert order == ["one", "three"]

    async def test_a_stores_exception_passes_through(self) -> None:
        class Unreachable(BareStore):
            async def initialize(self) -> None:
                raise ConnectionError("no such table")

        with pytest.raises(ConnectionError, match="no such table"):
            await MemoryManager([Unreachable("remote")]).init_agent(object())


class TestSharedFiles:
    @pytest.mark.parametrize("other", ["same.json", "sub/../same.json", "./same.json"])
    def test_b35_two_stores_on_one_file_are_refused_naming_both(self, tmp_path: Path, other: str) -> None:
        (tmp_path / "sub").mkdir()
        first = BareStore("a/b", path=tmp_path / "same.json")
        second = BareStore("a_b", path=str(tmp_path / other))
        with pytest.raises(ConfigError, match=r"stores 'a/b' and 'a_b' share the file .*same\.json"):
            MemoryManager([first, second])

    def test_b35_links_to_one_file_are_seen_through(self, tmp_path: Path) -> None:
        (tmp_path / "real.json").write_text("[]")
        (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
        with pytest.raises(ConfigError, match="share the file"):
            MemoryManager([BareStore("a", path=tmp_path / "real.json"), BareStore("b", path=tmp_path / "link.json")])

    def test_stores_on_files_of_their_own_are_taken(self, tmp_path: Path) -> None:
        stores = [BareStore("a", path=tmp_path / "a.json"), BareStore("b", path=tmp_path / "b.json")]
        assert MemoryManager([*stores, BareStore("c", path=None), BareStore("d")]).stores[:2] == tuple(stores)


class TestLoops:
    def test_b25_one_manager_serves_one_loop_after_another(self) -> None:
        store = AddStore("home")
        manager = MemoryManager([store, AddStore("away")])

        async def two(first: str, second: str) -> None:
            await asyncio.gather(manager.add(first), manager.add(second))
            assert len(await manager.search("tea", {"max_search_results": 9})) == 2 * len(store.writes)

        asyncio.run(two("tea 1", "tea 2"))
        asyncio.run(two("tea 3", "tea 4"))
        assert [content for content, _ in store.writes] == ["tea 1", "tea 2", "tea 3", "tea 4"]

    async def test_flush_without_anything_to_do_returns(self) -> None:
        await MemoryManager([AddStore("home")]).flush()

    async def test_one_manager_answers_many_calls_at_once(self) -> None:
        manager = MemoryManager([WordStore("home", "tea", "coffee")])
        traces = await asyncio.gather(*(manager.inject([user(word)]) for word in ["tea", "coffee", "milk"] * 20))
        assert [len(messages[0]["content"]) for messages in traces] == [2, 2, 1] * 20
