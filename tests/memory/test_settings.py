"""Injection settings: what is taken, and how everything else is refused when it is set."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.errors import ConfigError
from memwb.memory import MemoryManager
from memwb.memory.settings import Injection, resolve_injection
from tests.memory.stores import BareStore


def plain(context: Any) -> str:
    return "plain"


async def an_async(context: Any) -> str:
    return "async"


async def an_async_generator(context: Any) -> Any:
    yield "async"


class AsyncCall:
    async def __call__(self, context: Any) -> str:
        return "async"

    async def method(self, context: Any) -> str:
        return "async"


@pytest.mark.parametrize("off", [False, None])
def test_off(off: Any) -> None:
    assert resolve_injection(off) is None
    assert MemoryManager([BareStore("s")], injection=off).injection is None


@pytest.mark.parametrize(
    "defaults",
    [True, {}, {"max_entries": None, "trigger": None, "query": None, "format": None, "placement": None}],
)
def test_on_with_the_defaults(defaults: Any) -> None:
    assert resolve_injection(defaults) == Injection(5, "userTurn", None, None, "prepend")
    assert MemoryManager([BareStore("s")], injection=defaults).injection == {
        "max_entries": 5,
        "trigger": "userTurn",
        "placement": "prepend",
    }


def test_the_settings_read_back_are_the_settings_given() -> None:
    given: Any = {"max_entries": 2, "trigger": plain, "query": plain, "format": plain, "placement": "append"}
    manager = MemoryManager([BareStore("s")], injection=given)
    assert manager.injection == given
    assert MemoryManager([BareStore("t")], injection=manager.injection).injection == given


@pytest.mark.parametrize("not_a_setting", [1, 0, "on", [], ["max_entries"], object])
def test_anything_but_a_switch_or_a_dict_is_refused(not_a_setting: Any) -> None:
    with pytest.raises(ConfigError, match=r"^MemoryManager: injection must be True, False or a dict of settings, not"):
        resolve_injection(not_a_setting)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"trigger": "user_turn"}, "trigger", "Did you mean 'userTurn'?"),
    ({"trigger": "everyturn"}, "trigger", "Did you mean 'everyTurn'?"),
    ({"trigger": "always"}, "trigger", "it takes 'userTurn' or 'everyTurn' or a function of the context"),
    ({"trigger": 5}, "trigger", "must be a function of the context, or one of userTurn, everyTurn"),
    ({"max_entry": 1}, "max_entry", "Did you mean 'max_entries'?"),
    ({"max_entires": 1}, "max_entires", "Did you mean 'max_entries'?"),
    ({"maxEntries": 1}, "maxEntries", "Did you mean 'max_entries'?"),
    ({"fromat": plain}, "fromat", "Did you mean 'format'?"),
    ({"colour": "red"}, "colour", "the keys are max_entries, trigger, query, format, placement"),
    ({3: 1}, "3", "has no key 3"),
    ({"max_entries": 0}, "max_entries", "at least 1"),
    ({"max_entries": -1}, "max_entries", "at least 1"),
    ({"max_entries": "5"}, "max_entries", "is '5'; it must be a whole number"),
    ({"max_entries": 5.0}, "max_entries", "is 5.0; it must be a whole number"),
    ({"max_entries": True}, "max_entries", "is True; it must be a whole number"),
    ({"placement": "apend"}, "placement", "Did you mean 'append'?"),
    ({"placement": ["append"]}, "placement", "it takes 'prepend' or 'append'"),
    ({"query": "tea"}, "query", "is 'tea'; it must be a function of the context"),
    ({"format": 3}, "format", "must be a function of the context"),
]


@pytest.mark.parametrize(("config", "key", "words"), REFUSED, ids=lambda value: str(value)[:40])
def test_b71_a_bad_setting_is_refused_when_built_and_named(config: Any, key: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        MemoryManager([BareStore("s")], injection=config)
    assert str(caught.value).startswith("MemoryManager: injection")
    assert words in str(caught.value)
    assert (caught.value.key, caught.value.value) == (key, next(iter(config.values())))
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("key", ["trigger", "query", "format"])
@pytest.mark.parametrize(
    "callback",
    [an_async, an_async_generator, AsyncCall(), AsyncCall().method, partial(an_async), partial(partial(AsyncCall()))],
    ids=["function", "generator", "object", "method", "partial", "nested partial"],
)
def test_async_callbacks_are_refused_when_set(key: str, callback: Any) -> None:
    with pytest.raises(ConfigError, match=f"key '{key}' is the async function .* Write it with plain 'def'") as caught:
        resolve_injection({key: callback})
    assert caught.value.key == key


@pytest.mark.parametrize("key", ["trigger", "query", "format"])
@pytest.mark.parametrize("callback", [plain, lambda context: "", partial(plain), str.lower, BareStore])
def test_anything_else_that_can_be_called_is_taken(key: str, callback: Any) -> None:
    settings = resolve_injection({key: callback})
    assert settings is not None
    assert getattr(settings, key) is callback


async def test_a_config_given_to_one_run_is_checked_too() -> None:
    manager = MemoryManager([BareStore("s")])
    with pytest.raises(ConfigError, match="Did you mean 'max_entries'"):
        await manager.trace_injection([], {"max_entry": 1})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(ConfigError, match="at least 1"):
        await manager.inject([], {"max_entries": 0})
    with pytest.raises(ConfigError, match="Did you mean 'userTurn'"):
        await manager.why("x", [], {"trigger": "user_turn"})  # type: ignore[typeddict-item]


@given(
    st.dictionaries(
        st.sampled_from(["max_entries", "trigger", "query", "format", "placement", "max_entry", "x"]),
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(["userTurn", "append"]),
            st.lists(st.integers()), st.just(plain), st.just(an_async),
        ),
    )
)  # fmt: skip
def test_any_dict_is_either_taken_whole_or_refused_with_its_key(config: dict[str, Any]) -> None:
    settings, error = None, None
    try:
        settings = resolve_injection(config)
    except ConfigError as caught:
        error = caught
    if error is not None:
        assert error.key in config
        assert repr(error.key) in str(error)
        return
    assert settings is not None
    expected = {"max_entries": 5, "trigger": "userTurn", "placement": "prepend"}
    expected.update({key: value for key, value in config.items() if value is not None})
    assert settings.config() == expected
