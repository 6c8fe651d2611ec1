"""Filters with formats and with one another, and queries that remember: as objects and as the code that they are."""

from __future__ import annotations

import asyncio
from contextvars import Context
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb import callbacks
from memwb.callbacks import Filtered, Remembering, source_of
from memwb.errors import ConfigError
from memwb.memory import InjectionFormatContext, InjectionQueryContext, MemoryEntry, MemoryManager
from tests.callbacks.test_source import run
from tests.memory.stores import BareStore, assistant, user


def contents(filter: Any, *entries: MemoryEntry) -> list[str]:
    return [entry.content for entry in filter(list(entries))]


def scored(content: str, score: Any, store: str = "home") -> MemoryEntry:
    return MemoryEntry(content, store, {"_relevanceScore": score})


def test_a_floor_leaves_out_lower_scores_and_keeps_what_has_none() -> None:
    entries = [scored("a", 2), scored("b", 1.9), scored("c", None), MemoryEntry("d")]
    assert contents(callbacks.score_floor, *entries) == ["a", "c", "d"]
    assert contents(partial(callbacks.score_floor, least=0.5), *entries) == ["a", "b", "c", "d"]


def test_duplicates_of_any_store_leave_the_first() -> None:
    entries = [MemoryEntry("Tea  please", "a"), MemoryEntry("milk", "a"), MemoryEntry("tea please\n", "b")]
    assert contents(callbacks.no_duplicates, *entries) == ["Tea  please", "milk"]


async def text_of(manager: MemoryManager, *messages: Any) -> str | None:
    return (await manager.trace_injection(list(messages))).text


UNSAID: Any = {"query": Remembering(), "format": Filtered(callbacks.bullet_list, callbacks.not_said)}


async def test_what_the_conversation_says_already_is_left_out() -> None:
    store = BareStore("home", "I like tea.", "like", "I like", "te", "I do not like tea", "🍵")
    trace = await MemoryManager([store], injection={**UNSAID, "max_entries": 9}).trace_injection(
        [user("Tea?"), assistant("..."), user("Yes: I LIKE tea!")]
    )
    assert trace.text == "<memory>\n- te\n- I do not like tea\n- 🍵\n</memory>"


async def test_where_nothing_stays_nothing_is_injected() -> None:
    trace = await MemoryManager([BareStore("home", "tea")], injection=UNSAID).trace_injection([user("tea")])
    assert (trace.injected, trace.skipped_at, trace.error) == (False, "format", None)


async def test_without_a_query_that_remembers_the_format_says_what_it_needs() -> None:
    injection: Any = {"format": Filtered(callbacks.bullet_list, callbacks.not_said)}
    manager = MemoryManager([BareStore("home", "tea")], injection=injection)
    trace = await asyncio.create_task(manager.trace_injection([user("tea")]), context=Context())
    assert trace.skipped_at == "format"
    assert "needs a query that remembers the conversation" in trace.reason


async def test_agents_that_share_a_manager_do_not_mix_up_their_conversations() -> None:
    class Waiting(BareStore):
        async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
            await asyncio.sleep(0.01 if query == "tea" else 0.005)
            return await super().search(query, options)

    manager = MemoryManager([Waiting("home", "tea", "milk")], injection=UNSAID)
    assert await asyncio.gather(*[text_of(manager, user(word)) for word in ("tea", "milk", "jazz")]) == [
        "<memory>\n- milk\n</memory>",
        "<memory>\n- tea\n</memory>",
        "<memory>\n- tea\n- milk\n</memory>",
    ]


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'bullets' is no function; give a format and then filters"):
        Filtered("bullets")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"3 is no function"):
        Filtered(callbacks.bullet_list, 3)  # type: ignore[arg-type]


def test_the_filters_stand_at_the_top_of_the_format_as_code() -> None:
    source = source_of(Filtered(callbacks.bullet_list, callbacks.no_duplicates, callbacks.score_floor)) or ""
    assert source.count("def ") == 3
    assert (
        '    """Write a block with a line for each memory; a line break inside of one becomes a blank."""\n'
        "    context.entries = no_duplicates(context.entries)\n"
        "    context.entries = score_floor(context.entries)\n"
        "    if not context.entries:\n"
        '        return ""\n' in source
    )


_FILTERS = [callbacks.no_duplicates, partial(callbacks.score_floor, least=1), callbacks.not_said]
_entries = st.lists(
    st.builds(scored, st.sampled_from(["tea", "Tea ", "milk <b>", "jazz\n", ""]), st.sampled_from([None, 0, 1, 2.5])),
    min_size=1,
    max_size=5,
)


@given(_entries, st.lists(st.sampled_from(_FILTERS), unique_by=id, max_size=3), st.sampled_from(["tea", "no", ""]))
@pytest.mark.parametrize("format", [callbacks.default_block, callbacks.grouped_by_store, callbacks.bullet_list])
def test_the_code_does_what_the_combination_does(format: Any, entries: Any, filters: Any, said: str) -> None:
    together, query = Filtered(format, *filters), Remembering()
    typed = run(source_of(together) or "")[format.__name__]
    asked = run(source_of(query) or "")["latest_user_message"]
    messages = InjectionQueryContext([user(said)])
    assert asked(messages) == query(messages)
    expected = together(InjectionFormatContext(list(entries)))
    assert typed(InjectionFormatContext(list(entries))) == expected
