"""The tools by hand: the payload word for word, a dry run that writes nothing, and search beside injection."""

from __future__ import annotations

import json

import pytest

from memwb import MemoryManager, TestMemoryStore
from memwb.callbacks import last_two_messages
from memwb.errors import ConfigError
from memwb.workbench import WorkbenchState
from memwb.workbench.tools import DryWrite, ToolsState
from tests.workbench.fakes import ABOUT_ME, ListStore, SearchStore, assistant, user

LATEX, ART, CANE, JAZZ = ABOUT_ME


def stored(*contents, name="profile", **given):
    return TestMemoryStore.from_records(list(contents or ABOUT_ME), name=name, **given)


def over(source=None, messages="What do I use?", **given):
    return ToolsState(WorkbenchState(source or stored(), messages, **given))


def outcomes(dry):
    return [(write.content, write.store, write.outcome, write.id) for write in dry]


# -- which tools ----------------------------------------------------------------------------------------------------


async def test_they_are_the_managers_own_with_its_names_and_descriptions():
    config = {"name": "recall", "description": "Look it up."}
    manager = MemoryManager([stored()], search_tool_config=config, add_tool_config=False)
    state = over(manager)

    assert list(state.tools) == ["recall"]
    assert state.tool("recall") is manager.tools[0]
    assert repr(state) == "Tools(recall)"


async def test_stores_without_a_manager_get_both_tools_where_one_of_them_can_be_written_to():
    assert list(over().tools) == ["search_memory", "add_memory"]
    assert list(over(SearchStore(*ABOUT_ME)).tools) == ["search_memory"]


async def test_another_source_brings_its_own_tools():
    state = over()
    state.bench.switch(SearchStore(*ABOUT_ME))

    assert list(state.tools) == ["search_memory"]


async def test_an_unknown_tool_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match="Did you mean 'search_memory'"):
        await over().run("serch_memory", query="jazz")


# -- a call by hand -------------------------------------------------------------------------------------------------


async def test_the_payload_is_what_the_tool_gives_a_model():
    state = over()
    manager = MemoryManager([stored()])

    call = await state.run("search_memory", query="jazz", max_search_results=1)

    assert call.payload == await manager.tools[0](query="jazz", max_search_results=1)
    assert json.loads(call.text) == [
        {"content": JAZZ, "store_name": "profile", "metadata": {"_relevanceScore": 1}},
    ]


async def test_fields_left_blank_are_not_sent():
    call = await over().run("search_memory", {"query": "jazz", "max_search_results": "", "stores": []})

    assert call.arguments == {"query": "jazz"}
    assert call.error == ""


async def test_a_tool_that_fails_tells_what_the_model_would_be_told():
    call = await over().run("search_memory")

    assert (call.error, call.text) == ("search_memory: the argument 'query' is missing.", "")
    assert repr(call) == "ToolCall(search_memory: search_memory: the argument 'query' is missing.)"


async def test_what_the_add_tool_writes_is_found_by_the_workbench():
    state = over(messages="tea?")
    await state.settled()
    assert not state.bench.trace.injected

    call = await state.run("add_memory", entries=["I drink tea."])
    await state.settled()

    assert call.payload == {"stored": 1}
    assert [entry.content for entry in state.bench.trace.entries] == ["I drink tea."]


# -- a dry run ------------------------------------------------------------------------------------------------------


async def test_a_dry_run_says_what_each_store_would_do_and_writes_nothing():
    stores = [stored(name="a"), stored("I drink tea.", name="b")]
    state = over(stores)

    dry = await state.dry_run([f"  {LATEX} ", "I drink tea.", " "])

    known = [record.id for record in await stores[0].page(0, 1)]
    tea = [record.id for record in await stores[1].page(0, 1)]
    assert outcomes(dry) == [
        (f"  {LATEX} ", "a", "repeat", known[0]),
        ("I drink tea.", "a", "new", None),
        (" ", "a", "refused", None),
        (f"  {LATEX} ", "b", "new", None),
        ("I drink tea.", "b", "repeat", tea[0]),
        (" ", "b", "refused", None),
    ]
    assert [await store.count() for store in stores] == [4, 1]


