"""The measurements: each runs in a process of its own and returns samples, in milliseconds of CPU time."""

from __future__ import annotations

import asyncio
import resource
import shutil
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.benchmarks import data
from tests.benchmarks.sides import Side, Stub, conversation, raw

MEGABYTE = 1 << 20


@dataclass
class Samples:
    """What a measurement came to.

    Attributes:
        values: The samples.
        extra: Further figures by name.
    """

    values: list[float]
    extra: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """What a measurement is given.

    Attributes:
        side: memwb or the peer.
        folder: Where data files lie, and may be made.
        scratch: An empty folder of this process.
        count: The number of entries.
        stores: The number of stores.
        seconds: How long to go on; at least three samples are taken.
    """

    side: Side
    folder: Path
    scratch: Path
    count: int
    stores: int
    seconds: float

    def file(self, seed: int = 0) -> Path:
        """Return the file of entries."""
        return data.file(self.folder, self.count, seed)

    def copy(self) -> Path:
        """Return a copy of the file of entries that may be written to."""
        return Path(shutil.copy2(self.file(), self.scratch / "memories.json"))


async def sampled(
    call: Callable[[Any], Awaitable[Any]], inputs: Iterable[Any], seconds: float, batch: int = 1
) -> list[float]:
    """Return the CPU time of ``call`` for one input after the other; a batch of calls of one input counts as one."""
    samples: list[float] = []
    end = time.perf_counter() + seconds
    for item in inputs:
        begin = time.process_time()
        for _ in range(batch):
            await call(item)
        samples.append((time.process_time() - begin) * 1e3 / batch)
        if time.perf_counter() > end and len(samples) >= 3:
            break
    return samples


def spread(samples: list[float]) -> float:
    """Return the 95th percentile over the median."""
    return statistics.quantiles(samples, n=20)[-1] / statistics.median(samples) if len(samples) > 20 else 1.0


async def search(given: Setting) -> Samples:
    """Search, warm: the file has been read and what there is to prepare is prepared."""
    store, queries = given.side.store(given.file()), data.queries()
    for query in queries[:4]:
        await store.search(query)
    samples = await sampled(store.search, cycle(queries), given.seconds)
    return Samples(samples, {"p95/p50": spread(samples)})


async def first_search(given: Setting) -> Samples:
    """The first search in a process: read and search."""
    store, queries = given.side.store(given.file()), data.queries(1)
    return Samples(await sampled(store.search, queries, 0.0))


async def add(given: Setting) -> Samples:
    """Add a text that is not there yet; the first add, which reads the file, does not count.

    A file that has grown by a tenth is left for a new copy.
    """
    samples: list[float] = []
    end = time.perf_counter() + given.seconds
    while not samples or time.perf_counter() < end:
        store = given.side.store(given.copy())
        await store.add("The first one reads the file.")
        texts = (f"A new memory, number {number}." for number in range(max(10, given.count // 10)))
        samples += await sampled(store.add, texts, end - time.perf_counter())
    return Samples(samples)


async def add_known(given: Setting) -> Samples:
    """Add a text that is there already."""
    contents = [record["content"] for record in raw(given.file())]
    store = given.side.store(given.copy())
    await store.add(contents[0])
    await asyncio.sleep(2.5)  # until then, each call reads the file again: it has just been written
    await store.add(contents[0])
    step = max(1, len(contents) // 100)
    return Samples(await sampled(store.add, cycle(contents[::step]), given.seconds))


async def add_all(given: Setting) -> Samples:
    """Add all entries to a store that holds none."""
    records = raw(given.file())
    samples: list[float] = []
    end = time.perf_counter() + given.seconds
    while not samples or (time.perf_counter() < end and len(samples) < 5):
        store = given.side.store(given.scratch / f"new-{len(samples)}.json")
        samples += await sampled(lambda _, store=store: given.side.add_all(store, records), [None], 0.0)
    return Samples(samples)


async def memory(given: Setting) -> Samples:
    """The highest memory over that of the import, in MB, after three searches."""
    store, queries = given.side.store(given.file()), data.queries(3)
    before = _resident()
    for query in queries:
        await store.search(query)
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Samples([highest / MEGABYTE - before])


def _resident() -> float:
    """Return how many MB of memory the process has in use."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / MEGABYTE


def _stores(given: Setting) -> list[Any]:
    return [given.side.store(given.file(seed), f"memories-{seed}") for seed in range(given.stores)]


async def manager_search(given: Setting) -> Samples:
    """Search several stores through a manager."""
    manager, queries = given.side.manager(_stores(given)), data.queries()
    for query in queries[:4]:
        await manager.search(query)
    return Samples(await sampled(manager.search, cycle(queries), given.seconds))


async def manager_alone(given: Setting) -> Samples:
    """What the manager adds to its stores: a search of stores that cost nothing, three entries each."""
    found = [given.side.entry(f"A memory, number {number}.") for number in range(3)]
    manager = given.side.manager([Stub(f"stub-{number}", found) for number in range(given.stores)])
    return Samples(await sampled(manager.search, cycle(["what is there?"]), given.seconds, batch=20))


async def inject(given: Setting) -> Samples:
    """A whole injecting turn: trigger, query, search, format, fold."""
    turn, queries = await given.side.turn(_stores(given)), data.queries()
    for query in queries[:4]:
        await turn(conversation(query))
    return Samples(await sampled(turn, cycle([conversation(query) for query in queries]), given.seconds))


async def trace_injection(given: Setting) -> Samples:
    """The same with its trace, of which the hits and the notes are read too, in turns with the turn alone."""
    manager, queries = given.side.manager(_stores(given)), data.queries()
    alone: list[float] = []
    traced: list[float] = []

    async def both(messages: Any) -> None:
        begin = time.process_time()
        await manager.inject(messages)
        between = time.process_time()
        found = await manager.trace_injection(messages)
        _ = found.hits, found.notes
        alone.append(between - begin)
        traced.append(time.process_time() - between)

    for query in queries[:4]:
        await both(conversation(query))
    samples = await sampled(both, cycle([conversation(query) for query in queries]), given.seconds)
    return Samples(samples, {"trace/inject": statistics.median(traced) / statistics.median(alone)})


MEASURES: dict[str, Callable[[Setting], Awaitable[Samples]]] = {
    function.__name__: function
    for function in (
        search,
        first_search,
        add,
        add_known,
        add_all,
        memory,
        manager_search,
        manager_alone,
        inject,
        trace_injection,
    )
}
