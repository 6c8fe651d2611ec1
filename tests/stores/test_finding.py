"""Searching gives what a plain scan of the records gives, however often, after whatever was written in between."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwb.ranking import Index, Tokenizer, rank, tokenize
from memwb.stores import TestMemoryStore
from memwb.testing import FrozenClock, SequentialIds

from .conftest import StoreFile


def letters(text: str) -> list[str]:
    return list(text.lower())


async def scanned(store: TestMemoryStore, query: str, tokenizer: Tokenizer) -> list[tuple[str, int]]:
    """Rank all records as documented, one by one."""
    assert store.path is not None
    text = store.path.read_text("utf-8") if store.path.exists() else ""
    records = json.loads(text) if text else []
    ranking = rank(set(tokenizer(query)), [(tokenizer(record["content"]), record["createdAt"]) for record in records])
    return [(records[place]["id"], score) for place, score in ranking]


WORDS = ["tea", "Tea", "green", "black", "the", "is", "C++", "乌龙茶", "naïve", "İzmir", "a\0b", "don't"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
times = st.sampled_from(["2025-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z", "2031-01-01", "some day"])
adds = st.tuples(st.just("add"), texts)
bulks = st.tuples(st.just("bulk"), st.lists(st.tuples(texts, times), max_size=3))
foreign = st.tuples(st.sampled_from(["append", "rewrite", "first"]), texts, times)
queries = st.tuples(st.just("search"), texts)


@settings(max_examples=150)
@given(steps=st.lists(adds | bulks | foreign | queries | queries, max_size=14), custom=st.booleans())
async def test_every_search_equals_a_scan_of_the_file(steps: list[tuple[Any, ...]], custom: bool) -> None:
    tokenizer: Tokenizer = letters if custom else tokenize
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "notes.json")
        store = TestMemoryStore(
            name="notes",
            path=path,
            tokenizer=tokenizer,
            clock=FrozenClock("2030-01-01T00:00:00Z"),
            new_id=SequentialIds(),
        )
        for number, (kind, *more) in enumerate(steps):
            if kind == "add":
                await store.add(more[0])
            elif kind == "bulk":
                given_ids = [f"{number}.{n}" for n in range(len(more[0]))]
                items = [
                    {"content": text, "createdAt": time if time != "some day" else None, "id": id}
                    for (text, time), id in zip(more[0], given_ids, strict=True)
                ]
                await store.add_many(items)  # type: ignore[arg-type]
            elif kind == "search":
                pass
            else:
                write_as_foreign(path, kind, {"id": f"foreign {number}", "content": more[0], "createdAt": more[1]})
            query = more[0] if kind == "search" else "tea the 乌龙茶"
            expected = await scanned(store, query, tokenizer)
            found = await store.search(query, {"max_search_results": 4})
            assert [(entry.id, (entry.metadata or {})["_relevanceScore"]) for entry in found] == expected[:4]
            assert await store.count_matches(query) == len(expected)
            for id in ("foreign 1", expected[-1][0] if expected else ""):
                best = await store.best_match(query, id=id)
                ranks = [place for place, (other, _) in enumerate(expected, 1) if other == id]
                assert ([] if best is None else [best[0]]) == ranks
                assert best is None or best[1].id == id


def write_as_foreign(path: Path, kind: str, record: dict[str, Any]) -> None:
    """Change the file as an SDK or an editor may: add at the end, at the start, or in another layout."""
    records = json.loads(path.read_text("utf-8")) if path.exists() else []
    records = [record, *records] if kind == "first" else [*records, record]
    indent = 1 if kind == "rewrite" else 2
    path.write_text(json.dumps(records, indent=indent, ensure_ascii=kind == "rewrite"), "utf-8")


async def test_another_tokenizer_counts_from_the_next_search_on() -> None:
    store = TestMemoryStore.from_records(["green tea", "abc"], name="notes")
    for _ in range(3):
        assert await store.search("a tree") == []
    store.tokenizer = letters
    assert [entry.content for entry in await store.search("a tree")] == ["green tea", "abc"]
    store.tokenizer = tokenize
    assert await store.search("a tree") == []


async def test_what_a_foreign_program_adds_at_the_end_is_all_that_is_read(file: StoreFile, monkeypatch: Any) -> None:
    from memwb.stores import _records

    store = file.store()
    await store.add_many([f"tea {number}" for number in range(50)])
    await store.search("tea")
    read: list[int] = []
    cut = _records.cut
    monkeypatch.setattr(_records, "cut", lambda data: (read.append(len(data)), cut(data))[1])
    foreign = [*file.records(), {"id": "f", "content": "foreign ü 茶", "createdAt": "2039", "metadata": {"n": 2**70}}]
    file.write(json.dumps(foreign, indent=2))
    assert [entry.content for entry in await store.search("foreign tea")][:2] == ["foreign ü 茶", "tea 49"]
    assert read == [len(file.bytes()) - file.bytes().rindex(b",\n  {")]
    await store.add("coffee")
    expected = [*foreign, file.records()[-1]]
    assert file.bytes() == json.dumps(expected, indent=2, ensure_ascii=False).encode()
    (record,) = await store.page(50, 1)
    assert record.metadata == {"n": 2**70}


async def test_old_bytes_are_kept_only_where_this_program_would_write_the_same(file: StoreFile) -> None:
    record = {"id": "r1", "content": "tea ü", "createdAt": "2026-01-01T00:00:00.000Z", "metadata": {"n": 1e-05}}
    for text in (
        json.dumps([record, {**record, "id": "r2"}], indent=2),  # escaped
        json.dumps([record], indent=2, ensure_ascii=False).replace("1e-05", "0.00001"),
        json.dumps([record], indent=2, ensure_ascii=False) + "\n",
        json.dumps([record], indent=2, ensure_ascii=False).replace('": ', '" : '),
        json.dumps([record], indent=2, ensure_ascii=False).replace('"id": "r1"', '"id": "r0",\n    "id": "r1"'),
        json.dumps([record], indent=2, ensure_ascii=False),
    ):
        file.write(text)
        store = file.store()
        before = [dict(entry) for entry in json.loads(text)]
        await store.search("tea")
        await store.add("coffee")
        await store.add("water")
        records = file.records()
        assert records[:-2] == before
        assert file.bytes() == json.dumps(records, indent=2, ensure_ascii=False).encode()
        os.remove(file.path)


async def test_braces_that_only_look_like_the_layout_are_no_records(file: StoreFile) -> None:
    nested = (
        '[\n  {\n    "id": "r1", "content": "tea", "createdAt": "", "x": [\n  {\n    "id": "r2"\n  },\n  {\n'
        '    "id": "r3"\n  }\n]}, {"id": "r4", "content": "coffee", "createdAt": "", "y": {\n  }\n  }\n]'
    )
    file.write(nested)
    store = file.store()
    assert [record.id for record in await store.page(0, 9)] == ["r1", "r4"]
    await store.add("water")
    assert [record["content"] for record in file.records()] == ["tea", "coffee", "water"]
    assert file.records()[0]["x"] == [{"id": "r2"}, {"id": "r3"}]


async def test_records_that_no_search_has_seen_yet_can_be_edited() -> None:
    store = TestMemoryStore.from_records(["tea 0"], name="notes", new_id=SequentialIds())
    for _ in range(3):
        await store.search("tea")
    for number in range(1, 5):
        await store.add(f"tea {number}")
    await store.update("id-4", content="coffee 3")
    await store.delete("id-3")
    assert [entry.content for entry in await store.search("tea 3")] == ["tea 4", "coffee 3", "tea 1", "tea 0"]
    assert await store.count_matches("2") == 0


async def test_an_edit_does_not_fail_because_a_tokenizer_does() -> None:
    def picky(text: str) -> set[str]:
        if "bad" in text:
            raise ValueError("I cannot take this")
        return tokenize(text)

    store = TestMemoryStore.from_records(["tea", "coffee"], name="notes", tokenizer=picky, new_id=SequentialIds())
    await store.search("tea")
    await store.update("id-1", content="bad tea")
    with pytest.raises(ValueError, match="I cannot take this"):
        await store.search("coffee")
    await store.delete("id-1")
    assert [entry.content for entry in await store.search("coffee")] == ["coffee"]


async def test_integers_beyond_64_bits_are_exact_at_every_reading(file: StoreFile) -> None:
    record = {"id": "r1", "content": "tea", "createdAt": "2026-01-01T00:00:00.000Z", "metadata": {"n": 2**64, "f": 0.5}}
    others = [{**record, "id": f"o{n}", "content": f"coffee {n}", "metadata": {"n": -n}} for n in range(200)]
    file.write(json.dumps([*others, record], indent=2))
    store = file.store()
    for _ in range(3):
        (entry,) = await store.search("tea")
        assert entry.metadata == {"n": 2**64, "f": 0.5, "_relevanceScore": 1}
        assert (await store.page(200, 1))[0].metadata == record["metadata"]
    await store.update("r1", metadata={"n": 2**65})
    await store.add("water", {"n": 2**66})
    await store.delete("o3")
    for opened in (store, file.store()):
        assert [record.metadata for record in await opened.page(199, 9)] == [{"n": 2**65}, {"n": 2**66}]


async def test_the_first_query_looks_for_few_words_and_not_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each word is looked for in all contents: a pasted page of text would hold the loop for minutes."""
    sought: list[int] = []
    looked_up = Index.of_some
    monkeypatch.setattr(Index, "of_some", lambda wanted, *rest: sought.append(len(wanted)) or looked_up(wanted, *rest))
    few, many = "tea 1 2 3", " ".join(["tea", *map(str, range(1000))])
    for query in (few, many, few):
        store = TestMemoryStore.from_records(["green tea 7", "black tea", "milk"], name="notes")
        assert len(await store.search(query)) == 2
    assert sought == [4, 4]
