"""One refresh at a time, the newest wins, whichever thread or loop asks."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from memwb.workbench.refresh import Refresher


class Work:
    """Counts what was begun and what was finished, and notes the loop it ran on."""

    def __init__(self, seconds=0.0):
        self.seconds, self.begun, self.ended = seconds, 0, 0
        self.loops, self.errors, self.refused = set(), [], []
        self.fails = None

    async def __call__(self):
        self.begun += 1
        self.loops.add(asyncio.get_running_loop())
        await asyncio.sleep(self.seconds)
        if self.fails:
            raise self.fails
        self.ended += 1


def refresher(work):
    return Refresher(work, work.errors.append, work.refused.append)


async def test_a_request_is_pending_until_its_work_is_done():
    work = Work()
    asked = refresher(work)
    assert not asked.pending

    asked.request()
    assert asked.pending

    await asked.settled()
    assert (asked.pending, work.begun, work.ended) == (False, 1, 1)


async def test_settling_without_a_request_does_nothing():
    work = Work()

    await refresher(work).settled()
    assert work.begun == 0


async def test_ten_quick_requests_are_one_refresh_at_the_end():
    work = Work()
    asked = refresher(work)

    for _ in range(10):
        asked.request(pause=0.3)
        await asyncio.sleep(0)
    await asked.settled()

    assert (work.begun, work.ended) == (1, 1)


async def test_work_that_is_overtaken_is_cancelled_and_begun_again():
    work = Work(seconds=0.05)
    asked = refresher(work)

    asked.request()
    await asyncio.sleep(0.01)
    asked.request()
    await asked.settled()

    assert (work.begun, work.ended) == (2, 1)


async def test_a_request_that_comes_while_others_wait_is_waited_for_too():
    work = Work(seconds=0.05)
    asked = refresher(work)
    asked.request()

    waiting = asyncio.create_task(asked.settled())
    await asyncio.sleep(0.02)
    asked.request()
    await waiting

    assert (asked.pending, work.ended) == (False, 1)


async def test_a_failure_is_told_and_counts_as_an_answer():
    work = Work()
    asked, work.fails = refresher(work), ValueError("no")

    asked.request()
    await asked.settled()

    assert (work.errors, asked.pending) == ([work.fails], False)


async def test_pending_is_over_when_a_failure_is_told():
    told = []

    async def fails():
        raise ValueError

    asked = Refresher(fails, lambda error: told.append(asked.pending), told.append)
    asked.request()
    await asked.settled()

    assert told == [False]


async def test_cancelling_one_who_waits_leaves_the_refresh_alone():
    work = Work(seconds=0.05)
    asked = refresher(work)
    asked.request()

    waiting = asyncio.create_task(asked.settled())
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asked.settled()

    assert (work.begun, work.ended) == (1, 1)


async def test_requests_from_another_thread_run_on_the_loop_of_the_notebook():
    work = Work()
    asked = refresher(work)

    thread = threading.Thread(target=asked.request)
    thread.start()
    await asyncio.to_thread(thread.join)
    await asked.settled()

    assert (work.loops, work.ended) == ({asyncio.get_running_loop()}, 1)


async def test_settling_from_another_loop_waits_for_the_loop_of_the_notebook():
    work = Work(seconds=0.05)
    asked = refresher(work)
    asked.request()

    await asyncio.to_thread(lambda: asyncio.run(asked.settled()))

    assert (work.loops, work.ended) == ({asyncio.get_running_loop()}, 1)


async def test_actions_run_on_the_loop_of_the_notebook_and_their_failures_are_told():
    work, ran = Work(), []
    asked = refresher(work)

    async def action():
        ran.append(asyncio.get_running_loop())

    async def failing():
        raise work.fails

    work.fails = KeyError("x")
    await asyncio.to_thread(asked.spawn, action)
    await asyncio.to_thread(asked.spawn, failing)
    await asyncio.sleep(0.01)

    assert (ran, work.errors, work.refused) == ([asyncio.get_running_loop()], [], [work.fails])


def test_it_can_be_made_without_a_loop_and_used_by_one_asyncio_run_after_the_other():
    work = Work()
    asked = refresher(work)

    asked.request()
    asyncio.run(asked.settled())
    asked.request()
    assert asked.pending
    asyncio.run(asked.settled())

    assert (asked.pending, work.ended, len(work.loops)) == (False, 2, 2)


def test_a_refresh_that_its_loop_left_unfinished_is_done_by_the_next_one():
    work = Work(seconds=0.2)

    async def begin():
        asked = refresher(work)
        asked.request()
        await asyncio.sleep(0.01)
        return asked

    asked = asyncio.run(begin())
    assert (asked.pending, work.begun, work.ended) == (True, 1, 0)

    asyncio.run(asked.settled())
    assert (asked.pending, work.begun, work.ended) == (False, 2, 1)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_what_a_closed_loop_had_begun_is_let_go_without_a_complaint(turns, caplog):
    work = Work(seconds=0.2)
    loop = asyncio.new_event_loop()

    async def begin():
        asked = refresher(work)
        asked.request()
        for _ in range(turns):  # how far the refresh had come
            await asyncio.sleep(0)
        return asked

    asked = loop.run_until_complete(begin())
    loop.close()  # as it comes to a loop of another thread between two of its last turns
    asyncio.run(asked.settled())
    gc.collect()  # tasks that are destroyed complain now, and the warnings of their coroutines are errors here

    assert (asked.pending, work.ended, work.errors, caplog.records) == (False, 1, [], [])


def test_actions_without_any_loop_run_when_one_comes():
    work, ran = Work(), []
    asked = refresher(work)

    async def action():
        ran.append("ran")

    async def later():
        await asked.settled()
        await asyncio.sleep(0)

    asked.spawn(action)
    asyncio.run(later())

    assert ran == ["ran"]


async def test_closing_ends_what_runs_and_later_requests_are_ignored():
    work = Work(seconds=60)
    asked = refresher(work)
    asked.request()
    asked.spawn(work)
    await asyncio.sleep(0.01)

    asked.close()
    await asyncio.sleep(0.01)
    asked.request()
    asked.spawn(work)
    await asyncio.wait_for(asked.settled(), 1)

    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert (others, work.begun, work.ended, work.errors) == (set(), 2, 0, [])


def test_closing_after_its_loop_has_ended_is_quiet():
    async def begin():
        asked = refresher(Work())
        asked.request()
        return asked

    asyncio.run(begin()).close()


async def test_settling_waits_for_the_actions_of_the_page_and_for_what_they_change():
    work = Work()
    asked = refresher(work)

    async def action():
        await asyncio.sleep(0.01)
        asked.request()

    asked.spawn(action)
    await asked.settled()

    assert (asked.pending, work.ended) == (False, 1)


async def test_an_action_may_itself_wait_until_all_is_settled():
    work = Work(seconds=0.01)
    asked = refresher(work)

    async def action():
        asked.request()
        await asked.settled()

    asked.spawn(action)
    await asyncio.wait_for(asked.settled(), 1)

    assert work.ended == 1


async def test_work_that_swallows_its_cancellation_does_not_answer_for_the_newer_request():
    answered = []

    async def stubborn():
        number = len(answered) + 1
        answered.append(number)
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            await asyncio.sleep(0.1)  # goes on, and ends after the newer one
        if not asked.overtaken:
            answered.append(f"published {number}")

    asked = Refresher(stubborn, answered.append, answered.append)
    asked.request()
    await asyncio.sleep(0.01)
    asked.request()
    await asked.settled()
    await asyncio.sleep(0.15)

    assert (answered, asked.pending) == ([1, 2, "published 2"], False)


async def test_two_actions_that_wait_for_the_refresh_do_not_wait_for_each_other():
    work = Work()
    asked = refresher(work)

    async def change_and_wait():
        asked.request()
        await asked.settled()

    asked.spawn(change_and_wait)
    asked.spawn(change_and_wait)
    await asyncio.wait_for(asked.settled(), 5)
    assert not asked.pending


async def test_a_store_that_cancels_the_task_which_asks_it_has_failed_and_nothing_waits_for_ever():
    work = Work()

    async def cancels():
        work.begun += 1
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    asked = Refresher(cancels, work.errors.append, work.refused.append)
    asked.request()
    await asyncio.wait_for(asked.settled(), 5)

    assert (asked.pending, work.begun) == (False, 1)
    assert [str(error) for error in work.errors] == ["a store cancelled the call that asked it"]


def test_threads_with_loops_of_their_own_settle_together_whichever_loop_ends_first():
    work = Work(seconds=0.001)
    asked = refresher(work)
    outcomes = []

    async def change(times):
        for _ in range(times):
            asked.request()
            await asyncio.wait_for(asked.settled(), 20)
        return "settled"

    def thread(times):
        try:
            outcomes.append(asyncio.run(change(times)))
        except BaseException as error:
            outcomes.append(repr(error))

    threads = [threading.Thread(target=thread, args=(times,)) for times in (1, 3, 5, 7, 9, 11)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)

    assert outcomes == ["settled"] * 6
    assert (asked.pending, work.errors) == (False, [])
