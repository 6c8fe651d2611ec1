"""Put the stores of sessions under fire and print a table: is anything lost that was acknowledged?

    python -m tests.scripts.session_stress [--kills 200] [--interrupts 200] [--processes 8] [--writes 50] [--seed 1]

Each part runs with a FileStore and with a SQLiteStore:

- processes at once that add to one session;
- kills (SIGKILL) and interrupts (SIGINT) at random instants of programs that add one and many entries (over several
  sessions), update, delete, replace and remove sessions, two at a time on one store;
- two programs as two notebooks: one adds in a loop, the other browses with cells that fail half-way.

A write counts as acknowledged once the call has returned. Of a write that was cut off, all may be there or nothing.
All the while another program reads: it may see no damage, and of what is written at one stroke all or nothing. After
each part one more write must follow within two seconds, and no temporary file may be left. This takes minutes, and is
run by hand; `pytest` runs a small form of it. The exit code is 1 when anything was lost. It needs fork and signals.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memwb.sessions import FileStore, MemoryEntry, SQLiteStore

KINDS = ("add", "add_many", "update", "delete", "replace", "remove")
BLOCK = {signal.SIGINT, signal.SIGTERM}

State = dict[str, tuple[str, str]]
"""Entries by id: session and content."""

Make = Callable[[Path], Any]
STORES: dict[str, Make] = {
    "files": lambda folder: FileStore(folder / "memory"),
    "SQLite": lambda folder: SQLiteStore(folder / "memory.db"),
}


@dataclass
class Outcome:
    """The figures of one part."""

    name: str
    shots: int = 0
    acknowledged: int = 0
    lost: int = 0
    reads: int = 0
    bad_reads: int = 0
    left: int = 0
    slowest: float = 0.0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether anything went wrong."""
        return bool(self.lost or self.bad_reads or self.left or self.slowest > 2)

    def line(self) -> str:
        """Return the figures as a row of the table."""
        figures = (self.shots, self.acknowledged, self.lost, self.reads, self.bad_reads, self.left)
        return (
            f"{self.name:34}"
            + "".join(f"{figure:>8,}" for figure in figures)
            + (f"{self.slowest:>9.3f}{self.seconds:>9.1f}")
        )


HEADER = (
    f"{'part':34}"
    + "".join(f"{name:>8}" for name in ("shots", "acked", "lost", "reads", "bad", "left"))
    + (f"{'slowest':>9}{'seconds':>9}")
)


def finish(coroutine: Any) -> Any:
    """Run a coroutine in a loop of its own."""
    return asyncio.run(coroutine)


async def found(store: Any, prefix: str) -> State:
    """Return the entries of one program, whose sessions begin with the prefix."""
    state = {}
    for info in await store.sessions():
        if info.session_id.startswith(f"{prefix}."):
            for entry in await store.get_entries(info.session_id, info.user_id):
                state[entry.memory_id] = (entry.session_id, entry.content)
    return state


class Actor:
    """A program that writes: it knows what its entries must be, and what a write that was cut off may have changed."""

    def __init__(self, store: Any, prefix: str, kinds: tuple[str, ...], seed: int) -> None:
        self.store, self.prefix, self.kinds = store, prefix, kinds
        self.state: State = {}
        self.rng = random.Random(seed)
        self.number = 0

    def plan(self) -> list[Any]:
        """Choose the next write."""
        kind = self.rng.choice(self.kinds)
        ids = sorted(self.state)
        if kind in ("update", "delete") and ids:
            id = self.rng.choice(ids)
            return [kind, id, self.state[id][0], self._text()]
        if kind in ("replace", "remove") and ids:
            session = self.state[self.rng.choice(ids)][0]
            return [kind, session, self._new(session) if kind == "replace" else {}]
        new: State = {}
        for session in self.rng.sample("xyz", 1 if kind == "add" else self.rng.randint(1, 3)):
            new |= self._new(f"{self.prefix}.{session}", 1 if kind == "add" else self.rng.randint(1, 3))
        return ["add" if len(new) == 1 else "add_many", new]

    def _new(self, session: str, count: int = 2) -> State:
        made: State = {}
        for _ in range(count):
            text = self._text()
            made[f"{self.prefix}-{self.number}"] = (session, text)
        return made

    def _text(self) -> str:
        self.number += 1
        return f"{self.number} {'x' * self.rng.choice([3, 300, 9000])} ü茶"

    async def perform(self, step: list[Any]) -> None:
        """Do the write."""
        kind, *more = step
        if kind in ("add", "add_many"):
            entries = [MemoryEntry(session, id, content=text) for id, (session, text) in more[0].items()]
            await (self.store.add(entries[0]) if kind == "add" else self.store.add_many(entries))
        elif kind == "update":
            await self.store.update(MemoryEntry(more[1], more[0], content=more[2]))
        elif kind == "delete":
            await self.store.delete(more[0])
        elif kind == "replace":
            entries = [MemoryEntry(session, id, content=text) for id, (session, text) in more[1].items()]
            await self.store.replace_session(more[0], "default", entries)
        else:
            await self.store.delete_session(more[0], None)


