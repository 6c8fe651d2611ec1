"""Why an entry reached the model or did not, and the smallest change of settings that brings it in.

Every suggestion has been tried on the same conversation before it is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .._text import counted, quoted
from .injection import run_injection
from .queries import last_two_messages, latest_without_stop_words, whole_history
from .search import ask_stores
from .settings import Injection
from .trace import Hit, InjectionTrace, Matcher, in_order, make_hit, matched_tokens, tokenizer_of
from .types import Message

if TYPE_CHECKING:
    from .manager import MemoryManager

DEEP_LIMIT = 100
"""Entries asked of a store that cannot say how many of its entries match."""

LISTED = 1000
"""Records that hold the words asked for, among which the very text is looked for."""

MAX_ENTRIES_TRIED = 20
"""No suggestion raises max_entries above this: a block of everything is no finding."""


@dataclass(frozen=True)
class Suggestion:
    """A change of settings that was tried and brings the entry in.

    Attributes:
        text: The change in words, with the place the entry then takes.
        settings: The injection keys to change.
        rank: The entry's place in the block after the change, from 1.
        also: How many entries that were not injected before come in with it.
    """

    text: str
    settings: dict[str, Any]
    rank: int
    also: int

    def __repr__(self) -> str:
        return f"Suggestion({self.text})"


@dataclass(frozen=True)
class Explanation:
    """The answer to "why did this entry arrive, or why not?".

    Attributes:
        target: What was asked about: the entry's text, as far as it was found, else the text given.
        arrived: Whether the model gets it.
        sentence: The answer in one sentence.
        stage: Where it was decided: a stage of the injection, or ``"store"`` when no store holds the entry.
        rank: Its place in its store's answer, from 1; None where it did not match or nothing was searched.
        limit: The max_entries in force, None where injection is off.
        matched: Query tokens that the entry holds.
        missing: Query tokens that it does not hold.
        suggestions: Changes that bring it in, the smallest first; empty when it arrived or none was found.
    """

    target: str
    arrived: bool
    sentence: str
    stage: str
    rank: int | None = None
    limit: int | None = None
    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = field(default=())

    def __repr__(self) -> str:
        lines = [self.sentence, *(f"  try: {suggestion.text}" for suggestion in self.suggestions)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ._html import explanation_html

        return explanation_html(self)


async def ranking_of(
    manager: MemoryManager, query: str, limit: int | None = None, *, trace: InjectionTrace | None = None
) -> tuple[Hit, ...]:
    """Ask the stores deeper than an injection does and return every hit, in store order and each store's ranking.

    Args:
        manager: Whose stores are asked.
        query: The text to search.
        limit: The most entries of each store; None: as many as match where the store can say, else 100.
        trace: Marks the hits that this injection kept (``kept``) and says what cut the others.
    """
    failed = [] if trace is None else [answer.store for answer in trace.answers if answer.error is not None]
    stores = [store for store in manager.stores if store not in failed]  # what was down is not asked again
    limits = [limit or await matching(store, query) or DEEP_LIMIT for store in stores]
    answers = await ask_stores(stores, query, limits)
    answered = {} if trace is None else {answer.store.name: len(answer.entries) for answer in trace.answers}
    kept = Counter((hit.store, hit.content) for hit in (trace.hits if trace else ()) if hit.kept)
    asked = trace.settings.max_entries if trace is not None and trace.settings else 0
    hits = []
    for answer in answers:
        seen = answered.get(answer.store.name, 0)
        matcher = Matcher(answer.store, query)
        for rank, entry in enumerate(answer.entries, 1):
            is_kept = kept[answer.store.name, entry.content] > 0
            kept[answer.store.name, entry.content] -= is_kept
            withheld = trace is not None and seen < rank <= asked
            hits.append(make_hit(matcher, rank, entry, kept=is_kept, below=withheld))
    return tuple(hits)


async def matching(store: Any, query: str) -> int | None:
    """Return how many of the store's entries match the query, or None where it cannot say."""
    count = getattr(store, "count_matches", None)
    if not callable(count):
        return None
    try:
        return int(await count(query))
    except Exception:  # a store that fails here fails its search too, and that failure is reported
        return None


async def explain(
    manager: MemoryManager,
    target: Any,
    messages: Sequence[Message],
    settings: Injection | None,
    *,
    trace: InjectionTrace | None = None,
    **given: Any,
) -> Explanation:
    """See ``MemoryManager.why``; ``trace`` is the injection with these settings, where it has been run already."""
    trace = trace or await run_injection(manager.stores, messages, settings, **given)
    searched = trace.query is not None and trace.stage("search").status != "not reached"
    hits = await ranking_of(manager, trace.query or "", trace=trace) if searched else ()
    wanted = await _Wanted.find(manager, target, hits, trace)
    found = _decided(manager, wanted, trace, hits) if searched else _not_searched(wanted, trace)
    if found.arrived or settings is None or not wanted.known:
        return found
    changes = [change for change in _changes(settings, wanted.needs(hits)) if _fits(change[1], trace)]
    tried = [suggestion async for suggestion in _tried(manager, wanted, messages, settings, changes, trace, given)]
    # The smallest change first: the one that brings the fewest other entries along, then the better place.
    tried.sort(key=lambda suggestion: (suggestion.also, suggestion.rank))
    return replace(found, suggestions=tuple(tried))


