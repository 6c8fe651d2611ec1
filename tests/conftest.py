"""Settings that hold for every test: the order of the items, Jupyter's folders, hypothesis."""

from __future__ import annotations

import hypothesis
import pytest

from tests.jupyter_env import isolate
from tests.postgres import postgres  # noqa: F401 - a fixture

# The machine's speed is not under test: no deadline an example, and no verdict on how long data takes to draw.
hypothesis.settings.register_profile(
    "memwb", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("memwb")


def pytest_configure(config: pytest.Config) -> None:
    isolate(config)
