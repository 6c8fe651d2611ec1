"""The code editor in a real page: typing, completion, marks, undo, and several documents in one editor."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

SETUP = '''
import json
import ipywidgets as w
from memwb.widgets.completions import CALLBACKS, names
from memwb.widgets.editor import CodeEditor

QUERY = """def query(context):
    for message in reversed(context.messages):
        if message["role"] == "user":
            return message["content"][0]["text"]
"""
FORMAT = """def format(context):
    lines = [entry.content for entry in context.entries]
    return "\\\\n".join(lines)
"""
heard, told = [], w.Label("[]")
told.add_class("memwb-told")

def hear(kind):
    def listen(document, text):
        heard.append([kind, document, text])
        told.value = json.dumps(heard)
    return listen

editor = CodeEditor(QUERY, hear("change"), on_apply=hear("apply"), document="query")
editor.put(FORMAT, "format")
for name in ("query", "format"):
    editor.complete([*CALLBACKS[name], *names(["tokenize", "_hidden"])], name)
w.VBox([editor, told], layout=w.Layout(width="620px"))
'''


class Page:
    """The editor on the page and what the kernel heard of it."""

    def __init__(self, nb):
        self.nb, self.keyboard = nb, nb.page.keyboard
        self.root = nb.widget("mwc").first
        self.told = nb.widget("memwb-told")
        self.content = self.root.locator(".cm-content")
        self.content.wait_for()

    def text(self):
        return "\n".join(self.root.locator(".cm-line").all_inner_texts()).replace("\n\n", "\n")

    def lines(self):
        return [line.rstrip("\n") for line in self.root.locator(".cm-line").all_inner_texts()]

    def retype(self, text):
        self.content.click()
        self.keyboard.press("ControlOrMeta+a")
        self.keyboard.insert_text(text)

    def heard(self):
        return json.loads(self.told.text_content())

    def wait_for(self, *event):
        """Wait until the last thing that the kernel heard is this."""
        self.nb.page.wait_for_function(
            "([told, event]) => JSON.stringify(JSON.parse(told.textContent).at(-1)) === event",
            arg=[self.told.element_handle(), json.dumps(event, separators=(",", ":"))],
        )

    def wait_for_lines(self, *lines):
        self.nb.page.wait_for_function(
            "([root, lines]) => [...root.querySelectorAll('.cm-line')].map((e) => e.textContent).join('\\n') === lines",
            arg=[self.root.element_handle(), "\n".join(lines)],
        )


@pytest.fixture
def page(notebook):
    return Page(notebook(SETUP))


def test_what_is_typed_reaches_the_kernel_once_after_a_pause(page):
    page.retype("def query(context):\n")
    page.keyboard.type("return 'cane'", delay=20)

    page.wait_for("change", "query", "def query(context):\nreturn 'cane'")

    assert len(page.heard()) == 1


def test_ctrl_enter_applies_at_once_and_runs_no_cell(page):
    prompt = page.nb.panel.locator(".jp-InputPrompt").first.inner_text()
    page.retype("def query(context): return 'now'")
    page.keyboard.press("ControlOrMeta+Enter")

    page.wait_for("apply", "query", "def query(context): return 'now'")

    assert [event[0] for event in page.heard()] == ["change", "apply"]
    assert page.lines() == ["def query(context): return 'now'"]
    assert page.nb.panel.locator(".jp-InputPrompt").first.inner_text() == prompt


def test_d_d_and_escape_stay_in_the_editor(page):
    page.retype("")
    page.keyboard.press("Escape")
    page.keyboard.type("dd")

    page.wait_for("change", "query", "dd")

    assert page.nb.panel.locator(".jp-Notebook-cell").count() == 1


def test_tab_indents_and_after_escape_leaves_the_editor(page):
    page.retype("x")
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    page.wait_for("change", "query", "    x")

    page.keyboard.press("Escape")
    page.keyboard.press("Tab")

    assert not page.content.evaluate("element => element === document.activeElement")
    assert page.lines() == ["    x"]


def test_the_next_line_is_indented_as_python_wants_it(page):
    page.retype("")
    page.keyboard.type("def query(context):")
    page.keyboard.press("Enter")
    page.keyboard.type("return 1")

    page.wait_for("change", "query", "def query(context):\n    return 1")


@pytest.mark.parametrize(
    ("document", "before", "typed", "offered"),
    [
        ("query", "def query(context):\n    ", "context.", ["messages"]),
        ("query", "def query(c):\n    ", "c.", ["messages"]),
        ("query", "context.messages[-1]", "['", ["content", "role"]),
        ("query", "for m in reversed(context.messages):\n    m", "['", ["content", "role"]),
        ("query", "b = context.messages[0]['content'][0]\nb", "['tool", ["toolResult", "toolUse"]),
        ("format", "def format(context):\n    ", "context.e", ["entries"]),
        ("format", "for e in context.entries:\n    e", ".", ["content", "id", "metadata", "store_name"]),
        ("format", "", "entry.st", ["store_name"]),
        ("format", "context.entries[0].metadata", "['", ["_relevanceScore"]),
    ],
)
def test_the_contexts_attributes_and_keys_are_offered(page, document, before, typed, offered):
    page.nb.run(f"editor.switch({document!r})")
    page.retype(before)
    page.keyboard.type(typed)
    options = page.nb.page.locator(".cm-tooltip-autocomplete .cm-completionLabel")
    options.first.wait_for()

    assert sorted(options.all_inner_texts()) == offered


def test_a_completion_is_taken_with_enter_and_explained_as_text(page):
    page.nb.run(
        "from memwb.widgets.completions import Completion\n"
        "editor.complete([Completion('context', 'messages', '<img src=x onerror=window.hit=1>')])"
    )
    page.retype("context")
    page.keyboard.type(".")
    note = page.nb.page.locator(".cm-completionInfo")
    note.wait_for()

    assert note.inner_text() == "<img src=x onerror=window.hit=1>"
    page.nb.page.wait_for_timeout(100)  # the list ignores Enter in its first moment, so that typing goes on undisturbed
    page.keyboard.press("Enter")
    page.wait_for("change", "query", "context.messages")
    assert page.nb.page.evaluate("window.hit") is None


def test_enter_behind_a_complete_word_ends_the_line(page):
    page.retype("context")
    page.keyboard.type(".messages", delay=40)
    page.nb.page.locator(".cm-tooltip-autocomplete").wait_for()
    page.nb.page.wait_for_timeout(100)
    page.keyboard.press("Enter")

    page.wait_for("change", "query", "context.messages\n")


def test_names_are_offered_on_request_and_not_while_typing(page):
    options = page.nb.page.locator(".cm-tooltip-autocomplete .cm-completionLabel")
    page.retype("")
    page.keyboard.type("tok", delay=20)
    page.wait_for("change", "query", "tok")
    assert options.count() == 0

    page.keyboard.press("Control+Space")
    options.first.wait_for()

    assert "tokenize" in options.all_inner_texts()


def test_a_mistake_is_marked_at_its_line_and_says_what_it_is(page):
    page.nb.run("editor.mark([{'line': 3, 'message': '<b>NameError</b>: rol'}, {'line': None, 'message': 'no place'}])")
    marked = page.root.locator(".cm-lintRange-error")
    marked.first.wait_for()

    assert "".join(marked.all_inner_texts()) == 'if message["role"] == "user":'
    assert page.content.get_attribute("aria-invalid") == "true"
    sign = page.root.locator(".cm-lint-marker-error")
    assert sign.count() == 1
    sign.hover()
    note = page.nb.page.locator(".cm-tooltip-lint .cm-diagnostic")
    note.wait_for()
    assert note.inner_text() == "<b>NameError</b>: rol"

    page.nb.run("editor.mark([])")
    marked.first.wait_for(state="detached")
    assert page.content.get_attribute("aria-invalid") is None


def test_marks_of_an_older_text_are_not_drawn_into_a_newer_one(page):
    page.nb.run("late = lambda document, text: editor.mark([{'line': 1, 'message': text}])\neditor._on_change = late")
    page.retype("one")
    page.root.locator(".cm-lint-marker-error").wait_for()
    page.keyboard.type("\n\ntwo", delay=10)
    page.root.locator(".cm-lint-marker-error").hover()
    page.nb.page.locator(".cm-tooltip-lint").get_by_text("one\n\ntwo").wait_for()


def test_a_text_from_the_kernel_replaces_what_is_typed_and_undo_brings_that_back(page):
    page.retype("def query(context):\n    return 'mine'")
    page.wait_for("change", "query", "def query(context):\n    return 'mine'")

    page.nb.run("editor.put(\"def query(context):\\n    return 'from a cell'\\n\")")
    page.wait_for_lines("def query(context):", "    return 'from a cell'", "")

    page.content.click()
    page.keyboard.press("ControlOrMeta+z")
    page.wait_for("change", "query", "def query(context):\n    return 'mine'")
    page.keyboard.press("ControlOrMeta+z")
    assert page.lines()[0] == "def query(context):"
    assert len(page.lines()) == 5  # the text from before the typing


def test_what_is_being_typed_is_not_overwritten_by_the_kernels_answers(page):
    """The kernel answers every text with one for a hidden document and with marks, all the while."""
    page.nb.run(
        "def busy(document, text):\n"
        "    hear('change')(document, text)\n"
        "    editor.put(f'# {len(heard)}', 'format')\n"
        "    editor.mark([{'line': 1, 'message': text}])\n"
        "editor._on_change = busy"
    )
    page.retype("")
    words = [f"word{n}" for n in range(12)]
    for word in words:
        page.keyboard.type(word + " ", delay=15)
        page.nb.page.wait_for_timeout(180 if word.endswith(("1", "5")) else 320)
    typed = " ".join(words) + " "
    page.wait_for("change", "query", typed)

    assert page.lines() == [typed]


def test_each_document_keeps_its_text_cursor_and_undo(page):
    page.retype("query text")
    page.nb.run("editor.switch('format')")
    page.wait_for_lines("def format(context):", "    lines = [entry.content for entry in context.entries]",
                        '    return "\\n".join(lines)', "")  # fmt: skip
    assert page.heard() == [["change", "query", "query text"]]  # told before the other document opened
    page.retype("format text")
    page.nb.run("editor.switch('query', focus=True)")
    page.wait_for_lines("query text")

    page.keyboard.type("!")
    page.wait_for("change", "query", "query text!")
    page.keyboard.press("ControlOrMeta+z")
    page.keyboard.press("ControlOrMeta+z")
    page.nb.page.wait_for_function("root => root.querySelectorAll('.cm-line').length === 5",
                                   arg=page.root.element_handle())  # fmt: skip

    page.nb.run("editor.switch('format', focus=True)")
    page.wait_for_lines("format text")
    page.keyboard.press("ControlOrMeta+z")
    page.wait_for_lines("def format(context):", "    lines = [entry.content for entry in context.entries]",
                        '    return "\\n".join(lines)', "")  # fmt: skip


def test_a_hidden_document_that_the_kernel_replaces_shows_it_when_opened_with_undo(page):
    page.nb.run("editor.switch('format')")
    page.retype("typed")
    page.wait_for("change", "format", "typed")
    page.nb.run("editor.switch('query')")
    page.nb.run("editor.put('replaced', 'format')\neditor.switch('format', focus=True)")
    page.wait_for_lines("replaced")

    page.keyboard.press("ControlOrMeta+z")

    page.wait_for_lines("typed")


def test_an_editor_shown_again_has_the_typed_text(page):
    page.retype("typed here")
    page.wait_for("change", "query", "typed here")

    cell = page.nb.run("editor")

    again = page.nb.output(cell)
    again.locator(".cm-content").wait_for()
    assert again.locator(".cm-line").all_inner_texts() == ["typed here"]
    again.locator(".cm-content").click()
    page.keyboard.press("End")
    page.keyboard.type(" and there")
    page.wait_for("change", "query", "typed here and there")
    page.wait_for_lines("typed here and there")


def test_it_is_of_fixed_height_scrolls_inside_and_has_a_name(page):
    before = page.root.bounding_box()["height"]
    page.retype("\n".join(f"line_{n} = {n}" for n in range(200)))
    page.nb.run("editor.label('The code for the query')")
    box = page.nb.panel.get_by_role("textbox", name="The code for the query")
    box.wait_for()

    assert page.root.bounding_box()["height"] == before == 240
    page.nb.page.wait_for_function("root => root.querySelector('.cm-scroller').scrollHeight > 2000",
                                   arg=page.root.element_handle())  # fmt: skip


def test_edits_in_quick_succession_leave_the_last_text_and_few_messages(page):
    page.retype("")
    page.content.evaluate(
        """async (element) => {
            for (let n = 0; n < 200; n++) {
                document.execCommand('insertText', false, String(n % 10));
                await new Promise((done) => setTimeout(done, 5));
            }
        }"""
    )
    page.wait_for("change", "query", "0123456789" * 20)

    assert len(page.heard()) <= 4


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_looks_like_the_notebooks_own_editor(page, theme):
    """The colours of code are those of the cell above; the picture is for a person to look at."""
    page.nb.resize(1000, 900)
    page.nb.side_bar(False)
    page.nb.set_theme(theme)
    page.nb.run("editor.mark([{'line': 4, 'message': \"KeyError: 'text'\"}])")
    page.root.locator(".cm-lint-marker-error").wait_for()
    page.content.click()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.type("    found = 1.5  # a comment\n")
    page.keyboard.type("context.")
    page.nb.page.locator(".cm-completionInfo").wait_for()
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.nb.page.screenshot(path=Path(folder, f"editor-{theme}.png"))
    colours = """(panel) => ['.jp-InputArea-editor', '.mwc'].map((place) => {
        const word = [...panel.querySelectorAll(`${place} .cm-line span`)].find((e) => e.textContent === 'def');
        return getComputedStyle(word).color;
    })"""

    theirs, ours = page.nb.panel.evaluate(colours)

    assert ours == theirs
