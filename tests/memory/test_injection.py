"""The stages of the injection: each ends done, skipped or failed, says why, and the call goes on in any case."""

from __future__ import annotations

import asyncio
import copy
import logging
from typing import Any

import pytest

from memwb.errors import BrokenStoreError, StoresFailedError
from memwb.memory import (
    InjectionContext,
    InjectionFormatContext,
    InjectionQueryContext,
    InjectionTrace,
    MemoryEntry,
    MemoryManager,
    default_format,
)
from memwb.memory.types import identified
from memwb.ranking import tokenize_any_script, tokenize_without_stop_words
from memwb.stores import TestMemoryStore
from tests.memory.stores import BareStore, FailingStore, WordStore, assistant, tool_result, tool_use, user

TEA = "tea in the morning"


async def traced(config: Any = True, messages: Any = None, stores: Any = None, **given: Any) -> InjectionTrace:
    manager = MemoryManager(stores or [WordStore("home", TEA)], injection=config)
    return await manager.trace_injection([user("what about tea?")] if messages is None else messages, **given)


def outcome(trace: InjectionTrace) -> list[tuple[str, str]]:
    return [(stage.name, stage.status) for stage in trace.stages]


def ended(at: str, status: str) -> list[tuple[str, str]]:
    names = ["trigger", "query", "search", "format", "fold"]
    place = names.index(at)
    statuses = ["done"] * place + [status] + ["not reached"] * (len(names) - place - 1)
    return list(zip(names, statuses, strict=True))


async def test_a_block_that_arrives_is_done_at_every_stage() -> None:
    trace = await traced()
    assert outcome(trace) == ended("fold", "done")
    assert trace.text == f'<memory>\n<entry source="home">{TEA}</entry>\n</memory>'
    assert trace.messages == [user(trace.text, "what about tea?")]
    assert (trace.fired, trace.injected, trace.skipped_at, trace.reason, trace.error) == (True, True, None, "", None)
    assert trace.query == "what about tea?"
    assert trace.entries == [MemoryEntry(TEA, "home", {"_relevanceScore": 1})]
    assert [stage.reason for stage in trace.stages] == [
        "'userTurn', the last message is the user's own",
        "the latest user message: 'what about tea?'",
        "1 hit, 1 kept (max_entries 5)",
        "the default block, 66 characters",
        "prepended to the last user message",
    ]


async def test_off_returns_the_messages_as_they_are_and_says_so() -> None:
    messages = [user("what about tea?")]
    trace = await traced(False, messages)
    assert outcome(trace) == ended("trigger", "skipped")
    assert (trace.messages, trace.reason, trace.fired) == (messages, "injection is off", False)
    assert await MemoryManager([WordStore("home", TEA)], injection=None).inject(messages) == messages


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "'userTurn', there is no message"),
        ([user("tea?"), assistant("yes")], "'userTurn', the last message is the assistant's"),
        ([user("tea?"), tool_use(), tool_result()], "'userTurn', the last message is a tool result"),
    ],
)
async def test_the_default_trigger_skips_where_the_user_did_not_speak_last(messages: Any, reason: str) -> None:
    trace = await traced(True, messages)
    assert outcome(trace) == ended("trigger", "skipped")
    assert (trace.reason, trace.messages) == (reason, messages)


@pytest.mark.parametrize("truthy", [True, 1, "yes", [0]])
async def test_a_predicate_fires_by_the_truth_of_its_result(truthy: Any) -> None:
    assert (await traced({"trigger": lambda context: truthy})).fired


@pytest.mark.parametrize("falsy", [False, None, 0, "", []])
async def test_a_predicate_skips_by_the_truth_of_its_result(falsy: Any) -> None:
    def asks(context: Any) -> Any:
        return falsy

    trace = await traced({"trigger": asks})
    assert outcome(trace) == ended("trigger", "skipped")
    assert trace.reason == "the predicate asks said no"


