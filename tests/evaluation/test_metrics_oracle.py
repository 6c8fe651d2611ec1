"""Every figure of a ranking is that of ir_measures, the common reference, on rankings made up by lot."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from memwb.evaluation import metrics

ir_measures = pytest.importorskip("ir_measures", reason="the reference is in the extra `test`, not in `unit`")

CUTOFFS = (1, 3, 5, 10)
Topic = tuple[list[str], set[str]]


def topics(seed: int, number: int = 300) -> dict[str, Topic]:
    """Return rankings and what was expected, by name: short, long, empty, without anything expected, or found."""
    lot = random.Random(seed)
    made = {}
    for at in range(number):
        entries = [f"e{number}" for number in range(lot.choice([1, 5, 30]))]
        ranking = lot.sample(entries, lot.randint(0, len(entries)))
        expected = set(lot.sample(entries, min(len(entries), lot.choice([0, 1, 1, 2, 7]))))
        made[f"t{at}"] = ranking, expected | ({"elsewhere"} if lot.random() < 0.1 else set())
    return made


def reference(made: dict[str, Topic]) -> dict[str, dict[str, float]]:
    """Return what ir_measures says: topic -> figure -> value. The score is minus the rank: it breaks ties by id."""
    names = {"recall": ir_measures.R, "precision": ir_measures.P, "hit": ir_measures.Success, "ndcg": ir_measures.nDCG}
    measures = {str(measure @ k): f"{name}@{k}" for name, measure in names.items() for k in CUTOFFS}
    measures[str(ir_measures.RR)] = "rr"
    judged = {topic: dict.fromkeys(expected, 1) for topic, (_, expected) in made.items() if expected}
    run = {topic: {id: -float(rank) for rank, id in enumerate(ranking)} for topic, (ranking, _) in made.items()}
    found: dict[str, dict[str, float]] = {}
    for figure in ir_measures.iter_calc([ir_measures.parse_measure(name) for name in measures], judged, run):
        found.setdefault(figure.query_id, {})[measures[str(figure.measure)]] = figure.value
    return found


def ours(ranking: Sequence[str], expected: set[str]) -> dict[str, float | None]:
    figures = {
        f"{name}@{k}": metric(ranking, expected, k)
        for name, metric in (
            ("recall", metrics.recall),
            ("precision", metrics.precision),
            ("hit", metrics.hit_rate),
            ("ndcg", metrics.ndcg),
        )
        for k in CUTOFFS
    }
    return {**figures, "rr": metrics.reciprocal_rank(ranking, expected)}


@pytest.mark.parametrize("seed", range(5))
def test_every_figure_is_that_of_the_reference(seed: int) -> None:
    made = topics(seed)
    known = reference(made)

    assert len(known) > 200
    for topic, figures in known.items():
        assert ours(*made[topic]) == pytest.approx(figures)
    empty = [topic for topic in known if not made[topic][0]]
    assert empty
    assert all(set(known[topic].values()) == {0.0} for topic in empty)


@pytest.mark.parametrize("seed", range(5))
def test_where_only_places_are_known_the_figures_are_the_same(seed: int) -> None:
    for ranking, expected in topics(seed).values():
        places = [place for place, id in enumerate(ranking, 1) if id in expected]

        assert metrics.figures_at(places, len(expected), CUTOFFS) == ours(ranking, expected)


def test_without_anything_expected_the_reference_says_nothing_and_the_figures_are_none() -> None:
    made = topics(9)
    idle = {topic for topic, (_, expected) in made.items() if not expected}

    assert idle
    assert idle.isdisjoint(reference(made))
    assert {value for topic in idle for value in ours(*made[topic]).values()} == {None}


def test_the_means_are_those_of_the_reference() -> None:
    made = {topic: each for topic, each in topics(11).items() if each[1]}
    known = reference(made)
    for figure in ("recall@5", "ndcg@10", "rr"):
        mean = sum(ours(*each)[figure] or 0 for each in made.values()) / len(made)
        assert mean == pytest.approx(sum(each[figure] for each in known.values()) / len(known))
