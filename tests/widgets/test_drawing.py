"""When a screen is drawn: at once, or together with what follows."""

from __future__ import annotations

import asyncio

from memwb.widgets.drawing import GAP, QUIET, Drawing


class Screen:
    """Draws a number; ``waits`` says whether a result is on its way."""

    def __init__(self):
        self.value, self.drawn, self.waits = 0, [], False
        self.drawing = Drawing(lambda: self.drawn.append(self.value), lambda: self.waits)

    def change(self, value, *, waits=False):
        self.value, self.waits = value, waits
        self.drawing()


async def test_news_is_drawn_at_once():
    screen = Screen()

    screen.change(1)
    assert screen.drawn == [1]
    await asyncio.sleep(2 * GAP)
    screen.change(2)
    assert screen.drawn == [1, 2]


async def test_of_many_changes_the_first_and_the_last_are_drawn():
    screen = Screen()

    for value in range(100):
        screen.change(value)
    await asyncio.sleep(2 * GAP)
    assert screen.drawn == [0, 99]


async def test_a_change_is_drawn_with_its_result_where_that_comes_soon():
    screen = Screen()

    screen.change(1, waits=True)
    await asyncio.sleep(QUIET / 4)
    assert screen.drawn == []
    screen.change(2)
    await asyncio.sleep(2 * QUIET)
    assert screen.drawn == [2]


async def test_that_a_result_is_waited_for_is_drawn_after_a_while_whatever_comes_in_between():
    screen = Screen()

    for value in range(6):
        screen.change(value, waits=True)
        await asyncio.sleep(QUIET / 3)
    assert 1 <= len(screen.drawn) <= 2


async def test_what_waits_is_drawn_when_it_is_asked_for_and_then_not_again():
    screen = Screen()

    screen.drawing.flush()
    assert screen.drawn == []
    screen.change(1, waits=True)
    screen.drawing.flush()
    assert screen.drawn == [1]
    await asyncio.sleep(2 * QUIET)
    assert screen.drawn == [1]


async def test_a_closed_screen_is_not_drawn():
    screen = Screen()

    screen.change(1, waits=True)
    screen.drawing.cancel()
    await asyncio.sleep(2 * QUIET)
    assert screen.drawn == []


def test_without_a_loop_each_change_is_drawn():
    screen = Screen()

    screen.change(1, waits=True)
    screen.change(2)
    assert screen.drawn == [1, 2]


def test_what_waited_in_a_loop_that_has_ended_holds_nothing_up():
    screen = Screen()

    async def change(value):
        screen.change(value, waits=True)

    async def later():
        screen.change(2, waits=True)
        await asyncio.sleep(2 * QUIET)

    asyncio.run(change(1))
    asyncio.run(later())
    assert screen.drawn == [2]
