"""The state that the workbench shows: where it opens, what can be set, when its trace is stale, how it reads."""

from __future__ import annotations

import asyncio
import threading

import pytest

import memwb
from memwb.callbacks import last_two_messages
from memwb.errors import ConfigError, StaleTraceError
from memwb.memory import MemoryManager
from memwb.workbench import WorkbenchState
from tests.workbench.fakes import ABOUT_ME, ListStore, SearchStore, assistant, tool_call, tool_result, user

TALK = [
    user("Hello"),
    assistant("What can I do for you?"),
    user("What do I like?"),
    tool_call(),
    tool_result(),
    assistant("Jazz."),
    user("And what am I allergic to?"),
    assistant("Latex."),
]


def bench(*stores, messages="What do I use?", **given):
    """A state on these stores, or on one with a few memories."""
    return WorkbenchState(list(stores) or ListStore(*ABOUT_ME), messages, **given)


# -- model calls ----------------------------------------------------------------------------------------------------


async def test_it_opens_at_the_last_model_call_and_tells_how_many_messages_are_left_out():
    state = bench(messages=TALK)

    assert (state.call, len(state.calls), state.left_out) == (4, 4, 1)
    assert state.seen == TALK[:7]


async def test_every_model_call_can_be_chosen_those_inside_a_tool_loop_included():
    state = bench(messages=TALK)

    seen = {}
    for call in (1, 2, 3, 4):
        trace = await state.set(call=call)
        seen[call] = (len(state.seen), state.seen[-1], trace.stage("trigger").status)
    assert seen == {
        1: (1, TALK[0], "done"),
        2: (3, TALK[2], "done"),
        3: (5, TALK[4], "skipped"),  # a tool result is no turn of the user
        4: (7, TALK[6], "done"),
    }


async def test_parallel_user_messages_are_one_model_call():
    assert bench(messages=[user("a"), user("b"), assistant("c"), user("d")]).calls == [2, 4]


@pytest.mark.parametrize("call", [0, -1, 5, True, "1", 1.0])
async def test_a_call_that_does_not_exist_is_refused_and_nothing_changes(call):
    state = bench(messages=TALK)

    with pytest.raises(ConfigError, match="call is"):
        state.put(call=call, max_entries=3)
    assert (state.call, state.settings.max_entries) == (4, 5)


async def test_a_call_out_of_range_is_told_with_the_calls_that_there_are():
    state = bench(messages=["Do I like jazz?", "Yes.", "And a cane?"])
    with pytest.raises(ConfigError) as told:
        await state.set(call=5)
    assert str(told.value) == (
        "Workbench: call is 5; this conversation has 2 model calls: call 1 answers 'Do I like jazz?', call 2 answers "
        "'And a cane?'."
    )
    assert told.value.allowed == ("1", "2")
    many = bench(messages=[text for at in range(1, 9) for text in (f"Question {at}", "Yes.")][:-1])
    with pytest.raises(ConfigError, match=r"has 8 model calls: …, call 4 answers .*, call 8 answers 'Question 8'\.$"):
        many.put(call=0)


@pytest.mark.parametrize("messages", [[], [assistant("Hello, how can I help?")]], ids=["none", "the assistant's"])
async def test_without_a_user_message_there_is_no_model_call_and_the_user_can_say_something(messages):
    state = bench(messages=messages)
    await state.settled()
    assert (state.call, state.seen, state.trace.skipped_at) == (0, messages, "trigger")
    with pytest.raises(ConfigError, match="this conversation has 0 model calls"):
        state.put(call=1)

    state.say("Do I like jazz?")
    await state.settled()
    assert (state.call, state.seen[-1]) == (1, user("Do I like jazz?"))
    assert state.trace.injected


async def test_other_messages_open_at_their_own_last_call():
    state = bench(messages=TALK)

    await state.set(messages=["Hi", "Hello", "Do I like jazz?"])
    assert (state.call, state.calls, state.messages[-1]) == (2, [1, 3], user("Do I like jazz?"))

    await state.set(messages=TALK, call=2)
    assert (state.call, state.seen) == (2, TALK[:3])


