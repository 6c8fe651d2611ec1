"""Kills a process that replaces a snapshot: the name always opens as the earlier snapshot or as the new one.

    python -m tests.scripts.kill_snapshot [--rounds 200] [--seed 1]

First a process ends itself at its first step in the file system, the next one at its second step, and so on until one
comes to its end. Then, ``--rounds`` times, a process that replaces the snapshot without rest is killed at a random
instant.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import memwb
from memwb.workbench import WorkbenchState
from memwb.workbench.snapshot_reading import open_snapshot

TEXTS = (["I use a cane."], ["I use a bike.", "I use skates."])
STEPS = ("os.", "shutil.", "open")
KILLED = 9


async def written(folder: Path, at: int) -> None:
    state = WorkbenchState(TEXTS[at], ["What do I use?", f"Answer {at}.", "And now?"])
    await state.set(max_entries=at + 1)
    state.arms.pin(f"arm {at}")
    await memwb.snapshot(state, folder)


def content(folder: Path) -> str:
    """Return which of the two snapshots a name opens as."""
    source = open_snapshot(folder)
    said = (
        [record.content for record in asyncio.run(source.stores[0].page(0, 9))],
        source.messages[1]["content"][0]["text"],
        source.injection["max_entries"],
        [arm.name for arm in source.kept.arms],
    )
    for at, name in enumerate(("earlier", "new")):
        if said == (TEXTS[at], f"Answer {at}.", at + 1, [f"arm {at}"]):
            return name
    return f"HALF {said}"


def told(folder: Path) -> str:
    aside = "" if folder.exists() else ", aside"
    try:
        return content(folder) + aside
    except Exception as error:
        return f"HALF {error}{aside}"


def end_at(step: int) -> None:
    """End this process, as a kill would, at a step in the file system from now on."""
    steps = 0

    def count(event: str, arguments: object) -> None:
        nonlocal steps
        if event.startswith(STEPS):
            steps += 1
            if steps == step:
                os._exit(KILLED)

    sys.addaudithook(count)


def forked(folder: Path, step: int) -> int:
    child = os.fork()
    if not child:
        end_at(step)
        asyncio.run(written(folder, 1))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at_every_step(folder: Path, seen: Counter[str]) -> None:
    step, code = 1, KILLED
    while code == KILLED:
        asyncio.run(written(folder, 0))
        code = forked(folder, step)
        seen[told(folder) if code in (0, KILLED) else f"HALF exit code {code}"] += 1
        step += 1


def killed_at_random(folder: Path, seen: Counter[str]) -> None:
    child = os.fork()
    if not child:
        while True:
            for at in (1, 0):
                asyncio.run(written(folder, at))
    time.sleep(random.uniform(0.0, 0.08))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    seen[f"at random: {told(folder)}"] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    random.seed(options.seed)
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "day one")
        killed_at_every_step(folder, seen)
        for _ in range(options.rounds):
            killed_at_random(folder, seen)
        asyncio.run(written(folder, 0))
        left = [each.name for each in folder.parent.iterdir() if each.name.endswith(".old")]
    if left:
        seen[f"HALF left: {left}"] += 1
    for what, many in seen.most_common():
        print(f"{many:4d} x {what}")
    if any("HALF" in what for what in seen):
        sys.exit(1)


if __name__ == "__main__":
    main()
