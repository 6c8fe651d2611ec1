"""Fixtures for the hosts: one browser for all, one tab a test; what the page did not catch fails the test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

OF_THE_HOST = ("(reading 'schema')",)
"""Errors that a page of Notebook 7.6 does not catch, without memwb too: a setting of an extension that it lacks."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from tests.browser.lab import CHROMIUM_FLAGS, NO_CHROMIUM, find_chromium

    chromium = find_chromium()
    if not chromium:
        pytest.skip(NO_CHROMIUM)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    page.set_default_timeout(60_000)
    problems: list[str] = []
    page.on("pageerror", lambda error: None if str(error).endswith(OF_THE_HOST) else problems.append(str(error)))
    yield page
    if folder := os.environ.get("SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder, f"{request.node.name}.png"))
    page.close()
    assert problems == []
