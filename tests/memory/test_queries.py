"""The query callbacks that ship with memwb, as they run in an agent."""

from __future__ import annotations

from typing import Any

import pytest

from memwb import callbacks
from memwb.memory import InjectionQueryContext, MemoryManager
from tests.memory.stores import WordStore, assistant, tool_result, tool_use, user

QUERIES = [
    callbacks.latest_user_message,
    callbacks.last_two_messages,
    callbacks.question_with_answer,
    callbacks.latest_without_stop_words,
    callbacks.whole_history,
]
TALK = [user("Hello"), assistant("Do you want tea?"), user("Yes, the green tea that is strong, please.")]


@pytest.mark.parametrize(
    ("callback", "query"),
    [
        (callbacks.latest_user_message, "Yes, the green tea that is strong, please."),
        (callbacks.last_two_messages, "Do you want tea?\nYes, the green tea that is strong, please."),
        (callbacks.whole_history, "Hello\nDo you want tea?\nYes, the green tea that is strong, please."),
        (callbacks.question_with_answer, "Do you want tea?\nYes, the green tea that is strong, please."),
        (callbacks.latest_without_stop_words, "yes green tea strong please"),
    ],
)
def test_each_reads_the_conversation_in_its_way(callback: Any, query: str) -> None:
    assert callback(InjectionQueryContext(TALK)) == query


@pytest.mark.parametrize("callback", QUERIES)
@pytest.mark.parametrize("messages", [[], [assistant("hi")], [tool_use(), tool_result()], [user()], [user("the")]])
async def test_where_there_is_nothing_to_say_the_injection_skips(callback: Any, messages: Any) -> None:
    config: Any = {"query": callback, "trigger": "everyTurn"}
    trace = await MemoryManager([WordStore("home", "tea")], injection=config).trace_injection(messages)
    assert trace.error is None
    assert not trace.injected


def test_messages_without_text_leave_no_blank_line() -> None:
    messages = [user("tea"), tool_use(), tool_result(), user("", "milk")]
    assert callbacks.whole_history(InjectionQueryContext(messages)) == "tea\nmilk"
    assert callbacks.last_two_messages(InjectionQueryContext(messages)) == "milk"


@pytest.mark.parametrize(
    "loop", [[tool_use(), tool_result()], [tool_use(), tool_result()] * 2, [assistant("so?"), user("")]]
)
def test_within_a_tool_loop_it_is_still_what_the_user_said_last(loop: Any) -> None:
    context = InjectionQueryContext([user("the milk"), assistant("yes"), user("is the tea green?"), *loop])
    assert callbacks.latest_user_message(context) == "is the tea green?"
    assert callbacks.latest_without_stop_words(context) == "tea green"


def test_text_beside_a_tools_result_is_the_users_own() -> None:
    message = {"role": "user", "content": [*tool_result("found")["content"], {"text": "stop, milk"}]}
    assert callbacks.latest_user_message(InjectionQueryContext([user("tea"), tool_use(), message])) == "stop, milk"
    assert callbacks.latest_without_stop_words(InjectionQueryContext([user("tea"), tool_use(), message])) == "stop milk"


@pytest.mark.parametrize("messages", [[], [assistant("tea")], [tool_use(), tool_result()], [user(" ")]])
def test_where_the_user_said_nothing_there_is_no_text(messages: Any) -> None:
    assert callbacks.latest_user_message(InjectionQueryContext(messages)) is None
    assert callbacks.latest_without_stop_words(InjectionQueryContext(messages)) is None


@pytest.mark.parametrize(
    ("talk", "query"),
    [
        (["I see. Which tea? Or do you want milk?", "the second"], "Or do you want milk?\nthe second"),
        (["Which tea?\nThe green one is strong.", "that one"], "Which tea?\nthat one"),
        (["Here is your tea.", "Thank you"], "Thank you"),
        (["お茶はいかがですか？", "はい"], "お茶はいかがですか？\nはい"),
        (["See http://tea.example/?q=1 for more", "ok"], "ok"),
    ],
)
def test_the_question_is_the_last_one_of_the_message_before_the_answer(talk: Any, query: str) -> None:
    messages = [user("Hello. Is it late?"), assistant(talk[0]), user(talk[1])]
    assert callbacks.question_with_answer(InjectionQueryContext(messages)) == query


def test_within_a_tool_loop_the_question_is_still_with_its_answer() -> None:
    messages = [assistant("Tea?"), user("Yes."), tool_use(), tool_result(), assistant("Coming?"), tool_result()]
    assert callbacks.question_with_answer(InjectionQueryContext(messages)) == "Tea?\nYes."


def test_a_long_message_without_a_question_takes_no_time() -> None:
    messages = [assistant("word " * 200_000), user("yes")]
    assert callbacks.question_with_answer(InjectionQueryContext(messages)) == "yes"
