"""Cases are taken from a data set or a list, and what is wrong with one is said with its name and field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from memwb import datasets
from memwb.errors import ConfigError, DamagedFileError
from memwb.evaluation import Case, checked_cases, load_cases, save_cases

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


class TestFiles:
    def test_give_back_what_was_saved(self, tmp_path: Path) -> None:
        data = datasets.load("ikat-demo", owner="2024-test/11")
        file = save_cases(tmp_path / "cases.jsonl", data)

        assert load_cases(file) == data.cases
        assert save_cases(tmp_path / "again.jsonl", load_cases(file)).read_bytes() == file.read_bytes()

    def test_may_hold_messages_as_texts(self, tmp_path: Path) -> None:
        file = tmp_path / "cases.jsonl"
        file.write_text('{"id": "c", "messages": ["Hi", "Hello", "Tea?"]}\n\n{"id": "d", "messages": "Hello"}\n')
        roles = [message["role"] for message in load_cases(file)[0].messages]

        assert roles == ["user", "assistant", "user"]
        assert load_cases(file)[1] == Case("d", HELLO)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"id": "d"', "line 2: not JSON"),
            ('{"id": "d"}', "line 2: Case 'd': messages is missing"),
            ('{"id": "d", "messages": ["x"], "expected": "a"}', "line 2: Case 'd': expected is 'a'"),
            ('{"id": "c", "messages": ["x"]}', "line 2: Case 'c': its id stands on an earlier line already"),
            ("[]", r"line 2: cases\[1\] is \[\]; it must be a Case"),
        ],
    )
    def test_are_refused_by_line_case_and_field(self, tmp_path: Path, line: str, message: str) -> None:
        file = tmp_path / "cases.jsonl"
        file.write_text('{"id": "c", "messages": ["x"]}\n' + line + "\n")
        with pytest.raises(DamagedFileError, match=message):
            load_cases(file)

    def test_without_a_case_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "cases.jsonl").write_text("\n")
        with pytest.raises(ConfigError, match="There are no cases"):
            load_cases(tmp_path / "cases.jsonl")

    def test_hold_nothing_that_json_cannot(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="Case 'c' cannot be written as JSON"):
            save_cases(tmp_path / "cases.jsonl", [Case("c", HELLO, metadata={"at": object()})])


class TestFrames:
    def test_have_a_row_for_each_case(self) -> None:
        rows = [{"id": "c", "messages": "Hello", "expected": ["a"], "owner": "ann"}, {"id": "d", "messages": HELLO}]
        rows[1]["expected"] = []

        assert checked_cases(pd.DataFrame(rows)) == (Case("c", HELLO, ("a",), "ann"), Case("d", HELLO))

    def test_without_a_label_are_refused(self) -> None:
        frame = pd.DataFrame([{"id": "c", "messages": "x", "expected": ["a"]}, {"id": "d", "messages": "x"}])
        with pytest.raises(ConfigError, match="Case 'd': expected is nan; it must be a list of ids"):
            checked_cases(frame)
