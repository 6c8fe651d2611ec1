"""The trace as an object: its stages, reprs, frame and the page it draws without widgets."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from memwb._text import visible
from memwb.errors import ConfigError
from memwb.memory import Hit, InjectionTrace, MemoryEntry, MemoryManager
from tests.memory.stores import BareStore, FailingStore, ListedStore, WordStore, assistant, user
from tests.test_dom import Reader

CASES = Path(__file__).parents[1] / "cases"
MARKUP = json.loads((CASES / "B59-markup-fields.json").read_text(encoding="utf-8"))["texts"]


async def traced(*stores: Any, messages: Any = None, injection: Any = True) -> InjectionTrace:
    manager = MemoryManager(list(stores), injection=injection)
    return await manager.trace_injection([user("tea")] if messages is None else messages)


class TestReprs:
    async def test_something_was_injected(self) -> None:
        assert repr(await traced(WordStore("home", "tea"))) == "InjectionTrace(1 entry injected, ~13 tokens)"
        assert repr(await traced(WordStore("home", "tea", "green tea"))) == (
            "InjectionTrace(2 entries injected, ~23 tokens)"
        )

    async def test_nothing_was_found(self) -> None:
        trace = await traced(WordStore("home", "tea"), messages=[user("Yes, please.")])
        assert repr(trace) == "InjectionTrace(nothing found: no entry shares a word with 'Yes, please.')"

    async def test_the_trigger_skipped(self) -> None:
        trace = await traced(WordStore("home", "tea"), messages=[user("hi"), assistant("yes")])
        assert repr(trace) == ("InjectionTrace(skipped at trigger: 'userTurn', the last message is the assistant's)")

    async def test_injection_is_off(self) -> None:
        trace = await traced(WordStore("home"), injection=False)
        assert repr(trace) == "InjectionTrace(skipped at trigger: injection is off)"

    async def test_a_store_is_down(self) -> None:
        assert repr(await traced(FailingStore("cloud"))) == (
            "InjectionTrace(failed at search: store 'cloud' raised ConnectionError('no route'))"
        )

    async def test_stages_hits_and_notes(self) -> None:
        trace = await traced(WordStore("home", "green tea"), WordStore("work", "tea"), injection={"max_entries": 1})
        assert repr(trace.stage("search")) == "search done: 2 hits, 1 kept (max_entries 1)"
        assert list(map(repr, trace.hits)) == [
            "Hit('home' rank 1, score 1, kept: 'green tea')",
            "Hit('work' rank 1, score 1, cut by max_entries: 'tea')",
        ]
        assert repr((await traced(BareStore("vectors", "tea"))).hits[0]) == "Hit('vectors' rank 1, kept: 'tea')"

    async def test_a_traces_hits_are_hits_like_any_other(self) -> None:
        trace = await traced(WordStore("home", "green tea"), WordStore("work", "tea"), injection={"max_entries": 1})
        kept = Hit("home", 1, 1, "a", MemoryEntry("green tea", "home", {"_relevanceScore": 1}), ("tea",), True)
        cut = Hit("work", 1, 1, "a", MemoryEntry("tea", "work", {"_relevanceScore": 1}), ("tea",), False, "max_entries")
        assert trace.hits == (kept, cut)
        assert list(map(asdict, trace.hits)) == [asdict(kept), asdict(cut)]
        assert replace(trace.hits[1], kept=True, cut_by=None) == replace(cut, kept=True, cut_by=None)

    async def test_no_repr_shows_an_address_or_a_time(self) -> None:
        def own(context: Any) -> str:
            return "tea"

        config = {"trigger": own, "query": own, "format": own}
        trace = await traced(WordStore("home", "tea"), injection=config)
        again = await traced(WordStore("home", "tea"), injection=config)
        shown = [repr(trace), *map(repr, trace.stages), *map(repr, trace.hits), trace._repr_html_()]
        assert shown == [repr(again), *map(repr, again.stages), *map(repr, again.hits), again._repr_html_()]
        assert " at 0x" not in "".join(shown)

    async def test_b59_no_repr_colours_the_output(self) -> None:
        def raising(context: Any) -> str:
            raise ValueError("\x1b[31mred")

        red = "\x1b[31mred tea\x1b[0m"
        traces = [
            await traced(WordStore(red, red), messages=[user(red)]),
            await traced(WordStore(red), messages=[user(red)]),
            await traced(WordStore(red, red), messages=[user(red)], injection={"query": raising}),
            await traced(FailingStore(red, ValueError(red))),
        ]
        for trace in traces:
            shown = [repr(trace), *map(repr, trace.stages), *map(repr, trace.hits), *map(repr, trace.notes)]
            assert "\x1b" not in "".join(shown)


class TestStage:
    async def test_a_stage_is_found_by_its_name(self) -> None:
        trace = await traced(WordStore("home", "tea"))
        assert [trace.stage(stage.name) for stage in trace.stages] == list(trace.stages)

    async def test_an_unknown_name_is_refused_with_the_nearest(self) -> None:
        trace = await traced(WordStore("home", "tea"))
        with pytest.raises(ConfigError, match=r"no stage 'serach'; .*Did you mean 'search'") as caught:
            trace.stage("serach")
        assert caught.value.allowed == ("trigger", "query", "search", "format", "fold")

    async def test_seconds_are_those_of_the_stages_together(self) -> None:
        trace = await traced(WordStore("home", "tea"))
        assert trace.seconds == sum(stage.seconds for stage in trace.stages) > 0


async def test_tokens_count_what_was_injected_alone() -> None:
    assert (await traced(WordStore("home", "tea"))).tokens == 13
    assert (
        await traced(WordStore("home", "tea"), messages=[assistant("tea")], injection={"trigger": "everyTurn"})
    ).tokens == 0


async def test_the_hits_become_a_frame() -> None:
    stores = WordStore("home", "tea"), WordStore("work", "green tea")
    frame = (await traced(*stores, injection={"max_entries": 1})).to_frame()
    assert list(frame["content"]) == ["tea", "green tea"]
    assert list(frame["kept"]) == [True, False]
    assert {"store", "rank", "score", "id", "content", "matched", "kept", "cut_by"} <= set(frame.columns)


class TestPage:
    async def test_it_shows_outcome_stages_hits_cut_notes_and_block(self) -> None:
        stores = WordStore("home", "The tea", "the end"), WordStore("work", "tea leaf")
        trace = await traced(*stores, messages=[user("the tea")], injection={"max_entries": 2})
        page = Reader(trace._repr_html_())
        for shown in (
            "2 entries injected, ~23 tokens",
            "✓ trigger done: 'userTurn', the last message is the user's own",
            "✓ search done: 3 hits, 2 kept (max_entries 2)",
            "cut: max_entries",
            "stop words: 1 of 2 kept entries matched by stop words alone (the)",
            "the end (stop words only)",
            '<entry source="home">The tea</entry>',
        ):
            assert shown in page.text
        assert page.tags.count("mark") == 4  # The, tea, the, tea

    async def test_a_failed_stage_shows_its_error(self) -> None:
        page = Reader((await traced(FailingStore("cloud")))._repr_html_())
        assert "✗ search failed: store 'cloud' raised ConnectionError('no route')" in page.text
        assert "· format not reached" in page.text
        assert "table" not in page.tags

    @pytest.mark.parametrize("text", MARKUP)
    async def test_b59_markup_in_any_field_shows_as_typed_and_runs_nothing(self, text: str) -> None:
        entry = MemoryEntry(f"tea {text}", metadata={text: text})
        store = ListedStore(f"n {text}", entry, description=text)
        plain = Reader((await traced(ListedStore("home", "tea and more")))._repr_html_())
        manager = MemoryManager([store])
        trace = await manager.trace_injection([user(f"tea {text}")])
        page = Reader(trace._repr_html_())
        assert set(page.tags) <= {*plain.tags, "ul"}
        assert {name for name, _ in page.attributes} == {name for name, _ in plain.attributes}
        assert f"tea {visible(text)}" in page.text
        assert f"n {visible(text)}" in page.text
        found = await manager.why(entry, [user("milk")])
        why = Reader(found._repr_html_())
        assert set(why.tags) <= {"div", "p", "strong", "ul", "li"}
        assert visible(text) in why.text
        off = await manager.why(text, [user(text)], False)
        assert visible(text) in Reader(off._repr_html_()).text

    @pytest.mark.parametrize("text", MARKUP)
    async def test_b59_an_error_that_quotes_markup_shows_it(self, text: str) -> None:
        def raising(context: Any) -> str:
            raise ValueError(text)

        trace = await traced(WordStore("home", "tea"), injection={"query": raising})
        page = Reader(trace._repr_html_())
        assert f"ValueError: {visible(text)}" in page.text
        assert set(page.tags) == {"div", "p", "strong", "ol", "li"}

    async def test_b61_a_closing_script_tag_stays_text(self) -> None:
        html = (await traced(WordStore("home", "tea </script><script>window.hit=1</script>")))._repr_html_()
        assert "<script" not in html
        assert "</script" not in html

    async def test_b62_prices_are_not_mathematics(self) -> None:
        trace = await traced(WordStore("home", "tea costs $5, cake $9_50"))
        for html in (
            trace._repr_html_(),
            (await MemoryManager([WordStore("h", "$5 tea $9")]).why("$5", []))._repr_html_(),
        ):
            classes = dict(Reader(html).attributes)["class"]
            assert {"mathjax_ignore", "tex2jax_ignore"} <= set((classes or "").split())
        assert "tea costs $5, cake $9_50" in Reader(trace._repr_html_()).text

    async def test_b65_a_page_stays_small_whatever_was_found(self) -> None:
        entries = [f"tea {at} " + "x" * 2000 for at in range(20_000)]

        class All(BareStore):
            async def search(self, query: str, options: Any = None) -> Any:
                return self.found

        trace = await traced(All("home", *entries), injection={"max_entries": 500})
        html = trace._repr_html_()
        assert len(html.encode()) < 100_000
        assert "… and 19,950 more hits, not shown here" in html
        assert "more characters, not shown here" in html


class TestCopies:
    async def test_a_copy_shares_nothing_that_can_change_but_the_stores_and_callbacks(self) -> None:
        trace = await traced(ListedStore("home", "tea"), injection={"format": lambda context: "tea!"})
        before = (repr(trace), json.dumps(trace.messages), [hit.content for hit in trace.hits])

        deep, shallow = copy.deepcopy(trace), copy.copy(trace)
        deep.messages[0]["content"].clear()
        deep.entries[0].content = "changed"
        assert (repr(trace), json.dumps(trace.messages), [hit.content for hit in trace.hits]) == before
        assert (trace.entries[0].content, shallow.messages) == ("tea", trace.messages)
        assert (deep.settings, deep.answers) == (trace.settings, trace.answers)

    async def test_it_refuses_to_be_pickled_and_says_what_to_keep(self) -> None:
        with pytest.raises(TypeError, match=r"cannot be pickled: it holds the stores .* trace\.to_frame\(\)"):
            pickle.dumps(await traced(ListedStore("home", "tea")))


class TestExplanationPage:
    async def test_it_shows_the_sentence_and_what_to_try(self) -> None:
        store = ListedStore("home", *(f"tea {at}" for at in range(7)))
        found = await MemoryManager([store]).why("tea 6", [user("tea")])
        page = Reader(found._repr_html_())
        assert page.text == (
            "✗ 'tea 6' did not arrive: rank 7, limit 5."
            "Before it: 'tea 0', 'tea 1', 'tea 2', 'tea 3', 'tea 4', 'tea 5'"
            "Try: max_entries 7 → rank 7 (and 1 other new entry: 'tea 5')"
            "Try: the user would have to say '6' → rank 1 (without 1 entry that arrives now: 'tea 4')"
        )

    async def test_it_shows_that_it_arrived(self) -> None:
        found = await MemoryManager([ListedStore("home", "tea")]).why("tea", [user("tea")])
        assert Reader(found._repr_html_()).text == "✓ 'tea' arrived: rank 1, matched on tea."
