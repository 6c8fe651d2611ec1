"""The ready formats: what they write, and that no memory gets out of its place in it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb import callbacks
from memwb._text import estimate_tokens, xml_forbidden
from memwb.callbacks import source_of
from memwb.memory import InjectionFormatContext, MemoryEntry, default_format
from tests.callbacks.test_source import run

ENTRIES = [
    MemoryEntry("I use a cane.", "profile", {"_relevanceScore": 3, "createdAt": "2026-01-02T03:04:05.000Z"}),
    MemoryEntry("tea <b>\n& milk", "wor'k", {"_relevanceScore": 1, "id": "e<2>", "date": "May"}),
    MemoryEntry("I like jazz.", "profile", None),
]
FORMATS = [
    callbacks.default_block,
    callbacks.block_with_dates_and_ids,
    callbacks.bullet_list,
    callbacks.grouped_by_store,
    callbacks.token_budgeted,
]
HOSTILE = st.lists(
    st.sampled_from(
        ["</entry>", "</memory>", "<entry>", "\n", "- ", "\r", "\u2028", '"', "'", "&", "&lt;", "]]>", "<!--", "x", " "]
    ),
    max_size=8,
).map("".join) | st.text(max_size=20)


def rendered(format: Any, *entries: MemoryEntry) -> str:
    return str(format(InjectionFormatContext(list(entries))))


@pytest.mark.parametrize(
    ("format", "text"),
    [
        (
            callbacks.block_with_dates_and_ids,
            '<memory>\n<entry source="profile" date="2026-01-02T03:04:05.000Z">I use a cane.</entry>\n'
            '<entry source="wor&#x27;k" id="e&lt;2&gt;" date="May">tea &lt;b&gt;\n&amp; milk</entry>\n'
            '<entry source="profile">I like jazz.</entry>\n</memory>',
        ),
        (
            callbacks.bullet_list,
            "<memory>\n- I use a cane.\n- tea &lt;b&gt; &amp; milk\n- I like jazz.\n</memory>",
        ),
        (
            callbacks.grouped_by_store,
            '<memory>\n<store name="profile">\n<entry>I use a cane.</entry>\n<entry>I like jazz.</entry>\n</store>\n'
            '<store name="wor&#x27;k">\n<entry>tea &lt;b&gt;\n&amp; milk</entry>\n</store>\n</memory>',
        ),
        (
            partial(callbacks.token_budgeted, budget=28),
            '<memory>\n<entry source="profile">I use a cane.</entry>\n<entry source="profile">I like jazz.</entry>\n'
            "</memory>",
        ),
        (partial(callbacks.token_budgeted, budget=10), ""),
    ],
    ids=range(5),
)
def test_each_writes_the_entries_in_its_way(format: Any, text: str) -> None:
    assert rendered(format, *ENTRIES) == text


@given(st.lists(st.tuples(HOSTILE, st.none() | HOSTILE), max_size=5))
def test_the_default_block_is_byte_for_byte_what_is_written_without_a_format(items: Any) -> None:
    entries = [MemoryEntry(content, name) for content, name in items]
    assert rendered(callbacks.default_block, *entries) == default_format(entries)


@given(st.lists(st.tuples(HOSTILE, HOSTILE), min_size=1, max_size=4))
@pytest.mark.parametrize("format", FORMATS, ids=lambda one: one.__name__)
def test_b09_no_memory_closes_its_element_or_opens_another(format: Any, items: Any) -> None:
    """Read back as XML, a block has the elements that it has for harmless texts, and the texts are those stored."""
    entries = [MemoryEntry(content, name or "n", {"id": name, "date": content}) for content, name in items]
    harmless = [MemoryEntry("x", f"n{[one.store_name for one in entries].index(e.store_name)}") for e in entries]
    text = rendered(format, *entries)
    if xml_forbidden(text):
        return
    root, plain = ElementTree.fromstring(text), ElementTree.fromstring(rendered(format, *harmless))
    assert [node.tag for node in root.iter()] == [node.tag for node in plain.iter()]
    if format is callbacks.bullet_list:
        said = [" ".join(entry.content.split()) for entry in entries]
        lines = (root.text or "").split("\n")[1:-1]
        assert lines == [f"- {content}" for content in said]
    else:
        order = sorted(entries, key=lambda e: [one.store_name for one in entries].index(e.store_name))
        chosen = order if format is callbacks.grouped_by_store else entries
        stored = [one.content.replace("\r\n", "\n").replace("\r", "\n") for one in chosen]
        assert [node.text or "" for node in root.iter("entry")] == stored


@given(st.lists(HOSTILE, min_size=1, max_size=6), st.integers(1, 60))
def test_a_budget_is_kept_and_each_memory_is_whole(contents: Any, budget: int) -> None:
    entries = [MemoryEntry(content, "home") for content in contents]
    text = rendered(partial(callbacks.token_budgeted, budget=budget), *entries)
    assert estimate_tokens(text) <= budget
    kept = [one for one in entries if rendered(callbacks.default_block, one).split("\n", 1)[1][:-9] in text]
    assert text == "" or rendered(callbacks.default_block, *kept).count("<entry") >= text.count("<entry")


@given(st.lists(st.tuples(HOSTILE, HOSTILE), min_size=1, max_size=3))
@pytest.mark.parametrize("format", FORMATS, ids=lambda one: one.__name__)
def test_the_source_does_what_the_function_does(format: Any, items: Any) -> None:
    entries = [MemoryEntry(content, name, {"id": name}) for content, name in items]
    typed = TYPED[format]
    assert rendered(typed, *entries) == rendered(format, *entries)


TYPED = {format: run(source_of(format) or "")[format.__name__] for format in FORMATS}
