"""What holds of every injection, whatever the messages, the settings, the stores and the callbacks."""

from __future__ import annotations

import copy
import logging
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memwb.memory import MemoryEntry, MemoryManager
from memwb.memory.messages import latest_index
from tests.memory.stores import BareStore, FailingStore, ListedStore, WordStore
from tests.memory.test_messages import conversations
from tests.memory.trying import applied

logging.getLogger("memwb.memory").addHandler(logging.NullHandler())

_odd = st.one_of(st.none(), st.text(), st.integers(), st.binary(), st.lists(st.text()), st.booleans())


def returning(value: Any) -> Any:
    return lambda context: value


def raising(context: Any) -> Any:
    raise RuntimeError("lost")


def meddling(context: Any) -> Any:
    for items in vars(context).values():
        if isinstance(items, list):
            items.reverse()
            items.clear()
    return "tea"


callbacks = st.one_of(_odd.map(returning), st.just(raising), st.just(meddling))
configs = st.fixed_dictionaries(
    {},
    optional={
        "max_entries": st.integers(1, 6),
        "trigger": st.sampled_from(["userTurn", "everyTurn"]) | callbacks,
        "query": callbacks,
        "format": callbacks,
        "placement": st.sampled_from(["prepend", "append"]),
    },
)
injections = st.one_of(st.booleans(), st.none(), configs)
contents = st.lists(st.text(max_size=20) | st.just("tea"), max_size=4)
odd_messages = st.lists(
    st.one_of(st.none(), st.integers(), st.dictionaries(st.text(max_size=4), _odd, max_size=2)), max_size=3
)


@st.composite
def stores(draw: Any) -> Any:
    made: list[Any] = []
    for name in draw(st.lists(st.text(min_size=1), min_size=1, max_size=3, unique=True)):
        kind = draw(st.sampled_from([BareStore, WordStore, ListedStore, FailingStore]))
        made.append(kind(name, *([] if kind is FailingStore else map(MemoryEntry, draw(contents)))))
    return made


@given(stores(), injections, conversations)
async def test_injecting_never_raises_and_never_changes_its_input(made: Any, injection: Any, messages: Any) -> None:
    before = copy.deepcopy(messages)
    manager = MemoryManager(made, injection=injection)
    trace = await manager.trace_injection(messages)
    assert messages == before
    assert (trace.messages == before) is (not trace.injected)
    if trace.injected:
        at = latest_index(messages, "user")
        assert at is not None
        changed = [place for place in range(len(before)) if trace.messages[place] != before[place]]
        assert changed == [at]
        assert len(trace.messages[at]["content"]) == len(before[at]["content"]) + 1
        assert {"text": trace.text} in trace.messages[at]["content"] or {"text": f"\n\n{trace.text}"} in trace.messages[
            at
        ]["content"]


@given(stores(), injections, conversations)
async def test_a_trace_agrees_with_itself(made: Any, injection: Any, messages: Any) -> None:
    trace = await MemoryManager(made, injection=injection).trace_injection(messages)
    statuses = [stage.status for stage in trace.stages]
    ended = next((at for at, status in enumerate(statuses) if status != "done"), len(statuses))
    assert statuses[ended + 1 :] == ["not reached"] * len(statuses[ended + 1 :])
    assert trace.injected is (ended == len(statuses))
    assert trace.fired is (statuses[0] == "done")
    assert (trace.skipped_at is None) is trace.injected
    assert (trace.error is not None) is ("failed" in statuses)
    assert [hit.entry for hit in trace.hits if hit.kept] == trace.entries
    assert all((hit.cut_by is None) is hit.kept for hit in trace.hits)
    assert bool(trace.reason) is not trace.injected
    if trace.settings:
        assert len(trace.entries) <= trace.settings.max_entries
    for shown in (repr(trace), *map(repr, trace.stages), *map(repr, trace.hits), *map(repr, trace.notes)):
        shown.encode("utf-8")
        assert "\x1b" not in shown
    trace._repr_html_().encode("utf-8")


@given(stores(), injections, conversations)
async def test_the_same_question_has_the_same_answer(made: Any, injection: Any, messages: Any) -> None:
    manager = MemoryManager(made, injection=injection)
    first, second = await manager.trace_injection(messages), await manager.trace_injection(copy.deepcopy(messages))
    assert (first.messages, first.hits, first.summary) == (second.messages, second.hits, second.summary)


@given(odd_messages, injections)
async def test_messages_of_any_shape_pass_through(messages: Any, injection: Any) -> None:
    manager = MemoryManager([WordStore("home", "tea")], injection=injection)
    trace = await manager.trace_injection(messages)
    assert trace.injected or trace.messages == messages


@settings(max_examples=50)
@given(stores(), injections, conversations, st.text(max_size=5) | st.just("tea"))
async def test_why_always_has_an_answer_that_agrees_with_the_block(
    made: Any, injection: Any, messages: Any, target: str
) -> None:
    manager = MemoryManager(made, injection=injection)
    found = await manager.why(target, messages)
    trace = await manager.trace_injection(messages)
    assert found.sentence.endswith(".")
    if found.arrived:
        assert trace.injected
        assert found.target in [entry.content for entry in trace.entries]
    if trace.injected and target in [entry.content for entry in trace.entries]:
        own_format = isinstance(injection, dict) and "format" in injection
        assert found.arrived or (own_format and found.stage == "format")  # a text that is the same without the entry
    for suggestion in found.suggestions:
        again = await applied(suggestion, made, messages, injection)
        assert again.entries[suggestion.rank - 1].content == found.target
    repr(found).encode("utf-8")
    found._repr_html_().encode("utf-8")
