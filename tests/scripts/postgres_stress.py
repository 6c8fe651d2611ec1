"""Put PostgresMemoryStore under fire and print a table: is anything lost or doubled while its server is killed?

    python -m tests.scripts.postgres_stress [--processes 8] [--writes 400] [--kills 12] [--seed 1]

Processes add, add in bulk, update and delete, each its own records, and all add the same texts too. Meanwhile the
server is stopped as if it were killed, and started again, or one of its backends gets SIGKILL, upon which it throws out
everybody. A call that fails by that is made again until it is acknowledged. Afterwards the table must hold exactly what
was acknowledged, each shared text once, and no connection may be left. The exit code is 1 when that is not so.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memwb.errors import StoreUnavailableError
from memwb.stores import PostgresMemoryStore
from tests.postgres import PostgresServer, running

PROJECT = Path(__file__).parents[2]
SHARED = 40
CONNECTIONS = 2


@dataclass
class Outcome:
    """The figures of a run."""

    processes: int
    acknowledged: int
    again: int
    kills: int
    lost: int
    doubled: int
    foreign: int
    most_connections: int
    left_connections: int
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether anything went wrong."""
        too_many = self.most_connections > 2 * self.processes * CONNECTIONS  # twice, right after an outage
        return bool(self.lost or self.doubled or self.foreign or self.left_connections or too_many)

    def __str__(self) -> str:
        return "\n".join(f"{name.replace('_', ' '):18}{value:>12,}" for name, value in vars(self).items())


# --- a process that writes --------------------------------------------------------------------------------------------


class Writer:
    """Writes records of its own, and knows what the table must hold of them."""

    def __init__(self, dsn: str, seed: int) -> None:
        self._store = PostgresMemoryStore(dsn, connections=CONNECTIONS, connect_timeout=2)
        self._seed, self._rng, self._number = seed, random.Random(seed), 0
        self.held: dict[str, str] = {}
        self.acknowledged = self.again = 0

    async def write(self, count: int) -> None:
        """Make so many writes, one after the other."""
        for _ in range(count):
            await getattr(self, self._rng.choice(["add", "add", "add_many", "update", "delete", "share"]))()
            self.acknowledged += 1
        await self._store.close()

    async def add(self) -> None:
        """Add a text."""
        text = self._text()
        self.held[(await self._made(lambda: self._store.add(text))).id] = text

    async def add_many(self) -> None:
        """Add some texts at once."""
        texts = [self._text() for _ in range(self._rng.randint(1, 20))]
        results = await self._made(lambda: self._store.add_many(texts))
        self.held |= {result.id: text for result, text in zip(results, texts, strict=True)}

    async def update(self) -> None:
        """Give a record another text."""
        if self.held:
            id, text = self._rng.choice(list(self.held)), self._text()
            await self._made(lambda: self._store.update(id, content=text))
            self.held[id] = text

    async def delete(self) -> None:
        """Remove a record."""
        if self.held:
            id = self._rng.choice(list(self.held))
            await self._made(lambda: self._store.delete(id))
            del self.held[id]

    async def share(self) -> None:
        """Add texts that the other processes add too."""
        texts = [f"shared {number}" for number in self._rng.sample(range(SHARED), 5)]
        await self._made(lambda: self._store.add_many(texts))

    async def _made(self, call: Any) -> Any:
        while True:
            try:
                return await call()
            except StoreUnavailableError:
                self.again += 1

    def _text(self) -> str:
        self._number += 1
        return f"record {self._seed}.{self._number}"


def worker(dsn: str, seed: int, writes: int) -> None:
    """Run a writer, and print what it knows."""
    writer = Writer(dsn, seed)
    asyncio.run(writer.write(writes))
    print(json.dumps({"held": writer.held, "acknowledged": writer.acknowledged, "again": writer.again}))


# --- the server, and the verdict --------------------------------------------------------------------------------------