# -- settings -------------------------------------------------------------------------------------------------------


async def test_each_setting_can_be_set_and_the_trace_that_comes_back_shows_it():
    state = bench(ListStore(*ABOUT_ME, name="home"), ListStore("I use a bike to work.", name="work"))

    def query(context):
        return "use"

    def format(context):
        return f"{len(context.entries)} memories"

    assert len((await state.set(max_entries=1)).entries) == 1
    assert (await state.set(query=query)).query == "use"
    assert (await state.set(format=format)).text == "1 memories"
    assert (await state.set(placement="append")).messages[-1]["content"][-1] == {"text": "\n\n1 memories"}
    assert (await state.set(stores=["work", "home"])).entries[0].store_name == "work"
    assert (await state.set(stores="home")).entries[0].store_name == "home"
    assert (await state.set(trigger=lambda context: False)).skipped_at == "trigger"
    assert (await state.set(trigger="everyTurn")).fired
    assert state.injection == {
        "max_entries": 1,
        "trigger": "everyTurn",
        "placement": "append",
        "query": query,
        "format": format,
    }


async def test_none_brings_back_a_settings_default():
    state = bench(injection={"max_entries": 1, "placement": "append", "trigger": lambda context: True})
    await state.set(query=last_two_messages, format=lambda context: "x")

    await state.set(max_entries=None, placement=None, trigger=None, query=None, format=None)
    assert state.injection == {"max_entries": 5, "trigger": "userTurn", "placement": "prepend"}


async def test_stores_none_brings_back_all_of_them_in_their_order():
    state = bench(ListStore(name="home"), ListStore(name="work"))

    await state.set(stores=["work"])
    await state.set(stores=None)
    assert state.store_names == ("home", "work")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"max_entry": 1},
            r"unknown setting 'max_entry'; the settings are max_entries, .* Did you mean 'max_entries'\?",
        ),
        ({"injection": 5}, "injection must be True, False or a dict"),
        ({"max_entries": 0}, "max_entries.* is 0; it must be a whole number, at least 1"),
        ({"max_entries": "5"}, "max_entries.* is '5'; it must be"),
        ({"trigger": "user_turn"}, r"it takes 'userTurn' or 'everyTurn' .* Did you mean 'userTurn'\?"),
        ({"placement": "apend"}, r"Did you mean 'append'\?"),
        ({"query": "jazz"}, "must be a function of the context"),
        ({"stores": ["hme"]}, r"no store 'hme'; the stores are home, work\. Did you mean 'home'\?"),
        ({"stores": [1]}, "no store 1; the stores are home, work"),
        ({"stores": []}, "at least one store"),
        ({"stores": 5}, "stores must be names of stores"),
        ({"messages": 5}, "messages must be"),
    ],
    ids=range(12),
)
async def test_b71_an_unknown_name_or_value_is_refused_with_the_nearest_and_nothing_changes(change, message):
    state = bench(ListStore(*ABOUT_ME, name="home"), ListStore(name="work"), messages=TALK)
    await state.settled()
    before = (state.injection, state.store_names, state.call, state.messages, state.trace)

    with pytest.raises(ConfigError, match=message):
        state.put(**{"max_entries": 2, "call": 1, "stores": ["work"]} | change)
    assert (state.injection, state.store_names, state.call, state.messages, state.trace) == before


@pytest.mark.parametrize("name", ["query", "format", "trigger"])
async def test_an_async_callback_is_refused_when_it_is_set(name):
    async def callback(context): ...

    state = bench()
    with pytest.raises(ConfigError, match=r"is the async function 'callback'; .*Write it with plain 'def'"):
        state.put(**{name: callback})
    assert name not in state.injection or state.injection[name] == "userTurn"


async def test_the_injection_settings_are_the_sources_own_unless_they_are_given():
    manager = MemoryManager([ListStore()], injection={"max_entries": 2})

    assert WorkbenchState(manager).injection["max_entries"] == 2
    assert WorkbenchState(manager, injection=True).injection["max_entries"] == 5
    assert WorkbenchState(manager, injection={"max_entries": 3}).injection["max_entries"] == 3
    assert WorkbenchState(manager, injection=False).injection is False