async def test_a_dry_run_foretells_what_the_write_then_does():
    store = stored()
    state = over(store)
    entries = [LATEX, "new one", "new one", "x" * 10]

    dry = await state.dry_run(entries)
    before = await store.count()
    await state.run("add_memory", entries=entries)

    new = [write for write in dry if write.outcome == "new"]
    assert await store.count() - before == len(new) == 2


async def test_what_the_dry_run_refuses_the_write_refuses_with_the_same_words():
    state = over()

    [dry] = await state.dry_run(["bad \ud83d end"])
    call = await state.run("add_memory", entries=["bad \ud83d end"])

    assert dry.outcome == "refused"
    assert dry.sentence.removeprefix("it would be refused: ") in call.error


async def test_a_text_among_thousands_that_hold_it_is_still_found():
    texts = [f"I like jazz. And {at}" for at in range(500)]
    state = over(stored(*texts, "I like jazz."))

    assert outcomes(await state.dry_run(["I LIKE JAZZ.", "I like jazz."]))[1][2] == "repeat"


async def test_a_store_that_lists_nothing_is_told_apart():
    class Writable(SearchStore):
        writable = True

        async def add(self, content, metadata=None):
            raise AssertionError("a dry run writes nothing")

    class Listed(ListStore):
        writable = True

        async def add(self, content, metadata=None):
            raise AssertionError("a dry run writes nothing")

    state = over([Writable(name="dark"), Listed(JAZZ, name="light")])

    assert await state.dry_run([JAZZ]) == (
        DryWrite(JAZZ, "dark", "unknown", "the store takes it; what it holds already it does not list"),
        DryWrite(
            JAZZ,
            "light",
            "repeat",
            "the store holds this text already, as 'e1': whether it would be stored twice is up to the store",
            "e1",
        ),
    )


async def test_a_dry_run_keeps_to_the_stores_in_the_tools_scope():
    manager = MemoryManager([stored(name="a"), stored(name="b")], add_tool_config={"stores": ["b"]})
    state = over(manager)

    assert {write.store for write in await state.dry_run(["x"])} == {"b"}
    with pytest.raises(ConfigError, match="cannot use 'a'"):
        await state.dry_run(["x"], ["a"])


@pytest.mark.parametrize("entries", [[], "jazz"])
async def test_a_dry_run_without_a_list_of_texts_is_refused(entries):
    with pytest.raises(ConfigError, match="list of texts"):
        await over().dry_run(entries)


async def test_a_dry_run_where_no_tool_writes_is_refused():
    with pytest.raises(ConfigError, match="No tool writes here"):
        await over(SearchStore(*ABOUT_ME)).dry_run(["x"])


# -- beside the injection -------------------------------------------------------------------------------------------


async def test_the_limits_of_three_five_and_ten_make_the_difference():
    contents = [f"jazz {at}" for at in range(12)]
    comparison = await over(stored(*contents)).compare("jazz")

    assert [(entry.tool, entry.injected) for entry in comparison.entries] == (
        [(True, True)] * 3 + [(False, True)] * 2 + [(False, False)] * 5
    )
    assert comparison.entries[3].reason == "rank 4: the search tool takes 3 of each store by default"
    assert comparison.sentence == (
        "The search tool returns 3 entries (by default at most 3 of each store), the injection brings 5 (at most 5 in "
        "all), store.search alone returns 10 (at most 10 of each store)."
    )


async def test_entries_that_an_earlier_store_crowds_out_say_so():
    stores = [stored(*(f"jazz {at}" for at in range(6)), name="a"), stored("jazz b", name="b")]
    comparison = await over(stores, injection={"max_entries": 3}).compare("jazz")

    last = comparison.entries[-1]
    assert (last.content, last.tool, last.injected) == ("jazz b", True, False)
    assert last.reason == "the injection takes 3 in all, and entries of earlier stores or ranks fill them"


