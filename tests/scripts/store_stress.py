"""Put TestMemoryStore under fire and print a table: is anything lost that was acknowledged?

    python -m tests.scripts.store_stress [--kills 1000] [--interrupts 200] [--foreign 5000] [--seed 1]

- processes and threads at once, each with its own records: adds, bulk adds, updates and deletes in every combination;
- kills (SIGKILL) and interrupts (SIGINT) at random instants of such programs, two at a time;
- foreign writes of the same size, with file times floored to 4 ms, each of which the next call must see.

A reader parses the file all the while, strictly. A write counts as acknowledged once the call has returned. Of a write
that was cut off, all may be there or nothing. After each part one more write follows, and then no temporary file may
be left. This takes minutes, and is run by hand; `pytest` runs a small form of it. The exit code is 1 when anything was
lost. It needs fork and signals, hence no Windows.
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
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from memwb import _files
from memwb.stores import TestMemoryStore

KINDS = ("add", "add_many", "update", "delete")
COMBINATIONS = [kinds for size in range(1, 5) for kinds in itertools.combinations(KINDS, size)]
FLOOR = 4_000_000

State = dict[str, tuple[str, Any]]
"""Records by id: content and metadata."""


@dataclass
class Outcome:
    """The figures of one part."""

    name: str
    shots: int = 0
    acknowledged: int = 0
    lost: int = 0
    reads: int = 0
    bad_reads: int = 0
    temporary: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether anything went wrong."""
        return bool(self.lost or self.bad_reads or self.temporary)

    def line(self) -> str:
        """Return the figures as a row of the table."""
        figures = (self.shots, self.acknowledged, self.lost, self.reads, self.bad_reads, self.temporary)
        return f"{self.name:28}" + "".join(f"{figure:>9,}" for figure in figures) + f"{self.seconds:>9.1f}"


HEADER = f"{'part':28}" + "".join(
    f"{name:>9}" for name in ("shots", "acked", "lost", "reads", "bad", "temp", "seconds")
)


