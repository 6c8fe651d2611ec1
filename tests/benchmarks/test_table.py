"""The benchmark's table: what counts as held, how figures are written, and where the table goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.limits import Limit, number
from tests.benchmarks.run import row
from tests.benchmarks.table import BEGIN, END, markdown, plain, write


@pytest.mark.parametrize(
    ("limit", "own", "peer", "held"),
    [
        (Limit(), 1.0, 2.0, None),
        (Limit(value=2), 2.0, None, True),
        (Limit(value=2), 2.1, 100.0, False),
        (Limit(ratio=10), 2.0, 20.0, True),
        (Limit(ratio=10), 2.0, 19.0, False),
        (Limit(ratio=10), 2.0, None, None),
        (Limit(1, 10), 2.0, 20.0, True),
        (Limit(2, 10), 2.0, 19.0, True),
        (Limit(1, 10), 2.0, 19.0, False),
    ],
)
def test_a_limit_is_held_by_the_value_or_by_the_ratio(
    limit: Limit, own: float, peer: float | None, held: bool | None
) -> None:
    assert limit.holds(own, peer) is held


@pytest.mark.parametrize(
    ("value", "text"), [(0.00512, "0.0051"), (0.26, "0.26"), (1.234, "1.23"), (56.78, "56.8"), (9876.5, "9,876")]
)
def test_figures_are_written_with_the_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_a_row_says_what_was_measured_and_what_was_asked() -> None:
    rows = [row("search", "1,000", "ms", 0.03, [6.1, 9.0], Limit(ratio=150), Limit(value=0.02))]
    assert markdown(rows).splitlines() == [
        "| figure | N | peer | newest peer | memwb | ratio | must | stretch | held |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | :---: |",
        "| search, ms | 1,000 | 6.1 | 9 | 0.03 | 203 x | ≥ 150 x | ≤ 0.02 | yes |",
    ]
    assert len({len(line) for line in plain(rows).splitlines()}) == 1


def test_the_table_replaces_what_stands_between_its_marks(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n", encoding="utf-8")
    for text in ("one", "two"):
        write(path, text)
    assert path.read_text(encoding="utf-8") == f"before\n\n{BEGIN}\n\ntwo\n\n{END}\n\nafter\n"


def test_a_new_file_holds_the_table_alone_and_an_unmarked_one_is_left_as_it_is(tmp_path: Path) -> None:
    write(tmp_path / "new.md", "one")
    assert (tmp_path / "new.md").read_text(encoding="utf-8") == f"{BEGIN}\n\none\n\n{END}\n"
    (tmp_path / "other.md").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match=r"other\.md has no <!-- speed -->"):
        write(tmp_path / "other.md", "one")
    assert (tmp_path / "other.md").read_text(encoding="utf-8") == "mine"
