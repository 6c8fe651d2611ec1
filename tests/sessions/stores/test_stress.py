"""The small form of tests/scripts/session_stress.py: writers at once, killed and interrupted, lose nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
SMALL = "--processes 3 --writes 8 --kills 16 --interrupts 12 --seconds 0.7".split()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_b30_nothing_acknowledged_is_lost_nothing_is_half_done_and_no_lock_or_temporary_file_is_left() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.scripts.session_stress", *SMALL], cwd=PROJECT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.rsplit(maxsplit=8) for line in done.stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == [
        f"{store}: {part}"
        for store in ("files", "SQLite")
        for part in ("3 processes x 8", "kills", "interrupts", "two notebooks")
    ]
    assert all(row[3] == row[5] == row[6] == "0" for row in rows)
    assert all(int(row[2].replace(",", "")) > 0 for row in rows)
