"""The conversation as a person edits it: what changes, which call stays open, and how each step is taken back."""

from __future__ import annotations

import asyncio
import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwb.errors import ConfigError
from memwb.workbench import WorkbenchState
from memwb.workbench.conversation import STEPS, Doubt, blocks_of
from tests.workbench.fakes import ABOUT_ME, ListStore, tool_call, tool_result


def user(text):
    return {"role": "user", "content": [{"text": text}]}


def assistant(text):
    return {"role": "assistant", "content": [{"text": text}]}


TALK = [user("I like art."), assistant("Noted."), user("And jazz."), assistant("Noted, too."), user("Do I use a cane?")]


async def opened(messages=TALK, **settings):
    state = WorkbenchState(ListStore(*ABOUT_ME), messages, **settings)
    await state.settled()
    return state


def said(state):
    return [(message["role"], message["content"][0].get("text")) for message in state.messages]


async def test_a_text_that_is_added_is_the_users_and_opens_the_call_that_answers_it():
    state = await opened()
    trace = await state.conversation.add("What about latex?")
    assert said(state)[-1] == ("user", "What about latex?")
    assert (state.call, state.calls, trace.query) == (3, [1, 3, 6], "What about latex?")
    await state.conversation.add("It is on the list.", role="assistant")
    assert (state.call, state.left_out) == (3, 1)
    await state.conversation.add("What of it?")
    assert (state.call, state.calls) == (4, [1, 3, 6, 8])


async def test_a_message_may_come_from_another_sdk_and_stand_anywhere():
    state = await opened()
    await state.set(call=2)
    await state.conversation.add({"role": "assistant", "content": "Hello.", "tool_calls": []}, at=0)
    assert said(state)[0] == ("assistant", "Hello.")
    assert (state.call, state.trace.query) == (2, "And jazz.")


async def test_an_edit_by_text_leaves_the_other_blocks_and_keys():
    talk = [user("art"), {**tool_call(), "metadata": {"n": 1}}, tool_result("bike")]
    talk[1]["content"].insert(0, {"text": "Let me look."})
    state = await opened(talk)
    before = copy.deepcopy(state.messages[1])
    await state.conversation.edit(1, "I look.")
    assert state.messages[1] == {**before, "content": [{"text": "I look."}, *before["content"][1:]]}
    await state.conversation.edit(-1, [{"text": "no result"}], role="user")
    assert state.messages[2] == user("no result")


async def test_the_chosen_call_stays_where_it_was_when_messages_come_and_go_around_it():
    state = await opened()
    await state.set(call=2)
    await state.conversation.delete(0)
    assert (state.call, state.trace.query) == (1, "And jazz.")
    await state.conversation.add("I like tea.", at=0)
    assert (state.call, state.trace.query) == (2, "And jazz.")
    await state.conversation.add("And coffee.", at=3)  # a second message in the same turn
    assert (state.call, state.trace.query) == (2, "And coffee.")
    await state.conversation.delete(3)
    assert (state.call, state.trace.query) == (2, "And jazz.")
    await state.conversation.edit(2, role="assistant")  # the call is gone: the next one
    assert (state.call, state.trace.query) == (2, "Do I use a cane?")


async def test_what_is_expected_moves_with_its_call():
    state = await opened(expected=["cane"])
    await state.conversation.delete(0)
    assert (state.call, state.expected) == (2, ("cane",))
    await state.set(call=1)
    assert state.expected == ()


async def test_undo_takes_back_every_way_of_changing_the_messages():
    state = await opened()
    await state.set(messages="Only this.")
    state.say("And this.")
    await state.conversation.paste("User: a\nAssistant: b")
    assert [text for _, text in said(state)] == ["a", "b"]
    await state.conversation.undo()
    assert [text for _, text in said(state)] == ["Only this.", "And this."]
    await state.conversation.undo()
    await state.conversation.undo()
    assert (state.messages, state.call) == (TALK, 3)
    with pytest.raises(ConfigError, match="no change to undo"):
        await state.conversation.undo()


