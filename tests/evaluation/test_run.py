"""evaluate runs each case through the one pipeline, reports what failed, and can be interrupted."""

from __future__ import annotations

import asyncio
import html
import json
import sys
import types
from math import log2
from typing import Any

import pytest

from memwb import datasets
from memwb.catalog import Record
from memwb.errors import ConfigError
from memwb.evaluation import Arm, Case, evaluate, everything
from memwb.memory import MemoryEntry, MemoryManager
from memwb.stores import TestMemoryStore


def said(words: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"text": words}]}]


def store(*contents: str, name: str = "notes") -> TestMemoryStore:
    """A store whose entries have the ids name-1, name-2 and so on."""
    records = [Record(id=f"{name}-{at}", content=content, created_at=None) for at, content in enumerate(contents, 1)]
    return TestMemoryStore.from_records(records, name=name)


class Answers:
    """A store that gives one answer to everything, or raises it."""

    description, max_search_results, writable, extraction = None, None, False, None

    def __init__(self, answer: list[str] | BaseException, name: str = "answers") -> None:
        self.answer, self.name = answer, name

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return [MemoryEntry(content) for content in self.answer[: options["max_search_results"]]]


TEA = Case("tea", said("Which tea do I like?"), ("notes-2",))
IDLE = Case("idle", said("Nothing about beverages, thank you."))


async def test_the_figures_of_a_case_are_those_of_its_trace() -> None:
    notes = store("I do not know which tea", "I like green tea", "Milk is white")
    report = await evaluate([TEA], {"default": {"max_entries": 1}}, notes, k=(1, 2))
    trace = await MemoryManager([notes], injection={"max_entries": 1}).trace_injection(TEA.messages)
    (result,) = report.results

    assert (result.first, result.expected, result.error, result.outcome) == (2, 1, None, trace.summary)
    assert result.figures == {
        "recall@1": 0.0,
        "recall@2": 1.0,
        "precision@1": 0.0,
        "precision@2": 0.5,
        "hit@1": 0.0,
        "hit@2": 1.0,
        "ndcg@1": 0.0,
        "ndcg@2": pytest.approx(0.6309, abs=1e-4),
        "rr": 0.5,
        "reached": 0.0,
        "reached_precision": 0.0,
        "reached_hit": 0.0,
        "reached_rr": 0.0,
        "reached_ndcg": 0.0,
        "entries": 1.0,
        "tokens": float(trace.tokens),
        "stop_words": 0.0,
    }


async def test_a_turn_that_needs_nothing_counts_what_it_was_given() -> None:
    report = await evaluate([TEA, IDLE], {"default": {}}, store("Nothing but tea", "I like green tea"))
    mean = report["default"]

    assert (mean.cases, mean.needing) == (2, 1)
    assert mean.idle_entries == 1.0
    assert report.of("default")[1].figures["recall@1"] is None
    assert mean.recall[1] == 1.0


async def test_a_query_that_finds_nothing_is_a_zero_and_no_failure() -> None:
    report = await evaluate([TEA], {"default": {}}, store("Milk", "is white"))

    assert (report["default"].failed, report["default"].recall[5], report["default"].entries) == (0, 0.0, 0.0)
    assert report.results[0].outcome.startswith("nothing found")


async def test_with_injection_off_nothing_arrives() -> None:
    report = await evaluate([TEA], {"off": False}, store("x", "I like green tea"))

    assert (report["off"].reached, report["off"].tokens, report["off"].mrr) == (0.0, 0.0, 0.0)


async def test_a_store_without_ids_is_scored_by_the_texts_that_are_expected() -> None:
    case = Case("tea", said("tea"), ("  I like green tea",))
    report = await evaluate([case], {"default": {}}, Answers(["Milk", "I like green tea\n"]))

    assert (report["default"].mrr, report["default"].reached) == (0.5, 1.0)


async def test_a_case_that_fails_is_reported_and_kept_out_of_the_means() -> None:
    def query(context: Any) -> str:
        if "tea" in context.messages[-1]["content"][0]["text"]:
            raise LookupError("no such tea")
        return "milk"

    milk = Case("milk", said("milk"), ("notes-1",))
    report = await evaluate([TEA, milk], {"mine": {"query": query}}, store("I like milk"))

    assert (report["mine"].failed, report["mine"].cases, report["mine"].recall[1]) == (1, 1, 1.0)
    assert report.of("mine")[0].error == "query: LookupError: no such tea"
    assert report.of("mine")[0].figures == {}


@pytest.mark.parametrize("stores", [[Answers(OSError("down"))], [store("I like tea"), Answers(OSError("down"))]])
async def test_a_store_that_fails_fails_the_case_even_beside_one_that_answers(stores: list[Any]) -> None:
    report = await evaluate([TEA], {"default": {}}, stores)

    assert report["default"].failed == 1
    assert "down" in (report.results[0].error or "")
    assert report["default"].recall[5] is None


