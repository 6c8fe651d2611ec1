"""The figures that the README gives for the shipped data are those that its command gives."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.quality import tables


async def test_the_readme_shows_what_the_command_gives() -> None:
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")

    assert f"<!-- quality -->\n\n{await tables()}\n\n<!-- /quality -->" in readme