async def test_the_last_steps_can_be_undone_and_earlier_ones_are_let_go():
    state = await opened()
    for at in range(STEPS + 5):
        state.conversation.insert(str(at))
    assert state.conversation.steps == STEPS
    for _ in range(STEPS):
        state.conversation.go_back()
    assert said(state)[-1] == ("user", "4")


async def test_what_was_given_and_what_is_handed_out_is_nobody_elses():
    talk = copy.deepcopy(TALK)
    state = await opened(talk)
    await state.conversation.edit(0, "Changed.")
    mine = {"role": "user", "content": [{"text": "mine"}]}
    await state.conversation.add(mine)
    mine["content"][0]["text"] = "changed outside"
    state.conversation.messages[0]["content"].clear()
    assert talk == TALK
    assert (said(state)[0][1], said(state)[-1][1]) == ("Changed.", "mine")


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda talk: talk.edit(9, "x"), "there is no message 9; indexes are 0 to 4"),
        (lambda talk: talk.delete(-6), "there is no message -6"),
        (lambda talk: talk.delete(True), "there is no message True"),
        (lambda talk: talk.add("x", at=6), "there is no message 6; indexes are 0 to 5"),
        (lambda talk: talk.add(7), "message 0"),
        (lambda talk: talk.add(None), "the message is None"),
        (lambda talk: talk.add("x", role="robot"), "the role is 'robot'; it must be 'user' or 'assistant'"),
        (lambda talk: talk.add({"role": "system", "content": "obey"}), "it is a system message"),
        (lambda talk: talk.edit(0, [{"text": 5}]), "has a text block that holds int"),
        (lambda talk: talk.paste("   "), "the text is empty"),
    ],
)
async def test_what_cannot_be_done_is_refused_and_changes_nothing(act, told):
    state = await opened()
    with pytest.raises(ConfigError) as refused:
        await act(state.conversation)
    assert told in str(refused.value)
    assert (state.messages, state.call, state.conversation.steps) == (TALK, 3, 0)


async def test_a_call_without_its_result_and_a_result_without_its_call_are_pointed_out_and_allowed():
    state = await opened([user("art"), tool_call(), tool_result("bike")])
    assert state.conversation.doubts == []
    await state.conversation.delete(2)
    (doubt,) = state.conversation.doubts
    assert doubt.index == 1
    assert "has no result after it" in doubt.text
    await state.conversation.undo()
    await state.conversation.delete(1)
    (doubt,) = state.conversation.doubts
    assert isinstance(doubt, Doubt)
    assert "has no tool call before it" in doubt.text
    assert repr(state.conversation).endswith("; 1 doubt; 1 change can be undone)")


async def test_its_repr_is_short_and_true():
    state = await opened()
    assert repr(state.conversation) == "Conversation(5 messages; model call 3 of 3)"
    await state.conversation.paste(
        '[{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}]'
    )
    assert repr(state.conversation) == (
        "Conversation(1 message, 1 tool call; no model call; 1 doubt; 1 change can be undone)"
    )


@pytest.mark.parametrize(
    ("fields", "key", "told"),
    [
        ([("text", " "), ("json", "")], "content[0]", "nothing in this message"),
        ([("text", "a"), ("json", '{"toolUse": {"name": "f",\n}}')], "content[1]", "line 2, column 1"),
        ([("json", "[1]")], "content[0]", "an object with one kind"),
        ([("json", '{"toolUse": {"name": "f"}}')], "content[0]", "toolUse needs 'toolUseId' and 'input'"),
        ([("json", '{"toolResult": {"toolUseId": "a", "content": "x"}}')], "content[0]", "is a list of blocks"),
        ([("json", '{"a": NaN}')], "content[0]", "this is no JSON"),
        ([("json", '{"a": "\ud83d"}')], "content[0]", "this is no JSON"),
    ],
)
def test_a_field_that_is_no_block_is_named_with_its_place(fields, key, told):
    with pytest.raises(ConfigError) as refused:
        blocks_of(fields)
    assert refused.value.key == key
    assert told in str(refused.value)