async def test_a_store_that_fails_only_when_it_is_asked_for_more_fails_the_case() -> None:
    class Shallow(Answers):
        async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
            if options["max_search_results"] > 100:
                raise ValueError("at most 100")
            return await super().search(query, options)

    case = Case("tea", said("tea"), ("a",))
    report = await evaluate([case], {"default": {}}, [store("tea"), Shallow(["a"], name="shallow")])

    assert (report["default"].failed, report["default"].cases) == (1, 0)
    assert report.results[0].error == (
        "search: store 'shallow', asked for 1000 entries, raised ValueError('at most 100')"
    )


async def test_a_store_that_gives_less_when_it_is_asked_for_more_fails_the_case() -> None:
    class Shrinking(Answers):
        async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
            return (await super().search(query, options))[: 10 // options["max_search_results"]]

    case = Case("tea", said("tea"), ("a",))
    report = await evaluate([case], {"default": {}}, [store("tea"), Shrinking(["a", "b", "c"], name="odd")])

    assert report.results[0].error == "search: store 'odd', asked for 1000 entries, gave 0, not 2 as before"


async def test_a_failure_without_end_is_cut_in_the_report() -> None:
    def query(context: Any) -> str:
        raise LookupError("x" * 5_000_000)

    stores = [Answers(OSError("x" * 5_000_000), name="down"), Answers(["a"])]
    for settings in ({"query": query}, {}):
        report = await evaluate([TEA], {"mine": settings}, stores)
        assert len(report.results[0].error or "") <= 310


class TestMoreThanAThousandEntries:
    """The ranking ends at its thousandth place, whatever the settings; what reached the prompt does not."""

    NOTES = store(*(f"tea number {at}" for at in range(1200)))
    CASES = (
        Case("seen", said("tea"), ("notes-1",)),
        Case("deep", said("tea"), ("notes-1100",)),
    )

    @pytest.mark.parametrize("stores", [NOTES, [store("tea", name="other"), NOTES]])
    async def test_everything_of_a_large_store_can_be_injected(self, stores: Any) -> None:
        report = await evaluate(self.CASES, {"all": everything(), "1100": {"max_entries": 1100}}, stores)

        assert [result.error for result in report.results] == [None] * 4
        assert report["all"].reached == 1.0
        assert report["all"].entries == 1200.0 + (stores is not self.NOTES)

    async def test_the_ranking_is_as_deep_for_every_setting(self) -> None:
        arms = {"all": everything(), "few": Arm({"max_entries": 5}, everything().draws[0])}
        report = await evaluate(self.CASES, arms, self.NOTES)

        assert [(result.setting, result.case, result.first) for result in report.results] == [
            ("all", "seen", 1),
            ("all", "deep", None),
            ("few", "seen", 1),
            ("few", "deep", None),
        ]
        assert report["all"].mrr == report["few"].mrr == 0.5
        assert (report["all"].reached, report["few"].reached) == (1.0, 0.5)


OWNED = (Case("a", said("tea"), ("ann-1",), owner="ann"), Case("b", said("tea"), ("bob-1",), owner="bob"))
OWN = {owner: store("tea", name=owner) for owner in ("ann", "bob")}


class TestStores:
    @pytest.mark.parametrize(
        "stores", [OWN, OWN.__getitem__, {owner: [one] for owner, one in OWN.items()}, list(OWN.values())]
    )
    async def test_come_as_a_mapping_a_function_or_a_list_for_all(self, stores: Any) -> None:
        report = await evaluate(OWNED, {"default": {}}, stores)

        assert report["default"].reached == 1.0

    async def test_a_function_is_called_once_an_owner(self) -> None:
        asked: list[str | None] = []

        def of(owner: str | None) -> Any:
            asked.append(owner)
            return store("tea")

        await evaluate([*OWNED, Case("c", said("tea"), owner="ann")], {"one": {}, "two": {}}, of)

        assert asked == ["ann", "bob"]

    async def test_of_a_data_set_are_its_own(self) -> None:
        data = datasets.load("ikat-demo", owner="2024-test/11")

        own = await evaluate(data, {"default": {}})
        given = await evaluate(data.cases, {"default": {}}, data.store)
        assert own.results == given.results

    async def test_are_needed_without_a_data_set(self) -> None:
        with pytest.raises(ConfigError, match="stores is missing"):
            await evaluate(OWNED, {"default": {}})

    async def test_of_an_owner_that_has_none_are_refused_by_the_cases_name(self) -> None:
        with pytest.raises(
            ConfigError, match=r"Case 'b': owner is 'bob', for whom there are no stores\. Did you mean 'bo'"
        ):
            await evaluate(OWNED, {"default": {}}, {"ann": store("tea"), "bo": store("tea")})

    async def test_are_initialised_once(self) -> None:
        class Connected(Answers):
            opened = 0

            async def initialize(self) -> None:
                self.opened += 1

        one = Connected(["tea"])
        await evaluate(OWNED, {"one": {}, "two": {}}, one)

        assert one.opened == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "settings must be a dict like"),
        ([{}], "settings must be a dict like"),
        ({"": {}}, "a setting is named ''"),
        ({"mine": {"max_entires": 3}}, "evaluate: setting 'mine': injection has no key 'max_entires'.*'max_entries'"),
        ({"mine": {"trigger": "user_turn"}}, "evaluate: setting 'mine': .*Did you mean 'userTurn'"),
        ({"mine": 5}, "evaluate: setting 'mine': injection must be"),
    ],
)
async def test_settings_of_the_wrong_form_are_refused_before_anything_runs(settings: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        await evaluate(
            [TEA], {"default": {}, **settings} if isinstance(settings, dict) and settings else settings, store()
        )


async def test_cut_offs_are_whole_numbers_of_at_least_1() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        await evaluate([TEA], {"default": {}}, store("tea"), k=(5, 0))


async def test_progress_is_told_to_a_function() -> None:
    told: list[tuple[int, int]] = []
    await evaluate([TEA, IDLE], {"one": {}, "two": {}}, store("tea"), progress=lambda *counts: told.append(counts))

    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


async def test_progress_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[Any] = []

    class Bar:
        def __init__(self, total: int, desc: str) -> None:
            self.total, self.done, self.open = total, 0, True
            bars.append(self)

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *error: object) -> None:
            self.open = False

        def update(self) -> None:
            self.done += 1

    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    await evaluate([TEA, IDLE], {"one": {}}, store("tea"), progress=True)

    assert [(bar.total, bar.done, bar.open) for bar in bars] == [(2, 2, False)]


