"""Small things done to text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb._text import (
    counted,
    cropped,
    estimate_tokens,
    hidden_name,
    quoted,
    seen_apart,
    shortened,
    visible,
    xml_forbidden,
)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("x" * 400, 100)])
def test_tokens_are_estimated_as_a_quarter_of_the_characters_rounded_up(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\x00b\x7f\x85", "a\\x00b\\x7f\\x85"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("turn\u202earound\u2066", "turn\\u202earound\\u2066"),
        ("para\u2028graph\u2029\x0b\x0c\x1c", "para\\u2028graph\\u2029\\x0b\\x0c\\x1c"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("half \ud83d pair", "half \\ud83d pair"),
        ("hidden \U000e0041\U000e0042", "hidden \\U000e0041\\U000e0042"),
        ("می\u200cخواهم 👨\u200d👩\u200d👧 क्\u200dष", "می\u200cخواهم 👨\u200d👩\u200d👧 क्\u200dष"),
        ("naïve ✓ 東京 \\x1b", "naïve ✓ 東京 \\x1b"),
    ],
)
def test_what_a_page_would_hide_or_turn_around_is_shown_as_its_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_every_character_is_shown_alone_as_it_is_in_a_text() -> None:
    characters = [chr(code) for code in range(0x110000)]
    assert visible("".join(characters)) == "".join(map(visible, characters))


@given(st.text())
def test_visible_text_can_be_written_everywhere_and_is_stable(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert "\x1b" not in shown
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("text", "length", "line"),
    [
        ("short", 60, "short"),
        (" two \n\n lines\t", 60, "two lines"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("abcd efgh", 6, "abcd…"),
        ("", 6, ""),
    ],
)
def test_a_shortened_text_is_one_line_with_an_ellipsis(text: str, length: int, line: str) -> None:
    assert shortened(text, length) == line


@given(st.text(), st.integers(min_value=1, max_value=80))
def test_a_shortened_text_is_never_longer_than_asked(text: str, length: int) -> None:
    line = shortened(text, length)
    assert len(line) <= length
    assert line.splitlines() in ([], [line])


def test_quoted_puts_quotes_around() -> None:
    assert quoted("Yes, please.") == "'Yes, please.'"
    assert quoted("a\x1b b", 3) == "'a\\…'"


def test_characters_that_xml_forbids_are_listed_once_in_order() -> None:
    assert xml_forbidden("b\x1b\x00\x1b\ufffe ok \t\r\n\ud800") == ["\x1b", "\x00", "\ufffe", "\ud800"]
    assert xml_forbidden("\t\n\r \x7f\x85\u2028\ufffd🍵") == []


@pytest.mark.parametrize(("number", "words"), [(0, "0 hits"), (1, "1 hit"), (2, "2 hits"), (2000, "2,000 hits")])
def test_counted_speaks_of_one_and_of_many(number: int, words: str) -> None:
    assert counted(number, "hit") == words
    assert counted(2, "entry", "entries") == "2 entries"


@given(st.text(max_size=40))
def test_a_short_text_is_not_cropped_nor_changed(text: str) -> None:
    assert cropped(text, 40) == text


def test_a_long_text_is_cropped_to_its_beginning() -> None:
    assert cropped("a long line\nand more", 8) == "a long…"
    assert len(cropped("x" * 5_000_000)) == 300


@given(st.text(alphabet="a \n\t\x0b\x85\u3000é", max_size=80), st.integers(1, 3))
def test_a_long_text_is_shortened_as_if_all_of_it_were_read(text: str, length: int) -> None:
    line = " ".join(visible(text).split())
    assert shortened(text, length) == (line if len(line) <= length else line[: length - 1].rstrip() + "…")


@given(st.text(alphabet="ab\u200b\x1b\u202e\n é\ud800", max_size=30))
def test_the_pieces_of_a_text_are_what_is_shown_of_it_and_hidden_ones_have_names(text: str) -> None:
    pieces = seen_apart(text)
    assert "".join(shown for shown, _ in pieces) == visible(text)
    assert all(shown.startswith("\\") == bool(name) for shown, name in pieces)


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\u200b", "zero width space U+200B"),
        ("\x00", "null U+0000"),
        ("\x85", "control character U+0085"),
        ("\ud800", "lone surrogate U+D800"),
        ("\ufffe", "no character U+FFFE"),
    ],
)
def test_a_hidden_character_is_called_as_unicode_does(character: str, name: str) -> None:
    assert hidden_name(character) == name
