"""The code editor's end in the kernel: which text counts, and what goes over the wire."""

from __future__ import annotations

import gc
import weakref

import pytest

from memwb.errors import ConfigError
from memwb.widgets.completions import CALLBACKS, Completion, names
from memwb.widgets.editor import CodeEditor
from memwb.workbench import Problem
from tests.widgets.wire import Wire


class Page:
    """An editor with two documents, its wire, and what its callbacks heard."""

    def __init__(self, **options):
        self.heard = []
        self.editor = CodeEditor(
            "one = 1\n",
            lambda *event: self.heard.append(("change", *event)),
            on_apply=lambda *event: self.heard.append(("apply", *event)),
            document="query",
            **options,
        )
        self.editor.put("two = 2\n", "format")
        self.wire = Wire(self.editor)

    def type(self, text, *, version=1, edit=1, document="query"):
        self.wire.put(typed={document: {"text": text, "version": version, "edit": edit}})


@pytest.fixture
def page():
    page = Page()
    yield page
    page.editor.close()


def test_a_page_is_given_texts_versions_and_no_code_of_other_hosts(page):
    state = page.wire.state()

    assert state["documents"] == {
        "query": {"text": "one = 1\n", "version": 1},
        "format": {"text": "two = 2\n", "version": 1},
    }
    assert (state["document"], state["typed"], state["pause"]) == ("query", {}, 0.25)
    assert "import" not in state["_css"]


def test_typed_text_is_the_documents_and_nothing_is_sent_back(page):
    page.type("one = 11\n")

    assert (page.editor.value, page.editor.text("format")) == ("one = 11\n", "two = 2\n")
    assert page.heard == [("change", "query", "one = 11\n")]
    assert page.wire.sent == []


def test_typed_text_survives_in_the_state_for_a_page_that_is_loaded_again(page):
    page.type("one = 11\n")

    state = page.wire.state()

    assert state["typed"]["query"] == {"text": "one = 11\n", "version": 1, "edit": 1}
    assert state["documents"]["query"]["version"] == 1


def test_a_text_from_the_kernel_is_a_new_version(page):
    page.type("one = 11\n")
    page.editor.put("from a cell\n")

    assert page.editor.value == "from a cell\n"
    assert page.wire.updates("documents")[-1]["query"] == {"text": "from a cell\n", "version": 2}
    assert page.heard == [("change", "query", "one = 11\n")]  # what the kernel itself did is no news to it


def test_the_first_text_can_be_put_back_after_typing(page):
    page.type("one = 11\n")
    page.editor.put("one = 1\n")

    assert page.wire.updates("documents")[-1]["query"] == {"text": "one = 1\n", "version": 2}


def test_a_text_that_is_there_already_changes_nothing(page):
    page.type("one = 11\n")
    page.editor.value = "one = 11\n"

    assert page.wire.sent == []


def test_what_was_typed_on_top_of_an_older_version_is_dropped(page):
    page.editor.put("from a cell\n")
    page.type("late", version=1, edit=1)

    assert (page.editor.value, page.heard) == ("from a cell\n", [])

    page.type("after undo", version=2, edit=1)
    assert (page.editor.value, page.heard) == ("after undo", [("change", "query", "after undo")])


def test_apply_brings_its_text_and_the_trait_that_follows_is_no_news(page):
    page.wire.say({"do": "apply", "document": "query", "text": "now", "version": 1, "edit": 3})
    page.type("older", edit=2)
    page.type("now", edit=3)

    assert page.heard == [("change", "query", "now"), ("apply", "query", "now")]
    assert page.editor.value == "now"


def test_apply_of_an_older_version_does_nothing(page):
    page.editor.put("from a cell\n")
    page.wire.say({"do": "apply", "document": "query", "text": "late", "version": 1, "edit": 3})

    assert page.heard == []


def test_apply_without_a_change_applies_the_text_that_is_there(page):
    page.wire.say({"do": "apply", "document": "query", "text": "one = 1\n", "version": 1, "edit": 0})

    assert page.heard == [("apply", "query", "one = 1\n")]


