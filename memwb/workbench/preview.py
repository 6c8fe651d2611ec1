"""What one set of settings gives at one model call: the injection itself, and what lies below its cut."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._text import counted
from ..catalog import Record
from ..memory import Explanation, Hit, InjectionTrace, Message, ranking_of
from ..memory.explain import Suggestion, matching
from ..memory.injection import Call, run_injection
from ..memory.search import is_the_stores_own
from ..memory.settings import Injection
from ..tokens import ESTIMATE, TokenCounter, sized
from .block import Block, checked_block
from .explaining import complete, decide
from .silence import Neighbour, neighbours, never_written, without_files
from .verdict import Verdict, verdict_of

if TYPE_CHECKING:
    from .editor import Slot

SHOWN_HITS = 50
"""Hits of each store that the screen shows (more where max_entries is more); how many more matched is said."""


@dataclass(frozen=True)
class Stores:
    """The stores of a source as they are: what an agent took is shown, also where memwb would have refused it."""

    stores: tuple[Any, ...]


@dataclass(frozen=True)
class Preview:
    """What one set of settings gives at one model call.

    Attributes:
        trace: The injection.
        hits: What the stores hold for the query, below the cut too: the first 50 of each store.
        matching: How many entries match in the stores that answered; None where one cannot say.
        entries: How many entries the stores hold; None where a store cannot list.
        explanation: Why the entry that is looked for arrived or not; None when none is looked for.
        starved: Why the best entry did not arrive of a store that lost all its places to those before it; None where
            there is no such store, or an entry is looked for.
        unwritten: Why the stores hold nothing at all, in words; "" when they hold entries, fail or cannot list.
        fileless: Which stores have no file, in words; "" where none lacks one.
        neighbours: Files of entries beside a file that is missing.
        counter: What counts the tokens.
        tokens: How many the block has; 0 where nothing is injected.
        wanted: The entries that should arrive: ids, texts, or records where a store tells no ids itself.
    """

    trace: InjectionTrace
    hits: tuple[Hit, ...] = ()
    matching: int | None = None
    entries: int | None = None
    explanation: Explanation | None = None
    unwritten: str = ""
    neighbours: tuple[Neighbour, ...] = ()
    wanted: tuple[str | Record, ...] = ()
    starved: Explanation | None = None
    counter: TokenCounter = ESTIMATE
    tokens: int = 0
    fileless: str = ""

    @property
    def size(self) -> str:
        """The tokens as they are shown: ``~70`` where they are estimated."""
        return sized(self.counter, self.tokens)

    @cached_property
    def block(self) -> Block:
        """What can be said of the block's form."""
        return checked_block(self.trace)

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """The changes that were tried and bring in the entry that the verdict is about, the smallest first."""
        about = self.explanation or self.starved
        return about.suggestions if about is not None else ()

    def is_wanted(self, hit: Hit) -> bool:
        """Whether the hit is one of the entries that should arrive."""
        return any(_means(item, hit) for item in self.wanted)

    def is_explained(self, hit: Hit) -> bool:
        """Whether the hit is the entry that the verdict is about."""
        about = self.explanation
        if about is None or about.store not in (None, hit.store):
            return False
        return about.id == hit.id if about.id and hit.id else about.target == hit.content

    @property
    def found(self) -> int:
        """How many entries matched, as far as that is known; at least as many as were kept."""
        known = self.matching if self.matching is not None else len(self.hits)
        return max(known, len(self.trace.entries))

    @property
    def down(self) -> str:
        """The names of the stores that failed, for a sentence; "" when none did."""
        return " and ".join(repr(answer.store.name) for answer in self.trace.answers if answer.error is not None)

    @property
    def verdict(self) -> Verdict:
        """What arrived, or why not, in one sentence."""
        return verdict_of(self)

    @property
    def summary(self) -> str:
        """The outcome in one short line; an empty store is told apart from a query without a match."""
        trace = self.trace
        if trace.injected:
            return f"{len(trace.entries)} of {counted(self.found, 'hit')} injected"
        if self.unwritten and trace.skipped_at == "search":
            return f"nothing found: {self.unwritten}"
        return trace.summary


