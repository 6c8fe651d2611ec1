"""Wiring for the notebooks' tests: `pytest` runs each notebook from top to bottom and compares its outputs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.jupyter_env import isolate


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    isolate(config)
    sanitize = config.getoption("nbval_sanitize_with", None)
    if sanitize:  # relative to the project, not to where pytest was started
        config.option.nbval_sanitize_with = str(Path(config.rootpath, sanitize))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the cells of each notebook back into order; the notebooks themselves run in any order, as other tests do."""
    places = [place for place, item in enumerate(items) if item.path.suffix == ".ipynb"]
    notebooks = {path: place for place, path in enumerate(dict.fromkeys(items[place].path for place in places))}
    cells = sorted((items[place] for place in places), key=lambda item: (notebooks[item.path], _number(item)))
    for place, cell in zip(places, cells, strict=True):
        items[place] = cell


def _number(cell: pytest.Item) -> int:
    found = re.search(r"\d+$", cell.name)
    return int(found[0]) if found else 0
