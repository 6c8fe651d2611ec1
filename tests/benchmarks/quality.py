"""What settings earn on the two shipped data sets: runs them, prints the tables, and writes them on request.

    python -m tests.benchmarks.quality [--markdown README.md]

The figures are the same at every run and on every system. It takes about ten seconds.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from memwb import callbacks, datasets
from memwb.evaluation import Report, at_random, evaluate, everything
from tests.benchmarks import table

MARK = "quality"
SETTINGS = {
    "the latest message, 5 entries": {},
    "3 entries": {"max_entries": 3},
    "10 entries": {"max_entries": 10},
    "the last two messages": {"query": callbacks.last_two_messages},
    "the last two messages, 10 entries": {"query": callbacks.last_two_messages, "max_entries": 10},
    "without stop words": {"query": callbacks.latest_without_stop_words},
    "without stop words, 10 entries": {"query": callbacks.latest_without_stop_words, "max_entries": 10},
    "at random, 5 entries": at_random(),
    "inject everything": everything(),
}
NAMES = (
    *("setting", "R@5", "MRR", "reached the prompt", "95 % interval", "won, lost, tied", "p", "tokens"),
    "tokens where none are needed",
)
RULES = ("---", "---:", "---:", "---:", ":---:", ":---:", "---:", "---:", "---:")


def rows(report: Report) -> list[str]:
    """Return a line of the table for each setting, in the order above."""
    baseline = next(iter(report))
    lines = []
    for name in report:
        mean, found = report[name], report.interval(name)
        assert found is not None
        paired = report.compare(name, baseline)
        if name == baseline:
            versus, luck = "", ""
        else:
            versus = f"{len(paired.wins)}, {len(paired.losses)}, {len(paired.ties)}" if mean.draws == 1 else ""
            luck = f"{paired.p_value:.3f}" if paired.p_value >= 0.001 else "< .001"
        cells = [
            *(name, _share(mean.recall[5]), _share(mean.mrr), _share(found.mean)),
            *(f"{_share(found.low)} to {_share(found.high)}", versus, luck.replace("0.", ".")),
            *(f"{mean.tokens:,.0f}", f"{mean.idle_tokens:,.0f}"),
        ]
        lines.append(_line(cells))
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".removeprefix("0") if value < 1 else "1"


async def tables() -> str:
    """Run everything and return both tables as Markdown."""
    parts = []
    for name in datasets.names():
        report = await evaluate(datasets.load(name), SETTINGS)
        mean = report["inject everything"]
        tied = report["the latest message, 5 entries"].tied
        parts.append(
            f"`{name}`: {mean.cases} cases, {mean.needing} of which need memory. In {tied} of them the order of the "
            "entries\nalone decides whether an expected one is among the first five, since others score as much."
        )
        parts.append("\n".join([_line(NAMES), _line(RULES), *rows(report)]))
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", type=Path, help="write the tables between the marks in this file")
    given = parser.parse_args()
    text = asyncio.run(tables())
    print(text)
    if given.markdown:
        table.write(given.markdown, text, MARK)


if __name__ == "__main__":
    main()
