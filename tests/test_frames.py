"""Frames: what a record holds is shown as it is, can be worked with, and comes back unchanged."""

from __future__ import annotations

import copy
import datetime
import decimal
import io
import json
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pandas as pd
import pytest
from hypothesis import given

import memwb
from memwb.catalog import Record
from memwb.errors import ConfigError
from memwb.frames import (
    Cell,
    entries_frame,
    entries_from_frame,
    frame,
    hits_frame,
    records_frame,
    records_from_frame,
    sessions_frame,
)
from memwb.memory import Hit, MemoryEntry
from memwb.sessions import InMemoryStore, SessionInfo
from memwb.sessions import MemoryEntry as SessionEntry
from memwb.stores import TestMemoryStore
from memwb.testing import frozen

CASES = Path(__file__).parent / "cases"
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


def record(id: str = "1", content: str = "tea", metadata: dict[str, Any] | None = None, **more: Any) -> Record:
    return Record(id=id, content=content, created_at=more.pop("created_at", NOON), metadata=metadata, **more)


def odd_records() -> list[Record]:
    """The entries of B63-odd-cells.json; their metadata are Python expressions."""
    names = {"datetime": datetime, "decimal": decimal, "float": float, "__builtins__": {}}
    entries = json.loads((CASES / "B63-odd-cells.json").read_text("utf-8"))["entries"]
    return [
        record(str(at), entry["content"], eval(entry["metadata"], names), created_at=NOON + at * datetime.timedelta(1))
        for at, entry in enumerate(entries)
    ]


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same types all the way down; NaN equals NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or (isinstance(one, float) and math.isnan(one) and math.isnan(other))


def rows(records: list[Record]) -> list[dict[str, Any]]:
    return [vars(each) for each in records]


class TestColumns:
    def test_a_frame_has_the_records_own_columns_and_one_for_each_metadata_key(self) -> None:
        built = records_frame([record(metadata={"mood": "calm"}, owner="Ann"), record("2", "milk")])

        assert {name: list(built[name]) for name in built} == {
            "id": ["1", "2"],
            "content": ["tea", "milk"],
            "created_at": [pd.Timestamp(NOON)] * 2,
            "owner": ["Ann", None],
            "metadata.mood": ["calm", pd.NA],
        }

    def test_no_records_give_an_empty_frame_with_the_columns_that_are_always_there(self) -> None:
        assert list(records_frame([]).columns) == ["id", "content", "created_at"]
        assert records_from_frame(records_frame([])) == []

    def test_times_are_utc_timestamps_and_a_missing_time_is_nat(self) -> None:
        oslo = datetime.timezone(datetime.timedelta(hours=1))
        built = records_frame([record(created_at=NOON.astimezone(oslo)), record("2", created_at=None)])

        assert str(built["created_at"].dtype) == "datetime64[us, UTC]"
        assert built["created_at"][0] == pd.Timestamp("2026-01-01T12:00:00Z")
        assert built["created_at"][1] is pd.NaT

    def test_a_time_without_a_zone_is_left_without_one(self) -> None:
        naive = datetime.datetime(2026, 1, 1, 12)
        assert records_frame([record(created_at=naive)])["created_at"][0] == naive

    def test_what_is_missing_none_nan_and_empty_can_be_told_apart(self) -> None:
        values: list[dict[str, Any]] = [{}, {"x": None}, {"x": float("nan")}, {"x": ""}, {"x": []}, {"x": {}}]
        cells = records_frame([record(str(at), metadata=value) for at, value in enumerate(values)])["metadata.x"]

        assert cells[0] is pd.NA
        assert cells[1] is None
        assert math.isnan(cells[2])
        assert list(cells[3:]) == ["", "[]", "{}"]
        assert [getattr(cell, "value", None) for cell in cells[3:]] == ["", [], {}]


