"""Cells: what of a value goes to the page, cut at whole characters, told apart where values differ."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.widgets.cells import CUT, MISSING, Bar, Marked, cell, clipped, piece, text_of


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("as <b>typed</b>", "as <b>typed</b>"),
        ("\x1b[31m\u202ered", "\\x1b[31m\\u202ered"),
        ("two\nlines", "two\nlines"),
        ("None", "None"),
        (None, {"q": "None"}),
        ("", {"q": "empty text"}),
        (MISSING, None),
        (9007199254740993, "9007199254740993"),
        (float("nan"), "nan"),
        (True, "True"),
        ([], "[]"),
        ({"a": ["ö", 1]}, '{"a": ["ö", 1]}'),
        ({1: date(2026, 1, 2)}, '{"1": "2026-01-02"}'),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC), "2026-01-02 03:04:05"),
        (date(2026, 1, 2), "2026-01-02"),
        (Decimal("1.10"), "1.10"),
        (Bar(4, 0.5), {"t": "4", "b": 0.5}),
        (Bar(0.25, 7), {"t": "0.25", "b": 1.0}),
        (Bar(None), None),
    ],
)
def test_b63_values_are_shown_exactly_and_told_apart(value, expected):
    assert cell(value) == expected


def test_b56_a_list_inside_itself_is_shown_too():
    knot = []
    knot.append(knot)

    assert cell(knot) == "[[...]]"


def test_a_long_text_is_cut_and_says_how_much_is_left():
    assert cell("x" * (CUT + 5)) == {"t": "x" * CUT, "m": 5}
    assert cell("x" * CUT) == "x" * CUT


@pytest.mark.parametrize(
    ("text", "length", "kept"),
    [
        ("abcdef", 3, "abc"),
        ("abe\u0301f", 3, "ab"),  # an accent stays with its letter
        ("ab\U0001f44d\U0001f3fdc", 3, "ab"),  # a skin tone with its hand
        ("a\U0001f468\u200d\U0001f469\u200d\U0001f467b", 3, "a"),  # a family together
        ("a\u2764\ufe0fb", 2, "a"),  # a variation with its heart
        ("\U0001f1f3\U0001f1f4\U0001f1eb\U0001f1f7", 3, "\U0001f1f3\U0001f1f4"),  # a flag with both its letters
        ("a\ud83d\ude00b", 2, "a"),  # both halves of a surrogate pair
        ("a\r\nb", 2, "a"),
        ("e" + "\u0301" * 9, 4, "e" + "\u0301" * 3),  # nothing smaller fits
    ],
)
def test_no_visible_character_is_cut_in_two(text, length, kept):
    assert clipped(text, length) == (kept, len(text) - len(kept))


@given(st.text(), st.integers(1, 20))
def test_a_cut_text_is_a_beginning_of_it_and_nothing_is_lost(text, length):
    kept, left = clipped(text, length)

    assert text.startswith(kept)
    assert len(kept) <= length
    assert len(kept) + left == len(text)
    assert kept or not text


@given(st.text(st.sampled_from("a\u0301\u200d\U0001f1f3\U0001f44d\U0001f3fd\r\n\ud83d\ude00")), st.integers(1, 5))
def test_the_pieces_of_a_whole_cell_are_the_whole_cell(text, length):
    pieces, at = [], 0
    while at < len(text):
        _, end = piece(text, at, length)
        assert at < end
        pieces.append(text[at:end])
        at = end

    assert "".join(pieces) == text


def test_a_piece_shows_what_is_hidden():
    assert piece("a\x00b", 0) == ("a\\x00b", 3)


def test_words_are_marked_whatever_their_case_and_nothing_else():
    marked = cell(Marked("MORE canes, more <b>", {"more"}))

    assert marked == {"s": [["MORE", 1], [" canes, ", 0], ["more", 1], [" <b>", 0]]}
    assert cell(Marked("more", {"more"}, weak=True)) == {"s": [["more", 2]]}
    assert cell(Marked("nothing to mark", {"more"})) == "nothing to mark"
    assert cell(Marked("", ())) == {"q": "empty text"}


def test_a_long_marked_text_is_cut_as_well():
    assert cell(Marked("more " * 40, ["more"]), cut=7) == {"s": [["more", 1], [" mo", 0]], "m": 193}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_value_is_a_cell_that_json_can_hold(value):
    json.dumps(cell(value))
    assert isinstance(text_of(value), str)
