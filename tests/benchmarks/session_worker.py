"""Measures one store of sessions in this interpreter: ``python -m tests.benchmarks.session_worker '{...}'``.

It is given ``side`` (memwb or definable), ``kind`` (memory, sqlite, files), ``count`` entries in ``sessions`` sessions,
``folder`` with the data, and ``seconds`` for each operation. Or it is given ``place``, a folder of session files, and
``call``, one operation: then the first call of this process is measured. It prints milliseconds by operation: of CPU
time, but of wall time for SQLite's writes, which wait for the disk.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

WORDS = [f"word{number:03}" for number in range(300)]
# The layout that both sides document; the index of one column is Definable's.
TABLE = """
CREATE TABLE session_entries (memory_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, user_id TEXT NOT NULL DEFAULT
'default', role TEXT NOT NULL DEFAULT 'user', content TEXT NOT NULL DEFAULT '', message_data TEXT, created_at REAL
NOT NULL, updated_at REAL NOT NULL);
CREATE INDEX idx_session_entries_session ON session_entries(session_id);
CREATE INDEX idx_session_entries_user ON session_entries(user_id);
CREATE INDEX idx_session_entries_created ON session_entries(created_at);
"""


def records(count: int, sessions: int) -> Iterator[dict[str, Any]]:
    """Give entries of about 120 characters, 70 % of them with message data."""
    rng = random.Random(1)
    for number in range(count):
        content = " ".join(rng.choices(WORDS, k=rng.randint(6, 28)))
        data = {"role": "user", "content": content[:40], "n": [number, {"k": None}]} if rng.random() < 0.7 else None
        yield {
            "memory_id": f"{number:08x}-0000-4000-8000-{rng.getrandbits(48):012x}",
            "session_id": f"s{number % sessions}",
            "user_id": "default",
            "role": "user",
            "content": content,
            "message_data": data,
            "created_at": 1e9 + number,
            "updated_at": 1e9 + number,
        }


def prepared(folder: Path, kind: str, count: int, sessions: int) -> Path:
    """Return the data of a store on disk, made when it is missing."""
    place = folder / f"sessions-{kind}-{count}-{sessions}"
    if kind == "memory" or place.exists():
        return place
    made = place.with_suffix(".new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    if kind == "sqlite":
        connection = sqlite3.connect(made / "memory.db")
        connection.executescript(TABLE)
        rows = (
            {**record, "message_data": record["message_data"] and json.dumps(record["message_data"])}
            for record in records(count, sessions)
        )
        names = "memory_id, session_id, user_id, role, content, message_data, created_at, updated_at"
        values = ", ".join(f":{name}" for name in names.split(", "))
        connection.executemany(f"INSERT INTO session_entries ({names}) VALUES ({values})", rows)
        connection.commit()
        connection.close()
    else:
        for record in records(count, sessions):
            path = made / record["session_id"] / "default.jsonl"
            path.parent.mkdir(exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    made.rename(place)
    return place


class Bench:
    """Runs the operations of one store one after the other."""

    def __init__(self, wanted: dict[str, Any], scratch: Path) -> None:
        self.kind, self.seconds = wanted["kind"], wanted["seconds"]
        self.side, self.durable = wanted["side"], wanted["durable"]
        home = "memwb.sessions" if self.side == "memwb" else "definable.memory"
        self.module = import_module(home)
        source = prepared(Path(wanted["folder"]), self.kind, wanted["count"], wanted["sessions"])
        self.place = scratch / "data"
        if self.kind != "memory":
            shutil.copytree(source, self.place)
        self.records = list(records(wanted["count"], wanted["sessions"]))
        self.store = self.make()

    def make(self) -> Any:
        """Return a new store object."""
        if self.kind == "memory":
            return self.module.InMemoryStore()
        more = {"durable": self.durable} if self.side == "memwb" else {}
        if self.kind == "sqlite":
            return self.module.SQLiteStore(str(self.place / "memory.db"), **more)
        return self.module.FileStore(str(self.place), **more)

    def entry(self, record: dict[str, Any], **changes: Any) -> Any:
        """Return an entry."""
        return self.module.MemoryEntry(**{**record, **changes})

    async def sampled(self, call: Callable[[Any, Any], Awaitable[Any]], inputs: Any, *, wall: bool = False) -> float:
        """Return the median time of a call, given the store and one input after the other."""
        clock = time.perf_counter if wall else time.process_time
        end = time.perf_counter() + self.seconds
        samples: list[float] = []
        for item in inputs:
            begin = clock()
            await call(self.store, item)
            samples.append((clock() - begin) * 1e3)
            if (time.perf_counter() > end and len(samples) >= 3) or len(samples) >= 400:
                break
        return statistics.median(samples)

    async def run(self) -> dict[str, float]:
        """Return the milliseconds of each operation."""
        store, wall = self.store, self.kind == "sqlite"
        if self.kind == "memory":
            for record in self.records:
                await store.add(self.entry(record))
        new = [self.entry({**self.records[0], "memory_id": f"new-{number}"}) for number in range(400)]
        step = max(1, len(self.records) // 150)
        some = self.records[::step]
        # What is done once is not counted: opening, the index, the second add's look at all ids.
        for number in range(2):
            await store.add(self.entry({**self.records[0], "memory_id": f"first-{number}"}))
        await store.count("s0")
        await store.get_entry(some[0]["memory_id"])
        await store.get_entries("s0", limit=20)
        if self.kind == "files":
            await asyncio.sleep(2.1)  # until then, files that another program wrote are read again
            await store.count("s0")
        found = {"add": await self.sampled(lambda s, entry: s.add(entry), new, wall=wall)}
        found |= {
            "count": await self.sampled(lambda s, _: s.count("s0"), cycle([None])),
            "get_entry": await self.sampled(lambda s, record: s.get_entry(record["memory_id"]), some),
            "limit=20": await self.sampled(lambda s, _: s.get_entries("s0", limit=20), cycle([None])),
            "get_entries": await self.sampled(lambda s, _: s.get_entries("s0"), cycle([None])),
            "update": await self.sampled(
                lambda s, entry: s.update(entry), [self.entry(r, content="changed") for r in some], wall=wall
            ),
            "delete": await self.sampled(lambda s, record: s.delete(record["memory_id"]), some[1:], wall=wall),
            "delete_session": await self.sampled(lambda s, _: s.delete_session("s0"), [None], wall=wall),
        }
        await store.close()
        return found

    async def iterating(self) -> dict[str, float]:
        """Return how many MB iterating over a session takes at its peak, beside what the store keeps anyway."""
        await asyncio.sleep(2.1)  # until then, files that another program wrote are read again
        await self.store.count("s0")
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        async for _ in self.store.iter_entries("s0"):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        return {"iterate": (peak - before) / (1 << 20)}

    async def locking(self) -> dict[str, float]:
        """Return what it takes to take a file's lock and give it back."""
        files = import_module("memwb._files")

        async def lock(_store: Any, _item: Any) -> None:
            files.exclusively(str(self.place / "lock"), lambda: None)

        return {"lock": await self.sampled(lock, cycle([None]))}


