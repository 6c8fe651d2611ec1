"""The three callbacks of an injection, as functions from a cell or as text from an editor."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._text import shortened
from ..callbacks import source_of
from ..callbacks.complete import IncompleteError, Problem, check
from ..callbacks.inline import is_memwbs
from ..errors import ConfigError, nearest
from ..memory.settings import CALLBACKS
from .code import TEMPLATES, build, problem_of
from .limit import is_limited

NAMES = CALLBACKS

_PRINTED_LINES = 200
_PRINTED_LENGTH = 500  # characters of one line
_PRINTED_TEXT = 100_000  # characters of one call


class Slot:
    """One callback: the one in force, and the text in its editor, which may be ahead of it.

    Attributes:
        name: ``query``, ``format`` or ``trigger``.
        function: The callback in force, None for the default.
        source: The editor's text.
        problem: The mistake in the text, or the last failure of the callback in force.
        ahead: Whether the text is newer than the callback in force.
        printed: What the text printed when it was put in force and the callback when it ran last, a line an item. A
            function from a cell prints where its notebook shows what threads print: its namespace is the notebook's,
            which a ``print`` of memwb's own would change for every other cell.
        differed: Whether the callback in force gave two results for the same context.
        version: Grows when the text changes by anything but typing, so that an editor knows when to show it anew.
    """

    def __init__(self, name: str, function: Callable[[Any], Any] | None = None) -> None:
        self.name = name
        self.printed: list[str] = []
        self.differed = False
        self.version = 0
        self._ran: tuple[Any, Any, Any] = (None, None, None)  # the function that ran last, its context, its result
        self._undo: list[str] = []
        self._refused: str | None = None  # a text that did not run: not run again until it is changed
        self._printed_first = 0  # lines printed while the text was put in force
        self._listening = False
        self._base: dict[str, Any] = {}
        self._first_line = 1
        self._filename = ""
        self.function: Callable[[Any], Any] | None = None
        self.source = TEMPLATES[name]
        self.problem: Problem | None = None
        self.ahead = False
        if function is not None:
            self.use(function)

    def use(self, function: Callable[[Any], Any] | None) -> None:
        """Put a function in force and show its source; the text that was there stays reachable by :meth:`undo`."""
        source = TEMPLATES[self.name] if function is None else source_of(function)
        self._replace_text(
            source if source is not None else f"# {self.name} is {_called(function)}; its source is not to be had\n"
        )
        self.function, self.problem, self.ahead = function, None, False
        # The names that its module has when the text is put in force, not those of today; memwb's own need none.
        alone = source is None or function is None or is_memwbs(function)
        self._base = {} if alone else getattr(function, "__globals__", {})
        self._first_line, self._filename = _place(function)

    def type(self, source: str) -> None:
        """Take the editor's text as it is typed; it is checked, and never run here."""
        if source != self.source:
            self.give(source)

    def give(self, source: str) -> None:
        """Take a text as :meth:`type` does; one that is there already is tried again."""
        self.source, self.ahead, self._refused = source, True, None
        self.problem = self._mistake()

    def write(self, source: str) -> None:
        """Put a text into the editor for the person, to be tried; the one that was there stays reachable by undo."""
        self._replace_text(source)
        self.give(source)

    @property
    def known(self) -> frozenset[str]:
        """The names of the notebook or of a module that the text may use."""
        return frozenset(self._base)

    @property
    def ready(self) -> bool:
        """Whether the text is ahead and complete, so that it can be put in force; one that did not run is not."""
        return self.ahead and self.source != self._refused and self._mistake() is None

    async def apply(self, seconds: float) -> bool:
        """Put the editor's text in force if it is complete; return whether it is.

        Blank text stands for the default. The callback in force stays when the text does not run.
        """
        source, version = self.source, self.version
        self.printed.clear()
        self._printed_first = 0
        if not source.strip():
            self.function, self.problem, self.ahead = None, None, False
            return True
        try:
            self._listening = True
            function = await build(self.name, source, {**self._base, "print": _printer(self)}, seconds)
        except IncompleteError as error:
            if (self.source, self.version) == (source, version):
                self.problem, self._refused = error.problem, source
            return False
        finally:
            self._listening, self._printed_first = False, len(self.printed)
        if self.version != version:
            return False  # a function from a cell came meanwhile, and it wins
        if self.source == source:
            self.problem, self.ahead = None, False
        self.function = function
        self._first_line, self._filename = 1, getattr(getattr(function, "__code__", None), "co_filename", "")
        return True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Log what the callback prints in this run in place of what it printed in the one before."""
        del self.printed[self._printed_first :]
        self._listening = True
        try:
            yield
        finally:
            self._listening = False

    @property
    def replaced(self) -> int:
        """How many texts were replaced by functions from cells, and can be brought back."""
        return len(self._undo)

    def undo(self) -> bool:
        """Bring back the text that was there before a function from a cell replaced it; it is not run yet."""
        if not self._undo:
            return False
        self.type(self._undo.pop())
        self.version += 1
        return True

    def failed(self, error: BaseException) -> None:
        """Show why the callback in force failed, at its line of the editor's text."""
        if self.ahead and self.problem:
            return  # the mistake in the newer text is the one to mend first
        found = problem_of(error, self._filename)
        line = None if found.line is None else found.line - self._first_line + 1
        self.problem = Problem(found.message, line, found.text)

    def gave(self, context: Any, result: Any) -> None:
        """Note what the callback in force gave for a context, to see whether it does so again."""
        function, before, same = self._ran
        self.differed = function is self.function and (self.differed or (before == context and same != result))
        self._ran = self.function, context, result

    def worked(self) -> None:
        """Forget an earlier failure of the callback in force."""
        if not self.ahead:
            self.problem = None

    def _mistake(self) -> Problem | None:
        if not self.source.strip():
            return None
        try:
            check(self.name, self.source, self.known)
        except IncompleteError as error:
            return error.problem
        return None

    def _replace_text(self, source: str) -> None:
        if self.ahead or self.source not in (source, TEMPLATES[self.name]):
            self._undo.append(self.source)
        self.source = source
        self.version += 1

    def log(self, text: str) -> None:
        """Keep what a callback printed, unless this run only tries something out."""
        if self._listening:
            self.printed.extend(shortened(line, _PRINTED_LENGTH) for line in text[:_PRINTED_TEXT].splitlines())
            del self.printed[:-_PRINTED_LINES]


