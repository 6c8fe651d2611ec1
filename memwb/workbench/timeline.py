"""What memory does over a whole conversation: all model calls under one setting, and which entries come again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._text import counted, shortened
from ..errors import ConfigError, StaleTraceError
from ..memory.messages import is_user_turn, text
from ..tokens import ESTIMATE, TokenCounter, sized
from .closing import while_open
from .marking import Mark, marks_of
from .screen import ScreenState

if TYPE_CHECKING:
    import pandas

    from ..memory import InjectionTrace, MemoryEntry, Message
    from .state import WorkbenchState

_BREATH = 20  # calls between two chances for the loop: a long conversation holds nothing up


@dataclass(frozen=True)
class TimelineCall:
    """One model call of the conversation.

    Attributes:
        number: Its place among the model calls, from 1.
        said: What the call answers, in one short line: the user's words, or which tool results.
        trace: What the injection does there.
        counter: What counts the tokens.
    """

    number: int
    said: str
    trace: InjectionTrace = field(repr=False)
    counter: TokenCounter = field(default=ESTIMATE, repr=False, compare=False)

    @cached_property
    def tokens(self) -> int:
        """The block's tokens; 0 where nothing is injected."""
        return self.counter.count(self.trace.text or "") if self.trace.injected else 0

    @property
    def entries(self) -> int:
        """How many entries reach the model."""
        return len(self.trace.entries) if self.trace.injected else 0


@dataclass(frozen=True)
class TimelineEntry:
    """One entry that a store returned at some call.

    Attributes:
        store: The store's name.
        content: Its text.
        id: Its id where the store tells it.
        places: Its place in the block, from 1, by the number of the call; calls where it did not arrive are left out.
        counter: What counts the tokens.
        cut: The calls where a store returned it and ``max_entries`` cut it, or nothing was injected after all.
        marks: What a person pointed at it for: that it is expected at a call, or looked for.
    """

    store: str | None
    content: str
    id: str | None
    places: dict[int, int] = field(hash=False)
    cut: tuple[int, ...] = ()
    marks: tuple[Mark, ...] = ()
    counter: TokenCounter = field(default=ESTIMATE, repr=False, compare=False)

    @cached_property
    def tokens(self) -> int:
        """The tokens of its text, at one call."""
        return self.counter.count(self.content)

    def is_expected_at(self, call: int) -> bool:
        """Whether it should arrive at this call."""
        return any(mark.call == call for mark in self.marks)