@pytest.mark.parametrize(
    ("injection", "message"),
    [
        ({"max_entry": 1}, r"injection has no key 'max_entry'; .*Did you mean 'max_entries'\?"),
        ({"trigger": "user_turn"}, r"Did you mean 'userTurn'\?"),
        ({"max_entries": -1}, "is -1; it must be a whole number"),
        ("on", "injection must be True, False or a dict of settings"),
    ],
    ids=range(4),
)
async def test_b71_a_bad_injection_setting_is_refused_when_the_workbench_is_made(injection, message):
    with pytest.raises(ConfigError, match=f"^Workbench: .*{message}"):
        bench(injection=injection)


async def test_the_injection_is_taken_over_unchanged_by_a_manager():
    state = bench(injection={"trigger": lambda context: True})
    await state.set(max_entries=2, query=last_two_messages, format=lambda context: "block", placement="append")
    manager = MemoryManager(state.source.stores, injection=state.injection)

    assert await manager.inject(state.seen) == state.trace.messages
    assert manager.injection == state.injection


async def test_with_injection_off_the_model_gets_the_messages_as_they_are():
    state = bench(injection=False)
    await state.settled()

    assert (state.trace.messages, state.trace.reason, state.injection) == (state.seen, "injection is off", False)


# -- stale or not ---------------------------------------------------------------------------------------------------


async def test_while_a_refresh_is_pending_no_old_trace_can_be_read():
    state = bench()
    for _ in range(2):
        assert state.pending
        with pytest.raises(StaleTraceError, match=r"settings changed .*`await wb` first"):
            _ = state.trace
        with pytest.raises(StaleTraceError):
            _ = state.hits
        await state.settled()
        assert (state.pending, state.trace.injected, len(state.hits)) == (False, True, 4)
        state.put(max_entries=1)


async def test_ten_quick_changes_are_one_search_at_the_end():
    store = ListStore(*ABOUT_ME)
    state = bench(store)
    await state.settled()
    before, revision = len(store.searched), state.revision

    for limit in range(1, 11):
        state.put(0.3, max_entries=limit)
        await asyncio.sleep(0)
    await state.settled()

    assert ({limit for _, limit in store.searched[before:]}, state.revision) == ({10, 50}, revision + 1)
    assert len(state.trace.entries) == 4


async def test_the_newest_change_wins_over_a_slower_one():
    class Slowing(ListStore):
        async def search(self, query, options=None):
            self.seconds = 0.2 if query == "slow" else 0
            return await super().search(query, options)

    state = bench(Slowing(*ABOUT_ME))
    await state.settled()

    state.put(query=lambda context: "slow")
    await asyncio.sleep(0.05)
    state.put(query=lambda context: "cane")
    await state.settled()
    await asyncio.sleep(0.3)
    assert state.trace.query == "cane"


async def test_b66_a_change_searches_once_however_often_the_cell_was_run():
    store = ListStore(*ABOUT_ME)
    states = [bench(store) for _ in range(3)]
    for state in states:
        await state.settled()
    heard = []
    states[-1].subscribe(lambda: heard.append(states[-1].pending))
    store.searched.clear()

    await states[-1].set(max_entries=7)

    assert store.searched == [
        ("What do I use?", 7),
        ("What do I use?", 50),
    ]  # the injection, and what lies below its cut
    assert heard == [True, False]


async def test_settling_from_another_loop_and_thread_gives_the_same_trace():
    state = bench()

    trace = await asyncio.to_thread(lambda: asyncio.run(state.set(max_entries=1)))
    assert (trace, len(trace.entries)) == (state.trace, 1)


def test_a_script_may_use_one_asyncio_run_after_the_other():
    state = bench()

    first = asyncio.run(state.set(max_entries=1))
    state.put(max_entries=2)
    with pytest.raises(StaleTraceError):
        _ = state.trace
    second = asyncio.run(state.set(placement="append"))

    assert (len(first.entries), len(second.entries)) == (1, 2)
    assert state.trace is second
    state.close()


