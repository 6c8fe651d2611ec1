"""The tokenizers for other scripts, other forms of a letter, and without stop words."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwb.ranking
from memwb.ranking import STOP_WORDS, tokenize, tokenize_any_script, tokenize_without_stop_words
from memwb.stores import TestMemoryStore

CASES = json.loads((Path(__file__).parents[1] / "cases" / "B45-search-pairs.json").read_text(encoding="utf-8"))
BOTH = [tokenize_any_script, tokenize_without_stop_words]


async def found(contents: list[str], query: str, tokenizer: Any) -> list[str]:
    store = TestMemoryStore.from_records(contents, name="notes", tokenizer=tokenizer)
    return [entry.content for entry in await store.search(query)]


@pytest.mark.parametrize("tokenizer", BOTH)
@pytest.mark.parametrize("pair", [*CASES["B45"], *CASES["B47"]], ids=lambda pair: pair["query"])
async def test_b45_b47_words_are_found_in_every_script_case_and_form(pair: dict[str, Any], tokenizer: Any) -> None:
    stated = {"ıığdır": True, "ığdır": True, "zoe": False, "abc12": True}  # where the case leaves a choice
    expected = stated[pair["query"]] if pair["find"] == "either" else pair["find"]
    assert await found([pair["content"]], pair["query"], tokenizer) == ([pair["content"]] if expected else [])


B48 = {case["query"]: case for case in CASES["B48"]}


@pytest.mark.parametrize("query", ["ok can you do that", "   ...  ", "why is the kettle not working?", "C++"])
async def test_b48_stop_words_bring_nothing_in_and_signs_count(query: str) -> None:
    case = B48[query]
    contents = case.get("contents") or [case["content"]]
    result = await found(contents, query, tokenize_without_stop_words)
    assert result == case["find"] if "find" in case else result[0] == case["first"]


async def test_b48_a_query_of_stop_words_alone_has_no_token_and_an_emoji_is_one() -> None:
    assert tokenize_without_stop_words("Who am I?") == set()
    assert await found(["name is Sam"], "Who am I?", tokenize_without_stop_words) == []
    assert await found(["likes 🍣", "likes tea"], "🍣", tokenize_without_stop_words) == ["likes 🍣"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("乌龙茶", {"乌龙", "龙茶"}),
        ("茶", {"茶"}),
        ("茶, 茶", {"茶"}),
        ("重启nginx后恢复", {"重启", "nginx", "后恢", "恢复"}),
        ("コーヒー・ﾃｨｰ", {"コー", "ーヒ", "ヒー", "ティ", "ィー"}),
        ("등산을 갔다", {"등산", "산을", "갔다"}),
        (unicodedata.normalize("NFD", "등산"), {"등산"}),
        ("กาแฟ", {"กา", "าแ", "แฟ"}),
        ("ดื่ม", {"ดื่ม"}),
        ("ກາເຟ", {"ກາ", "າເ", "ເຟ"}),
        ("កាហ្វេ", {"កាហ្", "ហ្វេ"}),
        ("ကော်ဖီ", {"ကော်ဖီ"}),
        ("हिन्दी में", {"हिन्दी", "में"}),
        ("தமிழ் வாழ்க", {"தமிழ்", "வாழ்க"}),
        ("क\u094d\u200dष क्ष", {"क्ष"}),
        ("کِتاب كـتاب", {"کتاب", "كتاب"}),
        ("שָׁלוֹם", {"שלום"}),
        ("soft\u00adhyphen", {"softhyphen"}),
        ("٣ ３ ³", {"٣", "3"}),
        ("ﬁne STRASSE Straße", {"fine", "strasse"}),
        ("Ὀδυσσεύς ὈΔΥΣΣΕΎΣ", {"ὀδυσσεύσ"}),
        ("C++, c# F#; g+", {"c", "c++", "c#", "f", "f#", "g", "g+"}),
        ("a+b c++11 #tag x+++", {"a", "b", "c", "11", "tag", "x"}),
        ("don't e-mail snake_case 3.14", {"don", "t", "e", "mail", "snake_case", "3", "14"}),
        ("🍣🍣☕ x", {"🍣", "☕", "x"}),
        (" \u3000 … 。 ", set()),
        ("", set()),
    ],
)
def test_a_text_of_any_script_falls_into_words_or_pairs(text: str, tokens: set[str]) -> None:
    assert tokenize_any_script(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("What's the kettle's problem? I don’t know, it isn't mine", {"kettle", "s", "problem", "know", "mine"}),
        ("You won't can't let's they'd", set()),
        ("Wont cant lets", {"wont", "cant", "lets"}),
        ("THE Üben", {"üben"}),
    ],
)
def test_stop_words_and_contractions_are_left_out(text: str, tokens: set[str]) -> None:
    assert tokenize_without_stop_words(text) == tokens


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_words_are_those_of_the_documented_tokenizer(text: str) -> None:
    signed = {token for token in tokenize_any_script(text) if token[-1] in "+#"}
    assert tokenize_any_script(text) - signed == tokenize(text)
    assert tokenize_without_stop_words(text) <= tokenize_any_script(text) - STOP_WORDS


@given(st.text())
def test_unicode_forms_and_letter_case_make_no_difference(text: str) -> None:
    for tokenizer in BOTH:
        tokens = tokenizer(text)
        for form in ("NFC", "NFD"):
            assert tokenizer(unicodedata.normalize(form, text)) == tokens
        assert all(token and not token.isspace() for token in tokens)


cjk = st.text(st.sampled_from("她每天早上喝乌龙茶龙舟"), min_size=2, max_size=12)


@given(cjk, cjk, cjk)
def test_a_word_without_spaces_is_found_wherever_it_stands(before: str, word: str, after: str) -> None:
    assert tokenize_any_script(word) <= tokenize_any_script(before + word + after)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"memwb\.ranking.*'Nothing'"):
        _ = memwb.ranking.Nothing


def test_the_further_tokenizers_are_loaded_when_they_are_asked_for() -> None:
    code = (
        "import sys, memwb.ranking; print('memwb.ranking.scripts' in sys.modules)\n"
        "from memwb.ranking import tokenize_any_script; print('memwb.ranking.scripts' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