class TestB63OddCells:
    def test_b63_integers_are_exact_beside_missing_values(self) -> None:
        built = records_frame(odd_records())

        assert built["metadata.id"][0] == 9007199254740993
        assert "9007199254740993" in built.to_html()
        assert "9007199254740993" in built.to_csv()
        assert json.loads(built.to_json(date_format="iso"))["metadata.id"]["0"] == 9007199254740993

    def test_b63_a_metadata_key_named_like_a_column_does_not_replace_it(self) -> None:
        row = records_frame(odd_records()).loc[5]

        assert (row["content"], row["metadata.content"]) == ("six", "a key named like a column")

    def test_b63_a_dotted_key_and_a_nested_one_stay_apart(self) -> None:
        row = records_frame(odd_records()).loc[6]

        assert (row[r"metadata.where\.city"], row["metadata.where.city"]) == ("Rome", "Bergen")

    def test_b63_nothing_raises_on_any_column(self) -> None:
        built = records_frame(odd_records())
        for name in built:
            assert len(built.sort_values(name)) == 8
            assert built.groupby(name, dropna=False).size().sum() == 8
            assert built[name].value_counts().sum() == built[name].notna().sum()
            built[built[name] == "x"].drop_duplicates(name)
        assert built.drop_duplicates().equals(built)
        assert built.nunique()["metadata.tags"] == 2

    def test_b63_writing_back_an_unchanged_frame_changes_nothing(self) -> None:
        before = odd_records()
        assert same(rows(records_from_frame(records_frame(before))), rows(before))

    def test_b63_editing_one_cell_changes_that_value_alone(self) -> None:
        built = records_frame(odd_records())
        built.loc[2, "metadata.where.city"] = "Bergen"
        expected = odd_records()
        assert expected[2].metadata is not None
        expected[2].metadata["where"]["city"] = "Bergen"

        assert same(rows(records_from_frame(built)), rows(expected))

    def test_b63_dates_and_decimals_are_shown_and_exported(self) -> None:
        exported = pd.read_csv(io.StringIO(records_frame(odd_records()).to_csv()), dtype=str).loc[7]

        assert (exported["metadata.day"], exported["metadata.amount"]) == ("2026-01-02", "1.10")


class TestB53LoneSurrogates:
    def test_b53_a_lone_surrogate_is_shown_as_a_replacement_and_comes_back_as_it_was(self) -> None:
        odd = [record(content="bad \ud83d end", metadata={"key \udc00": "value \ud83d"})]
        built = records_frame(odd)

        assert built["content"][0] == "bad \ufffd end"
        assert built.columns[-1] == "metadata.key \\udc00"
        assert "bad \ufffd end" in built.to_html()
        built.to_csv().encode()
        built.to_json(date_format="iso").encode()
        assert records_from_frame(built) == odd


class TestCells:
    def test_a_cell_shows_its_value_as_json_and_carries_it(self) -> None:
        cell = Cell(["é", {"a": None}])

        assert cell == '["é", {"a": null}]'
        assert cell.value == ["é", {"a": None}]

    def test_a_cell_holds_a_copy(self) -> None:
        value = ["a"]
        cell = Cell(value)
        value.append("b")

        assert cell.value == ["a"]

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda cell: pickle.loads(pickle.dumps(cell))])
    def test_a_cell_survives_being_copied_and_pickled(self, copied: Any) -> None:
        assert copied(Cell([1])).value == [1]

    def test_cells_sort_among_texts_and_after_numbers_and_dates(self) -> None:
        values = [Cell(["a"]), 3, "text", True, datetime.date(2026, 1, 2), decimal.Decimal("2.5"), None, {1: 2}]
        built = records_frame([record(str(at), metadata={"x": value}) for at, value in enumerate(values)])

        assert list(map(str, built.sort_values("metadata.x")["metadata.x"])) == [
            "True",
            "2.5",
            "3",
            "2026-01-02",
            '["a"]',
            "text",
            '{"1": 2}',
            "None",
        ]

    def test_a_set_looks_the_same_in_every_process(self) -> None:
        assert Cell({"b", "a"}) == "{'a', 'b'}"

    def test_what_json_does_not_know_is_shown_as_its_text(self) -> None:
        inside_itself: list[Any] = []
        inside_itself.append(inside_itself)

        assert Cell([datetime.date(2026, 1, 2), b"x"]) == '["2026-01-02", "b\'x\'"]'
        assert Cell({(1, 2): 3}) == "{(1, 2): 3}"
        assert Cell((1, 2)) == "[1, 2]"

    def test_a_list_is_written_into_a_frame_as_a_cell(self) -> None:
        built = records_frame([record(metadata={"tags": ["a"]})])
        built.loc[0, "metadata.tags"] = Cell(["a", "b"])

        assert records_from_frame(built) == [record(metadata={"tags": ["a", "b"]})]