async def test_a_predicate_sees_messages_state_and_agent() -> None:
    seen: list[Any] = []
    state, agent = {"turn": 3}, object()
    await traced({"trigger": seen.append}, state=state, agent=agent)
    assert seen == [InjectionContext([user("what about tea?")], state, agent)]


async def test_every_turn_searches_the_assistants_last_words_after_a_tool() -> None:
    messages = [user("hello"), assistant("I look up the tea"), tool_use(), tool_result()]
    trace = await traced({"trigger": "everyTurn"}, messages)
    assert outcome(trace) == ended("query", "skipped")  # the latest assistant message is the tool call: no text in it
    messages[2]["content"].insert(0, {"text": "the tea, please"})
    trace = await traced({"trigger": "everyTurn"}, messages)
    assert (trace.query, trace.injected) == ("the tea, please", True)
    assert trace.messages[-1]["content"][-1] == {"text": trace.text}


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([user()], "there is no text in the latest user message"),
        ([user(" \n")], "there is no text in the latest user message"),
        ([tool_result()], "there is no assistant message"),
        ([assistant("")], "there is no text in the latest assistant message"),
    ],
)
async def test_without_text_there_is_no_query(messages: Any, reason: str) -> None:
    trace = await traced({"trigger": "everyTurn"}, messages)
    assert outcome(trace) == ended("query", "skipped")
    assert trace.reason == reason


async def test_a_query_callback_is_searched_as_it_returned() -> None:
    store = WordStore("home", TEA)
    trace = await traced({"query": lambda context: "  Tea\n"}, stores=[store])
    assert (trace.query, store.asked) == ("  Tea\n", [("  Tea\n", {"max_search_results": 5})])


@pytest.mark.parametrize("blank", [None, "", " \t\n"])
async def test_a_query_of_nothing_skips(blank: Any) -> None:
    store = WordStore("home", TEA)
    trace = await traced({"query": lambda context: blank}, stores=[store])
    assert outcome(trace) == ended("query", "skipped")
    assert (trace.query, store.asked) == (blank, [])


@pytest.mark.parametrize("wrong", [5, b"tea", ["tea"], {"query": "tea"}])
async def test_a_query_of_the_wrong_type_fails_and_injects_nothing(wrong: Any) -> None:
    trace = await traced({"query": lambda context: wrong})
    assert outcome(trace) == ended("query", "failed")
    assert isinstance(trace.error, TypeError)
    assert trace.messages == [user("what about tea?")]


@pytest.mark.parametrize("wrong", [None, 5, b"tea", ["tea"]])
async def test_a_format_of_the_wrong_type_fails_and_injects_nothing(wrong: Any) -> None:
    trace = await traced({"format": lambda context: wrong})
    assert outcome(trace) == ended("format", "failed")
    assert (trace.text, trace.messages) == (None, [user("what about tea?")])


@pytest.mark.parametrize("blank", ["", " \n"])
async def test_a_blank_format_skips(blank: str) -> None:
    trace = await traced({"format": lambda context: blank})
    assert outcome(trace) == ended("format", "skipped")
    assert trace.messages == [user("what about tea?")]


async def test_a_format_callback_renders_the_entries_after_the_cut() -> None:
    store = WordStore("home", "tea one", "tea two", "tea three")
    trace = await traced(
        {"max_entries": 2, "format": lambda context: "\n".join(entry.content for entry in context.entries)},
        stores=[store],
    )
    assert (trace.text, trace.messages) == ("tea one\ntea two", [user("tea one\ntea two", "what about tea?")])


def raising(context: Any) -> Any:
    raise KeyError("lost")


@pytest.mark.parametrize("key", ["trigger", "query", "format"])
async def test_a_callback_that_raises_fails_its_stage_and_is_logged(key: str, caplog: Any) -> None:
    with caplog.at_level(logging.WARNING, "memwb.memory"):
        trace = await traced({key: raising})
    assert outcome(trace) == ended(key, "failed")
    assert (trace.reason, type(trace.error)) == ("KeyError: 'lost'", KeyError)
    assert trace.messages == [user("what about tea?")]
    assert f"injection failed at {key}:" in caplog.text


