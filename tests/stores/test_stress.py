"""The small form of tests/scripts/store_stress.py: writers at once, killed and interrupted, lose nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
SMALL = "--processes 4 --threads 4 --writes 12 --kills 45 --interrupts 30 --foreign 300".split()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_b01_b02_nothing_acknowledged_is_lost_the_file_always_parses_and_no_temporary_file_stays() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore:coroutine:RuntimeWarning", "-m", "tests.scripts.store_stress", *SMALL],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    rows = [line.replace(",", "").split() for line in done.stdout.splitlines()[1:]]
    assert [" ".join(row[:-7]) for row in rows] == [
        "4 processes x 12",
        "kills",
        "interrupts",
        "foreign writes 4 ms",
        "4 threads x 12",
    ]
    assert all(row[-5] == row[-3] == row[-2] == "0" for row in rows)
    assert [int(row[-7]) >= shots for row, shots in zip(rows, (0, 45, 30, 300, 0), strict=True)] == [True] * 5
    assert all(int(row[-6]) > 0 for row in rows)
