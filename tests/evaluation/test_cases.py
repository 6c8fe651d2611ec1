"""Cases are taken from a data set or a list, and what is wrong with one is said with its name and field."""

from __future__ import annotations

from typing import Any

import pytest

from memwb import datasets
from memwb.errors import ConfigError
from memwb.evaluation import Case, checked_cases

HELLO = [{"role": "user", "content": [{"text": "Hello"}]}]


def test_the_case_is_the_one_of_the_data_sets() -> None:
    assert Case is datasets.Case


def test_a_data_set_gives_its_cases() -> None:
    data = datasets.load("ikat-demo", owner="2024-test/11")
    assert checked_cases(data) == data.cases


def test_a_dict_with_the_fields_of_a_case_counts_as_one() -> None:
    assert checked_cases([{"id": "c", "messages": HELLO, "expected": ["a"]}, Case("d", HELLO)]) == (
        Case("c", HELLO, ("a",)),
        Case("d", HELLO),
    )


@pytest.mark.parametrize(
    ("cases", "key", "message"),
    [
        ([], "cases", "There are no cases"),
        ("c", "cases", "cases must be a data set or a list of cases, not 'c'"),
        ({"id": "c"}, "cases", "cases must be a data set or a list of cases"),
        (5, "cases", "cases must be a data set or a list of cases, not 5"),
        ([HELLO], "cases", r"cases\[0\] is .*it must be a Case, or a dict with id, messages, expected"),
        ([{"messages": HELLO}], "id", r"cases\[0\]: id is missing"),
        ([{"id": "c"}], "messages", "Case 'c': messages is missing"),
        (
            [{"id": "c", "messages": HELLO, "expect": []}],
            "expect",
            "Case 'c' has no key 'expect'.*Did you mean 'expected'",
        ),
        ([{"id": "c", "messages": HELLO, "owner": 1}], "owner", "Case 'c': owner is 1"),
        ([Case("c", HELLO), Case("c", HELLO)], "id", "Case 'c': id stands twice"),
    ],
)
def test_cases_of_the_wrong_form_are_refused(cases: Any, key: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        checked_cases(cases)

    assert caught.value.key == key
