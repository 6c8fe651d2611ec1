"""Callbacks as text: as a person would type them, and doing the same."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from memwb import callbacks
from memwb.callbacks import Filtered, Remembering, source_of
from memwb.callbacks.source import begin_with


def run(source: str) -> dict[str, Any]:
    """Run a source as a cell would, and return what it defines."""
    names: dict[str, Any] = {}
    exec(compile(source, "<typed>", "exec"), names)
    return names


def test_the_source_of_a_function_has_neither_its_decorators_nor_its_indentation() -> None:
    def decorated(function: Any) -> Any:
        return function

    @decorated
    @decorated
    def query(context: Any) -> str:
        # said to the reader
        return "x"

    assert source_of(query) == 'def query(context: Any) -> str:\n    # said to the reader\n    return "x"\n'


@pytest.mark.parametrize("function", [len, lambda context: "x", asyncio.Lock(), eval("lambda c: 1")], ids=range(4))
def test_what_has_no_def_has_no_source(function: Any) -> None:
    assert source_of(function) is None


@pytest.mark.parametrize("name", sorted(set(callbacks.__all__) - {"Filtered", "Remembering", "said", "source_of"}))
def test_each_of_memwbs_own_runs_as_it_is_typed_and_is_short(name: str) -> None:
    source = source_of(getattr(callbacks, name))
    assert source is not None
    assert source.startswith((f"def {name}(context", f"def {name}(entries"))
    assert callable(run(source)[name])
    assert len(source.splitlines()) <= 25


def test_other_defaults_are_written_into_the_signature() -> None:
    source = source_of(partial(callbacks.token_budgeted, budget=300))
    assert source is not None
    assert source.startswith("def token_budgeted(context, budget=300):\n")


@pytest.mark.parametrize(
    "callback",
    [
        partial(callbacks.token_budgeted, None),
        partial(callbacks.token_budgeted, no_such=1),
        partial(callbacks.token_budgeted, budget=object()),
        partial(len),
        Filtered(lambda context: "x"),
        Filtered(callbacks.bullet_list, lambda entries: entries),
        Remembering(lambda context: "x"),
    ],
    ids=range(7),
)
def test_what_cannot_be_written_has_no_source(callback: Any) -> None:
    assert source_of(callback) is None


FORMAT = '''\
from __future__ import annotations

import re


def format(context):
    """Say it.

    In two lines.
    """
    return re.sub("a", "b", "\\u2028")


def helper(x):
    return x
'''


def test_statements_are_put_behind_the_docstring_and_definitions_below_the_future() -> None:
    found = begin_with(FORMAT, ["look({0})"], ["def look(c):\n    pass\n"], "format")
    assert found is not None
    assert found.startswith("from __future__ import annotations\n\n\ndef look(c):\n    pass\n\n\nimport re\n")
    assert '    """\n    look(context)\n    return re.sub' in found
    assert begin_with(found, ["look({0})"], ["def look(c):\n    pass\n"], "format") == found.replace(
        "    look(context)\n", "    look(context)\n    look(context)\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(c):\n\treturn 1\n", "def f(c):\n\tlook(c)\n\treturn 1\n"),
        ("def f(c):\r\n    return 1\r\n", "def f(c):\n    look(c)\n    return 1\n"),
        ("def f(é):\n    return 'é'\n", "def f(é):\n    look(é)\n    return 'é'\n"),
        (
            "def f(c):\n    @print\n    def g(): ...\n    return g\n",
            "def f(c):\n    look(c)\n    @print\n    def g(): ...\n    return g\n",
        ),
        ("def f(c): return 1\n", None),
        ("def f():\n    return 1\n", None),
        ('def f(c):\n    "only this"\n', None),
        ('def f(c):\n    "this"; return 1\n', None),
        ("f = lambda c: 1\n", None),
        ("def f(c\n", None),
    ],
    ids=range(10),
)
def test_a_function_takes_statements_or_says_that_it_cannot(before: str, after: str | None) -> None:
    assert begin_with(before, ["look({0})"], []) == after
