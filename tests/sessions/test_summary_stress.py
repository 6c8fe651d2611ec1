"""A session that programs share, talk into, summarise and are killed over keeps what was acknowledged: in small."""

from __future__ import annotations

import pytest

from tests.scripts.summary_stress import STORES, stress


@pytest.mark.parametrize("kind", STORES)
def test_b06_what_was_acknowledged_outlives_kills_and_summaries_of_another_program(kind):
    acknowledged, faults = stress(kind, rounds=2)

    assert faults == []
    assert acknowledged >= 4