def applied(state: State, step: list[Any]) -> State:
    """Return the state after a write."""
    kind, *more = step
    if kind in ("add", "add_many"):
        return state | more[0]
    if kind == "update":
        return state | {more[0]: (more[1], more[2])}
    if kind == "delete":
        return {id: entry for id, entry in state.items() if id != more[0]}
    return {id: entry for id, entry in state.items() if entry[0] != more[0]} | more[1]


def wrong(seen: State, state: State, pending: list[Any] | None) -> int:
    """Return how many entries are not as they must be; a pending write may have happened as a whole, or not at all."""
    choices = [state] if pending is None else [state, applied(state, pending)]
    return min(len(dict(seen.items() ^ choice.items())) for choice in choices)


def plain(value: Any) -> Any:
    """Return a step as it was before it went through JSON."""
    if isinstance(value, dict):
        return {id: tuple(entry) for id, entry in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


class Watcher:
    """A process that reads the whole store over and over; a pair of entries written at one stroke is never alone."""

    def __init__(self, make: Make, folder: Path) -> None:
        reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            stopped: list[int] = []
            signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.write(writer, json.dumps(self._watch(make(folder), stopped)).encode())
            os._exit(0)
        os.close(writer)
        self._reader = reader

    def _watch(self, store: Any, stopped: list[int]) -> list[Any]:
        reads, bad = 0, []
        warnings.simplefilter("error")
        while not stopped:
            try:
                for info in finish(store.sessions()):
                    entries = finish(store.get_entries(info.session_id, info.user_id))
                    assert sorted(entries, key=lambda entry: entry.created_at) == entries
            except Exception as error:
                bad.append(repr(error)[:300])
            reads += 1
            time.sleep(0.001)
        return [reads, bad + [str(damage) for damage in store.damage]]

    def stop(self) -> tuple[int, list[str]]:
        """End it and return how often it has read, and what was wrong."""
        os.kill(self._pid, signal.SIGTERM)
        with os.fdopen(self._reader) as reader:
            reads, bad = json.loads(reader.read())
        os.waitpid(self._pid, 0)
        return reads, bad


@contextmanager
def watched(outcome: Outcome, make: Make) -> Iterator[Path]:
    """Give a folder whose store is read all the while; afterwards one more write must work at once."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        watcher = Watcher(make, folder)
        try:
            yield folder
        finally:
            reads, bad = watcher.stop()
        begin = time.perf_counter()
        store = make(folder)
        finish(store.add(MemoryEntry("after", "after")))
        finish(store.update(MemoryEntry("after", "after", content="changed")))
        outcome.slowest = max(outcome.slowest, time.perf_counter() - begin)
        names = [path.name for path in folder.rglob("*")]
        outcome.left += sum(name.endswith(".tmp") or name.startswith(".memwb-gone") for name in names)
        outcome.left += ".memwb" in names
        finish(store.close())
        outcome.reads, outcome.bad_reads = outcome.reads + reads, outcome.bad_reads + len(bad)
        outcome.notes += bad
    outcome.seconds += time.perf_counter() - start


class Child:
    """A forked process that writes until it is stopped, and says what it is about to do and what it has done."""

    def __init__(self, make: Make, folder: Path, prefix: str, kinds: tuple[str, ...], seed: int) -> None:
        self.store, self.prefix = make(folder), prefix
        reader, self._writer = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, BLOCK)  # until the child is ready for them
        self.pid = os.fork()
        if self.pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCK)
        else:
            os.close(reader)
            try:
                self._run(Actor(self.store, prefix, kinds, seed))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(self._writer)
        self._reader = os.fdopen(reader, "rb")

    def _say(self, *message: Any) -> None:
        os.write(self._writer, json.dumps(message).encode() + b"\n")

    def _run(self, actor: Actor) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCK)
        while True:
            step = actor.plan()
            self._say("do", step)
            finish(actor.perform(step))
            self._say("done", None)
            actor.state = applied(actor.state, step)

    def settle(self, outcome: Outcome) -> None:
        """Wait for its end and add to the figures: what must be there, with or without the write that was cut off."""
        state: State = {}
        pending = None
        for line in self._reader.read().split(b"\n")[:-1]:
            kind, value = json.loads(line)
            if kind == "do":
                pending = plain(value)
            elif pending is not None:
                state, pending = applied(state, pending), None
                outcome.acknowledged += 1
        self._reader.close()
        os.waitpid(self.pid, 0)
        missing = wrong(finish(found(self.store, self.prefix)), state, pending)
        finish(self.store.close())
        outcome.lost += missing
        if missing:
            outcome.notes.append(f"{self.prefix}: {missing} wrong, pending {str(pending)[:200]}")


class Interrupted(Child):
    """A child whose writes are interrupted; it looks at the store after each, and goes on with that object."""

    def _run(self, actor: Actor) -> None:
        self._inside = self._hit = False
        stopped: list[int] = []
        signal.signal(signal.SIGINT, self._interrupt)
        signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCK)
        while not stopped:
            step = actor.plan()
            self._perform(actor, step)
            if not self._hit:
                self._say("done", 0)
                actor.state = applied(actor.state, step)
                continue
            self._hit = False
            seen = finish(found(actor.store, self.prefix))
            self._say("cut", wrong(seen, actor.state, step))
            actor.state = seen
        os._exit(0)

    def _perform(self, actor: Actor, step: list[Any]) -> None:
        async def perform() -> None:
            self._inside = True
            await actor.perform(step)
            self._inside = False

        try:
            finish(perform())
        except KeyboardInterrupt:
            self._inside = False

    def _interrupt(self, number: int, frame: Any) -> None:
        if self._inside:
            self._inside, self._hit = False, True
            raise KeyboardInterrupt

    def figures(self) -> tuple[int, int, int]:
        """Wait for its end; return the writes acknowledged, those cut off, and what was wrong after these."""
        said = [json.loads(line) for line in self._reader.read().split(b"\n")[:-1]]
        self._reader.close()
        broken = os.waitpid(self.pid, 0)[1] != 0
        cut = [value for kind, value in said if kind == "cut"]
        return len(said) - len(cut), len(cut), sum(cut) + broken


def processes(name: str, count: int, writes: int) -> Outcome:
    """Let processes add to one session at once."""
    outcome, make = Outcome(f"{name}: {count} processes x {writes}"), STORES[name]
    with watched(outcome, make) as folder:
        children = []
        for number in range(count):
            pid = os.fork()
            if pid == 0:
                store = make(folder)

                async def add(store: Any = store, number: int = number) -> None:
                    for write in range(writes):
                        await store.add(MemoryEntry("one", f"{number}.{write}", content="x" * 200))

                finish(add())
                os._exit(0)
            children.append(pid)
        outcome.lost += sum(os.waitpid(pid, 0)[1] != 0 for pid in children)
        ids = {entry.memory_id for entry in finish(make(folder).get_entries("one"))}
        outcome.lost += len({f"{number}.{write}" for number in range(count) for write in range(writes)} ^ ids)
        outcome.acknowledged = count * writes
    return outcome


def kills(name: str, count: int, seed: int) -> Outcome:
    """Kill programs at random instants, two at a time, with some kinds of writes each."""
    outcome, make, rng = Outcome(f"{name}: kills"), STORES[name], random.Random(seed)
    for first in range(0, count, 20):
        with watched(outcome, make) as folder:
            for shot in range(first, min(count, first + 20), 2):
                kinds = ("add", *rng.sample(KINDS[1:], rng.randint(0, 5)))
                children = [Child(make, folder, f"k{shot + n}", kinds, rng.getrandbits(30)) for n in range(2)]
                for child in children:
                    time.sleep(rng.uniform(0, 0.05))
                    os.kill(child.pid, signal.SIGKILL)
                for child in children:
                    child.settle(outcome)
                outcome.shots += 2
    return outcome


def interrupts(name: str, count: int, seed: int) -> Outcome:
    """Interrupt programs in the middle of their writes."""
    outcome, make, rng = Outcome(f"{name}: interrupts"), STORES[name], random.Random(seed)
    with watched(outcome, make) as folder:
        for attempt in itertools.count():
            if outcome.shots >= count:
                break
            child = Interrupted(make, folder, f"i{attempt}", KINDS, rng.getrandbits(30))
            for _ in range(min(25, count - outcome.shots)):
                time.sleep(rng.uniform(0.002, 0.02))
                os.kill(child.pid, signal.SIGINT)
            time.sleep(0.02)
            os.kill(child.pid, signal.SIGTERM)
            done, cut, lost = child.figures()
            outcome.acknowledged += done
            outcome.shots += cut
            outcome.lost += lost
    return outcome


def notebooks(name: str, seconds: float) -> Outcome:
    """Let one program add in a loop while another browses with cells that fail half-way; how long may an add take?"""
    outcome, make = Outcome(f"{name}: two notebooks"), STORES[name]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        first = make(Path(folder))
        finish(first.add(MemoryEntry("s0", "m0")))
        finish(first.close())
        outcome.acknowledged = 1
        pid = os.fork()
        if pid == 0:
            finish(_browse(make(Path(folder)), start + seconds))
            os._exit(0)

        async def add() -> None:
            store = make(Path(folder))
            while time.perf_counter() < start + seconds:
                begin = time.perf_counter()
                await store.add(MemoryEntry(f"s{outcome.acknowledged % 3}", f"m{outcome.acknowledged}"))
                outcome.slowest = max(outcome.slowest, time.perf_counter() - begin)
                outcome.acknowledged += 1
            counts = [await store.count(f"s{number}") for number in range(3)]
            outcome.lost += abs(outcome.acknowledged - sum(counts))

        finish(add())
        outcome.bad_reads += os.waitpid(pid, 0)[1] != 0
    outcome.seconds = time.perf_counter() - start
    return outcome


async def _browse(store: Any, end: float) -> None:
    while time.perf_counter() < end:
        for info in await store.sessions():
            await store.get_entries(info.session_id, limit=20)
        for cell in (
            store.add(MemoryEntry("s0", "m0")),
            store.add_many([MemoryEntry("s0", "new"), MemoryEntry("s0", "m0")]),
            store.update(MemoryEntry("s0", "none")),
            store.replace_session("s0", "default", [MemoryEntry("elsewhere")]),
        ):
            try:
                await cell
            except (ValueError, KeyError):
                continue
        async for _ in store.iter_entries("s1"):
            break
        await asyncio.sleep(0.001)


def main(arguments: list[str] | None = None) -> int:
    """Run every part and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("kills", 200), ("interrupts", 200), ("processes", 8), ("writes", 50), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the two notebooks run")
    given = parser.parse_args(arguments)
    print(HEADER)
    failed = False
    for name in STORES:
        for part in (
            lambda name=name: processes(name, given.processes, given.writes),
            lambda name=name: kills(name, given.kills, given.seed),
            lambda name=name: interrupts(name, given.interrupts, given.seed),
            lambda name=name: notebooks(name, given.seconds),
        ):
            outcome = part()
            print(outcome.line(), flush=True)
            for note in outcome.notes[:5]:
                print(f"    {note}")
            failed = failed or outcome.failed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
