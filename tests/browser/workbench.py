"""What a person does with a workbench on the page, and when its answer is there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.lab import Notebook

IMPORTS = """
import memwb
from memwb import TestMemoryStore, Workbench, datasets

ABOUT_ME = ["I am allergic to latex.", "I want to learn more about the world of art.",
            "I have moderate mobility issues and use a cane.", "I like jazz."]
profile = TestMemoryStore.from_records(ABOUT_ME, name="profile")
"""

SETTLED = """([revision, top]) => {
    const shown = top.querySelector('[data-revision]');
    return shown && Number(shown.dataset.revision) > revision && !shown.classList.contains('memwb-pending');
}"""


HIT_ROWS = """(pane) => {
    const cut = pane.querySelector('.mwg-cut:not([hidden])');
    const rows = [...pane.querySelectorAll('.mwg-rows [role=row]')].map((row) =>
        [row.getBoundingClientRect().top, row.querySelector('[aria-colindex="3"]').textContent]);
    if (cut) rows.push([cut.getBoundingClientRect().top, cut.textContent]);
    return rows.sort((one, other) => one[0] - other[0]).map(([, text]) => text.trim());
}"""


class Bench:
    """One workbench that a cell shows.

    Attributes:
        root: All of it.
        verdict: The sentence on top.
        code: The box in which a callback is typed.
    """

    def __init__(self, notebook: Notebook, cell: int) -> None:
        self.notebook, self.page = notebook, notebook.page
        self.root = notebook.output(cell).locator(".memwb-bench")
        self.top, self.talk = self.root.locator(".memwb-top"), self.root.locator(".memwb-talk")
        self.hits, self.low = self.root.locator(".memwb-hits"), self.root.locator(".memwb-low")
        self.verdict = self.top.locator(".memwb-sentence")
        self.cut = self.hits.get_by_role("slider")
        self.code = self.root.locator(".mwc .cm-content")
        self.mistake = self.root.locator(".memwb-mistake")
        self.top.locator("[data-revision]").wait_for()

    @property
    def revision(self) -> int:
        """How many refreshes are complete."""
        return int(self.top.locator("[data-revision]").get_attribute("data-revision") or 0)

    @contextmanager
    def refreshed(self):
        """Wait, after what is done inside, until the refresh that it asks for is complete."""
        before = self.revision
        yield
        self.page.wait_for_function(SETTLED, arg=[before, self.top.element_handle()])

    def do(self, action: Callable[[], object]) -> str:
        """Do something that asks for a refresh, and return the verdict that follows."""
        with self.refreshed():
            action()
        return self.verdict.inner_text()

    def button(self, name: str) -> Locator:
        """A button by its whole name."""
        return self.root.get_by_role("button", name=name, exact=True)

    def tab(self, name: str) -> None:
        """Open a tab of the lower pane."""
        self.low.get_by_role("tab", name=name).click()
        self.low.locator(f'[role=tab][aria-selected=true]:has-text("{name}")').wait_for()

    def edit(self, name: str) -> None:
        """Open the editor of a callback, and wait until it has the keyboard."""
        self.root.locator(".memwb-open").get_by_text(f"edit {name}").click()
        self.root.get_by_role("textbox", name=f"{name} callback").wait_for()
        self.page.wait_for_function(  # the keyboard comes a message later than the text
            "(code) => code.contains(document.activeElement)", arg=self.code.element_handle()
        )

    def type(self, source: str) -> None:
        """Put a whole text into the editor, at once."""
        self.code.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)

    def text(self) -> str:
        """The text in the editor, as far as it is drawn."""
        return "\n".join(self.code.locator(".cm-line").all_text_contents())

    def wait_for_text(self, text: str) -> None:
        """Wait until this is the text in the editor."""
        self.page.wait_for_function(
            "([code, text]) => [...code.querySelectorAll('.cm-line')].map((e) => e.textContent).join('\\n') === text",
            arg=[self.code.element_handle(), text],
        )

    @property
    def table(self) -> Locator:
        """The table of entries."""
        return self.low.get_by_role("grid", name="Entries")

    def entries(self) -> list[str]:
        """The contents of the entries that are listed."""
        return self.table.locator("[role=row] > [role=gridcell]:first-child").all_text_contents()

    def wait_for_status(self, text: str) -> None:
        """Wait until the table of entries says this of itself."""
        self.low.locator(".mwg-status").get_by_text(text, exact=True).wait_for()

    def block(self) -> str:
        """The block as it is shown."""
        return "\n".join(self.low.locator(".memwb-line pre").all_inner_texts())

    def rows(self) -> list[str]:
        """The contents of the hits, the line that cuts them among them, from top to bottom."""
        return self.hits.evaluate(HIT_ROWS)

    def hit(self, text: str) -> Locator:
        """The row of the hit that holds this text."""
        return self.hits.locator(".mwg-rows [role=row]", has_text=text)

    def chosen(self) -> list[str]:
        """The ranks of the hits that are chosen: the one that the verdict is about."""
        return self.hits.locator("[role=row][aria-selected=true] > :first-child").all_inner_texts()