async def test_subscribers_are_told_of_each_change_until_they_leave():
    state, told = bench(), []
    leave = state.subscribe(lambda: told.append(state.pending))
    await state.settled()

    await state.set(max_entries=1)
    leave()
    leave()
    await state.set(max_entries=2)

    assert told == [False, True, False]


async def test_the_revision_grows_when_a_refresh_is_complete():
    state = bench()
    assert state.revision == 0
    await state.settled()
    assert state.revision == 1

    state.put(max_entries=1)
    assert state.revision == 1
    await state.settled()
    assert state.revision == 2


# -- how it reads ---------------------------------------------------------------------------------------------------


async def test_the_demo_reads_as_documented():
    state = WorkbenchState()
    await state.settled()

    assert repr(state) == "Workbench(1 store, 22 entries; call 3: 5 of 21 hits injected)"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "Workbench(1 store, 4 entries; call 1: 4 of 4 hits injected)"),
        ({"messages": TALK}, "Workbench(1 store, 4 entries; call 4: 4 of 4 hits injected)"),
        ({"messages": "cane"}, "Workbench(1 store, 4 entries; call 1: 1 of 1 hit injected)"),
        (
            {"messages": "Yes, please."},
            "Workbench(1 store, 4 entries; call 1: nothing found: no entry shares a word with 'Yes, please.')",
        ),
        (
            {"messages": [assistant("Hello")]},
            "Workbench(1 store, 4 entries; skipped at trigger: 'userTurn', the last message is the assistant's)",
        ),
        ({"injection": False}, "Workbench(1 store, 4 entries; call 1: skipped at trigger: injection is off)"),
        (
            {"injection": {"format": lambda context: 42}},
            "Workbench(1 store, 4 entries; call 1: failed at format: TypeError: the format callback <lambda> returned "
            "int '42'; text is expected)",
        ),
    ],
    ids=range(7),
)
async def test_its_repr_is_short_and_true(given, text):
    state = bench(**given)
    assert repr(state) == "Workbench(1 store; not settled: `await wb` first)"

    await state.settled()
    assert repr(state) == text


async def test_its_repr_counts_what_can_be_counted():
    both = bench(ListStore(*ABOUT_ME, name="home"), ListStore("I use a bike.", name="work"))
    hidden = bench(SearchStore(*ABOUT_ME))
    await both.settled()
    await hidden.settled()

    assert repr(both) == "Workbench(2 stores, 5 entries; call 1: 5 of 5 hits injected)"
    assert repr(hidden) == "Workbench(1 store; call 1: 4 of 4 hits injected)"


async def test_traces_read_as_documented():
    yes = bench(messages="Yes, please.")
    theirs = bench(messages=[user("Hi"), assistant("Hello")], injection={"trigger": "userTurn"})
    theirs.calls = [2]  # as an agent's own history ends
    await yes.settled()
    await theirs.settled()

    assert repr(yes.trace) == "InjectionTrace(nothing found: no entry shares a word with 'Yes, please.')"
    assert repr(theirs.trace) == ("InjectionTrace(skipped at trigger: 'userTurn', the last message is the assistant's)")


# -- closing --------------------------------------------------------------------------------------------------------


async def test_closing_leaves_no_task_and_later_changes_do_nothing():
    store = ListStore(*ABOUT_ME, seconds=60)
    state = bench(store)
    await asyncio.sleep(0.01)

    state.close()
    await asyncio.sleep(0.01)
    state.put(max_entries=1)
    await state.settled()

    assert (asyncio.all_tasks() - {asyncio.current_task()}, len(store.searched)) == (set(), 1)


def test_the_face_of_the_package_offers_the_workbench():
    assert memwb.Workbench.__name__ == "Workbench"


async def test_a_long_reason_is_cut_in_its_repr():
    state = bench(ListStore(error=OSError("no route to host " * 20)))
    await state.settled()

    assert repr(state) == (
        "Workbench(1 store, 0 entries; call 1: failed at search: store 'profile' raised OSError('no route to host no "
        "route to host no route to host no route to host n…)"
    )


