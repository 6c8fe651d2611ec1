"""The extraction panel: what it shows, what its elements do, and that nothing in it can run or stays behind."""

from __future__ import annotations

import asyncio
import gc

import pytest
from ipywidgets.widgets import widget as all_widgets

from memwb import TestMemoryStore, Workbench
from memwb.memory.extraction.model_extractor import DEFAULT_SYSTEM_PROMPT
from memwb.testing import FaultyStore, ScriptedModel
from memwb.widgets.panes.extraction import extraction_stores, extraction_timeline, extraction_top
from memwb.widgets.panes.extraction_results import TABS, extraction_results, extraction_tabs
from tests.widgets.reading import button, read, walk
from tests.widgets.test_hostile import TEXTS, Page
from tests.workbench.fakes import assistant, tool_call, tool_result, user

TALK = [
    user("I am allergic to latex."),
    tool_call(),
    tool_result("cork"),
    assistant("Cork mats then."),
    user("I like jazz."),
]
FACTS = [[{"content": "allergic to latex"}, {"content": "wants a mat"}], [{"content": "likes jazz"}]]


@pytest.fixture
def panel():
    """Makes an extraction panel over a store, and closes it with its workbench at the end."""
    made = []

    def make(store=None, messages=TALK, **given):
        wb = Workbench(store or TestMemoryStore.from_records(["wants a mat"], name="profile"), messages)
        given.setdefault("model", ScriptedModel(FACTS))
        made.append(wb)
        made.append(wb.extraction(**given))
        return made[-1]

    yield make
    for widget in reversed(made):
        widget.close()


async def act(panel, **message):
    """Send what an element of the page would send, and wait until it is done."""
    panel._act(message)
    await panel


def trees(state):
    """Every pane of the panel, with every tab."""
    return [
        extraction_top(state),
        extraction_timeline(state),
        extraction_stores(state),
        *(extraction_tabs(state, tab) for tab in TABS),
        *(extraction_results(state, tab) for tab in TABS),
    ]


async def test_before_the_first_step_it_says_what_there_is_to_do(panel):
    shown = await panel()

    assert read(extraction_top(shown.state)) == (
        "5 messages to go through: step, or run to the first facts. [Step][Run][Flush][Start over]\n"
        "✓ writes go to copies in memory, your stores stay as they are "
        "asks ScriptedModel(asked 0 times, 2 answers left)"
    )
    assert read(extraction_stores(shown.state)) == "Stores\nExtracted into: profile. Nothing has been gone through yet."
    assert read(extraction_results(shown.state, "facts")).startswith("No fact was proposed yet.")
    rows = [each.classes for each in walk(extraction_timeline(shown.state)) if "memwb-message" in each.classes]
    assert rows == ["memwb-message memwb-later"] * 5


async def test_a_run_shows_the_marks_the_facts_that_wait_and_how_far_the_store_is(panel):
    shown = await panel()
    await act(shown, do="run")

    assert read(extraction_timeline(shown.state)) == (
        "Conversation 4 of 5 messages\n"
        "0 user ◐ facts wait for you\n"
        "I am allergic to latex.\n"
        "1 assistant – filtered away\n"
        'toolUse: {"name": "clock", "toolUseId": "t1", "input": {}}\n'
        '{"name": "clock", "toolUseId": "t1", "input": {}}\n'
        "2 tool result – filtered away\n"
        'toolResult: {"toolUseId": "t1", "status": "success", "content": [{"text": "cork"}]}\n'
        '{"toolUseId": "t1", "status": "success", "content": [{"text": "cork"}]}\n'
        "3 assistant ◐ facts wait for you\n"
        "Cork mats then.\n"
        "profile: trigger invocation fires for messages 0-3\n"
        "turn 1 ended\n"
        "4 user\n"
        "I like jazz."
    )
    assert read(extraction_stores(shown.state)) == (
        "Stores\n"
        "store | wait | mark | written | known | failures | flush would save |\n"
        "profile | 4 | 3 | 0 | 0 | 0 | messages 0-3 |"
    )
    assert read(extraction_tabs(shown.state, "facts")) == (
        "[Facts 2][Model 1][Log 11][Two prompts] [Accept all 2][Reject all]"
    )
    assert read(extraction_results(shown.state, "facts")) == (
        "<allergic to latex> [Accept][Reject]profile, from messages 0-3\n"
        "<wants a mat> [Accept][Reject]profile, from messages 0-3"
    )


