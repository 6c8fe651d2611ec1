"""The parts of the bridge that need no SDK: what is sent, how inputs differ, models, scores, listings."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest

from memwb.bridge.strands import Measure, difference, listing, measure, model, plugin, scripted, sent
from memwb.errors import ConfigError
from memwb.memory import MemoryManager
from tests.memory.stores import WordStore, assistant, user


def test_what_is_sent_has_no_keys_of_the_sdk_and_no_blank_words_of_the_assistant() -> None:
    call = {"toolUse": {"toolUseId": "1", "name": "not a name", "input": {}}}
    messages: list[Any] = [
        {**user(""), "tracking_id": "t", "metadata": {"n": 1}},
        assistant(" \n"),
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": [{"text": ""}, call]},
    ]
    before = copy.deepcopy(messages)
    renamed = {"toolUse": {"toolUseId": "1", "name": "INVALID_TOOL_NAME", "input": {}}}
    assert sent(messages) == [
        user(""),
        assistant("[blank text]"),
        assistant("[blank text]"),
        {"role": "assistant", "content": [renamed]},
    ]
    assert messages == before


DIFFERENT: list[tuple[Any, Any, str]] = [
    ([user("a")], [user("a")], ""),
    ([user("a")], [user("b")], "message 1 (user) has as block 1 'b', where 'a' was expected"),
    ([user("a")], [], "there are 0 messages where 1 were expected"),
    ([user("a")], [user("a"), assistant("b")], "there are 2 messages where 1 were expected"),
    ([user("a")], [assistant("a")], "message 1 (assistant) has another role than expected"),
    (
        [{"role": "user", "content": [{"text": "a"}, {"image": {}}]}],
        [user("a")],
        "message 1 (user) lacks 1 block: a block of kind 'image'",
    ),
    (
        [user("a")],
        [{"role": "user", "content": [{"text": "a"}, {}]}],
        "message 1 (user) has 1 more block than expected: a block of kind None",
    ),
]


@pytest.mark.parametrize(("expected", "got", "told"), DIFFERENT)
def test_the_first_difference_is_told_by_its_place(expected: Any, got: Any, told: str) -> None:
    assert difference(expected, got) == told


def test_long_texts_are_shown_where_they_begin_to_differ() -> None:
    same = "<memory>\n<entry>Ola is nine and plays the cello on Tuesdays.</entry>\n"
    one, other = f"{same}<entry>A</entry>", f"{same}<entry>B</entry>"

    assert difference([user(one)], [user(other)]) == (
        "message 1 (user) has as block 1 '…ays.</entry>\\n<entry>B</entry>', "
        "where '…ays.</entry>\\n<entry>A</entry>' was expected"
    )


class Provider:
    """Streams what a provider of the SDK streams."""

    def __init__(self, *events: Any) -> None:
        self.events, self.config = events, {"model_id": "m"}

    async def stream(self, messages: Any, tool_specs: Any = None, system_prompt: Any = None) -> Any:
        self.asked = (messages, tool_specs, system_prompt)
        for event in self.events:
            yield event


def delta(**what: Any) -> Any:
    return {"contentBlockDelta": {"delta": what}}


async def test_an_answer_is_the_text_of_the_stream_without_what_was_thought_aloud() -> None:
    provider = Provider(
        {"messageStart": {"role": "assistant"}},
        delta(reasoningContent={"text": "hm"}),
        delta(text="two "),
        delta(text="parts"),
        {"messageStop": {"stopReason": "max_tokens"}},
        {"metadata": {"usage": {}}},
    )
    wrapped = model(provider)
    assert await wrapped.complete("Be short.", [user("a")]) == "two parts"
    assert provider.asked == ([user("a")], None, "Be short.")
    assert repr(wrapped) == "StrandsModel(Provider)"
    assert wrapped.config == {"model_id": "m"}  # an extractor of the SDK may use it as the provider
    assert copy.copy(wrapped).provider is provider


@pytest.mark.parametrize("given", [None, 3, "us.model-1", object(), WordStore("home")])
def test_what_streams_nothing_is_no_provider(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"bridge\.strands\.model: .* is no model provider") as caught:
        model(given)
    assert ("BedrockModel(model_id=...)" in str(caught.value)) is isinstance(given, str)


@pytest.mark.parametrize("given", [None, 5, [WordStore("home")], WordStore("home"), MemoryManager])
def test_a_plugin_is_made_of_a_manager_alone(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"bridge\.strands\.plugin: manager must be a memwb\.MemoryManager") as caught:
        plugin(given)
    assert (caught.value.key, caught.value.value) == ("manager", given)


def test_a_manager_in_the_place_of_a_plugin_says_what_to_write() -> None:
    manager = MemoryManager([WordStore("home")])
    assert not hasattr(manager, "hooks")
    with pytest.raises(AttributeError, match=r"Agent\(plugins=\[memwb\.bridge\.strands\.plugin\(manager\)\]\)"):
        manager.hooks  # noqa: B018


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (None, "answers must be a list of answers or a function that gives one, not None"),
        ("Hi", r"not 'Hi'; write scripted\(\['Hi'\]\)"),
        (dict, "answers must be a list of answers"),
        (["Hi", 5], "answer 2 is 5; an answer is a text, a list of blocks"),
        ([[{"text": 5}]], "answer 1 is"),
        ([[{}]], "answer 1 is"),
    ],
)
def test_a_script_that_is_none_is_refused(answers: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        scripted(answers)


def store_of_the_sdk(name: str, **fields: Any) -> Any:
    made = type(name, (), {"__module__": "strands.vended_memory_stores", "__test__": False})()
    vars(made).update(name="notes", **fields)
    return made


def test_the_meaning_of_a_score_follows_from_the_store() -> None:
    keyword, other = type("KeywordSearchStrategy", (), {})(), type("Vectors", (), {})()
    stores = [
        store_of_the_sdk("FileMemoryStore", _storage=SimpleNamespace(_search_strategy=None)),
        store_of_the_sdk("FileMemoryStore", _storage=SimpleNamespace(_search_strategy=keyword)),
        store_of_the_sdk("FileMemoryStore", _storage=SimpleNamespace(_search_strategy=other)),
        store_of_the_sdk("BedrockKnowledgeBaseStore", min_score=0.1, max_score=None),
        store_of_the_sdk("BedrockKnowledgeBaseStore", min_score=None, max_score=1.0),
        store_of_the_sdk("BedrockKnowledgeBaseStore"),
        store_of_the_sdk("TestMemoryStore"),
    ]
    assert [measure(store) for store in stores] == [
        Measure("score", "count"),
        Measure("score", "count"),
        Measure("score", "similarity"),
        Measure("_relevance_score", "similarity"),
        Measure("_relevance_score", "distance"),
        Measure("_relevance_score", "score"),
        Measure("_relevanceScore", "count"),
    ]
    assert measure(WordStore("home")) is None


class Storage:
    """Holds bytes under keys; the last key is deleted while it is listed."""

    def __init__(self, **held: bytes) -> None:
        self.held = held

    async def list(self, prefix: str) -> list[str]:
        return [*self.held, "gone"]

    async def read(self, key: str) -> bytes | None:
        return self.held.get(key)


async def test_a_file_that_went_away_while_it_was_listed_is_left_out() -> None:
    view = listing(store_of_the_sdk("FileMemoryStore", _storage=Storage(b=b" tea ", a=b"milk")))
    assert view is not None
    assert [record.content for record in await view.page(0, 9)] == ["tea", "milk"]
    assert [record.id for record in await view.page(0, 9, sort="id")] == ["a", "b"]
    assert [record.id for record in await view.page(0, 9, sort="-id", where="M")] == ["a"]
