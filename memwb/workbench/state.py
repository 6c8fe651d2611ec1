"""The workbench without a screen: a source, a conversation, settings, and the preview that follows from them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._redact import masked_words
from .._text import counted, shortened
from ..catalog import Record
from ..errors import StaleTraceError
from ..memory import (
    Explanation,
    Hit,
    InjectionContext,
    InjectionTrace,
    Message,
    Suggestion,
)
from ..memory.injection import Call
from ..memory.messages import model_calls
from ..memory.suggestions import retokenized
from ..memory.wanted import Target
from ..tokens import checked_counter
from .arms import Arms
from .caching import CacheView, Caching
from .checks import check_stores, checked_call, checked_expected, checked_setting, checked_time_limit, resolved
from .conversation import Conversation, Moment
from .editor import NAMES
from .entries import EntriesState
from .explaining import said_at, take
from .limit import TIME_LIMIT, Budget, limited
from .live import LiveState
from .preview import Preview, Question, Stores
from .refresh import PAUSE
from .review import Review
from .settings import SettingsState
from .silence import missing_file
from .source import open_source, read_messages

if TYPE_CHECKING:
    from ..evaluation import Case
    from ..ranking import Tokenizer
    from .export import Export

_REPR_LENGTH = 120  # characters of a reason in a repr; the trace has all of it


class _Unset:
    def __repr__(self) -> str:
        return "<as the source has it>"


Unset: Any = _Unset()
"""Stands for an argument that was left out, where None has a meaning."""


class WorkbenchState(SettingsState):
    """What the workbench shows: drive it with ``await``, read its attributes, listen with :meth:`subscribe`.

    Args:
        source: See :func:`memwb.workbench.source.open_source`; None opens the demo.
        messages: The conversation: dicts, a text, or texts that take turns. Default: the source's own.
        injection: True, False or settings. Default: the source's own.
        expected: Ids or texts of entries that should reach the model at this call.
        time_limit: Seconds that a callback may take.
        token_counter: Counts tokens, see :mod:`memwb.tokens`; default an estimate.
        editable: Whether stored entries may be changed here, see :class:`~memwb.workbench.entries.EntriesState`.

    Raises:
        ConfigError: The source, a message or a setting cannot be taken.
    """

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
        super().__init__()
        self.token_counter = checked_counter(token_counter, "Workbench: ")
        self.source = open_source(source)
        check_stores(self.source)
        self._agent_state: Any = Unset  # as it was set here
        self._take_injection(resolved(self.source, self.source.injection if injection is Unset else injection))
        self.messages: list[Message] = []
        self.call, self.calls = 0, [0]
        self._take_messages(self.source.messages if messages is None else read_messages(messages))
        known = self.source.expected if messages is None else ()
        self._expected = checked_expected(expected) or known
        self._expected_at = self.call
        self._target: str | Hit | Record = ""
        self.time_limit = checked_time_limit(time_limit)
        self.store_names: tuple[str, ...] = tuple(store.name for store in self.source.stores)
        self.entries = self._entries(editable)
        self.tokenizer: Tokenizer | None = None
        self.conversation = Conversation(self)
        self.live = LiveState(self)
        self.review = Review(self, self._publish)
        self.arms = Arms(self, self._publish)
        self.caching = Caching(self)
        self.preview: Preview | None = None
        if self.source.kept is not None:
            self.source.kept.restore(self, settings=injection is Unset, talk=messages is None)
        self.changed()

    # -- reading ------------------------------------------------------------------------------------------------

    @property
    def trace(self) -> InjectionTrace:
        """The trace of the settings as they stand.

        Raises:
            StaleTraceError: A change waits for its refresh.
        """
        return self._fresh().trace

    @property
    def seen(self) -> list[Message]:
        """The messages before the model call that is chosen."""
        return self.messages[: self.calls[self.call - 1]] if self.call else self.messages

    @property
    def expected(self) -> tuple[str, ...]:
        """Ids or texts of the entries that should arrive at the chosen call; empty at every other call."""
        return self._expected if self.call == self._expected_at else ()

    @property
    def agent_state(self) -> Any:
        """What trigger predicates see as the agent's state."""
        return self.source.state if self._agent_state is Unset else self._agent_state

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits of the preview, below the cut too."""
        return self._fresh().hits

    def _fresh(self) -> Preview:
        if self.failure and not self.pending:
            raise StaleTraceError(f"There is no result for these settings, their refresh failed: {self.failure}")
        if self._refresher.closed and self.pending:
            raise StaleTraceError("This workbench was closed: make a new one to see what its settings give now.")
        if self.preview is None or self.pending:
            raise StaleTraceError("The settings changed and their result is not there yet: `await wb` first.")
        return self.preview

    def __repr__(self) -> str:
        stores = counted(len(self.store_names), "store")
        preview = self.preview
        if self.failure and not self.pending:
            return f"Workbench({stores}; the refresh failed: {shortened(self.failure, _REPR_LENGTH)})"
        if preview is None or self.pending:
            return f"Workbench({stores}; not settled: `await wb` first)"
        if preview.entries is not None:
            stores += f", {counted(preview.entries, 'entry', 'entries')}"
        said = masked_words(preview.summary, preview.trace.secrets)
        for file in filter(None, map(missing_file, self.source.stores)):
            said = said.replace(str(file), file.name)  # a repr stands in notebooks, which are the same on any machine
        summary = shortened(said, _REPR_LENGTH)
        return f"Workbench({stores}; {f'call {self.call}: ' if self.call else ''}{summary})"

    # -- changing -----------------------------------------------------------------------------------------------

    async def set(self, **changes: Any) -> InjectionTrace:
        """Change settings and return the fresh trace: that of the settings as they stand when nothing is pending.

        The newest change wins. So calls that wait at the same time all return one trace, with what each of them changed
        unless a later one changed it again.

        Args:
            **changes: max_entries, trigger, query, format, placement, stores (names, in order), tokenizer ("words",
                "any script", "without stop words" or a function: in this workbench alone, for stores that take one),
                token_counter (see memwb.tokens), call (from 1), messages, state (a dict, what trigger predicates see
                of an agent), injection (True, False or all injection settings at once). None brings back what the
                source has: its conversation and last call, all its stores, its agent's state, the default of an
                injection setting.

        Raises:
            ConfigError: An unknown setting or value; nothing was changed.
        """
        self.put(**changes)
        await self.settled()
        return self.trace

    def put(self, pause: float = 0.0, **changes: Any) -> None:
        """Change settings without waiting for the refresh; see :meth:`set`."""
        call = changes.pop("call", Unset)
        checked = {key: checked_setting(self.source, key, value) for key, value in changes.items()}
        ends = model_calls(checked["messages"]) if "messages" in checked else self.calls if self.call else []
        if call is not Unset:
            call = checked_call(call, checked.get("messages", self.messages), ends)
        if "injection" in checked:
            self._take_injection(checked.pop("injection"))
        if "messages" in checked:
            self.conversation.remember()
            self._take_messages(checked.pop("messages"))
            self._expected = self.source.expected if changes["messages"] is None else ()
            self._expected_at = self.call
        self.call = self.call if call is Unset else call
        if "state" in checked:
            given = checked.pop("state")
            self._agent_state = Unset if changes["state"] is None else given
        self.store_names = checked.pop("stores", self.store_names)
        self.tokenizer = checked.pop("tokenizer", self.tokenizer)
        self.token_counter = checked.pop("token_counter", self.token_counter)
        for name in NAMES:
            if name in checked:
                self._put_callback(name, checked.pop(name))
        self._base = replace(self._base, **checked)
        self.changed(pause)

    def _entries(self, editable: bool) -> EntriesState:
        source = self.source
        return EntriesState(source.stores, source.listings, self._publish, self.changed, editable=editable)

    def _take_messages(self, messages: list[Message]) -> None:
        ends = model_calls(messages)
        self.messages, self.calls, self.call = messages, ends or [len(messages)], len(ends)

    @property
    def left_out(self) -> int:
        """How many messages of the conversation come after the chosen call, and so are not shown to the model."""
        return len(self.messages) - len(self.seen)

    def look_for(self, target: str | Hit | Record, pause: float = PAUSE) -> None:
        """Choose the entry that the verdict is about: a text that it holds, its id, a hit or a record; "" for none.

        Raises:
            ConfigError: It is none of these; nothing was changed.
        """
        Target.of(target)
        if target != self._target:
            self._target = target
            self.changed(pause)

    async def find(self, target: str | Hit | Record) -> Explanation | None:
        """Do what :meth:`look_for` does and return what the verdict says; None when nothing is looked for."""
        self.look_for(target, pause=0.0)
        await self.settled()
        return self._fresh().explanation

    @property
    def looked_for(self) -> str:
        """What is looked for, as it stands in the search field."""
        return self._target if isinstance(self._target, str) else self._target.id or self._target.content

    def switch(self, source: Any) -> None:
        """Open another source; conversation and settings stay."""
        opened = open_source(source)
        check_stores(opened)
        self.source = replace(
            self.source,
            stores=opened.stores,
            listings=opened.listings,
            notes=opened.notes,
            measures=opened.measures,
            sessions=opened.sessions,
        )
        self.store_names = tuple(store.name for store in self.source.stores)
        self.entries = self._entries(self.entries.editable)
        self._expected, self._target = (), ""  # they were said of the other entries
        self.changed()

    def say(self, text: str) -> None:
        """Add a message of the user at the end of the conversation and open the call that answers it."""
        self.conversation.insert(text)

    def moment(self) -> Moment:
        """Return the conversation as it stands, for :meth:`return_to`."""
        return Moment(self.messages, self.call, self._expected, self._expected_at)

    def return_to(self, moment: Moment) -> None:
        """Put a conversation in force, with the call that is open in it and what is expected there."""
        self._take_messages(moment.messages)
        self.call, self._expected, self._expected_at = moment.call, moment.expected, moment.expected_at
        self.changed()

    async def why(self, target: Any) -> Explanation:
        """Explain why an entry (or the entry with this id or text) arrives at this call, or why not."""
        await self.settled()
        return await self.question().explain(target, self.trace, self._trial())

    async def cache(self) -> CacheView:
        """Return how much of the open call's input a prompt cache keeps of the call before, for both placements."""
        await self.settled()
        return await self.caching.read(self.trace)

    async def take(self, suggestion: Suggestion) -> InjectionTrace:
        """Make the change that an explanation suggests, whatever it changes, and return the fresh trace.

        What the user would have to say goes into the conversation, from where ``conversation.undo`` takes it back. A
        change of the entry is staged, for ``entries.write`` to write.

        Raises:
            ConfigError: It is no suggestion, or one of another workbench that does not fit here; nothing was changed.
        """
        take(self, suggestion)
        await self.settled()
        return self.trace

    def case(self, id: str, expected: Any = None, **about: Any) -> Case:
        """Return the open call as a labelled case; see :func:`memwb.workbench.cases.case_of`."""
        from .cases import case_of

        return case_of(self, id, expected, **about)

    def export(self, path: Any) -> Export:
        """Write the settings as a module for an agent, with a test of the preview; see ``Workbench.export``."""
        from .export import export

        return export(self, path)

    def close(self) -> None:
        """End what runs and forget the subscribers."""
        self.live.detach()
        super().close()

    # -- refreshing ---------------------------------------------------------------------------------------------

    def _stores(self) -> Stores:
        by_name = {store.name: retokenized(store, self.tokenizer) for store in self.source.stores}
        return Stores(tuple(by_name[name] for name in self.store_names))

    async def _refresh(self) -> None:
        for slot in self.slots.values():
            if slot.ready:
                await slot.apply(self.time_limit)
        preview = await self._previewed()
        self._blame(preview.trace)
        await self.entries.read()
        if self.caching.wanted:
            await self.caching.read(preview.trace)
        if self._refresher.overtaken:
            return
        self.preview, self.failure = preview, ""
        self.revision += 1
        # The request counts as answered when this returns: tell the page after that.
        asyncio.get_running_loop().call_soon(self._publish)

    def question(self, call: int = 0) -> Question:
        """Return what a preview is asked at a model call under the settings as they stand; 0 for the chosen call."""
        seen = self.messages[: self.calls[call - 1]] if call else self.seen
        return Question(
            self._stores(),
            list(seen),
            self.settings,
            looked_for=self._target,
            expected=self.expected,
            listings=self.source.listings,
            agent=self.source.agent,
            state=self.agent_state,
            apart=tuple(store for store in self.source.stores if store.name not in self.store_names),
            writer=self.source.manager or self.source.writer,
            format=self.slots["format"],
            at=recorded.at if (recorded := self.live.call) is not None and not call else said_at(seen),
            placement=self.source.placement,
            counter=self.token_counter,
        )

    async def _previewed(self) -> Preview:
        return await self.question().answer(self.call_limited, self._listening(), self._trial(), self._early)

    def _early(self, preview: Preview) -> None:
        """Show the verdict before the changes are tried that would alter it: slow callbacks make them take a while."""
        if not self._refresher.overtaken:
            self.preview, self.failure = preview, ""
            self._publish()

    def _trial(self) -> Call:
        """Return what runs the callbacks of changes that are tried out: they share one time limit."""
        budget = Budget(self.time_limit)

        async def call(callback: Callable[[Any], Any], context: Any) -> Any:
            return await budget.limited(callback, _shielded(context))

        return call

    def _blame(self, trace: InjectionTrace) -> None:
        for name in NAMES:
            slot, stage = self.slots[name], trace.stage(name)
            if slot.function is not None and stage.error is not None:
                slot.failed(stage.error)
                continue
            slot.worked()
            if slot.function is not None and stage.status in ("done", "skipped"):
                entries = trace.entries if name == "format" else ()
                result = {"query": trace.query, "format": trace.text}.get(name)
                slot.gave((self.seen, entries, self.agent_state), (stage.status, result))

    async def call_limited(self, callback: Callable[[Any], Any], context: Any) -> Any:
        """Run a callback of the settings under the time limit."""
        return await limited(callback, _shielded(context), seconds=self.time_limit)


def _shielded(context: Any) -> Any:
    """Return a context whose state is a copy: a predicate that keeps count there must not count previews."""
    if not isinstance(context, InjectionContext):
        return context
    try:
        return replace(context, state=deepcopy(context.state))
    except Exception:  # a state that nobody can copy is shared, as the agent shares it
        return context
