"""Extraction watched step by step, without a screen: what waits, what is proposed, written, known or failed."""

from __future__ import annotations

import asyncio
import random

import pytest

from memwb.errors import ConfigError, EntryNotFoundError, StaleTraceError
from memwb.memory import ExtractionResult, IntervalTrigger, MemoryManager, MemoryMessageFilter, ModelExtractor
from memwb.stores import TestMemoryStore
from memwb.testing import FaultyModel, FaultyStore, ScriptedModel
from memwb.workbench import WorkbenchState
from memwb.workbench.demo import DemoModel, conversation
from memwb.workbench.extraction import ExtractionState
from memwb.workbench.extraction_view import Mark
from tests.memory.stores import MessageStore
from tests.workbench.fakes import ListStore, assistant, tool_call, tool_result, user

TALK = [
    user("I am allergic to latex."),
    assistant("Noted."),
    user("What mats are there?"),
    {"role": "assistant", "content": [{"text": "Let me look."}, *tool_call()["content"]]},
    tool_result("cork"),
    assistant("Cork mats."),
    user("Good. I like jazz."),
    assistant("Fine."),
]


def notes(*contents, **settings):
    return TestMemoryStore.from_records(contents, name="profile", **settings)


def opened(store=None, talk=TALK, **settings):
    return ExtractionState(WorkbenchState(notes() if store is None else store, talk), **settings)


def fact(content, **metadata):
    return {"content": content, **({"metadata": metadata} if metadata else {})}


async def contents(store):
    return [record.content for record in await store.page(0, 99)]


def states(panel):
    return [(each.id, each.state, each.content) for each in panel.facts]


def marks(panel, store="profile"):
    return [line.marks[store].state for line in panel.lines]


# -- facts that wait ----------------------------------------------------------------------------------------------


async def test_a_run_stops_where_facts_wait_and_goes_on_when_they_are_decided_on():
    model = ScriptedModel([[fact("allergic to latex"), fact("says hello")], [], [fact("likes jazz")]])
    panel = opened(model=model)
    assert repr(panel) == "Extraction(8 messages to go through: step, or run to the first facts.)"
    steps = await panel.run()
    assert (len(steps), panel.position, panel.done) == (2, 2, False)
    assert repr(panel) == "Extraction(2 facts for 'profile' wait for your decision; nothing of it is written yet.)"
    assert marks(panel) == ["saving", "saving"]
    assert await contents(panel.stores[0]) == []

    await panel.reject("f2")
    await panel.accept("f1", "The user is allergic to latex.")
    assert states(panel) == [
        ("f1", "written", "The user is allergic to latex."),
        ("f2", "rejected", "says hello"),
    ]
    assert (panel.facts[0].edited, panel.facts[0].proposed) == (True, "allergic to latex")
    assert await contents(panel.stores[0]) == ["The user is allergic to latex."]
    assert marks(panel) == ["saved", "saved"]
    assert repr(panel) == "Extraction(Message 2 of 8. Nothing is left to save; 1 fact written.)"

    await panel.run()
    assert (panel.position, [each.content for each in panel.waiting]) == (8, ["likes jazz"])
    await panel.accept()
    assert repr(panel) == "Extraction(All messages gone through. Nothing is left to save; 2 facts written.)"
    assert await panel.run() == []
    assert await panel.step() is None


async def test_without_review_facts_are_written_as_they_come():
    panel = opened(review=False, model=DemoModel())
    assert len(await panel.run()) == 8
    assert [state for _, state, _ in states(panel)] == ["written", "written"]
    assert await contents(panel.stores[0]) == ["The user says: I am allergic to latex.", "The user says: I like jazz."]


async def test_edits_wait_on_and_what_was_decided_stays_decided():
    panel = opened(model=ScriptedModel([[fact("one"), fact("two")]]), every=3)
    await panel.run()
    await panel.edit("two", "")
    with pytest.raises(ConfigError, match="fact f2 has no text; give it one, or reject it"):
        await panel.accept()
    assert [each.state for each in panel.facts] == ["proposed", "proposed"]
    await panel.edit("f2", "deux")
    await panel.accept(panel.facts[1])
    for act in (panel.accept, panel.reject):
        with pytest.raises(ConfigError, match="fact f2 is accepted already"):
            await act("f2")
    with pytest.raises(ConfigError, match="is accepted already"):
        await panel.edit("f2", "zwei")
    with pytest.raises(EntryNotFoundError, match="No entry 'three' in the proposed facts"):
        await panel.accept("three")
    await panel.reject()
    assert states(panel) == [("f1", "rejected", "one"), ("f2", "written", "deux")]


