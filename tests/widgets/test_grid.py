"""The grid's end in the kernel: what is read, what is sent, and whose wish wins."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from datetime import UTC, datetime, timedelta

import pytest

from memwb.catalog import Record
from memwb.errors import ConfigError
from memwb.memory import Hit, MemoryEntry
from memwb.stores import TestMemoryStore
from memwb.widgets.columns import ENTRIES, HIT_SORTS, Column, hit_columns
from memwb.widgets.grid import FIRST, MOST, Grid
from memwb.workbench.rows import ListRows
from tests.widgets.wire import Wire

START = datetime(2026, 1, 1, tzinfo=UTC)


def record(n: int) -> Record:
    metadata = {"n": n, "where": {"city": "Oslo"}} if n % 2 else None
    return Record(f"m-{n:03d}", f"row {n}", START + timedelta(minutes=n), metadata=metadata)


def store_of(count: int) -> TestMemoryStore:
    return TestMemoryStore.from_records([record(n) for n in range(count)], name="demo")


@pytest.fixture
def grids():
    """Makes grids that have been read, with their wires, and closes them."""
    made = []

    async def make(source=None, *args, count=100, **options):
        grid = await Grid(store_of(count) if source is None else source, *args, **options)
        made.append(grid)
        return grid, Wire(grid)

    yield make
    for grid in made:
        grid.close()


def ask(wire, offset, limit, request=1, view="v"):
    version = wire.widget.sheet["version"]
    wire.say({"do": "page", "view": view, "request": request, "version": version, "offset": offset, "limit": limit})


def ids(rows):
    return [row[0] for row in rows]


async def test_a_page_is_given_the_first_rows_with_the_widget(grids):
    grid, wire = await grids(count=3)

    sheet = wire.state()["sheet"]

    assert sheet["rows"] == [
        ["m-000", "", "row 0", "2026-01-01 00:00:00", "m-000", None],
        ["m-001", "", "row 1", "2026-01-01 00:01:00", "m-001", '{"n": 1, "where": {"city": "Oslo"}}'],
        ["m-002", "", "row 2", "2026-01-01 00:02:00", "m-002", None],
    ]
    assert [(c["title"], c["sort"]) for c in sheet["columns"]] == [
        ("content", "content"), ("created (UTC)", "created_at"), ("id", "id"), ("metadata", None)
    ]  # fmt: skip
    assert (sheet["total"], sheet["version"], grid.total, repr(grid)) == (3, 1, 3, "Grid(3 entries)")


async def test_further_rows_are_sent_when_they_are_asked_for(grids):
    grid, wire = await grids()
    ask(wire, 50, 10)
    await grid.settled()

    (answer,) = wire.customs()

    assert ids(answer.pop("rows")) == [f"m-{n:03d}" for n in range(50, 60)]
    assert answer == {"do": "page", "view": "v", "request": 1, "version": 1, "offset": 50}


async def test_no_page_is_longer_than_the_most_whatever_is_asked_for(grids):
    grid, wire = await grids(count=600)
    ask(wire, 0, 10**9)
    await grid.settled()

    assert (len(wire.customs()[0]["rows"]), len(grid.sheet["rows"])) == (MOST, FIRST)


class Slow(ListRows):
    """Rows that take their time, and note which pages were asked for."""

    def __init__(self, count=100):
        super().__init__([record(n) for n in range(count)], sorts={"content": lambda row: row.content})
        self.asked = []
        self.pause = 0.0

    async def page(self, offset, limit, sort=None, where=""):
        self.asked.append(offset)
        await asyncio.sleep(self.pause)
        return await super().page(offset, limit, sort, where)


async def test_only_the_newest_wish_of_a_page_is_answered(grids):
    source = Slow()
    grid, wire = await grids(source)
    source.pause = 0.02
    for request, offset in enumerate((10, 20, 30), 1):
        ask(wire, offset, 5, request)
        await asyncio.sleep(0.005)
    await grid.settled()

    assert [(answer["request"], answer["offset"]) for answer in wire.customs()] == [(3, 30)]


async def test_two_views_of_a_grid_are_both_answered(grids):
    source = Slow()
    grid, wire = await grids(source)
    source.pause = 0.01
    ask(wire, 10, 5, 1, "left")
    ask(wire, 60, 5, 1, "right")
    await grid.settled()

    assert {(answer["view"], answer["offset"]) for answer in wire.customs()} == {("left", 10), ("right", 60)}


async def test_messages_may_come_in_any_thread_and_are_answered_on_the_notebooks_loop(grids):
    threads = []
    grid, wire = await grids(on_select=lambda ids: threads.append((threading.current_thread(), ids)))

    def page():
        ask(wire, 20, 2)
        wire.put(selected=["m-001"])

    other = threading.Thread(target=page)
    other.start()
    other.join()
    await grid.settled()

    assert [ids(answer["rows"]) for answer in wire.customs()] == [["m-020", "m-021"]]
    assert threads == [(threading.main_thread(), ["m-001"])]


async def test_a_change_while_the_rows_are_read_is_not_lost(grids):
    """A page's wish comes in a thread of its own, so it may come between any two steps of a reading."""
    grid, wire = await grids()
    read = grid._source.page

    async def interrupted(*args, **options):
        found = await read(*args, **options)
        grid._source.page = read
        wire.put(sort="-id")
        return found

    grid._source.page = interrupted
    grid.where = "row"
    await grid.settled()

    assert (grid.sheet["sort"], grid.sheet["where"], grid.sheet["rows"][0][0]) == ("-id", "row", "m-099")