def strict(path: Path) -> list[dict[str, Any]]:
    """Read the file as another language would: NaN and infinity are damage."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        found: list[dict[str, Any]] = json.loads(path.read_bytes(), parse_constant=refuse)
    except FileNotFoundError:
        return []
    return found


def state_of(path: Path, prefix: str) -> State:
    """Return the records of one program, which is named at the start of their contents."""
    records = strict(path)
    return {r["id"]: (r["content"], r.get("metadata")) for r in records if r["content"].startswith(f"{prefix} ")}


def finish(coroutine: Any) -> Any:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")


class Actor:
    """A program that writes: it knows what its records must be, and what a write that was cut off may have changed."""

    def __init__(self, store: TestMemoryStore, prefix: str, kinds: tuple[str, ...], seed: int, state: State) -> None:
        self.store, self.prefix, self.kinds, self.state = store, prefix, kinds, dict(state)
        self.rng = random.Random(seed)
        self.number = 0

    def plan(self) -> list[Any]:
        """Choose the next write."""
        kind = self.rng.choice(self.kinds)
        if kind in ("update", "delete") and self.state:
            id = self.rng.choice(sorted(self.state))
            return ["update", id, self._text(), {"n": self.number}] if kind == "update" else ["delete", id]
        return (
            ["add_many", [self._text() for _ in range(self.rng.randint(1, 5))]]
            if kind == "add_many"
            else ["add", self._text()]
        )

    def _text(self) -> str:
        self.number += 1
        return f"{self.prefix} {self.number} {'x' * self.rng.randint(0, 300)} ü茶"

    async def perform(self, step: list[Any]) -> Any:
        """Do the write and return what must be remembered of it."""
        kind, *more = step
        if kind == "add":
            return (await self.store.add(more[0], {"kept": [None]})).id
        if kind == "add_many":
            return [result.id for result in await self.store.add_many(more[0])]
        if kind == "update":
            return (await self.store.update(more[0], more[1], more[2])).id
        return await self.store.delete(more[0])


def applied(state: State, step: list[Any], result: Any) -> State:
    """Return the state after an acknowledged write."""
    kind, *more = step
    if kind == "add":
        return {**state, result: (more[0], {"kept": [None]})}
    if kind == "add_many":
        return state | {id: (text, None) for id, text in zip(result, more[0], strict=True)}
    if kind == "update":
        return {**state, more[0]: (more[1], more[2])}
    return {id: entry for id, entry in state.items() if id != more[0]}


def wrong(found: State, state: State, pending: list[Any] | None) -> int:
    """Return how many records are not as they must be; a pending write may have happened as a whole, or not at all."""
    choices = [state]
    if pending is not None:
        new = [id for id in found if id not in state]
        ids = {"add": new[0] if len(new) == 1 else "", "add_many": new}.get(pending[0], "")
        if pending[0] != "add_many" or len(new) == len(pending[1]):
            choices.append(applied(state, pending, ids))
    return min(
        sum(found.get(id) != entry for id, entry in choice.items()) + sum(id not in choice for id in found)
        for choice in choices
    )


class Watcher:
    """A process that parses the file over and over."""

    def __init__(self, path: Path) -> None:
        self.reads = self.bad = 0
        reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            self._watch(path, writer)
        os.close(writer)
        self._reader = reader

    def _watch(self, path: Path, writer: int) -> None:
        stopped: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        reads = bad = 0
        while not stopped:
            try:
                strict(path)
            except ValueError:
                bad += 1
            reads += 1
            time.sleep(0.001)
        os.write(writer, f"{reads} {bad}".encode())
        os._exit(0)

    def stop(self) -> None:
        """End it and take over its figures."""
        os.kill(self._pid, signal.SIGTERM)
        self.reads, self.bad = map(int, os.read(self._reader, 100).split())
        os.waitpid(self._pid, 0)
        os.close(self._reader)


@contextmanager
def watched(outcome: Outcome) -> Iterator[Path]:
    """Give a file that is read all the while, and look for temporary files after one more write."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "notes.json")
        watcher = Watcher(path)
        try:
            yield path
        finally:
            watcher.stop()
        finish(TestMemoryStore(name="notes", path=path).add(f"after {outcome.name}"))
        outcome.temporary += len(set(os.listdir(folder)) - {"notes.json", "notes.json.lock"})
        outcome.reads, outcome.bad_reads = outcome.reads + watcher.reads, outcome.bad_reads + watcher.bad
    outcome.seconds += time.perf_counter() - start


def seeded(store: TestMemoryStore, prefix: str, kinds: tuple[str, ...]) -> State:
    """Give a program records to begin with where it makes none itself."""
    count = 0 if {"add", "add_many"} & set(kinds) else 12
    results = finish(store.add_many([f"{prefix} seed {number}" for number in range(count)]))
    return {result.id: (f"{prefix} seed {number}", None) for number, result in enumerate(results)}


class Child:
    """A forked process that writes until it is stopped, and says what it is about to do and what it has done."""

    def __init__(self, path: Path, prefix: str, kinds: tuple[str, ...], seed: int, *, limit: int = 10**9) -> None:
        self.path, self.prefix = path, prefix
        store = TestMemoryStore(name="notes", path=path)
        self.actor = Actor(store, prefix, kinds, seed, seeded(store, prefix, kinds))
        reader, self._writer = os.pipe()
        signals = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # until the child is ready for them
        self.pid = os.fork()
        if self.pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        else:
            os.close(reader)
            try:
                self._run(limit)
            finally:
                os._exit(1)
        os.close(self._writer)
        self._reader = os.fdopen(reader, "rb")

    def _say(self, *message: Any) -> None:
        os.write(self._writer, json.dumps(message).encode() + b"\n")

    def _run(self, limit: int) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
        for _ in range(limit):
            step = self.actor.plan()
            self._say("do", step)
            self._acknowledge(step, finish(self.actor.perform(step)))
        os._exit(0)

    def _acknowledge(self, step: list[Any], result: Any) -> None:
        self._say("done", result)
        self.actor.state = applied(self.actor.state, step, result)

    def settled(self) -> tuple[State, list[Any] | None, int]:
        """Wait for its end; return what must be there, the write that was cut off, and how many were acknowledged."""
        state, pending, count = self.actor.state, None, 0
        for line in self._reader.read().split(b"\n")[:-1]:
            kind, value = json.loads(line)
            if kind == "do":
                pending = value
            else:
                assert pending is not None
                state, pending, count = applied(state, pending, value), None, count + 1
        self._reader.close()
        os.waitpid(self.pid, 0)
        return state, pending, count