def test_fields_become_blocks_and_blank_ones_none():
    assert blocks_of(
        [("text", "hi "), ("text", ""), ("json", '{"toolUse": {"toolUseId": "a", "name": "f", "input": 5}}')]
    ) == [
        {"text": "hi "},
        {"toolUse": {"toolUseId": "a", "name": "f", "input": 5}},
    ]


async def test_a_predicate_sees_the_state_that_was_set_and_keeps_no_count_of_previews():
    def third(context):
        context.state["visits"] += 1
        return context.state["visits"] == 3

    state = await opened(injection={"trigger": third})
    trace = await state.set(state={"visits": 1})
    assert not trace.fired
    for _ in range(3):
        trace = await state.set(state={"visits": 2})
        assert trace.fired
    assert state.agent_state == {"visits": 2}
    await state.set(state=None)
    assert state.agent_state is None


class Kept:
    """A state as the SDK has it: its values stand behind ``get`` and ``set``."""

    def __init__(self, values):
        self.values = values

    def get(self, key):
        return self.values[key]

    def set(self, key, value):
        self.values[key] = value


async def test_a_state_of_the_sdks_kind_stays_of_that_kind_and_uncounted():
    def third(context):
        context.state.set("visits", context.state.get("visits") + 1)
        return context.state.get("visits") == 3

    state = await opened(injection={"trigger": third})
    state.source.state = Kept({"visits": 0})
    for _ in range(3):
        assert (await state.set(state={"visits": 2})).fired
    assert (type(state.agent_state), state.agent_state.values) == (Kept, {"visits": 2})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([1], "it must be a dict"),
        ({"a": {1, 2}}, "not JSON serializable"),
        ({"a": float("nan")}, "JSON"),
        ({1: 2}, "JSON"),
    ],
)
async def test_a_state_that_no_agent_could_have_is_refused(given, told):
    state = await opened()
    with pytest.raises(ConfigError, match="Workbench: state is ") as refused:
        await state.set(state=given)
    assert told in str(refused.value)
    assert state.agent_state is None


MESSAGES = st.sampled_from(
    ["What do I use?", user("art"), assistant("Noted."), tool_call(), tool_result("bike"), [{"text": "jazz"}]]
)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), MESSAGES, st.integers(0, 6), st.sampled_from(["user", "assistant"])),
        st.tuples(st.just("replace"), st.integers(-3, 6), MESSAGES, st.sampled_from([None, "user", "assistant"])),
        st.tuples(st.just("remove"), st.integers(-3, 6)),
        st.tuples(st.just("take"), st.sampled_from(["one text", "User: a\nAssistant: b\nUser: cane?", "[broken"])),
        st.tuples(st.just("go_back")),
        st.tuples(st.just("choose"), st.integers(1, 4)),
    ),
    max_size=10,
)


@settings(max_examples=40, deadline=None)
@given(edits=EDITS, talk=st.sampled_from([TALK, [], [user("art"), tool_call(), tool_result("bike"), assistant("ok")]]))
def test_edits_end_in_a_fresh_states_trace_and_undone_in_the_messages_before_them(edits, talk):
    async def run():
        state = WorkbenchState(ListStore(*ABOUT_ME), copy.deepcopy(talk))
        for do, *values in edits:
            try:
                if do == "choose":
                    state.put(call=values[0])
                else:
                    getattr(state.conversation, do)(*values)
            except ConfigError:
                pass
            assert 0 <= state.call <= len(state.calls)
        await state.settled()
        fresh = WorkbenchState(ListStore(*ABOUT_ME), state.conversation.messages)
        if state.call:
            fresh.put(call=state.call)
        await fresh.settled()
        assert (fresh.messages, fresh.calls, fresh.seen) == (state.messages, state.calls, state.seen)
        assert seen(fresh.trace) == seen(state.trace)
        while state.conversation.steps:
            state.conversation.go_back()
        assert state.messages == talk
        await state.settled()
        state.close()
        fresh.close()

    def seen(trace):
        return [(stage.name, stage.status, stage.reason) for stage in trace.stages], trace.text, trace.messages

    asyncio.run(run())
