"""How much an evaluation costs over the injections that it is made of, and what it keeps in memory.

    python tests/benchmarks/evaluation.py [--quick]

1,000 cases x 20 settings over 10,000 entries: `evaluate` beside the bare calls of `MemoryManager.trace_injection`,
each side in a process of its own and in turns, CPU time; then what `evaluate` has in memory at its end and at most,
with 1, 10 and 20 settings. Nothing here is a test: the exit code is 0 however fast memwb was.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tracemalloc
from pathlib import Path
from time import process_time
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

from memwb import callbacks  # noqa: E402
from memwb.evaluation import Case, evaluate, grid  # noqa: E402
from memwb.memory import MemoryManager  # noqa: E402
from memwb.stores import TestMemoryStore  # noqa: E402
from tests.benchmarks import data  # noqa: E402

LIMIT = 1.5


def world(entries: int, cases: int) -> tuple[TestMemoryStore, list[Case]]:
    """Return a store and cases: a question after four other turns, which none, one or two entries answer."""
    lot = random.Random(8)
    records = list(data.records(entries))
    store = TestMemoryStore.from_records(records, name="notes")
    turns = iter(data.queries(5 * cases))
    made = []
    for at in range(cases):
        roles = ("user", "assistant", "user", "assistant", "user")
        messages = [{"role": role, "content": [{"text": next(turns)}]} for role in roles]
        expected = tuple(record["id"] for record in lot.sample(records, lot.choice([0, 1, 2])))
        made.append(Case(f"c{at}", messages, expected))
    return store, made


def settings(number: int) -> dict[str, Any]:
    """Return so many settings: five sizes times four queries."""
    queries = [None, callbacks.last_two_messages, callbacks.question_with_answer, callbacks.latest_without_stop_words]
    every = grid(query=queries, max_entries=[1, 3, 5, 8, 10])
    return dict(list(every.items())[:number])


async def bare(store: TestMemoryStore, cases: list[Case], arms: dict[str, Any]) -> None:
    """Call what an evaluation calls, and nothing else."""
    managers = [MemoryManager([store], search_tool_config=False, injection=arm.injection) for arm in arms.values()]
    for case in cases:
        messages = case.messages
        for manager in managers:
            await manager.trace_injection(messages)


async def measured(side: str, entries: int, cases: int, number: int) -> dict[str, float]:
    """Return the CPU seconds of one side, or the megabytes that an evaluation keeps and has at most."""
    store, made = world(entries, cases)
    arms = settings(number)
    await bare(store, made[:20], arms)  # the index is built, modules are loaded
    if side == "memory":
        tracemalloc.start()
        report = await evaluate(made, arms, store)
        kept, peak = tracemalloc.get_traced_memory()
        return {"kept": kept / 1e6, "peak": peak / 1e6, "runs": float(len(report.results))}
    begin = process_time()
    await (bare(store, made, arms) if side == "bare" else evaluate(made, arms, store))
    return {"seconds": process_time() - begin}


def in_process(*arguments: object) -> dict[str, float]:
    """Measure in a new process."""
    command = [sys.executable, __file__, "--side", *map(str, arguments)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the entries and cases, one round")
    parser.add_argument("--side", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        side, *sizes = given.side
        print(json.dumps(asyncio.run(measured(side, *map(int, sizes)))))
        return
    entries, cases, rounds = (1_000, 100, 1) if given.quick else (10_000, 1_000, 3)
    sides: dict[str, list[float]] = {"bare": [], "evaluate": []}
    for _ in range(rounds):
        for side, seconds in sides.items():
            seconds.append(in_process(side, entries, cases, 20)["seconds"])
    bare_seconds, seconds = (statistics.median(each) for each in sides.values())
    runs = 20 * cases
    print(f"{cases:,} cases x 20 settings over {entries:,} entries, medians of {rounds}, CPU time")
    print(f"bare trace_injection  {bare_seconds:.2f} s, {bare_seconds / runs * 1e6:.0f} µs a run")
    print(f"evaluate              {seconds:.2f} s, {seconds / runs * 1e6:.0f} µs a run")
    print(f"ratio                 {seconds / bare_seconds:.2f} (at most {LIMIT})")
    for number in (1, 10, 20):
        memory = in_process("memory", entries, cases, number)
        a_run = memory["kept"] / memory["runs"] * 1e3
        beside = memory["peak"] - memory["kept"]
        print(f"{number:2} settings: the report keeps {a_run:.2f} kB a run; beside it at most {beside:.1f} MB")


if __name__ == "__main__":
    main()