async def test_a_fact_that_the_store_holds_already_is_known():
    panel = opened(notes("likes jazz"), model=ScriptedModel([[fact("likes jazz"), fact("likes tea")]]), every=3)
    await panel.run()
    await panel.accept()
    assert [state for _, state, _ in states(panel)] == ["known", "written"]
    assert (panel.tallies["profile"].written, panel.tallies["profile"].known) == (1, 1)


async def test_metadata_of_a_fact_is_written_with_it():
    panel = opened(model=ScriptedModel([[fact("likes jazz", topic="music")]]), every=3)
    await panel.run()
    await panel.accept()
    assert [record.metadata for record in await panel.stores[0].page(0, 9)] == [{"topic": "music"}]


async def test_one_text_is_not_given_to_several_facts():
    panel = opened(model=ScriptedModel([[fact("likes jazz"), fact("owns a cat")]]), every=3)
    await panel.run()
    with pytest.raises(ConfigError, match="2 facts wait, one text is not that of all; name its fact: f1, f2"):
        await panel.accept(None, "likes tea")
    assert [each.content for each in panel.waiting] == ["likes jazz", "owns a cat"]


async def test_messages_go_on_joining_while_facts_wait():
    panel = opened(model=ScriptedModel([[fact("one")], [fact("two")], [fact("three")]]))
    for _ in range(8):
        assert await panel.step() is not None
    assert (panel.done, len(panel.facts)) == (True, 1)
    await panel.accept()
    assert [each.content for each in panel.waiting] == ["two"]
    await panel.accept()
    assert [each.content for each in panel.facts if each.state == "written"] == ["one", "two"]


# -- what the screen says ------------------------------------------------------------------------------------------


async def test_each_message_has_a_mark_for_each_store_and_what_happened_stands_between():
    panel = opened(model=ScriptedModel([[fact("one")], [], []]), review=False, every=2)
    await panel.step()
    assert marks(panel) == ["waiting"]
    await panel.run()
    assert marks(panel) == ["saved", "saved", "saved", "saved", "dropped", "saved", "waiting", "waiting"]
    assert panel.lines[3].marks["profile"] == Mark("saved", ("toolUse",))
    assert panel.lines[4].marks["profile"] == Mark("dropped", ("toolResult",))
    assert [[each.text for each in line.after] for line in panel.lines] == [
        [],
        ["turn 1 ended"],
        *[[], [], []],
        [
            "profile: trigger interval fires for messages 0-5",
            "turn 2 ended",
            "profile: saved messages 0-3, 5: 1 fact written",
        ],
        [],
        ["turn 3 ended"],
    ]
    assert panel.unsaved == (6, 7)
    assert panel.sentence == "All messages gone through. 2 messages not saved yet: only a flush saves them."
    (status,) = await panel.flush()
    assert (status.mark, status.pending) == (7, ())
    assert marks(panel)[6:] == ["saved", "saved"]
    assert panel.lines[7].after[-1].text == "flushed, no message left"


async def test_what_was_asked_and_answered_is_kept_with_what_was_wrong():
    model = ScriptedModel(["no list here", [fact("one")], OSError("down"), [fact("two")]])
    panel = opened(model=model, review=False, system_prompt="Keep all.")
    await panel.run()
    first, second, third = panel.exchanges
    assert (first.numbers, first.answer, first.problem) == ((0, 1), "no list here", "the answer holds no list of facts")
    assert first.system.startswith("Keep all.\n\n")
    assert first.transcript.endswith("user: I am allergic to latex.\nassistant: Noted.")
    assert (second.answer, second.problem) == ('[{"content": "one"}]', "")
    assert (third.answer, third.problem) == (None, "OSError: down")
    assert marks(panel) == ["unread", "unread", "saved", "saved", "dropped", "saved", "failed", "failed"]
    assert panel.sentence == (
        "All messages gone through. Saves fail: 'profile' (1 in a row); the messages wait for another try."
    )
    bad = [each.text for line in panel.lines for each in line.after if each.bad]
    assert bad == [
        "profile: the answer could not be read, the answer holds no list of facts",
        "profile: not saved, OSError: down (1 failure in a row)",
    ]