async def first(side: str, place: str, call: str) -> dict[str, float]:
    """Return what the first call on a folder of sessions takes that this process has not looked at before."""
    module = import_module("memwb.sessions" if side == "memwb" else "definable.memory")
    store = module.FileStore(place)
    middle = next(record for number, record in enumerate(records(5_001, 1)) if number == 5_000)
    id, entry = middle["memory_id"], module.MemoryEntry(**{**middle, "content": "changed"})
    calls = {
        "count": lambda: store.count("s0"),
        "get_entry": lambda: store.get_entry(id),
        "get_entries": lambda: store.get_entries("s0"),
        "update": lambda: store.update(entry),
        "delete": lambda: store.delete(id),
    }
    begin = time.process_time()
    found = await calls[call]()
    took = (time.process_time() - begin) * 1e3
    if found in (0, []) or (found is None and call == "get_entry"):
        raise SystemExit(f"{call} found nothing")
    await store.close()
    return {call: took}


def main() -> None:
    """Run the measurement that the first argument describes."""
    wanted = json.loads(sys.argv[1])
    if "call" in wanted:
        print(json.dumps(asyncio.run(first(wanted["side"], wanted["place"], wanted["call"]))))
        return
    with tempfile.TemporaryDirectory(prefix="memwb-benchmark-") as scratch:
        bench = Bench(wanted, Path(scratch))
        print(json.dumps(asyncio.run(getattr(bench, wanted["measure"])())))


if __name__ == "__main__":
    main()