async def test_it_agrees_with_the_tool_and_the_injection_themselves():
    manager = MemoryManager([stored(*(f"jazz {at}" for at in range(7)))])
    comparison = await over(manager).compare("jazz 5")

    tool = [item["content"] for item in await manager.tools[0](query="jazz 5")]
    trace = await manager.trace_injection([user("jazz 5")])
    assert [entry.content for entry in comparison.entries if entry.tool] == tool
    assert [entry.content for entry in comparison.entries if entry.injected] == [e.content for e in trace.entries]
    assert comparison.trace.text == trace.text


async def test_what_the_injection_adds_is_not_counted_as_the_stores_own_answer():
    comparison = await over(injection={"query": lambda context: "cane latex jazz"}).compare("art")

    assert "store.search alone returns 1 (" in comparison.sentence
    assert len(comparison.entries) == 4


async def test_a_store_that_the_injection_does_not_ask_is_the_reason():
    state = over([stored(JAZZ, name="a"), stored("jazz b", name="b")])
    await state.bench.set(stores=["a"])

    comparison = await state.compare("jazz")

    assert comparison.entries[-1].reason == "this store is not among those that the injection asks"


async def test_a_store_that_fails_is_named():
    down = SearchStore(name="down", error=OSError("no route"))
    comparison = await over([stored(), down]).compare("jazz")

    assert comparison.sentence.endswith("Store 'down' failed: OSError('no route').")


async def test_a_manager_without_a_search_tool_says_that_the_model_has_none():
    manager = MemoryManager([stored()], search_tool_config=False, add_tool_config=True)
    comparison = await over(manager).compare("jazz")

    assert comparison.sentence.startswith("A search tool, which the model does not have, would return 1 entry")


async def test_a_store_of_ones_own_kind_that_keeps_texts_once_is_told_as_such():
    class Mine(TestMemoryStore):
        __test__ = False

    mine = Mine(name="mine", persist=False)
    await mine.add(JAZZ)

    [dry] = await over(mine).dry_run([JAZZ])
    assert dry.sentence.endswith("the first is kept, the repeat and its metadata are dropped")


async def test_a_query_callback_that_asks_for_something_else_is_named():
    state = over(injection={"query": lambda context: "cane"})
    comparison = await state.compare("jazz")

    assert comparison.query == "cane"
    assert comparison.sentence.endswith("The injection searched for 'cane'.")
    assert {entry.content: entry.reason for entry in comparison.entries if entry.tool != entry.injected} == {
        JAZZ: "the injection searched for 'cane'",
        CANE: "the text itself does not find it: the injection searched for 'cane'",
    }


async def test_what_only_a_longer_list_reaches_is_told_by_its_rank():
    contents = [f"jazz {at}" for at in range(12)]
    comparison = await over(stored(*contents), injection={"max_entries": 12}).compare("jazz")

    assert len(comparison.entries) == 12
    assert comparison.entries[-1].reason == "rank 12: the search tool takes 3 of each store by default"


async def test_an_injection_that_is_off_or_skips_says_why():
    off = await over(injection=False).compare("jazz")
    assert off.sentence.endswith("Nothing is injected: skipped at trigger: injection is off.")
    assert off.entries[0].reason == "nothing is injected: skipped at trigger: injection is off"


async def test_the_callbacks_of_the_workbench_are_used():
    talk = [user("cane"), assistant("jazz"), user("And?")]
    comparison = await over(messages=talk, injection={"query": last_two_messages}).compare("latex")

    assert comparison.query == "latex"


async def test_a_blank_text_is_refused():
    with pytest.raises(ConfigError, match="Give a text"):
        await over().compare("  ")


async def test_closing_it_leaves_the_workbench_alone():
    state = over()
    state.close()

    assert len(state.bench._subscribers) == 0