@dataclass(frozen=True)
class Question:
    """What a preview is asked to show.

    Attributes:
        stores: The stores that are searched, in order.
        messages: The conversation before the model call.
        settings: The injection settings, None where injection is off.
        looked_for: The entry to explain, by a text that it holds, by its id, or as a hit; "" for none.
        expected: Ids or texts of entries that should arrive; the first missing one is explained where none is looked
            for.
        listings: For a store that cannot list itself: a store over the same entries, by name.
        agent: Shown to a trigger predicate.
        state: The agent's, shown to a trigger predicate.
        apart: Stores of the source that are not searched.
        writer: The manager that writes to the stores, where it is known.
        format: The format callback and its editor's text.
        at: When the model call was made, where that is known.
        counter: What counts the tokens.
        placement: Where the source's SDK puts the block, None outside of one.
    """

    stores: Stores
    messages: Sequence[Message]
    settings: Injection | None
    looked_for: str | Hit | Record = ""
    expected: Sequence[str] = ()
    listings: dict[str, Any] = field(default_factory=dict)
    agent: Any = None
    state: Any = None
    apart: tuple[Any, ...] = ()
    writer: Any = None
    format: Slot | None = None
    at: datetime | None = None
    placement: str | None = None
    counter: TokenCounter = ESTIMATE

    async def trace(self, call: Call) -> InjectionTrace:
        """Run the injection alone; ``call`` runs the callbacks."""
        return await run_injection(
            self.stores.stores,
            self.messages,
            self.settings,
            state=self.state,
            agent=self.agent,
            call=call,
            host_placement=self.placement,
        )

    async def answer(
        self, call: Call, log: AbstractContextManager[None], trial: Call, early: Callable[[Preview], None]
    ) -> Preview:
        """Run the injection, look at what it left out, and try what would bring in the entry that is asked about.

        Args:
            call: Runs the callbacks.
            log: Entered for the injection itself, and not for what is only tried out.
            trial: Runs the callbacks of what is only tried out.
            early: Given the preview before anything is tried out, where something is.
        """
        stores, settings = self.stores, self.settings
        with log:
            trace = await self.trace(call)
        hits: tuple[Hit, ...] = ()
        found: int | None = 0
        if settings and trace.query and trace.stage("search").status != "not reached":
            hits = await ranking_of(stores, trace.query, max(SHOWN_HITS, settings.max_entries), trace=trace)
            found = await _total(matching(answer.store, trace.query) for answer in trace.answers if not answer.error)
        listed = [self.listings.get(store.name, store) for store in stores.stores]
        entries = await _total(_count(store) for store in listed)
        explanation, starved = None, None
        wanted = tuple([await named(self.listings, item) for item in self.expected])
        target = await named(self.listings, self.looked_for) if self.looked_for else _first_missing(wanted, trace)
        if target:
            explanation = await decide(self, target, trace, trial)
        elif best := next((note.hits[0] for note in trace.notes if note.kind == "starved"), None):
            starved = await decide(self, best, trace, trial)
        fileless = without_files(listed)
        unwritten = never_written(listed) if entries == 0 and not any(answer.error for answer in trace.answers) else ""
        beside = neighbours(listed) if unwritten else ()
        tokens = self.counter.count(trace.text) if trace.injected and trace.text else 0
        preview = Preview(
            trace, hits, found, entries, explanation, unwritten, beside, wanted, starved, self.counter, tokens, fileless
        )
        about = explanation or starved
        if about is None or not (about.suggestible or about.ambiguous):
            return preview
        early(preview)
        about = await complete(self, about, trace, trial)
        return replace(preview, starved=about) if explanation is None else replace(preview, explanation=about)

    async def explain(self, target: Any, trace: InjectionTrace, trial: Call) -> Explanation:
        """Explain any entry, with what was tried."""
        found = await decide(self, await named(self.listings, target), trace, trial)
        return await complete(self, found, trace, trial)


async def named(listings: Mapping[str, Any], target: Any) -> Any:
    """Return the record that an id means in a store which tells no ids itself, else the target as it is."""
    if isinstance(target, str):
        for name, listing in listings.items():
            record = await listing.get(target)
            if record is not None:
                return replace(record, store=name)
    return target


def _means(item: str | Record, hit: Hit) -> bool:
    if isinstance(item, str):
        return item in (hit.id, hit.content)
    return item.content == hit.content and item.store in (None, hit.store)


def _first_missing(wanted: Sequence[str | Record], trace: InjectionTrace) -> str | Record | None:
    """Choose, of the entries that should arrive, the first that does not; the first one when all do."""
    arrived = [hit for hit in trace.hits if hit.kept] if trace.injected else []
    missing = [item for item in wanted if not any(_means(item, hit) for hit in arrived)]
    return next(iter((*missing, *wanted)), None)


async def _total(counts: Iterable[Awaitable[int | None]]) -> int | None:
    """Add what can be counted; None when one of the stores cannot say."""
    total = 0
    for count in counts:
        try:
            number = await count
        except BaseException as error:
            if not is_the_stores_own(error):
                raise
            return None  # a store that fails is named by the trace; here it only cannot be counted
        if not isinstance(number, int):
            return None
        total += number
    return total


async def _count(store: Any) -> int | None:
    return await store.count() if hasattr(store, "count") and hasattr(store, "page") else None