class TestRecordsFromFrame:
    def test_a_frame_of_ones_own_needs_contents_alone(self) -> None:
        own = pd.DataFrame({"content": ["tea", "milk"], "mood": ["calm", None], "n": [1, 2]})

        assert records_from_frame(own) == [
            Record(id="1", content="tea", created_at=None, metadata={"mood": "calm", "n": 1}),
            Record(id="2", content="milk", created_at=None, metadata={"n": 2}),
        ]

    def test_ids_and_times_are_read_where_they_are_given(self) -> None:
        own = pd.DataFrame({"id": [7], "content": ["tea"], "created_at": ["2026-01-01T12:00:00.000Z"]})

        assert records_from_frame(own) == [Record(id="7", content="tea", created_at=NOON)]

    def test_a_column_of_dicts_is_the_metadata(self) -> None:
        own = pd.DataFrame({"content": ["tea", "milk"], "metadata": [{"a": [1]}, None], "mood": ["calm", None]})

        assert [each.metadata for each in records_from_frame(own)] == [{"a": [1], "mood": "calm"}, None]

    @pytest.mark.parametrize(
        ("own", "message"),
        [
            (pd.DataFrame({"text": ["tea"]}), "has no column 'content'; its columns are 'text'"),
            (pd.DataFrame({"content": ["tea", None]}), "Row 1: content is .*it must be a text"),
            (pd.DataFrame({"content": [5]}), "Row 0: content is 5; it must be a text"),
            (
                pd.DataFrame({"content": ["tea"], "created_at": ["soon"]}),
                "Row 0: created_at is 'soon'; it must be a time",
            ),
            (pd.DataFrame({"content": ["tea"], 5: [1]}), "a column named 5; names must be texts"),
            (pd.DataFrame([["a", "b"]], columns=["content", "content"]), "two columns named 'content'"),
            (pd.DataFrame({"content": ["tea"], "metadata": ["x"]}), "Row 0: metadata is 'x'; it must be a dict"),
            (
                pd.DataFrame({"content": ["tea"], "metadata.a": [1], "a": [2]}),
                "Row 0: the column 'a' has a value, and so",
            ),
            (
                pd.DataFrame({"content": ["tea"], "metadata.a": [1], "metadata.a.b": [2]}),
                "Row 0: the column 'metadata.a.b'",
            ),
        ],
    )
    def test_what_cannot_be_read_is_refused_with_its_row_and_column(self, own: pd.DataFrame, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            records_from_frame(own)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates() | st.decimals(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
texts = st.text(st.characters(), max_size=8)  # lone surrogates included
metadatas = st.none() | st.dictionaries(
    st.text(st.sampled_from("ab.\\ué\ud83d"), max_size=4) | texts, json_values, max_size=4
)
times = st.none() | st.datetimes(
    datetime.datetime(1970, 1, 1), datetime.datetime(2100, 1, 1), timezones=st.just(datetime.UTC)
)
records = st.lists(
    st.builds(
        Record,
        id=texts,
        content=texts,
        created_at=times,
        updated_at=times,
        store=st.none() | texts,
        owner=st.none() | texts,
        role=st.none() | texts,
        metadata=metadatas,
    ),
    max_size=5,
)


class TestEveryRecord:
    @given(records)
    def test_comes_back_as_it_was(self, before: list[Record]) -> None:
        after = records_from_frame(records_frame(before))

        assert [repr_exact(each) for each in after] == [repr_exact(each) for each in before]

    @given(records)
    def test_can_be_sorted_grouped_counted_shown_and_exported(self, before: list[Record]) -> None:
        built = records_frame(before)
        for name in built:
            built.sort_values(name)
            built.groupby(name).size()
            built.drop_duplicates(name)
        built.nunique()
        built.to_html().encode()
        built.to_csv().encode()
        built.to_json(date_format="iso").encode()


def repr_exact(value: Any) -> Any:
    """Return a form in which equal means equal in type and value: NaN equals itself, 1 differs from True and 1.0."""
    if isinstance(value, Record):
        return {name: repr_exact(each) for name, each in vars(value).items()}
    if isinstance(value, dict):
        return {key: repr_exact(each) for key, each in value.items()}
    if isinstance(value, list):
        return [repr_exact(each) for each in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return f"{type(value).__name__} {value!r}"


class Page:
    """A store that can list, a hundred records or so at a time."""

    name = "pages"

    def __init__(self, records: list[Record]) -> None:
        self.records = records

    async def count(self, where: str = "") -> int:
        return len(self.records)

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Record]:
        return self.records[offset : offset + limit]

    async def get(self, id: str) -> Record | None:
        return None


class TestFrameOfAStore:
    async def test_holds_every_entry_in_insertion_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("memwb.frames.records.PAGE", 3)
        held = [record(str(at), f"text {at}") for at in range(7)]

        assert records_from_frame(await frame(Page(held))) == held

    async def test_b63_of_a_test_memory_store_gives_its_records_and_changes_no_file(self, tmp_path: Path) -> None:
        store = TestMemoryStore(name="odd", path=str(tmp_path / "odd.json"))
        # NaN, dates and decimals are refused, and so is a blank text.
        storable = [
            replace(each, content=each.content or "seven") for each in odd_records() if each.id not in ("4", "7")
        ]
        await store.add_many(storable)
        before = (tmp_path / "odd.json").read_bytes()

        back = records_from_frame(await frame(store))

        assert back == await store.page(0, 100)
        assert [(each.id, each.content, each.created_at, each.metadata) for each in back] == [
            (each.id, each.content, each.created_at, each.metadata) for each in storable
        ]
        assert (tmp_path / "odd.json").read_bytes() == before

    async def test_is_what_the_face_offers(self) -> None:
        assert memwb.frame is frame

    async def test_of_a_store_that_cannot_list_is_refused_in_words(self) -> None:
        class Vectors:
            name = "vectors"

        with pytest.raises(ConfigError, match=r"Vectors 'vectors' cannot list its entries.*trace\.to_frame\(\)"):
            await frame(Vectors())


class TestHitsFrame:
    def test_has_one_row_a_hit(self) -> None:
        hits = [
            Hit("notes", 1, 2, "a", MemoryEntry("more tea"), ("more", "tea"), True),
            Hit("notes", 2, 1, None, MemoryEntry("tea"), ("tea",), False, "max_entries"),
        ]

        assert hits_frame(hits).to_dict("records") == [
            {
                "store": "notes",
                "rank": 1,
                "score": 2,
                "id": "a",
                "content": "more tea",
                "matched": ("more", "tea"),
                "kept": True,
                "cut_by": None,
            },
            {
                "store": "notes",
                "rank": 2,
                "score": 1,
                "id": None,
                "content": "tea",
                "matched": ("tea",),
                "kept": False,
                "cut_by": "max_entries",
            },
        ]

    def test_keeps_its_columns_without_any_hit(self) -> None:
        empty = hits_frame([])

        assert list(empty.columns) == ["store", "rank", "score", "id", "content", "matched", "kept", "cut_by"]
        assert len(empty) == 0

    @pytest.mark.parametrize(
        ("scores", "dtype"), [([1, None], "Int64"), ([0.5, None], "float64"), ([None], "Int64"), ([1.0, 2], "Int64")]
    )
    def test_scores_are_numbers(self, scores: list[float | None], dtype: str) -> None:
        hits = [Hit("notes", at, score, None, MemoryEntry("tea")) for at, score in enumerate(scores, 1)]

        assert hits_frame(hits)["score"].dtype == dtype


# --- entries of sessions ----------------------------------------------------------------------------------------------

TIMES = st.one_of(st.floats(1.7e9, 1.9e9), st.integers(0, 2**31).map(float), st.floats(-1e12, 1e12))
ENTRIES = st.builds(
    SessionEntry,
    session_id=st.text(min_size=1),
    memory_id=st.uuids().map(str),
    user_id=st.text(min_size=1),
    role=st.sampled_from(["user", "assistant", "tool", "summary"]),
    content=st.text(),
    message_data=st.one_of(st.none(), st.just({}), st.dictionaries(st.text(), st.lists(st.none() | st.integers()))),
    created_at=TIMES,
    updated_at=TIMES,
)


@given(st.lists(ENTRIES, max_size=4))
def test_entries_of_sessions_come_back_equal(entries: list[SessionEntry]) -> None:
    shown = entries_frame(entries)

    assert entries_from_frame(shown) == entries
    assert list(shown.columns) == [
        *("memory_id", "session_id", "user_id", "role", "content", "message_data", "created_at", "updated_at")
    ]


def test_times_of_entries_are_timestamps_where_all_of_them_fit() -> None:
    entry = SessionEntry("s", "a", content="tea", created_at=1767225600.5, updated_at=1e-300)
    shown = entries_frame([entry])

    assert shown["created_at"].tolist() == [pd.Timestamp("2026-01-01T00:00:00.5", tz="UTC")]
    assert shown["updated_at"].tolist() == [1e-300]
    assert entries_from_frame(shown) == [entry]


async def test_a_store_of_sessions_is_a_frame_of_its_entries() -> None:
    store = InMemoryStore()
    data = {"tool_calls": [{"id": "k"}]}
    await store.add(SessionEntry("s2", "b", "ann", "assistant", "", data, 2.0, 2.0))
    await store.add(SessionEntry("s1", "a", "bob", "user", "tea", None, 1.0, 1.0))

    shown = await frame(store)
    assert shown["session_id"].tolist() == ["s1", "s2"]
    assert shown["message_data"].tolist() == [None, '{"tool_calls": [{"id": "k"}]}']
    assert entries_from_frame(shown) == [await store.get_entry("a"), await store.get_entry("b")]


def test_a_frame_of_ones_own_needs_contents_and_a_session() -> None:
    own = pd.DataFrame(
        {"content": ["tea", "jazz"], "role": ["user", None], "created_at": ["2026-01-01T00:00:00Z", NOON]}
    )

    with frozen():
        entries = entries_from_frame(own, "s", "ann")
    assert entries == [
        SessionEntry("s", "id-1", "ann", "user", "tea", None, 1767225600.0, 1767225600.0),
        SessionEntry("s", "id-2", "ann", "user", "jazz", None, NOON.timestamp(), 1767225600.0),
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"content": ["tea"]}, "Row 0: there is no session_id; give it as a column or an argument"),
        ({"session_id": ["s"]}, "The frame has no column 'content'"),
        ({"content": ["tea"], "usr_id": ["ann"]}, r"the column 'usr_id', .* Did you mean 'user_id'\?"),
        ({"content": [None], "session_id": ["s"]}, "Row 0: content is None; it must be a text"),
        ({"content": ["tea"], "session_id": [3]}, "Row 0: session_id is 3; it must be a text"),
        ({"content": ["tea"], "message_data": ["x"]}, "Row 0: message_data is 'x'; it must be a dict"),
        ({"content": ["tea"], "created_at": ["noon"]}, "Row 0: created_at is 'noon'; it must be a time"),
    ],
)
def test_what_no_entry_has_is_refused_by_row_and_column(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        entries_from_frame(pd.DataFrame(columns))


def test_a_list_of_sessions_is_a_frame() -> None:
    shown = sessions_frame([SessionInfo("s", "ann", 3, 1767225600.0, 1767225601.5)])

    first, last = pd.Timestamp("2026-01-01", tz="UTC"), pd.Timestamp("2026-01-01T00:00:01.5", tz="UTC")
    assert shown.to_dict("records") == [{"session_id": "s", "user_id": "ann", "count": 3, "first": first, "last": last}]
    assert list(sessions_frame([]).columns) == ["session_id", "user_id", "count", "first", "last"]


@pytest.mark.parametrize("page", [[1, 2], 5, [MemoryEntry("Tea is green.")], "x"])
async def test_a_store_that_lists_no_records_is_named(page):
    class Odd:  # what Listable asks for
        name = "odd"

        async def count(self, where=""):
            return 2

        async def page(self, offset, limit, sort=None, where=""):
            return page

        async def get(self, id):
            return None

    with pytest.raises(ConfigError, match=r"frame: store 'odd' listed .* must return a list of records") as caught:
        await frame(Odd())
    assert caught.value.key == "store"


@pytest.mark.parametrize("depth", [100, 500, 900])
@pytest.mark.parametrize("inside", ["dict", "list"])
async def test_metadata_of_a_foreign_file_may_nest_deep(depth, inside, tmp_path):
    nested = '{"a": ' * depth + "1" + "}" * depth
    metadata = nested if inside == "dict" else f'{{"k": [{nested}]}}'
    record = f'{{"id": "r1", "content": "tea", "createdAt": "2026-01-01T00:00:00.000Z", "metadata": {metadata}}}'
    tmp_path.joinpath("deep.json").write_text(f"[{record}]")
    store = TestMemoryStore(name="deep", path=tmp_path / "deep.json")

    shown = await frame(store)
    assert list(shown["content"]) == ["tea"]
    [back] = records_from_frame(shown)
    assert depth_of(back.metadata) == depth + 2 * (inside == "list")


def depth_of(value):
    levels = 0
    while isinstance(value, dict | list):
        value, levels = next(iter(value.values() if isinstance(value, dict) else value)), levels + 1
    return levels