async def test_a_bar_without_tqdm_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ConfigError, match="pip install tqdm"):
        await evaluate([TEA], {"one": {}}, store("tea"), progress=True)


async def test_a_run_can_be_cancelled_and_leaves_the_loop_free() -> None:
    done: list[int] = []
    third = asyncio.Event()

    def count(number: int, total: int) -> None:
        done.append(number)
        if number == 3:
            third.set()

    many = [Case(f"c{at}", said("tea")) for at in range(1000)]
    task = asyncio.create_task(evaluate(many, {"one": {}}, store("tea"), progress=count))
    await third.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(done) < 10


async def test_an_interrupt_in_a_callback_passes_through() -> None:
    def query(context: Any) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await evaluate([TEA], {"one": {"query": query}}, store("tea"))


class TestTies:
    """Where scores are equal on both sides of the cut, the order of the entries decides, and the report says so."""

    NOTES = store("red tea", "green tea", "black tea", "the tea that I like")
    CASE = Case("tea", said("tea"), ("notes-1",))  # all four score alike, the most recent first

    @pytest.mark.parametrize(
        ("limit", "expected", "tied"),
        [
            (3, ("notes-1",), ("notes-1",)),  # just below the cut
            (1, ("notes-1",), ("notes-1",)),  # far below it
            (3, ("notes-2",), ("notes-2",)),  # just above it
            (2, ("notes-4", "notes-1"), ("notes-4", "notes-1")),
            (4, ("notes-1",), ()),  # nothing is cut
            (9, ("notes-1",), ()),
        ],
    )
    async def test_across_the_cut_are_named(self, limit: int, expected: tuple[str, ...], tied: tuple[str, ...]) -> None:
        report = await evaluate([Case("tea", said("tea"), expected)], {"mine": {"max_entries": limit}}, self.NOTES)

        assert report.results[0].tied == tied
        assert report["mine"].tied == bool(tied)

    async def test_are_none_where_the_scores_decide(self) -> None:
        case = Case("tea", said("the tea that I like"), ("notes-4",))
        report = await evaluate([case], {"mine": {"max_entries": 1}}, self.NOTES)

        assert report.results[0].tied == ()

    async def test_are_none_where_a_store_gives_no_scores(self) -> None:
        case = Case("tea", said("tea"), ("b",))
        report = await evaluate([case], {"mine": {"max_entries": 1}}, Answers(["a", "b"]))

        assert report.results[0].tied == ()

    async def test_are_those_of_their_own_store(self) -> None:
        more = store("white tea", "cold tea", name="more")
        case = Case("tea", said("tea"), ("more-1", "notes-1"))
        report = await evaluate([case], {"mine": {"max_entries": 5}}, [self.NOTES, more])

        assert report.results[0].tied == ("more-1",)

    async def test_are_told_below_the_table(self) -> None:
        report = await evaluate([self.CASE], {"mine": {"max_entries": 3}}, self.NOTES)

        assert "mine: 1 case is decided by the order of the entries" in repr(report)


