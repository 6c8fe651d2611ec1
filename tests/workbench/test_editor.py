"""The callbacks' editor: what is typed is checked, what is complete is applied, and a mistake costs nothing."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from memwb.errors import ConfigError
from memwb.memory import MemoryManager
from memwb.memory.injection import default_format
from memwb.workbench import Problem, WorkbenchState
from memwb.workbench.code import TEMPLATES
from memwb.workbench.editor import Slot
from memwb.workbench.limit import CallbackTimeoutError
from tests.workbench.fakes import ABOUT_ME, ListStore

B70 = json.loads(Path(__file__).parents[1].joinpath("cases", "B70-half-typed.json").read_text("utf-8"))["states"]
A, HALF, UNCLOSED, DIVIDES, WRONG_TYPE, ASYNC, CLEARS, HANGS, PRINTS, LAMBDA, BLANK = (row["text"] for row in B70)
STAYS = "A"  # the last complete callback

FAILED = {
    DIVIDES: Problem("ZeroDivisionError: division by zero", 2, "return 1 / 0"),
    WRONG_TYPE: Problem("TypeError: the format callback format returned int '42'; text is expected"),
    HANGS: Problem("CallbackTimeoutError: longer than 0.2 s; it was stopped"),
}
REFUSED = {
    HALF: Problem("NameError: name 'retur' is not defined", 2, "retur"),
    UNCLOSED: Problem("SyntaxError: unterminated string literal (detected at line 2)", 2, "return 'unclosed"),
    ASYNC: Problem("callbacks are called without await: write 'def', not 'async def'", 1, "async def format(context):"),
}
SHOWN = {A: "A", CLEARS: "C", PRINTS: "D", LAMBDA: "E"}


def bench(**given):
    return WorkbenchState(ListStore(*ABOUT_ME), "Do I use a cane?", time_limit=0.2, **given)


async def settle(state, seconds=0.0):
    """Wait until nothing is pending, as a person sees it."""
    await asyncio.sleep(seconds)
    await state.settled()


async def call_gives(state):
    """What a model call made now would add: what the preview says, run by a manager with the same settings."""
    manager = MemoryManager(state.source.stores, injection=state.injection)
    trace = await manager.trace_injection(state.seen, call=state.call_limited)
    return trace.text if trace.injected else None


async def applied(state, text):
    state.apply("format", text)
    await state.settled()


async def typed(state, text):
    for end in range(0, len(text) + 1, 7):
        state.type("format", text[:end])
    state.type("format", text)
    await settle(state)


@pytest.fixture(params=[applied, typed], ids=["applied", "typed"])
async def editor(request):
    """A state in which format is the last callback that was complete, and the way to give it the next text."""
    state = bench()
    await applied(state, A)

    async def give(text):
        await request.param(state, text)
        return state.slots["format"]

    state.give = give
    return state


@pytest.mark.parametrize("text", SHOWN, ids=SHOWN.values())
async def test_b70_a_complete_text_is_in_force_and_previewed(editor, text):
    slot = await editor.give(text)

    assert (slot.problem, slot.ahead, editor.trace.text) == (None, False, SHOWN[text])
    assert await call_gives(editor) == SHOWN[text]


@pytest.mark.parametrize("text", REFUSED, ids=["half", "unclosed", "async"])
async def test_b70_an_incomplete_text_is_never_run_and_the_last_callback_stays(editor, text):
    slot = await editor.give(text)

    assert (slot.problem, slot.ahead) == (REFUSED[text], True)
    assert (editor.trace.text, await call_gives(editor)) == (STAYS, STAYS)


@pytest.mark.parametrize("text", FAILED, ids=["raises", "wrong type", "hangs"])
async def test_b70_a_callback_that_fails_is_told_at_its_line_and_injects_nothing(editor, text):
    slot = await editor.give(text)

    assert (slot.problem, slot.ahead) == (FAILED[text], False)
    assert (editor.trace.stage("format").status, editor.trace.messages) == ("failed", editor.seen)
    assert await call_gives(editor) is None


async def test_b70_a_hanging_callback_costs_its_limit_and_the_next_text_works(editor):
    started = time.monotonic()
    await editor.give(HANGS)
    assert isinstance(editor.trace.error, CallbackTimeoutError)
    await editor.give(A)

    assert (editor.trace.text, time.monotonic() - started < 10) == ("A", True)


async def test_b70_the_next_call_sees_the_entries_that_a_callback_cleared(editor):
    await editor.give(CLEARS)
    await editor.give("def format(context):\n    return str(len(context.entries))")

    assert editor.trace.text == "4"


async def test_b70_printed_text_goes_to_the_log_once_for_each_refresh(editor, capsys):
    slot = await editor.give(PRINTS)
    await editor.set(max_entries=4)

    assert (slot.printed, capsys.readouterr().out) == (["side effect", "noise"], "")


async def test_b70_a_blank_text_is_the_default_block(editor):
    slot = await editor.give(BLANK)

    assert (slot.function, slot.problem, slot.ahead) == (None, None, False)
    assert editor.trace.text == default_format(editor.trace.entries)
    assert await call_gives(editor) == editor.trace.text
    assert "format" not in editor.injection


async def test_b70_all_the_states_in_their_order():
    state, seen = bench(), []
    for row in B70:
        if row["action"] == "typing":
            state.type("format", row["text"])
            await settle(state)
        else:
            state.apply("format", row["text"])
            await settle(state)
        problem = state.slots["format"].problem
        seen.append((state.trace.text if state.trace.injected else None, problem and (problem.line, problem.text)))

    assert seen == [
        ("A", None),
        ("A", (2, "retur")),
        ("A", (2, "return 'unclosed")),
        (None, (2, "return 1 / 0")),
        (None, (None, "")),  # 42
        (None, (1, "async def format(context):")),  # the last complete one is the one that returns 42
        ("C", None),
        (None, (None, "")),  # endless
        ("D", None),
        ("E", None),
        (default_format(state.trace.entries), None),
    ]


async def test_what_is_typed_is_shown_as_newer_at_once_and_applied_after_a_pause():
    state = bench()
    await state.settled()

    state.type("query", "def query(context):\n    return 'jazz'")
    assert (state.slots["query"].ahead, state.pending) == (True, True)
    await state.settled()
    assert (state.slots["query"].ahead, state.trace.query) == (False, "jazz")


async def test_typing_what_is_not_complete_asks_for_no_refresh():
    state = bench()
    await state.settled()
    revision = state.revision

    state.type("query", "def query(context):\n    retur")
    assert not state.pending
    await state.settled()
    assert state.revision == revision


async def test_typing_a_complete_text_and_then_a_mistake_applies_neither():
    state = bench()
    await state.settled()

    state.type("query", "def query(context):\n    return 'jazz'")
    state.type("query", "def query(context):\n    return 'jazz")
    await state.settled()
    assert (state.slots["query"].function, state.slots["query"].problem.line) == (None, 2)


@pytest.mark.parametrize(
    ("name", "source", "said"),
    [
        ("query", "def q(c", "this source cannot be the query callback: line 1: SyntaxError: '(' was never closed"),
        ("query", "async def q(c): return 'mats'", "write 'def', not 'async def'"),
        ("query", None, "the source of query must be a text, not None; '' is the default"),
        ("zorg", "lambda c: 1", "there is no callback 'zorg'; there are query, format, trigger"),
        ("querry", "lambda c: 1", "Did you mean 'query'?"),
        (None, None, "there is no callback None"),
    ],
)
async def test_a_source_that_cannot_be_put_in_force_is_refused_with_its_reason(name, source, said):
    state = bench()
    await state.edit("query", "def query(context): return 'jazz'")
    with pytest.raises(ConfigError) as caught:
        await state.edit(name, source)
    assert said in str(caught.value)
    assert (caught.value.value, state.trace.query) == (name if said.startswith(("there", "Did")) else source, "jazz")


async def test_a_text_that_goes_wrong_while_it_is_run_is_run_once():
    state = bench()
    slot = state.slots["query"]
    mistake = "cannot be the query callback: line 2: ZeroDivisionError: division by zero in `1 / 0`. The one before"
    with pytest.raises(ConfigError, match=mistake):
        await state.edit("query", "print('ran')\n1 / 0\ndef query(context): return 'jazz'")
    assert (str(slot.problem), slot.printed) == ("line 2: ZeroDivisionError: division by zero in `1 / 0`", ["ran"])
    slot.printed.clear()

    await state.set(max_entries=2)
    await state.set(max_entries=3)
    assert (slot.printed, str(slot.problem)) == ([], "line 2: ZeroDivisionError: division by zero in `1 / 0`")

    with pytest.raises(ConfigError, match=mistake):
        await state.edit("query", slot.source)  # asked for in so many words, it is tried again
    assert slot.printed == ["ran"]


async def test_a_text_whose_module_hangs_is_stopped_and_costs_nothing_afterwards():
    state = bench()
    with pytest.raises(ConfigError, match="CallbackTimeoutError: longer than"):
        await state.edit("query", "print('ran')\nwhile True: pass\ndef query(context): return 'jazz'")
    slot = state.slots["query"]
    assert (str(slot.problem), slot.printed) == (
        "CallbackTimeoutError: longer than 0.2 s; it was stopped",
        ["ran"],
    )
    slot.printed.clear()

    await state.set(max_entries=2)
    assert slot.printed == []


async def test_a_failure_is_forgotten_when_the_callback_works_again():
    state = bench()
    await state.edit("query", "def query(context):\n    return context.messages[2]['content'][0]['text']")
    assert state.slots["query"].problem == Problem(
        "IndexError: list index out of range", 2, "return context.messages[2]['content'][0]['text']"
    )

    await state.set(messages=["a", "b", "jazz"])
    assert (state.slots["query"].problem, state.trace.query) == (None, "jazz")


@pytest.mark.parametrize("name", ["query", "format", "trigger"])
async def test_each_callback_opens_with_a_text_that_does_what_the_default_does(name):
    state = bench()
    await state.settled()
    before = (state.trace.query, state.trace.text, state.trace.messages)

    assert state.slots[name].source == TEMPLATES[name]
    await state.edit(name, TEMPLATES[name] + "\n")
    assert state.slots[name].function is not None
    assert (state.trace.query, state.trace.text, state.trace.messages) == before


# -- functions from cells -------------------------------------------------------------------------------------------


def outer(context):
    words = context.messages[-1]["content"][0]["text"]
    return words.nothing()


def decorated(function):
    return function


@decorated
def worded(context):
    return PREFIX + "jazz"


PREFIX = "cane "


async def test_the_editor_opens_with_the_source_of_a_function_from_a_cell():
    state = bench()
    await state.set(query=worded)

    slot = state.slots["query"]
    assert slot.source == 'def worded(context):\n    return PREFIX + "jazz"\n'
    assert (state.trace.query, slot.ahead, slot.problem) == ("cane jazz", False, None)


async def test_the_source_of_a_cells_function_can_be_edited_and_knows_the_names_of_its_cell():
    state = bench()
    await state.set(query=worded)

    await state.edit("query", 'def worded(context):\n    return PREFIX + "latex"\n')
    assert state.trace.query == "cane latex"


async def test_an_error_in_a_function_from_a_cell_is_told_at_its_line_of_the_editor():
    state = bench()
    await state.set(query=outer)
    problem = Problem("AttributeError: 'str' object has no attribute 'nothing'", 3, "return words.nothing()")
    assert state.slots["query"].problem == problem

    @decorated
    @decorated
    def indented(context):
        # said to the reader
        return 1 / 0

    await state.set(query=indented)
    assert state.slots["query"].problem == Problem("ZeroDivisionError: division by zero", 3, "return 1 / 0")
    assert state.slots["query"].source.splitlines()[2].strip() == "return 1 / 0"


async def test_a_callback_without_a_source_says_so_and_works():
    state = bench()
    await state.set(query=lambda context: "jazz")

    assert state.slots["query"].source == "# query is <lambda>; its source is not to be had\n"
    assert state.trace.query == "jazz"


async def test_running_a_cell_again_replaces_the_text_which_undo_brings_back_without_running_it():
    state = bench()
    mine = "def query(context):\n    return 'mine"
    state.type("query", mine)

    await state.set(query=worded)
    slot = state.slots["query"]
    assert (slot.source.splitlines()[0], state.trace.query) == ("def worded(context):", "cane jazz")

    version = slot.version
    state.undo("query")
    await state.settled()
    assert (slot.source, slot.ahead, slot.version > version, state.trace.query) == (mine, True, True, "cane jazz")
    assert not slot.undo()


def test_undo_goes_back_through_all_the_texts_that_were_replaced():
    slot = Slot("query")
    slot.type("first")
    slot.use(worded)
    slot.type("second")
    slot.use(outer)

    texts = []
    while slot.undo():
        texts.append(slot.source)
    assert texts == ["second", "first"]


def test_running_the_same_cell_again_leaves_nothing_to_undo():
    slot = Slot("query")
    slot.use(worded)
    slot.use(worded)

    assert not slot.undo()


def test_only_the_newest_lines_of_what_is_printed_are_kept():
    slot = Slot("query")
    with slot.listening():
        for number in range(1000):
            slot.log(f"line-{number}\n")
        slot.log("a\nb")
        slot.log("c\n")
    slot.log("not listened to")

    assert (slot.printed[0], slot.printed[-4:], len(slot.printed)) == (
        "line-803",
        ["line-999", "a", "b", "c"],
        200,
    )


# -- two workbenches, two texts at once -----------------------------------------------------------------------------


async def test_each_source_has_a_file_of_its_own_so_that_two_workbenches_never_show_each_others_lines():
    one, other = bench(), bench()
    await one.edit("query", "def query(context):\n    return 1 / 0  # one")
    await other.edit("query", "def query(context):\n    return 1 / 0  # other")

    await one.set(max_entries=2)
    assert one.problems["query"].text == "return 1 / 0  # one"


async def test_a_callback_taken_over_from_another_workbench_opens_with_its_own_source():
    one, other = bench(), bench()
    await one.edit("query", "def query(context):\n    return 'jazz'")
    await other.edit("query", "def query(context):\n    return 'cane'")

    taken = bench(injection=one.injection)
    assert taken.slots["query"].source == "def query(context):\n    return 'jazz'\n"


async def test_a_function_from_a_cell_wins_over_a_text_that_is_still_being_built():
    state = bench()
    await state.settled()
    slot = state.slots["query"]
    slot.give("import time\ntime.sleep(0.1)\ndef query(context):\n    return 'typed'")
    building = asyncio.ensure_future(slot.apply(1.0))
    await asyncio.sleep(0.03)

    slot.use(worded)
    assert not await building
    assert (slot.function, slot.ahead) == (worded, False)


async def test_a_mistake_typed_while_an_earlier_text_is_built_stays():
    slot = Slot("query")
    slot.give("import time\ntime.sleep(0.1)\ndef query(context):\n    return 'typed'")
    building = asyncio.ensure_future(slot.apply(1.0))
    await asyncio.sleep(0.03)

    slot.type("def query(context):\n    retur")
    assert await building
    assert (slot.problem, slot.ahead) == (Problem("NameError: name 'retur' is not defined", 2, "retur"), True)


async def test_a_callback_of_the_editor_prints_as_usual_where_an_agent_calls_it(capsys):
    state = bench()
    await state.edit("query", "def query(context):\n    print('noise')\n    return 'jazz'")
    assert capsys.readouterr().out == ""

    await MemoryManager([ListStore(*ABOUT_ME)], injection=state.injection).inject(state.messages)
    assert capsys.readouterr().out == "noise\n"


def test_a_flood_of_printed_text_is_cut():
    slot = Slot("query")
    with slot.listening():
        slot.log("x" * 5_000_000)

    assert sum(map(len, slot.printed)) <= 500


async def test_the_edited_text_of_a_cell_sees_the_names_of_today():
    namespace = {"WORD": "jazz"}
    exec("def query(context):\n    return WORD", namespace)
    slot = Slot("query", namespace["query"])
    slot.source = "def query(context):\n    return WORD"
    slot._base = namespace["query"].__globals__
    namespace["WORD"] = "cane"

    slot.give("def query(context):\n    return WORD.upper()")
    assert await slot.apply(1.0)
    assert slot.function(None) == "CANE"