@pytest.mark.parametrize(
    "content",
    [None, "apply", {}, {"do": "other"}, {"do": "apply"}, {"do": "apply", "document": "none", "text": "x"},
     {"do": "apply", "document": "query", "text": 5, "version": 1, "edit": "9"}],
)  # fmt: skip
def test_a_message_that_makes_no_sense_changes_nothing(page, content):
    page.wire.say(content)

    assert (page.editor.value, [event for event in page.heard if event[0] == "change"]) == ("one = 1\n", [])


def test_typed_text_that_makes_no_sense_changes_nothing(page):
    page.wire.put(typed={"query": "text", "format": {"text": 3, "version": 1, "edit": 1}, "none": {}})

    assert (page.editor.text("query"), page.editor.text("format"), page.heard) == ("one = 1\n", "two = 2\n", [])


def test_another_document_opens_and_can_take_the_keyboard(page):
    page.editor.switch("format", focus=True)

    assert (page.editor.document, page.editor.value) == ("format", "two = 2\n")
    assert page.wire.updates("document") == ["format"]
    assert page.wire.updates("takes") == [1]


def test_an_unknown_document_is_refused_and_the_nearest_named(page):
    with pytest.raises(ConfigError, match=r"no document 'qery'.*query, format.*Did you mean 'query'") as caught:
        page.editor.switch("qery")

    assert (caught.value.key, caught.value.value, caught.value.allowed) == ("document", "qery", ("query", "format"))
    assert page.editor.document == "query"


def test_marks_say_which_text_they_are_about(page):
    page.type("one = \n")
    page.editor.mark(
        [Problem("SyntaxError: invalid syntax", 1, "one ="), {"line": 2, "message": "odd", "severity": "info"}]
    )

    assert page.wire.updates("marks")[-1]["query"] == {
        "version": 1,
        "edit": 1,
        "problems": [
            {"line": 1, "message": "SyntaxError: invalid syntax", "severity": "error"},
            {"line": 2, "message": "odd", "severity": "info"},
        ],
    }


def test_a_problem_without_a_line_is_not_marked(page):
    page.editor.mark([Problem("a function is needed")], "format")

    assert page.editor.marks["format"]["problems"] == []


def test_a_new_text_has_no_marks(page):
    page.editor.mark([Problem("wrong", 1)])
    page.editor.put("right\n")

    assert page.editor.marks["query"] == {"version": 2, "edit": 0, "problems": []}


def test_completions_are_of_the_document_that_was_named(page):
    page.editor.complete([Completion("context", "entries", "The entries.", of="entry", each=True)], "format")
    page.editor.label("What the model gets", "format")

    assert page.editor.completions == {"format": [["context", "entries", "attribute", "The entries.", "entry", True]]}
    assert page.editor.labels == {"format": "What the model gets"}


def test_each_callback_is_offered_the_attributes_of_its_context():
    from dataclasses import fields

    from memwb.memory import InjectionContext, InjectionFormatContext, InjectionQueryContext, MemoryEntry

    def offered(name, owner):
        return {c.name for c in CALLBACKS[name] if (c.owner, c.kind) == (owner, "attribute")}

    contexts = {"query": InjectionQueryContext, "format": InjectionFormatContext, "trigger": InjectionContext}
    for name, context in contexts.items():
        assert offered(name, "context") == {field.name for field in fields(context)}
    assert offered("format", "entry") == {field.name for field in fields(MemoryEntry)} | {"id"}


def test_names_are_sorted_and_private_ones_left_out():
    assert [(c.name, c.kind) for c in names({"b": 1, "a": 2, "_c": 3})] == [("a", "name"), ("b", "name")]


def test_its_repr_is_short_and_the_same_at_every_run(page):
    assert repr(page.editor) == "CodeEditor('query', 1 line)"


def test_nothing_is_left_when_it_is_closed():
    from ipywidgets.widgets.widget import _instances

    before = set(_instances)
    Page().editor.close()

    assert set(_instances) == before


def test_a_closed_editor_is_forgotten():
    editor = CodeEditor("one", print)
    seen = weakref.ref(editor)
    editor.close()
    del editor
    gc.collect()

    assert seen() is None