@dataclass(frozen=True)
class Timeline:
    """Every model call of a conversation under one set of settings.

    On a page without a kernel it is a picture: entries down, calls across.

    Attributes:
        calls: In the conversation's order.
        entries: First those that are expected or looked for, whether a store returned them or not; then what the stores
            returned, in the order of the first arrival, and what never arrived.
        counter: What counts the tokens.
    """

    calls: tuple[TimelineCall, ...]
    entries: tuple[TimelineEntry, ...]
    counter: TokenCounter = field(default=ESTIMATE, repr=False, compare=False)

    @property
    def size(self) -> str:
        """The tokens as they are shown: ``~70`` where they are estimated."""
        return sized(self.counter, self.tokens)

    @property
    def tokens(self) -> int:
        """The tokens of all blocks together."""
        return sum(call.tokens for call in self.calls)

    @property
    def repeated_tokens(self) -> int:
        """The tokens of entries that an earlier call had brought already."""
        return sum(entry.tokens * (len(entry.places) - 1) for entry in self.entries if entry.places)

    @cached_property
    def headline(self) -> str:
        """The conversation in a sentence: what came again and again, or that nothing came; and what is missing."""
        return self._story + self._lack

    @property
    def _lack(self) -> str:
        expected = [(entry, mark.call) for entry in self.entries for mark in entry.marks if mark.kind == "expected"]
        lacking = [call for entry, call in expected if call not in entry.places]
        if not lacking:
            return ""
        of = counted(len(expected), "expected entry", "expected entries")
        return f" {len(lacking)} of {of} missing at call {lacking[0]}."

    @property
    def _story(self) -> str:
        arrived = [entry for entry in self.entries if entry.places]
        if not self.calls:
            return "No model call yet: the conversation holds no user message."
        if not arrived:
            return f"Nothing was injected in {counted(len(self.calls), 'call')}: {self._usual_reason()}."
        same, where = self._commonest_set()
        if len(where) > 1:
            facts = "the same fact" if same == 1 else f"the same {same} facts"
            of = f" of {len(self.calls)}" if len(where) < len(self.calls) else ""
            tokens = sum(call.tokens for call in self.calls if call.number in where)
            return f"{facts.capitalize()} in {len(where)}{of} calls: {sized(self.counter, tokens)} tokens."
        repeated = sized(self.counter, self.repeated_tokens)
        again = f"; {repeated} of them for facts that came before" if self.repeated_tokens else ""
        facts = counted(len(arrived), "different fact" if len(arrived) > 1 else "fact")
        return f"{facts} in {counted(len(self.calls), 'call')}: {self.size} tokens{again}."

    def _usual_reason(self) -> str:
        reasons = Counter(call.trace.summary for call in self.calls)
        reason, times = reasons.most_common(1)[0]
        return reason if times == len(self.calls) else f"{reason} (in {times} of them)"

    def _commonest_set(self) -> tuple[int, set[int]]:
        """Return how many entries the set has that arrived at most calls, and those calls; the earliest wins ties."""
        sets: dict[frozenset[int], set[int]] = {}
        for call in self.calls:
            here = frozenset(at for at, entry in enumerate(self.entries) if call.number in entry.places)
            if here:
                sets.setdefault(here, set()).add(call.number)
        same, where = max(sets.items(), key=lambda item: len(item[1]))
        return len(same), where

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each call: call, said, trigger, query, entries, tokens, outcome."""
        import pandas

        columns = ["call", "said", "trigger", "query", "entries", "tokens", "outcome"]
        rows = [
            (call.number, call.said, trace.fired, trace.query, call.entries, call.tokens, trace.summary)
            for call in self.calls
            for trace in (call.trace,)
        ]
        return pandas.DataFrame(rows, columns=columns)

    def matrix(self) -> pandas.DataFrame:
        """Return entries x calls: the entry's place in the block, <NA> where it did not arrive."""
        import pandas

        numbers = [call.number for call in self.calls]
        data = {number: [entry.places.get(number) for entry in self.entries] for number in numbers}
        index = pandas.Index([entry.content for entry in self.entries], name="entry")
        return pandas.DataFrame(data, index=index, columns=pandas.Index(numbers, name="call"), dtype="Int64")

    def __repr__(self) -> str:
        return f"Timeline({self.headline})"

    def svg(self) -> str:
        """Return the picture as an SVG document, for a file or a page."""
        from .picture import timeline_svg

        return timeline_svg(self)

    def _repr_html_(self) -> str:
        from .picture import timeline_html

        return timeline_html(self)


def timeline_of(
    calls: Sequence[TimelineCall], counter: TokenCounter = ESTIMATE, marks: Sequence[Mark] = ()
) -> Timeline:
    """Gather the entries of a conversation's calls, and those that somebody pointed at."""
    found: dict[tuple[str | None, str], tuple[MemoryEntry, dict[int, int], list[int]]] = {}
    for call in calls:
        kept = call.entries
        answered = [entry for answer in call.trace.answers for entry in answer.entries]
        for place, entry in enumerate(answered, 1):
            key = (entry.store_name, entry.id or entry.content)
            _, places, cut = found.setdefault(key, (entry, {}, []))
            if place <= kept:
                places.setdefault(call.number, place)
            elif call.number not in places:
                cut.append(call.number)
    entries = []
    for entry, places, cut in found.values():
        about = tuple(mark for mark in marks if mark.means(entry.store_name, entry.id, entry.content))
        entries.append(
            TimelineEntry(entry.store_name, entry.content, entry.id, places, tuple(dict.fromkeys(cut)), about, counter)
        )
    entries.extend(_unseen(marks, entries, counter))
    entries.sort(key=lambda entry: (not entry.marks, min(entry.places, default=len(calls) + 1)))
    return Timeline(tuple(calls), tuple(entries), counter)


def _unseen(marks: Sequence[Mark], entries: Sequence[TimelineEntry], counter: TokenCounter) -> Iterator[TimelineEntry]:
    """Yield what somebody pointed at and no store returned at any call."""
    seen = {mark for entry in entries for mark in entry.marks}
    left = [mark for mark in marks if mark not in seen]
    for mark in left:
        same = tuple(other for other in left if other.means(mark.store, mark.id, mark.content))
        if same[0] is mark:
            yield TimelineEntry(mark.store, mark.content, mark.id, {}, (), same, counter)