async def test_an_unreadable_answer_is_asked_about_again():
    panel = opened(model=ScriptedModel(["prose", [fact("one")]]), review=False, every=3)
    await panel.run()
    assert panel.status[0].unreadable == tuple(range(8))
    assert (
        panel.sentence
        == "All messages gone through. 1 answer could not be read: ask again, or its messages give nothing."
    )
    await panel.retry_unreadable()
    assert panel.status[0].unreadable == ()
    assert [each.content for each in panel.facts] == ["one"]
    assert set(marks(panel)) == {"saved", "dropped"}


async def test_a_write_that_fails_is_tried_again_without_asking_again():
    store = FaultyStore(notes(), add=["ok", "fail"])
    model = ScriptedModel([[fact("one"), fact("two")]])
    panel = opened(store, model=model, every=3)
    await panel.run()
    await panel.accept()
    assert [state for _, state, _ in states(panel)] == ["written", "failed"]
    assert panel.status[0].unwritten == ("two",)
    await panel.flush()
    assert [state for _, state, _ in states(panel)] == ["written", "written"]
    assert await contents(panel.stores[0]) == ["one", "two"]
    assert (len(model.asked), {call for call, _ in store.calls}, await store.count()) == (1, {"search"}, 0)


async def test_several_stores_stand_side_by_side_and_wait_for_decisions_apart():
    stores = [notes(), TestMemoryStore(name="work", persist=False), ListStore("jazz", name="read only")]
    panel = opened(stores, model=ScriptedModel({"": [fact("one")]}), every=3)
    assert panel.will_extract == ("profile", "work")
    await panel.run()
    assert panel.sentence.startswith("2 facts for 'profile' and 'work' wait")
    await panel.accept(next(each for each in panel.facts if each.store == "work"))
    assert {each.store: each.state for each in panel.facts} == {"profile": "proposed", "work": "written"}
    assert {line.marks["work"].state for line in panel.lines} == {"saved", "dropped"}
    assert {line.marks["profile"].state for line in panel.lines} == {"saving", "dropped"}
    await panel.accept()
    assert [await contents(store) for store in panel.stores[:2]] == [["one"], ["one"]]


async def test_a_store_that_takes_messages_is_shown_with_what_it_was_given():
    panel = opened(MessageStore("backend", extraction=True), review=False, every=2)
    await panel.run()
    assert [numbers for _, numbers in panel.stores[0].batches] == [[0, 1, 2, 3, 5]]
    assert panel.facts == []
    assert panel.lines[5].after[-1].text == "backend: saved messages 0-3, 5"
    assert "backend" in panel.replay.lacks


# -- where is written ----------------------------------------------------------------------------------------------


async def test_nothing_reaches_the_stores_unless_it_is_asked_for(tmp_path):
    store = TestMemoryStore(name="profile", path=str(tmp_path / "profile.json"))
    await store.add("likes tea")
    before = (tmp_path / "profile.json").read_bytes()
    panel = opened(store, model=DemoModel(), review=False)
    await panel.run()
    await panel.flush()
    await panel.compare("", "Keep only preferences.")
    assert (tmp_path / "profile.json").read_bytes() == before
    assert await panel.stores[0].count() == 3

    await panel.set(write_to="stores")
    assert panel.position == 0
    await panel.run()
    assert await contents(store) == [
        "likes tea",
        "The user says: I am allergic to latex.",
        "The user says: I like jazz.",
    ]
    assert store.extraction is None


async def test_stores_that_cannot_be_written_to_are_extracted_into_copies_alone():
    store = ListStore("likes tea", name="profile")
    panel = opened(store, model=DemoModel(), review=False)
    await panel.run()
    assert await panel.stores[0].count() == 3
    assert store.contents == ["likes tea"]
    await panel.set(write_to="stores")
    with pytest.raises(ConfigError, match="no store is writable, so nothing can be written to the stores themselves"):
        await panel.step()


# -- settings ------------------------------------------------------------------------------------------------------


class Picky:
    """An extractor of the user's own."""

    async def extract(self, messages, context=None):
        return [ExtractionResult(f"{len(messages)} messages")]


