"""How fast PostgresMemoryStore is: measure, print a table, and write it on request.

    python tests/benchmarks/postgres.py [--sizes 10000 100000] [--with-vectors 10000] [--markdown README.md]

The server is the one of the tests, on a socket of this machine, with its settings as they come (128 MB of shared
buffers) but for fsync, which is on. Times are medians of calls that follow each other, through the event loop and the
store's threads. Entries are sentences of 12 words. Vectors have 384 numbers and are random, since no model is measured
here. Nothing here is a test: the exit code is 0 however fast it was.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

from memwb.ranking import tokenize_without_stop_words  # noqa: E402
from memwb.stores import PostgresMemoryStore  # noqa: E402
from tests.postgres import PostgresServer, running  # noqa: E402

BEGIN, END = "<!-- speed of PostgresMemoryStore -->", "<!-- end -->"
BATCH = 10_000
COMMON = "the a user likes and prefers of to in on with for".split()


class RandomVectors:
    """Vectors that cost nothing to make, near for the same text alone."""

    name, dimensions = "random", 384

    async def embed(self, texts: Any) -> Any:
        """Return them."""
        import numpy

        rows = [numpy.random.default_rng(abs(hash(text))).standard_normal(self.dimensions) for text in texts]
        vectors = numpy.array(rows, numpy.float32)
        return vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)


def sentences(count: int) -> list[str]:
    """Return texts with common words and rare ones, the way that language has them."""
    rng = random.Random(1)
    rare = [f"word{number}" for number in range(50_000)]
    weights = [1 / (rank + 1) for rank in range(len(rare))]
    pool = rng.choices(rare, weights, k=count * 6)
    return [
        " ".join([*rng.choices(COMMON, k=6), *pool[6 * n : 6 * n + 5], f"number{n}"]).capitalize() for n in range(count)
    ]


async def timed(call: Callable[[int], Awaitable[Any]], times: int = 15) -> float:
    """Return the median time of a call, in milliseconds."""
    taken = []
    for number in range(times):
        begin = time.perf_counter()
        await call(number)
        taken.append((time.perf_counter() - begin) * 1000)
    return statistics.median(taken)


async def measure(server: PostgresServer, size: int, *, with_vectors: bool) -> dict[str, str]:
    """Return the figures of one size."""
    dsn = server.new_database()
    texts = sentences(size)
    store = PostgresMemoryStore(dsn)
    begin = time.perf_counter()
    for start in range(0, size, BATCH):
        await store.add_many(texts[start : start + BATCH])
    told = {"add_many, entries a second": f"{size / (time.perf_counter() - begin):,.0f}"}
    server.execute("VACUUM ANALYZE", dsn=dsn)
    words = [" ".join(text.split()[6:9]) for text in random.Random(2).sample(texts, 15)]
    talk = [f"what does the user like to do with {text}" for text in words]
    ids = [record.id for record in await store.page(size // 2, 15)]

    async def told_of(name: str, call: Callable[[int], Awaitable[Any]]) -> None:
        told[name] = f"{await timed(call):,.1f}"

    await told_of("add", lambda n: store.add(f"one more {n}"))
    await told_of("get", lambda n: store.get(ids[n]))
    await told_of("page, first", lambda n: store.page(0, 50))
    await told_of("page, in the middle", lambda n: store.page(size // 2, 50))
    await told_of("page, sorted by time", lambda n: store.page(0, 50, "-created_at"))
    await told_of("count of a text", lambda n: store.count("word77"))
    await told_of("search, 3 words", lambda n: store.search(words[n]))
    await told_of("search, a question", lambda n: store.search(talk[n]))
    store.tokenizer = tokenize_without_stop_words
    await told_of("the same without stop words", lambda n: store.search(talk[n]))
    if with_vectors:
        await store.close()
        store = PostgresMemoryStore(dsn, embedder=RandomVectors(), tokenizer=tokenize_without_stop_words)
        begin = time.perf_counter()
        made = await store.embed_missing()
        told["vectors made and indexed a second"] = f"{made / (time.perf_counter() - begin):,.0f}"
        store.search_by = "meaning"
        await told_of("search by meaning", lambda n: store.search(talk[n]))
        store.search_by = "fused"
        await told_of("both fused, without stop words", lambda n: store.search(talk[n]))
    ((held,),) = server.execute("SELECT pg_database_size(current_database()) / 1048576", dsn=dsn)
    told["on disk, MB"] = f"{held:,}"
    told["memory of this process, MB"] = f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f}"
    await store.close()
    return told


def table(columns: dict[str, dict[str, str]]) -> str:
    """Return the figures as a table of Markdown."""
    names = list(dict.fromkeys(name for told in columns.values() for name in told))
    lines = [f"| ms, where nothing else is said | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    lines += [f"| {name} | {' | '.join(told.get(name, '') for told in columns.values())} |" for name in names]
    return "\n".join(lines)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--with-vectors", type=int, nargs="*", default=[10_000], help="the sizes that have vectors too")
    parser.add_argument("--markdown", type=Path, help="write the table into this file, between its marks")
    given = parser.parse_args()
    columns = {}
    with running(settings="-c fsync=on -c shared_buffers=128MB") as server:
        for size in given.sizes:
            columns[f"{size:,} entries"] = asyncio.run(measure(server, size, with_vectors=size in given.with_vectors))
            print(table(columns), flush=True)
    if given.markdown:
        text = given.markdown.read_text(encoding="utf-8")
        head, _, rest = text.partition(BEGIN)
        tail = rest.partition(END)[2]
        given.markdown.write_text(f"{head}{BEGIN}\n{table(columns)}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