def check_source(name: Any, source: Any) -> None:
    """Check what is to be put in force as a callback.

    Raises:
        ConfigError: There is no callback of this name, or its source is no text.
    """
    if name not in NAMES:
        raise ConfigError(
            f"Workbench: there is no callback {shortened(repr(name), 60)}; there are {', '.join(NAMES)}."
            f"{nearest(name, NAMES)}",
            key="name",
            value=name,
            allowed=NAMES,
        )
    if not isinstance(source, str):
        raise ConfigError(
            f"Workbench: the source of {name} must be a text, not {shortened(repr(source), 60)}; '' is the default, "
            f"and a function is put in force by `wb.set({name}=...)`.",
            key=name,
            value=source,
        )


def refuse_mistake(slot: Slot, source: str) -> None:
    """Raise ConfigError where a text that was to be put in force is not, because of a mistake in it."""
    if slot.ahead and slot.source == source and slot.problem is not None:
        raise ConfigError(
            f"Workbench: this source cannot be the {slot.name} callback: {slot.problem}. The one before it stays in "
            "force.",
            key=slot.name,
            value=source,
        )


def _printer(slot: Slot) -> Callable[..., None]:
    """Return the ``print`` of a callback: it logs in the workbench, and prints wherever else the callback is used."""
    held = weakref.ref(slot)

    def print_(
        *values: Any, sep: str | None = None, end: str | None = None, file: Any = None, flush: bool = False
    ) -> None:
        if file is not None or not is_limited():
            print(*values, sep=sep, end=end, file=file, flush=flush)
        elif (logging := held()) is not None:
            logging.log((" " if sep is None else sep).join(map(str, values)) + ("\n" if end is None else end))

    return print_


def _called(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _place(function: Callable[..., Any] | None) -> tuple[int, str]:
    """Return where a function's ``def`` stands: its line and the file that tracebacks name."""
    code = getattr(function, "__code__", None)
    if code is None:
        return 1, ""
    try:
        lines, start = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return code.co_firstlineno, code.co_filename
    before = next((at for at, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return max(start, 1) + before, code.co_filename
