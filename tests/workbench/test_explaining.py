"""For every reason why an entry does not arrive: `why` names it, and its suggestion, applied, brings the entry in."""

from __future__ import annotations

import gc
from functools import partial

import pytest

from memwb import callbacks
from memwb.callbacks import Filtered, Remembering
from memwb.catalog import Record
from memwb.errors import ConfigError
from memwb.memory import ExtractionTrigger, IntervalTrigger, MemoryManager, MemoryMessageFilter, ModelExtractor
from memwb.ranking import tokenize_any_script
from memwb.stores import TestMemoryStore
from memwb.testing import FaultyModel, ReplayAgent, ScriptedModel
from memwb.workbench import WorkbenchState
from tests.workbench.fakes import SearchStore, assistant, tool_call, tool_result, user

TEAS = [f"tea number {at}" for at in range(9)]


def store(*texts, name="home", **config):
    return TestMemoryStore.from_records(list(texts), name=name, **config)


async def bench(*stores, messages="tea", **given):
    state = WorkbenchState(list(stores), messages, **given)
    await state.settled()
    return state


async def fixed_by(state, target, words):
    """Ask why, apply the suggestion that begins with these words, and see that the entry is in where it was told."""
    found = await state.why(target)
    suggestion = next(one for one in found.suggestions if one.text.startswith(words))
    before = [] if not state.trace.injected else [entry.content for entry in state.trace.entries]
    trace = await state.take(suggestion)
    assert trace.entries[suggestion.rank - 1].content == found.target
    new = [entry.content for entry in trace.entries if entry.content not in (*before, found.target)]
    assert len(new) == suggestion.also == len(suggestion.brings)
    assert (await state.why(found.target)).arrived
    return found


# -- never matched --------------------------------------------------------------------------------------------------


async def test_words_that_differ_are_named_and_what_the_user_would_have_to_say_comes_last():
    state = await bench(store("allergic to latex", "tea"), messages="What are the mats made of?")
    found = await fixed_by(state, "latex", "the user would have to say 'allergic' → rank 1")
    assert [one.text for one in found.suggestions] == [
        "add 'mats' to the entry's text → rank 1",
        "the user would have to say 'allergic' → rank 1",
    ]
    assert found.sentence == (
        "'allergic to latex' did not arrive: it shares no word with the query. Searched: mats, made, …; it has: "
        "allergic, latex, …."
    )
    assert state.messages == [user("What are the mats made of? allergic")]
    await state.conversation.undo()
    assert state.messages == [user("What are the mats made of?")]


@pytest.mark.parametrize(
    ("entry", "query", "named"),
    [
        ("I love walnuts", "Is there a walnut?", "'walnut' is not 'walnuts'"),
        ("colour matters", "which color?", "'color' is not 'colour'"),
    ],
)
async def test_words_that_nearly_match_are_told_first(entry, query, named):
    found = await (await bench(store(entry), messages=query)).why(entry)
    assert not found.arrived
    assert found.sentence == f"{entry!r} did not arrive: it shares no word with the query: {named}."


async def test_of_several_words_the_one_is_chosen_that_brings_the_fewest_others_along():
    texts = ["walnut oil spread", *(f"spread {at}" for at in range(3)), "oil one"]
    found = await fixed_by(
        await bench(store(*texts), messages="hello"), "walnut", "the user would have to say 'walnut' →"
    )
    assert [one.also for one in found.suggestions] == [0, 0]


async def test_where_no_setting_helps_an_edited_entry_does_and_is_staged_only():
    home = store("I love walnuts", "nuts", name="home")
    state = await bench(home, messages="Is there a walnut in the cake?", editable=True)
    found = await state.why("love")
    assert found.suggestions[0].text == "add 'walnut' to the entry's text → rank 1"
    await state.take(found.suggestions[0])
    assert (await home.search("walnut"), [change.kind for change in state.entries.staged]) == ([], ["changed"])
    await state.entries.write()
    await state.settled()
    assert [entry.content for entry in state.trace.entries] == ["I love walnuts (walnut)"]


async def test_of_an_entry_that_cannot_be_edited_no_edit_is_offered():
    state = await bench(SearchStore("I love walnuts", name="home"), messages="Is there a walnut?")
    assert [one for one in (await state.why("I love walnuts")).suggestions if "edit" in one.settings] == []


