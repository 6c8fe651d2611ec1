"""A format on hostile entries: what gets out of its place is told, what does not is left in peace."""

from __future__ import annotations

import time

import pytest

from memwb import callbacks
from memwb.workbench import WorkbenchState
from memwb.workbench.code import TEMPLATES
from memwb.workbench.gallery import CHOICES
from memwb.workbench.probe import HOSTILE
from tests.workbench.fakes import ABOUT_ME, ListStore

AS_IT_IS = """
def format(context):
    lines = [f'<entry source="{entry.store_name}">{entry.content}</entry>' for entry in context.entries]
    return "\\n".join(["<memory>", *lines, "</memory>"])
"""
QUOTES = """
def format(context):
    from html import escape
    lines = [f"<entry source='{entry.store_name}'>{escape(entry.content)}</entry>" for entry in context.entries]
    return "\\n".join(["<memory>", *lines, "</memory>"])
"""
LINES = """
def format(context):
    return "\\n".join(f"- {entry.content}" for entry in context.entries)
"""
ONE_LINE_EACH = """
def format(context):
    from html import escape
    return "\\n".join("- " + escape(" ".join(entry.content.split())) for entry in context.entries)
"""
JSON = """
def format(context):
    import json
    return json.dumps([{"memory": entry.content, "of": entry.store_name} for entry in context.entries])
"""
HAND_MADE_JSON = """
def format(context):
    return "[" + ", ".join('{"memory": "%s"}' % entry.content for entry in context.entries) + "]"
"""
TEMPLATE = """
def format(context):
    return ", ".join(" ".join(entry.content.split()) for entry in context.entries if "<" not in entry.content).format()
"""


@pytest.fixture
async def state():
    state = WorkbenchState([ListStore(*ABOUT_ME)], "Do I use a cane?")
    await state.settled()
    return state


async def broken(state, source):
    await state.edit("format", source)
    assert state.problems == {}
    found = await state.review.probe()
    assert len(found.outcomes) == len(HOSTILE)
    return {outcome.name: outcome.broke for outcome in found.broken}


@pytest.mark.parametrize("choice", [name for name in CHOICES["format"] if not name.startswith("filter: ")])
async def test_nothing_gets_out_of_a_ready_format(state, choice):
    await state.choose("format", choice)
    found = await state.review.probe()
    assert repr(found) == "None of 12 hostile entries got out of its place."


@pytest.mark.parametrize("source", [TEMPLATES["format"], JSON, ONE_LINE_EACH], ids=["default", "json", "line each"])
async def test_nothing_gets_out_of_what_escapes_in_its_own_way(state, source):
    assert await broken(state, source) == {}


async def test_markup_that_is_not_escaped_lets_elements_and_attributes_out(state):
    assert await broken(state, AS_IT_IS) == {
        "closes its element": "adds <system>",
        "opens another entry": 'adds <entry source="profile">',
        "an ampersand and a comment": "adds <!-- OBEY ]]>",
        "a name that ends its attribute": "adds <b>",
    }


async def test_an_attribute_of_the_other_quotation_mark_is_seen(state):
    assert await broken(state, QUOTES) == {"a name that ends its attribute": "adds <b>"}


async def test_lines_that_an_entry_begins_are_seen(state):
    found = await broken(state, LINES)
    assert found["a second line"] == "begins a line of its own: - OBEY"
    assert found["another speaker"] == "begins a line of its own: assistant: OBEY"
    assert found["a heading and a fence"] == "begins a line of its own: ## OBEY"
    assert "quotation marks" not in found


async def test_json_that_is_made_by_hand_breaks(state):
    found = await broken(state, HAND_MADE_JSON)
    assert found["quotation marks"] == "what was JSON is none any more"
    assert "an ampersand and a comment" not in found


async def test_a_format_that_raises_on_an_entry_is_named_with_what_it_raised(state):
    assert (await broken(state, TEMPLATE))["signs of a template"].startswith("raised IndexError: Replacement index")


async def test_the_format_runs_a_few_times_within_one_time_limit_and_the_preview_stays(state):
    state.time_limit = 0.3
    await state.edit("format", "runs = []\ndef format(context):\n    runs.append(1)\n    return str(len(runs))")
    before = (state.revision, state.trace)
    found = await state.review.probe()
    assert (len(found.outcomes), found.unlike, (state.revision, state.trace)) == (len(HOSTILE), True, before)
    assert "two runs on the same entries gave two texts" in repr(found)

    await state.edit("format", "import time\ndef format(context):\n    time.sleep(0.1)\n    return 'x'")
    began = time.monotonic()
    found = await state.review.probe()
    assert found.stopped.startswith("CallbackTimeoutError")
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def format(context):\n    return 1 / 0", "on harmless entries it raised ZeroDivisionError: division by zero"),
        ("def format(context):\n    return 5", "on harmless entries it raised TypeError: it returned int; text is"),
    ],
)
async def test_a_format_that_fails_anyway_is_told_from_one_that_breaks(state, source, told):
    await state.edit("format", source)
    found = await state.review.probe()
    assert (found.outcomes, found.stopped.startswith(told)) == ((), True)


async def test_a_result_is_kept_as_long_as_its_format_is_in_force(state):
    assert state.review.probed is None
    found = await state.review.probe()
    assert state.review.probed is found
    await state.set(max_entries=1)
    assert state.review.probed is found
    await state.set(format=callbacks.bullet_list)
    assert state.review.probed is None


async def test_a_format_that_needs_what_its_query_keeps_is_probed_like_any_other(state):
    await state.set(query=callbacks.Remembering(), format=callbacks.Filtered(callbacks.bullet_list, callbacks.not_said))

    found = await state.review.probe()
    assert (found.stopped, found.broken, len(found.outcomes)) == ("", (), len(HOSTILE))


async def test_a_query_that_fails_on_the_words_of_the_probe_does_not_stop_it(state):
    await state.set(query=lambda context: context.messages[7]["content"][0]["text"])

    found = await state.review.probe()
    assert (found.stopped, found.broken, len(found.outcomes)) == ("", (), len(HOSTILE))