async def test_the_stores_own_settings_hold_where_nothing_else_is_said():
    config = {"trigger": IntervalTrigger(3), "extractor": Picky(), "filter": MemoryMessageFilter(exclude=[])}
    store = notes(extraction=config)
    panel = opened(store, review=False)
    await panel.run()
    assert [each.content for each in panel.facts] == ["8 messages"]
    await panel.set(every=1, exclude="toolResult")
    await panel.run()
    assert [each.content for each in panel.facts] == ["2 messages", "3 messages", "2 messages"]
    await panel.set(every=None, exclude=None)
    await panel.run()
    assert [each.content for each in panel.facts] == ["8 messages"]
    assert store.extraction is config


async def test_a_prompt_replaces_the_extractor_and_keeps_its_model():
    model = ScriptedModel(lambda system, messages: [fact(system.splitlines()[0])])
    panel = opened(notes(extraction={"extractor": ModelExtractor(model, "Theirs.")}), review=False, every=3)
    await panel.run()
    await panel.set(system_prompt="Mine.")
    await panel.run()
    assert [each.content for each in panel.facts] == ["Mine."]
    await panel.set(system_prompt="  ")
    assert panel.settings.system_prompt is None
    assert [system.splitlines()[0] for system, _ in model.asked] == ["Theirs.", "Mine."]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"evry": 2}, "there is no setting 'evry'; .* Did you mean 'every'?"),
        ({"every": 0}, "every"),
        ({"every": True}, "every"),
        ({"exclude": ["toolUsed"]}, "exclude 'toolUsed' is none of .* Did you mean 'toolUse'?"),
        ({"write_to": "store"}, "write_to 'store' is none of copies, stores. Did you mean 'stores'?"),
        ({"system_prompt": 5}, "system_prompt must be a text, not 5"),
    ],
)
async def test_a_setting_that_cannot_be_taken_changes_nothing(setting, message):
    with pytest.raises(ConfigError, match=message):
        opened(**setting)
    panel = opened(every=2, model=DemoModel())
    await panel.run()
    with pytest.raises(ConfigError, match=message):
        await panel.set(**setting)
    assert (panel.settings.every, panel.position) == (2, 6)


async def test_a_workbench_without_a_conversation_has_that_of_the_demo_and_a_model_without_a_key():
    panel = opened(talk=[], review=False)
    assert panel.messages == conversation()
    assert panel.model_name == "the demo model: a rule, no key needed"
    await panel.run()
    assert len(await contents(panel.stores[0])) == 8
    other = opened(messages="I like jazz.")
    assert other.messages == [user("I like jazz.")]
    given = opened(model=ScriptedModel([]))
    assert given.model_name == "ScriptedModel(asked 0 times, 0 answers left)"


async def test_the_demo_tells_of_its_user_and_another_conversation_is_taken_as_it_is():
    bench = WorkbenchState()
    panel = ExtractionState(bench, review=False)
    assert panel.messages == conversation()
    assert panel.will_extract == ("profile",)
    await bench.set(messages=TALK)
    assert panel.messages == TALK


async def test_messages_without_a_fact_are_read_and_give_nothing():
    panel = opened(model=ScriptedModel({"": []}), every=3)
    await panel.run()
    assert panel.lines[-1].after[-1].text == "profile: read messages 0-3, 5-7: nothing to keep"
    assert set(marks(panel)) == {"saved", "dropped"}


async def test_the_agents_model_is_asked_where_the_source_is_an_agent():
    bench = WorkbenchState(notes(), TALK)
    own = ScriptedModel([])

    class Agent:
        aux_model, model = None, own

    bench.source.agent = Agent()
    assert ExtractionState(bench).model is own

    class Provider:
        async def stream(self, messages, tools, system):
            yield {"contentBlockDelta": {"delta": {"text": '[{"content": "one"}]'}}}

    Agent.aux_model = Provider()
    panel = ExtractionState(bench, review=False, every=3)
    assert panel.model_name == "StrandsModel(Provider)"
    await panel.run()
    assert [each.content for each in panel.facts] == ["one"]


# -- two prompts -----------------------------------------------------------------------------------------------------