@dataclass(frozen=True)
class _Wanted:
    """The entry that is asked about."""

    content: str
    id: str | None = None
    store: str | None = None
    known: bool = True

    @classmethod
    async def find(cls, manager: MemoryManager, target: Any, hits: Sequence[Hit], trace: InjectionTrace) -> _Wanted:
        content = getattr(target, "content", target)
        if not isinstance(content, str):
            content = str(content)
        id = getattr(target, "id", None)
        for exact in (True, False):  # an entry that is this text comes before one that holds it
            if hit := _pick(hits, content, id, exact):
                return cls(hit.content, hit.id, hit.store)
            for store in manager.stores:
                record = await _listed(store, content, id, exact)
                if record is not None:
                    return cls(record.content, record.id, store.name)
        # A store that cannot list may still find the entry by its own words.
        if content.strip():
            found = await ranking_of(manager, content, trace=trace)
            if hit := _pick(found, content, id, True) or _pick(found, content, id, False):
                return cls(hit.content, hit.id, hit.store)
        return cls(content, id, known=not isinstance(target, str))

    def is_hit(self, hit: Hit) -> bool:
        if self.id is not None and hit.id is not None:
            return self.id == hit.id and self.store in (None, hit.store)
        return hit.content == self.content and self.store in (None, hit.store)

    def needs(self, hits: Sequence[Hit]) -> int | None:
        """Return the max_entries that would reach the entry, past the hits of its store and of those before it."""
        return next((place for place, hit in enumerate(hits, 1) if self.is_hit(hit)), None)

    @property
    def name(self) -> str:
        return quoted(self.content)


def _pick(hits: Sequence[Hit], content: str, id: str | None, exact: bool) -> Hit | None:
    """Choose the hit that is meant: by id, else by its very content; or, inexactly, one that holds the words given."""
    if not exact:
        words = content.casefold() if id is None and content.strip() else None
        return next((hit for hit in hits if words is not None and words in hit.content.casefold()), None)
    by_id = (hit for hit in hits if hit.id is not None and hit.id in (id, content))
    return next(by_id, None) or next((hit for hit in hits if hit.content.strip() == content.strip()), None)


async def _listed(store: Any, content: str, id: str | None, exact: bool) -> Any:
    """Look the entry up in a store that can list: by id or very content; or, inexactly, by the words given."""
    if not hasattr(store, "page") or not hasattr(store, "get"):
        return None
    try:
        if exact:
            for key in filter(None, (id, content)):
                if (record := await store.get(key)) is not None:
                    return record
        page = await store.page(0, LISTED, where=content.strip()) if content.strip() else []
    except Exception:  # a store that cannot answer holds nothing that could be explained; the trace names its failure
        return None
    return next((record for record in page if not exact or record.content.strip() == content.strip()), None)


def _not_searched(wanted: _Wanted, trace: InjectionTrace) -> Explanation:
    return Explanation(
        wanted.content,
        arrived=False,
        sentence=f"{wanted.name} did not arrive: nothing was searched, {trace.reason}.",
        stage=trace.skipped_at or "trigger",
        limit=trace.settings.max_entries if trace.settings else None,
    )


def _decided(manager: MemoryManager, wanted: _Wanted, trace: InjectionTrace, hits: Sequence[Hit]) -> Explanation:
    """Say where, from the search on, it was decided whether the entry arrives."""
    assert trace.query is not None
    assert trace.settings is not None
    hit = next(filter(wanted.is_hit, hits), None)
    if hit is None:
        return _unmatched(manager, wanted, trace)
    common: dict[str, Any] = {
        "rank": hit.rank,
        "limit": trace.settings.max_entries,
        "matched": hit.matched,
        "missing": _missing(manager, hit.store, trace.query, hit.content),
    }
    if hit.kept and trace.injected:
        sentence = f"{wanted.name} arrived: rank {hit.rank}{_on(hit)}."
        return Explanation(wanted.content, True, sentence, "fold", **common)
    if hit.kept:
        sentence = f"{wanted.name} did not arrive: it was kept at rank {hit.rank}, but {trace.summary}."
        return Explanation(wanted.content, False, sentence, trace.skipped_at or "format", **common)
    if trace.stage("search").status == "failed":
        sentence = f"{wanted.name} did not arrive: the search failed, {trace.reason}."
        return Explanation(wanted.content, False, sentence, "search", **common)
    return Explanation(wanted.content, False, _cut(wanted, hit, hits, trace), "search", **common)