@pytest.mark.parametrize("key", ["trigger", "query", "format"])
async def test_an_awaitable_from_a_plain_function_fails_its_stage_without_a_warning(key: str) -> None:
    async def inner() -> str:
        return "tea"

    trace = await traced({key: lambda context: inner()})
    assert outcome(trace) == ended(key, "failed")
    assert "returned an awaitable" in trace.reason


async def test_nothing_found_skips_and_names_the_query() -> None:
    trace = await traced(True, [user("Yes, please.")])
    assert outcome(trace) == ended("search", "skipped")
    assert trace.reason == "no entry shares a word with 'Yes, please.'; looked for yes, please"
    assert (trace.hits, trace.entries, trace.messages) == ((), [], [user("Yes, please.")])


async def test_a_query_without_a_word_says_so() -> None:
    assert (await traced(True, [user("?!")])).reason == "the query '?!' holds no word"


async def test_b48_a_query_of_words_that_the_tokenizer_leaves_out_says_which() -> None:
    store = TestMemoryStore.from_records(["likes tea"], name="notes", tokenizer=tokenize_without_stop_words)
    trace = await traced(True, [user("Who am I?")], stores=[store])
    assert trace.reason == ("the query 'Who am I?' holds no word to look for: the tokenizer leaves out who, am, i")


async def test_b45_the_tokens_that_were_looked_for_are_named_in_the_querys_order() -> None:
    store = TestMemoryStore.from_records(["likes tea"], name="notes", tokenizer=tokenize_any_script)
    trace = await traced(True, [user("喜欢乌龙茶 and C++")], stores=[store])
    assert (
        trace.reason
        == "no entry shares a word with '喜欢乌龙茶 and C++'; looked for 喜欢, 欢乌, 乌龙, 龙茶, and, c, c++"
    )
    trace = await traced(True, [user(" ".join(f"w{n}" for n in range(30)))], stores=[store])
    assert trace.reason.endswith("; looked for w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11 and 18 more")


async def test_b48_nothing_stored_and_nothing_matched_are_told_apart() -> None:
    empty, other = (TestMemoryStore(name=name, persist=False) for name in ("notes", "other"))
    assert (await traced(True, [user("tea")], stores=[empty])).reason == "the store holds no entry"
    assert (await traced(True, [user("tea")], stores=[empty, other])).reason == "the stores hold no entry"
    await other.add("coffee")
    trace = await traced(True, [user("tea")], stores=[empty, other])
    assert trace.reason == "no entry shares a word with 'tea'; looked for tea"


async def test_a_store_that_cannot_count_is_not_called_empty() -> None:
    class Uncounted(TestMemoryStore):
        async def count(self, where: str = "") -> int:
            raise RuntimeError("no")

    trace = await traced(True, [user("tea")], stores=[Uncounted(name="notes", persist=False)])
    assert trace.reason == "no entry shares a word with 'tea'; looked for tea"


async def test_a_store_without_words_of_its_own_is_not_judged() -> None:
    trace = await traced(True, [user("tea")], stores=[BareStore("vectors")])
    assert trace.reason == "no store returned an entry for 'tea'"


async def test_a_failing_store_is_left_out_and_the_others_are_used(caplog: Any) -> None:
    failing = FailingStore("cloud")
    with caplog.at_level(logging.WARNING, "memwb.memory"):
        trace = await traced(stores=[failing, WordStore("home", TEA)])
    assert trace.injected
    assert trace.stage("search").reason == "1 hit, 1 kept (max_entries 5); failed: cloud"
    assert [(note.kind, note.text) for note in trace.notes if note.kind == "store failed"] == [
        ("store failed", "store 'cloud' raised ConnectionError('no route'); the agent goes on without it")
    ]
    assert "store 'cloud' failed to search" in caplog.text


