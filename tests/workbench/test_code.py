"""Typed callbacks: what is complete, what is not, and at which line."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwb.callbacks.complete import IncompleteError, Problem, check
from memwb.memory import MemoryManager
from memwb.workbench.code import TEMPLATES, build, problem_of
from tests.workbench.fakes import ListStore


def mistake(source, name="query", known=()):
    """The first mistake that the check finds, None when the source is complete."""
    try:
        check(name, source, frozenset(known))
    except IncompleteError as error:
        return error.problem
    return None


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_the_editor_opens_with_is_complete(name):
    assert mistake(TEMPLATES[name], name) is None


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            "def query(context):\n    return 'unclosed",
            Problem("SyntaxError: unterminated string literal (detected at line 2)", 2, "return 'unclosed"),
        ),
        ("def query(context):\n    retur", Problem("NameError: name 'retur' is not defined", 2, "retur")),
        (
            "def query(context):\n",
            Problem(
                "SyntaxError: expected an indented block after function definition on line 1", 1, "def query(context):"
            ),
        ),
        ("def query(context):\n  a = 1\n   return a", Problem("SyntaxError: unexpected indent", 3, "return a")),
        ("return 1", Problem("SyntaxError: 'return' outside function", 1, "return 1")),
        ("query = 1 +", Problem("SyntaxError: invalid syntax", 1, "query = 1 +")),
        ("x = 1", Problem("a function named 'query' is needed: def query(context): ...")),
        ("# nothing yet", Problem("a function named 'query' is needed: def query(context): ...")),
        (
            "\nasync def query(context):\n    return 'B'",
            Problem("callbacks are called without await: write 'def', not 'async def'", 2, "async def query(context):"),
        ),
        (
            "def query(context):\n    return [x for x in later]",
            Problem("NameError: name 'later' is not defined", 2, "return [x for x in later]"),
        ),
        (
            "import os\nclass A(Base):\n    pass\ndef query(c): return 1",
            Problem("NameError: name 'Base' is not defined", 2, "class A(Base):"),
        ),
        ("a\0b", Problem("SyntaxError: source code string cannot contain null bytes")),
    ],
    ids=range(12),
)
def test_a_mistake_is_told_with_its_line(source, problem):
    assert mistake(source) == problem


@pytest.mark.parametrize(
    "source",
    [
        "query = lambda context: 'E'",
        "def first(context): return 'a'\n\ndef other(context): return first(context)",
        "from math import *\ndef query(context): return str(floor(2.5))",
        "import re, os.path as p\ndef query(c):\n    return p.join(re.sub('a', 'b', 'c'), *[x for x in 'ab' if x])",
        "def query(context):\n    global seen\n    seen = 1\n    return str(seen)",
        "class A:\n    size = 1\n    double = size * 2\n    def text(self): return __class__.__name__\n"
        "def query(context): return A().text()",
        "def query(context, **kwargs):\n    try:\n        return context.messages[0]\n"
        "    except (KeyError, IndexError) as e:\n        return repr(e)",
        "def query(context):\n    def inner(n): return n and inner(n - 1)\n    return (lambda y: f'{y!r}')(inner(3))",
        "def query(context):\n    return [(a, b) for a in 'xy' for b in a if (c := b) and c]",
        "def query(context):\n    match context.messages:\n        case [first, *rest]: return str(first)\n"
        "        case other: return str(other)",
        "def query(context):\n    return __name__ + str(__file__)",
        "import os\nfor n in range(2):\n    with open(os.devnull) as f: del n\ndef query(context): return str(f)",
        "def query(context: dict[str, int], *args: int) -> str | None:\n    x: int = 1\n    return str(x)",
    ],
    ids=range(13),
)
def test_sound_python_is_complete(source):
    assert mistake(source) is None


def test_names_of_the_notebook_are_known_where_they_are_given():
    source = "def query(context): return helper(context)"

    assert mistake(source) == Problem("NameError: name 'helper' is not defined", 1, source)
    assert mistake(source, known=["helper"]) is None


def test_the_function_that_bears_the_callbacks_name_is_taken_and_else_the_last_one():
    helpers = "def a(c): ...\ndef query(c): ...\ndef b(c): ..."

    assert check("query", helpers) == "query"
    assert check("format", helpers) == "b"


def test_a_problem_reads_as_one_line():
    assert (
        str(Problem("NameError: name 'x' is not defined", 2, "x + 1"))
        == "line 2: NameError: name 'x' is not defined in `x + 1`"
    )
    assert str(Problem("no place")) == "no place"


async def test_a_complete_source_becomes_a_function_and_nothing_of_it_stays_behind():
    namespace = {"word": "cane"}
    function = await build("query", "found = word\ndef query(context): return found + context", namespace, 1)

    assert function("s") == "canes"
    assert namespace == {"word": "cane"}


async def test_an_incomplete_source_is_never_run():
    with pytest.raises(IncompleteError):
        await build("query", "raise SystemExit\ndef query(context):\n    retur", {}, 1)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            "import no_such_module\ndef query(c): ...",
            Problem("ModuleNotFoundError: No module named 'no_such_module'", 1, "import no_such_module"),
        ),
        ("def query(c): ...\n\n1 / 0", Problem("ZeroDivisionError: division by zero", 3, "1 / 0")),
        ("query = 5", Problem("'query' is no function but int")),
        (
            "import sys\nsys.exit()\ndef query(c): ...",
            Problem("RuntimeError: the callback raised SystemExit", 2, "sys.exit()"),
        ),
        (
            "def query(c): ...\nnext(iter([]))",
            Problem("RuntimeError: the callback raised StopIteration", 2, "next(iter([]))"),
        ),
        ("def query(c): ...\nwhile True: pass", Problem("CallbackTimeoutError: longer than 0.1 s; it was stopped")),
    ],
    ids=range(6),
)
async def test_what_goes_wrong_while_the_source_runs_is_told_with_its_line(source, problem):
    with pytest.raises(IncompleteError) as caught:
        await build("query", source, {}, 0.1)
    assert caught.value.problem == problem


async def test_an_object_that_is_called_without_await_may_stand_for_the_function():
    source = "class C:\n    def __call__(self, context): return 'called'\nquery = C()"

    assert (await build("query", source, {}, 1))(None) == "called"


@pytest.mark.parametrize(
    "source",
    [
        "async def other(context): ...\nquery = other",
        "import functools\nasync def other(x, context): ...\nquery = functools.partial(other, 1)",
    ],
)
async def test_an_async_function_by_another_name_is_refused_as_well(source):
    with pytest.raises(IncompleteError, match="write 'def', not 'async def'"):
        await build("query", source, {}, 1)


async def test_a_traceback_shows_the_typed_line():
    function = await build("query", "def query(context):\n    return 1 / 0", {}, 1)

    with pytest.raises(ZeroDivisionError) as caught:
        function(None)
    assert problem_of(caught.value, function.__code__.co_filename) == Problem(
        "ZeroDivisionError: division by zero", 2, "return 1 / 0"
    )


async def test_the_place_is_the_innermost_line_that_is_the_callbacks_own():
    function = await build("query", "import json\ndef query(context):\n    return json.loads('{')", {}, 1)

    with pytest.raises(ValueError, match="Expecting property name") as caught:
        function(None)
    assert problem_of(caught.value, function.__code__.co_filename).line == 3


def test_an_error_from_elsewhere_has_no_place():
    assert problem_of(KeyError("content"), "<memwb:query 1>") == Problem("KeyError: 'content'")
    assert problem_of(ValueError(), "<memwb:query 1>") == Problem("ValueError")


def _messages():
    text = st.fixed_dictionaries({"text": st.text(alphabet="ab \n", max_size=3)})
    result = st.just({"toolResult": {"toolUseId": "t", "content": []}})
    block = st.one_of(text, result, st.just({"toolUse": {"toolUseId": "t", "name": "n", "input": {}}}))
    message = st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant"]), "content": st.lists(block, max_size=3)}
    )
    return st.lists(message, max_size=5)


@pytest.fixture(scope="module")
def templates():
    """What the editor opens with, as functions."""
    return {name: asyncio.run(build(name, source, {}, 5)) for name, source in TEMPLATES.items()}


@given(messages=_messages(), placement=st.sampled_from(["prepend", "append"]), every=st.booleans())
@settings(max_examples=150, deadline=None)
def test_what_the_editor_opens_with_does_what_the_default_does(templates, messages, placement, every):
    manager = MemoryManager([ListStore("a <b>", "b & a", name="it's")])
    default = {"placement": placement, "trigger": "everyTurn" if every else "userTurn"}
    replaced = {**default, "query": templates["query"], "format": templates["format"]}
    if not every:
        replaced["trigger"] = templates["trigger"]

    assert asyncio.run(manager.inject(messages, replaced)) == asyncio.run(manager.inject(messages, default))