def _on(hit: Hit) -> str:
    if not hit.matched or hit.score != len(hit.matched):
        return ""
    from ..ranking import STOP_WORDS

    telling = [word for word in hit.matched if word not in STOP_WORDS]
    return (
        f", matched on {', '.join(telling)}" if telling else f", matched on stop words alone ({', '.join(hit.matched)})"
    )


def _cut(wanted: _Wanted, hit: Hit, hits: Sequence[Hit], trace: InjectionTrace) -> str:
    assert trace.settings is not None
    limit = trace.settings.max_entries
    if hit.cut_by == "store limit":
        return (
            f"{wanted.name} did not arrive: {hit.store!r} ranks it {hit.rank} but returned fewer entries than it was "
            f"asked for."
        )
    if hit.rank <= limit:
        before = [other.store for other in hits if other.kept and other.store != hit.store]
        names = ", ".join(map(repr, dict.fromkeys(before)))
        took = "filled the" if len(before) == limit else f"took {len(before)} of the"
        return (
            f"{wanted.name} did not arrive: rank {hit.rank} in {hit.store!r}, but {names}, registered before it, "
            f"{took} {counted(limit, 'place')}."
        )
    return f"{wanted.name} did not arrive: rank {hit.rank}, limit {limit}."


def _unmatched(manager: MemoryManager, wanted: _Wanted, trace: InjectionTrace) -> Explanation:
    assert trace.query is not None
    assert trace.settings is not None
    limit = trace.settings.max_entries
    failed = [answer for answer in trace.answers if answer.error is not None]
    if failed and (wanted.store is None or wanted.store in [answer.store.name for answer in failed]):
        names = "; ".join(f"{answer.store.name!r} raised {answer.error!r}" for answer in failed)
        sentence = f"{wanted.name} did not arrive: store {names}."
        return Explanation(wanted.content, False, sentence, "search", limit=limit)
    missing = _missing(manager, wanted.store, trace.query, wanted.content)
    if wanted.store is not None:
        sentence = f"{wanted.name} did not arrive: {_not_matched(manager, wanted, trace.query, missing)}"
        return Explanation(wanted.content, False, sentence, "search", limit=limit, missing=missing)
    sentence = f"{wanted.name} did not arrive: no store here holds it, as far as they can be searched."
    return Explanation(wanted.content, False, sentence, "store", limit=limit, missing=missing)


def _not_matched(manager: MemoryManager, wanted: _Wanted, query: str, missing: Sequence[str]) -> str:
    store = next(store for store in manager.stores if store.name == wanted.store)
    if not callable(getattr(store, "tokenizer", None)) or matched_tokens(store, query, wanted.content):
        return f"{wanted.store!r} does not return it for this query."
    words = ", ".join(missing) or "nothing"
    return f"it shares no word with the query. Searched: {words}."


def _missing(manager: MemoryManager, store: str | None, query: str, content: str) -> tuple[str, ...]:
    holder = next((held for held in manager.stores if held.name == store), manager.stores[0])
    tokenizer = tokenizer_of(holder)
    return in_order(set(tokenizer(query)) - set(tokenizer(content)), query)


def _changes(settings: Injection, needed: int | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Changes worth trying, each in words and as injection keys."""
    if settings.trigger != "everyTurn":
        yield "trigger everyTurn", {"trigger": "everyTurn"}
    if needed is not None and settings.max_entries < needed <= MAX_ENTRIES_TRIED:
        yield f"max_entries {needed}", {"max_entries": needed}
    named = {
        "query: the last two messages": last_two_messages,
        "query: the latest message without stop words": latest_without_stop_words,
        "query: the whole history": whole_history,
    }
    for words, query in named.items():
        if settings.query is not query:
            yield words, {"query": query}
    if settings.format is not None:
        yield "the default format", {"format": None}


def _fits(change: dict[str, Any], before: InjectionTrace) -> bool:
    """Whether a change touches what ended the injection, and leaves alone what did not."""
    ended = before.skipped_at
    if ended in ("trigger", "format") or (ended == "query" and before.error is not None):
        return ended in change
    return not change.keys() & {"trigger", "format"}


async def _tried(
    manager: MemoryManager,
    wanted: _Wanted,
    messages: Sequence[Message],
    settings: Injection,
    changes: Sequence[tuple[str, dict[str, Any]]],
    before: InjectionTrace,
    given: dict[str, Any],
) -> Any:
    present = {(hit.store, hit.content) for hit in before.hits if hit.kept} if before.injected else set()
    for words, change in changes:
        trace = await run_injection(manager.stores, messages, replace(settings, **change), **given)
        kept = [hit for hit in trace.hits if hit.kept]
        place = next((at for at, hit in enumerate(kept, 1) if wanted.is_hit(hit)), None)
        if place is None or not trace.injected:
            continue
        also = len({(hit.store, hit.content) for hit in kept} - present) - 1
        yield Suggestion(f"{words} → rank {place}{_beside(also)}", change, place, also)


def _beside(also: int) -> str:
    return f" (and {counted(also, 'other new entry', 'other new entries')})" if also else ""
