"""The small form of tests/scripts/extraction_schedules.py: whatever fails, is slow or is cut off, nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scripts.extraction_schedules import run


@pytest.mark.parametrize("seed", range(3))
def test_every_message_is_saved_after_a_flush_on_healthy_stores_and_none_is_called_saved_before(
    seed: int, caplog: Any
) -> None:
    caplog.set_level("CRITICAL")
    figures = run(30, seed)
    assert {name: figures[name] for name in ("lost", "early", "raised", "left")} == dict.fromkeys(
        ("lost", "early", "raised", "left"), 0
    )
    kinds = (
        "store raise",
        "store slow",
        "store cancel",
        "model raise",
        "model slow",
        "cancelled tasks",
        "loops that end",
        "loops that stand still",
    )
    assert all(figures[kind] for kind in kinds)
