"""An editor for short Python code: CodeMirror, with completion, marks at lines, and several documents in one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anywidget
import ipywidgets
import traitlets

from ..errors import ConfigError, nearest
from .completions import Completion
from .view import STATIC

if TYPE_CHECKING:
    from ..workbench import Problem
    from ..workbench.lint import Finding

PAUSE = 0.25
"""Seconds without a keystroke after which the editor tells the kernel what was typed."""

OnChange = Callable[[str, str], Any]


@dataclass(frozen=True)
class _Text:
    """What a document holds: its text, the version that the kernel put in, and how often it was edited since."""

    text: str = ""
    version: int = 1
    edit: int = 0


class CodeEditor(anywidget.AnyWidget):
    """Edits one document at a time out of several; each keeps its own undo history.

    A person's text reaches ``on_change`` after a pause, and at once with Ctrl or Cmd + Enter, on leaving the editor
    and before another document opens. A text that :meth:`put` brings replaces what is there, and undo brings that
    back; what a person types on top of an older version is then dropped. Nothing else changes the text on the page.

    The editor holds its documents' texts, it runs none of them. The page shows it 240 px high unless ``layout.height``
    says otherwise; it scrolls inside.

    Args:
        value: The text of the document that is open first.
        on_change: Called as ``on_change(document, text)`` with every text from the page, in the thread in which the
            message came: it should only hand the text on to the notebook's loop.
        on_apply: Called as ``on_apply(document, text)`` for Ctrl or Cmd + Enter, after ``on_change``.
        document: The name of the document that is open first.
        pause: Seconds without a keystroke before a text is sent.

    Attributes:
        document: The name of the document that is open.
    """

    # As texts: anywidget watches a path for changes, and so would keep every widget that was ever made alive.
    _esm = (STATIC / "editor.js").read_text("utf-8")
    _css = (STATIC / "editor.css").read_text("utf-8")
    document = traitlets.Unicode(read_only=True).tag(sync=True)
    pause = traitlets.Float(PAUSE, read_only=True).tag(sync=True)
    documents = traitlets.Dict(read_only=True).tag(sync=True)  # name -> {text, version}, written here alone
    typed = traitlets.Dict().tag(sync=True, echo_update=False)  # name -> {text, version, edit}, written by the page
    marks = traitlets.Dict(read_only=True).tag(sync=True)  # name -> {version, edit, problems}
    labels = traitlets.Dict(read_only=True).tag(sync=True)  # name -> what a screen reader calls it
    completions = traitlets.Dict(read_only=True).tag(sync=True)  # name -> rows of Completion
    takes = traitlets.Int(read_only=True).tag(sync=True)  # how often it was given the keyboard

    def __init__(
        self,
        value: str = "",
        on_change: OnChange | None = None,
        *,
        on_apply: OnChange | None = None,
        document: str = "code",
        pause: float = PAUSE,
    ) -> None:
        self._on_change, self._on_apply = on_change, on_apply
        self._texts = {document: _Text(value)}
        self.set_trait("pause", pause)  # before the page hears of the widget, so that it does once
        self.set_trait("document", document)
        self._publish()
        super().__init__(layout=ipywidgets.Layout(height="240px"))
        self.observe(self._typed, "typed")
        self.on_msg(self._received)
        self.add_class("memwb-code-editor")

    # -- texts --------------------------------------------------------------------------------------------------

    @property
    def value(self) -> str:
        """The text of the open document, as far as the page has told it. Setting it is :meth:`put`."""
        return self._texts[self.document].text

    @value.setter
    def value(self, text: str) -> None:
        self.put(text)

    def text(self, document: str | None = None) -> str:
        """Return the text of a document, by default of the open one.

        Raises:
            ConfigError: There is no document of that name.
        """
        return self._texts[self._known(document)].text

    def put(self, text: str, document: str | None = None) -> None:
        """Replace a document's text, by default the open one's; a new name makes a document.

        On the page undo brings back what was there. A text that the document holds already changes nothing.
        """
        name = self.document if document is None else document
        old = self._texts.get(name)
        if old is None:
            self._texts[name] = _Text(text)
        elif old.text != text:
            self._texts[name] = _Text(text, old.version + 1)
            if self.marks.get(name):
                self.mark((), name)
        self._publish()

    def switch(self, document: str, *, focus: bool = False) -> None:
        """Show another document; cursor, scroll position and undo history of each are kept on the page.

        Args:
            document: Its name.
            focus: Whether the editor takes the keyboard.

        Raises:
            ConfigError: There is no document of that name.
        """
        self.set_trait("document", self._known(document))
        if focus:
            self.focus()

    def focus(self) -> None:
        """Give the editor the keyboard; in a workbench where the keyboard is in another part of it.

        An editor that is shown in a workbench for the first time gets it as soon as it is there.
        """
        self.set_trait("takes", self.takes + 1)

    # -- what is shown with them --------------------------------------------------------------------------------

    def mark(self, problems: Iterable[Problem | Finding | Mapping[str, Any]], document: str | None = None) -> None:
        """Mark lines of a document: a sign in the margin and a wavy line, with the message in a tool tip.

        The marks are those of the text as the kernel knows it; a page on which more was typed meanwhile waits for newer
        ones. They replace the document's earlier marks.

        Args:
            problems: What has ``line`` (from 1) and ``message``, as attributes or keys; ``severity`` may be
                ``error`` (the default), ``warning`` or ``info``. Problems without a line are left out.
            document: Its name; by default the open one's.
        """
        name = self._known(document)
        held = self._texts[name]
        rows = [row for row in map(_row, problems) if row["line"]]
        self._set("marks", name, {"version": held.version, "edit": held.edit, "problems": rows})

    def label(self, label: str, document: str | None = None) -> None:
        """Say what a screen reader calls a document, by default the open one."""
        self._set("labels", self._known(document), label)

    def complete(self, completions: Sequence[Completion], document: str | None = None) -> None:
        """Say what the editor offers in a document, by default in the open one.

        Attributes and keys are offered as soon as ``.`` or ``["`` is typed behind what has them; names, with Python's
        own and those of the code, on Ctrl + Space.
        """
        rows = [[c.owner, c.name, c.kind, c.doc, c.of, c.each] for c in completions]
        self._set("completions", self._known(document), rows)

    # -- from the page ------------------------------------------------------------------------------------------

    def _typed(self, change: dict[str, Any]) -> None:
        for name, typed in change["new"].items():
            self._take(name, typed)

    def _received(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if not isinstance(message, dict) or message.get("do") != "apply":
            return
        name = str(message.get("document"))
        self._take(name, message)
        held = self._texts.get(name)
        if held is not None and held.version == message.get("version") and self._on_apply is not None:
            self._on_apply(name, held.text)

    def _take(self, name: str, typed: Any) -> None:
        """Keep what was typed if it is news about the present version."""
        held = self._texts.get(name)
        if held is None or not isinstance(typed, dict) or not isinstance(typed.get("text"), str):
            return
        version, edit = typed.get("version"), typed.get("edit")
        if version != held.version or not isinstance(edit, int) or edit <= held.edit:
            return
        self._texts[name] = _Text(typed["text"], held.version, edit)
        if self._on_change is not None:
            self._on_change(name, typed["text"])

    # -- inside -------------------------------------------------------------------------------------------------

    def _known(self, document: str | None) -> str:
        name: str = self.document if document is None else document
        if name not in self._texts:
            known = tuple(self._texts)
            raise ConfigError(
                f"CodeEditor: no document {name!r}; it holds {', '.join(known)}.{nearest(name, known)}",
                key="document",
                value=name,
                allowed=known,
            )
        return name

    def _publish(self) -> None:
        """Send the texts that were put in. A typed one stays the page's: sent back, it could only be older there."""
        sent: dict[str, Any] = {}
        for name, held in self._texts.items():
            before = self.documents.get(name)
            unchanged = before is not None and before["version"] == held.version
            sent[name] = before if unchanged else {"text": held.text, "version": held.version}
        self.set_trait("documents", sent)

    def _set(self, trait: str, name: str, value: Any) -> None:
        self.set_trait(trait, {**getattr(self, trait), name: value})

    def close(self) -> None:
        """Close the editor with its layout."""
        super().close()
        if isinstance(self.layout, ipywidgets.Widget):
            self.layout.close()

    def __repr__(self) -> str:
        lines = len(self.value.splitlines())
        return f"CodeEditor({self.document!r}, {lines} {'line' if lines == 1 else 'lines'})"


def _row(problem: Any) -> dict[str, Any]:
    if isinstance(problem, Mapping):
        line, message, severity = problem.get("line"), problem.get("message", ""), problem.get("severity")
    else:
        line, message, severity = problem.line, problem.message, getattr(problem, "severity", None)
    return {"line": line, "message": str(message), "severity": severity or "error"}
