"""Models that follow a script, and models that fail as they are told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.errors import ConfigError, NoAnswerError
from memwb.testing import FaultyModel, ScriptedModel


def user(text: str) -> list[Any]:
    return [{"role": "user", "content": [{"text": text}]}]


async def test_answers_come_in_their_order_and_what_was_asked_is_kept() -> None:
    model = ScriptedModel(["one", "two"])
    messages = user("tea?")
    assert await model.complete("be kind", messages) == "one"
    messages[0]["content"][0]["text"] = "changed afterwards"
    assert await model.complete("be kind", user("coffee?")) == "two"
    assert model.asked == [("be kind", user("tea?")), ("be kind", user("coffee?"))]
    assert [asked.text for asked in model.asked] == ["tea?", "coffee?"]
    assert repr(model) == "ScriptedModel(asked 2 times, 0 answers left)"


async def test_a_script_that_runs_out_says_at_which_call_and_of_what() -> None:
    model = ScriptedModel(["one"])
    await model.complete("", user("tea?"))
    with pytest.raises(NoAnswerError) as caught:
        await model.complete("", user("coffee?"))
    assert str(caught.value) == (
        "ScriptedModel: call 2 has no answer, the script holds 1 answer. It was asked 'coffee?'. Give it more answers, "
        "or a function that answers any call."
    )
    assert caught.value.asked == ("", user("coffee?"))


async def test_a_mapping_answers_by_the_first_text_that_was_said() -> None:
    model = ScriptedModel({"latex": "allergic", "tea": "thirsty", "": "nothing"})
    asked = ["tea with latex", "tea", "coffee"]
    assert [await model.complete("", user(text)) for text in asked] == ["allergic", "thirsty", "nothing"]
    assert repr(model) == "ScriptedModel(asked 3 times)"


async def test_a_mapping_without_a_text_that_fits_names_those_it_has() -> None:
    with pytest.raises(NoAnswerError, match=r"no text of the script is in 'coffee'; it knows 'latex', 'tea'"):
        await ScriptedModel({"latex": "", "tea": ""}).complete("", user("coffee"))


async def test_a_function_answers_by_system_prompt_and_messages() -> None:
    async def later(system: str, messages: list[Any]) -> str:
        await asyncio.sleep(0)
        return f"{system}, {len(messages)}"

    assert await ScriptedModel(later).complete("be kind", user("tea")) == "be kind, 1"
    assert await ScriptedModel(lambda system, messages: system).complete("be kind", []) == "be kind"


async def test_what_is_no_text_is_answered_as_json_and_an_exception_is_raised() -> None:
    facts = [{"content": "likes naïve 東京 tea", "metadata": {"n": 1}}]
    model = ScriptedModel([facts, [], OSError("down"), TimeoutError])
    assert json.loads(await model.complete("", [])) == facts
    assert await model.complete("", []) == "[]"
    with pytest.raises(OSError, match="down"):
        await model.complete("", [])
    with pytest.raises(TimeoutError):
        await model.complete("", [])


def test_one_text_is_no_list_of_answers() -> None:
    with pytest.raises(TypeError, match=r"write \['tea'\]"):
        ScriptedModel("tea")


async def test_a_faulty_model_fails_in_the_order_it_was_told_and_then_no_more() -> None:
    model = FaultyModel(ScriptedModel(["well", "slowly", "again"]), ["raise", "ok", "slow", "empty", "unreadable"])
    with pytest.raises(ConnectionError, match="the model cannot be reached"):
        await model.complete("", [])
    answers = [await model.complete("", []) for _ in range(5)]
    assert answers[:3] == ["well", "slowly", ""]
    assert "[" not in answers[3]
    assert answers[4] == "again"
    assert model.faults == ["raise", "ok", "slow", "empty", "unreadable", "ok"]
    assert repr(model) == "FaultyModel(6 calls, 4 with a fault)"


async def test_a_hanging_model_ends_by_cancellation_alone() -> None:
    asked = asyncio.ensure_future(FaultyModel(faults="hang").complete("", []))
    done, _ = await asyncio.wait([asked], timeout=0.01)
    assert not done
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_a_model_of_ones_own_error_and_without_a_model_behind() -> None:
    with pytest.raises(KeyError):
        await FaultyModel(error=KeyError("k")).complete("", [])
    assert await FaultyModel(faults=()).complete("", []) == "[]"


async def _faults(seed: int, shares: dict[str, float], calls: int = 30) -> list[str]:
    model = FaultyModel(None, shares, seed=seed, seconds=0)
    for _ in range(calls):
        await model.complete("", [])
    return model.faults


@given(st.integers(), st.floats(0, 0.5), st.floats(0, 0.5))
def test_what_is_drawn_by_lot_is_the_same_for_the_same_seed(seed: int, empty: float, slow: float) -> None:
    shares = {"empty": empty, "slow": slow}
    assert asyncio.run(_faults(seed, shares, 5)) == asyncio.run(_faults(seed, shares, 5))


async def test_shares_are_kept_in_the_long_run() -> None:
    faults = await _faults(1, {"empty": 0.5, "unreadable": 0.25}, 400)
    assert 160 < faults.count("empty") < 240
    assert 70 < faults.count("unreadable") < 130
    assert faults != await _faults(2, {"empty": 0.5, "unreadable": 0.25}, 400)


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ("rase", "FaultyModel: faults: there is no fault 'rase'; .* Did you mean 'raise'?"),
        (["ok", "fail"], "there is no fault 'fail'"),
        ({"empty": 0.7, "slow": 0.7}, "at most 1"),
        ({"empty": -1}, "0 or more"),
    ],
)
def test_an_unknown_fault_or_impossible_shares_are_refused(faults: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        FaultyModel(None, faults)


@pytest.mark.parametrize(
    ("made", "key"),
    [
        (lambda: FaultyModel(5), "model"),
        (lambda: FaultyModel(None, 5), "faults"),
        (lambda: FaultyModel(None, {"raise": "x"}), "faults"),
        (lambda: FaultyModel(error="x"), "error"),
        (lambda: FaultyModel(seconds="x"), "seconds"),
        (lambda: FaultyModel(seconds=-1), "seconds"),
        (lambda: ScriptedModel(None), "answers"),
        (lambda: ScriptedModel({5: "a"}), "answers"),
    ],
)
def test_an_argument_of_a_wrong_kind_is_refused_by_name(made: Any, key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}.* must be .*, not") as caught:
        made()
    assert caught.value.key == key