async def test_two_prompts_are_compared_on_one_transcript():
    panel = opened(notes("The user says: I like jazz."))
    comparison = await panel.compare("", "Keep only health facts.")
    assert repr(comparison) == (
        "PromptComparison(On 7 messages: A finds 2 facts, B 1; 1 in both, 1 in A alone, 0 in B alone.)"
    )
    assert [(each.content, each.a, each.b, each.held_by) for each in comparison.facts] == [
        ("The user says: I am allergic to latex.", True, True, ()),
        ("The user says: I like jazz.", True, False, ("profile",)),
    ]
    assert list(comparison.to_frame().columns) == ["content", "a", "b", "held_by"]
    assert (panel.comparison, panel.position, panel.facts) == (comparison, 0, [])


async def test_stores_are_compared_with_the_models_and_on_the_messages_of_the_run():
    own, other = ScriptedModel([[fact("one")]] * 4), ScriptedModel({"": [fact("two")]})
    every = notes(writable=True)
    every.extraction = {"filter": MemoryMessageFilter(exclude=[]), "extractor": ModelExtractor(own)}
    default = TestMemoryStore(name="default", persist=False, writable=True, extraction=True)
    panel = opened([every, default], model=other)
    assert panel.model_name == f"{own!r} and {other!r}"
    await panel.set(review=False)
    comparison = await panel.compare("A", "B")
    assert [(each.stores, each.messages) for each in comparison.asked] == [(("profile",), 8), (("default",), 7)]
    assert comparison.sentence == (
        "On 8 messages for 'profile', 7 messages for 'default': A finds 2 facts, B 2; "
        "2 in both, 0 in A alone, 0 in B alone."
    )
    assert (len(own.asked), len(other.asked)) == (2, 2)
    alone = opened(every, model=other)
    assert alone.model_name == repr(own)
    assert (await alone.compare("A", "B")).answers[0] == '[{"content": "one"}]'


@pytest.mark.parametrize("write_to", ["copies", "stores"])
async def test_a_store_that_takes_messages_itself_is_said_to_ask_no_model(write_to):
    store, model = MessageStore("raw", extraction=True), ScriptedModel([])
    panel = opened(store, model=model, write_to=write_to)
    assert panel.model_name == "no model"
    await panel.run()
    assert model.asked == []


async def test_a_prompt_that_fails_does_not_hide_the_other():
    panel = opened(model=ScriptedModel({"": [fact("one")]}))
    panel._own_model = ScriptedModel(lambda system, messages: OSError("down") if "B" in system[:2] else "prose")
    comparison = await panel.compare("A", "B")
    assert comparison.problems == ("the answer holds no list of facts", "OSError: down")
    assert comparison.answers == ("prose", "")
    assert comparison.facts == ()
    assert comparison.sentence == (
        "On 7 messages: A: failed, the answer holds no list of facts; B: failed, OSError: down; "
        "nothing can be compared."
    )


async def test_a_model_that_fails_is_not_told_as_one_that_finds_nothing():
    model = ScriptedModel(lambda system, messages: OSError("down") if system[:1] == "A" else [fact("one")])
    comparison = await opened(model=model).compare("A", "B")
    assert repr(comparison) == (
        "PromptComparison(On 7 messages: A: failed, OSError: down; B finds 1 fact; nothing can be compared.)"
    )
    assert [(each.content, each.a, each.b) for each in comparison.facts] == [("one", False, True)]


async def test_a_prompt_that_is_no_text_is_refused_before_a_model_is_asked():
    model = ScriptedModel([])
    with pytest.raises(ConfigError, match="prompt_b must be a text, not 5; '' is the default one") as caught:
        await opened(model=model).compare("", 5)
    assert (caught.value.key, caught.value.value, model.asked) == ("prompt_b", 5, [])


# -- facts that a store refuses, and saves that are cut off ------------------------------------------------------------


async def test_a_text_that_no_store_keeps_is_refused_before_it_is_written():
    panel = opened(model=ScriptedModel([[fact("one"), fact("two")]]), every=3)
    await panel.run()
    for act in (panel.accept, panel.edit):
        with pytest.raises(ConfigError, match=r"the text of fact f1 holds half a character .* '\\ud800'"):
            await act("f1", "\ud800")
        with pytest.raises(ConfigError, match="the text of fact f1 must be a text, not 5"):
            await act("f1", 5)
    with pytest.raises(ConfigError, match="fact f1 has no text"):
        await panel.accept("f1", " ")
    assert states(panel) == [("f1", "proposed", "one"), ("f2", "proposed", "two")]
    assert [repr(each) for each in await panel.accept()] == [
        "Fact(f1 for 'profile', written: 'one')",
        "Fact(f2 for 'profile', written: 'two')",
    ]


