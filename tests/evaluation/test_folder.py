"""A case folder holds stores, cases, settings and a baseline, and tells what is worse than that."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

import memwb
from memwb import callbacks, datasets
from memwb.errors import ConfigError, DamagedFileError, GateError
from memwb.evaluation import Arm, Case, at_random, evaluate, load_folder, save_folder
from memwb.ranking import tokenize
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState

ABOUT = ["I use a cane.", "I like jazz on the radio.", "My rug is blue.", "I am allergic to latex."]


def said(*texts):
    return [{"role": ("user", "assistant")[n % 2], "content": [{"text": text}]} for n, text in enumerate(texts)]


CASES = [
    Case("cane", said("Do I use a cane?"), ("e1",), category="health"),
    Case("rug", said("Which rug?"), ("My rug is blue.",), metadata={"by": "Ann"}),
    Case("talk", said("Tell me about jazz.", "Sure!", "Yes, please."), ("e2",)),
    Case("none", said("Hello!"), ()),
]


@pytest.fixture
def store():
    records = [{"id": f"e{n}", "content": text} for n, text in enumerate(ABOUT, 1)]
    return TestMemoryStore.from_records(records, name="profile")


def brackets(context):
    return "\n".join(f"[{entry.content}]" for entry in context.entries)


SETTINGS = {"turns": {"query": callbacks.whole_history, "max_entries": 2}, "default": {}, "off": False}


@pytest.fixture
async def folder(store, tmp_path):
    return await save_folder(tmp_path / "cases", store, CASES, {**SETTINGS, "marked": {"format": brackets}})


async def test_a_folder_gives_back_what_was_saved(folder, store, tmp_path):
    again = load_folder(tmp_path / "cases")

    assert repr(again) == "CaseFolder(4 cases, 4 settings, with a baseline)"
    assert again.cases == tuple(CASES)
    assert list(again.settings) == ["turns", "default", "off", "marked"]
    assert (again.settings["off"], again.settings["turns"]["max_entries"]) == (False, 2)
    assert await again.stores[0].page(0, 9) == await store.page(0, 9)
    assert again.baseline == folder.baseline
    assert [each.figures["reached"] for each in again.baseline.of("turns")] == [1.0, 1.0, 1.0, None]
    block = again.blocks["marked", "rug"]
    assert (block.entries, block.text) == (("e3",), "[My rug is blue.]")
    files = sorted(str(path.relative_to(again.path)) for path in again.path.rglob("*") if path.is_file())
    assert files == [
        *("baseline.jsonl", "blocks.jsonl", "cases.jsonl"),
        *(f"settings/{name}.py" for name in ("default", "marked", "off", "turns")),
        *("stores/profile.json", "stores/stores.json"),
    ]


async def test_what_was_saved_gives_the_report_that_it_gave_before(folder, store):
    before = await evaluate(CASES, {**SETTINGS, "marked": {"format": brackets}}, store)

    assert [each.figures for each in folder.baseline.results] == [each.figures for each in before.results]
    folder.baseline.assert_no_worse(before)
    before.assert_no_worse(folder.path)


SHORT = (
    "Not all that is expected arrives, as in the baseline, in 5 runs: 'talk' with 'default' 0%, 'cane' with 'off' 0%, "
    "'rug' with 'off' 0%, 'talk' with 'off' 0%, 'talk' with 'marked' 0%."
)
"""What the cases never get of what they expect: said of a green folder, too."""


async def test_an_unchanged_folder_passes_and_an_update_changes_no_byte(folder):
    assert repr(await folder.check()).splitlines() == ["No case of 16 is worse than in the baseline.", SHORT]
    before = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    await load_folder(folder.path).update()
    assert {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()} == before


async def red(folder, **given):
    with pytest.raises(GateError) as caught:
        await load_folder(folder.path).check(**given)
    return caught.value


async def test_a_worse_callback_is_told_with_case_setting_and_reason(folder):
    (folder.path / "settings" / "turns.py").write_text(
        "def query(c):\n    return 'x'\n\ninjection = {'query': query}\n"
    )
    error = await red(folder)

    assert [(each.setting, each.now.case) for each in error.result.worse] == [
        ("turns", "cane"),
        ("turns", "rug"),
        ("turns", "talk"),
    ]
    assert "    why:    'I use a cane.' did not arrive: it shares no word with the query." in str(error)
    assert "Changed: setting 'turns': query was whole_history and is query." in str(error)


async def test_a_callback_that_raises_is_told_with_its_error(folder):
    (folder.path / "settings" / "turns.py").write_text("def query(c):\n    1 / 0\n\ninjection = {'query': query}\n")
    error = await red(folder)
    assert {each.now.error for each in error.result.worse} == {"query: ZeroDivisionError: division by zero"}
    assert "    now:    failed: query: ZeroDivisionError: division by zero\n" in str(error)


async def test_a_changed_store_is_told_with_the_entry_that_is_gone(folder):
    path = folder.path / "stores" / "profile.json"
    path.write_text(json.dumps([record for record in json.loads(path.read_text()) if record["id"] != "e1"]))
    error = await red(folder)

    assert {each.now.case for each in error.result.worse} == {"cane"}
    assert "    why:    'e1' is in no store any more, neither as an id nor as a text." in str(error)
    assert "Changed: the stores are not those of the baseline." in str(error)


async def test_a_changed_format_is_told_as_a_difference_of_blocks(folder):
    path = folder.path / "settings" / "marked.py"
    path.write_text(path.read_text().replace("[{entry.content}]", "({entry.content})"))
    error = await red(folder)

    assert [(each.setting, each.case) for each in error.result.blocks] == [
        ("marked", "cane"),
        ("marked", "rug"),
    ]
    assert "    -[My rug is blue.]\n    +(My rug is blue.)\n" in str(error)
    assert error.result.worse == ()


async def test_a_case_that_was_taken_out_is_missing_until_the_update(folder):
    path = folder.path / "cases.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    error = await red(folder)
    assert "4 runs of the baseline are missing: 'cane' under 'turns', " in str(error)

    await load_folder(folder.path).update()
    assert (await load_folder(folder.path).check()).ok


async def test_an_edited_case_is_named(folder):
    path = folder.path / "cases.jsonl"
    path.write_text(path.read_text().replace("Which rug?", "Which blue rug?"))
    result = await load_folder(folder.path).check()

    assert (result.ok, result.edited) == (True, ("rug",))
    assert repr(result).splitlines()[1:] == [
        "Changed: the cases are not those of the baseline.",
        "Edited since the baseline: 'rug'.",
        SHORT,
    ]


async def test_a_metric_and_a_tolerance_count_as_in_a_report(folder):
    (folder.path / "settings" / "default.py").write_text("injection = {'max_entries': 1}")
    assert (await load_folder(folder.path).check("tokens")).ok
    with pytest.raises(ConfigError, match="no figure 'recall@7'"):
        await folder.check("recall@7")


async def test_each_owner_may_have_stores_of_their_own(tmp_path):
    data = datasets.load("ikat-demo")
    owners = data.owners[:3]
    cases = [case for case in data.cases if case.owner in owners][:12]
    folder = await save_folder(tmp_path / "cases", data.store, cases, {"default": {}})
    before = await evaluate(cases, {"default": {}}, data.store)

    assert [each.figures for each in folder.baseline.results] == [each.figures for each in before.results]
    assert set(folder.stores) == {case.owner for case in cases}
    assert "2024-test" not in "".join(path.name for path in tmp_path.joinpath("cases").iterdir())
    assert (await folder.check()).ok


async def test_masked_cases_still_work_and_hold_no_word_of_the_texts(store, tmp_path):
    cases = [replace(case, id=f"number {at}") for at, case in enumerate(CASES)]  # ids are names, which stay
    plain = await save_folder(tmp_path / "plain", store, cases, SETTINGS)
    masked = await save_folder(tmp_path / "masked", store, cases, SETTINGS, redact=True)

    for name in ("reached", "recall@1", "rr", "entries", "stop_words"):
        assert [each.figures[name] for each in masked.baseline.results] == [
            each.figures[name] for each in plain.baseline.results
        ]
    texts = "".join(path.read_text().lower() for path in masked.path.rglob("*.json*"))
    assert [word for word in ("cane", "jazz", "rug", "latex", "ann", "tell") if word in tokenize(texts)] == []
    assert (masked.cases[0].expected, masked.cases[1].metadata) == (("e1",), None)
    assert (await masked.check()).ok


async def test_what_holds_for_the_process_masks_a_folder_unless_the_call_says_otherwise(store, tmp_path):
    memwb.options(redact=True)
    try:
        masked = await save_folder(tmp_path / "masked", store, CASES, SETTINGS)
        plain = await save_folder(tmp_path / "plain", store, CASES, SETTINGS, redact=False)
    finally:
        memwb.options(redact=None)
    assert (masked.cases[0].messages == CASES[0].messages, plain.cases[0].messages == CASES[0].messages) == (
        False,
        True,
    )


async def test_a_module_that_an_export_wrote_is_kept_as_it_is(store, tmp_path):
    state = WorkbenchState([store], "Which rug?")
    await state.set(max_entries=1)
    module = state.export(tmp_path / "mine.py").module
    folder = await save_folder(tmp_path / "cases", store, CASES, {"mine": module})

    assert (folder.path / "settings" / "mine.py").read_bytes() == module.read_bytes()
    state.export(folder.path / "settings.py")  # and an export into the folder is found
    assert list(load_folder(folder.path).settings) == ["mine", "settings"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"settings": {"a/b": {}}}, "a setting is named 'a/b'"),
        ({"settings": {"random": at_random()}}, "'random' is an Arm, whose stores no agent has"),
        ({"settings": {"mine": {"max_entires": 1}}}, r"setting 'mine': injection has no key 'max_entires'"),
        ({"settings": {"mine": {"query": lambda context: str(ABOUT)}}}, "uses 'ABOUT' of the notebook"),
        ({"settings": {}}, "settings must be a dict like"),
        (
            {"cases": [Case("a", [{"role": "user", "content": [{"document": {"bytes": b"x"}}]}])]},
            "cannot be written as JSON",
        ),
        ({"cases": []}, "There are no cases"),
    ],
)
async def test_what_cannot_be_kept_is_refused_and_nothing_is_left(store, tmp_path, given, told):
    with pytest.raises(ConfigError, match=told):
        await save_folder(tmp_path / "cases", **{"stores": store, "cases": CASES, "settings": {"default": {}}, **given})
    assert list(tmp_path.iterdir()) == []


async def test_an_interrupt_leaves_nothing_half_written(store, tmp_path, folder, monkeypatch):
    before = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}

    def interrupted(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("memwb.evaluation.folder.evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        await save_folder(tmp_path / "other", store, CASES, SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        await folder.update()
    assert [path.name for path in tmp_path.iterdir()] == ["cases"]
    assert {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()} == before


async def test_a_folder_that_is_taken_is_never_written_over(folder, store):
    with pytest.raises(ConfigError, match="exists already; replace=True writes it anew"):
        await save_folder(folder.path, store, CASES, SETTINGS)


async def test_a_folder_without_a_part_says_which(folder, tmp_path):
    with pytest.raises(ConfigError, match=r"is no case folder: it has no cases\.jsonl"):
        load_folder(tmp_path)
    with pytest.raises(ConfigError, match="is no case folder: it does not exist"):
        load_folder(tmp_path / "none")
    (folder.path / "blocks.jsonl").write_text('{"setting": "default"}\n')
    with pytest.raises(DamagedFileError, match=r"blocks\.jsonl at line 1: it is no block of a case"):
        load_folder(folder.path)
    (folder.path / "blocks.jsonl").unlink()
    (folder.path / "baseline.jsonl").unlink()
    with pytest.raises(ConfigError, match=r"`memwb update .*` writes one"):
        await load_folder(folder.path).check()
    shutil.rmtree(folder.path / "settings")
    with pytest.raises(ConfigError, match=r"has no settings, neither settings\.py nor"):
        load_folder(folder.path)


async def test_a_case_that_expects_what_no_store_holds_is_named_with_it(store, tmp_path):
    lost = Case("lost", said("Which lamp?"), ("e9", "My lamp is red."))
    folder = await save_folder(tmp_path / "cases", store, [CASES[0], lost], {"default": {}})
    result = await folder.compare()

    assert result.ok
    assert result.unknown == {"lost": ("e9", "My lamp is red.")}
    assert "Case 'lost' expects what no store holds: 'e9', 'My lamp is red.'." in repr(result)
    assert result.to_dict()["unknown"] == {"lost": ["e9", "My lamp is red."]}


async def test_a_case_folder_gives_way_to_a_new_one_where_that_is_asked_for(folder, store, tmp_path):
    made = await save_folder(folder.path, store, CASES[:2], {"default": {}}, replace=True)

    assert (len(made.cases), list(made.settings), len(made.baseline.results)) == (2, ["default"], 2)
    assert [path.name for path in tmp_path.iterdir()] == ["cases"]


async def test_what_cannot_be_saved_leaves_the_earlier_folder_as_it_was(folder, store, tmp_path):
    before = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}

    with pytest.raises(ConfigError, match="is an Arm"):
        await save_folder(folder.path, store, CASES, {"default": Arm()}, replace=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


async def test_only_a_case_folder_gives_way(store, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("precious")

    with pytest.raises(ConfigError, match="it is no case folder: take another name"):
        await save_folder(tmp_path / "precious", store, CASES, {"default": {}}, replace=True)
    assert (tmp_path / "precious" / "thesis.txt").read_text() == "precious"


async def test_a_folder_that_a_killed_replacement_left_aside_is_found(folder):
    folder.path.rename(folder.path.with_name(f".{folder.path.name}.0123456789ab.old"))

    assert len(load_folder(folder.path).cases) == len(CASES)