def run(server: PostgresServer, processes: int, writes: int, kills: int, seed: int) -> Outcome:
    """Let processes write to a new database while its server is killed so often, and compare."""
    begin, dsn = time.monotonic(), server.new_database()
    command = [sys.executable, "-m", "tests.scripts.postgres_stress", "--worker", dsn, "--writes", str(writes)]
    most, killed = 0, 0
    with contextlib.ExitStack() as files:
        answers = [files.enter_context(tempfile.TemporaryFile("w+")) for _ in range(processes)]  # pipes would be full
        started = [
            subprocess.Popen([*command, "--seed", str(seed + n)], stdout=answer, cwd=PROJECT)
            for n, answer in enumerate(answers)
        ]
        try:
            for number in range(kills):
                most = max(most, _let_write(server, dsn, started, number))
                if any(process.poll() is None for process in started):
                    _kill(server, dsn, by_signal=number % 2 == 1)
                    killed += 1
            for process in started:
                process.wait(timeout=600)
            told = [_answer(answer) for answer in answers]
        finally:
            for process in started:
                process.kill()
                process.wait()
    rows = _asked(server.execute, "SELECT id, content FROM memories", dsn=dsn)
    shared = [content for _, content in rows if content.startswith("shared ")]
    own = {id: content for id, content in rows if not content.startswith("shared ")}
    held = {id: content for one in told for id, content in one["held"].items()}
    return Outcome(
        processes,
        sum(one["acknowledged"] for one in told),
        sum(one["again"] for one in told),
        killed,
        sum(own.get(id) != content for id, content in held.items()),
        len(rows) - len({content for _, content in rows}),
        len(own.keys() - held.keys()) + (not set(shared) <= {f"shared {n}" for n in range(SHARED)}),
        most,
        _left(server, dsn),
        round(time.monotonic() - begin, 1),
    )


def _answer(file: Any) -> Any:
    file.seek(0)
    return json.load(file)


def _let_write(server: PostgresServer, dsn: str, started: list[Any], number: int) -> int:
    """Wait until something more was written, or all have ended; return how many connections there are then."""
    before, until = _size(server, dsn), time.monotonic() + 60
    while time.monotonic() < until and any(process.poll() is None for process in started):
        if _size(server, dsn) != before:
            break
        time.sleep(0.02)
    time.sleep(random.Random(number).random() / 5)  # in the midst of whatever is going on
    return int(_asked(server.connections, dsn))


def _size(server: PostgresServer, dsn: str) -> Any:
    there = _asked(server.execute, "SELECT to_regclass('memories') IS NOT NULL", dsn=dsn) == [(True,)]
    return _asked(server.execute, "SELECT max(place) FROM memories", dsn=dsn) if there else None


def _asked(ask: Any, *given: Any, **more: Any) -> Any:
    """Ask the server, again where it throws out everybody just then: it does so a moment after a backend was killed."""
    import psycopg

    until = time.monotonic() + 60
    while True:
        try:
            return ask(*given, **more)
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def _kill(server: PostgresServer, dsn: str, *, by_signal: bool) -> None:
    if not by_signal:
        server.stop("immediate")
        server.start()
        return
    activity = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'memwb'"
    backends = _asked(server.execute, activity, dsn=dsn)
    if backends:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself meanwhile
            os.kill(backends[0][0], signal.SIGKILL)


def _left(server: PostgresServer, dsn: str) -> int:
    until = time.monotonic() + 60
    while (left := _asked(server.connections, dsn)) and time.monotonic() < until:
        time.sleep(0.05)
    return int(left)


def main() -> int:
    """Run it by hand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--writes", type=int, default=400)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worker", metavar="DSN", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(given.worker, given.seed, given.writes)
        return 0
    with running() as server:
        outcome = run(server, given.processes, given.writes, given.kills, given.seed)
    print(outcome)
    return int(outcome.failed)


if __name__ == "__main__":
    sys.exit(main())
