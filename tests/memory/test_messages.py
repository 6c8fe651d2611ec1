"""Reading and folding conversations."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.memory import model_calls, text
from memwb.memory.messages import copied, fold, has_tool_result, is_user_turn, latest, latest_index
from tests.memory.stores import assistant, tool_result, tool_use, user

BLOCK = "<memory>\n</memory>"


def test_text_joins_the_text_blocks_with_line_breaks_and_strips() -> None:
    message = {"role": "user", "content": [{"text": " tea "}, {"image": {}}, {"text": "or coffee?\n"}]}
    assert text(message) == "tea \nor coffee?"


@pytest.mark.parametrize("message", [tool_result(), user(), user(" \n "), {"role": "user", "content": [{"image": {}}]}])
def test_text_is_empty_where_there_is_none(message: Any) -> None:
    assert text(message) == ""


@pytest.mark.parametrize(
    ("messages", "users"),
    [
        ([], False),
        ([user("hi")], True),
        ([user("hi"), assistant("yes")], False),
        ([user("hi"), tool_use(), tool_result()], False),
        ([{"role": "user", "content": [{"text": "and"}, *tool_result()["content"]]}], False),
        ([{"role": "user", "content": []}], True),
    ],
)
def test_a_users_turn_ends_with_the_users_own_words(messages: Any, users: bool) -> None:
    assert is_user_turn(messages) is users


def test_latest_finds_the_last_message_of_a_role() -> None:
    messages = [user("one"), assistant("two"), user("three"), assistant("four")]
    assert latest(messages, "user") == user("three")
    assert latest_index(messages, "user") == 2
    assert latest([user("one")], "assistant") is None
    assert latest_index([user("one")], "assistant") is None


@pytest.mark.parametrize(
    ("messages", "calls"),
    [
        ([], []),
        ([assistant("hello")], []),
        ([user("hi")], [1]),
        ([user("hi"), assistant("yes")], [1]),
        ([user("hi"), assistant("yes"), user("tea?"), assistant("no")], [1, 3]),
        ([user("hi"), tool_use(), tool_result(), assistant("so")], [1, 3]),
        ([user("hi"), tool_use(), tool_result(), tool_use(), tool_result(), assistant("so"), user("ok")], [1, 3, 5, 7]),
        ([user("hi"), user("are you there?"), assistant("yes")], [2]),
    ],
)
def test_every_model_call_is_found_those_in_tool_loops_too(messages: Any, calls: list[int]) -> None:
    assert model_calls(messages) == calls


def test_prepend_puts_the_block_before_the_users_words() -> None:
    assert fold([user("tea?")], BLOCK, "prepend") == [user(BLOCK, "tea?")]


def test_prepend_puts_the_block_last_beside_a_tool_result() -> None:
    message = tool_result()
    folded = fold([user("hi"), tool_use(), message], BLOCK, "prepend")
    assert folded == [user("hi"), tool_use(), {"role": "user", "content": [*message["content"], {"text": BLOCK}]}]


def test_append_puts_the_block_last_after_an_empty_line() -> None:
    assert fold([user("tea?")], BLOCK, "append") == [user("tea?", "\n\n" + BLOCK)]


def test_append_needs_no_empty_line_where_no_text_stands_before() -> None:
    message = tool_result()
    folded = fold([message], BLOCK, "append")
    assert folded == [{"role": "user", "content": [*message["content"], {"text": BLOCK}]}]


def test_append_keeps_a_block_that_begins_with_a_line_break() -> None:
    assert fold([user("tea?")], "\nnote", "append") == [user("tea?", "\nnote")]


def test_append_is_set_off_from_text_that_stands_anywhere_before_it() -> None:
    image = {"image": {"format": "png"}}
    folded = fold([{"role": "user", "content": [{"text": "this"}, image]}], BLOCK, "append")
    assert folded == [{"role": "user", "content": [{"text": "this"}, image, {"text": "\n\n" + BLOCK}]}]


@pytest.mark.parametrize("placement", ["prepend", "append"])
def test_the_block_goes_into_the_last_user_message_even_before_an_assistants(placement: str) -> None:
    messages = [user("one"), assistant("two"), user("three"), assistant("four")]
    folded = fold(messages, BLOCK, placement)
    assert folded is not None
    assert [message["role"] for message in folded] == ["user", "assistant", "user", "assistant"]
    assert [folded[at] is messages[at] for at in range(4)] == [True, True, False, True]


@pytest.mark.parametrize("placement", ["prepend", "append"])
def test_without_a_user_message_there_is_no_fold(placement: str) -> None:
    assert fold([], BLOCK, placement) is None
    assert fold([assistant("hello")], BLOCK, placement) is None


@pytest.mark.parametrize("placement", ["prepend", "append"])
def test_the_copy_keeps_role_content_and_metadata_and_nothing_else(placement: str) -> None:
    message = {**user("tea?"), "metadata": {"usage": 3}, "other": "dropped"}
    folded = fold([message], BLOCK, placement)
    assert folded is not None
    assert set(folded[0]) == {"role", "content", "metadata"}
    assert folded[0]["metadata"] == {"usage": 3}


def test_copied_shares_nothing_that_can_change() -> None:
    messages = [tool_result(), user("tea?")]
    again = copied(messages)
    assert again == messages
    again[0]["content"][0]["toolResult"]["content"][0]["text"] = "other"
    again.append(user("more"))
    assert messages == [tool_result(), user("tea?")]


def test_copied_shares_what_cannot_be_copied() -> None:
    foreign = object()
    assert copied([{"image": b"bytes", "object": foreign}]) == [{"image": b"bytes", "object": foreign}]


_blocks = st.one_of(
    st.builds(lambda value: {"text": value}, st.text()),
    st.just({"toolResult": {"toolUseId": "1", "status": "success", "content": []}}),
    st.just({"image": {"format": "png", "source": {"bytes": b"x"}}}),
    st.just({"cachePoint": {"type": "default"}}),
)
conversations = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant"]), "content": st.lists(_blocks, max_size=4)},
        optional={"metadata": st.just({"n": 1})},
    ),
    max_size=6,
)


@given(conversations, st.text(min_size=1), st.sampled_from(["prepend", "append"]))
def test_folding_adds_exactly_one_block_to_exactly_one_message(messages: Any, block: str, placement: str) -> None:
    before = copy.deepcopy(messages)
    folded = fold(messages, block, placement)
    assert messages == before
    at = latest_index(messages, "user")
    if at is None:
        assert folded is None
        return
    assert folded is not None
    old, new = messages[at]["content"], folded[at]["content"]
    assert folded[:at] + folded[at + 1 :] == messages[:at] + messages[at + 1 :]
    first = placement == "prepend" and not has_tool_result(messages[at])
    added, rest = (new[0], new[1:]) if first else (new[-1], new[:-1])
    assert rest == old
    assert added["text"].removeprefix("\n\n") == block.removeprefix("\n\n")
    assert set(added) == {"text"}


@given(conversations)
def test_at_every_model_call_the_last_message_is_a_users(messages: Any) -> None:
    calls = model_calls(messages)
    assert calls == sorted(set(calls))
    assert all(messages[call - 1]["role"] == "user" for call in calls)
    assert bool(calls) is any(message["role"] == "user" for message in messages)
