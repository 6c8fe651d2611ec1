"""Ready callbacks by name: what a choice beside an editor does."""

from __future__ import annotations

import asyncio

import pytest

from memwb import callbacks
from memwb.errors import ConfigError
from memwb.workbench import WorkbenchState
from memwb.workbench.code import TEMPLATES
from memwb.workbench.gallery import CHOICES
from tests.workbench.fakes import ABOUT_ME, ListStore, assistant, user

TALK = [user("I like jazz."), assistant("Do you use a cane?"), user("Yes, and I like jazz.")]


@pytest.fixture
async def state():
    state = WorkbenchState([ListStore(*ABOUT_ME)], TALK)
    await state.settled()
    return state


READY = [
    (name, choice)
    for name, choices in CHOICES.items()
    for choice, function in choices.items()
    if function is not None and not choice.startswith("filter: ")
]


@pytest.mark.parametrize(("name", "choice"), READY)
async def test_a_ready_callback_is_put_in_force_and_its_source_runs_as_it_is_typed(state, name, choice):
    function = CHOICES[name][choice]
    chosen = await state.choose(name, choice)
    assert (state.slots[name].function, state.slots[name].source) == (function, callbacks.source_of(function))
    assert chosen.injected

    typed = await state.edit(name, state.slots[name].source)
    assert state.problems == {}
    assert state.slots[name].function is not function
    assert (typed.query, typed.text) == (chosen.query, chosen.text)

    await state.choose(name, "the default")
    assert (state.slots[name].function, state.slots[name].source) == (None, TEMPLATES[name])


async def test_what_is_chosen_can_be_set_as_well(state):
    chosen = await state.choose("query", "last two messages")
    assert (await state.set(query=callbacks.last_two_messages)).query == chosen.query


FILTERS = [choice for choice in CHOICES["format"] if choice.startswith("filter: ")]


@pytest.mark.parametrize("choice", FILTERS)
@pytest.mark.parametrize("before", ["the default", "bullet list", "grouped by store"])
async def test_a_filter_is_written_into_the_text_that_is_there(state, before, choice):
    await state.choose("format", before)
    before = state.slots["format"].source
    await state.choose("format", choice)
    assert state.problems == {}
    assert f"context.entries = {CHOICES['format'][choice].__name__}(context.entries)" in state.slots["format"].source

    state.undo("format")
    assert state.slots["format"].source == before or before == TEMPLATES["format"]


async def test_all_filters_go_together_and_the_query_remembers_for_the_one_that_needs_it(state):
    await state.choose("query", "whole history")
    await state.choose("format", "bullet list")
    for choice in FILTERS:
        await state.choose("format", choice)
    assert state.problems == {}
    assert "remember(context)" in state.slots["query"].source
    assert state.trace.text == "<memory>\n- I have moderate mobility issues and use a cane.\n</memory>"

    once = [state.slots[name].source for name in ("query", "format")]
    await state.choose("format", "filter: not said")
    assert [state.slots[name].source for name in ("query", "format")] == once


async def test_a_combination_set_from_a_cell_opens_as_its_code_and_exports(state, tmp_path):
    combined = callbacks.Filtered(callbacks.bullet_list, callbacks.not_said)
    trace = await state.set(query=callbacks.Remembering(), format=combined)
    assert state.slots["format"].source == combined.source
    assert "jazz" not in trace.text
    assert (await state.edit("format", combined.source + "\n")).text == trace.text
    state.export(tmp_path / "agent_memory.py")


async def test_two_refreshes_at_once_remember_each_its_own(state):
    await state.set(query=callbacks.Remembering(), format=callbacks.Filtered(callbacks.bullet_list, callbacks.not_said))
    other = WorkbenchState([ListStore(*ABOUT_ME)], [user("I use a cane, and jazz")], injection=state.injection)
    state.changed()
    await asyncio.gather(other.settled(), state.settled())
    assert "I like jazz." in other.trace.text
    assert "I like jazz." not in state.trace.text


@pytest.mark.parametrize(
    ("name", "choice", "told"),
    [
        ("query", "bullet lists", r"no query 'bullet lists'; there are the default, latest user message"),
        ("format", "bullet lists", r"Did you mean 'bullet list'\?"),
        ("formats", "bullet list", r"no callback 'formats'; there are query, format, trigger"),
    ],
)
async def test_an_unknown_choice_is_refused_with_what_there_is(state, name, choice, told):
    with pytest.raises(ConfigError, match=told):
        await state.choose(name, choice)


async def test_a_filter_that_the_text_cannot_take_is_refused_and_changes_nothing(state):
    await state.edit("format", "format = lambda context: 'x'")
    with pytest.raises(ConfigError, match="cannot be put into the format callback as it is written"):
        await state.choose("format", "filter: no duplicates")
    await state.edit("query", "def query(context): return 'cane'")
    await state.edit("format", "def format(context):\n    return 'x'\n")
    with pytest.raises(ConfigError, match="cannot be put into the query callback as it is written"):
        await state.choose("format", "filter: not said")
    assert state.slots["format"].source == "def format(context):\n    return 'x'\n"
