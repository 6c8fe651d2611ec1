"""A report reads as a table, answers by name, and gives its figures as data."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from memwb.errors import ConfigError
from memwb.evaluation import CaseResult, Report


def result(setting: str, case: str, expected: int, **figures: float | None) -> CaseResult:
    names = ["recall@1", "precision@1", "hit@1", "ndcg@1", "rr", "reached"]
    defaults: dict[str, float | None] = dict.fromkeys(names, 0.0 if expected else None)
    defaults |= {"entries": 0.0, "tokens": 0.0, "stop_words": 0.0}
    return CaseResult(setting, case, "ann", "kind", expected, None, {**defaults, **figures}, "ran")


def failure(setting: str, case: str, why: str) -> CaseResult:
    return CaseResult(setting, case, "ann", "kind", 1, None, {}, "failed", why)


def two_settings() -> Report:
    found = {"recall@1": 1.0, "precision@1": 1.0, "hit@1": 1.0, "ndcg@1": 1.0, "rr": 1.0, "reached": 1.0}
    return Report(
        "demo",
        (1,),
        {"default": 1, "<b>$x$</b>": 2},
        (
            result("default", "a", 1, entries=2.0, tokens=1500.0, stop_words=1.0, **found),
            result("default", "b", 2, entries=2.0, tokens=500.0, stop_words=2.0),
            result("default", "c", 0, entries=1.0, tokens=10.0),
            failure("<b>$x$</b>", "a", "search: store 'notes' raised OSError('<i>down</i>')"),
            result("<b>$x$</b>", "b", 2),
            result("<b>$x$</b>", "c", 0),
        ),
    )


TABLE = """\
3 cases of demo: 2 need memory, 1 need none; 2 settings

setting       R@1    MRR  nDCG@1  reached  entries  tokens  stop words  idle entries  idle tokens
default     0.500  0.500   0.500    0.500      2.0   1,000         75%           1.0           10
<b>$x$</b>  0.000  0.000   0.000    0.000      0.0       0           -           0.0            0

R, MRR, nDCG: of the full ranking; reached: share of the expected entries that came into the prompt; entries, tokens:
  size of the block; stop words: share of its entries that matched on stop words alone.
All are means over the cases that need memory; idle: over the cases that need none.
<b>$x$</b>: each case is the mean of 2 draws.
<b>$x$</b>: 1 case failed and is in none of its means: a (search: store 'notes' raised OSError('<i>down</i>'))."""


def test_its_repr_is_a_table() -> None:
    assert repr(two_settings()) == TABLE


def test_its_html_holds_the_same_and_no_markup_of_its_data() -> None:
    html = two_settings()._repr_html_()

    assert "<b>" not in html
    assert "<i>" not in html
    assert "<script" not in html
    assert html.startswith('<div class="memwb-report mathjax_ignore tex2jax_ignore">')
    assert html.count("<tr>") == 3


def test_settings_answer_by_name_in_their_order() -> None:
    report = two_settings()

    assert list(report) == ["default", "<b>$x$</b>"]
    assert len(report) == 2
    mean = report["default"]
    assert (mean.recall, mean.mrr, mean.reached) == ({1: 0.5}, 0.5, 0.5)
    assert (mean.entries, mean.tokens) == (2.0, 1000.0)
    assert (mean.stop_words, mean.idle_entries, mean.idle_tokens) == (0.75, 1.0, 10.0)
    assert (report["<b>$x$</b>"].failed, report["<b>$x$</b>"].cases, report["<b>$x$</b>"].draws) == (1, 2, 2)


def test_an_unknown_setting_is_refused_with_the_nearest_one() -> None:
    for ask in (two_settings().__getitem__, two_settings().of):
        with pytest.raises(ConfigError, match=r"no setting 'defualt'.*Did you mean 'default'"):
            ask("defualt")


def test_the_summary_is_a_frame_with_one_row_a_setting() -> None:
    frame = two_settings().summary()

    assert list(frame.index) == ["default", "<b>$x$</b>"]
    assert frame.index.name == "setting"
    assert list(frame.columns) == [
        *("cases", "failed", "draws", "needing", "tied", "recall@1", "precision@1", "hit@1", "ndcg@1", "mrr"),
        *("reached", "reached_precision", "reached_hit", "reached_mrr", "reached_ndcg", "entries"),
        *("tokens", "stop_words", "idle_entries", "idle_tokens"),
    ]
    assert frame.loc["default", ["failed", "recall@1", "stop_words"]].tolist() == [0, 0.5, 0.75]
    assert pd.isna(frame.loc["<b>$x$</b>", "stop_words"])


def test_the_frame_has_one_row_a_setting_and_case() -> None:
    frame = two_settings().to_frame()

    assert list(frame["case"]) == ["a", "b", "c", "a", "b", "c"]
    assert frame["recall@1"].tolist()[:2] == [1.0, 0.0]
    assert frame["recall@1"].isna().tolist() == [False, False, True, True, False, True]
    assert frame["error"].tolist()[3] == "search: store 'notes' raised OSError('<i>down</i>')"
    assert str(frame["first"].dtype) == "Int64"


def test_many_failures_are_counted_and_the_first_are_named() -> None:
    report = Report("", (1,), {"mine": 1}, tuple(failure("mine", f"c{at}", "x" * 500) for at in range(10)))

    last = repr(report)[repr(report).index("mine: 10") :]
    assert last.startswith("mine: 10 cases failed and are in none of its means: c0")
    assert last.endswith("and 7 more.")
    assert len(last) < 500
    assert "  -  " in repr(report)


def test_numbers_of_many_kinds_stay_aligned() -> None:
    lines = repr(two_settings()).splitlines()[2:5]

    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize(("k", "shown"), [((1, 5, 10), "nDCG@5"), ((1, 3), "nDCG@3")])
def test_ndcg_is_shown_at_5_or_at_the_largest_cut_off(k: tuple[int, ...], shown: str) -> None:
    names: dict[str, Any] = {f"{name}@{each}": 0.0 for name in ("recall", "precision", "hit", "ndcg") for each in k}

    assert shown in repr(Report("", k, {"mine": 1}, (result("mine", "a", 1, **names),)))