async def test_several_settings_are_tried_at_once_where_no_single_one_helps():
    texts = ["a cane", *TEAS]
    talk = [user("cane, tea"), assistant("Which tea?"), user("tea, please")]
    state = await bench(store(*texts), messages=talk, injection={"max_entries": 2})
    found = await fixed_by(state, "cane", "query: the whole history, max_entries 10 → rank 10")
    assert all("edit" not in one.settings for one in found.suggestions)


@pytest.mark.parametrize("asked", [[user("Do I use a cane?")], [user("a cane"), assistant("ok"), user("hm")]])
async def test_a_turn_that_holds_a_tool_result_alone_has_a_fix_of_trigger_and_query(asked):
    talk = [*asked, tool_call(), tool_result("none")]
    found = await fixed_by(await bench(store("a cane"), messages=talk), "cane", "trigger everyTurn, query: the")
    assert found.stage == "trigger"


async def test_a_search_inside_a_tool_loop_is_mended_by_the_users_own_words():
    talk = [user("Do I use a cane?"), tool_call(), tool_result("none")]
    state = await bench(store("a cane"), messages=talk, injection={"trigger": "everyTurn"})
    await fixed_by(state, "cane", "query: the user's latest message → rank 1")


@pytest.mark.parametrize(
    ("entry", "query"),
    [("我住在北京", "北京好吗"), ("STRASSE in Bonn", "straße"), ("カレーが好き", "カレー")],
)
async def test_a_text_that_another_tokenizer_cuts_is_found_by_it_on_a_view_of_the_store(entry, query):
    home = store(entry, "tea")
    state = await bench(home, messages=query)
    await fixed_by(state, entry, "tokenizer: any script → rank 1")
    assert (state.tokenizer, home.tokenizer.__name__) == (tokenize_any_script, "tokenize")
    await state.set(tokenizer=None)
    assert not state.trace.injected


async def test_a_store_without_words_is_not_asked_for_them():
    class Vectors(SearchStore):
        async def search(self, query, options=None):
            return []

    state = await bench(Vectors("tea"), messages="milk")
    found = await state.why(Record(id="e1", content="tea", store="profile"))
    assert found.sentence == "'tea' did not arrive: 'profile' does not return it for this query."
    assert (found.words, found.suggestions) == ((), ())


# -- ranked below the limit, or cut after another store -------------------------------------------------------------


async def test_a_rank_below_the_limit_names_those_before_it():
    state = await bench(store(*TEAS))
    found = await fixed_by(state, "number 0", "max_entries 9 → rank 9")
    assert (found.rank, found.limit) == (9, 5)
    assert [hit.content for hit in found.before] == TEAS[:0:-1]
    assert found.suggestions[0].brings == ("tea number 3", "tea number 2", "tea number 1")


@pytest.mark.parametrize("change", ["stores: work first", "stores: without home", "max_entries 10"])
async def test_places_that_another_store_filled_are_got_by_order_by_leaving_it_out_or_by_a_limit(change):
    state = await bench(store(*TEAS), store("green tea", name="work"))
    found = await fixed_by(state, "green", change)
    assert "'home', registered before it, filled the 5 places" in found.sentence


async def test_the_headline_tells_of_a_store_that_lost_all_places_with_the_fix():
    state = await bench(store(*TEAS), store("green tea", name="work"))
    assert state.preview.verdict.sentence.endswith(
        "1 entry of 'work' cut: 'home', registered before it, filled the places."
    )
    trace = await state.take(state.preview.suggestions[0])
    assert (trace.entries[0].content, state.store_names) == ("green tea", ("work", "home"))
    assert state.preview.starved is None


async def test_an_entry_of_a_store_that_is_not_searched():
    state = await bench(store("tea"), store("green tea", name="work"))
    await state.set(stores=["home"])
    found = await fixed_by(state, "green", "stores: work too → rank 2")
    assert found.sentence == (
        "'green tea' did not arrive: it is in 'work', which is not among the stores searched ('home')."
    )


# -- stages that end it ---------------------------------------------------------------------------------------------


async def test_a_store_that_failed_is_named_with_its_exception_and_nothing_to_tune():
    state = await bench(SearchStore(name="cloud", error=ConnectionError("no route")), store("milk"))
    found = await state.why("tea")
    assert found.sentence == "'tea' did not arrive: store 'cloud' raised ConnectionError('no route')."
    assert found.suggestions == ()
    assert found.advice.startswith("No setting helps: ask the store by itself")


