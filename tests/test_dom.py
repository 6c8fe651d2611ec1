"""A page as a tree: what it shows cannot break it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb._dom import TAGS, Node, el
from memwb._text import visible

CASES = Path(__file__).parent / "cases"
TEXTS = json.loads((CASES / "B59-markup-fields.json").read_text(encoding="utf-8"))["texts"]


class Reader(HTMLParser):
    """Reads a page as a browser does: which elements it has, and what text stands in it."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_tree_becomes_json_without_what_is_empty() -> None:
    tree = el("div", "box", el("p", "", "tea"), None, el("button", "", "Go", action={"do": 1}, aria_label="Go on"))
    assert tree.to_json() == {
        "t": "div",
        "c": "box",
        "k": [
            {"t": "p", "k": ["tea"]},
            {"t": "button", "a": {"aria-label": "Go on"}, "m": {"do": 1}, "k": ["Go"]},
        ],
    }
    json.dumps(tree.to_json())


def test_a_tree_becomes_html_without_actions_and_page_internal_attributes() -> None:
    tree = el("details", "box", el("summary", "", "a < b"), el("input", "", type="text", value='"x"'), data_key="k",
              open=True, tabindex=0)  # fmt: skip
    assert tree.to_html() == (
        '<details class="box" open="True"><summary>a &lt; b</summary>'
        '<input type="text" value="&quot;x&quot;"></details>'
    )


def test_an_attribute_of_none_is_left_out() -> None:
    assert el("p", title=None, role="note") == Node("p", attributes={"role": "note"})


def test_text_is_read_without_markup() -> None:
    assert el("p", "", "a ", el("mark", "", "b"), " c").text() == "a b c"


@pytest.mark.parametrize(
    "tag", ["script", "img", "iframe", "style", "a", "foreignObject", "use", "image", "P", "p onclick", ""]
)
def test_an_element_that_could_do_something_is_refused(tag: str) -> None:
    with pytest.raises(ValueError, match="no element that a page of memwb may hold"):
        el(tag)
    with pytest.raises(ValueError, match="no element that a page of memwb may hold"):
        Node(tag)


@pytest.mark.parametrize("name", ["onclick", "href", "src", "style", "srcdoc", "formaction"])
def test_an_attribute_that_could_do_something_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}'.* no attributes that a page of memwb may set"):
        el("p", **{name: "javascript:hit()"})
    with pytest.raises(ValueError, match="no attributes"):
        Node("p", attributes={name: "x"})


@pytest.mark.parametrize("text", TEXTS)
def test_b59_text_and_attributes_show_as_typed_and_are_no_markup(text: str) -> None:
    page = Reader(el("p", text, text, el("mark", "", text), title=text).to_html())
    assert page.tags == ["p", "mark"]
    assert page.text == visible(text) * 2
    assert page.attributes == [("class", text), ("title", visible(text))]


@given(st.text(), st.text(), st.sampled_from(sorted(TAGS)))
def test_any_text_in_any_element_shows_as_typed(text: str, title: str, tag: str) -> None:
    page = el(tag, "", text, title=title).to_html()
    page.encode("utf-8")
    read = Reader(page)
    assert read.tags == [tag]
    assert [value for name, value in read.attributes if name == "title"] == [visible(title)]
    if tag != "input":
        assert read.text == visible(text)


def test_control_characters_show_as_escapes_in_both_forms() -> None:
    tree = el("p", "", "\x1b[31m\x00\ud83d", title="\u202e")
    assert tree.to_json() == {"t": "p", "a": {"title": "\\u202e"}, "k": ["\\x1b[31m\\x00\\ud83d"]}
    assert tree.to_html() == '<p title="\\u202e">\\x1b[31m\\x00\\ud83d</p>'
