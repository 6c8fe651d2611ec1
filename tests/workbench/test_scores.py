"""What scores mean, how they are spread, and when hits were written."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memwb.memory import Hit, MemoryEntry
from memwb.stores import TestMemoryStore
from memwb.workbench.scores import BINS, Bin, dates, histogram, meaning
from memwb.workbench.state import WorkbenchState


def hit(score, kept=False):
    return Hit("notes", 1, score, None, MemoryEntry("text"), kept=kept)


def test_few_different_scores_have_a_bin_each_the_highest_first():
    bins = histogram([hit(3, kept=True), hit(1), hit(1), hit(2, kept=True), hit(None), hit(float("nan"))])
    assert bins == (Bin(3, 3, 1, 1), Bin(2, 2, 1, 1), Bin(1, 1, 2, 0))
    assert [each.sentence for each in bins] == [
        "score 3: 1 hit, 1 kept",
        "score 2: 1 hit, 1 kept",
        "score 1: 2 hits, 0 kept",
    ]


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.booleans()), max_size=40))
def test_each_hit_is_in_one_bin_and_the_bins_do_not_overlap(scored):
    bins = histogram([hit(score, kept) for score, kept in scored])
    assert len(bins) <= BINS
    assert sum(each.hits for each in bins) == len(scored)
    assert sum(each.kept for each in bins) == sum(kept for _, kept in scored)
    edges = [edge for each in bins for edge in (each.high, each.low)]
    assert edges == sorted(edges, reverse=True)


class Distances:
    """A store of somebody else's."""

    name, description, max_search_results, writable, extraction = "far", None, None, False, None
    score_kind = "distance"

    async def search(self, query, options=None):
        return [MemoryEntry("tea", metadata={"_relevanceScore": 0.1})]


async def test_each_store_says_what_its_scores_are():
    notes = TestMemoryStore.from_records(["tea"], name="notes")
    assert meaning(WorkbenchState(notes, "tea")) == "words of the query that an entry holds: higher is nearer"
    several = WorkbenchState([notes, Distances()], "tea")
    assert meaning(several) == (
        "notes: words of the query that an entry holds: higher is nearer; far: distance from the query: lower is nearer"
    )
    await several.set(stores=["far"])
    assert meaning(several) == "distance from the query: lower is nearer"


async def test_dates_are_those_of_the_records_and_a_store_that_fails_gives_none():
    written = datetime(2026, 3, 1, 12, tzinfo=UTC)
    notes = TestMemoryStore.from_records([{"content": "tea", "createdAt": written}], name="notes")
    state = WorkbenchState(notes, "tea")
    await state.settled()
    (found,) = state.preview.hits
    assert await dates(state, state.preview.hits) == {("notes", found.id): written}

    async def fail(id):
        raise RuntimeError("down")

    notes.get = fail
    assert await dates(state, state.preview.hits) == {}