async def test_a_failed_search_and_an_empty_one_do_not_look_alike() -> None:
    trace = await traced(stores=[FailingStore("cloud"), WordStore("home")])
    assert outcome(trace) == ended("search", "failed")
    assert trace.reason == "store 'cloud' raised ConnectionError('no route')"
    assert isinstance(trace.error, StoresFailedError)
    assert list(trace.error.errors) == ["cloud"]


class _Forgetful(BareStore):
    async def search(self, query: str, options: Any = None) -> Any:
        return None


class _OldSignature(BareStore):
    async def search(self, query: str) -> Any:  # type: ignore[override]
        return []


class _Blocking(BareStore):
    def search(self, query: str, options: Any = None) -> Any:
        return []


@pytest.mark.parametrize(
    ("store", "words"),
    [
        (_Forgetful("odd"), "'NoneType' object is not iterable"),
        (_OldSignature("odd"), "before it could be awaited"),
        (_Blocking("odd"), "returned list, nothing to await"),
        (BareStore("odd", MemoryEntry(5)), "an entry's content is int, no text"),  # type: ignore[arg-type]
        (BareStore("odd", found=["a text"]), "has no attribute 'content'"),
    ],
)
async def test_a_store_that_is_none_ends_the_search_as_it_does_in_the_sdk(store: Any, words: str) -> None:
    trace = await traced(stores=[WordStore("home", TEA), store])
    assert outcome(trace) == ended("search", "failed")
    assert isinstance(trace.error, BrokenStoreError)
    assert (trace.error.store, words in str(trace.error)) == ("odd", True)
    assert trace.messages == [user("what about tea?")]


async def test_max_entries_is_asked_of_every_store_and_cuts_the_whole() -> None:
    first, second = WordStore("first", "tea 1", "tea 2"), WordStore("second", "tea 3", "tea 4")
    trace = await traced({"max_entries": 3}, stores=[first, second])
    assert first.asked == second.asked == [("what about tea?", {"max_search_results": 3})]
    assert [entry.content for entry in trace.entries] == ["tea 1", "tea 2", "tea 3"]
    assert [(hit.store, hit.rank, hit.kept, hit.cut_by) for hit in trace.hits] == [
        ("first", 1, True, None),
        ("first", 2, True, None),
        ("second", 1, True, None),
        ("second", 2, False, "max_entries"),
    ]


async def test_a_store_that_returns_more_than_it_was_asked_for_is_cut() -> None:
    class Generous(BareStore):
        async def search(self, query: str, options: Any = None) -> Any:
            return [MemoryEntry(f"tea {at}") for at in range(9)]

    trace = await traced({"max_entries": 2}, stores=[Generous("generous")])
    assert [entry.content for entry in trace.entries] == ["tea 0", "tea 1"]
    assert len(trace.hits) == 9


async def test_the_stores_own_limit_does_not_bound_the_injection() -> None:
    store = WordStore("home", *(f"tea {at}" for at in range(9)), max_search_results=1)
    trace = await traced({"max_entries": 4}, stores=[store])
    assert len(trace.entries) == 4


async def test_no_user_message_no_fold() -> None:
    trace = await traced({"trigger": "everyTurn"}, [assistant("what about tea?")])
    assert outcome(trace) == ended("fold", "skipped")
    assert trace.reason == "there is no user message to fold the block into"
    assert trace.messages == [assistant("what about tea?")]
    assert not trace.injected


async def test_append_places_the_block_last() -> None:
    trace = await traced({"placement": "append"})
    assert trace.messages == [user("what about tea?", f"\n\n{trace.text}")]
    assert trace.stages[-1].reason == "appended to the last user message"


@pytest.mark.parametrize("config", [True, False, {"placement": "append"}, {"trigger": "everyTurn", "max_entries": 1}])
async def test_the_callers_messages_are_never_touched(config: Any) -> None:
    messages = [user("hello"), tool_use(), tool_result(), assistant("yes"), user("tea?")]
    messages[-1]["metadata"] = {"n": [1]}
    before = copy.deepcopy(messages)
    folded = await MemoryManager([WordStore("home", TEA)], injection=config).inject(messages)
    assert messages == before
    assert folded is not messages


