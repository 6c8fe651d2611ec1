"""The workbench in a notebook: what a person types in a cell and what they see below it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import ipywidgets

from ..memory import Explanation, InjectionTrace, MemoryInjectionConfig, Suggestion
from ..workbench.limit import TIME_LIMIT
from ..workbench.state import Unset, WorkbenchState
from . import panes
from .actions import PageActions
from .chat import Chat
from .controls import Controls
from .drawing import Drawing
from .entries import EntriesTable
from .entry_actions import EntryActions
from .hits import HitsTable
from .opening import Panels
from .panel import close_inside
from .view import TreeView

if TYPE_CHECKING:
    import pandas

    from .._options import Redact
    from ..bridge.strands import Recording
    from ..evaluation import Case, CaseFolder
    from ..workbench.block import Block
    from ..workbench.caching import CacheView
    from ..workbench.conversation import Conversation
    from ..workbench.entries import EntriesState
    from ..workbench.export import Export
    from ..workbench.lint import Findings
    from ..workbench.probe import Probe

_Callback = TypeVar("_Callback", bound=Callable[[Any], Any])
_Result = TypeVar("_Result")


class Workbench(Panels, PageActions, EntryActions, ipywidgets.VBox):
    """See which memories reach a model's prompt, why the others do not, and change it live.

    Args:
        source: A Strands Agent or MemoryManager, a memwb MemoryManager, a store or a list of stores, the path of a
            TestMemoryStore file or of a database of memories, a store of sessions or the path of its folder or
            database, the folder of a snapshot, a DataFrame with a column ``content``, a list of texts; None opens the
            demo.
        messages: Message dicts, a text (one user message), or a list of texts that take turns, the last one the
            user's. Default: the source's own. The workbench opens at the last model call.
        injection: True, False or a MemoryInjectionConfig. Default: as the source has it.
        expected: Ids or texts of entries that should arrive at this call; the verdict is about them.
        time_limit: Seconds that a callback may take.
        editable: Whether stored entries may be changed here: staged, shown as a difference, written at once or not at
            all, and undone; see ``help(wb.entries)``.
        token_counter: Counts the tokens that are shown, such as ``memwb.tokens.bpe()``; default an estimate.

    ``await wb`` settles and returns it, so that a cell shows it finished.

    Raises:
        ConfigError: The source, a message or a setting cannot be taken.
    """

    _closed = True  # until it is made: ipywidgets closes a widget whose __init__ failed, too

    def __init__(
        self,
        source: Any = None,
        messages: Any = None,
        *,
        injection: Any = Unset,
        expected: Sequence[str] = (),
        time_limit: float = TIME_LIMIT,
        editable: bool = False,
        token_counter: Any = None,
    ) -> None:
        self.state = WorkbenchState(
            source,
            messages,
            injection=injection,
            expected=expected,
            time_limit=time_limit,
            editable=editable,
            token_counter=token_counter,
        )
        self._tab, self._why_open, self._closed = "block", False, False
        self._top, self._high, self._low = (TreeView(self._act) for _ in range(3))
        self._chat = Chat(self.state)
        self._talk = self._chat.view
        self._controls = Controls(self.state)
        left = ipywidgets.VBox([self._talk, *self._controls.widgets])
        self._opened = panes.Opened()
        self._entries = EntriesTable(self.state, self._draw, self._act)
        self._lower = ipywidgets.VBox([self._low, self._entries.grid])
        self._hits = HitsTable(self.state, self._draw)
        self._upper = ipywidgets.VBox([self._high, self._hits.grid])
        right = ipywidgets.VBox([self._upper, self._lower])
        body = ipywidgets.HBox([left, right])
        for widget, name in (
            (self._top, "top"),
            (self._talk, "talk"),
            (self._upper, "hits"),
            (self._lower, "low"),
            (left, "left"),
            (right, "right"),
            (body, "body"),
        ):
            widget.add_class(f"memwb-{name}")
        super().__init__([self._top, body])
        self.add_class("memwb-bench")
        self._drawing = Drawing(self._draw, lambda: self.state.pending)
        self._detach = self.state.subscribe(self._drawing)
        self._drawing.now()

    # -- in a cell ----------------------------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Workbench]:
        yield from self.state.settled().__await__()
        self._drawing.flush()
        return self

    async def set(self, **changes: Any) -> InjectionTrace:
        """Change settings and return the fresh trace.

        Args:
            **changes: max_entries, trigger, query, format, placement, stores (names, in order), tokenizer ("words",
                "any script", "without stop words" or a function: in this workbench alone, for stores that take one),
                token_counter (see memwb.tokens), call (from 1), messages, state (a dict, what trigger predicates see
                of an agent). None brings back a setting's default, all stores, and the source's own messages and state.

        Raises:
            ConfigError: An unknown setting or value; nothing was changed.
        """
        return await self._drawn(self.state.set(**changes))

    async def edit(self, name: str, source: str) -> InjectionTrace:
        """Put the source of a callback in force, as its editor does, and return the fresh trace.

        Raises:
            ConfigError: There is no callback of this name, or the source has a mistake, which is told with its line;
                the callback before it stays in force.
        """
        return await self._drawn(self.state.edit(name, source))

    async def choose(self, name: str, choice: str) -> InjectionTrace:
        """Put a ready callback in force by its name, or write a filter into the format, as the choice on the page does.

        Args:
            name: ``query``, ``format`` or ``trigger``.
            choice: Such as ``"last two messages"``, ``"bullet list"``, ``"filter: no duplicates"`` or
                ``"the default"``; except for filters, ``set(query=memwb.callbacks.last_two_messages)`` does the same.

        Raises:
            ConfigError: There is no such choice, or the text cannot take the filter; nothing was changed.
        """
        return await self._drawn(self.state.choose(name, choice))

    async def lint(self) -> Findings:
        """Return what is doubtful about the callbacks, each with its line and a fix; nothing is run for it."""
        return await self.state.review.lint()

    async def probe(self) -> Probe:
        """Render hostile entries with the format in force, and return which of them got out of their place."""
        return await self._drawn(self.state.review.probe())

    async def why(self, target: Any) -> Explanation:
        """Explain why an entry (or the entry with this id or text) arrives, or why not, and what would bring it in."""
        return await self.state.why(target)

    async def find(self, target: str) -> Explanation | None:
        """Make the verdict about the entry that has this id or holds this text; "" for none."""
        return await self._drawn(self.state.find(target))

    async def apply(self, suggestion: Suggestion) -> InjectionTrace:
        """Make the change that :meth:`why` or the verdict suggests, and return the fresh trace.

        Whatever it changes, ``(await wb.why(...)).suggestions[0]`` can be given as it is; the Try button does the same.
        What the user would have to say goes into the conversation shown here, where it can be taken back. A change of
        the entry is staged, for which the workbench has to be ``editable``: ``await wb.entries.write()`` writes it.

        Raises:
            ConfigError: It is no suggestion, or does not fit here; nothing was changed.
        """
        return await self._drawn(self.state.take(suggestion))

    async def cache(self) -> CacheView:
        """Return how much of this call's input a prompt cache keeps of the call before, for both placements."""
        return await self.state.cache()

    async def say(self, text: str) -> InjectionTrace:
        """Add a message of the user at the end of the conversation and open the model call that answers it."""
        self.state.say(text)
        await self
        return self.trace

    async def switch(self, source: Any) -> InjectionTrace:
        """Open another source; conversation and settings stay."""
        self.state.switch(source)
        await self
        return self.trace

    async def _drawn(self, changing: Awaitable[_Result]) -> _Result:
        """Wait for a change, and return what it gives when the page shows it."""
        result = await changing
        self._drawing.flush()
        return result

    def attach(self, agent: Any) -> Recording:
        """Record each model call of a live Strands agent from now on, and open it here as it is made.

        The agent goes on as without it. An agent with the SDK's own MemoryManager is recorded too: its stores are then
        asked once more at each call, so that its input can be compared. What differs is said above the panes.
        A workbench listens to one agent: attaching again ends the recording before, whose repr says so.

        Returns:
            The calls so far: ``before`` and ``after`` the injection, ``trace``, and ``difference``, empty where the
            model got what the trace shows. ``detach()`` ends it.

        Raises:
            ConfigError: The agent has no memory, or it is no Strands Agent.
        """
        return self.state.live.attach(agent)

    async def open_call(self, call: int) -> InjectionTrace:
        """Open a recorded call of the attached agent, from 1, and return its trace under the settings here."""
        return await self.state.live.open(call)

    def case(
        self,
        id: str,
        expected: Iterable[Any] | None = None,
        *,
        owner: str | None = None,
        category: str | None = None,
    ) -> Case:
        """Return the conversation before the open call as a labelled case for :func:`memwb.evaluate`.

        ``memwb.evaluation.save_cases`` keeps such cases in a file.

        Args:
            id: The case's name.
            expected: What the call should bring: hits, entries, records, ids or texts; ``[]`` for a call that needs no
                memory. Default: what the workbench expects at this call.
            owner: Whose memories are searched.
            category: What kind of case it is.
        """
        return self.state.case(id, expected, owner=owner, category=category)

    async def save_cases(
        self, folder: str | os.PathLike[str], cases: Iterable[Case], *, replace: bool = False, redact: Redact = None
    ) -> CaseFolder:
        """Write labelled cases, the stores and the settings as they stand as a folder that ``memwb eval`` guards.

        Args:
            folder: Where; it must not exist yet, or be empty, or be a case folder that is to be replaced.
            cases: The cases, as :meth:`case` gives them.
            replace: Whether a case folder that is there gives way to the new one, with its baseline.
            redact: True puts another word in the place of each; see :func:`memwb.evaluation.save_folder`.
        """
        from ..workbench.cases import save_cases

        return await save_cases(self.state, folder, cases, replace=replace, redact=redact)

    def export(self, path: str | os.PathLike[str]) -> Export:
        """Write the settings as a Python module for an agent, and a pytest file that holds the previewed text.

        The module has the settings and the callbacks' source; the test beside it (``test_`` before its name) compares
        what a model gets from the installed strands-agents with what is shown here, byte for byte. Neither needs memwb.
        The test holds the messages of the open call and the memories that it found.

        Args:
            path: Of the module, such as ``"agent_memory.py"``. Folders are made. A file of an earlier export is
                replaced, any other is not.

        Raises:
            ConfigError: A callback uses other names of the notebook, which are named, or has no source; or the path is
                no module's. Nothing is written.
            StaleTraceError: A change waits for its refresh: ``await wb`` first.
        """
        return self.state.export(path)

    def query(self, function: _Callback) -> _Callback:
        """Make a function of a cell the query callback; running the cell again replaces it."""
        self.state.put(query=function)
        return function

    def format(self, function: _Callback) -> _Callback:
        """Make a function of a cell the format callback; running the cell again replaces it."""
        self.state.put(format=function)
        return function

    def trigger(self, function: _Callback) -> _Callback:
        """Make a function of a cell the trigger predicate; running the cell again replaces it."""
        self.state.put(trigger=function)
        return function

    @property
    def trace(self) -> InjectionTrace:
        """The trace of the settings as they stand; StaleTraceError while a change waits for its refresh."""
        return self.state.trace

    @property
    def injection(self) -> MemoryInjectionConfig | bool:
        """The settings as they stand, for ``MemoryManager(stores, injection=...)``, memwb's or that of the Strands SDK.

        The SDK knows no ``placement``: up to 1.53 it prepends the block, from 1.54 on it appends it. A workbench that
        was opened on an agent or a manager of the SDK shows what the installed version does.
        """
        return self.state.injection

    @property
    def block(self) -> Block:
        """What can be said of the form of the block: well-formed or not, where, and hidden characters in it."""
        self.state.trace  # noqa: B018  (a pending change raises)
        assert self.state.preview is not None
        return self.state.preview.block

    @property
    def hits(self) -> pandas.DataFrame:
        """The hits as a DataFrame, below the cut too: store, rank, score, id, content, matched, kept, cut_by."""
        from ..frames import hits_frame

        return hits_frame(self.state.hits)

    @property
    def conversation(self) -> Conversation:
        """The messages to be edited: ``await wb.conversation.add(text)``, ``edit``, ``delete``, ``paste``, ``undo``."""
        return self.state.conversation

    @property
    def entries(self) -> EntriesState:
        """Stored entries: ``frame`` as filtered, ``selected``, ``stage(...)``, ``diff()``, ``write()``, ``undo()``."""
        return self.state.entries

    def __repr__(self) -> str:
        return repr(self.state)

    def close(self) -> None:
        """Close the widget and everything that it made."""
        if not self._closed:
            self._closed = True
            self._detach()
            self._drawing.cancel()
            self.state.close()
            close_inside(self)
        super().close()

    # -- on the page --------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        state = self.state
        # First what the model gets: Jupyter's server sends one message at once, and those after it some 30 ms later.
        self._low.show(panes.lower(state, self._tab, self._opened))
        self._chat.draw()
        self._high.show(panes.hits(state, self._hits.grid.sort))
        _mark(self._upper, "memwb-listed", state.preview is not None and bool(state.preview.hits))
        self._hits.draw()
        listed = self._tab == "entries" and panes.listed(state, self._opened)
        _mark(self._lower, "memwb-listed", listed)
        self._entries.draw(listed)
        self._controls.draw()
        # Last, since it holds the revision: who sees that on the page sees all of its result.
        self._top.show(panes.top(state, why_open=self._why_open))


def _mark(widget: ipywidgets.Widget, name: str, holds: bool) -> None:
    (widget.add_class if holds else widget.remove_class)(name)
