"""Measurements of frames, pages and filters: memwb's and what pandas, or a loop, does to the same records."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

from tests.benchmarks.figures import Samples, Setting, sampled
from tests.benchmarks.sides import Memwb, raw

PAGE = 50
WORDS = ("zuma", "the", "Keda", "to ga", "xyz")


def _call(function: Callable[[], Any]) -> Callable[[Any], Any]:
    async def call(_: Any) -> Any:
        return function()

    return call


async def frame(given: Setting) -> Samples:
    """Make a DataFrame of records with nested metadata."""
    import pandas as pd

    records = raw(given.file())
    if isinstance(given.side, Memwb):
        from memwb.frames import records_frame
        from memwb.stores import TestMemoryStore

        listed = await TestMemoryStore.from_records(records, name="memories").page(0, len(records))
        return Samples(await sampled(_call(lambda: records_frame(listed)), range(20), given.seconds))
    return Samples(await sampled(_call(lambda: pd.json_normalize(records)), range(20), given.seconds))


async def page(given: Setting) -> Samples:
    """Make HTML of 50 entries out of all: content, time, id and metadata."""
    if isinstance(given.side, Memwb):
        return await _own_page(given)
    import pandas as pd

    entries = pd.json_normalize(raw(given.file()))
    starts = cycle(range(0, given.count - PAGE + 1, max(1, given.count // 50)))
    with pd.option_context("display.max_colwidth", None):
        return Samples(
            await sampled(_page_of(lambda start: entries.iloc[start : start + PAGE].to_html()), starts, given.seconds)
        )


def _page_of(function: Callable[[int], Any]) -> Callable[[Any], Any]:
    async def call(start: int) -> Any:
        return function(start)

    return call


async def _own_page(given: Setting) -> Samples:
    from memwb._dom import el

    store = given.side.store(given.file())

    async def call(start: int) -> str:
        rows = await store.page(start, PAGE)
        body = [
            el(
                "tr",
                "",
                el("td", "", record.content),
                el("td", "", record.created_at.isoformat(" ", "minutes")),
                el("td", "", record.id),
                el("td", "", "" if record.metadata is None else str(record.metadata)),
            )
            for record in rows
        ]
        return el("table", "memwb-table", el("tbody", "", *body)).to_html()

    starts = cycle(range(0, given.count - PAGE + 1, max(1, given.count // 50)))
    await call(0)
    return Samples(await sampled(call, starts, given.seconds))


async def contains(given: Setting) -> Samples:
    """Count the entries that hold a text, whatever the case."""
    if isinstance(given.side, Memwb):
        store = given.side.store(given.file())
        await store.count(where="a")

        async def count(where: str) -> int:
            return int(await store.count(where=where))

        return Samples(await sampled(count, cycle(WORDS), given.seconds))
    import pandas as pd

    contents = pd.Series([record["content"] for record in raw(given.file())])

    async def sought(where: str) -> int:
        return int(contents.str.contains(where, case=False, regex=False).sum())

    return Samples(await sampled(sought, cycle(WORDS), given.seconds))


MEASURES = {"frame": frame, "page": page, "contains": contains}
