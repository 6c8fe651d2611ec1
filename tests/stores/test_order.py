"""Entries keep the order in which they were added, whatever their times and ids."""

from __future__ import annotations

import json
from pathlib import Path

from memwb.stores import TestMemoryStore

MOMENT = "2026-01-01T00:00:00.000Z"


async def test_b49_entries_of_one_time_stay_in_the_order_of_adding_also_after_an_update_and_a_reopening(
    tmp_path: Path,
) -> None:
    path = tmp_path / "notes.json"
    ids = [f"m{(7 * n) % 30:02}" for n in range(30)]  # not in order
    path.write_text(json.dumps([{"id": id, "content": f"note {id}", "createdAt": MOMENT} for id in ids]))
    store = TestMemoryStore(name="notes", path=path)

    assert [record.id for record in await store.page(0, 30)] == ids
    assert [entry.id for entry in await store.search("note", {"max_search_results": 30})] == ids

    await store.update(ids[3], content="note changed")
    reopened = TestMemoryStore(name="notes", path=path)
    assert [record.id for record in await reopened.page(0, 30)] == ids
    assert [entry.id for entry in await reopened.search("note", {"max_search_results": 30})] == ids