async def test_facts_whose_write_failed_are_edited_rejected_or_tried_again():
    store = FaultyStore(notes(), add=["fail", "fail", "fail"])
    panel = opened(store, model=ScriptedModel([[fact("one"), fact("two"), fact("three")]]), every=3)
    await panel.run()
    assert [each.state for each in await panel.accept()] == ["failed", "failed", "failed"]
    assert [each.state for each in await panel.reject("f1")] == ["rejected"]
    await panel.restart()

    panel._own_model = ScriptedModel([[fact("one"), fact("two"), fact("three")]])
    await panel.run()
    await panel.accept()
    await panel.edit("f2", "deux")
    assert states(panel) == [("f1", "failed", "one"), ("f2", "failed", "deux"), ("f3", "failed", "three")]
    assert [each.state for each in await panel.accept("f1", "un")] == ["written"]
    assert sorted(await contents(panel.stores[0])) == ["deux", "three", "un"]
    assert panel.unsaved == ()


async def test_a_failed_fact_that_is_rejected_is_not_tried_again():
    store = FaultyStore(notes(), add="fail")
    panel = opened(store, model=ScriptedModel([[fact("one"), fact("two")]]), every=3)
    await panel.run()
    await panel.accept()
    await panel.reject("f1")
    assert (states(panel)[0], panel.status[0].unwritten) == (("f1", "rejected", "one"), ("two",))
    await panel.reject("f2")
    assert (panel.status[0].unwritten, panel.unsaved, panel.status[0].failures) == ((), (), 0)
    with pytest.raises(ConfigError, match="fact f1 is rejected already"):
        await panel.edit("f1", "eins")


async def test_a_fact_that_is_not_there_is_said_with_those_that_are():
    panel = opened(model=ScriptedModel([[fact("one"), fact("two")]]), every=3)
    await panel.run()
    with pytest.raises(EntryNotFoundError) as caught:
        await panel.accept("f99")
    assert str(caught.value) == "No entry 'f99' in the proposed facts. There are f1, f2."


def test_facts_still_wait_when_the_loop_that_found_them_has_ended():
    panel = opened(model=ScriptedModel([[fact("one"), fact("two")], [], [fact("three")]]))
    asyncio.run(panel.run())
    assert [each.id for each in panel.waiting] == ["f1", "f2"]
    asyncio.run(panel.reject("f1"))
    asyncio.run(panel.edit("f2", "deux"))
    assert [each.state for each in asyncio.run(panel.accept())] == ["written"]
    asyncio.run(panel.run())
    asyncio.run(panel.accept())
    assert states(panel) == [("f1", "rejected", "one"), ("f2", "written", "deux"), ("f3", "written", "three")]
    assert repr(panel) == "Extraction(All messages gone through. Nothing is left to save; 2 facts written.)"
    assert asyncio.run(contents(panel.stores[0])) == ["deux", "three"]


async def asked(panel):
    """Wait until the model has been asked."""
    happened = asyncio.Event()
    undo = panel.subscribe(lambda: panel.exchanges and happened.set())
    await happened.wait()
    undo()


# -- under way --------------------------------------------------------------------------------------------------------


async def test_a_flush_goes_on_behind_facts_that_wait():
    panel = opened(model=ScriptedModel([[fact("one")]]), every=9)
    await panel.run()
    assert panel.done
    (status,) = await panel.flush()
    assert (status.pending, [each.content for each in panel.waiting]) == (tuple(range(8)), ["one"])
    await panel.accept()
    assert (panel.status[0].pending, panel.lines[-1].after[-1].text) == ((), "flushed, no message left")


async def test_starting_over_cuts_off_what_hangs():
    panel = opened(model=FaultyModel(faults="hang"), review=False)
    running = asyncio.ensure_future(panel.run())
    await asked(panel)
    assert (panel.busy, running.done()) == ("run", False)
    await panel.restart()
    with pytest.raises(StaleTraceError, match="started over meanwhile"):
        await running
    assert (panel.position, panel.busy, panel.facts) == (0, "", [])


