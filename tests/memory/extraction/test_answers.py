"""Reading the facts out of whatever a model answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.memory import ExtractionResult, ModelExtractor, Unreadable
from memwb.memory.extraction.answers import read_answer
from memwb.testing import ScriptedModel
from tests.memory.extraction.host import attached, facts
from tests.memory.stores import user

B38 = json.loads((Path(__file__).parents[2] / "cases" / "B38-model-answers.json").read_text(encoding="utf-8"))[
    "answers"
]


def fits(case: dict[str, Any], kept: list[str], reported: bool, waiting: bool) -> bool:
    said = reported or "report" not in case
    return kept == case["keep"] and said and waiting == bool(case.get("retry"))


@pytest.mark.parametrize("case", B38, ids=[repr(case["raw"][:40]) for case in B38])
async def test_b38_each_answer_keeps_reports_and_holds_back_as_stated(case: dict[str, Any]) -> None:
    home = facts("home", extractor=ModelExtractor(ScriptedModel([case["raw"]])))
    manager, host = await attached(home)
    host.add(user("I like oolong"))
    await manager.flush()
    kept = [content for content, _ in home.writes]
    log = manager.extraction_log
    reported = any(type(event).__name__ in ("Noted", "Unreadable") for event in log)
    waiting = bool(log.unreadable)
    either = [case, {**case, **case["or"], "or": None}] if "or" in case else [case]
    assert any(fits(one, kept, reported, waiting) for one in either), (kept, list(log))
    assert all(metadata is None for _, metadata in home.writes)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('```\n[{"content": "a"}]\n```', ["a"]),
        ('Facts: ```json [{"content": "a"}] ``` as asked', ["a"]),
        ("[1] and [2]: none, []", []),
        ('<think>Perhaps [{"content": "no"}]?</think>[]', []),
        ('<THINKING>\n[{"content": "no"}]\n</THINKING>\n[{"content": "a"}]', ["a"]),
        ('Example: [{"content": "no"}] Answer: [{"content": "a"}]', ["a"]),
        ('[{"content": "a"}] Nothing else: []', ["a"]),
        ('{"facts": [{"content": "a"}], "done": true}', ["a"]),
        ('{"likes": [{"content": "a"}], "tags": ["x"], "owns": [{"content": "b"}]}', ["a", "b"]),
        ('{"note": "see [1]", "facts": []}', []),
        ('{\'facts\': [{"content": "a"}]}', ["a"]),
        ('[{"content": "a", "metadata": {"tags": ["x", "y"]}}]', ["a"]),
        ('[{"content": "a ]"}, {"content": "[ b"}]', ["a ]", "[ b"]),
        ('[{"content": "\\ud800"}, {"content": "a"}]', ["a"]),
        ('[{"content": "a\\u0000b"}]', ["a\x00b"]),
        ("[]", []),
        ('["likes tea", "owns a cat"]', ["likes tea", "owns a cat"]),
        ('["a", {"content": "b"}]', ["b"]),
        ('[{"content": " "}, {"fact": "a"}]', []),
        ('{"errors": [], "facts": []}', []),
        ('{"error": "one page was lost", "facts": [{"content": "a"}]}', ["a"]),
        ('<think>a<reasoning>[{"content": "no"}]</reasoning>[{"content": "a"}]', ["a"]),
        ('<think><think></think>[{"content": "a"}]</think>', ["a"]),
        ('[{"content":"a"}] ok :-[', ["a"]),
        ('[{"content": "a"}] (more at [', ["a"]),
        ('[{"content": "a"}] as in {"', ["a"]),
        ('[{"content": "a"}] as in {"n": ', ["a"]),
        ('Starts with { " or [: [{"content": "a"}]', ["a"]),
        ('Open: [ [{"content": "a"}]', ["a"]),
        ('Open: [ {"facts": [{"content": "a"}]}', ["a"]),
        ('```json\n[[{"content": "a"}]\n```', ["a"]),
        ('[[{"content": "a"}], [{"content": "b"}]]', ["a", "b"]),
        ('[{"facts": [{"content": "a"}]}]', ["a"]),
        ("[] nothing :-[", []),
        ('[{"content": "Writes <think>x</think> tags"}]', ["Writes <think>x</think> tags"]),
        ('<think>[{"content": "no"}]</think>[{"content": "Writes <think>"}] <think>done</think>', ["Writes <think>"]),
    ],
)
def test_facts_are_found_in(text: str, kept: list[str]) -> None:
    answer = read_answer(text)
    assert ([fact.content for fact in answer.facts], answer.unreadable) == (kept, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the answer is empty"),
        (" \n", "the answer is empty"),
        ("<think>[]</think>", "the answer holds nothing but thoughts"),
        ("I found nothing.", "the answer holds no list of facts"),
        ("See [1] and [2].", "the answer holds no list of facts"),
        ('They are ["tea", "milk"].', "the answer holds no list of facts"),
        ('{"content": "a"}', "the answer holds no list of facts"),
        ('{"content": "a", "metadata": {"tags": ["x"]}}', "the answer holds no list of facts"),
        ('{"a": [{"content": "a"}], "b": [{"cont', "the answer breaks off inside its list"),
        ('Like [{"content": "a"}]: [{"content": "b"}, {"con', "the answer breaks off inside its list"),
        ('[{"content": "a"}, {"content": "b', "the answer breaks off inside its list"),
        ('[{"content": "a", "metadata": {"tags": ["x"]}}, {"content"', "the answer breaks off inside its list"),
        ('```json\n[{"content": "a"},\n```', "the answer breaks off inside its list"),
        ('[] [{"content": "a"}, {"con', "the answer breaks off inside its list"),
        ('[{"content": "a", "of": [{"content": "b"}]}, {"con', "the answer breaks off inside its list"),
        ('{"a": [{"content": "a"}], "b', "the answer breaks off inside its list"),
        ('{"a": [{"content": "a"}], "more": tr', "the answer breaks off inside its list"),
        ('{"a": [], "b": [', "the answer breaks off inside its list"),
        ('{"n": 1, "a": [{"content": "a"}], "b": ["', "the answer breaks off inside its list"),
        ('[{"facts": [{"content": "a"}]}, {"facts": [{"con', "the answer breaks off inside its list"),
        ('["a", [], "b', "the answer breaks off inside its list"),
        ('[{"content": "a", "n": NaN}]', "the answer holds no list of facts"),
        ("[{'content': 'a'}]", "the answer holds no list of facts"),
        ("[{}]", "none of the list's items is a fact that can be kept"),
        ("[7, null]", "none of the list's items is a fact that can be kept"),
        ('[{"fact": "allergic to latex"}]', "none of the list's items is a fact that can be kept"),
        ('[{"text": "allergic to latex"}, 7]', "none of the list's items is a fact that can be kept"),
        ('[{"content": "\\ud800"}]', "none of the list's items is a fact that can be kept"),
        ('{"error": "rate limited", "details": []}', "the answer holds no list of facts"),
        ('{"type": "error", "items": []}', "the answer holds no list of facts"),
        ("[" * 5_000 + "]" * 5_000, "the answer nests too deeply to be read"),
        ("[" * 900 + "1," * 5_000 + "x", "the answer holds too many brackets to find its list"),
    ],
)
def test_an_answer_without_a_list_says_why(text: str, reason: str) -> None:
    answer = read_answer(text)
    assert (answer.facts, answer.unreadable) == ([], reason)


def test_a_fact_whose_metadata_no_file_could_hold_is_kept_without_it() -> None:
    deep = f'{{"a": {"[" * 300}{"]" * 300}}}'
    answer = read_answer(
        f'[{{"content": "a", "metadata": {deep}}}, {{"content": "b", "metadata": {{"n": "\\ud800"}}}}]'
    )
    assert (answer.facts, answer.unreadable) == ([ExtractionResult("a"), ExtractionResult("b")], "")
    assert [note.partition("; it was left out: ")[0] for note in answer.notes] == [
        "metadata['a'][0][0]: nests deeper than 100 levels",
        "metadata['n']: holds a lone surrogate, which UTF-8 cannot hold ('\\ud800' at character 0)",
    ]


def test_notes_say_what_was_dropped_or_chosen() -> None:
    answer = read_answer(
        '[{"content": "no"}] '
        '[{"content": "a", "metadata": 7}, {"fact": "b"}, {"content": " a "}, {"content": " "}, null]'
    )
    assert answer.facts == [ExtractionResult("a")]
    assert answer.notes == [
        "the answer holds 2 lists; the last one was used",
        "metadata that is no object was left out: 7",
        'an item without a text as content was dropped: {"fact": "b"}',
        "a repeated fact was dropped: 'a'",
        "a blank fact was dropped: ''",
        "an item without a text as content was dropped: null",
    ]


_OBJECT_OR_LIST_OF_OBJECTS = re.compile(r'\{\s*"[^"]*"\s*:|\[\s*\{')
_PROSE = st.one_of(
    st.text(st.characters(exclude_characters="<", exclude_categories=["Cs"]), max_size=20),
    st.text(st.sampled_from('[]{}":,` 1a'), max_size=12),
).filter(lambda prose: not _OBJECT_OR_LIST_OF_OBJECTS.search(prose))
"""Any prose but what itself begins facts: after a list that is an answer that breaks off."""
_FACTS = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
                lambda t: t.strip()
            )
        },
        optional={
            "metadata": st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers(), max_size=2)
        },
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda item: item["content"].strip(),
)


@given(
    _PROSE,
    _FACTS,
    _PROSE,
    st.booleans(),
    st.sampled_from(["{}", "```json\n{}\n```", '{{"facts": {}, "n": [1]}}', "[1] {} {{2}}", "[{}]"]),
)
def test_every_list_of_facts_is_read_whatever_stands_around_it(
    before: str, items: Any, after: str, ascii_only: bool, around: str
) -> None:
    text = f"{before}{around.format(json.dumps(items, ensure_ascii=ascii_only))}{after}"
    expected = [ExtractionResult(item["content"].strip(), item.get("metadata")) for item in items]
    assert read_answer(text).facts == expected


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    answer = read_answer(text)
    assert not (answer.facts and answer.unreadable)


@pytest.mark.parametrize(
    "text",
    [
        *(each * 100_000 for each in ("[", "[1,", "[x", '["', "[{", "{", "<think>", '[{"a":')),
        "<think><reasoning></think>" * 20_000,
        "[" * 900 + "1," * 100_000 + "x",
        '```\n["a"]' + "\n" * 100_000 + "x",
        "[" * 400 + "1," * 100_000,
        '["a",' * 300 + '"' + "x" * 300_000,
        '[{"a": 1},' * 300 + " " * 300_000,
        '{"a":' * 300 + '"' + "x" * 300_000,
        "[" * 300 + '[{"fact": 1},' * 20_000,
    ],
)
def test_hostile_answers_take_no_time(text: str) -> None:
    began = perf_counter()
    assert read_answer(text).facts == []
    assert perf_counter() - began < 1


class TestRetry:
    async def test_an_unreadable_answer_keeps_its_messages_and_lets_the_mark_move_on(self, caplog: Any) -> None:
        model = ScriptedModel(["Sorry, no.", [{"content": "likes milk"}], [{"content": "likes tea"}]])
        home = facts("home", extractor=ModelExtractor(model))
        manager, host = await attached(home)
        host.add(user("tea"))
        await manager.flush()
        assert "no list of facts in the answer 'Sorry, no.'" in caplog.text
        [kept] = manager.extraction_log.unreadable
        assert (kept.text, kept.messages, kept.numbers) == ("Sorry, no.", (user("tea"),), (0,))
        [status] = manager.extraction_status()
        assert (status.saved, status.unreadable, status.pending, status.buffered) == (0, (0,), (), 0)
        told = "Flushed(left: no message; kept with an unreadable answer: message 0)"
        assert repr(manager.extraction_log[-1]) == told
        host.add(user("milk"))
        await manager.flush()
        assert await manager.retry_unreadable() == 0
        assert home.writes == [("likes milk", None), ("likes tea", None)]
        assert "tea" in model.asked[2].text
        assert manager.extraction_log.unreadable == ()
        assert manager.extraction_status()[0].unreadable == ()

    async def test_a_list_without_a_fact_in_it_keeps_its_messages(self) -> None:
        model = ScriptedModel(['[{"fact": "likes tea"}]', [{"content": "likes tea"}]])
        home = facts("home", extractor=ModelExtractor(model))
        manager, host = await attached(home)
        host.add(user("tea"))
        await manager.flush()
        assert manager.extraction_status()[0].unreadable == (0,)
        assert await manager.retry_unreadable() == 0
        assert home.writes == [("likes tea", None)]

    async def test_what_is_unreadable_again_is_kept_once_with_the_newest_answer(self) -> None:
        manager, host = await attached(facts("home", extractor=ModelExtractor(ScriptedModel(["no", "nope"]))))
        host.add(user("tea"))
        await manager.flush()
        assert await manager.retry_unreadable() == 1
        assert [kept.text for kept in manager.extraction_log.unreadable] == ["nope"]
        assert len(manager.extraction_log.of(Unreadable)) == 2

    async def test_a_retry_that_fails_keeps_them_and_facts_that_are_not_written_are_written_later(self) -> None:
        model = ScriptedModel(["no", ConnectionError("down"), [{"content": "likes tea"}]])
        home = facts("home", extractor=ModelExtractor(model), refuses=["likes tea"])
        manager, host = await attached(home)
        host.add(user("tea"))
        await manager.flush()
        assert await manager.retry_unreadable() == 1
        assert await manager.retry_unreadable() == 0
        [status] = manager.extraction_status()
        assert (status.unwritten, status.pending, status.mark) == (("likes tea",), (0,), 0)
        home.refuses = []
        await manager.flush()
        assert home.writes == [("likes tea", None)]
        assert manager.extraction_status()[0].pending == ()

    async def test_without_unreadable_answers_no_model_is_asked(self) -> None:
        model = ScriptedModel([])
        manager, _ = await attached(facts("home", extractor=ModelExtractor(model)))
        assert await manager.retry_unreadable() == 0
        assert model.asked == []
