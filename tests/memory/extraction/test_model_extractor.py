"""What a model is asked, and which model it is."""

from __future__ import annotations

from typing import Any

import pytest

from memwb.memory import ExtractionResult, ExtractorContext, ModelExtractor
from memwb.memory.extraction.model_extractor import DEFAULT_SYSTEM_PROMPT, OUTPUT_FORMAT
from memwb.testing import ScriptedModel
from tests.memory.stores import assistant, tool_use, user

FOUND = [{"content": "likes tea", "metadata": {"n": 1}}]


async def test_it_sends_one_user_turn_with_the_transcript_under_its_prompt() -> None:
    model = ScriptedModel([FOUND])
    extractor = ModelExtractor(model, "Only drinks.")
    found = await extractor.extract([user("I like", "tea"), tool_use(), assistant("noted")])
    assert found == [ExtractionResult("likes tea", {"n": 1})]
    [(system, [message])] = model.asked
    assert system == f"Only drinks.\n\n{OUTPUT_FORMAT}"
    assert message["role"] == "user"
    assert message["content"][0]["text"].endswith("\n\nuser: I like\ntea\nassistant: \nassistant: noted")


@pytest.mark.parametrize("prompt", [None, ""])
async def test_the_default_prompt_stands_in_and_the_format_is_always_appended(prompt: Any) -> None:
    assert ModelExtractor(system_prompt=prompt).system == f"{DEFAULT_SYSTEM_PROMPT}\n\n{OUTPUT_FORMAT}"
    assert '{"content": string}' in OUTPUT_FORMAT


async def test_its_own_model_comes_before_the_default_one_and_both_may_be_changed() -> None:
    own, default = ScriptedModel([FOUND, FOUND]), ScriptedModel([FOUND])
    extractor, context = ModelExtractor(own), ExtractorContext(default_model=default)
    await extractor.extract([user("tea")], context)
    extractor.model = None
    extractor.system_prompt = "Other."
    await extractor.extract([user("tea")], context)
    assert (len(own.asked), default.asked[0].system[:6]) == (1, "Other.")


async def test_no_messages_ask_nothing() -> None:
    assert await ModelExtractor(ScriptedModel([])).extract([]) == []


@pytest.mark.parametrize(
    ("model", "words"),
    [(None, "ModelExtractor: no model"), (object(), "object has no complete")],
    ids=["none", "no model"],
)
async def test_without_a_model_that_can_be_asked_it_is_an_error(model: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        await ModelExtractor(model).extract([user("tea")])
    with pytest.raises(ValueError, match=words):
        await ModelExtractor().extract([user("tea")], ExtractorContext(default_model=model))


async def test_what_a_model_raises_passes_through_and_an_answer_that_is_no_text_is_an_error() -> None:
    with pytest.raises(ConnectionError, match="down"):
        await ModelExtractor(ScriptedModel([ConnectionError("down")])).extract([user("tea")])

    class Silent:
        async def complete(self, system: str, messages: Any) -> Any:
            return None

    with pytest.raises(TypeError, match="Silent answered with NoneType, no text"):
        await ModelExtractor(Silent()).extract([user("tea")])


async def test_outside_a_manager_an_unreadable_answer_gives_nothing_and_a_warning(caplog: Any) -> None:
    assert await ModelExtractor(ScriptedModel(["I'd rather not."])).extract([user("tea")]) == []
    assert "no list of facts in the answer" in caplog.text


def test_its_repr_tells_the_model_and_a_prompt_of_ones_own() -> None:
    assert repr(ModelExtractor()) == "ModelExtractor(default model)"
    assert repr(ModelExtractor(ScriptedModel([]), "Only drinks.")) == (
        "ModelExtractor(ScriptedModel, system_prompt='Only drinks.')"
    )