async def test_starting_over_makes_new_copies():
    store = notes()
    panel = opened(store, model=DemoModel(), review=False)
    await panel.run()
    await store.add("likes tea")
    await panel.restart()
    assert (panel.position, panel.stores, panel.lines) == (0, (), [])
    await panel.step()
    assert await contents(panel.stores[0]) == ["likes tea"]


async def test_it_follows_the_workbench():
    bench = WorkbenchState(notes(), TALK)
    panel = ExtractionState(bench, model=DemoModel(), review=False)
    await panel.step()
    await bench.set(call=1)
    assert panel.position == 1
    await bench.set(messages=["I like tea.", "Good.", "I like jazz."])
    assert (panel.position, len(panel.messages)) == (0, 3)
    await panel.run()
    bench.switch(notes("other"))
    assert panel.position == 0
    await panel.run()
    assert (await contents(panel.stores[0]))[0] == "other"


@pytest.mark.parametrize("seed", range(25))
async def test_whatever_is_done_in_whatever_order_nothing_is_lost_doubled_or_stuck(seed):
    rng = random.Random(f"extraction {seed}")
    faults = {"fail": 0.2, "fail after": 0.1}
    stores = [FaultyStore(notes(), add=faults, seed=seed), TestMemoryStore(name="work", persist=False)]
    model = FaultyModel(DemoModel(), {"raise": 0.15, "unreadable": 0.1, "empty": 0.1}, seed=seed)
    panel = opened(stores, talk=conversation(), model=model, every=rng.choice([1, 2, 3]), review=rng.random() < 0.7)
    for _ in range(rng.randrange(25)):
        act = rng.choice(["step", "step", "step", "run", "flush", "accept", "reject", "retry", "one", "restart"])
        if act == "one" and panel.waiting:
            await panel.accept(rng.choice(panel.waiting), f"edited {len(panel.facts)}")
        elif act == "retry":
            await panel.retry_unreadable()
        elif act == "restart" and rng.random() < 0.2:
            await panel.restart()
        elif act in ("step", "run", "flush", "accept", "reject"):
            await getattr(panel, act)()
    for _ in range(60):  # faults are drawn by lot: they end some time
        await panel.run()
        await panel.flush()
        await panel.retry_unreadable()
        await panel.accept()
        if panel.done and not (
            panel.waiting or panel.unsaved or panel.status[0].unreadable or panel.status[1].unreadable
        ):
            break
    assert {mark.state for line in panel.lines for mark in line.marks.values()} == {"saved", "dropped"}
    assert {fact.state for fact in panel.facts} <= {"written", "known", "rejected"}
    for store in panel.stores:
        kept = {fact.content for fact in panel.facts if fact.store == store.name and fact.state != "rejected"}
        assert sorted(await contents(store)) == sorted(kept)
    assert [await store.count() for store in stores] == [0, 0]


async def test_actions_take_turns():
    panel = opened(model=DemoModel(), review=False)
    steps = await asyncio.gather(*(panel.step() for _ in range(8)))
    assert [step.number for step in steps] == list(range(1, 9))
    assert panel.done


async def test_closing_ends_all_that_runs():
    before = asyncio.all_tasks()
    panel = opened(model=FaultyModel(faults="hang"), review=False)
    panel.spawn(panel.run)
    await asked(panel)
    panel.close()
    panel.bench.close()
    for _ in range(20):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_an_action_of_the_page_that_fails_is_said():
    panel = opened()
    panel.spawn(lambda: panel.accept("f9"))
    await panel.settled()
    assert panel.refused == "No entry 'f9' in the proposed facts. There is none yet."


def test_each_asyncio_run_of_a_script_may_go_on_with_it():
    panel = opened(model=DemoModel(), review=False)
    for _ in range(8):
        asyncio.run(panel.step())
    assert asyncio.run(contents(panel.stores[0])) == [
        "The user says: I am allergic to latex.",
        "The user says: I like jazz.",
    ]


async def test_the_agent_of_a_manager_source_is_extracted_as_its_manager_says():
    store = notes(extraction={"trigger": IntervalTrigger(3), "extractor": Picky()})
    panel = ExtractionState(WorkbenchState(MemoryManager([store]), TALK), review=False)
    await panel.run()
    assert [each.content for each in panel.facts] == ["7 messages"]