async def test_a_refresh_that_fails_itself_is_told_and_no_old_trace_is_read():
    def broken(text):
        raise LookupError("the tokenizer is gone")

    store = ListStore(*ABOUT_ME)
    state = bench(store)
    await state.settled()

    store.tokenizer = broken
    with pytest.raises(StaleTraceError, match="their refresh failed: LookupError: the tokenizer is gone"):
        await state.set(max_entries=2)
    assert (state.failure, state.pending) == ("LookupError: the tokenizer is gone", False)
    assert repr(state) == "Workbench(1 store; the refresh failed: LookupError: the tokenizer is gone)"

    store.tokenizer = None
    assert (await state.set(max_entries=3)).injected
    assert state.failure == ""


# -- what was said of one call or one source ------------------------------------------------------------------------


async def test_what_should_arrive_was_said_of_one_call_and_holds_there_alone():
    state = bench(messages=TALK, expected=["e1"])
    await state.settled()
    assert state.preview.explanation is not None

    await state.set(call=1)
    assert (state.expected, state.preview.explanation) == ((), None)

    await state.set(call=None)
    assert state.expected == ("e1",)

    state.say("Anything else?")
    await state.settled()
    assert state.expected == ()


async def test_another_source_forgets_what_was_looked_for_in_the_old_one():
    state = bench(expected=["e1"])
    state.look_for("cane")
    state.switch(["I like tea."])
    await state.settled()

    assert (state.expected, state.looked_for, state.preview.explanation) == ((), "", None)


async def test_none_brings_back_the_sources_conversation_and_its_last_call():
    state = WorkbenchState()
    await state.set(messages="Hello", call=1)
    await state.set(messages=None)

    assert (state.call, len(state.calls), state.expected) == (3, 3, ("2024-test/11#22",))


async def test_injection_is_switched_off_and_on_again_with_what_was_set():
    state = bench()
    await state.set(max_entries=2)

    trace = await state.set(injection=False)
    assert (state.injection, trace.reason) == (False, "injection is off")

    await state.set(injection={"max_entries": 2})
    assert state.injection == {"max_entries": 2, "trigger": "userTurn", "placement": "prepend"}


async def test_a_closed_workbench_gives_no_old_trace_as_a_fresh_one():
    state = bench()
    await state.settled()
    state.close()

    with pytest.raises(StaleTraceError, match="This workbench was closed"):
        await state.set(max_entries=1)


async def test_a_predicate_that_keeps_count_in_the_agents_state_does_not_count_previews():
    state = bench()
    state.source.state = {"seen": 0}

    def first_time(context):
        context.state["seen"] += 1
        return context.state["seen"] == 1

    await state.set(trigger=first_time)
    trace = await state.set(max_entries=2)
    assert (trace.fired, state.source.state) == (True, {"seen": 0})


async def test_a_store_that_cancels_its_own_call_does_not_keep_the_workbench_waiting():
    class Cancelling(ListStore):
        async def count(self, where=""):
            raise asyncio.CancelledError

    state = bench(Cancelling("I use a cane."))
    await asyncio.wait_for(state.settled(), 5)
    assert state.preview.entries is None


async def test_an_empty_file_and_a_missing_one_read_differently_and_unlike_no_match(tmp_path):
    missing, emptied = tmp_path / "none.json", tmp_path / "empty.json"
    emptied.write_text("[]")

    texts = []
    for source in (missing, emptied, [], ["Tea, please."]):
        state = WorkbenchState(source, "What do I use?")
        await state.settled()
        texts.append(repr(state))
    assert texts == [
        "Workbench(1 store, 0 entries; call 1: nothing found: store 'none' has no file at none.json (nothing was ever "
        "written there, or the path is wrong))",
        "Workbench(1 store, 0 entries; call 1: nothing found: empty.json holds no entry, so 'empty' is empty)",
        "Workbench(1 store, 0 entries; call 1: nothing found: nothing was ever written to 'texts')",
        "Workbench(1 store, 1 entry; call 1: nothing found: no entry shares a word with 'What do I use?')",
    ]


