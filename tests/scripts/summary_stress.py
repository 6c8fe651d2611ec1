"""Kills programs while they talk into one session and summarise it, and looks for what they were told had been stored.

    python -m tests.scripts.summary_stress [ROUNDS] [STORE ...]

In each round two programs share a session in a database or in files. Both add messages and summarise it whenever it has
more than eight entries; one of them is killed at a random instant. The model names in its summary every message that it
was shown, so whatever was acknowledged must stand in an entry or in a summary; entries must be in order, at most one of
them a summary, and no call without its result. The exit code is 1 when a fault was found.
"""

from __future__ import annotations

import asyncio
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from memwb.sessions import FileStore, Memory, SQLiteStore
from memwb.sessions.messages import calls, results

STORES = {
    "sqlite": lambda folder: SQLiteStore(folder / "memory.db"),
    "files": lambda folder: FileStore(folder / "files"),
}
PROJECT = Path(__file__).parents[2]
NUMBER = re.compile(r"\b[ab]\d+\b")


class Naming:
    """A model whose summary names all messages that it was shown."""

    async def complete(self, system: str, messages: list[dict[str, Any]]) -> str:
        await asyncio.sleep(random.uniform(0, 0.004))
        return " ".join(dict.fromkeys(NUMBER.findall(messages[0]["content"][0]["text"])))


async def talk(kind: str, folder: Path, name: str, start: int) -> None:
    """Add messages for ever, and print the number of each that was stored."""
    memory = Memory(STORES[kind](folder), Naming(), max_messages=8, pin_count=1, recent_count=3)
    number = start
    while True:
        word = f"{name}{number}"
        message: dict[str, Any] = {"role": "user" if name == "a" else "assistant", "content": word}
        if name == "a" and number % 4 == 1:  # b is no user: one who speaks does not wait for results any more
            message = {"role": "assistant", "content": word, "tool_calls": [{"id": word}]}
        elif name == "a" and number % 4 == 2:
            message = {"role": "tool", "content": word, "tool_call_id": f"{name}{number - 1}"}
        await memory.add(message, "s", "u")
        print(word, flush=True)
        number += 1


async def faults(kind: str, folder: Path, told: list[str]) -> list[str]:
    """Return what is wrong with the session after a round."""
    store = STORES[kind](folder)
    entries = await store.get_entries("s", "u")
    await store.close()
    found = [f"{place} of {where}: {reason}" for where, place, reason in store.damage]
    named = {word for entry in entries for word in NUMBER.findall(entry.content)}
    found += [f"{word} was acknowledged and is lost" for word in told if word not in named]
    found += ["two summaries"] if sum(entry.role == "summary" for entry in entries) > 1 else []
    made = {call.id for entry in entries for call in calls(entry)}
    found += [f"the result of {id} without its call" for entry in entries for id in results(entry) if id not in made]
    contents = [entry.content for entry in entries if entry.role != "summary"]
    found += ["an entry stands twice"] if len(contents) != len(set(contents)) else []
    return found


def round_of(kind: str, folder: Path, told: list[str], starts: dict[str, int], seconds: float) -> None:
    """Let two programs talk until a random instant, kill both, and note what they were told."""
    command = [
        sys.executable,
        "-m",
        __name__ if __name__ != "__main__" else "tests.scripts.summary_stress",
        "talk",
        kind,
    ]
    programs = {
        name: subprocess.Popen(
            [*command, str(folder), name, str(starts[name])], cwd=PROJECT, stdout=subprocess.PIPE, text=True
        )
        for name in starts
    }
    for program in programs.values():
        assert program.stdout is not None
        told.append(program.stdout.readline().strip())  # it has begun
    time.sleep(random.uniform(0.01, seconds))
    for name, program in programs.items():
        program.kill()
        rest = program.communicate()[0].split()
        told += rest
        starts[name] = max((int(word[1:]) for word in told if word.startswith(name)), default=0) + 8
        starts[name] -= starts[name] % 4


def stress(kind: str, rounds: int, seconds: float = 0.25) -> tuple[int, list[str]]:
    """Return how many messages were acknowledged in so many rounds, and what went wrong."""
    told: list[str] = []
    starts = {"a": 0, "b": 0}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(rounds):
            round_of(kind, Path(scratch), told, starts, seconds)
            if found := asyncio.run(faults(kind, Path(scratch), told)):
                return len(told), [f"round {number}: {fault}" for fault in found]
    return len(told), []


def main() -> None:
    """Run what the command line asks for."""
    if sys.argv[1:2] == ["talk"]:
        kind, folder, name, start = sys.argv[2:6]
        asyncio.run(talk(kind, Path(folder), name, int(start)))
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    failed = False
    for kind in sys.argv[2:] or STORES:
        count, found = stress(kind, rounds)
        print(f"{kind}: {rounds} rounds, {2 * rounds} kills, {count:,} messages acknowledged, {len(found)} faults")
        print("\n".join(found[:20]))
        failed = failed or bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()