async def test_sorting_and_filtering_are_the_sources_work(grids):
    grid, wire = await grids()
    wire.put(sort="-created_at", where="ROW 9")
    await grid.settled()

    sheet = wire.updates("sheet")[-1]

    assert (sheet["total"], sheet["sort"], sheet["where"]) == (11, "-created_at", "ROW 9")
    assert ids(sheet["rows"]) == [*(f"m-{n:03d}" for n in range(99, 89, -1)), "m-009"]


async def test_metadata_keys_are_offered_as_columns_when_they_are_met(grids):
    grid, wire = await grids()
    assert grid.offered[4:] == [
        {"key": "metadata.n", "title": "n"}, {"key": "metadata.where.city", "title": "where.city"}
    ]  # fmt: skip

    wire.put(shown=["id", "metadata.where.city", "metadata.n"], sort="-metadata.n")
    await grid.settled()

    assert grid.sheet["rows"][:2] == [["m-099", "", "m-099", "Oslo", "99"], ["m-097", "", "m-097", "Oslo", "97"]]
    assert [c["title"] for c in grid.sheet["columns"]] == ["id", "where.city", "n"]


async def test_not_more_metadata_keys_are_offered_than_a_menu_can_hold(grids):
    grid, _ = await grids(ListRows([Record("a", "text", metadata={f"key {n}": n for n in range(500)})]))

    assert len(grid.offered) == 104


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("sort", "createdat", r"sort is 'createdat'; it takes content, created_at, id.*Did you mean 'created_at'"),
        ("sort", "-metadata", r"sort is '-metadata'"),
        ("shown", ["contents"], r"shown is 'contents'; it takes content, created_at, id, metadata.*mean 'content'"),
    ],
)
async def test_an_unknown_column_is_refused_and_the_nearest_named(grids, trait, value, message):
    grid, _ = await grids(count=1)
    before = getattr(grid, trait)

    with pytest.raises(ConfigError, match=message):
        setattr(grid, trait, value)

    assert getattr(grid, trait) == before


def test_two_columns_of_one_key_are_refused():
    with pytest.raises(ConfigError, match="two columns have the same key"):
        Grid(store_of(1), [Column("id"), Column("id")])


async def test_a_selection_is_told_once_and_stays_when_it_is_filtered_away(grids):
    told = []
    grid, wire = await grids(on_select=told.append)
    wire.put(selected=["m-003", "m-001"])
    grid.where = "row 9"
    await grid.settled()

    assert (grid.selected, told) == (["m-003", "m-001"], [["m-003", "m-001"]])


async def test_a_range_is_selected_by_place_also_where_no_page_shows_it(grids):
    grid, wire = await grids()
    wire.put(sort="-id")
    await grid.settled()
    wire.say({"do": "range", "version": grid.sheet["version"], "from": 60, "to": 62})
    await grid.settled()

    assert grid.selected == ["m-039", "m-038", "m-037"]
    assert wire.updates("selected")[-1] == grid.selected


async def test_a_range_of_an_older_view_selects_nothing(grids):
    grid, wire = await grids()
    version = grid.sheet["version"]
    grid.sort = "-id"
    await grid.settled()
    wire.say({"do": "range", "version": version, "from": 0, "to": 2})
    await grid.settled()

    assert grid.selected == []


