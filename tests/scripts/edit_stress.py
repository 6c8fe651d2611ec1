"""Let workbenches and a script edit one store at once and print a table: is anything lost that was acknowledged?

    python -m tests.scripts.edit_stress [--seconds 60] [--workbenches 2] [--seed 1]

Each is a process of its own on the same file. All of them

- count shared entries up, from what they have seen there: of two who saw the same number only one may get through, the
  other one must be told of a conflict;
- add, change, merge and delete entries of their own, several in one write;
- and the workbenches take writes back, which must be refused where the other has counted on from there.

At the end each shared number must be the count of acknowledged steps, less those taken back, and each one's own entries
must be what it was told that they are. The exit code is 1 when anything was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from memwb.catalog import Record
from memwb.errors import ConflictError
from memwb.stores import TestMemoryStore
from memwb.workbench.entries import EntriesState

SHARED = [f"shared{number}" for number in range(4)]


class Editor:
    """One who edits, and keeps account of what was acknowledged.

    Attributes:
        steps: How often each shared entry was counted up, less what was taken back.
        own: What the own entries must be.
        told: How often something was done or refused.
    """

    def __init__(self, path: Path, name: str, seed: int) -> None:
        self.name, self.random = name, random.Random(f"{seed} {name}")
        self.store = TestMemoryStore(name="notes", path=path)
        self.entries = EntriesState([self.store], {}, editable=True)
        self.steps: Counter[str] = Counter()
        self.own: dict[str, str] = {}
        self.told: Counter[str] = Counter()
        self.number = 0

    async def plan(self) -> tuple[dict[str, Any], dict[str, str], list[str]]:
        """Return changes to stage, what the own entries will be then, and the shared entries that are counted up."""
        own = dict(self.own)
        changes: dict[str, Any] = {"add": [], "edit": {}, "delete": [], "merge": {}}
        shared = self.random.sample(SHARED, self.random.choice([0, 1, 1, 2]))
        for id in shared:
            record = await self.store.get(id)
            assert record is not None
            changes["edit"][record] = f"{id}: {int(record.content.split()[1]) + 1}"
        for _ in range(self.random.randint(0, 2)):
            self.number += 1
            id = f"{self.name}-{self.number}"
            own[id] = f"{self.name} says {self.number}"
            changes["add"].append({"id": id, "content": own[id]})
        mine = self.random.sample(sorted(self.own), min(len(self.own), 4))
        if len(mine) == 4:
            self.number += 1
            own[mine[0]] = changes["edit"][mine[0]] = f"{self.name} changed {self.number}"
            changes["delete"].append(mine[1])
            del own[mine[1]]
            self.number += 1
            times = {id: (await self.store.get(id)).created_at for id in mine[2:]}  # type: ignore[union-attr]
            first, second = sorted(mine[2:], key=lambda id: (times[id], mine.index(id)))
            changes["merge"] = {tuple(mine[2:]): f"{self.name} merged {self.number}"}
            own[first] = f"{self.name} merged {self.number}"
            del own[second]
        return changes, own, shared

    async def edit(self, *, by_hand: bool) -> None:
        """Make one write, by a workbench or as a script does; perhaps take it back."""
        changes, own, shared = await self.plan()
        if not any(changes.values()):
            return
        await self.entries.put(**changes)
        if self.random.random() < 0.5:
            await asyncio.sleep(self.random.random() / 200)  # so that others come between
        try:
            await (self._exchange() if by_hand else self.entries.write())
        except ConflictError:
            self.told["conflicts"] += 1
            self.entries.unstage()
            return
        before, self.own = self.own, own
        self.steps.update(shared)
        self.told["writes"] += 1
        if not by_hand and self.random.random() < 0.2:
            try:
                await self.entries.undo()
            except ConflictError:
                self.told["undos refused"] += 1
            else:
                self.own = before
                self.steps.subtract(shared)
                self.told["undos"] += 1

    async def _exchange(self) -> None:
        staged = self.entries.staged
        before = [change.before for change in staged if change.before]
        await self.store.exchange(before, [change.after for change in staged if change.after])
        self.entries.unstage()
        one = f"{self.name}-alone"
        if self.random.random() < 0.3:  # and what any script does
            await self.store.delete(one)
            await self.store.add_many([{"id": one, "content": f"{one} {self.number} {self.random.random()}"}])

    async def run(self, seconds: float, *, by_hand: bool) -> None:
        """Edit for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await self.edit(by_hand=by_hand)


def check(path: Path, accounts: list[dict[str, Any]]) -> list[str]:
    """Return what is not in the file as it was acknowledged."""
    held = {record["id"]: record["content"] for record in json.loads(path.read_bytes())}
    lost = []
    for id in SHARED:
        steps = sum(account["steps"].get(id, 0) for account in accounts)
        if held.get(id) != f"{id}: {steps}":
            lost.append(f"{held.get(id)!r} after {steps} acknowledged steps")
    for account in accounts:
        name = account["name"]
        there = {id: text for id, text in held.items() if id.startswith(f"{name}-") and not id.endswith("-alone")}
        if there != account["own"]:
            lost.append(f"{name}: {sorted(there.items() ^ account['own'].items())[:4]}")
    return lost


def stress(folder: Path, seconds: float, workbenches: int = 2, seed: int = 1) -> tuple[list[dict[str, Any]], list[str]]:
    """Run all of it; return everybody's account and what was lost."""
    path = folder / "notes.json"
    records = [Record(id, f"{id}: 0") for id in SHARED]
    asyncio.run(TestMemoryStore(name="notes", path=path).add_many([replace(record) for record in records]))
    names = [f"workbench{number}" for number in range(workbenches)] + ["script"]
    command = [sys.executable, "-m", "tests.scripts.edit_stress", "--at", str(path), "--seconds", str(seconds)]
    running = [
        subprocess.Popen([*command, "--seed", str(seed), "--name", name], stdout=subprocess.PIPE, text=True)
        for name in names
    ]
    accounts = [json.loads(process.communicate()[0]) for process in running]
    return accounts, check(path, accounts)


def main() -> int:
    """Read the command line and print a table."""
    parser = argparse.ArgumentParser(description="Workbenches and a script edit one store at once.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workbenches", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--name", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.at is not None:
        editor = Editor(given.at, given.name, given.seed)
        asyncio.run(editor.run(given.seconds, by_hand=given.name == "script"))
        account = {"name": editor.name, "steps": dict(editor.steps), "own": editor.own, "told": dict(editor.told)}
        print(json.dumps(account))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        accounts, lost = stress(Path(folder), given.seconds, given.workbenches, given.seed)
    print(f"{'':14}{'writes':>9}{'conflicts':>11}{'undos':>8}{'undos refused':>15}{'own entries':>13}")
    for account in accounts:
        told = account["told"]
        figures = [told.get(key, 0) for key in ("writes", "conflicts", "undos", "undos refused")]
        print("{:14}{:9}{:11}{:8}{:15}{:13}".format(account["name"], *figures, len(account["own"])))
    print("\n".join(lost) or "nothing acknowledged was lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
