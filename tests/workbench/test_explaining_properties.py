"""A suggestion was tried: applied, it never fails to bring the entry in, at its place and with the others it named."""

from __future__ import annotations

import asyncio
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from memwb import callbacks
from memwb.callbacks import Filtered, Remembering
from memwb.ranking import tokenize_without_stop_words
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from tests.workbench.fakes import assistant, tool_call, tool_result, user

WORDS = ["tea", "Tea", "teas", "the", "is", "green", "北京", "茶在北京", "caf\u00e9", "cafe\u0301", "<b>", "not"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
stores = st.lists(st.lists(texts, max_size=9, unique=True), min_size=1, max_size=3)
talks = st.lists(
    st.one_of(
        texts.map(user), texts.map(user), texts.map(assistant), st.just(tool_call()), st.just(tool_result("tea is"))
    ),
    min_size=1,
    max_size=5,
)


def longest_alone(context):
    return max((entry.content for entry in context.entries), key=len)


def shouting(context):
    return "\n".join(entry.content.upper() for entry in context.entries)


def failing(context):
    return 1 / 0


FLOOR = partial(callbacks.score_floor, least=2)
FORMATS = [
    None,
    callbacks.bullet_list,
    partial(callbacks.token_budgeted, budget=12),
    Filtered(callbacks.default_block, callbacks.no_duplicates),
    Filtered(callbacks.bullet_list, FLOOR, callbacks.no_duplicates),
    Filtered(callbacks.bullet_list, callbacks.not_said),
    longest_alone,
    shouting,
    failing,
]
injections = st.booleans() | st.fixed_dictionaries(
    {},
    optional={
        "max_entries": st.integers(1, 4),
        "trigger": st.sampled_from(["userTurn", "everyTurn"]),
        "query": st.sampled_from([Remembering(), callbacks.last_two_messages, failing]),
        "format": st.sampled_from(FORMATS),
    },
)


@settings(max_examples=120)
@given(stores, talks, injections, st.data())
def test_a_suggestion_that_is_applied_never_fails_to_bring_the_entry_in(contents, talk, injection, data):
    def made():
        tokenizers = [{}, {"tokenizer": tokenize_without_stop_words}]
        return [
            TestMemoryStore.from_records(
                [{"id": f"{name}{at}", "content": text} for at, text in enumerate(held)],
                name=name,
                **tokenizers[len(held) % 2],
            )
            for name, held in zip("ABC", contents, strict=False)
        ]

    async def run():
        state = WorkbenchState(made(), talk, injection=injection)
        await state.settled()
        chosen = data.draw(st.lists(st.sampled_from(state.store_names), min_size=1, max_size=3, unique=True))
        call = data.draw(st.integers(1, len(state.calls))) if state.call else None
        await state.set(stores=chosen, call=call)
        known = [f"{name}{at}" for name, held in zip("ABC", contents, strict=False) for at in range(len(held))]
        target = data.draw(st.sampled_from(known) if known else st.just("tea"))
        found = await state.why(target)
        before = {(one.store_name, one.content) for one in state.trace.entries} if state.trace.injected else set()
        for suggestion in found.suggestions:
            other = WorkbenchState(made(), talk, injection=injection, editable=True)
            await other.set(stores=chosen, call=call)
            trace = await other.take(suggestion)
            content = found.target
            if "edit" in suggestion.settings:
                await other.entries.write()
                await other.settled()
                trace, content = other.trace, suggestion.settings["edit"]["content"]
            entry = trace.entries[suggestion.rank - 1]
            assert (entry.content, entry.store_name) == (content, found.store)
            assert (await other.why(target)).arrived
            new = {(one.store_name, one.content) for one in trace.entries} - before - {(found.store, content)}
            assert len(new) == suggestion.also == len(suggestion.brings)
            other.close()
        assert not (found.arrived and found.suggestions)
        assert found.arrived == ((found.store, found.target) in before) or found.stage == "format"
        state.close()

    asyncio.run(run())