def processes(count: int, writes: int, seed: int) -> Outcome:
    """Let processes write at once, each so many times; the last half of them in every combination."""
    outcome = Outcome(f"{count} processes x {writes}")
    with watched(outcome) as path:
        kinds = [("add",)] * (count // 2) + [COMBINATIONS[-1 - n] for n in range(count - count // 2)]
        children = [Child(path, f"p{n}", kinds[n], seed + n, limit=writes) for n in range(count)]
        for child in children:
            settle(outcome, child)
    return outcome


def settle(outcome: Outcome, child: Child) -> None:
    """Add a child's end to the figures."""
    state, pending, count = child.settled()
    outcome.acknowledged += count
    missing = wrong(state_of(child.path, child.prefix), state, pending)
    outcome.lost += missing
    if missing:
        outcome.notes.append(f"{child.prefix}: {missing} wrong, pending {pending}")


def threads(count: int, writes: int, seed: int) -> Outcome:
    """Let threads with a loop each write at once: half with one store object, half with their own."""
    outcome = Outcome(f"{count} threads x {writes}")
    with watched(outcome) as path:
        shared = TestMemoryStore(name="notes", path=path)
        actors = []
        for number in range(count):
            store = shared if number % 2 else TestMemoryStore(name="notes", path=path)
            kinds = COMBINATIONS[(seed + 7 * number) % len(COMBINATIONS)]
            actors.append(Actor(store, f"t{number}", kinds, seed + number, seeded(shared, f"t{number}", kinds)))

        async def work(actor: Actor) -> None:
            for _ in range(writes):
                step = actor.plan()
                actor.state = applied(actor.state, step, await actor.perform(step))
                await asyncio.sleep(0)
                if actor.rng.random() < 0.2:
                    await actor.store.search(f"{actor.prefix} {actor.number}")

        running = [threading.Thread(target=lambda actor=actor: asyncio.run(work(actor))) for actor in actors]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        outcome.acknowledged = count * writes
        outcome.lost = sum(wrong(state_of(path, actor.prefix), actor.state, None) for actor in actors)
    return outcome


def kills(count: int, seed: int) -> Outcome:
    """Kill programs at random instants, two at a time, in every combination of writes."""
    outcome = Outcome("kills")
    rng = random.Random(seed)
    for number, kinds in enumerate(COMBINATIONS):
        share = len(range(number, count, len(COMBINATIONS)))
        with watched(outcome) as path:
            for shot in range(0, share, 2):
                children = [
                    Child(path, f"k{shot + n}", kinds, rng.getrandbits(30)) for n in range(min(2, share - shot))
                ]
                for child in children:
                    time.sleep(rng.uniform(0, 0.02))
                    os.kill(child.pid, signal.SIGKILL)
                for child in children:
                    settle(outcome, child)
                outcome.shots += len(children)
    return outcome


class Interrupted(Child):
    """A child whose writes are interrupted; it looks at the file after each, and goes on."""

    def _run(self, limit: int) -> None:
        self._inside = self._hit = False
        signal.signal(signal.SIGINT, self._interrupt)
        signal.signal(signal.SIGTERM, lambda number, frame: setattr(self, "_limit", 0))
        self._limit = limit
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
        while self._limit:
            self._limit -= 1
            step = self.actor.plan()
            result = self._interruptible(step)
            if not self._hit:
                self._acknowledge(step, result)
                continue
            self._hit = False
            found = state_of(self.path, self.prefix)
            self._say("cut", wrong(found, self.actor.state, step))
            self.actor.state = found
        os._exit(0)

    def _interruptible(self, step: list[Any]) -> Any:
        result = None
        try:
            self._inside = True
            result = finish(self.actor.perform(step))
            self._inside = False
        except KeyboardInterrupt:
            self._inside = False
        return result

    def _interrupt(self, number: int, frame: Any) -> None:
        if self._inside:
            self._inside, self._hit = False, True
            raise KeyboardInterrupt

    def figures(self) -> tuple[int, int, int]:
        """Wait for its end; return the writes acknowledged, those cut off, and what was wrong after these."""
        done = cut = lost = 0
        for line in self._reader.read().split(b"\n")[:-1]:
            kind, value = json.loads(line)
            done, cut, lost = done + (kind == "done"), cut + (kind == "cut"), lost + (value if kind == "cut" else 0)
        self._reader.close()
        lost += os.waitpid(self.pid, 0)[1] != 0
        return done, cut, lost


def interrupts(count: int, seed: int) -> Outcome:
    """Interrupt programs in the middle of their writes, in every combination of writes."""
    outcome = Outcome("interrupts")
    rng = random.Random(seed)
    for number, kinds in enumerate(COMBINATIONS):
        share = len(range(number, count, len(COMBINATIONS)))
        with watched(outcome) as path:
            hits = 0
            for attempt in itertools.count():
                if hits >= share:
                    break
                child = Interrupted(path, f"i{attempt}", kinds, rng.getrandbits(30))
                for _ in range(share - hits):
                    time.sleep(rng.uniform(0.001, 0.01))
                    os.kill(child.pid, signal.SIGINT)
                time.sleep(0.01)
                os.kill(child.pid, signal.SIGTERM)
                done, cut, lost = child.figures()
                hits += cut
                outcome.acknowledged, outcome.lost = outcome.acknowledged + done, outcome.lost + lost
            outcome.shots += hits
    return outcome


def foreign(count: int, seed: int) -> Outcome:
    """Write as a program that takes no lock, always the same size; with floored times every write must be seen."""
    outcome = Outcome("foreign writes, 4 ms")
    rng = random.Random(seed)
    signature = _files.signature

    def floored(status: os.stat_result) -> Any:
        device, inode, size, *times = signature(status)
        return (device, inode, size, *(time // FLOOR * FLOOR for time in times))

    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(_files, "signature", floored):
        path = Path(folder, "notes.json")
        store = TestMemoryStore(name="notes", path=path)
        finish(store.add_many([{"id": "r1", "content": "tea 00000"}]))
        for number in range(count):
            text = f"tea {number:05}"
            if rng.random() < 0.1:
                finish(store.update("r1", f"our {number:05}"))
                outcome.acknowledged += 1
            write_as_foreign(path, text, rng.choice(["in place", "replaced", "twice"]))
            outcome.shots += 1
            outcome.lost += [entry.content for entry in finish(store.search("tea"))] != [text]
    outcome.seconds = time.perf_counter() - start
    return outcome


def write_as_foreign(path: Path, text: str, how: str) -> None:
    """Put one record into the file, in place or by replacing it (once, or twice so that its inode may come back)."""
    record = {"id": "r1", "content": text, "createdAt": "2026-01-01T00:00:00.000Z"}
    data = json.dumps([record], indent=2).encode()
    if how == "in place":
        with path.open("r+b") as file:
            file.write(data)
            file.truncate()
        return
    for content in (b"[]", data) if how == "twice" else (data,):
        temporary = path.with_name("foreign")
        temporary.write_bytes(content)
        os.replace(temporary, path)


def main(arguments: list[str] | None = None) -> int:
    """Run every part and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("kills", 1000), ("interrupts", 200), ("foreign", 5000), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("processes", 8), ("threads", 8), ("writes", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args(arguments)
    parts: list[Callable[[], Outcome]] = [
        lambda: processes(given.processes, given.writes, given.seed),
        lambda: kills(given.kills, given.seed),
        lambda: interrupts(given.interrupts, given.seed),
        lambda: foreign(given.foreign, given.seed),
        lambda: threads(given.threads, given.writes, given.seed),  # last: nothing is forked after it
    ]
    print(HEADER)
    failed = False
    for part in parts:
        outcome = part()
        print(outcome.line(), flush=True)
        for note in outcome.notes[:5]:
            print(f"    {note}")
        failed = failed or outcome.failed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