class TestReachedPrompt:
    """What a format leaves out has not reached the prompt, whatever it does to the others."""

    NOTES = store('Tea & "milk",\nwith sugar', "I like tea")
    CASE = Case("tea", said("tea"), ("notes-1", "notes-2"))

    @pytest.mark.parametrize(
        "write",
        [
            lambda entries: "\n".join(entry.content for entry in entries),
            lambda entries: "\n".join(html.escape(entry.content) for entry in entries),
            lambda entries: json.dumps([entry.content for entry in entries]),
            lambda entries: " / ".join(" ".join(entry.content.upper().split()) for entry in entries),
        ],
    )
    async def test_entries_are_found_in_every_usual_form(self, write: Any) -> None:
        def whole(context: Any) -> str:
            return write(context.entries)

        def last(context: Any) -> str:
            return write(context.entries[1:])

        report = await evaluate([self.CASE], {"whole": {"format": whole}, "last": {"format": last}}, self.NOTES)

        assert (report["whole"].reached, report["whole"].entries) == (1.0, 2.0)
        assert (report["last"].reached, report["last"].entries) == (0.5, 1.0)
        assert report.of("last")[0].missed == ("notes-2",)  # the more recent one is the first

    async def test_a_format_that_writes_nothing_brings_nothing(self) -> None:
        report = await evaluate([self.CASE], {"mine": {"format": lambda context: " "}}, self.NOTES)

        assert (report["mine"].reached, report["mine"].tokens) == (0.0, 0.0)

    async def test_figures_of_the_prompt_are_those_of_its_entries_in_their_order(self) -> None:
        notes = store("tea", "tea or milk", "milk and tea")
        case = Case("tea", said("tea milk"), ("notes-1", "notes-2", "elsewhere"))
        (result,) = (await evaluate([case], {"mine": {"max_entries": 2}}, notes)).results

        assert {name: value for name, value in result.figures.items() if name.startswith("reached")} == {
            "reached": pytest.approx(1 / 3),
            "reached_precision": 0.5,
            "reached_hit": 1.0,
            "reached_rr": 0.5,
            "reached_ndcg": pytest.approx((1 / log2(3)) / (1 + 1 / log2(3) + 1 / log2(4))),
        }
        assert result.missed == ("notes-1", "elsewhere")


async def test_tokens_are_counted_by_what_is_given() -> None:
    class Words:
        name = "words"
        exact = True

        def count(self, text: str) -> int:
            return len(text.split())

    report = await evaluate([TEA], {"mine": {}}, store("x", "I like green tea"), token_counter=Words())

    assert (report["mine"].tokens, report.tokens_by) == (7.0, "words")
    with pytest.raises(ConfigError, match="evaluate: token_counter is 5; it must have a name"):
        await evaluate([TEA], {"mine": {}}, store(), token_counter=5)


async def test_settings_that_search_alike_share_one_look_at_the_ranking() -> None:
    asked: list[int] = []

    class Counting(Answers):
        async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
            asked.append(options["max_search_results"])
            return await super().search(query, options)

    case = Case("tea", said("tea"), ("a",))
    await evaluate([case], {str(limit): {"max_entries": limit} for limit in (1, 2, 3)}, Counting(["a", "b"]))

    assert asked == [1, 1000, 2, 3]


@pytest.mark.parametrize("owner", ["2024-test/11", "2024-test/5"])
async def test_a_store_that_finds_single_entries_gives_the_figures_of_one_that_lists_them(owner: str) -> None:
    class Listed(TestMemoryStore):
        async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:  # it hides best_match
            return await super().search(query, options)

    data = datasets.load("ikat-demo", owner=owner)
    settings = {"default": {}, "two": {"max_entries": 2, "query": lambda context: "I do not eat meat"}}
    fast = await evaluate(data.cases, settings, [data.store(), store("I do not know")])
    slow = await evaluate(
        data.cases, settings, [Listed.from_records(data.entries, name="profile"), store("I do not know")]
    )

    assert fast.results == slow.results


async def test_what_a_case_expects_and_no_store_holds_is_named() -> None:
    cases = [
        Case("id", said("tea"), ("notes-1",)),
        Case("text", said("tea"), (" I like tea ",)),
        Case("gone", said("tea"), ("notes-1", "notes-9")),
    ]
    report = await evaluate(cases, {"mine": {}}, store("I like tea"))

    assert report.unknown == {"gone": ("notes-9",)}
    assert "1 case expects what no store holds, and so cannot get it: gone (notes-9)." in repr(report)
    assert (await evaluate(cases, {"mine": {}}, Answers(["I like tea"]))).unknown == {}