async def test_a_hit_that_is_looked_for_is_the_one_of_its_own_store():
    one, other = ListStore("Tea is green.", name="one"), ListStore("Tea is black.", name="other")  # both hold an e1
    state = WorkbenchState([one, other], "tea")
    await state.settled()

    state.look_for(state.hits[1], pause=0.0)
    await state.settled()
    found = state.preview.explanation
    assert (found.target, found.store, found.id) == ("Tea is black.", "other", "e1")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"time_limit": 0}, "time_limit is 0; it must be a number of seconds above 0"),
        ({"time_limit": float("nan")}, "time_limit is nan"),
        ({"time_limit": "2"}, "time_limit is '2'"),
        ({"expected": 5}, "expected is 5; it must be ids or texts"),
        ({"expected": [""]}, "none of them blank"),
        ({"injection": {"max_entries": 10**30}}, "more than 9,223,372,036,854,775,807 cannot be counted"),
    ],
    ids=range(6),
)
async def test_arguments_that_could_only_fail_later_are_refused_at_once(given, message):
    with pytest.raises(ConfigError, match=message):
        bench(**given)


@pytest.mark.parametrize("error", [SystemExit(2), KeyboardInterrupt()])
async def test_a_store_that_raises_an_exit_or_an_interrupt_does_not_end_the_kernel(error):
    state = bench(SearchStore("I use a cane.", error=error))
    await state.settled()

    assert type(error).__name__ in repr(state)


async def test_a_store_that_lies_about_its_count_keeps_its_trace():
    class Many(ListStore):
        async def count(self, where=""):
            return "many"

    state = bench(Many("I use a cane."))
    trace = await state.set(max_entries=1)
    assert (len(trace.entries), state.preview.entries) == (1, None)


async def test_an_entry_of_a_store_that_tells_no_ids_can_be_expected_by_the_id_that_its_listing_tells():
    store = SearchStore("I use a cane.", "I like jazz.")
    state = bench(store, expected=["e2"])
    state.source.listings["profile"] = ListStore("I use a cane.", "I like jazz.")
    await state.set(max_entries=1)

    assert (state.preview.explanation.target, state.preview.explanation.rank) == ("I like jazz.", 2)
    assert [state.preview.is_wanted(hit) for hit in state.hits] == [False, True]
    assert (await state.why("e2")).target == "I like jazz."


async def test_changes_that_are_made_at_once_all_return_the_trace_of_the_settings_as_they_stand():
    state = bench()

    traces = await asyncio.gather(state.set(max_entries=1), state.set(placement="append"), state.set(max_entries=2))
    assert {(id(trace), trace.settings.max_entries, trace.settings.placement) for trace in traces} == {
        (id(state.trace), 2, "append")
    }


def test_changes_from_threads_with_loops_of_their_own_end_with_a_trace_or_a_sentence():
    state, outcomes = bench(), []

    async def change(first):
        for number in range(first, first + 5):
            try:
                trace = await asyncio.wait_for(state.set(max_entries=number), 20)
                outcomes.append(type(trace).__name__)
            except StaleTraceError as error:
                outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=asyncio.run, args=(change(first),)) for first in (1, 11, 21, 31)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)

    assert len(outcomes) == 20
    assert set(outcomes) <= {"InjectionTrace", "StaleTraceError"}
    assert asyncio.run(state.set(placement="append")).settings.max_entries in {5, 15, 25, 35}


async def test_a_store_that_cancels_the_task_which_asks_it_is_told_and_the_next_change_works():
    class Cancelling(ListStore):
        async def search(self, query, options=None):
            if query == "cancel":
                asyncio.current_task().cancel()
                await asyncio.sleep(0)
            return await super().search(query, options)

    state = WorkbenchState(Cancelling("I like jazz."), "Do I like jazz?", injection={"query": lambda context: "cancel"})
    await asyncio.wait_for(state.settled(), 5)
    assert state.failure == "RuntimeError: a store cancelled the call that asked it"
    with pytest.raises(StaleTraceError, match="a store cancelled the call that asked it"):
        _ = state.trace

    assert (await state.set(query=None)).injected