async def test_a_trigger_that_skipped():
    state = await bench(
        store("tea"), messages=[user("tea"), assistant("tea?"), user("look"), tool_call(), tool_result()]
    )
    found = await state.why("tea")
    assert found.stage == "trigger"
    await fixed_by(state, "tea", "trigger everyTurn")


async def test_a_trigger_that_skipped_where_the_query_would_find_nothing_either():
    state = await bench(store("tea"), messages=[user("tea"), tool_call(), tool_result()])
    found = await fixed_by(state, "tea", "trigger everyTurn, query: the whole history")
    assert all(len(one.settings) == 2 for one in found.suggestions)


async def test_injection_that_is_off():
    await fixed_by(await bench(store("tea"), injection=False), "tea", "injection on → rank 1")


async def test_a_query_that_failed():
    await fixed_by(await bench(store("tea"), injection={"query": lambda context: 1 / 0}), "tea", "query: ")


async def test_a_format_that_failed():
    await fixed_by(await bench(store("tea"), injection={"format": lambda context: 1 / 0}), "tea", "the default format")


async def test_a_format_that_leaves_it_out():
    def first_alone(context):
        return context.entries[0].content

    state = await bench(store("tea", "green tea"), injection={"format": first_alone})
    found = await fixed_by(state, Record(id="", content="tea", store="home"), "the default format → rank 2")
    assert found.sentence == "'tea' did not arrive: it was kept at rank 2, but the format first_alone left it out."
    assert found.stage == "format"


FILTERS = [
    (
        "score_floor",
        {"format": Filtered(callbacks.bullet_list, callbacks.no_duplicates, partial(callbacks.score_floor, least=2))},
    ),
    ("no_duplicates", {"format": Filtered(callbacks.bullet_list, callbacks.no_duplicates)}),
    ("not_said", {"query": Remembering(), "format": Filtered(callbacks.bullet_list, callbacks.not_said)}),
]


@pytest.mark.parametrize(("name", "injection"), FILTERS)
async def test_a_filter_that_dropped_it_is_named_and_left_out(name, injection):
    stores = [store("green tea", name="first"), store("Green Tea" if name == "no_duplicates" else "tea", name="second")]
    state = await bench(*stores, messages="tea green" if name == "no_duplicates" else "tea", injection=injection)
    entry = (await stores[1].page(0, 1))[0]
    found = await fixed_by(state, entry, f"without the filter {name}")
    assert f"but the filter {name} left it out" in found.sentence


async def test_a_filter_that_leaves_nothing_is_named_too():
    format = Filtered(callbacks.bullet_list, partial(callbacks.score_floor, least=3))
    found = await fixed_by(
        await bench(store("tea"), injection={"format": format}), "tea", "without the filter score_floor"
    )
    assert found.sentence == "'tea' did not arrive: it was kept at rank 1, but the filter score_floor left it out."


async def test_a_filter_in_the_editors_text_is_taken_out_of_the_text():
    state = await bench(store("tea"))
    await state.choose("format", "bullet list")
    await state.choose("format", "filter: score floor")
    assert not state.trace.injected
    await fixed_by(state, "tea", "without the filter score_floor → rank 1")
    assert "entries = score_floor(" not in state.slots["format"].source
    await state.edit("format", state.slots["format"].source + "\n# mine\n")
    assert state.trace.text == "<memory>\n- tea\n</memory>"


# -- never written --------------------------------------------------------------------------------------------------


async def test_no_file(tmp_path):
    home = TestMemoryStore(name="home", path=tmp_path / "home.json")
    found = await (await bench(home)).why("latex")
    no_file = f"store 'home' has no file at {home.path} (nothing was ever written there, or the path is wrong)"
    assert found.sentence == f"'latex' did not arrive: {no_file}."
    state = WorkbenchState(MemoryManager([home]), "latex?")
    await state.settled()
    found = await state.find("latex")
    assert found.sentence == (
        f"'latex' did not arrive: {no_file}; message 1 says it, but nothing writes here: the add tool is off and no "
        "store extracts."
    )
    assert "add_tool_config=True" in found.advice


