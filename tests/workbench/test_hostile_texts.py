"""Texts that would break a page or a file stay texts: in comparisons, differences, checks, stills and snapshots."""

from __future__ import annotations

import re

import pytest

import memwb
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.still import still
from tests.widgets.test_hostile import Page

TEXTS = {
    "a script": "</pre><script>alert(1)</script> cane",
    "an attribute": "cane' onclick='x' \" onerror=\"y",
    "a comment": "]]> --> <!-- cane",
    "turned around": "\u202egnp.cane\u202c \u2066x",
    "NUL and escape": "a\x00b \x1b[31m cane",
    "separators": "cane\u2028\u2029\x85 lines",
    "marks": "cane" + "\u0301" * 4_000,
    "a megabyte": "cane and " * 110_000,
}
_HIDDEN = re.compile("[\x00\x1b\u202a-\u202e\u2066-\u2069]")


def check(html):
    """Fail where a text became an element, an attribute, or a sign that a page hides; or is sent as a whole."""
    page = Page(html)
    assert not page.tags & {"script", "img"}
    assert not {name for name in page.attributes if name.startswith("on")}
    assert not _HIDDEN.search(html)
    assert len(html.encode()) < 100_000


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_a_hostile_text_stays_a_text_and_comes_back_from_a_snapshot(text, tmp_path):
    store = TestMemoryStore(name="notes", path=tmp_path / "notes.json")
    await store.add_many([{"content": text, "metadata": {"k": text[:99], text[:50]: 1}}, {"content": "my cane is oak"}])
    state = WorkbenchState([store], f"cane? {text[:500]}", editable=True)
    await state.settled()
    state.arms.pin(text[:60])
    await state.set(query=lambda context: "oak")
    compared = await state.arms.compare(placements=True)
    check(compared._repr_html_())
    assert not compared.empty
    await state.set(query=None)
    check(still(state).html)

    again = WorkbenchState(await memwb.snapshot(state, tmp_path / "kept"))
    await again.settled()
    assert await again.source.stores[0].page(0, 9) == await store.page(0, 9)
    assert (again.messages, list(again.arms.pinned)) == (state.messages, [text[:60]])

    before = store.path.read_bytes()
    (record, _) = await store.page(0, 2)
    await state.entries.put(edit={record.id: f"{text} x"}, add=[f"new {text}"])
    check(state.entries.diff()._repr_html_())
    assert len(repr(state.entries.diff())) < 30_000
    await state.entries.write()
    check((await state.entries.health())._repr_html_())
    await state.entries.undo()
    assert store.path.read_bytes() == before
