"""Memory text on a real page: shown as typed in every pane, and nothing of it runs, loads, colours or is typeset."""

from __future__ import annotations

import json
from pathlib import Path

from memwb._text import visible
from tests.browser.workbench import IMPORTS, Bench

CASE = json.loads(Path(__file__).parents[1].joinpath("cases", "B59-markup-fields.json").read_text("utf-8"))
TEXTS = [
    *CASE["texts"],
    "</script><script>window.hit=1</script>",
    "tea costs $5, cake $9_50 and $x^2$ or $$y$$ or \\(z\\)",
    "a\x00b\x08c\u202ed\u2028e",
]
TYPED = [visible(text) for text in TEXTS]

SETUP = f"""
{IMPORTS}
import json
from datetime import UTC, datetime
TEXTS = json.loads({json.dumps(json.dumps(TEXTS))})
items = [{{"id": f"id {{text}}", "content": f"cane {{text}}", "metadata": {{f"key {{text}}": f"value {{text}}"}}}}
         for text in TEXTS]

class Down(TestMemoryStore):
    async def search(self, *args):
        raise RuntimeError(TEXTS[1])

stores = [TestMemoryStore.from_records(items, name=TEXTS[0]), TestMemoryStore(name=TEXTS[2], persist=False),
          Down(name=TEXTS[6], persist=False)]
messages = [{{"role": "user", "content": [{{"text": text}} for text in TEXTS]}},
            {{"role": "assistant", "content": [
                {{"toolUse": {{"toolUseId": "1", "name": TEXTS[0], "input": {{"x": text}}}}}} for text in TEXTS]}},
            {{"role": "user", "content": [{{"toolResult": {{"toolUseId": "1", "content": [{{"text": TEXTS[1]}}]}}}}]}},
            {{"role": "assistant", "content": [{{"text": " ".join(TEXTS)}}]}},
            {{"role": "user", "content": [{{"text": "cane " + " ".join(TEXTS)}}]}}]
"""

ADDED = """(root) => {
    const odd = 'script, img, svg, style, b, a, bl, iframe, mjx-container, .MathJax, .MathJax_Preview';
    return [window.hit, ...[...root.querySelectorAll(odd)].map((each) => each.outerHTML)];
}"""


def words(text):
    """Text as read, whatever the page does with blanks and line breaks."""
    return " ".join(text.split())


def missing(page_text):
    """Which of the texts cannot be read as typed."""
    return [text for text in map(words, TYPED) if text not in words(page_text)]


def all_titles(bench):
    return "\n".join(bench.root.evaluate("(root) => [...root.querySelectorAll('[title]')].map((each) => each.title)"))


def test_b59_in_every_pane_and_b62_in_none_as_mathematics(notebook):
    opened = notebook(SETUP, "wb = Workbench(stores, messages, injection={'max_entries': 50})\nawait wb")
    wb = Bench(opened, 1)
    before = opened.page.evaluate("document.body.children.length")

    assert missing(wb.hits.inner_text()) == []
    assert TYPED[0] in wb.hits.inner_text()  # the store's name
    assert words(TYPED[1]) in words(wb.hits.inner_text())  # what the failing store raised
    assert wb.talk.locator("details").count() == len(TEXTS) + 2
    for details in wb.talk.locator("details").all():
        details.evaluate("(each) => { each.open = true; }")
    assert missing(wb.talk.inner_text()) == []

    wb.tab("Model input")
    assert missing(wb.low.inner_text()) == []
    wb.tab("Block")
    escaped = [text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for text in TYPED]
    assert [text for text in map(words, escaped) if text not in words(wb.low.inner_text())] == []
    wb.tab("Entries")
    wb.wait_for_status(f"{len(TEXTS)} entries")
    shown = "\n".join(wb.table.locator("[role=gridcell]").all_text_contents())
    assert missing(shown) == []
    assert [text for text in TYPED if words(f"id {text}") not in words(shown)] == []
    wb.low.get_by_role("button", name="Columns").click()
    wb.low.get_by_role("group", name="Columns").locator("label").nth(5).click()
    wb.table.get_by_role("columnheader").nth(4).wait_for()
    wb.page.keyboard.press("Escape")

    wb.button("Why").click()
    wb.top.get_by_role("dialog").wait_for()
    assert words(TYPED[6]) in words(wb.top.inner_text())
    wb.button("Why").click()

    titles = all_titles(wb)
    assert TYPED[0] in titles
    for text in TEXTS[:6]:
        find = wb.hits.get_by_label("find entry")
        wb.do(lambda find=find, text=text: find.fill(text))
        assert find.input_value() == visible(text)
        assert words(visible(text))[:40] in words(wb.verdict.inner_text())
    wb.tab("Entries")
    wb.low.get_by_label("filter").fill(TEXTS[0])
    wb.wait_for_status("1 entry matches")

    assert wb.root.evaluate(ADDED) == [None]
    assert opened.page.evaluate("document.body.children.length") == before
    assert wb.root.is_visible()


def test_b59_in_the_editor_and_in_what_callbacks_print_and_raise(notebook):
    opened = notebook(SETUP, "wb = Workbench(stores, messages)\nawait wb")
    wb = Bench(opened, 1)
    wb.edit("query")

    for text in TEXTS:
        source = f"def query(context):\n    print({text!r})\n    raise ValueError({text!r})"
        assert words(visible(text))[:30] in words(wb.do(lambda source=source: wb.type(source)))
        assert words(visible(text)) in words(wb.mistake.inner_text())
    wb.type("def query(context):\n    <img src=x onerror=window.hit=1>")
    wb.mistake.get_by_text("SyntaxError").wait_for()
    assert "<img src=x onerror=window.hit=1>" in wb.mistake.inner_text()
    assert wb.root.evaluate(ADDED) == [None]


def test_b59_in_the_html_of_traces_explanations_and_frames(notebook):
    opened = notebook(
        SETUP,
        "wb = Workbench(stores[0], messages, injection={'max_entries': 50})\n_ = await wb",
        "wb.trace",
        "await wb.why(TEXTS[0])",
        "wb.hits",
        "wb.entries.frame",
    )

    for cell in (2, 4, 5):
        shown = opened.output(cell).inner_text()
        plain = [text for text in TYPED if "$" not in text and "\\" not in text]
        assert [text for text in map(words, plain) if text not in words(shown)] == [], cell
    assert words(TYPED[0]) in words(opened.output(3).inner_text())
    for cell in (2, 3):
        assert opened.output(cell).locator(".jp-OutputArea-output").evaluate(ADDED) == [None]
    assert missing(opened.output(2).inner_text()) == []
    assert opened.page.evaluate("window.hit") is None
