"""Whatever is changed in whatever order, the result is that of a workbench built with the final settings."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from memwb import callbacks
from memwb.errors import ConfigError
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from tests.workbench.fakes import ABOUT_ME, ListStore, tool_call, tool_result

WORK = ("I work with art dealers.", "I use a bike.", "My desk is by the window.")


def yes(context):
    return True


def no(context):
    return False


def failing(context):
    return 1 / 0


def blank(context):
    return "  "


def shout(context):
    return "\n".join(entry.content.upper() for entry in context.entries)


TALKS = [
    "What do I use?",
    ["I like art.", "What else?", "Do I use a cane?"],
    [*[{"role": "user", "content": [{"text": "art"}]}], tool_call(), tool_result("bike")],
    [{"role": "assistant", "content": [{"text": "Hello"}]}],
]

CHANGES = st.one_of(
    st.fixed_dictionaries({"max_entries": st.sampled_from([1, 2, 5, 60, None])}),
    st.fixed_dictionaries({"trigger": st.sampled_from(["userTurn", "everyTurn", yes, no, failing, None])}),
    st.fixed_dictionaries(
        {"query": st.sampled_from([callbacks.last_two_messages, callbacks.whole_history, failing, blank, None])}
    ),
    st.fixed_dictionaries({"format": st.sampled_from([shout, failing, blank, None])}),
    st.fixed_dictionaries({"placement": st.sampled_from(["prepend", "append", None])}),
    st.fixed_dictionaries({"stores": st.sampled_from([["home"], ["work"], ["work", "home"], "home", None])}),
    st.fixed_dictionaries({"tokenizer": st.sampled_from(["any script", "without stop words", "words", None])}),
    st.fixed_dictionaries({"call": st.integers(1, 3)}),
    st.fixed_dictionaries({"messages": st.sampled_from(TALKS)}),
)
TEXTS = st.sampled_from(
    [
        "def query(context):\n    return 'cane'",
        "def query(context):\n    retur",
        "def query(context):\n    return 5",
        "1 / 0\ndef query(context): return 'x'",
        "",
    ]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), CHANGES),
        st.tuples(st.just("type"), TEXTS),
        st.tuples(st.just("edit"), TEXTS),
        st.tuples(st.just("undo"), st.none()),
        st.tuples(st.just("settle"), st.none()),
        st.tuples(st.just("take"), st.integers(0, 3)),
        st.tuples(st.just("look"), st.sampled_from(["", "cane", "e2", "nowhere"])),
    ),
    max_size=12,
)


def stores():
    work = [{"id": f"w{at}", "content": text} for at, text in enumerate(WORK)]
    return [ListStore(*ABOUT_ME, name="home"), TestMemoryStore.from_records(work, name="work")]


async def taken(state, step, value):
    if step == "put":
        try:
            state.put(**value)
        except ConfigError:  # a call that this conversation does not have
            assert "call" in value
    elif step == "type":
        state.type("query", value)
    elif step == "edit":
        before = state.settings
        state.apply("query", value)
        await state.settled()
        assert state.settings == before or state.slots["query"].problem is None or value.endswith("5")
    elif step == "take":
        await state.settled()
        for suggestion in state.preview.suggestions[value : value + 1]:
            trace = await state.take(suggestion)
            assert state.preview.explanation is None or state.preview.explanation.arrived
            assert len(trace.entries) >= suggestion.rank
    elif step == "undo":
        state.undo("query")
    elif step == "look":
        state.look_for(value, pause=0.0)
    else:
        await state.settled()


def built_from(state):
    """A workbench that is made with what the other one has come to."""
    fresh = WorkbenchState(state.source.stores, state.messages, injection=state.injection)
    fresh.put(stores=state.store_names, tokenizer=state.tokenizer, **({"call": state.call} if state.call else {}))
    fresh.look_for(state.looked_for, pause=0.0)
    return fresh


def seen(state):
    trace, preview = state.trace, state.preview
    stages = [(stage.name, stage.status, stage.reason) for stage in trace.stages]
    explanation = preview.explanation and (preview.explanation.sentence, preview.explanation.suggestions)
    notes = [(note.kind, note.text) for note in trace.notes]
    return (
        stages,
        trace.settings,
        trace.query,
        trace.entries,
        trace.text,
        trace.messages,
        trace.hits,
        notes,
        state.hits,
        preview.matching,
        preview.entries,
        explanation,
        repr(state),
    )


@settings(max_examples=80)
@given(STEPS)
def test_any_sequence_of_changes_ends_where_a_workbench_with_the_final_settings_begins(steps):
    async def run():
        state = WorkbenchState(stores(), TALKS[0])
        for step, value in steps:
            await taken(state, step, value)
        await state.settled()
        fresh = built_from(state)
        await fresh.settled()
        assert seen(state) == seen(fresh)
        assert state.injection == fresh.injection
        state.close()
        fresh.close()

    asyncio.run(run())