async def test_a_file_that_is_missing_among_several_stores_is_named_also_where_the_others_have_hits(tmp_path):
    lost = TestMemoryStore(name="lost", path=tmp_path / "lots.json")
    state = await bench(store("green tea"), lost)
    no_file = f"store 'lost' has no file at {lost.path} (nothing was ever written there, or the path is wrong)"
    assert (await state.why("latex")).sentence == (f"'latex' did not arrive: no store here holds it; {no_file}.")
    assert state.preview.verdict.sentence == f"1 of 1 hit arrived, ~15 tokens; {no_file}."
    await state.set(messages="milk")
    assert state.preview.verdict.sentence.endswith(f"looked for milk; {no_file}.")
    health = await state.entries.health()
    assert [(one.store, one.place, one.fault, one.damaged) for one in health.findings] == [
        ("lost", str(lost.path), "there is no file", False)
    ]
    await lost.add("milk")
    await state.set(messages="milk?")
    assert state.preview.verdict.sentence.startswith("1 of 1 hit arrived")
    assert no_file not in state.preview.verdict.sentence


LATEX = "I am allergic to latex"


async def test_extraction_that_has_not_come_to_it():
    manager, agent = await extracted(ScriptedModel(['["never asked"]']), "Hello", LATEX)
    found = await why_latex(manager)
    assert found.sentence == (
        f"{LATEX!r} did not arrive: no store here holds it; message 3 says it, and is not saved to 'home' yet: "
        "extraction at 2 of 5 invocations."
    )
    assert found.advice == "`await manager.flush()` saves it now."
    assert agent is not None


async def test_extraction_that_is_flushed_only():
    found = await why_latex((await extracted(None, LATEX, trigger=Never()))[0])
    assert found.sentence.endswith("message 1 says it, and is not saved to 'home' yet: not flushed.")


async def test_a_fact_that_the_model_did_not_find():
    found = await why_latex((await extracted(ScriptedModel(["[]"]), LATEX, turns=1))[0])
    assert found.sentence.endswith("message 1 says it, and extraction for 'home' made no such entry of it.")
    assert "wb.extraction()" in found.advice


async def test_an_answer_that_could_not_be_read():
    found = await why_latex((await extracted(ScriptedModel(["I cannot."]), LATEX, turns=1))[0])
    assert found.sentence.endswith("message 1 says it, and what the model answered about it could not be read.")
    assert found.advice == "`await manager.retry_unreadable()` asks again."


async def test_a_model_that_failed():
    found = await why_latex((await extracted(FaultyModel(), LATEX, turns=1))[0])
    assert "message 1 says it, and saving it to 'home' failed: ConnectionError(" in found.sentence


async def test_a_fact_whose_write_failed():
    def full(content, metadata=None):
        raise OSError("the disk is full")

    manager, _ = await extracted(ScriptedModel([FACT]), LATEX, turns=1, add=full)
    found = await why_latex(manager)
    assert found.sentence.endswith("it was extracted, and its write to 'home' failed: OSError('the disk is full').")
    assert found.advice == "`await manager.retry_unwritten()` tries again."


async def test_a_fact_that_the_review_left_out():
    async def none(proposed):
        return []

    found = await why_latex((await extracted(ScriptedModel([FACT]), LATEX, turns=1, review=none))[0])
    assert found.sentence.endswith("it was extracted for 'home', and the review left it out.")


async def test_a_message_that_the_filter_drops():
    kinds = MemoryMessageFilter(exclude=["text"])
    found = await why_latex((await extracted(ScriptedModel([]), LATEX, turns=1, filter=kinds))[0])
    assert found.sentence.endswith("message 1 says it, and the filter of 'home' drops it (text).")


async def test_stores_that_extract_without_an_agent():
    manager = MemoryManager([store("milk", extraction=True)])
    found = await (await bench_of(manager, LATEX)).why(LATEX)
    assert found.sentence.endswith("message 1 says it, but 'home' would extract it, and no agent is attached.")


async def test_what_was_written_after_all_is_found():
    manager, _ = await extracted(ScriptedModel([FACT]), LATEX, turns=1)
    assert (await (await bench_of(manager, "latex")).why(LATEX)).arrived


class Never(ExtractionTrigger):
    name = "never"

    def attach(self, context):
        return None


FACT = f'[{{"content": "{LATEX}"}}]'