async def test_a_range_has_an_end(grids, monkeypatch):
    monkeypatch.setattr("memwb.widgets.grid.MOST_SELECTED", 7)
    grid, wire = await grids()
    wire.say({"do": "range", "version": 1, "from": 0, "to": 99})
    await grid.settled()

    assert len(grid.selected) == 7


async def test_a_whole_cell_is_sent_when_it_is_opened(grids):
    text = "long " * 100
    grid, wire = await grids(TestMemoryStore.from_records([Record("a", text)], name="s"))
    assert grid.sheet["rows"][0][2] == {"t": text[:160], "m": 340}

    wire.say({"do": "cell", "view": "v", "id": "a", "column": "content", "offset": 0})
    wire.say({"do": "cell", "view": "v", "id": "gone", "column": "content", "offset": 0})
    await grid.settled()

    assert [(answer["text"], answer["end"], answer["total"]) for answer in wire.customs()] == [
        (text, 500, 500),
        ("This row is no longer there.", 28, 28),
    ]


class Failing(ListRows):
    """Rows that cannot be read while ``broken`` is set."""

    broken: Exception | None = None

    async def count(self, where=""):
        if self.broken:
            raise self.broken
        return await super().count(where)


async def test_a_failure_is_told_and_the_rows_that_are_there_stay(grids):
    source = Failing([record(0)])
    grid, wire = await grids(source)
    source.broken = OSError("the disk is gone")
    grid.refresh()
    await grid.settled()

    assert (grid.problem, ids(grid.sheet["rows"])) == ("OSError: the disk is gone", ["m-000"])

    source.broken = None
    grid.refresh()
    await grid.settled()
    assert (grid.problem, wire.updates("problem")) == ("", ["OSError: the disk is gone", ""])


async def test_a_callback_that_fails_is_told_on_the_grid(grids):
    def fail(ids):
        raise KeyError("my callback")

    grid, wire = await grids(on_select=fail)
    wire.put(selected=["m-001"])
    await grid.settled()

    assert grid.problem == "KeyError: 'my callback'"


@pytest.mark.parametrize("content", [None, "page", {}, {"do": "other"}, ["page"]])
async def test_a_message_that_makes_no_sense_does_nothing(grids, content):
    grid, wire = await grids()
    wire.say(content)
    await grid.settled()

    assert wire.sent == []


async def test_another_source_and_other_columns(grids):
    grid, _ = await grids()
    grid.sort = "created_at"
    grid.show(ListRows([record(7)]), [Column("content")])
    await grid.settled()

    assert (grid.sheet["rows"], grid.sort, grid.shown) == ([["m-007", "", "row 7"]], "", ["content"])


async def test_the_choice_of_columns_stays_when_others_like_them_come(grids):
    grid, wire = await grids()
    wire.put(shown=["id"], sort="-id")
    grid.show(ListRows([record(7)], sorts={"id": lambda row: row.id}), ENTRIES)
    await grid.settled()

    assert (grid.sheet["rows"], grid.sort) == ([["m-007", "", "m-007"]], "-id")


def hit(rank, score, content, matched, store="demo"):
    return Hit(store, rank, score, f"h{rank}", MemoryEntry(content), matched, kept=rank == 1)


HITS = [hit(1, 4, "I want MORE", ("more",)), hit(2, 1, "I am", ("i",)), hit(3, None, "no score", ())]


async def test_hits_have_bars_marked_words_and_notes(grids):
    rows = ListRows(HITS, id=lambda hit: f"{hit.store}/{hit.rank}", sorts=HIT_SORTS)
    grid, _ = await grids(
        rows,
        hit_columns(HITS, lambda hit: hit.id == "h2"),
        id=lambda hit: f"{hit.store}/{hit.rank}",
        kind=lambda hit: "" if hit.kept else "dim",
        noun=("hit", "hits"),
    )

    assert grid.sheet["rows"] == [
        ["demo/1", "", "1", {"t": "4", "b": 1.0}, {"s": [["I want ", 0], ["MORE", 1]]}, None],
        ["demo/2", "dim", "2", {"t": "1", "b": 0.25}, {"s": [["I", 2], [" am", 0]]},
         {"s": [["★ expected", 3], ["⚠ stop words only", 4]]}],
        ["demo/3", "dim", "3", None, "no score", None],
    ]  # fmt: skip
    assert repr(grid) == "Grid(3 hits)"