async def test_facts_are_edited_accepted_and_rejected_on_the_page(panel):
    shown = await panel()
    await act(shown, do="run")

    results = extraction_results(shown.state, "facts")
    typed = next(each.action for each in walk(results) if each.tag == "input")
    await act(shown, **typed, value="The user is allergic to latex.")
    assert "was: allergic to latex" in read(extraction_results(shown.state, "facts"))
    await act(shown, **button(results, "Accept"))
    assert "1 fact for 'profile' waits" in read(extraction_top(shown.state))
    await act(shown, **button(extraction_tabs(shown.state, "facts"), "Accept all 1"))
    assert read(extraction_results(shown.state, "facts")) == (
        "= | wants a mat | profile | held already; messages 0-3 |\n"
        "✓ | The user is allergic to latex. | profile | written, edited; was: allergic to latex; messages 0-3 |"
    )
    await act(shown, do="run")
    await act(shown, do="flush")
    await act(shown, do="reject")
    assert read(extraction_results(shown.state, "facts")).startswith("– | likes jazz | profile | rejected; message 4 |")
    assert read(extraction_top(shown.state)).startswith(
        "All messages gone through. Nothing is left to save; 1 fact written."
    )


async def test_what_the_model_was_asked_and_the_log_are_shown(panel):
    shown = await panel(model=ScriptedModel(["no list", [{"content": "likes jazz"}]]))
    await act(shown, do="run")

    model = read(extraction_results(shown.state, "model"))
    assert model.startswith("1. for profile, about messages 0-3\n✗ the answer holds no list of facts\nsystem prompt\n")
    assert model.endswith("no list")
    assert DEFAULT_SYSTEM_PROMPT.split("\n")[0] in model
    assert "11 | turn 1 | Unreadable | " in read(extraction_results(shown.state, "log"))
    await act(shown, **button(extraction_tabs(shown.state, "model"), "Ask again"))
    assert [fact.content for fact in shown.state.waiting] == ["likes jazz"]


async def test_a_store_that_fails_is_red_with_what_it_raised(panel):
    store = FaultyStore(TestMemoryStore(name="profile", persist=False), add="fail", error=OSError("disk full"))
    shown = await panel(store, review=False)
    await act(shown, do="run")

    assert "Saves fail: 'profile' (1 in a row)" in read(extraction_top(shown.state))
    timeline = extraction_timeline(shown.state)
    bad = [each.text() for each in walk(timeline) if "memwb-after memwb-bad" in each.classes]
    assert bad == ["profile: 2 facts not written, OSError: disk full (1 failure in a row)"]
    assert "2 facts whose write failed, without asking again" in read(extraction_stores(shown.state))
    again = "<wants a mat> [Try again][Reject]✗ not written, is tried again profile, from messages 0-3"
    assert again in read(extraction_results(shown.state, "facts"))


async def test_two_prompts_are_compared_under_their_tab(panel):
    shown = await panel(model=ScriptedModel(lambda system, messages: FACTS[0][: 1 + ("B" in system[:1])]))
    await act(shown, do="tab", to="compare")
    assert "memwb-shown" in shown._controls.prompts._dom_classes
    first, second = shown._controls._pair
    assert first.value == DEFAULT_SYSTEM_PROMPT
    second.value = "B"
    shown._controls.prompts.children[1].click()
    await shown

    assert read(extraction_results(shown.state, "compare")).startswith(
        "On 3 messages: A finds 1 fact, B 2; 1 in both, 0 in A alone, 1 in B alone.\n"
        "for profile: asked ScriptedModel(asked 0 times)\n"
        "A | B | fact | |\n"
        "✓ | ✓ | allergic to latex | |\n"
        "– | ✓ | wants a mat | held by profile |\n"
    )
    await act(shown, do="tab", to="facts")
    assert "memwb-shown" not in shown._controls.prompts._dom_classes


