"""Why an entry arrived or did not, and what would bring it in. Every suggestion is tried again here."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.catalog import Record
from memwb.memory import Explanation, MemoryEntry, MemoryManager, Suggestion
from memwb.memory.explain import decided, explain, with_suggestions
from memwb.memory.queries import (
    last_two_messages,
    latest_without_stop_words,
    question_with_answer,
    whole_history,
)
from memwb.memory.settings import resolve_injection
from memwb.memory.types import identified
from memwb.stores import TestMemoryStore
from tests.memory.stores import BareStore, FailingStore, ListedStore, WordStore, assistant, tool_result, tool_use, user
from tests.memory.trying import applied, check_brought_in

TEAS = [f"tea number {at}" for at in range(8)]


def listed(name: str = "home", *contents: str) -> ListedStore:
    return ListedStore(name, *contents)


async def why(target: Any, messages: Any, *stores: Any, injection: Any = True) -> Explanation:
    """Ask why, and try each suggestion on the same conversation: it must bring the entry in, at the rank it says."""
    manager = MemoryManager(list(stores), injection=injection)
    found = await manager.why(target, messages)
    before = await manager.trace_injection(messages)
    for suggestion in found.suggestions:
        trace = await applied(suggestion, stores, messages, injection)
        check_brought_in(found, suggestion, trace, before)
    return found


def settings_of(found: Explanation) -> list[dict[str, Any]]:
    """The changes of settings, without what the user might have said."""
    return [one.settings for one in found.suggestions if "messages" not in one.settings]


class Shallow(ListedStore):
    """A store that refuses to give more than an injection asks for."""

    async def search(self, query: str, options: Any = None) -> Any:
        if options["max_search_results"] > 5:
            raise ValueError("at most 5")
        return await super().search(query, options)


class TestArrived:
    async def test_it_says_the_rank_and_the_words(self) -> None:
        found = await why("a cup", [user("Is there tea in the cup?")], listed("home", "tea in a cup", "tea"))
        assert found == Explanation(
            target="tea in a cup",
            arrived=True,
            sentence="'tea in a cup' arrived: rank 1, matched on tea, cup.",
            stage="fold",
            rank=1,
            limit=5,
            matched=("tea", "in", "cup"),
            missing=("is", "there", "the"),
            store="home",
            id="a",
        )

    async def test_it_says_when_stop_words_alone_matched(self) -> None:
        found = await why("all of it", [user("What is this all about?")], listed("home", "I know all of it"))
        assert found.sentence == "'I know all of it' arrived: rank 1, matched on stop words alone (all)."

    async def test_a_store_that_is_not_lexical_has_no_words(self) -> None:
        found = await why("tea", [user("what?")], BareStore("vectors", "tea"))
        assert found.sentence == "'tea' arrived: rank 1."

    @pytest.mark.parametrize("placement", ["prepend", "append"])
    async def test_an_entry_that_arrived_needs_no_suggestion(self, placement: Any) -> None:
        found = await why("tea", [user("tea")], listed("home", "tea"), injection={"placement": placement})
        assert (found.arrived, found.suggestions) == (True, ())


class TestCut:
    async def test_below_the_limit_it_says_rank_and_limit(self) -> None:
        found = await why("number 6", [user("tea")], listed("home", *TEAS))
        assert found.sentence == "'tea number 6' did not arrive: rank 7, limit 5."
        assert (found.stage, found.rank, found.limit) == ("search", 7, 5)
        assert repr(found).splitlines() == [
            "'tea number 6' did not arrive: rank 7, limit 5.",
            f"  before it: {', '.join(map(repr, TEAS[:6]))}",
            "  try: max_entries 7 → rank 7 (and 1 other new entry: 'tea number 5')",
            "  try: the user would have to say '6' → rank 1 (without 1 entry that arrives now: 'tea number 4')",
        ]
        assert settings_of(found) == [{"max_entries": 7}]
        assert [hit.content for hit in found.before] == TEAS[:6]

    async def test_the_limit_in_force_is_the_one_given(self) -> None:
        manager = MemoryManager([listed("home", *TEAS)])
        found = await manager.why("number 2", [user("tea")], {"max_entries": 2})
        assert (found.rank, found.limit, found.arrived) == (3, 2, False)

    async def test_no_suggestion_asks_for_everything(self) -> None:
        found = await why("number 39", [user("tea")], listed("home", *(f"tea number {at}" for at in range(40))))
        assert (found.rank, settings_of(found)) == (40, [])
        assert [hit.rank for hit in found.before] == [1, 2, 3, 4, 5, 6, 7, 8]

    async def test_a_store_registered_before_it_took_all_places(self) -> None:
        found = await why("green", [user("tea")], listed("first", *TEAS[:6]), listed("second", "green tea"))
        assert found.sentence == (
            "'green tea' did not arrive: rank 1 in 'second', but 'first', registered before it, filled the 5 places."
        )
        assert [(suggestion.text, suggestion.settings) for suggestion in found.suggestions][:3] == [
            (
                "stores: second first → rank 1 (without 1 entry that arrives now: 'tea number 4')",
                {"stores": ["second", "first"]},
            ),
            (
                "stores: without first → rank 1 (without 5 entries that arrive now: "
                "'tea number 0', 'tea number 1', 'tea number 2', …)",
                {"stores": ["second"]},
            ),
            ("max_entries 7 → rank 7 (and 1 other new entry: 'tea number 5')", {"max_entries": 7}),
        ]

    async def test_a_store_registered_before_it_took_some_places(self) -> None:
        stores = [listed("first", *TEAS[:3]), listed("second", "green tea", "black tea", "white tea")]
        found = await why("white", [user("tea")], *stores)
        assert found.sentence == (
            "'white tea' did not arrive: rank 3 in 'second', but 'first', registered before it, took 3 of the 5 places."
        )
        assert settings_of(found) == [{"stores": ["second", "first"]}, {"stores": ["second"]}, {"max_entries": 6}]

    async def test_among_several_stores_a_rank_is_told_with_its_store(self) -> None:
        stores = [listed("first", "green tea"), listed("second", *TEAS)]
        assert (await why("green", [user("tea")], *stores)).sentence == (
            "'green tea' arrived: rank 1 in 'first', matched on tea."
        )
        assert (await why("number 7", [user("tea")], *stores)).sentence == (
            "'tea number 7' did not arrive: rank 8 in 'second', limit 5."
        )

    async def test_a_store_that_ranks_otherwise_when_it_is_asked_again(self) -> None:
        class Fickle(ListedStore):
            async def search(self, query: str, options: Any = None) -> Any:
                return self._ranked(query)[1:] if options["max_search_results"] <= 5 else self._ranked(query)

        found = await why("number 0", [user("tea")], Fickle("home", *TEAS))
        assert found.sentence == (
            "'tea number 0' did not arrive: 'home' ranks it 1 now, but did not when the injection asked."
        )

    async def test_a_store_that_returns_less_than_asked_for(self) -> None:
        class Stingy(ListedStore):
            async def search(self, query: str, options: Any = None) -> Any:
                asked = options["max_search_results"]
                return self._ranked(query)[: 2 if asked <= 5 else asked]

        found = await why("number 3", [user("tea")], Stingy("home", *TEAS))
        assert found.sentence == (
            "'tea number 3' did not arrive: 'home' ranks it 4 but returned fewer entries than it was asked for."
        )


class TestUnmatched:
    async def test_it_names_the_words_that_were_searched(self) -> None:
        found = await why("latex", [user("What are the mats made of?")], listed("home", "allergic to latex"))
        assert found.sentence == (
            "'allergic to latex' did not arrive: it shares no word with the query. "
            "Searched: mats, made, …; it has: allergic, latex, …."
        )
        assert (found.stage, found.rank, found.limit, found.matched) == ("search", None, 5, ())
        assert found.missing == ("what", "are", "the", "mats", "made", "of")
        assert found.words == ("allergic", "to", "latex")

    async def test_a_query_without_words_searched_nothing(self) -> None:
        found = await why("latex", [user("?!")], listed("home", "latex"))
        assert (
            found.sentence
            == "'latex' did not arrive: it shares no word with the query. Searched: nothing; it has: latex."
        )

    async def test_a_store_that_is_not_lexical_is_not_judged_by_words(self) -> None:
        class Vectors(ListedStore):
            tokenizer = None  # type: ignore[assignment]

            async def search(self, query: str, options: Any = None) -> Any:
                return []

            async def count_matches(self, query: str) -> int:
                return 0

        found = await why("latex", [user("latex")], Vectors("vectors", "latex gloves"))
        assert found.sentence == "'latex gloves' did not arrive: 'vectors' does not return it for this query."

    async def test_words_are_those_of_the_store_that_holds_it(self) -> None:
        whole = WordStore("whole", "tea")
        shouting = ListedStore("shouting", "GREEN", tokenizer=lambda text: set(text.split()))
        found = await why("GREEN", [user("Is green tea good?")], whole, shouting)
        assert found.missing == ("Is", "green", "tea", "good?")

    async def test_looking_one_message_back_is_suggested_where_it_helps(self) -> None:
        messages = [user("hello"), assistant("Do you use a cane?"), user("Yes, please.")]
        found = await why("cane", messages, listed("home", "I walk with a cane", "I like tea"))
        assert [(suggestion.text, suggestion.settings) for suggestion in found.suggestions] == [
            ("query: the last two messages → rank 1", {"query": last_two_messages}),
            ("query: the assistant's question with the answer → rank 1", {"query": question_with_answer}),
            ("query: the whole history → rank 1", {"query": whole_history}),
            ("the user would have to say 'walk' → rank 1", {"messages": [*messages[:2], user("Yes, please. walk")]}),
        ]

    async def test_the_smallest_change_comes_first(self) -> None:
        messages = [user("tea, milk and the cane"), assistant("and?"), assistant("a cane"), user("So what is with it?")]
        stores = listed("home", "what is it", "so it is", "the cane", "milk")
        found = await why("the cane", messages, stores)
        also = [suggestion.also for suggestion in found.suggestions if "messages" not in suggestion.settings]
        assert also == sorted(also)
        assert found.suggestions[0].settings == {"query": last_two_messages}


class TestNotHeld:
    """The entry is in no store that is searched, which is another thing than an entry that does not match."""

    NO_WRITER = "; nothing writes here: the add tool is off and no store extracts."

    async def test_a_text_that_no_store_holds(self) -> None:
        found = await why("a unicorn", [user("tea")], listed("home", "tea"), WordStore("away", "milk"))
        assert found == Explanation(
            target="a unicorn",
            arrived=False,
            sentence="'a unicorn' did not arrive: no store here holds it, as far as they can be searched"
            + self.NO_WRITER,
            stage="store",
            limit=5,
            missing=("tea",),
            advice="Write it, `await manager.add(...)`, or let the agent: add_tool_config=True, or a store with "
            "extraction=True.",
        )

    async def test_a_store_whose_file_is_missing_was_never_written_to(self, tmp_path: Any) -> None:
        found = await why("tea", [user("milk")], TestMemoryStore(name="home", path=tmp_path / "home.json"))
        assert found.sentence == "'tea' did not arrive: nothing was ever written to 'home'" + self.NO_WRITER
        assert (found.stage, found.store, found.suggestions) == ("store", None, ())

    async def test_so_with_all_stores_that_are_empty(self) -> None:
        found = await why(MemoryEntry("tea"), [user("tea")], listed("home"), listed("away"))
        assert found.sentence == "'tea' did not arrive: nothing was ever written to 'home', 'away'."

    async def test_an_empty_store_beside_others_is_named(self) -> None:
        found = await why("unicorn", [user("tea")], listed("home", "tea"), listed("away"), WordStore("words"))
        assert found.sentence == (
            "'unicorn' did not arrive: no store here holds it, as far as they can be searched; nothing was ever "
            "written to 'away'" + self.NO_WRITER
        )

    async def test_a_store_that_cannot_count_is_not_called_empty(self) -> None:
        class Uncounted(ListedStore):
            async def count(self, where: str = "") -> int:
                raise OSError("no count")

        found = await why("unicorn", [user("tea")], Uncounted("home"))
        assert found.sentence == ("'unicorn' did not arrive: no store here holds it" + self.NO_WRITER)

    async def test_an_entry_that_its_store_holds_no_more(self) -> None:
        gone = Record(id="z", content="tea", store="home")
        found = await why(gone, [user("tea")], listed("home", "milk"), listed("away", "tea"))
        assert (found.sentence, found.stage) == ("'tea' did not arrive: 'home' does not hold it.", "store")

    async def test_an_entry_of_an_empty_store(self) -> None:
        gone = Record(id="z", content="tea", store="home")
        found = await why(gone, [user("tea")], listed("home"), listed("away", "tea"))
        assert found.sentence == "'tea' did not arrive: nothing was ever written to 'home'."

    async def test_an_entry_of_a_store_that_is_not_searched(self) -> None:
        other = identified(MemoryEntry("cane", "other"), "a")
        found = await why(other, [user("tea")], listed("home", "tea"), listed("away", "milk"))
        assert found.sentence == (
            "'cane' did not arrive: it is of 'other', which is not among the stores searched ('home', 'away')."
        )
        assert (found.stage, found.target, found.suggestions) == ("store", "cane", ())


class TestNotSearched:
    async def test_injection_off(self) -> None:
        found = await why("tea", [user("tea")], listed("home", "tea"), injection=False)
        assert found == Explanation(
            target="tea",
            arrived=False,
            sentence="'tea' did not arrive: nothing was searched, injection is off.",
            stage="trigger",
            store="home",
            id="a",
            suggestions=(Suggestion("injection on → rank 1", {"injection": True}, 1, 0),),
        )

    async def test_the_trigger_skipped(self) -> None:
        messages = [user("the tea"), assistant("tea it is"), tool_use(), tool_result()]
        messages[2]["content"].insert(0, {"text": "look for tea"})
        found = await why("tea", messages, listed("home", "tea"))
        assert found.sentence == (
            "'tea' did not arrive: nothing was searched, 'userTurn', the last message is a tool result."
        )
        assert (found.stage, found.rank, found.limit) == ("trigger", None, 5)
        assert [suggestion.text for suggestion in found.suggestions] == ["trigger everyTurn → rank 1"]

    async def test_a_query_callback_raised(self) -> None:
        def raising(context: Any) -> str:
            raise KeyError("lost")

        found = await why("tea", [user("tea")], listed("home", "tea"), injection={"query": raising})
        assert found.sentence == "'tea' did not arrive: nothing was searched, KeyError: 'lost'."
        assert (found.stage, bool(found.suggestions)) == ("query", True)
        assert all(set(suggestion.settings) == {"query"} for suggestion in found.suggestions)

    async def test_there_was_no_text_to_search(self) -> None:
        found = await why("tea", [user("tea"), assistant("tea?"), user("")], listed("home", "tea"))
        assert (
            found.sentence == "'tea' did not arrive: nothing was searched, there is no text in the latest user message."
        )
        assert {"query": last_two_messages} in [suggestion.settings for suggestion in found.suggestions]

    async def test_an_entry_given_as_such_is_explained_though_nothing_was_searched(self) -> None:
        found = await why(MemoryEntry("tea"), [user("tea"), assistant("tea")], WordStore("home", "tea"))
        assert [suggestion.settings for suggestion in found.suggestions] == [{"trigger": "everyTurn"}]


class TestFailed:
    async def test_a_failure_without_end_is_cut_in_the_sentence(self) -> None:
        found = await why("tea", [user("milk")], FailingStore("cloud", ValueError("x" * 5_000_000)))
        assert found.sentence.startswith("'tea' did not arrive: store 'cloud' raised ValueError('xxx")
        assert len(found.sentence) < 400

    async def test_the_failure_of_another_store_is_no_answer(self) -> None:
        gone = Record(id="z", content="tea", store="home")
        found = await why(gone, [user("milk")], FailingStore("cloud"), listed("home", "milk"))
        assert found.sentence == "'tea' did not arrive: 'home' does not hold it."

    async def test_a_store_that_fails_only_when_asked_for_more(self) -> None:
        """What it gave the injection stands: the kept arrived, of the others nothing is known."""
        store = Shallow("home", *TEAS)
        assert (await why("number 4", [user("tea")], store)).sentence == (
            "'tea number 4' arrived: rank 5, matched on tea."
        )
        assert (await why("number 6", [user("tea")], store)).sentence == (
            "'tea number 6' did not arrive: 'home' did not return it, and when asked for more it raised "
            "ValueError('at most 5')."
        )

    async def test_its_store_failed(self) -> None:
        class Down(ListedStore):
            async def search(self, query: str, options: Any = None) -> Any:
                raise ConnectionError("no route")

        found = await why("tea", [user("milk")], Down("cloud", "tea"), WordStore("home", "tea and milk"))
        assert found.sentence == "'tea' did not arrive: store 'cloud' raised ConnectionError('no route')."
        assert (found.stage, found.limit) == ("search", 5)

    async def test_a_store_that_cannot_even_count_is_a_failed_store(self) -> None:
        class Damaged(ListedStore):
            async def search(self, query: str, options: Any = None) -> Any:
                raise ValueError("not JSON")

            count_matches = page = get = search  # type: ignore[assignment]

        found = await why("tea", [user("tea")], Damaged("file", "tea"))
        assert found.sentence == "'tea' did not arrive: store 'file' raised ValueError('not JSON')."

    async def test_a_store_that_is_none_ended_the_search_of_all(self) -> None:
        class Forgetful(BareStore):
            async def search(self, query: str, options: Any = None) -> Any:
                return None

        found = await why("tea", [user("tea")], listed("home", "tea"), Forgetful("odd"))
        assert found.sentence.startswith("'tea' did not arrive: the search failed, store 'odd' returned something")
        assert (found.stage, found.rank) == ("search", 1)

    async def test_the_format_failed(self) -> None:
        def bad(context: Any) -> Any:
            return 5

        found = await why("tea", [user("tea")], listed("home", "tea"), injection={"format": bad})
        assert found.sentence == (
            "'tea' did not arrive: it was kept at rank 1, but failed at format: TypeError: the format callback bad "
            "returned int '5'; text is expected."
        )
        assert (found.stage, found.rank) == ("format", 1)
        assert [suggestion.settings for suggestion in found.suggestions] == [{"format": None}]

    async def test_there_was_no_user_message(self) -> None:
        found = await why("tea", [assistant("tea")], listed("home", "tea"), injection={"trigger": "everyTurn"})
        assert found.sentence == (
            "'tea' did not arrive: it was kept at rank 1, but skipped at fold: there is no user message to fold the "
            "block into."
        )
        assert (found.stage, found.suggestions) == ("fold", ())


async def test_the_stop_words_of_a_query_hide_what_matters() -> None:
    """The ranking counts words, so four stop words beat the one that tells."""
    contents = [f"that is what it is {at}" for at in range(5)]
    found = await why("latex", [user("what is it that is latex")], listed("home", *contents, "latex mats"))
    assert found.sentence == "'latex mats' did not arrive: rank 6, limit 5."
    assert found.suggestions[0].settings == {"query": latest_without_stop_words}
    assert found.suggestions[0].text == (
        "query: the latest message without stop words → rank 1 (without 5 entries that arrive now: "
        "'that is what it is 0', 'that is what it is 1', 'that is what it is 2', …)"
    )
    assert found.suggestions[0].drops == tuple(f"that is what it is {number}" for number in range(5))


async def test_why_works_on_a_store_with_a_file(tmp_path: Any) -> None:
    store = TestMemoryStore(name="home", path=tmp_path / "home.json")
    result = await store.add("allergic to latex")
    found = await why(result.id, [user("tea")], store)
    assert (found.target, found.stage) == ("allergic to latex", "search")
    (tmp_path / "home.json").write_text("no json", encoding="utf-8")
    assert (await why("latex", [user("latex")], store)).stage == "search"


_words = st.lists(st.sampled_from(["tea", "milk", "the", "is", "cane", "mat"]), min_size=1, max_size=4).map(" ".join)


@given(st.lists(_words, min_size=1, max_size=8, unique=True), _words, st.integers(1, 3), st.data())
async def test_it_arrived_exactly_if_the_block_holds_it(contents: Any, query: str, limit: int, data: Any) -> None:
    manager = MemoryManager([ListedStore("home", *contents)], injection={"max_entries": limit})
    target = data.draw(st.sampled_from(contents))
    trace = await manager.trace_injection([user(query)])
    found = await why(target, [user(query)], *manager.stores, injection={"max_entries": limit})
    assert found.target == target
    assert found.arrived == (target in [entry.content for entry in trace.entries])
    assert (found.rank or limit + 1) > limit or found.arrived


class Scanned(TestMemoryStore):
    """A store with a search of its own, so that all its hits are made to find one."""

    async def search(self, query: str, options: Any = None) -> Any:
        return await super().search(query, options)


TOLD = ["green tea", "tea", "Tea", "milk", "green tea with milk", "the", "tea ", "r2", "R3"]


@given(
    st.lists(st.lists(st.sampled_from(TOLD), max_size=9), min_size=1, max_size=3),
    st.sampled_from([*TOLD, "r0", "r5", "EA", "?", "cocoa"]) | st.tuples(st.integers(0, 2), st.integers(0, 8)),
    st.sampled_from(["tea", "the green milk", "r2 tea", "?", "cocoa"]),
    st.integers(1, 4),
)
async def test_a_store_that_finds_one_entry_by_itself_explains_as_one_that_gives_all(
    contents: list[list[str]], target: Any, query: str, limit: int
) -> None:
    settings = resolve_injection({"max_entries": limit})
    found = []
    for kind in (TestMemoryStore, Scanned):
        stores: list[Any] = [
            kind.from_records([{"id": f"r{at}", "content": text} for at, text in enumerate(texts)], name=f"s{number}")
            for number, texts in enumerate(contents)
        ]
        sought = target
        if isinstance(target, tuple):
            place, id = target
            sought = await stores[place].get(f"r{id}") if place < len(stores) else None
            sought = sought or Record(f"r{id}", "tea", store=f"s{place}")
        explanation = await decided(MemoryManager(stores), sought, [user(query)], settings)
        found.append((explanation, explanation._wanted))
    assert found[0] == found[1]


class TestFoundByTheStoreItself:
    async def test_no_other_hit_is_made(self) -> None:
        class Counted(TestMemoryStore):
            read = 0

            async def search(self, query: str, options: Any = None) -> Any:
                raise AssertionError("it was searched again")

            async def best_match(self, query: str, **meant: Any) -> Any:
                Counted.read += 1
                return await super().best_match(query, **meant)

        plain = TestMemoryStore.from_records([f"tea {at}" for at in range(500)], name="home")
        settings = resolve_injection(True)
        trace = await MemoryManager([plain]).trace_injection([user("tea")])
        store = Counted(name="home", persist=False)
        store._records = plain._records
        found = await decided(MemoryManager([store]), "tea 7", [user("tea")], settings, trace=trace)
        assert (found.rank, found.sentence) == (493, "'tea 7' did not arrive: rank 493, limit 5.")
        assert Counted.read == 2

    async def test_one_that_fails_then_is_known_by_its_hits_in_the_injection(self) -> None:
        class Failing(TestMemoryStore):
            async def best_match(self, query: str, **meant: Any) -> Any:
                raise OSError("gone")

        store = Failing.from_records([f"tea {at}" for at in range(9)], name="home")
        assert (await why("tea 2", [user("tea")], store)).sentence == (
            "'tea 2' did not arrive: 'home' did not return it, and when asked for more it raised OSError('gone')."
        )


class TestInTwoSteps:
    """A screen shows what was decided before it tries what would change it."""

    TALK: ClassVar = [assistant("tea"), user("milk")]

    async def test_together_they_are_the_whole_explanation(self) -> None:
        manager = MemoryManager([listed("home", "tea", "milk")])
        settings = resolve_injection(True)
        trace = await manager.trace_injection(self.TALK)
        first = await decided(manager, "tea", self.TALK, settings, trace=trace)
        assert (first.stage, first.store, first.id, first.suggestions) == ("search", "home", "a", ())
        second = await with_suggestions(first, manager, self.TALK, settings, trace=trace)
        assert second == await manager.why("tea", self.TALK)
        assert second == await explain(manager, "tea", self.TALK, settings)
        assert replace(second, suggestions=()) == first

    async def test_the_first_step_tries_nothing(self) -> None:
        store = listed("home", "tea", "milk")
        manager = MemoryManager([store])
        await decided(manager, "tea", self.TALK, resolve_injection(True))
        assert [query for query, _ in store.asked] == ["milk", "milk"]

    async def test_what_arrived_is_told_from_the_trace_alone(self) -> None:
        store = listed("home", "tea", "milk")
        manager = MemoryManager([store])
        trace = await manager.trace_injection(self.TALK)
        for target in ("b", *trace.hits, *trace.entries, Record(id="b", content="milk", store="home")):
            assert (await decided(manager, target, self.TALK, trace.settings, trace=trace)).arrived
        assert len(store.asked) == 1

    async def test_an_explanation_made_by_hand_is_enough_for_the_second(self) -> None:
        manager = MemoryManager([listed("home", "tea", "milk")])
        by_hand = Explanation("tea", False, "It did not.", "search", store="home", id="a")
        found = await with_suggestions(by_hand, manager, self.TALK, resolve_injection(True))
        assert found.suggestions == (await manager.why("tea", self.TALK)).suggestions != ()

    async def test_the_loop_is_free_between_two_tries(self) -> None:
        manager = MemoryManager([listed("home", "tea", "milk")])
        turns: list[str] = []

        def query(context: Any) -> str:
            turns.append("query")
            return "milk"

        async def other() -> None:
            turns.append("other")

        settings = resolve_injection({"query": query, "format": lambda context: ""})
        first = await decided(manager, "milk", self.TALK, settings)
        turns.clear()
        task = asyncio.create_task(other())
        await with_suggestions(first, manager, self.TALK, settings)
        assert turns.index("other") < len(turns) - 1
        await task


async def test_an_entry_that_a_format_left_out_is_not_among_what_its_own_fix_drops() -> None:
    store = listed("home", "green tea", "black tea")
    found = await why("green tea", [user("tea")], store, injection={"format": lambda context: "- black tea"})

    assert (found.arrived, found.stage) == (False, "format")
    assert [(suggestion.text, suggestion.drops) for suggestion in found.suggestions][:1] == [
        ("the default format → rank 1", ())
    ]
