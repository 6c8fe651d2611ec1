"""TestMemoryStore against the installed Strands Agents SDK's: same ids, ranking, scores and file, byte for byte.

Where the two differ on purpose, no case is drawn. The SDK (1.48.0 and 1.62.0 alike) writes NaN and infinity, turns
number keys into texts, and fails with a bare UnicodeEncodeError on lone surrogates; 1.48.0 stores metadata that is no
object, after which 1.62.0 cannot read the file; both accept a limit of True, and
neither reads a file of length 0. memwb refuses all of these in words.
The SDK's createdAt can repeat or go back with the clock, memwb's cannot: here the clock advances at each add.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwb._files import safe_name
from memwb._time import stamp
from memwb.stores import TestMemoryStore

sdk = pytest.importorskip(
    "strands.vended_memory_stores.test_memory_store.store", reason="strands-agents is not installed"
)

WORDS = (
    "tea Tea TEA green black coffee that the is of cup cups don't e-mail snake_case 3.14 C++ İzmir izmir "
    "Weißwein WEISSWEIN Zoë Zoe\u0308 乌龙茶 東京 등산 กาแฟ 🍣 ﬁne \u0130 ǅ ΟΔΟΣ οδος ²3 a\u200db \x00 naïve"
).split(" ")
BLANKS = (" ", "  ", "\n", "\t", "\u2003", "\u00a0", "\x1c", "\u2028", ", ", "-", "_", "'", ".")

plain_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = st.lists(st.sampled_from(WORDS) | plain_text, max_size=7).flatmap(
    lambda parts: st.sampled_from(BLANKS).map(lambda blank: blank.join(parts))
)
texts = st.builds(
    lambda before, text, after: before + text + after, st.sampled_from(("", " ", "\n")), words, st.just("")
)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([2**70, 1e-05, 1e16, -0.0])
values = st.recursive(
    st.none() | st.booleans() | numbers | plain_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_text, inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(["topic", "n", "_relevanceScore", ""]) | plain_text
metadata = st.none() | st.dictionaries(keys, values, max_size=3)

adds = st.tuples(st.just("add"), texts, metadata)
searches = st.tuples(st.just("search"), texts, st.sampled_from([None, None, 1, 2, 3, 50]))
times = st.datetimes(datetime(2020, 1, 1), datetime(2029, 1, 1)).map(lambda time: stamp(time.replace(tzinfo=UTC)))


@st.composite
def foreign_files(draw: st.DrawFn) -> bytes:
    """A file as another program may have written it: foreign fields, odd times, repeated contents, any layout."""
    records = []
    for number in range(draw(st.integers(0, 5))):
        record: dict[str, Any] = {
            "id": f"foreign {number}",
            "content": draw(texts),
            "createdAt": draw(times | st.sampled_from(["", "some day", "2025-01-01T00:00:00Z"])),
        }
        if draw(st.booleans()):
            record["metadata"] = draw(metadata)
        record |= draw(st.dictionaries(st.sampled_from(["updatedAt", "x"]), values, max_size=1))
        order = draw(st.permutations(list(record)))
        records.append({key: record[key] for key in order})
    text = json.dumps(records, indent=draw(st.sampled_from([None, 0, 2, 4])), ensure_ascii=draw(st.booleans()))
    return text.encode()


@dataclass
class Turn:
    """The time and id of the current step, for both stores; a step takes a millisecond or more."""

    number: int = 0
    time: datetime = field(default_factory=lambda: datetime(2030, 1, 1, tzinfo=UTC))

    def next(self) -> None:
        self.number += 1
        self.time += timedelta(milliseconds=1 + self.number * 7 % 1000)

    def new_id(self) -> str:
        return f"id {self.number}"

    def now(self) -> str:
        return f"{self.time.strftime('%Y-%m-%dT%H:%M:%S')}.{self.time.microsecond // 1000:03d}Z"


async def outcome(step: tuple[Any, ...], store: Any) -> Any:
    """Do one step and return what came of it, in a form that both stores share."""
    kind, text, more = step
    try:
        if kind == "add":
            return (await store.add(text, more)).id
        options = {} if more is None else {"max_search_results": more}
        found = await store.search(text, options)
        return [(entry.content, repr(entry.metadata), entry.store_name) for entry in found]
    except ValueError:
        return "refused"


def bytes_of(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


@settings(max_examples=700)
@given(
    steps=st.lists(adds | searches, max_size=14),
    start=st.none() | foreign_files(),
    limit=st.sampled_from([None, None, 2]),
    persist=st.booleans() | st.just(True),
)
def test_both_stores_answer_rank_and_write_the_same(
    steps: list[tuple[Any, ...]], start: bytes | None, limit: int | None, persist: bool
) -> None:
    turn = Turn()

    async def compare(theirs: Path, ours: Path) -> None:
        config = {"name": "notes", "max_search_results": limit, "persist": persist}
        reference = sdk.TestMemoryStore(**config, path=str(theirs))
        store = TestMemoryStore(**config, path=str(ours), clock=lambda: turn.time, new_id=turn.new_id)  # type: ignore[arg-type]
        for step in steps:
            turn.next()
            assert await outcome(step, store) == await outcome(step, reference)
            assert bytes_of(ours) == bytes_of(theirs)

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(sdk, "_new_id", turn.new_id),
        mock.patch.object(sdk, "_now", turn.now),
    ):
        theirs, ours = Path(folder, "theirs.json"), Path(folder, "ours.json")
        if start is not None:
            theirs.write_bytes(start)
            ours.write_bytes(start)
        asyncio.run(compare(theirs, ours))


@settings(max_examples=500)
@given(st.text() | st.lists(st.sampled_from(["..", "/", "\\", ".", "a", "é", "日", " ", "_"])).map("".join))
def test_both_stores_make_the_same_file_name_of_a_name(name: str) -> None:
    assert safe_name(name) == sdk._sanitize_name(name)


async def test_each_store_reads_what_the_other_wrote(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    await TestMemoryStore(name="notes", path=path).add("naïve tea 🍣", {"n": 2**70, "f": 1e-05, "t": [1]})
    await sdk.TestMemoryStore(name="notes", path=str(path)).add("black tea", {})
    for store in (TestMemoryStore(name="notes", path=path), sdk.TestMemoryStore(name="notes", path=str(path))):
        found = await store.search("tea")
        assert sorted((entry.content, repr(entry.metadata)) for entry in found) == [
            ("black tea", "{'_relevanceScore': 1}"),
            ("naïve tea 🍣", "{'n': 1180591620717411303424, 'f': 1e-05, 't': [1], '_relevanceScore': 1}"),
        ]


@pytest.mark.parametrize(
    "config",
    [{"name": " "}, {"name": "a", "path": ""}, {"name": "a", "path": " "}, {"name": "a", "max_search_results": 0}],
)
def test_both_stores_refuse_the_same_settings(config: dict[str, Any]) -> None:
    for build in (TestMemoryStore, sdk.TestMemoryStore):
        with pytest.raises(ValueError, match=r"^TestMemoryStore: "):
            build(**config)
