"""What the tab of the entries does when its elements ask: answers are told there, and nothing is written early."""

from __future__ import annotations

import json

import pytest

from memwb.stores import TestMemoryStore
from memwb.widgets import Workbench
from tests.widgets.reading import read
from tests.widgets.wire import Wire
from tests.workbench.fakes import SearchStore


@pytest.fixture
async def bench(tmp_path):
    """Makes a workbench with the tab of the entries open, and closes it at the end."""
    made = []

    async def make(*stores, **given):
        made.append(Workbench(list(stores), "Do I like tea?", editable=True, **given))
        await act(await made[-1], do="tab", to="entries")
        return made[-1]

    yield make
    for workbench in made:
        workbench.close()


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.json"
    records = [
        {"id": f"n{n}", "content": text, "createdAt": "2026-01-01T00:00:00.000Z"}
        for n, text in enumerate(["tea", "milk"])
    ]
    path.write_text(json.dumps(records, indent=2))
    return TestMemoryStore(name="notes", path=path)


async def act(workbench, **message):
    workbench._low._received(None, message, [])
    await workbench
    await workbench._entries.grid


async def save(workbench, **values):
    await act(workbench, do="entry_save", form=True, values=values)


def pane(workbench):
    from memwb.widgets import panes

    return read(panes.lower(workbench.state, "entries", workbench._opened))


async def test_an_entry_is_added_shown_as_a_difference_written_and_undone(bench, notes):
    wb, before = await bench(notes), notes.path.read_bytes()
    assert "[add][edit][delete][merge]" in pane(wb)

    await act(wb, do="entry_add")
    await save(wb, text=" ", metadata="")
    assert "the text of an entry is ' '" in pane(wb)
    await save(wb, text="rice", metadata="[1]")
    assert "must be a JSON object" in pane(wb)
    await save(wb, text="rice", metadata='{"n": 1}')
    assert "1 change staged [Diff][Write][Discard]" in pane(wb)
    assert notes.path.read_bytes() == before
    await act(wb, do="entry_diff")
    assert "+ n: 1" in pane(wb)
    await act(wb, do="entry_write")
    assert "[Undo]1 change written." in pane(wb)
    assert wb._entries.grid.total == 3
    await act(wb, do="entry_undo")
    assert "The last write is undone." in pane(wb)
    assert notes.path.read_bytes() == before


async def test_rows_are_opened_and_deleted_from_the_table_and_a_deleted_one_comes_back_by_opening_it(bench, notes):
    wb = await bench(notes)
    wire = Wire(wb._entries.grid)
    wire.say({"do": "delete", "ids": ["n0", "n1"]})
    await wb._entries.grid
    await wb
    assert [change.kind for change in wb.entries.staged] == ["deleted", "deleted"]
    wire.say({"do": "open", "id": "n0"})
    await wb._entries.grid
    await wb
    assert [change.id for change in wb.entries.staged] == ["n1"]
    await act(wb, do="entry_edit", key="n0")
    assert (wb._opened.kind, wb._opened.text) == ("edit", "tea")
    await act(wb, do="entry_close")
    await act(wb, do="entry_discard")
    assert wb.entries.staged == ()


async def test_a_conflict_is_told_beside_the_buttons_and_all_stays_staged(bench, notes):
    wb = await bench(notes)
    wb.entries.stage(edit={"n0": "green tea"})
    await TestMemoryStore(name="notes", path=notes.path).update("n0", "black tea")
    await act(wb, do="entry_write")
    assert "entry 'n0' now says 'black tea'" in pane(wb)
    assert len(wb.entries.staged) == 1


async def test_what_a_person_chose_of_the_columns_stays_when_something_is_staged(bench, notes):
    wb = await bench(
        notes,
    )
    wb._entries.grid.shown = ["content", "metadata.topic"]
    wb.entries.stage(delete=["n0"])
    await wb
    assert wb._entries.grid.shown == ["staged", "content", "metadata.topic"]
    wb.entries.unstage()
    await wb
    assert wb._entries.grid.shown == ["content", "metadata.topic"]


async def test_a_filter_that_cannot_be_is_told_and_a_good_one_filters(bench, notes):
    wb = await bench(notes)
    await act(wb, do="entry_filters")
    await act(wb, do="entry_filter", name="since", value="yesterday")
    assert "since is 'yesterday'" in pane(wb)
    await act(wb, do="entry_filter", name="metadata", value="topic")
    assert wb.entries.total == 0
    assert "[filters on]" in pane(wb)


async def test_stores_that_cannot_be_edited_say_so_in_the_place_of_the_buttons(bench, notes):
    wb = await bench(TestMemoryStore(name="fixed", path=notes.path, writable=False), SearchStore("x"))
    assert "'fixed' cannot edit its entries: it was built with writable=False." in pane(wb)
    assert "[add]" not in pane(wb)


async def test_a_damaged_file_is_checked_and_salvaged_from_the_page(bench, notes):
    notes.path.write_bytes(notes.path.read_bytes()[:-3] + b",")
    wb = await bench(notes)
    await act(wb, do="entry_health")
    assert "[Salvage notes]" in pane(wb)
    await act(wb, do="entry_salvage", store="notes")
    assert "saved in notes.rescued.json" in pane(wb)
    await act(wb, do="entry_salvage", store="notes")
    assert "is there already" in pane(wb)


async def test_without_editable_there_is_nothing_to_edit_with(notes):
    wb = Workbench(notes, "Do I like tea?")
    await act(await wb, do="tab", to="entries")
    assert "[add]" not in pane(wb)
    assert not wb._entries.grid.opens
    wb.entries.editable = True
    await wb
    assert "[add]" in pane(wb)
    wb.close()