async def test_a_callback_that_changes_its_context_changes_nothing_else() -> None:
    def meddles(context: Any) -> str:
        if hasattr(context, "messages"):
            context.messages[0]["content"][0]["text"] = "coffee"
            context.messages.clear()
        if hasattr(context, "entries"):
            context.entries[0].content = "coffee"
            context.entries[0].metadata["_relevanceScore"] = -1
            context.entries.clear()
        return "tea"

    store = WordStore("home", TEA)
    trace = await traced({"trigger": meddles, "query": meddles, "format": meddles}, stores=[store])
    assert trace.injected
    assert trace.messages == [user("tea", "what about tea?")]
    assert trace.entries == [MemoryEntry(TEA, "home", {"_relevanceScore": 1})]
    assert store.found == [MemoryEntry(TEA)]


async def test_a_callback_is_called_with_its_context_alone() -> None:
    calls: list[Any] = []

    def note(*args: Any, **kwargs: Any) -> str:
        calls.append((args, kwargs))
        return "tea"

    await traced({"trigger": note, "query": note, "format": note})
    assert [(len(args), kwargs) for args, kwargs in calls] == [(1, {})] * 3
    assert [type(args[0]) for args, _ in calls] == [InjectionContext, InjectionQueryContext, InjectionFormatContext]


async def test_an_entry_in_the_format_context_keeps_its_id() -> None:
    seen: list[Any] = []
    await traced({"format": lambda context: seen.extend(entry.id for entry in context.entries) or "x"})
    assert seen == ["a"]


async def test_user_callbacks_go_through_the_call_hook_and_built_in_ones_do_not() -> None:
    through: list[Any] = []

    async def call(callback: Any, context: Any) -> Any:
        through.append(callback)
        return callback(context)

    def own(context: Any) -> str:
        return "tea"

    await traced(True, call=call)
    assert through == []
    trace = await traced({"trigger": own, "query": own, "format": own}, call=call)
    assert (through, trace.injected) == ([own, own, own], True)


async def test_a_hook_that_gives_up_fails_the_stage() -> None:
    async def call(callback: Any, context: Any) -> Any:
        raise TimeoutError("took longer than 2 s")

    trace = await traced({"query": lambda context: "tea"}, call=call)
    assert outcome(trace) == ended("query", "failed")
    assert trace.reason == "TimeoutError: took longer than 2 s"


async def test_cancelling_the_caller_is_no_stores_failure() -> None:
    class Slow(BareStore):
        async def search(self, query: str, options: Any = None) -> Any:
            await asyncio.sleep(30)

    task = asyncio.create_task(traced(stores=[Slow("slow")]))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_store_that_cancels_itself_is_a_failed_store() -> None:
    trace = await traced(stores=[FailingStore("cloud", asyncio.CancelledError())])
    assert outcome(trace) == ended("search", "failed")


async def test_an_interrupt_passes_through() -> None:
    class Interrupt(BaseException):
        pass

    with pytest.raises(Interrupt):
        await traced(stores=[FailingStore("cloud", Interrupt())])


async def test_a_store_that_raises_an_exit_has_failed_and_ends_nothing() -> None:
    trace = await traced(stores=[FailingStore("cloud", SystemExit(3))])
    assert (trace.skipped_at, trace.reason) == ("search", "store 'cloud' raised SystemExit(3)")


async def test_an_exception_that_cannot_say_itself_is_a_failed_stage() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("str fails")

    def query(context: Any) -> str:
        raise Mute

    trace = await traced({"query": query})
    assert (trace.skipped_at, trace.reason) == ("query", "Mute")


async def test_messages_of_another_sdk_are_named_instead_of_read_as_blank() -> None:
    trace = await traced(True, [{"role": "user", "content": "like jazz"}])
    assert trace.reason.startswith("message 0 is {'role': 'user', 'content': 'like jazz'}; a message has a role")