def test_the_store_of_a_hit_is_shown_where_there_are_several():
    several = [*HITS, hit(1, 2, "other", (), store="second")]

    assert [c.key for c in hit_columns(HITS) if c.shown] == ["rank", "score", "content", "note"]
    assert [c.key for c in hit_columns(several) if c.shown] == ["rank", "score", "content", "store", "note"]


async def test_the_cut_line_is_told_where_it_should_go(grids):
    moved = []
    grid, wire = await grids(on_cut=moved.append)
    grid.draw_cut(5, "max_entries 5", "where the block ends")
    assert wire.updates("cut") == [
        {"at": 5, "value": 5, "most": 100, "label": "max_entries 5", "name": "where the block ends"}
    ]

    for how in ({"by": -1}, {"to": 9}, {"by": -99}):
        wire.say({"do": "cut", **how})
    await grid.settled()
    grid.draw_cut(None)

    assert (moved, grid.cut) == ([4, 9, 1], {})


async def test_a_limit_beyond_the_rows_moves_by_one_from_where_it_stands(grids):
    moved = []
    grid, wire = await grids(count=3, on_cut=moved.append)
    grid.draw_cut(3, "max_entries 5 · 0 cut", value=5)
    assert (grid.cut["value"], grid.cut["most"]) == (5, 5)

    wire.say({"do": "cut", "by": -1})
    await grid.settled()
    assert moved == [4]


async def test_rows_that_are_there_already_are_sent_before_showing_them_returns(grids):
    grid, wire = await grids(count=2)
    rows = [record(n) for n in range(60)]

    grid.show(ListRows(rows[:3]))
    assert ids(wire.updates("sheet")[-1]["rows"]) == ["m-000", "m-001", "m-002"]
    grid.show(ListRows(rows[:3]))
    assert len(wire.updates("sheet")) == 1  # the same rows are not sent twice

    grid.show(ListRows(rows[:3]), anew=True)
    assert [sheet["series"] for sheet in wire.updates("sheet")] == [0, 1]
    grid.show(ListRows(rows))
    grid.show(ListRows(rows))  # of those that were not sent some may be others
    assert [(sheet["total"], sheet["version"]) for sheet in wire.updates("sheet")[2:]] == [(60, 4), (60, 5)]


async def test_a_reading_that_is_under_way_does_not_replace_rows_that_came_meanwhile(grids):
    source = Slow()
    source.pause = 0.02
    grid, _ = await grids(count=2)
    grid.show(source)
    await asyncio.sleep(0.005)

    grid.show(ListRows([record(7)]))
    await grid.settled()
    assert ids(grid.sheet["rows"]) == ["m-007"]


def test_in_a_script_it_is_read_when_it_is_awaited():
    grid = Grid(store_of(3))
    assert repr(grid) == "Grid(not read yet: `await grid` first)"

    async def settle():
        await grid

    asyncio.run(settle())
    assert repr(grid) == "Grid(3 entries)"

    grid.where = "row 2"
    asyncio.run(settle())
    assert repr(grid) == "Grid(1 entry)"
    grid.close()


async def test_a_hundred_thousand_rows_take_few_bytes_to_show(grids):
    records = [Record(f"m-{n:06d}", "word " * 40, START, metadata={"n": n, "text": "x" * 300}) for n in range(100_000)]
    grid, wire = await grids(TestMemoryStore.from_records(records, name="big"))

    first = len(str(wire.state()).encode())
    ask(wire, 50_000, 60)
    await grid.settled()

    assert first < 80_000  # the script and the style sheet among them
    assert wire.bytes() < 40_000


async def test_nothing_is_left_when_grids_are_closed():
    from ipywidgets.widgets.widget import _instances

    before, tasks = set(_instances), asyncio.all_tasks()
    for _ in range(50):
        grid = Grid(Slow(3))
        grid.refresh()
        grid.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert (set(_instances), asyncio.all_tasks()) == (before, tasks)


async def test_a_closed_grid_is_forgotten():
    grid = await Grid(store_of(3), on_select=print)
    seen = weakref.ref(grid)
    grid.close()
    del grid
    await asyncio.sleep(0.01)
    gc.collect()

    assert seen() is None


async def test_a_closed_grid_answers_nothing():
    source = Slow(3)
    grid = await Grid(source)
    asked = len(source.asked)
    grid.close()
    grid.refresh()
    await grid.settled()

    assert len(source.asked) == asked
