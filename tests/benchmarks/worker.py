"""Runs one measurement in this interpreter and prints it as JSON: ``python -m tests.benchmarks.worker '{...}'``."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks import figures, tables
from tests.benchmarks.sides import SIDES

MEASURES = {**figures.MEASURES, **tables.MEASURES}


def main() -> None:
    """Run the measurement that the first argument describes."""
    wanted = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="memwb-benchmark-") as scratch:
        setting = figures.Setting(
            side=SIDES[wanted["side"]],
            folder=Path(wanted["folder"]),
            scratch=Path(scratch),
            count=wanted["count"],
            stores=wanted["stores"],
            seconds=wanted["seconds"],
        )
        samples = asyncio.run(MEASURES[wanted["figure"]](setting))
    print(json.dumps(asdict(samples)))


if __name__ == "__main__":
    main()
