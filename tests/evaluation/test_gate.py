"""A report is held to an earlier one: what got worse is named with what arrived then and now."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

import memwb
from memwb.errors import ConfigError, GateError, MemwbError
from memwb.evaluation import Case, CaseResult, Report, evaluate
from memwb.evaluation.gate import Block, BlockChange, GateResult, Worse, changed_blocks, compare
from memwb.stores import TestMemoryStore


def ran(case, reached, *missed, setting="mine", expected=2, **figures):
    found = {"reached": reached, "recall@5": reached, "tokens": 10.0, **figures}
    return CaseResult(setting, case, "ann", "kind", expected, 1, found, "5 of 9 hits injected", missed=missed)


def failed(case, why="OSError: down"):
    return CaseResult("mine", case, "ann", "kind", 2, None, {}, "failed", why)


def report(*results, **given):
    settings = {result.setting: 1 for result in results}
    return Report("", (5,), settings, results, **given)


def verdict(now, before, **given):
    with pytest.raises(GateError) as caught:
        now.assert_no_worse(before, **given)
    return caught.value


def test_a_report_is_no_worse_than_itself_or_than_one_that_found_less():
    before = report(ran("a", 0.5, "cane"), ran("b", None, expected=0), failed("c"))
    before.assert_no_worse(before)
    report(ran("a", 1.0), ran("b", None, expected=0), ran("c", 0.0, "x", "y")).assert_no_worse(before)


def test_a_case_whose_entry_no_longer_arrives_is_named_with_then_and_now():
    before = report(ran("a", 1.0), ran("b", 1.0))
    now = report(ran("a", 1.0), replace(ran("b", 0.5, "I use a cane."), first=4, outcome="3 of 9 hits injected"))

    error = verdict(now, before)

    assert isinstance(error, AssertionError)
    assert isinstance(error, MemwbError)
    assert str(error) == (
        "1 case is worse than in the baseline:\n"
        "- case 'b', setting 'mine'\n"
        "    lost:   'I use a cane.'\n"
        "    before: 5 of 9 hits injected; 2 of 2 expected in the prompt; the first at rank 1\n"
        "    now:    3 of 9 hits injected; 1 of 2 expected in the prompt; the first at rank 4\n"
        "If this is meant, renew the baseline on purpose; in a case folder by `memwb update FOLDER`."
    )
    [worse] = error.result.worse
    assert (worse.setting, worse.now.case, worse.lost) == ("mine", "b", ("I use a cane.",))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_case_that_fails_is_worse_than_one_that_ran_and_not_than_one_that_failed():
    before = report(ran("a", 0.0, "x", "y"), failed("b"))
    error = verdict(report(failed("a"), failed("b")), before)

    assert [each.now.case for each in error.result.worse] == ["a"]
    assert "    now:    failed: OSError: down" in str(error)
    by_metric = verdict(report(failed("a"), failed("b")), before, metric="tokens")
    assert [each.now.case for each in by_metric.result.worse] == ["a"]


def test_a_missing_case_or_setting_is_a_fault_and_a_new_one_is_named():
    before = report(ran("a", 1.0), ran("b", 1.0), ran("a", 1.0, setting="default"))
    error = verdict(report(ran("a", 1.0), ran("c", 1.0)), before)

    assert error.result.missing == (("mine", "b"), ("default", "a"))
    assert error.result.new == (("mine", "c"),)
    assert "2 runs of the baseline are missing: 'b' under 'mine', 'a' under 'default'." in str(error)
    assert "New, and in no baseline yet: 'c' under 'mine'." in str(error)


def test_what_changed_in_settings_stores_and_labels_is_said():
    about = {"settings": {"mine": {"query": "two_turns@1a", "max_entries": 5}}, "data": {"cases": "1", "stores": "2"}}
    now = {"settings": {"mine": {"query": "two_turns@9f", "max_entries": 3}}, "data": {"cases": "1", "stores": "3"}}
    before = report(ran("a", 1.0), **about)
    error = verdict(report(ran("a", 0.0, "x", expected=1), **now), before)

    assert error.result.changed == (
        "setting 'mine': max_entries was 5 and is 3",
        "setting 'mine': query is two_turns as before, with another source",
        "the stores are not those of the baseline",
    )
    assert "Changed: setting 'mine': max_entries was 5 and is 3.\n" in str(error)
    assert "Edited since the baseline: 'a'." in str(error)


def test_with_a_metric_the_mean_counts_and_the_tolerance_is_its():
    before = report(ran("a", 1.0), ran("b", 1.0), ran("c", 0.0))
    now = report(ran("a", 1.0), ran("b", 0.0), ran("c", 0.5))

    now.assert_no_worse(before, metric="recall@5", tolerance=0.2)
    error = verdict(now, before, metric="recall@5", tolerance=0.1)

    assert error.result.means == {"mine": (pytest.approx(2 / 3), 0.5)}
    assert "Setting 'mine': the mean recall@5 was 0.667 and is 0.500, by more than the tolerance 0.1." in str(error)
    assert [each.now.case for each in error.result.worse] == ["b"]


def test_of_tokens_less_is_better():
    before = report(ran("a", 1.0, tokens=100.0))
    report(ran("a", 1.0, tokens=50.0)).assert_no_worse(before, metric="tokens")
    assert "the mean tokens was 100.000 and is 130.000" in str(
        verdict(report(ran("a", 1.0, tokens=130.0)), before, metric="tokens", tolerance=20)
    )


def test_without_a_metric_the_tolerance_is_the_share_that_a_case_may_lose():
    before, now = report(ran("a", 1.0)), report(ran("a", 0.5, "x"))
    now.assert_no_worse(before, tolerance=0.5)
    verdict(now, before, tolerance=0.4)


def test_what_cannot_be_compared_is_refused():
    before = report(ran("a", 1.0))
    with pytest.raises(ConfigError, match=r"no figure 'recal@5' in both.*Did you mean 'recall@5'\?") as caught:
        before.assert_no_worse(before, metric="recal@5")
    assert caught.value.allowed == ("reached", "recall@5", "tokens")
    for bad in (-0.1, True, "0.1", float("nan")):
        with pytest.raises(ConfigError, match="it must be a number of at least 0"):
            before.assert_no_worse(before, tolerance=bad)
    with pytest.raises(ConfigError, match="baseline must be a report, the path of its JSONL file or a case folder"):
        before.assert_no_worse(7)


def test_of_many_cases_ten_are_told_and_the_rest_named_in_bounded_text():
    before = report(*[ran(f"case {n}", 1.0) for n in range(500)])
    now = report(*[ran(f"case {n}", 0.0, "x" * 5000, "y") for n in range(500)])
    error = verdict(now, before)

    assert len(error.result.worse) == 500
    assert "\n- and 490 more: 'case 10' under 'mine', " in str(error)
    assert str(error).count("\n- case ") == 10
    assert len(str(error)) < 6000


async def test_a_baseline_may_be_a_file(tmp_path):
    store = TestMemoryStore.from_records(["I use a cane.", "I like jazz."], name="notes")
    cases = [Case("a", [{"role": "user", "content": [{"text": "Do I use a cane?"}]}], ("I use a cane.",))]
    before = await evaluate(cases, {"mine": {}}, store)
    path = before.to_jsonl(tmp_path / "before.jsonl")
    now = await evaluate(cases, {"mine": {"query": lambda context: "jazz"}}, store)

    before.assert_no_worse(path)
    error = verdict(now, path)
    assert "    lost:   'I use a cane.'" in str(error)
    assert "Changed: setting 'mine': query was not set and is <lambda>." in str(error)


def test_a_block_has_changed_where_the_same_entries_give_another_text():
    before = {("mine", "a"): Block(("1", "2"), "<m>\none\ntwo"), ("mine", "b"): Block(("1",), "<m>\none")}
    now = {("mine", "a"): Block(("1", "2"), "<m>\none\n- two"), ("mine", "b"): Block(("2",), "<m>\ntwo")}
    [change] = changed_blocks(before, now)

    assert change == BlockChange("mine", "a", before["mine", "a"], now["mine", "a"])
    assert repr(GateResult(cases=2, blocks=(change,))).splitlines()[:5] == [
        "1 case gives the model the same entries in another text: a format, or an entry's text, has changed.",
        "- case 'a', setting 'mine'",
        "    @@ -2,2 +2,2 @@",
        "     one",
        "    -two",
    ]


def test_the_result_is_data_too():
    result = compare(report(ran("a", 0.5, "x")), report(ran("a", 1.0)))
    told = result.to_dict()

    assert (told["ok"], told["worse"][0]["case"], told["worse"][0]["lost"]) == (False, "a", ["x"])
    assert compare(report(ran("a", 1.0)), report(ran("a", 1.0))).to_dict()["ok"] is True
    assert repr(GateResult(cases=3)) == "No case of 3 is worse than in the baseline."


def test_where_memory_is_masked_the_text_quotes_none_of_it():
    lost = Worse(
        "mine",
        ran("a", 1.0),
        replace(failed("a"), error="query: ValueError: cane"),
        ("I use a cane.",),
        ("'I use a cane.': rank 9",),
    )
    change = BlockChange("mine", "b", Block(("1",), "a cane"), Block(("1",), "- a cane"))
    memwb.options(redact=True)
    try:
        told = repr(GateResult(worse=(lost,), blocks=(change,)))
    finally:
        memwb.options(redact=None)
    assert "cane" not in told
    assert "    lost:   '▒ ▒▒▒ ▒ ▒▒▒▒.'\n" in told
    assert "    now:    failed: query\n" in told
    assert "    -▒ ▒▒▒▒\n    +- ▒ ▒▒▒▒\n" in told
