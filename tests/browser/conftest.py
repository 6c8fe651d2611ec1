"""Fixtures for tests in a real JupyterLab. The environment variables that matter:

CHROMIUM: the path of the browser, where it is not found by its name.
MEMWB_REQUIRE_BROWSER: 1 makes a missing browser a failure, where it else skips these tests.
SCREENSHOTS: a folder for pictures; the last state of each test is saved there as well.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.lab import NO_CHROMIUM, Lab, Notebook, find_chromium, jupyterlab
from tests.browser.workbench import IMPORTS, Bench

HERE = Path(__file__).parent
MISSING: pytest.StashKey[bool] = pytest.StashKey()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: Playwright keeps a loop running in this thread, which no async test could share."""
    items.sort(key=lambda item: HERE in item.path.parents)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say once, below the results, why the browser tests were skipped and what to do about it."""
    if config.stash.get(MISSING, False):
        terminalreporter.section("browser tests were skipped")
        terminalreporter.line(NO_CHROMIUM)


@pytest.fixture(scope="session")
def chromium(pytestconfig: pytest.Config) -> str:
    found = find_chromium()
    if found:
        return found
    if os.environ.get("MEMWB_REQUIRE_BROWSER", "0") not in ("", "0"):
        pytest.fail(f"MEMWB_REQUIRE_BROWSER is set. {NO_CHROMIUM}", pytrace=False)
    pytestconfig.stash[MISSING] = True
    pytest.skip(NO_CHROMIUM)


@pytest.fixture(scope="session")
def lab(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, jupyterlab(tmp_path_factory.mktemp("lab"), playwright, chromium) as lab:
        yield lab


class Opener:
    """Opens notebooks in the session's JupyterLab for one test, and closes them after it."""

    def __init__(self, lab: Lab, test: str) -> None:
        self.lab, self.test = lab, test
        self.opened: list[Notebook] = []

    def __call__(self, *sources: str) -> Notebook:
        """Open a notebook with one code cell for each source, run it, and return it."""
        return self._open(self.lab.write(f"{self._name()}.ipynb", sources))

    def file(self, path: Path) -> Notebook:
        """Open a copy of the notebook at ``path``, run it, and return it."""
        name = f"{self._name()}-{path.name}"
        shutil.copy(path, self.lab.root / name)
        return self._open(name)

    def _name(self) -> str:
        return "".join(sign if sign.isalnum() else "-" for sign in self.test) + f"-{len(self.opened)}"

    def _open(self, path: str) -> Notebook:
        self.opened.append(Notebook(self.lab, path))
        self.opened[-1].run_all()
        return self.opened[-1]


@pytest.fixture
def notebook(lab: Lab, request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Call it with the sources of code cells: they are run in a new notebook, which is returned."""
    lab.problems.clear()
    opener = Opener(lab, request.node.name)
    yield opener
    if folder := os.environ.get("SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        lab.page.screenshot(path=Path(folder, f"{request.node.name}.png"))
    for opened in opener.opened:
        opened.close()
    lab.restore()
    assert lab.problems == []


@pytest.fixture
def bench(notebook: Opener) -> Callable[..., Bench]:
    """Call it with an expression for the workbench (and code before it): the cell is run and what it shows returned."""

    def show(expression: str, before: str = "") -> Bench:
        opened = notebook(f"{IMPORTS}\n{before}", f"wb = {expression}\nawait wb")
        return Bench(opened, 1)

    return show
