"""A grid is every combination of its values under names that can be read, and runs like settings written by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from memwb import callbacks, datasets
from memwb.errors import ConfigError
from memwb.evaluation import Arm, Case, evaluate, everything, grid, named
from memwb.ranking import tokenize
from memwb.stores import TestMemoryStore

TEA = Case("tea", [{"role": "user", "content": [{"text": "tea"}]}], ("I like tea",))


def store(*contents: str) -> TestMemoryStore:
    return TestMemoryStore.from_records(contents, name="notes")


def test_its_names_say_every_value_and_the_last_axis_changes_fastest() -> None:
    made = grid(max_entries=[3, 5], query=[None, callbacks.last_two_messages])

    assert made == {
        "max_entries=3, query=default": Arm({"max_entries": 3}),
        "max_entries=3, query=last_two_messages": Arm({"max_entries": 3, "query": callbacks.last_two_messages}),
        "max_entries=5, query=default": Arm({"max_entries": 5}),
        "max_entries=5, query=last_two_messages": Arm({"max_entries": 5, "query": callbacks.last_two_messages}),
    }


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([lambda context: "a", lambda context: "b"], ["query=lambda", "query=lambda 2"]),
        ([partial(callbacks.last_two_messages)], ["query=last_two_messages()"]),
        ({"short": None, "long": callbacks.last_two_messages}, ["query=short", "query=long"]),
        (callbacks.last_two_messages, ["query=last_two_messages"]),
        ([callbacks.Remembering()], ["query=Remembering"]),
    ],
)
def test_callbacks_are_called_by_their_names_or_by_yours(values: Any, names: list[str]) -> None:
    assert list(grid(query=values)) == names


def test_filters_are_put_before_the_format() -> None:
    made = grid(filters=[(), callbacks.no_duplicates, (callbacks.no_duplicates, callbacks.score_floor)])

    assert list(made) == ["filters=none", "filters=no_duplicates", "filters=no_duplicates+score_floor"]
    assert made["filters=none"] == Arm({})
    assert made["filters=no_duplicates"].injection == {
        "format": callbacks.Filtered(callbacks.default_block, callbacks.no_duplicates)
    }


async def test_stores_and_tokenizers_are_axes() -> None:
    def halves(text: str) -> set[str]:
        return {word[:2] for word in tokenize(text)}

    made = grid(stores={"mine": store("I like tea"), "empty": store()}, tokenizer=[None, halves])
    cases = [TEA, Case("team", [{"role": "user", "content": [{"text": "team"}]}], ("I like tea",))]
    report = await evaluate(cases, made, store("nothing"))

    assert {name: report[name].reached for name in report} == {
        "stores=mine, tokenizer=default": 0.5,
        "stores=mine, tokenizer=halves": 1.0,
        "stores=empty, tokenizer=default": 0.0,
        "stores=empty, tokenizer=halves": 0.0,
    }


async def test_a_grid_gives_what_its_settings_give_by_hand() -> None:
    data = datasets.load("ikat-demo", owner="2024-test/11")
    swept = await evaluate(data, grid(max_entries=[1, 3]))
    by_hand = await evaluate(data, {"one": {"max_entries": 1}, "three": {"max_entries": 3}})

    assert [each.figures for each in swept.results] == [each.figures for each in by_hand.results]


def test_a_list_of_settings_is_named_by_what_they_set() -> None:
    settings = [{}, {"max_entries": 3}, {"max_entries": 3}, False, everything(), {"query": callbacks.last_two_messages}]

    assert list(named(settings)) == [
        *("default", "max_entries=3", "max_entries=3 2", "off"),
        *("max_entries=1000000, stores=Everything", "query=last_two_messages"),
    ]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({}, "there is no axis"),
        ({"max_entires": [3]}, r"no axis 'max_entires'.*Did you mean 'max_entries'"),
        ({"query": []}, "axis 'query' has no value"),
    ],
)
def test_axes_of_the_wrong_form_are_refused(axes: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        grid(**axes)


async def test_values_of_the_wrong_form_are_refused_by_the_settings_name() -> None:
    with pytest.raises(ConfigError, match=r"setting 'max_entries=0'.*at least 1"):
        await evaluate([TEA], grid(max_entries=[0]), store())
