"""Times are written as JavaScript writes them, and time and ids have one pair of sources."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb import _time
from memwb._time import new_id, now, overridden, parse_stamp, stamp


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 678_999, tzinfo=UTC), "2026-01-02T03:04:05.678Z"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))), "2026-01-02T01:04:05.000Z"),
        (datetime(7, 1, 1, tzinfo=UTC), "0007-01-01T00:00:00.000Z"),
    ],
)
def test_a_stamp_is_in_utc_cut_to_the_millisecond(time: datetime, text: str) -> None:
    assert stamp(time) == text


def test_a_time_without_a_zone_has_no_stamp() -> None:
    with pytest.raises(ValueError, match="2026-01-01T00:00:00 has no time zone"):
        stamp(datetime(2026, 1, 1))


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_stamp_read_back_is_the_time_to_the_millisecond(time: datetime) -> None:
    assert parse_stamp(stamp(time)) == time.replace(microsecond=time.microsecond // 1000 * 1000)


@given(st.lists(st.datetimes(timezones=st.just(UTC)), min_size=2, max_size=2))
def test_stamps_sort_as_their_times(times: list[datetime]) -> None:
    first, second = (time.replace(microsecond=time.microsecond // 1000 * 1000) for time in times)
    assert (stamp(first) < stamp(second)) == (first < second)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05.678901+02:00", datetime(2026, 1, 2, 1, 4, 5, 678901, tzinfo=UTC)),
        ("2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02", datetime(2026, 1, 2, tzinfo=UTC)),
    ],
)
def test_other_forms_of_iso_8601_are_read_too(text: str, time: datetime) -> None:
    assert parse_stamp(text) == time
    assert parse_stamp(text).utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "9999-12-31T23:59:59-10:00", "0001-01-01T00:00:00+10:00"]
)
def test_what_is_no_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="is no time in ISO 8601 form"):
        parse_stamp(text)


def test_the_time_is_aware_and_ids_differ() -> None:
    assert abs(datetime.now(UTC) - now()) < timedelta(minutes=1)
    ids = {new_id() for _ in range(100)}
    assert len(ids) == 100
    assert {(str(uuid.UUID(id)), uuid.UUID(id).version, uuid.UUID(id).variant) for id in ids} == {
        (id, 4, uuid.RFC_4122) for id in ids
    }


def test_other_sources_hold_for_a_block_and_not_after_it() -> None:
    time = datetime(2026, 1, 1, tzinfo=UTC)
    before = _time._sources
    with overridden(lambda: time, lambda: "outer"):
        with overridden(lambda: time, lambda: "inner"):
            assert (now(), new_id()) == (time, "inner")
        assert new_id() == "outer"
    assert _time._sources is before


def test_an_error_in_the_block_brings_the_sources_back_too() -> None:
    before = _time._sources
    with pytest.raises(ZeroDivisionError), overridden(lambda: datetime(2026, 1, 1, tzinfo=UTC), lambda: "inner"):
        print(1 // 0)
    assert _time._sources is before
