"""Put SQLiteMemoryStore under fire and say whether anything is lost that was acknowledged, or there twice.

    python -m tests.scripts.database_stress [--processes 8] [--kills 300] [--seconds 60] [--seed 1]

Processes write to one file: adds, bulk adds, updates and deletes of their own entries, and one text that all of them
add again and again. Each is killed (SIGKILL) at random instants and another one takes its place. A process notes what
it is about to do, and notes it again once the call has returned; a write that was cut off may be there or not,
everything else must be as the notes say. At the end the index must give what one made anew does. It needs fork, hence
no Windows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from memwb.stores import SQLiteMemoryStore

SHARED = "a text that everybody adds"


async def write(path: Path, log: Path, seed: int) -> None:
    """Write until killed; a line of the log is an id and its content, null for none, before and after the call."""
    rng, store = random.Random(seed), SQLiteMemoryStore(path)
    own: dict[str, str] = {}
    with log.open("a", buffering=1) as notes:

        def note(**what: Any) -> None:
            notes.write(json.dumps(what) + "\n")

        for number in range(10**9):
            text = f"tea {seed} {number} " + " ".join(rng.choices("abcdefgh", k=5))
            kind = rng.choice(("add", "add", "add_many", "update", "delete", "shared"))
            if kind == "shared":
                await store.add(SHARED)
                continue
            if kind in ("update", "delete") and not own:
                continue
            if kind in ("add", "add_many"):
                items = [
                    {"content": f"{text} {at}", "id": f"{seed}-{number}-{at}"} for at in range(1 + 4 * (kind != "add"))
                ]
                due = {item["id"]: item["content"] for item in items}
                note(trying=due)
                await store.add_many(items)
                own.update(due)
            else:
                id = rng.choice(sorted(own))
                due = {id: text if kind == "update" else None}
                note(trying=due)
                await (store.update(id, text) if kind == "update" else store.delete(id))
                own.pop(id)
                own.update({id: text} if kind == "update" else {})
            note(done=due)


def started(path: Path, log: Path, seed: int) -> int:
    """Start a process that writes, and return its number."""
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(write(path, log, seed))
        finally:
            os._exit(1)  # it ends by being killed alone
    return child


def expected(logs: list[Path]) -> tuple[dict[str, str | None], dict[str, set[str | None]]]:
    """Return what must be there by id, and of ids whose last write was cut off all that may be."""
    sure: dict[str, str | None] = {}
    maybe: dict[str, set[str | None]] = {}
    for log in logs:
        for line in log.read_text().splitlines():
            try:
                noted = json.loads(line)
            except ValueError:  # cut off in the middle
                continue
            for id, content in noted.get("trying", {}).items():
                maybe[id] = {sure.get(id), content}
            for id, content in noted.get("done", {}).items():
                sure[id] = content
                maybe.pop(id, None)
    return sure, maybe


async def judge(path: Path, logs: list[Path]) -> tuple[int, int, int, bool]:
    """Return how many acknowledged writes there are, how many are lost, how many texts stand twice, and the index."""
    store = SQLiteMemoryStore(path)
    records = await store.page(0, 10**7)
    held = {record.id: record.content for record in records}
    sure, maybe = expected(logs)
    lost = sum(held.get(id) != content for id, content in sure.items() if id not in maybe)
    lost += sum(held.get(id) not in contents for id, contents in maybe.items())
    twice = sum(count - 1 for count in Counter(record.content.strip() for record in records).values())
    anew = SQLiteMemoryStore(":memory:")
    await anew.add_many(records)
    same = True
    for query in ("tea a", "everybody", "b c d", "tea 1 1"):
        same &= await store.search(query) == await anew.search(query)
        same &= await store.count_matches(query) == await anew.count_matches(query)
    with closing(sqlite3.connect(path)) as database:
        same &= database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()
    return len(sure), lost, twice, same


def main() -> int:
    """Run it all and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    for name, default in (("processes", 8), ("kills", 300), ("seconds", 60), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as folder:
        path, logs, seeds = Path(folder) / "notes.db", [], iter(range(10**6))
        asyncio.run(SQLiteMemoryStore(path).add(SHARED))

        def one() -> int:
            seed = next(seeds)
            logs.append(Path(folder) / f"log {seed}")
            logs[-1].touch()
            return started(path, logs[-1], seed)

        running = [one() for _ in range(asked.processes)]
        pause = asked.seconds / max(1, asked.kills)
        for _ in range(asked.kills):
            time.sleep(rng.uniform(0, 2 * pause))
            child = running.pop(rng.randrange(len(running)))
            ended(child)
            running.append(one())
        for child in running:
            ended(child)
        acknowledged, lost, twice, same = asyncio.run(judge(path, logs))
    print(
        f"{asked.processes} processes, {asked.kills} kills: {acknowledged:,} entries written and acknowledged, "
        f"{lost:,} lost, {twice:,} twice; the index is {'that of a file made anew' if same else 'NOT what it must be'}"
    )
    return int(bool(lost or twice or not same or not acknowledged))


def ended(child: int) -> None:
    """Kill a process, which must still be at work."""
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise RuntimeError(f"a process ended by itself, with {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    sys.exit(main())
