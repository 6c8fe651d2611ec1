"""Each measurement of the benchmark runs, on little data, and nothing is timed; its data are the same everywhere."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from memwb.ranking import tokenize
from tests.benchmarks import data, figures, tables
from tests.benchmarks.limits import FIGURES
from tests.benchmarks.sides import SIDES
from tests.benchmarks.worker import MEASURES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data")
    for seed in range(2):
        data.made(path, 60, seed)
    return path


def test_the_data_are_as_the_benchmark_says() -> None:
    records = list(data.records(2000))
    lengths = [len(record["content"].split()) for record in records]
    assert (min(lengths) >= 8, max(lengths) <= 40, 20 <= sum(lengths) / 2000 <= 22) == (True, True, True)
    commonest = Counter(word for record in records for word in tokenize(record["content"])).most_common(1)[0][1]
    assert 0.5 <= commonest / 2000 <= 0.7
    assert 0.65 <= sum("metadata" in record for record in records) / 2000 <= 0.75
    assert all(3 <= len(query.split()) <= 8 for query in data.queries())


def test_the_data_are_the_same_in_every_run() -> None:
    made = json.dumps([list(data.records(50)), data.queries()]).encode()
    assert hashlib.sha256(made).hexdigest()[:12] == "0202dc6cce89"


def test_every_figure_has_a_measurement() -> None:
    assert {figure.measure for figure in FIGURES} <= MEASURES.keys()


@pytest.mark.parametrize("side", ["memwb", "pandas"])
async def test_every_measurement_gives_samples(side: str, folder: Path, tmp_path: Path) -> None:
    measures = tables.MEASURES if side == "pandas" else MEASURES

    async def samples(name: str) -> int:
        scratch = tmp_path / name
        scratch.mkdir()
        setting = figures.Setting(SIDES[side], folder, scratch, count=60, stores=2, seconds=0)
        return len((await measures[name](setting)).values)

    counts = await asyncio.gather(*map(samples, measures))
    assert all(count >= 1 for count in counts)