async def test_settings_follow_the_state_and_change_it(panel):
    shown = await panel()
    choices = shown._controls._choices
    assert [choice.value for choice in choices.values()] == ["own", "own", True, "copies"]
    choices["every"].value = 2
    choices["review"].value = False
    choices["exclude"].value = ()
    await shown
    settings = shown.state.settings
    assert (settings.every, settings.review, settings.exclude, settings.write_to) == (2, False, (), "copies")

    await shown.set(every=7, exclude=["image"], write_to="stores")
    await shown
    assert [choices[name].label for name in choices] == [
        "every 7 turns",
        "drop image",
        "written at once",
        "the stores",
    ]
    assert "⚠ writes go to the stores themselves" in read(extraction_top(shown.state))
    await shown.set(every=None)
    await shown
    assert choices["every"].label == "stores' own"
    choices["every"].value = "own"
    assert shown.state.settings.every is None


async def test_the_prompt_is_edited_in_its_editor(panel):
    shown = await panel()
    controls = shown._controls
    controls._edit.click()
    await shown
    assert "memwb-shown" in controls._editor._dom_classes
    assert controls._prompt.value == DEFAULT_SYSTEM_PROMPT
    use, default = controls._editor.children[1].children
    controls._prompt.value = "Keep only preferences."
    use.click()
    await shown
    assert (shown.state.settings.system_prompt, controls._edit.description) == ("Keep only preferences.", "prompt ●")
    default.click()
    await shown
    assert (shown.state.settings.system_prompt, controls._edit.description) == (None, "prompt")
    assert controls._prompt.value == DEFAULT_SYSTEM_PROMPT
    await shown.set(system_prompt="From a cell.")
    await shown
    assert controls._prompt.value == "From a cell."


async def test_b68_an_action_that_cannot_be_done_is_told_on_the_page(panel):
    shown = await panel()
    await act(shown, do="accept", fact="f9")
    assert "That could not be done: No entry 'f9'" in read(extraction_top(shown.state))
    await act(shown, do="step")
    assert "could not be done" not in read(extraction_top(shown.state))
    for message in ({"do": "nothing"}, {"do": "tab", "to": "none"}):
        await act(shown, **message)
    assert shown._tab == "facts"


async def test_every_action_of_the_page_has_a_twin_in_a_cell(panel):
    shown = await panel()
    assert (await shown.step()).number == 1
    assert len(await shown.run()) == 3
    await shown.edit("f1", "latex!")
    await shown.accept("f1")
    await shown.reject()
    (status,) = await shown.flush()
    assert status.pending == ()
    await shown.retry_unreadable()
    assert repr(await shown.compare()).startswith("PromptComparison(")
    assert repr(shown) == "Extraction(Message 4 of 5. Nothing is left to save; 1 fact written.)"
    await shown.restart()
    assert shown.state.position == 0


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_b59_hostile_texts_stay_texts(panel, text):
    talk = [user(text), tool_call(text, zone=text), tool_result(text), assistant(text)]
    model = ScriptedModel(lambda system, messages: [{"content": f"fact {text}", "metadata": {"k": text}}])
    store = TestMemoryStore.from_records(["tea"], name=f"name {text}")
    shown = await panel(store, talk, model=model, system_prompt=f"Prompt {text}")
    await act(shown, do="run")
    waiting = trees(shown.state)
    await shown.compare(text, text)
    await shown.accept()
    await shown.set(review=False)
    shown.state._own_model = ScriptedModel(lambda system, messages: RuntimeError(text))
    await shown.run()
    for tree in [*waiting, *trees(shown.state)]:
        page = Page(tree.to_html())
        assert not page.tags & {"img", "script", "svg", "iframe", "a", "style"}
        assert not [name for name in page.attributes if name.startswith("on") or name in ("href", "src", "style")]
        assert all(isinstance(child, str) or child.tag for each in walk(tree) for child in each.children)


async def test_b67_opening_and_closing_leaves_no_widget_and_no_task():
    wb = Workbench(TestMemoryStore.from_records(["tea"], name="profile"), TALK)
    await wb
    (await wb.extraction(model=ScriptedModel(FACTS))).close()
    before = (len(all_widgets._instances), len(asyncio.all_tasks()), len(wb.state._subscribers))

    for _ in range(20):
        shown = await wb.extraction(model=ScriptedModel(FACTS))
        await act(shown, do="run")
        shown._controls._edit.click()
        await shown
        shown.close()
    for _ in range(10):
        await asyncio.sleep(0)
    gc.collect()

    assert (len(all_widgets._instances), len(asyncio.all_tasks()), len(wb.state._subscribers)) == before
    wb.close()