def said_at(messages: Sequence[Message]) -> str:
    """Return what a model call answers, in one short line."""
    if not messages:
        return ""
    if is_user_turn(messages):
        return shortened(text(messages[-1]), 80)
    names = {
        block["toolUse"].get("toolUseId"): block["toolUse"].get("name")
        for message in messages
        for block in message["content"]
        if isinstance(block.get("toolUse"), dict)
    }
    results = [block["toolResult"] for block in messages[-1]["content"] if isinstance(block.get("toolResult"), dict)]
    tools = dict.fromkeys(str(names.get(result.get("toolUseId")) or "a tool") for result in results)
    return f"result of {', '.join(tools)}" if tools else shortened(text(messages[-1]), 80)


@dataclass(frozen=True)
class _Seen:
    """What a workbench asked of its stores when it was looked at last."""

    messages: Any
    settings: Any
    store_names: tuple[str, ...]
    source: Any
    call: int
    revision: int

    def asks_the_same(self, other: _Seen) -> bool:
        same_talk = self.messages is other.messages and self.source is other.source
        return same_talk and (self.settings, self.store_names) == (other.settings, other.store_names)


class TimelineState(ScreenState):
    """The timeline of a workbench: runs every call of its conversation, anew after each change of its settings.

    Args:
        bench: The workbench's state; nothing in it is changed but by :meth:`show`.
    """

    def __init__(self, bench: WorkbenchState) -> None:
        super().__init__()
        self.bench = bench
        self.done = 0
        """Calls that the refresh under way has run."""
        self._timeline: Timeline | None = None
        self._seen: _Seen | None = None
        self._undo = bench.subscribe(self._follow)
        self._follow()

    @property
    def pending(self) -> bool:
        """Whether a change waits for its refresh."""
        return self.bench.pending or super().pending

    @property
    def last(self) -> Timeline | None:
        """The newest timeline that was made, an outdated one too."""
        return self._timeline

    @property
    def timeline(self) -> Timeline:
        """The timeline of the settings as they stand.

        Raises:
            StaleTraceError: A change waits for its refresh, or the refresh failed.
        """
        if self.pending or self._timeline is None:
            raise StaleTraceError("The settings changed; `await` the timeline first.")
        if self.failure:
            raise StaleTraceError(f"There is no timeline for these settings, the refresh failed: {self.failure}")
        return self._timeline

    @while_open
    async def show(self, call: int) -> InjectionTrace:
        """Open a call in the workbench and return its trace.

        Raises:
            ConfigError: There is no such call.
        """
        if call is None:  # which would be the last one
            raise ConfigError("Timeline: show a call by its number, from 1; not None.", key="call", value=call)
        return await self.bench.set(call=call)

    async def settled(self) -> None:
        """Return when every call was run under the settings as they stand."""
        await self.bench.settled()
        self._follow()
        await super().settled()

    def close(self) -> None:
        """End what runs; the workbench goes on."""
        self._undo()
        super().close()

    def __repr__(self) -> str:
        if self.failure:
            return f"Timeline(the refresh failed: {shortened(self.failure, 120)})"
        return (
            repr(self._timeline) if self._timeline and not self.pending else "Timeline(not settled: `await` it first)"
        )

    def _follow(self) -> None:
        """Ask for a refresh when the workbench shows something new; only choosing another call is nothing new."""
        bench = self.bench
        if bench.pending:
            return
        before, self._seen = (
            self._seen,
            _Seen(bench.messages, bench.settings, bench.store_names, bench.source, bench.call, bench.revision),
        )
        if before is not None and before.revision == bench.revision:
            return
        if before is None or before.call == bench.call or not before.asks_the_same(self._seen):
            self._refresher.request()
        self._publish()

    async def _refresh(self) -> None:
        bench = self.bench
        calls: list[TimelineCall] = []
        self.done = 0
        for number in range(1, len(bench.calls) + 1) if bench.call else ():
            question = bench.question(number)
            trace = await question.trace(bench.call_limited)
            calls.append(TimelineCall(number, said_at(question.messages), trace, bench.token_counter))
            if number % _BREATH == 0:
                self.done = number
                self._publish()
                await asyncio.sleep(0)
        timeline = timeline_of(calls, bench.token_counter, await marks_of(bench))
        if self._refresher.overtaken:
            return
        self._timeline, self.failure, self.refused = timeline, "", ""
        asyncio.get_running_loop().call_soon(self._publish)
