"""When messages are saved, what a failure costs, and what a flush waits for."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from datetime import date
from typing import Any

import pytest

from memwb.errors import ConfigError, MemwbError
from memwb.memory import (
    Buffered,
    ExtractionConfig,
    ExtractionResult,
    ExtractionTrigger,
    ExtractionTriggerContext,
    Failed,
    Filtered,
    Fired,
    IntervalTrigger,
    InvocationTrigger,
    MemoryManager,
    MessageAdded,
    ModelExtractor,
    Proposed,
    Saved,
    Skipped,
)
from memwb.stores import TestMemoryStore
from memwb.testing import ScriptedModel
from tests.memory.extraction.host import Host, Inbox, attached, facts, settle
from tests.memory.stores import AddStore, BareStore, assistant, tool_result, tool_use, user

DOWN = ConnectionError("no route")


class Gated(Inbox):
    """Begins each save and goes on when the test opens the gate."""

    def __init__(self, name: str = "inbox", **settings: Any) -> None:
        super().__init__(name, **settings)
        self.gate = asyncio.Event()

    async def add_messages(self, messages: list[Any], context: Any = None) -> None:
        await super().add_messages(messages, context)
        await self.gate.wait()


class TestTriggers:
    async def test_each_invocation_saves_the_messages_since_the_last_save_with_their_numbers(self) -> None:
        inbox = Inbox()
        _, host = await attached(inbox)
        host.turn("tea")
        await settle()
        host.turn("milk", "noted")
        await settle()
        assert inbox.batches == [([0, 1], [user("tea"), assistant("ok")]), ([2, 3], [user("milk"), assistant("noted")])]

    async def test_by_default_every_fifth_invocation_saves(self) -> None:
        inbox = Inbox(extraction=True)
        _, host = await attached(inbox)
        for turn in range(11):
            host.turn(f"tea {turn}")
            await settle()
        assert inbox.calls == [list(range(10)), list(range(10, 20))]

    async def test_every_trigger_of_a_list_fires_and_a_save_of_nothing_is_none(self) -> None:
        inbox = Inbox(extraction={"trigger": [IntervalTrigger(2), InvocationTrigger()]})
        manager, host = await attached(inbox)
        host.turn("tea")
        host.turn("milk")
        await settle()
        assert inbox.calls == [[0, 1, 2, 3]]
        assert [event.trigger for event in manager.extraction_log.of(Fired)] == ["invocation", "invocation", "interval"]

    async def test_an_interval_shared_by_two_agents_counts_for_each(self) -> None:
        inbox = Inbox(extraction={"trigger": IntervalTrigger(2)})
        manager, first = await attached(inbox)
        second = Host()
        await manager.init_agent(second)
        first.turn("tea")
        second.turn("milk")
        await settle()
        assert inbox.calls == []
        second.turn("more milk")
        await settle()
        assert [messages[0] for _, messages in inbox.batches] == [user("milk")]

    async def test_a_trigger_of_ones_own_may_fire_when_a_message_is_added(self) -> None:
        class AtOnce(ExtractionTrigger):
            name = "at once"

            def attach(self, context: ExtractionTriggerContext) -> None:
                context.agent.add_hook(lambda event: context.fire(), MessageAdded, order=200)

        inbox = Inbox(extraction={"trigger": AtOnce()})
        _, host = await attached(inbox)
        host.add(user("tea"))
        await settle()
        host.add(assistant("ok"))
        await settle()
        assert inbox.calls == [[0], [1]]

    def test_a_trigger_that_fires_where_no_loop_runs_leaves_its_messages_to_the_next_flush(self) -> None:
        inbox = Inbox()
        manager, host = asyncio.run(attached(inbox))
        host.turn("tea")
        [skipped] = manager.extraction_log.of(Skipped)
        assert skipped.reason == "no event loop runs here; the next request or flush saves"
        asyncio.run(manager.flush())
        assert inbox.calls == [[0, 1]]

    async def test_the_hooks_come_late_among_the_agents_own(self) -> None:
        _, host = await attached(Inbox())
        assert {order for _, _, order in host.hooks} == {100}

    async def test_an_agent_that_takes_no_hooks_is_refused_where_a_store_extracts(self) -> None:
        with pytest.raises(ConfigError, match=r"extraction is on for inbox, but this object has no add_hook"):
            await MemoryManager([Inbox()]).init_agent(object())
        await MemoryManager([AddStore("home")]).init_agent(object())


class TestMarks:
    async def test_the_mark_moves_before_a_save_and_a_message_counts_as_saved_after_it(self) -> None:
        inbox = Gated()
        manager, host = await attached(inbox)
        host.turn("tea")
        await settle()
        [status] = manager.extraction_status()
        assert (status.mark, status.saved, status.saving, status.pending) == (1, -1, (0, 1), (0, 1))
        assert manager.extraction_log.of(Saved) == []
        inbox.gate.set()
        await settle()
        [status] = manager.extraction_status()
        assert (status.mark, status.saved, status.saving, status.pending, status.buffered) == (1, 1, (), (), 0)
        assert [event.numbers for event in manager.extraction_log.of(Saved)] == [(0, 1)]

    async def test_a_failure_moves_it_back_and_the_next_request_saves_old_and_new_together(self) -> None:
        inbox = Inbox(faults=[DOWN])
        manager, host = await attached(inbox)
        host.turn("tea")
        await settle()
        [status] = manager.extraction_status()
        assert (status.mark, status.saved, status.pending, status.failures) == (-1, -1, (0, 1), 1)
        host.turn("milk")
        await settle()
        assert inbox.calls == [[0, 1], [0, 1, 2, 3]]
        [status] = manager.extraction_status()
        assert (status.mark, status.saved, status.pending, status.failures) == (3, 3, (), 0)

    async def test_one_save_of_a_store_runs_at_a_time_and_takes_what_came_meanwhile(self) -> None:
        inbox = Gated()
        _, host = await attached(inbox)
        host.turn("tea")
        await settle()
        host.turn("milk")
        host.turn("bread")
        await settle()
        assert inbox.calls == [[0, 1]]
        inbox.gate.set()
        await settle()
        assert inbox.calls == [[0, 1], [2, 3, 4, 5]]

    async def test_stores_do_not_wait_for_each_other(self) -> None:
        slow, down, well = Gated("slow"), Inbox("down", faults=[DOWN] * 9), Inbox("well")
        manager, host = await attached(slow, down, well)
        for words in ("tea", "milk"):
            host.turn(words)
            await settle()
        assert (slow.calls, well.calls) == ([[0, 1]], [[0, 1], [2, 3]])
        assert [status.saved for status in manager.extraction_status()] == [-1, -1, 3]
        slow.gate.set()

    async def test_messages_leave_the_buffer_when_every_store_has_saved_them(self) -> None:
        first, second = Inbox("first"), Inbox("second", faults=[DOWN])
        manager, host = await attached(first, second)
        host.turn("tea")
        await settle()
        assert [status.buffered for status in manager.extraction_status()] == [2, 2]
        host.turn("milk")
        await settle()
        assert [status.buffered for status in manager.extraction_status()] == [0, 0]


class TestBackoff:
    async def test_after_ten_failures_in_a_row_every_third_request_is_tried_until_one_succeeds(self) -> None:
        inbox = Inbox(faults=[DOWN] * 12)
        manager, host = await attached(inbox)
        tried = []
        for turn in range(22):
            before = len(inbox.calls)
            host.turn(f"tea {turn}")
            await settle()
            tried.append(len(inbox.calls) > before)
        assert tried == [True] * 10 + [False, False, True] * 3 + [True] * 3
        assert [event.failures for event in manager.extraction_log.of(Skipped)] == [10, 10, 11, 11, 12, 12]
        assert inbox.calls[-4:] == [list(range(38)), [38, 39], [40, 41], [42, 43]]

    async def test_a_flush_tries_whatever_has_failed_before(self) -> None:
        inbox = Inbox(faults=[DOWN] * 11)
        manager, host = await attached(inbox)
        for turn in range(11):
            host.turn(f"tea {turn}")
            await settle()
        [status] = manager.extraction_status()
        assert (status.failures, status.backing_off) == (10, True)
        await manager.flush()
        await manager.flush()
        [status] = manager.extraction_status()
        assert (status.failures, status.backing_off, status.pending) == (0, False, ())

    async def test_a_turn_that_is_dropped_whole_does_not_end_a_run_of_failures(self) -> None:
        inbox = Inbox(faults=[DOWN])
        manager, host = await attached(inbox)
        inbox.extraction = None
        host.turn("tea")
        await settle()
        manager.extraction["inbox"].filter.exclude = ["text"]
        host.turn("milk")
        await settle()
        [status] = manager.extraction_status()
        assert (inbox.calls, status.saved, status.failures) == ([[0, 1]], 3, 1)


class TestFlush:
    async def test_it_saves_what_no_trigger_has_fired_for(self) -> None:
        inbox = Inbox(extraction=True)
        manager, host = await attached(inbox)
        host.add(user("tea"))
        await manager.flush()
        assert inbox.calls == [[0]]
        await manager.flush()
        assert inbox.calls == [[0]]

    async def test_it_waits_for_saves_that_begin_while_it_waits(self) -> None:
        inbox = Gated()
        manager, host = await attached(inbox)
        host.turn("tea")
        flush = asyncio.ensure_future(manager.flush())
        await settle()
        host.turn("milk")
        await settle()
        assert not flush.done()
        inbox.gate.set()
        await flush
        assert inbox.calls == [[0, 1], [2, 3]]

    async def test_it_never_raises_and_says_what_is_left(self) -> None:
        inbox = Inbox(faults=[DOWN, asyncio.CancelledError()])
        manager, host = await attached(inbox)
        host.add(user("tea"))
        await manager.flush()
        await manager.flush()
        assert repr(manager.extraction_log[-1]) == "Flushed(left: message 0)"
        await manager.flush()
        assert repr(manager.extraction_log[-1]) == "Flushed(left: no message)"

    async def test_it_drains_all_agents_of_the_manager(self) -> None:
        inbox = Inbox(extraction=True)
        manager, first = await attached(inbox)
        second = Host()
        await manager.init_agent(second)
        first.add(user("tea"))
        second.add(user("milk"))
        await manager.flush()
        assert inbox.batches == [([0], [user("tea")]), ([0], [user("milk")])]
        assert [(status.agent, status.saved) for status in manager.extraction_status()] == [(1, 0), (2, 0)]

    async def test_a_flush_that_is_given_up_leaves_the_save_under_way(self) -> None:
        inbox = Inbox(seconds=0.05)
        manager, host = await attached(inbox)
        host.turn("tea")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(manager.flush(), 0.01)
        await manager.wait_for_saves()
        assert inbox.calls == [[0, 1]]

    async def test_waiting_for_saves_asks_for_none(self) -> None:
        inbox = Inbox(extraction=True, seconds=0.01)
        manager, host = await attached(inbox)
        host.add(user("tea"))
        await manager.wait_for_saves()
        assert inbox.calls == []


class TestAgents:
    async def test_the_same_agent_twice_is_attached_once(self) -> None:
        inbox = Inbox()
        manager, host = await attached(inbox)
        await manager.init_agent(host)
        host.turn("tea")
        await settle()
        assert inbox.calls == [[0, 1]]

    async def test_a_manager_keeps_no_agent_alive_that_owes_nothing(self) -> None:
        inbox = Inbox()
        manager, host = await attached(inbox)
        host.turn("tea")
        await manager.flush()
        gone = weakref.ref(host)
        del host
        gc.collect()
        assert gone() is None
        assert manager.extraction_status() == []

    async def test_what_an_agent_that_is_gone_has_left_is_saved(self) -> None:
        inbox = Inbox(extraction=True)
        manager, host = await attached(inbox)
        host.add(user("tea"))
        del host
        gc.collect()
        await manager.flush()
        assert inbox.batches == [([0], [user("tea")])]

    async def test_an_agent_whose_class_takes_no_weak_references_is_served_too(self) -> None:
        class Bare:
            __slots__ = ("host",)

            def __init__(self) -> None:
                self.host = Host()

            def add_hook(self, *hook: Any, order: float) -> None:
                self.host.add_hook(*hook, order=order)

        inbox, agent = Inbox(), Bare()
        manager = MemoryManager([inbox])
        await manager.init_agent(agent)
        await manager.init_agent(agent)
        agent.host.turn("tea")
        await manager.flush()
        assert inbox.calls == [[0, 1]]

    async def test_a_message_of_no_known_shape_is_left_out_with_a_warning(self, caplog: Any) -> None:
        inbox = Inbox()
        manager, host = await attached(inbox)
        with caplog.at_level(logging.WARNING, "memwb.memory"):
            host.add({"role": "user", "content": "tea"})
        assert "a message cannot be extracted from and is left out" in caplog.text
        host.turn("milk")
        await manager.flush()
        assert inbox.batches == [([0, 1], [user("milk"), assistant("ok")])]


class TestFacts:
    async def test_facts_are_written_at_the_same_time(self) -> None:
        all_begun = asyncio.Barrier(3)

        class Waiting(AddStore):
            async def add(self, content: str, metadata: Any = None) -> str:
                await all_begun.wait()
                return await super().add(content, metadata)

        home = Waiting(
            "home", extraction={"extractor": ModelExtractor(ScriptedModel([[{"content": w} for w in "abc"]]))}
        )
        manager, host = await attached(home)
        host.turn("tea")
        await asyncio.wait_for(manager.flush(), 10)
        assert sorted(home.writes) == [("a", None), ("b", None), ("c", None)]

    async def test_b07_a_retry_writes_only_what_failed_and_asks_no_model_again(self) -> None:
        answers = [
            [{"content": "likes tea"}, {"content": "owns a cat"}],
            [{"content": "enjoys tea"}, {"content": "has a cat"}],
        ]
        model = ScriptedModel(answers)
        home = facts("home", extractor=ModelExtractor(model), refuses=["owns a cat"])
        manager, host = await attached(home)
        host.add(user("I like tea and own a cat"))
        await manager.flush()
        [status] = manager.extraction_status()
        assert (status.unwritten, status.pending, status.mark) == (("owns a cat",), (0,), -1)
        home.refuses = []
        await manager.flush()
        assert home.writes == [("likes tea", None), ("owns a cat", None)]
        assert len(model.asked) == 1
        assert manager.extraction_status()[0].pending == ()

    async def test_b07_what_came_meanwhile_does_not_wait_behind_a_fact_that_the_store_refuses(self) -> None:
        home = facts("home", refuses=["tea"])
        manager, host = await attached(home)
        host.turn("tea")
        await settle()
        host.turn("milk")
        await settle()
        assert home.writes == [("milk", None)]
        [status] = manager.extraction_status()
        assert (status.unwritten, status.pending, status.saved, status.failures) == (("tea",), (0, 1), -1, 2)
        home.refuses = []
        await manager.flush()
        assert home.writes == [("milk", None), ("tea", None)]
        assert manager.extraction_status()[0].saved == 3

    async def test_a_model_that_raises_leaves_the_messages_for_the_next_try(self) -> None:
        model = ScriptedModel([DOWN, [{"content": "likes tea and milk"}]])
        home = facts("home", extractor=ModelExtractor(model))
        manager, host = await attached(home)
        host.turn("tea")
        await settle()
        host.turn("milk")
        await settle()
        assert home.writes == [("likes tea and milk", None)]
        assert [("tea" in call.text, "milk" in call.text) for call in model.asked] == [(True, False), (True, True)]
        assert [event.error for event in manager.extraction_log.of(Failed)] == [DOWN]

    @pytest.mark.parametrize("both", [True, False])
    async def test_the_default_model_is_the_agents_aux_model_else_its_model(self, both: bool) -> None:
        model, aux = ScriptedModel(lambda *_: []), ScriptedModel(lambda *_: [])
        manager = MemoryManager([AddStore("home", extraction=True)])
        host = Host(model, aux_model=aux if both else None)
        await manager.init_agent(host)
        host.turn("tea")
        await manager.flush()
        assert (len(model.asked), len(aux.asked)) == ((0, 1) if both else (1, 0))

    async def test_without_any_model_the_save_fails_and_says_what_is_missing(self) -> None:
        manager, host = await attached(AddStore("home", extraction=True))
        host.turn("tea")
        await manager.flush()
        [failed] = manager.extraction_log.of(Failed)
        assert isinstance(failed.error, ValueError)
        assert "ModelExtractor: no model" in str(failed.error)

    async def test_a_store_with_both_ways_takes_the_messages(self) -> None:
        class Both(Inbox):
            async def add(self, content: str, metadata: Any = None) -> None:
                raise AssertionError

        both = Both()
        manager, host = await attached(both)
        host.turn("tea")
        await manager.flush()
        assert both.calls == [[0, 1]]

    async def test_an_extractor_of_ones_own_gets_copies_and_what_it_returns_is_checked(self) -> None:
        class Own:
            def __init__(self) -> None:
                self.returns: list[Any] = []

            async def extract(self, messages: list[Any], context: Any = None) -> list[Any]:
                messages[0]["content"][0]["text"] = "changed"
                return self.returns

        class Found:
            content, metadata = "likes tea", "seen today"

        own = Own()
        home = facts("home", extractor=own)
        manager, host = await attached(home)
        own.returns = [{"content": "a dict"}]
        host.turn("tea")
        await manager.flush()
        assert "a list of ExtractionResult(content, metadata) is expected" in str(
            manager.extraction_log.of(Failed)[0].error
        )
        own.returns = [Found()]
        await manager.flush()
        assert home.writes == [("likes tea", None)]
        assert host.messages[0] == user("tea")

    async def test_a_fact_whose_metadata_nests_too_deep_does_not_hold_up_what_follows(self) -> None:
        deep = f'[{{"content": "tea", "metadata": {{"a": {"[" * 300}{"]" * 300}}}}}]'
        store = TestMemoryStore(
            name="notes", persist=False, extraction={"extractor": ModelExtractor(ScriptedModel([deep]))}
        )
        manager, host = await attached(store)
        host.turn("tea")
        await manager.flush()
        [status] = manager.extraction_status()
        assert (status.pending, status.unwritten, status.failures) == ((), (), 0)
        assert [(record.content, record.metadata) for record in await store.page(0, 9)] == [("tea", None)]

    @pytest.mark.parametrize("error", [BaseException("odd"), GeneratorExit()])
    async def test_an_odd_exception_of_a_model_is_a_failed_save_and_nothing_else(self, error: Any) -> None:
        class Odd:
            async def complete(self, system: str, messages: list[Any]) -> str:
                raise error

        unheard: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: unheard.append(context))
        home = facts("home", extractor=ModelExtractor(Odd()))
        manager, host = await attached(home)
        host.turn("tea")
        await manager.wait_for_saves()
        [failed] = manager.extraction_log.of(Failed)
        gc.collect()
        assert (type(failed.error), failed.cancelled, unheard) == (type(error), type(error) is GeneratorExit, [])
        manager.extraction["home"].extractor = ModelExtractor(ScriptedModel([[{"content": "tea"}]]))
        await manager.flush()
        assert home.writes == [("tea", None)]

    async def test_a_store_that_raises_cancelled_error_has_failed_and_nothing_is_cancelled(self) -> None:
        inbox = Inbox(faults=[asyncio.CancelledError()])
        manager, host = await attached(inbox)
        host.turn("tea")
        await manager.flush()
        assert [(event.cancelled, event.failures) for event in manager.extraction_log.of(Failed)] == [(False, 1)]


class TestReview:
    @pytest.mark.parametrize("given", [5, "no", lambda proposed: proposed.facts, Inbox])
    def test_only_an_async_function_can_review(self, given: Any) -> None:
        manager = MemoryManager([facts("home")])
        with pytest.raises(ConfigError, match=r"review is .*; it must be None or an async function") as caught:
            manager.review = given
        assert (caught.value.key, caught.value.value, manager.review) == ("review", given, None)

    async def test_an_object_with_an_async_call_can_review(self) -> None:
        class Desk:
            async def __call__(self, proposed: Proposed) -> Any:
                return []

        home = facts("home")
        manager, host = await attached(home)
        manager.review = Desk()
        host.turn("tea")
        await manager.flush()
        assert (home.writes, manager.extraction_status()[0].pending) == ([], ())

    @pytest.mark.parametrize(
        ("changed", "cause"),
        [
            (ExtractionResult(" "), "its content must be a text that is not blank"),
            (ExtractionResult(5), "its content must be a text that is not blank"),  # type: ignore[arg-type]
            (ExtractionResult("a\ud800"), "its content holds a lone surrogate, which UTF-8 cannot hold"),
            (ExtractionResult("a", {"when": date(2026, 1, 1)}), "metadata['when']: is datetime.date(2026, 1, 1)"),
        ],
    )
    async def test_a_review_that_makes_what_no_store_keeps_is_asked_again_about_the_proposed_facts(
        self, changed: Any, cause: str
    ) -> None:
        home = facts("home")
        manager, host = await attached(home)
        asked: list[Any] = []

        async def review(proposed: Proposed) -> Any:
            asked.append(proposed.facts)
            return [changed] if len(asked) == 1 else proposed.facts

        manager.review = review
        host.turn("tea")
        await manager.wait_for_saves()
        [failed] = manager.extraction_log.of(Failed)
        assert isinstance(failed.error, ConfigError)
        assert cause in str(failed.error)
        await manager.flush()
        assert asked == [(ExtractionResult("tea"),)] * 2
        assert home.writes == [("tea", None)]

    async def test_by_default_nothing_is_reviewed(self) -> None:
        assert MemoryManager([BareStore("s")]).review is None

    async def test_facts_are_written_as_the_review_returns_them(self) -> None:
        home = facts("home")
        manager, host = await attached(home)

        async def review(proposed: Proposed) -> list[Any]:
            first, second, _ = proposed.facts
            return [type(first)(f"{first.content}!", {"by": "hand"}), second]

        manager.review = review
        host.add(user("tea"), user("milk"), user("a secret"))
        await manager.flush()
        assert sorted(home.writes) == [("milk", None), ("tea!", {"by": "hand"})]
        assert manager.extraction_status()[0].pending == ()

    async def test_a_review_that_fails_is_asked_again_and_the_model_is_not(self) -> None:
        model = ScriptedModel([[{"content": "likes tea"}]])
        home = facts("home", extractor=ModelExtractor(model))
        manager, host = await attached(home)
        seen = []

        async def review(proposed: Proposed) -> Any:
            seen.append(proposed)
            if len(seen) == 1:
                raise LookupError("closed the page")
            return None if len(seen) == 2 else proposed.facts

        manager.review = review
        host.turn("tea")
        for _ in range(3):
            await manager.flush()
        assert home.writes == [("likes tea", None)]
        assert [type(event.error).__name__ for event in manager.extraction_log.of(Failed)] == [
            "LookupError",
            "TypeError",
        ]
        assert (len(model.asked), len(set(map(id, seen)))) == (1, 1)

    @pytest.mark.parametrize("call", ["flush", "wait_for_saves", "retry_unreadable", "retry_unwritten"])
    async def test_a_review_that_would_wait_for_its_own_save_is_told_so(self, call: str) -> None:
        home = facts("home")
        manager, host = await attached(home)

        async def review(proposed: Proposed) -> Any:
            await asyncio.wait_for(getattr(manager, call)(), 5)
            return proposed.facts

        manager.review = review
        host.turn("tea")
        await asyncio.wait_for(manager.flush(), 10)
        errors = [event.error for event in manager.extraction_log.of(Failed)]
        assert {type(error) for error in errors} == {MemwbError}
        assert str(errors[0]).startswith(f"MemoryManager: {call}() was called inside a save, by its review,")
        manager.review = None
        await manager.flush()
        assert home.writes == [("tea", None)]

    async def test_a_review_may_save_what_another_agent_owes(self) -> None:
        home = facts("home")
        manager, host = await attached(home)
        other = Host()
        await manager.init_agent(other)
        other.add(user("milk"))

        async def review(proposed: Proposed) -> Any:
            if proposed.agent == 1:
                await manager.flush_agent(other)
            return proposed.facts

        manager.review = review
        host.add(user("tea"))
        await asyncio.wait_for(manager.flush_agent(host), 5)
        assert home.writes == [("milk", None), ("tea", None)]

    async def test_a_listener_may_start_a_flush_while_a_save_is_under_way(self) -> None:
        home = facts("home", refuses=["tea"])
        manager, host = await attached(home)
        flushes: list[asyncio.Task[None]] = []

        def again(event: Any) -> None:
            if isinstance(event, Failed) and not flushes:
                home.refuses = []
                flushes.append(asyncio.ensure_future(manager.flush()))

        manager.extraction_log.subscribe(again)
        host.turn("tea")
        await manager.wait_for_saves()
        await asyncio.wait_for(flushes[0], 5)
        assert home.writes == [("tea", None)]

    async def test_what_was_reviewed_is_not_reviewed_again_when_a_write_fails(self) -> None:
        home = facts("home", refuses=["tea"])
        manager, host = await attached(home)
        reviews = []

        async def review(proposed: Proposed) -> Any:
            reviews.append(proposed)
            return proposed.facts

        manager.review = review
        host.turn("tea")
        await manager.flush()
        home.refuses = []
        await manager.flush()
        assert (len(reviews), home.writes) == (1, [("tea", None)])


class TestSettings:
    async def test_they_are_given_with_every_default_filled_in(self) -> None:
        config: ExtractionConfig = {"trigger": InvocationTrigger()}
        manager = MemoryManager([BareStore("plain"), AddStore("facts", extraction=config), Inbox(extraction=True)])
        assert list(manager.extraction) == ["facts", "inbox"]
        assert repr(manager.extraction["facts"].extractor) == "ModelExtractor(default model)"
        assert manager.extraction["inbox"].extractor is None
        [interval] = manager.extraction["inbox"].triggers
        assert isinstance(interval, IntervalTrigger)
        assert interval.turns == 5
        assert MemoryManager([BareStore("s")]).extraction == {}

    async def test_a_changed_extractor_or_filter_counts_from_the_next_save_on(self) -> None:
        home = facts("home")
        manager, host = await attached(home)
        host.turn("tea")
        await manager.flush()
        manager.extraction["home"].extractor = ModelExtractor(ScriptedModel([[{"content": "other"}]]))
        manager.extraction["home"].filter.exclude = []
        host.add(user("milk"), tool_use(), tool_result())
        await manager.flush()
        assert home.writes == [("tea", None), ("other", None)]
        assert manager.extraction_log.of(Filtered) == []

    async def test_without_extraction_there_is_nothing_to_tell(self) -> None:
        manager = MemoryManager([BareStore("s")])
        await manager.flush()
        await manager.wait_for_saves()
        assert await manager.retry_unreadable() == 0
        assert (list(manager.extraction_log), manager.extraction_status()) == ([], [])


async def test_events_belong_to_the_turn_in_which_they_happen() -> None:
    manager, host = await attached(Inbox())
    host.turn("tea")
    await settle()
    host.turn("milk")
    await manager.flush()
    turns = [(type(event).__name__, event.turn) for event in manager.extraction_log]
    assert turns == [
        *[("Buffered", 1), ("Buffered", 1), ("Fired", 1), ("TurnEnded", 1), ("Saved", 1)],
        *[("Buffered", 2), ("Buffered", 2), ("Fired", 2), ("TurnEnded", 2), ("Fired", 2), ("Saved", 2), ("Flushed", 2)],
    ]
    assert {event.agent for event in manager.extraction_log} == {1}
    assert [event.number for event in manager.extraction_log.of(Buffered)] == [0, 1, 2, 3]
