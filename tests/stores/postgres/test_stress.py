"""A small form of tests/scripts/postgres_stress.py."""

from __future__ import annotations

from tests.postgres import required, running
from tests.scripts import postgres_stress


def test_nothing_acknowledged_is_lost_or_doubled_while_the_server_is_killed() -> None:
    required()
    with running() as server:
        outcome = postgres_stress.run(server, processes=3, writes=40, kills=2, seed=1)
    assert not outcome.failed, str(outcome)
    assert outcome.acknowledged == 120
