"""Arms put other stores behind the same pipeline: everything, a blind draw, or one of one's own."""

from __future__ import annotations

from typing import Any

import pytest

from memwb import datasets
from memwb.errors import ConfigError
from memwb.evaluation import Arm, at_random, evaluate, everything
from memwb.memory import MemoryManager, default_format, text

DATA = datasets.load("ikat-demo", owner="2024-test/11")
CASE = DATA.case("2024-test/11/t4")


async def injected(arm: Arm, draw: int = 0) -> list[str | None]:
    manager = MemoryManager([arm.draws[draw](DATA.store())], injection=arm.injection)
    return [hit.id for hit in (await manager.trace_injection(CASE.messages)).hits]


async def test_everything_injects_all_entries_in_insertion_order() -> None:
    assert await injected(everything()) == [entry.id for entry in DATA.entries]


async def test_everything_takes_further_settings() -> None:
    manager = MemoryManager(
        [everything().draws[0](DATA.store())],
        injection=everything({"format": lambda context: f"{len(context.entries)} entries", "max_entries": 1}).injection,
    )

    assert (await manager.trace_injection(CASE.messages)).text == "22 entries"


async def test_the_block_of_everything_names_the_store_it_came_from() -> None:
    store = DATA.store()
    manager = MemoryManager([everything().draws[0](store)], injection=everything().injection)
    trace = await manager.trace_injection(CASE.messages)

    assert trace.text == default_format(trace.entries)
    assert trace.text.count('<entry source="profile">') == 22


async def test_a_draw_is_the_same_each_time_and_another_one_differs() -> None:
    arm = at_random(seed=7, draws=2)

    assert await injected(arm) == await injected(at_random(seed=7, draws=2))
    assert await injected(arm) == [f"2024-test/11#{number}" for number in (1, 11, 14, 17, 16)]
    assert await injected(arm, 0) != await injected(arm, 1)
    assert await injected(arm) != await injected(at_random(seed=8))
    assert len(await injected(arm)) == 5


async def test_figures_of_several_draws_are_their_mean() -> None:
    together = await evaluate([CASE], {"random": at_random(draws=3)}, DATA.store())
    alone = [await evaluate([CASE], {"random": Arm(stores=draw)}, DATA.store()) for draw in at_random(draws=3).draws]

    assert together["random"].draws == 3
    assert together["random"].mrr == pytest.approx(sum(report["random"].mrr or 0 for report in alone) / 3)
    assert together.of("random")[0].outcome == "mean of 3 draws"


async def test_an_arm_of_ones_own_wraps_each_store() -> None:
    class Loud:
        """Searches in capitals' stead: what was asked, in lower case and without its last word."""

        writable, extraction, description, max_search_results = False, None, None, None

        def __init__(self, store: Any) -> None:
            self.name, self.store = store.name, store

        async def search(self, query: str, options: Any = None) -> list[Any]:
            found: list[Any] = await self.store.search("cane", options)
            return found

    report = await evaluate([CASE], {"default": {}, "mine": Arm(stores=Loud)}, DATA.store())

    assert text(CASE.messages[-1]) == "Tell me more about the last one, please... I am curious about the price too."
    assert [report[name].hit_rate[1] for name in report] == [0.0, 1.0]


def test_draws_are_at_least_one() -> None:
    with pytest.raises(ConfigError, match="at_random: draws is 0"):
        at_random(draws=0)


@pytest.mark.parametrize("arm", [everything(), at_random()])
async def test_a_store_that_cannot_list_is_refused_before_anything_runs(arm: Arm) -> None:
    class Vectors:
        name, description, max_search_results, writable, extraction = "vectors", None, None, False, None

        async def search(self, query: str, options: Any = None) -> list[Any]:
            raise AssertionError("asked")

    with pytest.raises(ConfigError, match="setting 'arm': Store 'vectors' cannot list its entries"):
        await evaluate([CASE], {"default": {}, "arm": arm}, Vectors())
