"""The state of an evaluation's panel, and labels that are given while looking at hits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memwb import TestMemoryStore, evaluate
from memwb.datasets import Case
from memwb.errors import ConfigError, StaleTraceError
from memwb.evaluation import at_random, everything
from memwb.workbench import WorkbenchState
from memwb.workbench.cases import label
from memwb.workbench.evaluation import EvaluationState

FACTS = ["Green tea is in the tin.", "Green tea is in the jar.", "Tea is in the pot.", "I use a cane."]
SETTINGS = {"all": {}, "one": {"max_entries": 1}, "off": False}


def asked(id, text, expected, **about):
    return Case(id, [{"role": "user", "content": [{"text": text}]}], expected, **about)


CASES = [
    asked("tea", "Where is my green tea?", ["Tea is in the pot."], category="place", owner="a"),
    asked("cane", "What cane do I use?", ["I use a cane."], category="aid", owner="b"),
    asked("idle", "Hello!", []),
]


@pytest.fixture
def store():
    return TestMemoryStore.from_records(FACTS, name="facts")


@pytest.fixture
async def state(store):
    report = await evaluate(CASES, SETTINGS, store)
    bench = WorkbenchState([store], "Hello!")
    state = EvaluationState(bench, report, CASES, store, SETTINGS)
    yield state
    state.close()
    bench.close()


async def test_settings_stand_by_quality_by_tokens_or_as_given(state):
    assert [row.name for row in state.standings] == ["all", "one", "off"]
    assert [row.differs for row in state.standings[:2]] == [(), ("max_entries 1",)]
    state.choose(order="tokens")
    assert [(row.number, row.name) for row in state.standings] == [(1, "off"), (2, "one"), (3, "all")]
    state.choose(order="given")
    assert [row.name for row in state.standings] == list(SETTINGS)


async def test_cases_are_listed_as_the_report_compares_them(state):
    state.choose(first="one", second="all")
    assert {name: state.ids(name) for name in ("won", "lost", "tied", "left out")} == {
        "won": (),
        "lost": ("tea",),
        "tied": ("cane",),
        "left out": (),
    }
    (case,) = state.shown
    assert (case.first.figures["reached"], case.second.figures["reached"]) == (0, 1)
    assert state.grouped("category") == {
        "place": (1, {"all": 1, "one": 0, "off": 0}),
        "aid": (1, {"all": 1, "one": 1, "off": 0}),
    }
    assert list(state.grouped("owner")) == ["a", "b"]


async def test_a_case_opens_with_its_setting_stores_and_what_it_expects(state):
    trace = await state.show("tea", "one")
    assert [entry.content[:9] for entry in trace.entries] == ["Green tea"]
    assert state.bench.expected == ("Tea is in the pot.",)
    assert state.bench.preview.verdict.kind == "missing"
    assert (state.opened, state.told) == (("tea", "one"), "")
    assert len((await state.show("tea", "all")).entries) == 3
    assert not (await state.show("tea", "off")).injected


async def test_a_case_that_is_no_longer_as_the_report_has_it_is_told(state, store):
    other = TestMemoryStore.from_records(["Tea is in the pot."], name="facts")
    now = EvaluationState(state.bench, state.report, CASES, other, SETTINGS)
    await now.show("tea", "one")
    assert "This is not what the report has: 1 entries, of the expected ones 1 missing" in now.told


async def test_each_owner_is_searched_in_its_own_store():
    stores = {name: TestMemoryStore.from_records([f"Tea is {name}."], name="tea") for name in ("red", "blue")}
    cases = [asked(name, "What is my tea?", [f"Tea is {name}."], owner=name) for name in stores]
    report = await evaluate(cases, {"now": {}}, stores)
    state = EvaluationState(WorkbenchState(["x"]), report, cases, stores, {"now": {}})
    for name in stores:
        assert [entry.content for entry in (await state.show(name)).entries] == [f"Tea is {name}."]


async def test_without_stores_those_of_the_workbench_are_searched_as_each_setting_has_it(store):
    settings = {"all": everything(), "one": {"max_entries": 1}}
    cases = [replace(case, owner=None) for case in CASES]
    bench = WorkbenchState([store], "Hello!")
    state = EvaluationState(bench, await evaluate(cases, settings, store), cases, settings=settings)
    for name, number in (("all", 4), ("one", 1), ("all", 4)):
        assert len((await state.show("tea", name)).entries) == number
        assert state.told == ""
    await state.show("cane", "one")
    assert list(bench.source.stores) == [store]
    state.close()
    bench.close()


async def test_opening_a_case_of_the_same_stores_keeps_what_is_staged_there(store):
    bench = WorkbenchState([store], "Hello!", editable=True)
    state = EvaluationState(bench, await evaluate(CASES, SETTINGS, store), CASES, store, SETTINGS)
    await bench.settled()
    bench.entries.stage(add=["I own a boat."])
    await state.show("cane", "one")
    assert len(bench.entries.staged) == 1
    state.close()
    bench.close()


async def test_labels_given_to_an_open_case_are_kept_in_the_cases_when_asked(state):
    bench = state.bench
    await state.show("tea", "all")
    assert state.relabelled is None
    assert await state.keep() == CASES[0]
    label(bench, CASES[0].expected[0], False)
    assert state.relabelled == ()
    wanted = label(bench, "Green tea is in the jar.")
    assert state.relabelled == wanted == ("Green tea is in the jar.",)
    kept = await state.keep()
    assert kept == replace(CASES[0], expected=wanted)
    assert state.cases == (kept, *CASES[1:])
    assert "evaluate panel.cases again" in state.told
    assert state.relabelled is None
    await state.show("tea", "one")
    assert bench.expected == wanted


async def test_labels_of_another_conversation_are_no_case_of_the_report(state):
    with pytest.raises(ConfigError, match="shows no case that was opened here"):
        await state.keep()
    await state.show("tea", "all")
    await state.bench.set(messages="Where is the jar?")
    label(state.bench, "Green tea is in the jar.")
    assert state.relabelled is None
    with pytest.raises(ConfigError, match="shows no case that was opened here"):
        await state.keep()
    assert state.cases == tuple(CASES)


async def test_without_cases_and_settings_opening_says_what_is_needed(state):
    bare = EvaluationState(state.bench, state.report)
    assert bare.lacking == ("cases", "settings")
    with pytest.raises(ConfigError, match="give cases=cases and settings=settings as evaluate had them"):
        await bare.show("tea")
    with pytest.raises(ConfigError, match="no case 'tee'"):
        await state.show("tee")
    with pytest.raises(ConfigError, match="no setting 'two'"):
        await state.show("tea", "two")
    with pytest.raises(ConfigError, match="is no report"):
        EvaluationState(state.bench, "report.jsonl")
    bare.close()
    with pytest.raises(StaleTraceError):
        await bare.show("tea")


@pytest.mark.parametrize("change", [{"metric": "recal@5"}, {"order": "best"}, {"first": "two"}, {"size": "1"}])
async def test_an_unknown_choice_changes_nothing(state, change):
    before = state.metric, state.order, state.first
    with pytest.raises(ConfigError):
        state.choose(**change)
    assert (state.metric, state.order, state.first) == before


async def test_a_mean_of_draws_is_told_to_win_and_lose_nothing(store):
    settings = {"now": {}, "luck": at_random(draws=3)}
    report = await evaluate(CASES, settings, store)
    assert "won and lost say nothing of a mean of 3 draws" in repr(report.compare("luck", "now"))
    state = EvaluationState(WorkbenchState([store]), report, CASES, store, settings)
    await state.show("tea", "luck")
    assert state.told == "This is the first of 3 draws; the report has their mean."


async def test_labels_make_a_case_and_are_taken_back(store):
    bench = WorkbenchState([store], "Where is my tea?", injection={"max_entries": 1})
    await bench.settled()
    first, second = bench.hits[:2]
    assert label(bench, first) == (first.id,)
    assert label(bench, second) == (first.id, second.id)
    assert label(bench, second) == (first.id, second.id)
    await bench.settled()
    assert bench.preview.verdict.kind == "missing"
    assert bench.case("tea").expected == (first.id, second.id)
    assert label(bench, first.content, False) == (first.id, second.id)  # a text names no id
    assert label(bench, first, False) == (second.id,)
    assert label(bench, second, False) == ()
    await bench.settled()
    for nothing in ("", 3, None):
        with pytest.raises(ConfigError, match="label takes a hit"):
            label(bench, nothing)


async def test_labels_belong_to_the_call_where_they_were_given(store):
    bench = WorkbenchState([store], ["Where is my tea?", "In the tin.", "What cane do I use?"])
    await bench.settled()
    label(bench, "I use a cane.")
    await bench.set(call=1)
    assert bench.expected == ()
    label(bench, "Tea is in the pot.")
    assert bench.expected == ("Tea is in the pot.",)
    await bench.set(call=2)
    assert bench.expected == ()


async def test_a_function_is_told_apart_by_its_hash_where_its_name_is_the_same(store):
    def query_of(words):
        def query(context):
            return words

        return query

    first, second = query_of("tea"), query_of("cane")
    report = await evaluate(
        CASES[:1],
        {"first": {"query": first}, "second": {"query": second, "max_entries": 2}, "luck": at_random(draws=2)},
        store,
    )
    one, two, luck = sorted(
        EvaluationState(WorkbenchState([store]), report).standings, key=lambda row: row.name != "first"
    )[:3]
    named = {row.name: row.differs for row in (one, two, luck)}
    assert named["first"] == ()
    assert "max_entries 2" in named["second"]
    assert "stores in 2 draws" in named["luck"]