async def extracted(model, *turns_said, turns=5, trigger=None, review=None, add=None, filter=None):
    """A manager whose agent has had these turns."""
    extraction = {"trigger": trigger or IntervalTrigger(turns), "extractor": ModelExtractor(model or ScriptedModel([]))}
    home = store("milk", extraction={**extraction, **({"filter": filter} if filter else {})})
    if add is not None:
        home = Failing(home, add)
    manager = MemoryManager([home])
    manager.review = review
    talk = [message for text in turns_said for message in (user(text), assistant("Noted."))]
    agent = ReplayAgent(talk, manager)
    while not agent.done:
        await agent.step()
    return manager, agent  # who holds the agent holds what it owes


class Failing(TestMemoryStore):
    """Holds what another store holds, and cannot be written to."""

    def __init__(self, of, add):
        super().__init__(name=of.name, persist=False, extraction=of.extraction)
        self._records, self._fails = of._records, add

    async def add(self, content, metadata=None):
        return self._fails(content, metadata)


async def bench_of(manager, *messages):
    state = WorkbenchState(manager, *messages)
    await state.settled()
    return state


async def why_latex(manager):
    return await (await bench_of(manager, "milk")).why(LATEX)


# -- newer than the call --------------------------------------------------------------------------------------------


def said_at(time, message):
    return {**message, "metadata": {"created_at": time}}


async def test_an_entry_that_was_written_after_the_call():
    talk = [said_at("2026-01-01T10:00:00Z", user("tea")), said_at("2026-01-01T10:00:05Z", assistant("Yes."))]
    items = [{"content": "tea", "createdAt": "2026-01-01T09:00:00.000Z"}]
    items.append({"content": "late tea", "createdAt": "2026-01-02T09:00:00.000Z"})
    state = await bench(TestMemoryStore.from_records(items, name="home"), messages=talk)
    early, late = await state.why("tea"), await state.why("late")
    assert (early.newer, late.newer) == (False, True)
    assert late.sentence == (
        "'late tea' arrived: rank 1, matched on tea. It was written after this call, on 2026-01-02 at 09:00:00 UTC."
    )


# -- one of several -------------------------------------------------------------------------------------------------


async def test_of_several_entries_that_hold_the_text_the_best_is_told_and_the_others_are_in_reach():
    state = await bench(store("I am tall", "I am", "so I am here", "tea"), messages="tall I am not")
    found = await state.why("i am ")
    assert found.sentence.startswith("'I am' arrived") or found.sentence.startswith("1 of 3 entries that hold 'i am'")
    found = await state.find("am t")
    assert (found.others, found.among) == ((), 0)
    found = await state.find("I a")
    assert found.sentence == "1 of 3 entries that hold 'I a': 'I am tall' arrived: rank 1, matched on tall."
    assert (found.among, [other.content for other in found.others]) == (3, ["I am", "so I am here"])
    other = await state.find(found.others[1])
    assert (other.target, other.others, other.id) == ("so I am here", (), found.others[1].id)


# -- applying -------------------------------------------------------------------------------------------------------


async def test_only_a_suggestion_can_be_applied():
    state = await bench(store("tea"))
    with pytest.raises(ConfigError, match=r"takes a suggestion .*not 'max_entries 9'"):
        await state.take("max_entries 9")


@pytest.mark.parametrize(("value", "says"), [("word", "Did you mean 'words'"), (5, "it is one of words")])
async def test_a_tokenizer_that_there_is_not(value, says):
    with pytest.raises(ConfigError, match=says):
        await (await bench(store("tea"))).set(tokenizer=value)


async def test_stores_that_take_no_tokenizer():
    with pytest.raises(ConfigError, match="no store here takes a tokenizer"):
        await (await bench(SearchStore("tea"))).set(tokenizer="any script")


async def test_a_tokenizer_that_is_tried_here_is_no_setting_of_an_agent(tmp_path):
    state = await bench(store("tea"))
    await state.set(tokenizer="any script")
    with pytest.raises(ConfigError, match="tokenizer is set in this workbench alone: build the stores with it"):
        state.export(tmp_path / "agent_memory.py")
    assert list(tmp_path.iterdir()) == []


async def test_an_agent_that_is_gone_owed_nothing():
    manager, agent = await extracted(ScriptedModel(["[]"]), LATEX, turns=1)
    del agent
    gc.collect()
    assert manager.extraction_status() == []
    found = await why_latex(manager)
    assert found.sentence.endswith("message 1 says it, and extraction for 'home' made no such entry of it.")
