"""The demo conversation and the rule that stands for a model."""

from __future__ import annotations

import json

import pytest

from memwb.memory.messages import check_messages, model_calls
from memwb.workbench.demo import DemoModel, conversation
from tests.workbench.fakes import user

TRANSCRIPT = (
    "Extract:\n\nuser: I am allergic to latex. Which mats?\nassistant: I like cork.\nuser: I prefer tea.\nIt is hot."
)


async def facts(system):
    return [fact["content"] for fact in json.loads(await DemoModel().complete(system, [user(TRANSCRIPT)]))]


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("Extract facts and preferences.", ["The user says: I am allergic to latex.", "The user says: I prefer tea."]),
        ("Keep only preferences.", ["The user says: I prefer tea."]),
        ("Keep only health facts.", ["The user says: I am allergic to latex."]),
        ("Keep only places.", []),
    ],
)
async def test_the_demo_model_keeps_what_the_user_says_of_themselves_as_the_prompt_asks(prompt, found):
    assert await facts(prompt) == found


def test_the_demo_conversation_has_five_turns_and_two_tool_calls():
    talk = conversation()
    check_messages(talk)
    assert len(talk) == 14
    assert model_calls(talk) == [1, 3, 5, 7, 9, 11, 13]
    talk[0]["content"].clear()
    assert conversation()[0]["content"]
