"""Two workbenches and a script edit one store at once; see tests/scripts/edit_stress.py for the long form."""

from __future__ import annotations

from tests.scripts.edit_stress import stress


def test_nothing_acknowledged_is_lost_and_conflicts_are_told(tmp_path):
    accounts, lost = stress(tmp_path, seconds=1.5)
    assert lost == []
    assert all(account["told"].get("writes", 0) > 20 for account in accounts)
    assert sum(account["told"].get("conflicts", 0) for account in accounts) > 0
