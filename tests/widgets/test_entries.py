"""The table of entries: it follows what a cell chooses, a cell finds what was chosen in it, and nothing gets lost."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from memwb.catalog import Record
from memwb.errors import ConfigError
from memwb.stores import TestMemoryStore
from memwb.widgets.entries import EntriesTable
from memwb.workbench import WorkbenchState
from tests.widgets.wire import Wire
from tests.workbench.fakes import ABOUT_ME, ListStore, SearchStore


class Table:
    """A table of a state's entries, and the page's end of it."""

    def __init__(self, *stores):
        self.state = WorkbenchState(list(stores), "Do I use a cane?")
        self.shown, self.redrawn = True, 0
        self.table = EntriesTable(self.state, self.redraw)
        self.grid, self.wire = self.table.grid, Wire(self.table.grid)
        self.state.subscribe(self.draw)

    def draw(self):
        self.table.draw(self.shown)

    def redraw(self):
        self.redrawn += 1
        self.draw()

    async def settled(self):
        await self.state.settled()
        await self.grid.settled()

    async def put(self, **traits):
        """Change something in the table, as the page does."""
        self.wire.put(**traits)
        await self.settled()

    @property
    def contents(self):
        return [row[2] for row in self.grid.sheet["rows"]]


@pytest.fixture
async def opened():
    """Makes a table of stores, and closes it at the end."""
    made = []

    async def open(*stores):
        made.append(Table(*(stores or [ListStore(*ABOUT_ME)])))
        await made[-1].settled()
        return made[-1]

    yield open
    for table in made:
        table.grid.close()
        table.state.close()


async def test_it_shows_what_the_store_holds_and_what_was_written_meanwhile(opened):
    table = await opened()
    assert (table.contents, table.grid.total) == (list(ABOUT_ME), 4)

    table.state.source.stores[0].contents.append("I own a boat.")
    await table.state.set(max_entries=3)
    await table.settled()
    assert (table.contents, table.grid.total) == ([*ABOUT_ME, "I own a boat."], 5)


async def test_a_filter_is_the_cells_too_in_any_letter_case(opened):
    table = await opened()

    await table.put(where="CANE")
    assert (table.contents, table.grid.total) == ([ABOUT_ME[2]], 1)
    assert list(table.state.entries.frame["content"]) == [ABOUT_ME[2]]
    assert repr(table.state.entries) == "EntriesState('profile': 1 entry with 'CANE', page 1 of 1)"


async def test_sorting_up_then_down_then_not_at_all_is_the_cells_too(opened):
    table = await opened()

    seen = []
    for sort in ("content", "-content", ""):
        await table.put(sort=sort)
        seen.append((table.state.entries.sort, table.contents))
        assert list(table.state.entries.frame["content"]) == table.contents
    assert seen == [
        ("content", sorted(ABOUT_ME)),
        ("-content", sorted(ABOUT_ME, reverse=True)),
        (None, list(ABOUT_ME)),
    ]


async def test_entries_are_sorted_by_what_their_metadata_say(opened):
    items = [
        Record(f"e{n}", f"entry {n}", metadata={"where": {"city": city}}) for n, city in enumerate(["b", "c", "a"])
    ]
    table = await opened(TestMemoryStore.from_records(items, name="notes"))

    await table.put(sort="-metadata.where.city")
    assert table.contents == ["entry 1", "entry 0", "entry 2"]
    assert list(table.state.entries.frame["content"]) == table.contents
    assert [record.content for record in table.state.entries.records] == table.contents
    assert table.state.refused == ""


async def test_a_selection_is_the_cells_in_its_order(opened):
    table = await opened()

    await table.put(selected=["e3", "e1"])
    assert list(table.state.entries.selected["content"]) == [ABOUT_ME[2], ABOUT_ME[0]]
    await table.put(selected=[])
    assert list(table.state.entries.selected["content"]) == []


async def test_what_a_cell_chooses_shows(opened):
    table = await opened()

    table.state.entries.choose(where="I ", sort="-content")
    await table.state.entries.load()
    table.state.entries.toggle("e4")
    await table.settled()
    assert (table.grid.where, table.grid.sort, table.grid.selected) == ("I ", "-content", ["e4"])
    assert table.contents == sorted(ABOUT_ME, reverse=True)


async def test_what_the_page_says_is_never_said_back_to_it(opened):
    table = await opened()
    table.wire.sent.clear()

    for selected in (["e1"], ["e1", "e2"], ["e1", "e2", "e3"]):
        table.wire.put(selected=selected)
    table.wire.put(where="I ")
    table.draw()  # something else changed before the loop has turned to these
    await table.settled()
    assert table.state.entries.selected_ids == ["e1", "e2", "e3"]
    assert table.state.entries.where == "I "
    echoes = [data["state"] for data in table.wire.sent if data["method"] == "echo_update"]
    assert [table.wire.updates(trait) for trait in ("selected", "where")] == [[], []], echoes


async def test_a_cell_that_chooses_while_a_choice_of_the_page_is_under_way_wins(opened):
    table = await opened()

    table.wire.put(where="jazz")
    table.state.entries.choose(where="cane")
    await table.state.entries.load()
    await table.settled()
    assert (table.grid.where, table.state.entries.where, table.contents) == ("cane", "cane", [ABOUT_ME[2]])


async def test_a_change_on_the_page_is_read_once_and_redraws_the_rest(opened):
    class Counting(ListStore):
        counted = 0

        async def count(self, where=""):
            self.counted += 1
            return await super().count(where)

    store = Counting(*ABOUT_ME)
    table = await opened(store)
    store.counted, redrawn = 0, table.redrawn

    await table.put(where="I ")
    assert (store.counted, table.redrawn) == (2, redrawn + 1)  # for the table, and for what a cell sees
    assert table.grid.sheet["where"] == "I "


async def test_another_store_is_shown_with_nothing_selected(opened):
    table = await opened(ListStore(*ABOUT_ME, name="home"), ListStore("a cane", "a boat", name="work"))
    await table.put(selected=["e1"], where="cane")

    table.state.entries.choose(store="work")
    await table.state.entries.load()
    await table.settled()
    assert (table.contents, table.grid.selected, table.grid.where) == (["a cane"], [], "cane")


async def test_another_source_is_shown_whole(opened):
    table = await opened()
    await table.put(selected=["e1"], where="cane")

    table.state.switch(["I own a boat.", "I like jazz."])
    await table.settled()
    assert (table.contents, table.grid.selected, table.grid.where) == (["I own a boat.", "I like jazz."], [], "")


async def test_a_table_that_is_not_shown_reads_nothing_until_it_is(opened):
    table = await opened()
    table.shown = False
    version = table.grid.sheet["version"]

    table.state.source.stores[0].contents.append("I own a boat.")
    table.state.entries.choose(where="boat")
    await table.state.set(max_entries=3)
    await table.settled()
    assert table.grid.sheet["version"] == version

    table.shown = True
    table.draw()
    await table.settled()
    assert table.contents == ["I own a boat."]


async def test_a_store_that_cannot_list_leaves_the_table_as_it_is(opened):
    table = await opened(SearchStore(*ABOUT_ME))

    assert (table.grid.total, table.grid.problem) == (0, "")


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        (None, None),
        ({}, "{}"),
        ({"id": 9007199254740993}, '{"id": 9007199254740993}'),
        ({"score": math.nan}, '{"score": NaN}'),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        ({"n": 10**5000}, "a dict that cannot be shown"),
    ],
    ids=range(6),
)
async def test_b63_odd_metadata_can_be_shown(opened, metadata, shown):
    class Odd(ListStore):
        async def page(self, *args, **options):
            return [replace(record, metadata=metadata) for record in await super().page(*args, **options)]

    table = await opened(Odd(*ABOUT_ME))
    assert (table.grid.sheet["rows"][0][5], table.grid.problem) == (shown, "")


async def test_b53_lone_surrogates_are_sent_as_what_json_can_carry(opened):
    class Odd(ListStore):
        async def page(self, *args, **options):
            records = await super().page(*args, **options)
            return [replace(record, id="\ud83d", metadata={"\ud83d": "\ud83d"}) for record in records]

    table = await opened(Odd("cane \ud83d end"))
    table.state.entries.choose(where="\ud83d")
    await table.state.entries.load()
    table.state.entries.toggle("\ud83d")
    await table.settled()
    for state in (table.wire.state(), table.wire.sent):
        assert json.dumps(state, ensure_ascii=False, default=str).encode()
    assert table.state.entries.where == "\ud83d"
    assert table.state.entries.selected_ids == ["\ud83d"]
    assert table.grid.problem == ""


async def test_b65_many_large_entries_send_little(opened):
    table = await opened(ListStore(*(f"cane {number} " + "x" * 1_990 for number in range(20_000))))

    await table.put(where="cane")
    assert table.grid.total == 20_000
    assert table.wire.bytes() < 100_000


async def test_the_verdict_is_about_the_entry_that_is_selected_alone(opened):
    table = await opened(ListStore(*ABOUT_ME))
    await table.put(selected=["e4"])
    await table.state.settled()
    assert (table.state.preview.explanation.target, table.state.looked_for) == (ABOUT_ME[3], "e4")
    await table.put(selected=["e4", "e1"])
    await table.state.settled()
    assert table.state.looked_for == "e4"


async def test_columns_are_chosen_in_a_cell_as_on_the_page():
    table = Table(TestMemoryStore.from_records([{"content": "tea", "metadata": {"cup": {"size": 2}}}], name="notes"))
    await table.settled()
    entries = table.state.entries

    entries.choose(columns=["id", "metadata.cup.size"])
    await entries.load()
    await table.settled()
    assert table.grid.shown == ["id", "metadata.cup.size"]

    await table.put(shown=["content"])
    assert entries.columns == ("content",)

    entries.choose(columns=None)
    await entries.load()
    assert table.grid.shown == ["content", "created_at", "id", "metadata"]
    with pytest.raises(ConfigError, match=r"no column 'contents'; there are content, .*Did you mean 'content'"):
        entries.choose(columns=["contents"])
    assert entries.columns is None
