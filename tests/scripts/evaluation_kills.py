"""An evaluation whose process is killed again and again gives, once it is resumed, the report of one run.

    python -m tests.scripts.evaluation_kills [--kills 25] [--seed 0]

A child process evaluates ikat-demo under five settings with ``resume=``; it is sent SIGKILL after a time drawn by lot,
started again, and so on. Then it may end. Its report must equal, byte for byte, that of an evaluation which nobody
disturbed. The exit code is 1 if it does not.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memwb import callbacks, datasets
from memwb.evaluation import Report, at_random, evaluate, everything

SETTINGS = {
    "default": {},
    "three": {"max_entries": 3},
    "two turns": {"query": callbacks.last_two_messages},
    "everything": everything(),
    "at random": at_random(draws=3),
}


def run(file: Path | None, owner: str | None = None, progress: Callable[[int, int], object] | bool = False) -> Report:
    """Evaluate, going on from a file."""
    data = datasets.load("ikat-demo", owner=owner) if owner else datasets.load("ikat-demo")
    return asyncio.run(evaluate(data, SETTINGS, resume=file, progress=progress))


def runs_in(file: Path) -> int:
    """Return how many runs stand in the file, without the line that says what is run."""
    return max(0, file.read_bytes().count(b"\n") - 1) if file.exists() else 0


def main() -> int:
    """Kill, resume and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        run(given.child)
        return 0
    lot = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.jsonl"
        whole = run(None).to_jsonl(Path(folder) / "whole.jsonl").read_bytes()
        command = [sys.executable, "-m", "tests.scripts.evaluation_kills", "--child", str(file)]
        inside = 0
        for _ in range(given.kills):
            before = runs_in(file)
            with subprocess.Popen(command) as child:
                started = time.monotonic()
                while child.poll() is None and runs_in(file) == before and time.monotonic() < started + 60:
                    time.sleep(0.001)
                time.sleep(lot.uniform(0, 0.02))
                child.kill()
            if before < runs_in(file) < len(SETTINGS) * 238:
                inside += 1
        resumed = run(file).to_jsonl(Path(folder) / "resumed.jsonl").read_bytes()
    print(f"{given.kills} kills, {inside} of them between two runs; the report is that of one run: {resumed == whole}")
    return 0 if resumed == whole else 1


if __name__ == "__main__":
    sys.exit(main())
