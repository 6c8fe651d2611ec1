"""A recorded conversation is gone through as an agent would: the same hooks, the same injections, step by step."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwb.errors import ConfigError
from memwb.memory import (
    AfterInvocation,
    BeforeModelCall,
    InvocationTrigger,
    MemoryManager,
    MessageAdded,
    ModelExtractor,
    model_calls,
)
from memwb.stores import TestMemoryStore
from memwb.testing import FaultyStore, ReplayAgent, ScriptedModel, frozen
from tests.memory.stores import BareStore, assistant, tool_result, tool_use, user

TALK = [
    user("Is latex safe for me?"),
    tool_use(),
    tool_result("latex: see allergies"),
    assistant("You told me that you are allergic."),
    user("And tea?"),
    assistant("Tea is fine."),
]


def notes(*contents: Any) -> TestMemoryStore:
    return TestMemoryStore.from_records(contents or ["allergic to latex", "likes green tea"], name="notes")


class Watched:
    """Writes down the hooks of an agent in the order in which they come."""

    def __init__(self, agent: ReplayAgent) -> None:
        self.seen: list[Any] = []
        agent.add_hook(self._added, MessageAdded)
        agent.add_hook(lambda event: self.seen.append(f"call {len(event.messages)}"), BeforeModelCall)
        agent.add_hook(lambda event: self.seen.append("end"), AfterInvocation)

    async def _added(self, event: MessageAdded) -> None:
        assert event.agent.messages[-1] is event.message
        self.seen.append(event.message["role"])


async def test_the_hooks_come_in_the_order_of_the_sdk() -> None:
    agent = ReplayAgent(TALK, MemoryManager([notes()]))
    hooks = Watched(agent)
    steps = await agent.run()
    assert hooks.seen == [
        *("user", "call 1", "assistant", "user", "call 3", "assistant", "end"),
        *("user", "call 5", "assistant", "end"),
    ]
    assert list(map(repr, steps)) == [
        "ReplayStep(1: user 'Is latex safe for me?')",
        "ReplayStep(2: model call 1: 1 entry injected, ~17 tokens; assistant toolUse)",
        "ReplayStep(3: user toolResult)",
        "ReplayStep(4: model call 2: skipped at trigger: 'userTurn', the last message is a tool result; "
        "assistant 'You told me that you are allergic.'; invocation 1 ended)",
        "ReplayStep(5: user 'And tea?')",
        "ReplayStep(6: model call 3: 1 entry injected, ~16 tokens; assistant 'Tea is fine.'; invocation 2 ended)",
    ]
    assert [step.message for step in steps] == TALK == agent.messages
    assert [step.call for step in steps] == [None, 0, None, 1, None, 2]
    assert [step.ended for step in steps] == [False, False, False, True, False, True]
    assert (agent.done, await agent.step(), repr(agent)) == (True, None, "ReplayAgent(done; 3 model calls)")


async def test_the_model_gets_what_the_manager_injects_and_the_history_stays_as_it_was() -> None:
    talk = copy.deepcopy(TALK)
    manager = MemoryManager([notes()], injection={"trigger": "everyTurn", "placement": "append"})
    agent = ReplayAgent(talk, manager)
    await agent.run()
    ends = model_calls(TALK)
    assert agent.model_inputs == [await manager.inject(TALK[:end]) for end in ends]
    assert [trace.messages for trace in agent.traces] == agent.model_inputs
    assert [trace.injected for trace in agent.traces] == [True, False, True]
    assert talk == TALK == agent.messages
    agent.messages[0]["content"].append("changed by the caller")
    assert talk == TALK


async def test_one_step_at_a_time() -> None:
    agent = ReplayAgent(TALK, MemoryManager([notes()]))
    assert repr(agent) == "ReplayAgent(0 of 6 messages; 0 model calls)"
    step = await agent.step()
    assert step is not None
    assert (step.number, step.invocation, step.message, step.trace) == (1, 1, TALK[0], None)
    assert (agent.position, agent.messages, agent.model_inputs) == (1, TALK[:1], [])
    second = await agent.step()
    assert second is not None
    assert second.trace is agent.traces[0]
    assert len(await agent.run()) == 4


async def test_a_recording_that_ends_with_the_user_ends_with_a_call_and_stays_open() -> None:
    agent = ReplayAgent(TALK[:5], MemoryManager([notes()]))
    hooks = Watched(agent)
    last = (await agent.run())[-1]
    assert repr(last) == "ReplayStep(6: model call 3: 1 entry injected, ~16 tokens; no answer recorded)"
    assert hooks.seen[-3:] == ["end", "user", "call 5"]
    assert agent.messages == TALK[:5]
    assert agent.done


async def test_a_model_answers_in_place_of_the_recorded_words_and_tool_calls_stay() -> None:
    model = ScriptedModel(["No, you are allergic.", "Tea it is.", "Good night."])
    agent = ReplayAgent([*TALK, user("Good night")], MemoryManager([notes()]), model, system_prompt="Be kind.")
    steps = await agent.run()
    said = [assistant("No, you are allergic."), assistant("Tea it is."), assistant("Good night.")]
    expected = [*TALK[:3], said[0], TALK[4], said[1], user("Good night"), said[2]]
    assert agent.messages == expected
    assert steps[-1].ended
    assert model.asked == [("Be kind.", agent.model_inputs[call]) for call in (1, 2, 3)]


async def test_messages_that_fit_no_turn_are_gone_through_too() -> None:
    talk = [
        assistant("Hello!"),
        user("one"),
        user("two"),
        tool_use(),
        user("never mind"),
        assistant("Fine."),
        tool_use(),
    ]
    agent = ReplayAgent(talk, MemoryManager([notes()]))
    hooks = Watched(agent)
    await agent.run()
    assert hooks.seen == [
        *("assistant", "end"),
        *("user", "user", "call 3", "assistant", "end"),  # the tool was never answered: this invocation is over
        *("user", "call 5", "assistant", "end"),
        "assistant",
    ]
    assert agent.messages == talk
    assert await ReplayAgent([], MemoryManager([notes()])).run() == []


async def test_hooks_run_by_order_and_after_an_invocation_in_the_opposite_one() -> None:
    agent = ReplayAgent(TALK[4:], MemoryManager([notes()]))
    seen: list[str] = []
    for name, order in (("late", 100), ("first", 0), ("second", 0), ("early", -5)):
        agent.add_hook(lambda event, name=name: seen.append(name), AfterInvocation, order=order)
        agent.add_hook(lambda event, name=name: seen.append(name), BeforeModelCall, order=order)
    await agent.run()
    assert seen == ["early", "first", "second", "late", "early", "second", "first", "late"]


async def test_a_model_that_fails_ends_the_invocation_and_the_next_step_asks_again() -> None:
    model = ScriptedModel([OSError("down"), "Yes."])
    agent = ReplayAgent([user("tea?"), assistant("recorded")], MemoryManager([notes()]), model)
    hooks = Watched(agent)
    await agent.step()
    with pytest.raises(OSError, match="down"):
        await agent.step()
    assert (hooks.seen, agent.done) == (["user", "call 1", "end"], False)
    step = await agent.step()
    assert step is not None
    assert (step.invocation, step.message, step.ended) == (2, assistant("Yes."), True)
    assert hooks.seen == ["user", "call 1", "end", "call 1", "assistant", "end"]
    assert len(agent.model_inputs) == 2


async def test_a_hook_that_fails_ends_the_invocation() -> None:
    agent = ReplayAgent(TALK[4:], MemoryManager([notes()]))

    def refuse(event: Any) -> None:
        raise LookupError("no")

    agent.add_hook(refuse, MessageAdded, order=200)
    hooks = Watched(agent)
    with pytest.raises(LookupError):
        await agent.step()
    assert hooks.seen == ["user", "end"]
    with pytest.raises(LookupError):
        await agent.step()
    assert hooks.seen == ["user", "end", "call 1", "assistant", "end"]
    assert agent.done


async def test_a_store_is_set_up_before_the_first_message_and_one_that_fails_stops_the_replay() -> None:
    class Remote(BareStore):
        ready = False

        async def initialize(self) -> None:
            if self.ready:
                raise ConnectionError("no route")
            self.ready = True

    store = Remote("remote")
    await ReplayAgent(TALK, MemoryManager([store])).run()
    assert store.ready
    with pytest.raises(ConnectionError):
        await ReplayAgent(TALK, MemoryManager([store])).step()


async def test_a_predicate_sees_the_replay_as_its_agent() -> None:
    seen: list[Any] = []
    manager = MemoryManager([notes()], injection={"trigger": lambda context: seen.append(context)})
    agent = ReplayAgent(TALK[4:], manager)
    agent.state["topic"] = "tea"
    await agent.run()
    assert [(context.agent is agent, context.state["topic"]) for context in seen] == [(True, "tea")]


async def test_a_step_waits_for_its_saves_unless_they_are_to_go_on_behind_it() -> None:
    def extracting() -> MemoryManager:
        model = ScriptedModel({"": [{"content": "green tea is welcome"}]})
        extraction: Any = {"trigger": InvocationTrigger(), "extractor": ModelExtractor(model)}
        return MemoryManager([TestMemoryStore(name="notes", persist=False, extraction=extraction)])

    talk = [user("I like green tea."), assistant("Noted."), user("green tea?"), assistant("Yes.")]
    agent = ReplayAgent(talk, extracting())
    await agent.run()
    assert injected(agent) == [[], ["green tea is welcome"]]
    behind = ReplayAgent(talk, manager := extracting(), wait_for_saves=False)
    await behind.run()
    assert injected(behind) == [[], []]
    await manager.wait_for_saves()
    assert await manager.stores[0].count() == 1


async def test_what_is_no_message_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="message 1 needs 'content'"):
        ReplayAgent([user("tea"), {"role": "user", "content": 7}], MemoryManager([notes()]))


async def test_a_conversation_of_another_sdk_is_replayed() -> None:
    agent = ReplayAgent(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "tea"}], MemoryManager([notes()])
    )

    await agent.run()
    assert agent.messages == [user("tea")]


# -- as of --------------------------------------------------------------------------------------------------------

OLD = {"content": "green tea is welcome", "createdAt": "2026-01-01T10:00:00Z"}
LATE = {"content": "green tea is welcome, said the user", "createdAt": "2026-01-02T12:00:00Z"}
DATED = [
    {**user("green tea?"), "created_at": "2026-01-01T12:00:00Z"},
    assistant("Yes."),
    {**user("more green tea?"), "metadata": {"created_at": "2026-01-03T12:00:00Z"}},
    assistant("No."),
]
TIMES = [datetime(2026, 1, 1, 12, tzinfo=UTC), None, "2026-01-03T12:00:00Z", None]


def injected(agent: ReplayAgent) -> list[list[str]]:
    return [[entry.content for entry in trace.entries] for trace in agent.traces]


@pytest.mark.parametrize(
    "as_of",
    [
        "created_at",
        TIMES,
        lambda message: message.get("created_at") or (message.get("metadata") or {}).get("created_at"),
    ],
    ids=["a key", "a list", "a function"],
)
async def test_as_of_leaves_out_what_is_newer_than_the_turn(as_of: Any) -> None:
    agent = ReplayAgent(DATED, MemoryManager([notes(OLD, LATE)]), as_of=as_of)
    await agent.run()
    assert injected(agent) == [[OLD["content"]], [LATE["content"], OLD["content"]]]
    assert [[note.text for note in trace.notes if note.kind == "newer entries"] for trace in agent.traces] == [
        ["1 matching entry of 'notes' was left out, written after 2026-01-01T12:00:00.000Z"],
        [],
    ]


async def test_a_note_says_that_as_of_was_not_used_though_entries_are_newer() -> None:
    agent = ReplayAgent(DATED, MemoryManager([notes(OLD, LATE)]))
    await agent.run()
    first, second = agent.traces
    (note,) = [note for note in first.notes if note.kind == "newer entries"]
    assert note.text == "1 of 2 entries came after this turn (2026-01-01T12:00:00.000Z); as_of leaves them out"
    assert [hit.content for hit in note.hits] == [LATE["content"]]
    assert not [note for note in second.notes if note.kind == "newer entries"]
    undated = ReplayAgent([user("green tea?")], MemoryManager([notes(OLD, LATE)]))
    await undated.run()
    assert not [note for note in undated.traces[0].notes if note.kind == "newer entries"]


async def test_as_of_finds_older_entries_below_many_newer_ones() -> None:
    newer = [{"content": f"green tea {number}", "createdAt": "2026-01-02T00:00:00Z"} for number in range(40)]
    agent = ReplayAgent(
        DATED[:1], MemoryManager([notes(OLD, *newer)], injection={"max_entries": 2}), as_of="created_at"
    )
    await agent.run()
    assert injected(agent) == [[OLD["content"]]]


async def test_what_the_replay_itself_writes_stays_visible() -> None:
    with frozen("2026-02-01T00:00:00Z"):
        store = notes(OLD, LATE)
        agent = ReplayAgent(DATED, MemoryManager([store]), as_of="created_at")

        async def remember(event: Any) -> None:
            await store.add("more green tea was asked for")

        agent.add_hook(remember, AfterInvocation)
        await agent.run()
    assert injected(agent)[1][0] == "more green tea was asked for"


async def test_a_store_that_tells_no_times_is_searched_as_it_is_and_the_note_says_so() -> None:
    agent = ReplayAgent(DATED[:1], MemoryManager([BareStore("bare", "green tea")]), as_of="created_at")
    await agent.run()
    assert injected(agent) == [["green tea"]]
    assert [note.text for note in agent.traces[0].notes if note.kind == "newer entries"] == [
        "store 'bare' tells no times, so none of its entries is left out"
    ]


async def test_as_of_keeps_the_managers_settings_and_a_failing_store_fails_as_it_would() -> None:
    manager = MemoryManager([FaultyStore(notes(OLD), search="fail")], injection={"placement": "append"})
    agent = ReplayAgent(DATED, manager, as_of="created_at")
    await agent.run()
    assert agent.traces[0].skipped_at == "search"
    assert agent.traces[0].settings is not None
    assert agent.traces[0].settings.placement == "append"
    off = ReplayAgent(DATED, MemoryManager([notes(OLD)], injection=False), as_of="created_at")
    await off.run()
    assert off.model_inputs == [DATED[:1], DATED[:3]]


@pytest.mark.parametrize(
    ("as_of", "message"),
    [
        ("said_at", "message 0 has no time under 'said_at': None"),
        ([None] * 4, "message 0 has no time: None"),
        (["2026-01-01"], "4 messages need as many times, not 1"),
        (["yesterday", None, None, None], "message 0 has no time: 'yesterday'"),
        ([datetime(2026, 1, 1), 5, None, None], "message 1 has no time: 5"),
    ],
)
def test_times_that_cannot_be_read_are_refused_at_once(as_of: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        ReplayAgent(DATED, MemoryManager([notes()]), as_of=as_of)
    assert caught.value.key == "as_of"


TURNS = st.lists(
    st.sampled_from([user("latex"), user("tea"), assistant("green"), tool_use(), tool_result()]), max_size=9
)


@settings(deadline=None)
@given(TURNS)
async def test_any_conversation_is_gone_through_once_with_a_call_where_a_model_is_called(talk: list[Any]) -> None:
    agent = ReplayAgent(talk, MemoryManager([notes()]))
    hooks = Watched(agent)
    await agent.run()
    assert agent.messages == talk
    assert [f"call {end}" for end in model_calls(talk)] == [seen for seen in hooks.seen if seen.startswith("call")]
    assert len(agent.model_inputs) == len(model_calls(talk))


def test_an_argument_of_a_wrong_kind_is_refused_by_name() -> None:
    manager = MemoryManager([notes()])
    agent = ReplayAgent(TALK, manager)
    wrong: list[tuple[Any, str]] = [
        (lambda: ReplayAgent(None, manager), "messages"),  # type: ignore[arg-type]
        (lambda: ReplayAgent("hello", manager), "messages"),  # type: ignore[arg-type]
        (lambda: ReplayAgent(TALK, None), "manager"),  # type: ignore[arg-type]
        (lambda: ReplayAgent(TALK, notes()), "manager"),  # type: ignore[arg-type]
        (lambda: ReplayAgent(TALK, manager, model="gpt"), "model"),
        (lambda: ReplayAgent(TALK, manager, aux_model=5), "aux_model"),
        (lambda: ReplayAgent(TALK, manager, as_of=5), "as_of"),  # type: ignore[arg-type]
        (lambda: agent.add_hook(print, 5), "event_type"),  # type: ignore[arg-type]
        (lambda: agent.add_hook(None, AfterInvocation), "callback"),  # type: ignore[arg-type]
    ]
    for made, key in wrong:
        with pytest.raises(ConfigError, match=r"ReplayAgent: .* must be .*, not") as caught:
            made()
        assert caught.value.key == key


async def test_texts_take_turns_and_end_with_the_users() -> None:
    agent = ReplayAgent(["I like tea.", "Noted.", "What do I like?"], MemoryManager([BareStore("notes")]))
    await agent.run()
    assert agent.messages == [user("I like tea."), assistant("Noted."), user("What do I like?")]
    assert len(agent.model_inputs) == 2
