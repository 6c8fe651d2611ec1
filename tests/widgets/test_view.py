"""The view of a tree: what is sent to the page, what comes back, and that nothing in it is markup."""

from __future__ import annotations

import json

import pytest

from memwb._dom import el
from memwb.widgets.view import TreeView
from tests.widgets.wire import Wire


@pytest.fixture
def view():
    heard = []
    view = TreeView(heard.append)
    view.heard = heard
    yield view
    view.close()


def test_a_tree_is_sent_and_an_equal_one_is_not_sent_again(view):
    wire = Wire(view)

    view.show(el("p", "", "one"))
    view.show(el("p", "", "one"))
    view.show(el("p", "", "two"))
    assert wire.updates("tree") == [{"t": "p", "k": ["one"]}, {"t": "p", "k": ["two"]}]


def test_the_page_cannot_change_the_tree(view):
    view.show(el("p", "", "one"))

    with pytest.raises(Exception, match="read-only"):
        view.tree = {"t": "p"}


def test_a_message_that_asks_for_something_reaches_the_workbench_and_anything_else_does_not(view):
    wire = Wire(view)

    for content in ({"do": "why"}, {"done": 1}, {}, "why", None, ["do"], {"do": "cut", "by": 1}):
        wire.say(content)
    assert view.heard == [{"do": "why"}, {"do": "cut", "by": 1}]


def test_its_repr_is_stable(view):
    assert repr(view) == "TreeView()"


def test_what_is_sent_is_json_whatever_the_texts_hold(view):
    wire = Wire(view)
    view.show(el("p", "", "\ud83d \x00 \x1b[31m \u202e $x$ </script>", title="\ud83d\x07"))

    tree = wire.updates("tree")[0]
    assert json.dumps(tree, ensure_ascii=False).encode()
    assert tree == {"t": "p", "a": {"title": r"\ud83d\x07"}, "k": [r"\ud83d \x00 \x1b[31m \u202e $x$ </script>"]}
