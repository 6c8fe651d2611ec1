"""A case says what is wrong with it, and nobody can change what it holds."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from memwb.datasets import Case
from memwb.errors import ConfigError

HELLO = [{"role": "user", "content": [{"text": "Hello"}]}]


def test_a_case_holds_copies_and_hands_out_copies() -> None:
    messages = [{"role": "user", "content": [{"text": "Hello"}]}]
    metadata = {"topic": "greeting"}
    case = Case("c", messages, metadata=metadata)
    messages[0]["role"] = "assistant"
    metadata["topic"] = "changed"
    case.messages[0]["content"].append({"text": "more"})
    case.messages.clear()
    assert case.metadata is not None
    case.metadata.clear()

    assert (case.messages, case.metadata) == (HELLO, {"topic": "greeting"})


def test_cases_with_the_same_fields_are_equal_and_count_as_one() -> None:
    one, other = Case("c", HELLO, ["a"]), Case("c", HELLO, ("a",))  # type: ignore[arg-type]

    assert one == other
    assert len({one, other}) == 1
    assert one != Case("c", HELLO, ("b",))


def test_a_case_survives_pickling_and_replacing() -> None:
    case = Case("c", HELLO, ("a",), "Ann", "greeting", {"n": 1})

    assert pickle.loads(pickle.dumps(case)) == case
    assert dataclasses.replace(case, id="d") == Case("d", HELLO, ("a",), "Ann", "greeting", {"n": 1})


def test_the_repr_tells_what_it_is_without_its_texts() -> None:
    assert repr(Case("c", HELLO)) == "Case('c': 1 message, expects no entry)"
    assert (
        repr(Case("c", HELLO * 3, ("a", "b"), "Ann", "greeting"))
        == "Case('c': 3 messages, expects 2 entries, owner 'Ann', category 'greeting')"
    )


@pytest.mark.parametrize(
    ("fields", "key", "message"),
    [
        ({"id": ""}, "id", "A case's id must be a text, not ''"),
        ({"id": 5}, "id", "A case's id must be a text, not 5"),
        ({"messages": []}, "messages", r"Case 'c': messages is \[\]; it must be a list of at least one message"),
        ({"messages": "Hello"}, "messages", "Case 'c': messages is 'Hello'"),
        ({"messages": [*HELLO, "x"]}, "messages[1]", r"Case 'c': messages\[1\] is 'x'; it must be a dict like"),
        ({"messages": [{"role": "system", "content": []}]}, "messages[0]", r"messages\[0\] is {'role': 'system'"),
        ({"messages": [{"role": "user", "content": "Hi"}]}, "messages[0]", r"messages\[0\] is"),
        (
            {"messages": [{"role": "user", "content": [{"text": 5}]}]},
            "messages[0]['content'][0]",
            r"messages\[0\]\['content'\]\[0\] is {'text': 5}; it must be a block",
        ),
        (
            {"expected": "a"},
            "expected",
            r"expected is 'a'; it must be a list of ids; \[\] says that the turn needs none",
        ),
        ({"expected": ["a", 5]}, "expected[1]", r"expected\[1\] is 5; it must be an id"),
        ({"expected": ["a", " "]}, "expected[1]", r"expected\[1\] is ' '"),
        ({"expected": ["a", "a"]}, "expected[1]", r"expected\[1\] is 'a'; it is listed twice"),
        ({"owner": 5}, "owner", "owner is 5; it must be a text or None"),
        ({"category": 5}, "category", "category is 5; it must be a text or None"),
        ({"metadata": []}, "metadata", r"metadata is \[\]; it must be a dict or None"),
    ],
)
def test_a_field_of_the_wrong_form_is_refused_with_the_case_and_the_field(
    fields: dict[str, Any], key: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Case(**{"id": "c", "messages": HELLO, **fields})

    assert caught.value.key == key


def test_messages_are_required() -> None:
    with pytest.raises(TypeError, match="messages"):
        Case("c")


def test_a_case_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Case("c", HELLO).id = "d"  # type: ignore[misc]


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(ConfigError) as caught:
        Case("c", HELLO, ["a" * 5000, 5])  # type: ignore[arg-type, list-item]
    assert len(str(caught.value)) < 200