@pytest.mark.parametrize("messages", [[{}], [{"role": "user"}], [{"role": "user", "content": None}], [3], [None]])
async def test_messages_of_another_shape_fail_a_stage_and_pass_through(messages: Any) -> None:
    trace = await traced(True, messages)
    assert trace.error is not None
    assert trace.messages == messages


async def test_inject_returns_what_the_trace_holds() -> None:
    manager = MemoryManager([WordStore("home", TEA)])
    messages = [user("what about tea?")]
    assert await manager.inject(messages) == (await manager.trace_injection(messages)).messages


async def test_a_given_config_replaces_the_managers() -> None:
    manager = MemoryManager([WordStore("home", TEA)], injection={"max_entries": 1, "placement": "append"})
    messages = [user("what about tea?")]
    assert (await manager.trace_injection(messages, {})).messages[0]["content"][0]["text"].startswith("<memory>")
    assert (await manager.trace_injection(messages, False)).reason == "injection is off"
    assert (await manager.trace_injection(messages)).settings.config() == manager.injection  # type: ignore[union-attr]


def test_the_default_block_escapes_text_and_attribute() -> None:
    entries = [MemoryEntry("a & b < c > d \" '", "x & <y> \" '"), MemoryEntry("plain"), MemoryEntry("empty", "")]
    assert default_format(entries) == (
        "<memory>\n"
        '<entry source="x &amp; &lt;y&gt; &quot; &#39;">a &amp; b &lt; c &gt; d " \'</entry>\n'
        "<entry>plain</entry>\n"
        "<entry>empty</entry>\n"
        "</memory>"
    )


async def test_reasons_are_the_same_at_every_run() -> None:
    first, second = await traced(), await traced()
    assert [repr(stage) for stage in first.stages] == [repr(stage) for stage in second.stages]
    assert "0x" not in "".join(map(repr, first.stages))


async def test_hits_tell_id_score_and_matched_words_in_the_querys_order() -> None:
    store = WordStore("home", "the tea of the morning", identified(MemoryEntry("morning tea"), "ignored"))
    trace = await traced(True, [user("Morning: is the tea ready?")], stores=[store])
    assert [(hit.id, hit.rank, hit.score, hit.matched) for hit in trace.hits] == [
        ("a", 1, 3, ("morning", "the", "tea")),
        ("b", 2, 2, ("morning", "tea")),
    ]


@pytest.mark.parametrize("metadata", [None, {}, {"_relevanceScore": True}, {"_relevanceScore": "high"}, "a note"])
async def test_a_store_that_tells_no_score_has_none(metadata: Any) -> None:
    trace = await traced(stores=[BareStore("vectors", MemoryEntry("tea", metadata=metadata))])
    assert [(hit.score, hit.id) for hit in trace.hits] == [(None, None)]


class TestReasonsOfFailures:
    """A reason is kept by screens and files, so an exception's text is cut in it; the exception has all of it."""

    @pytest.mark.parametrize("length", [250, 1000, 5_000_000])
    async def test_the_text_of_an_exception_is_cut_where_it_is_long(self, length: int) -> None:
        message = "x\n" * (length // 2)

        def raising(context: Any) -> str:
            raise ValueError(message)

        trace = await traced({"query": raising})
        whole = f"ValueError: {message}"
        assert trace.reason == (whole if length < 290 else whole[:299].rstrip() + "…")
        assert str(trace.error) == message
        assert len(repr(trace) + repr(trace.stages)) < 1000
        assert len(trace._repr_html_()) < 3000

    async def test_escapes_do_not_make_it_longer(self) -> None:
        trace = await traced(stores=[FailingStore("cloud", ValueError("\u202e" * 1000))])
        assert len(trace.reason) == 300

    async def test_so_it_is_in_notes(self) -> None:
        error = ValueError("x" * 5_000_000)
        trace = await traced(stores=[FailingStore("cloud", error), WordStore("home", "tea")])
        (note,) = trace.notes
        assert note.text.startswith("store 'cloud' raised ValueError('xxx")
        assert note.text.endswith("…; the agent goes on without it")
        assert len(note.text) < 400
        assert trace.answers[0].error is error
