"""A conversation that is open becomes a labelled case, by what is pointed at."""

from __future__ import annotations

import pytest

import memwb
from memwb.errors import ConfigError
from memwb.evaluation import Case, evaluate, load_cases, save_cases
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.cases import _check_held
from tests.workbench.fakes import SearchStore, assistant, user

TALK = [user("Which mats can I buy?"), assistant("Of what?"), user("Is latex fine?")]


def store():
    records = [{"content": "I am allergic to latex.", "id": "allergy"}, {"content": "I use a cane.", "id": "cane"}]
    return TestMemoryStore.from_records(records, name="notes")


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        (lambda state: [state.hits[0]], ("allergy",)),
        (lambda state: ["cane", state.hits[0].entry, "allergy"], ("cane", "allergy")),
        (lambda state: ["I use a cane."], ("I use a cane.",)),
        (lambda state: [], ()),
    ],
)
async def test_it_expects_what_is_pointed_at(point, expected):
    state = WorkbenchState(store(), TALK)
    await state.settled()

    assert state.case("latex", point(state), category="health") == Case("latex", TALK, expected, None, "health")


async def test_it_holds_the_messages_before_the_open_call():
    state = WorkbenchState(store(), TALK, expected=["allergy"])
    await state.settled()

    assert state.case("last") == Case("last", TALK, ("allergy",))
    await state.set(call=1)
    assert state.case("first", []) == Case("first", TALK[:1])
    with pytest.raises(ConfigError, match=r"Case 'first': expected is missing.*expected=\[\]"):
        state.case("first")


@pytest.mark.parametrize("expected", ["allergy", 5])
async def test_what_is_no_list_is_refused(expected):
    with pytest.raises(ConfigError, match=r"Case .c.: expected is .*must be a list"):
        WorkbenchState(store(), TALK).case("c", expected)


async def test_it_goes_to_a_file_and_through_an_evaluation(tmp_path):
    wb = memwb.Workbench(store(), TALK)
    await wb
    file = save_cases(tmp_path / "cases.jsonl", [wb.case("latex", wb.trace.hits[:1])])

    report = await evaluate(load_cases(file), {"here": wb.injection}, store())
    assert report["here"].reached == 1.0
    wb.close()


async def test_cases_stores_and_settings_go_to_a_folder_that_is_guarded(tmp_path):
    wb = memwb.Workbench(store(), TALK)
    await wb.set(max_entries=2, query=lambda context: "latex")
    folder = await wb.save_cases(tmp_path / "cases", [wb.case("latex", wb.trace.hits[:1])])

    assert repr(folder) == "CaseFolder(1 case, 1 setting, with a baseline)"
    assert list(folder.settings) == ["workbench"]
    assert folder.baseline["workbench"].reached == 1.0
    assert folder.blocks["workbench", "latex"].text == wb.trace.text
    assert (await folder.check()).ok
    wb.close()


async def test_cases_that_expect_what_no_saved_store_holds_are_refused_and_nothing_is_written(tmp_path):
    other = TestMemoryStore.from_records([{"content": "I like tea.", "id": "tea"}], name="other")
    wb = memwb.Workbench([store(), other], TALK)
    await wb.set(stores=["notes"])
    cases = [
        wb.case("good", ["cane", " I use a cane. "]),
        wb.case("lost", ["tea", "cane"]),
        wb.case("typo", ["alergy"]),
    ]
    with pytest.raises(ConfigError) as told:
        await wb.save_cases(tmp_path / "cases", cases)
    assert str(told.value).startswith(
        "save_cases: no store here ('notes') holds 'tea' (case 'lost'); 'alergy' (case 'typo'). "
    )
    assert (told.value.value, list(tmp_path.iterdir())) == (("tea", "alergy"), [])
    wb.close()


async def test_a_store_that_cannot_list_is_taken_to_hold_what_is_expected(tmp_path):
    state = WorkbenchState(SearchStore("I use a cane."), TALK)
    await _check_held(state, [Case("one", TALK, ("anything",))])
