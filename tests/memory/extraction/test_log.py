"""The extraction log: what it keeps, who hears of it, and how it looks when it is printed."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import weakref
from typing import Any

import pytest

from memwb.memory import Buffered, ExtractionLog, Failed, Fired, Flushed, ModelExtractor, Saved, Unreadable
from memwb.memory.extraction.happenings import numbers_told
from memwb.testing import ScriptedModel
from tests.memory.extraction.host import Host, Inbox, attached, facts, settle, told
from tests.memory.stores import tool_use, user


async def lively() -> ExtractionLog:
    """A log with every kind of event but a skipped save and a review."""
    answers = [OSError("quota"), "Sorry.", '[{"content": "likes tea"}, {"fact": 1}, {"content": "owns a cat"}]']
    home = facts("home", extractor=ModelExtractor(ScriptedModel(answers)), refuses=["owns a cat"])
    manager, host = await attached(home)
    host.turn("I like tea <b>&\x1b")
    await manager.flush()
    await manager.flush()
    host.add(user("I own a cat"), tool_use())
    await manager.flush()
    home.refuses = []
    await manager.flush()
    return manager.extraction_log


LIVELY = r"""
turn 1
  buffered    0 user: 'I like tea <b>&\x1b'
  buffered    1 assistant: 'ok'
  fired       home by invocation: messages 0-1
  turn ended  turn 1
  fired       home by flush: messages 0-1
  asked       home messages 0-1: N characters
  failed      home messages 0-1: OSError: quota, 1 failure in a row
  asked       home messages 0-1: N characters
  answered    home messages 0-1: 'Sorry.'
  unreadable  home messages 0-1: the answer holds no list of facts
  flushed     left: no message; kept with an unreadable answer: messages 0-1
  fired       home by flush: no message
  flushed     left: no message; kept with an unreadable answer: messages 0-1
turn 2
  buffered    2 user: 'I own a cat'
  buffered    3 assistant: toolUse
  fired       home by flush: messages 2-3
  filtered    home: 3 dropped whole: toolUse
  asked       home messages 2-3: N characters
  answered    home messages 2-3: '[{"content": "likes tea"}, {"fact": 1}, {"content": "owns a…'
  noted       home messages 2-3: an item without a text as content was dropped: {"fact": 1}
  proposed    home messages 2-3: 'likes tea', 'owns a cat'
  failed      home messages 2-3: AggregateMemoryError: MemoryManager: 1 of 2 facts could not be written to 'home': OSError: home is full, 1 failure in a row; still to write: 'owns a cat'
  flushed     left: messages 2-3; kept with an unreadable answer: messages 0-1
  fired       home by flush: messages 2-3
  saved       home messages 2-3: 'likes tea', 'owns a cat'
  flushed     left: no message; kept with an unreadable answer: messages 0-1
