"""How fast the engines on this machine are: measure, and print a Markdown table.

    python -m tests.benchmarks.engines [--entries 10000 100000 1000000] [--semantic 10000 100000]

SQLiteMemoryStore with the benchmark's memories (21 words on average, 70 % with metadata), in a process of its own for
each size; queries are of eight words, drawn as the words of the memories are, so that most hold words that half of all
entries have. Semantic with vectors of 384 numbers that cost little to make. CPU time of the process, so that figures
hold on a busy machine. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from memwb.ranking import HashingEmbedder
from memwb.stores import Semantic, SQLiteMemoryStore, TestMemoryStore
from tests.benchmarks.data import frequencies, records, vocabulary

QUERIES = 40
BATCH = 20_000


def memory() -> float:
    """Return the megabytes that the process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def queries() -> list[str]:
    """Return queries of eight words."""
    rng, words, often = random.Random(1), vocabulary(), frequencies()
    return [" ".join(rng.choices(words, cum_weights=often, k=8)) for _ in range(QUERIES)]


async def taken(calls: list[Any]) -> list[float]:
    """Return the milliseconds of each call, rising."""
    found = []
    for call in calls:
        begin = time.process_time()
        await call()
        found.append(1000 * (time.process_time() - begin))
    return sorted(found)


def told(times: list[float]) -> str:
    """Write a median and a 90th percentile."""
    return f"{statistics.median(times):,.1f}, {times[int(len(times) * 0.9)]:,.1f} ms"


async def fill(path: Path, entries: int) -> dict[str, str]:
    """Write the memories into a new file."""
    store, source, seconds = SQLiteMemoryStore(path), records(entries), 0.0
    while chunk := list(itertools.islice(source, BATCH)):
        begin = time.process_time()
        await store.add_many(chunk)
        seconds += time.process_time() - begin
    store.close()
    return {f"add_many, {BATCH:,} at a time": f"{entries / seconds:,.0f}/s"}


async def ask(path: Path) -> dict[str, str]:
    """Measure what a reader and a writer do with a file."""
    texts = queries()
    by_overlap = SQLiteMemoryStore(path, ranking="overlap")
    await by_overlap.search("warm")  # numpy is loaded, and counted neither as time nor as memory
    by_overlap.close()
    before, begin = memory(), time.process_time()
    store = SQLiteMemoryStore(path)
    total = await store.count()
    rows = {"open and count": f"{1000 * (time.process_time() - begin):.1f} ms"}
    for name, engine in (("BM25", store), ("overlap", by_overlap)):
        times = await taken([lambda text=text, engine=engine: engine.search(text) for text in texts])
        rows[f"search by {name}: median, p90"] = told(times)
    places = [random.Random(2).randrange(total - 50) for _ in range(QUERIES)]
    rows["a page of 50, in the order of adding, anywhere"] = told(
        await taken([lambda place=place: store.page(place, 50) for place in places])
    )
    rows["the 50 most recent"] = told(await taken([lambda: store.page(0, 50, sort="-created_at")] * 9))
    rows["page where a text is held by none"] = told(await taken([lambda: store.page(0, 50, where="zzzq")] * 3))
    rows["add one"] = told(
        await taken([lambda at=at: store.add(f"{texts[at]} {at} {time.time_ns()}") for at in range(QUERIES)])
    )
    rows["memory held for all this"] = f"{memory() - before:.0f} MB"
    return rows


async def by_meaning(entries: int) -> dict[str, str]:
    """Measure searches that compare every entry."""
    store = Semantic(TestMemoryStore.from_records(list(records(entries)), name="notes"), HashingEmbedder(384))
    texts = queries()
    first = await taken([lambda: store.search(texts[0])])
    times = await taken([lambda text=text: store.search(text) for text in texts])
    return {"first search, all embedded": f"{first[0] / 1000:,.1f} s", "search: median, p90": told(times)}


def main() -> None:
    """Measure each size in a process of its own and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--entries", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--semantic", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--one", nargs=2)
    asked = parser.parse_args()
    if asked.one:
        what, entries = asked.one[0], int(asked.one[1])
        if what == "semantic":
            print(asyncio.run(by_meaning(entries)))
        else:
            make = fill(Path(what), entries) if not Path(what).exists() else ask(Path(what))
            print(asyncio.run(make) | {"size": f"{os.path.getsize(what) / 1e6:,.0f} MB"})
        return
    with tempfile.TemporaryDirectory() as folder:
        columns = {}
        for entries in asked.entries:
            file = str(Path(folder) / f"{entries}.db")
            columns[entries] = measured(file, entries) | measured(file, entries)
        show("SQLiteMemoryStore", columns)
    show("Semantic", {entries: measured("semantic", entries) for entries in asked.semantic})


def measured(what: str, entries: int) -> dict[str, str]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.engines", "--one", what, str(entries)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, str] = eval(done.stdout)
    return found


def show(name: str, columns: dict[int, dict[str, str]]) -> None:
    """Print a table with a column for each size."""
    print(f"| {name} |" + "".join(f" {entries:,} entries |" for entries in columns))
    print("| --- |" + " ---: |" * len(columns))
    for row in next(iter(columns.values()), {}):
        print(f"| {row} |" + "".join(f" {column[row]} |" for column in columns.values()))
    print()


if __name__ == "__main__":
    main()