"""  # noqa: E501 - lines as they are printed


async def test_it_prints_what_happened_turn_by_turn_the_same_at_every_run() -> None:
    for _ in range(2):
        text = re.sub(r"\d+ characters", "N characters", str(await lively()))
        assert text.splitlines() == LIVELY.strip().splitlines()


async def test_it_says_how_much_it_holds() -> None:
    log = await lively()
    assert repr(log) == (
        "ExtractionLog(26 events: 4 buffered, 5 fired, 1 turnended, 3 asked, 2 failed, 2 answered, 1 unreadable, "
        "4 flushed, 1 filtered, 1 noted, 1 proposed, 1 saved; 1 unreadable answer kept)"
    )
    assert repr(ExtractionLog()) == "ExtractionLog(0 events)"
    assert str(ExtractionLog()) == "nothing has happened yet"


async def test_the_page_shows_the_same_escaped() -> None:
    html = (await lively())._repr_html_()
    assert "<td>0 user: &#x27;I like tea &lt;b&gt;&amp;\\x1b&#x27;</td>" in html
    assert "<h4>turn 2</h4>" in html
    assert "\x1b" not in html


async def test_several_agents_are_told_apart() -> None:
    manager, first = await attached(Inbox())
    second = Host()
    await manager.init_agent(second)
    first.add(user("tea"))
    second.add(user("milk"))
    assert str(manager.extraction_log).splitlines() == [
        "turn 1 of agent 1",
        "  buffered    0 user: 'tea'",
        "turn 1 of agent 2",
        "  buffered    0 user: 'milk'",
    ]


def test_it_is_a_sequence_and_keeps_the_newest_events() -> None:
    log = ExtractionLog(limit=3)
    for number in range(5):
        log.append(Buffered(number, user("tea")))
    assert (len(log), log.dropped) == (3, 2)
    assert log[-1] == Buffered(4, user("tea"))
    assert log[:2] == [Buffered(2, user("tea")), Buffered(3, user("tea"))]
    assert [event.number for event in log] == [2, 3, 4]  # type: ignore[attr-defined]
    assert str(log).splitlines()[0] == "… 2 earlier events, not shown here"


def test_what_is_unreadable_is_kept_when_its_event_is_gone() -> None:
    log = ExtractionLog(limit=1)
    unreadable = Unreadable("home", (0,), "no", "no list", (0,), (user("tea"),))
    log.append(unreadable)
    log.append(Flushed(()))
    assert list(log) == [Flushed(())]
    assert log.unreadable == (unreadable,)


def test_events_are_chosen_by_type_and_store() -> None:
    log = ExtractionLog()
    for event in (Fired("a", "flush", ()), Fired("b", "flush", ()), Saved("a", (0,), (0,)), Flushed(())):
        log.append(event)
    assert log.of(Fired) == [Fired("a", "flush", ()), Fired("b", "flush", ())]
    assert log.of(Fired, "b") == [Fired("b", "flush", ())]
    assert log.of(Flushed, "a") == []


def test_a_subscriber_hears_each_event_until_it_is_undone() -> None:
    log, heard = ExtractionLog(), []
    undo = log.subscribe(heard.append)
    log.append(Flushed((1,)))
    undo()
    undo()
    log.append(Flushed((2,)))
    assert heard == [Flushed((1,))]


async def test_a_subscriber_that_raises_is_logged_and_harms_no_save(caplog: Any) -> None:
    inbox = Inbox()
    manager, host = await attached(inbox)
    manager.extraction_log.subscribe(lambda event: 1 / 0)
    host.turn("tea")
    await manager.flush()
    assert inbox.calls == [[0, 1]]
    assert (
        "a subscriber of the extraction log failed at Saved(inbox messages 0-1: 2 messages, as they are)" in caplog.text
    )


async def test_the_log_and_what_it_prints_are_the_same_objects_at_every_look() -> None:
    manager, host = await attached(Inbox())
    assert manager.extraction_log is manager.extraction_log
    host.add(user("tea"))
    assert told(manager.extraction_log) == ["Buffered(0 user: 'tea')"]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((), "no message"),
        ((4,), "message 4"),
        ((0, 1), "messages 0-1"),
        ((0, 1, 2, 5, 7, 8), "messages 0-2, 5, 7-8"),
    ],
)
def test_numbers_are_told_with_their_runs_joined(numbers: tuple[int, ...], words: str) -> None:
    assert numbers_told(numbers) == words


async def test_a_status_says_how_far_a_store_has_come() -> None:
    manager, host = await attached(Inbox(faults=[OSError("full")]))
    host.turn("tea")
    await manager.flush()
    host.add(user("milk"))
    assert repr(manager.extraction_status()) == "[ExtractionStatus(agent 1, 'inbox': saved up to 1, pending message 2)]"


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        (Saved("s", (0, 1), (0,), as_messages=True), "s messages 0-1: 1 message, as it is"),
        (Saved("s", (0,), (0,), ("tea", "milk")), "s message 0: 'tea', 'milk'"),
        (Saved("s", (0,), (0,), tuple("abcde")), "s message 0: 'a', 'b', 'c' and 2 more"),
        (Saved("s", (0,), (0,)), "s message 0: no new fact"),
        (Saved("s", (0,), (0,), (), ("tea",)), "s message 0: no new fact; held already: 'tea'"),
        (Saved("s", (0,), ()), "s message 0: nothing, all was dropped"),
    ],
)
def test_a_save_says_what_reached_the_store(saved: Saved, words: str) -> None:
    assert saved.told == words


@pytest.mark.parametrize("cut_off", [False, True])
async def test_a_failure_in_the_log_keeps_no_batch_in_memory(cut_off: bool) -> None:
    class Kept(dict[str, Any]):
        """A message that can be referred to weakly."""

    gone: list[weakref.ref[Any]] = []

    class Failing(Inbox):
        async def add_messages(self, messages: list[Any], context: Any = None) -> None:
            batch = Kept(messages[0])
            gone.append(weakref.ref(batch))
            if cut_off:
                await asyncio.sleep(60)
            try:
                raise KeyError(len(batch))
            except KeyError as error:
                raise OSError("full") from error

    def cancel_saves() -> None:
        for task in asyncio.all_tasks() - {asyncio.current_task(), flush}:
            task.cancel()

    manager, host = await attached(Failing())
    host.turn("tea")
    flush = asyncio.ensure_future(manager.flush())
    if cut_off:
        await settle()
        cancel_saves()
    await flush
    gc.collect()
    assert [ref() for ref in gone] == [None] * (1 if cut_off else 2)
    assert {event.error.__traceback__ for event in manager.extraction_log.of(Failed)} == {None}


async def test_where_a_failure_came_from_is_logged_on_request(caplog: Any) -> None:
    manager, host = await attached(Inbox(faults=[OSError("full"), OSError("full")], extraction=True))
    host.add(user("tea"))
    for level in (logging.WARNING, logging.DEBUG):
        caplog.set_level(level, "memwb.memory")
        await manager.flush()
    assert [record.exc_info is not None for record in caplog.records] == [False, True]
    assert caplog.messages[0] == "saving to store 'inbox' failed, 1 in a row: OSError: full"
