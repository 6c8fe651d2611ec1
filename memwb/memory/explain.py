"""Why an entry reached the model or did not, and the smallest change of settings that brings it in.

Every suggestion has been tried on the same conversation before it is made.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .._text import counted, cropped
from .deeper import Depths, HasStores, Ranking, failed_stores, matching, ranking_of
from .injection import run_injection
from .queries import SUGGESTED
from .search import is_the_stores_own
from .settings import Injection
from .trace import Hit, InjectionTrace, matching_by, tokenizer_of, tokens_of
from .types import Message
from .wanted import Target, Wanted

__all__ = ["Explanation", "Ranking", "Suggestion", "decided", "explain", "matching", "ranking_of", "with_suggestions"]

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
        store: The store that holds the entry, None where none was found to.
        id: The entry's id where its store tells it; unique within that store only.
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
    store: str | None = None
    id: str | None = None
    _wanted: Wanted | None = field(default=None, repr=False, compare=False)  # what the changes are tried for

    def __repr__(self) -> str:
        lines = [self.sentence, *(f"  try: {suggestion.text}" for suggestion in self.suggestions)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ._html import explanation_html

        return explanation_html(self)


async def explain(
    manager: HasStores,
    target: Any,
    messages: Sequence[Message],
    settings: Injection | None,
    *,
    trace: InjectionTrace | None = None,
    **given: Any,
) -> Explanation:
    """See ``MemoryManager.why``: :func:`decided`, then :func:`with_suggestions`."""
    trace = trace or await run_injection(manager.stores, messages, settings, **given)
    found = await decided(manager, target, messages, settings, trace=trace, **given)
    return await with_suggestions(found, manager, messages, settings, trace=trace, **given)


async def decided(
    manager: HasStores,
    target: Any,
    messages: Sequence[Message],
    settings: Injection | None,
    *,
    trace: InjectionTrace | None = None,
    **given: Any,
) -> Explanation:
    """Say whether an entry arrived, and why; no change of settings is tried yet.

    Args:
        manager: Whose stores are asked.
        target: As for ``MemoryManager.why``.
        messages: The conversation before the model call.
        settings: The checked settings, None where injection is off.
        trace: The injection with these settings, where it has been run already.
        **given: ``state``, ``agent`` and ``call``, as for ``MemoryManager.why``.
    """
    trace = trace or await run_injection(manager.stores, messages, settings, **given)
    asked = Target.of(target)
    searched = trace.query is not None and trace.stage("search").status != "not reached"
    wanted = asked.arrived(trace)
    if wanted is not None:
        found = _of_hit(manager, wanted, trace, next(filter(wanted.is_hit, trace.hits)))
    else:
        depths = await Depths.of(manager.stores, trace) if searched else None
        wanted, hit = await asked.find(manager, depths, trace)
        if depths is None:
            found = _not_searched(wanted, trace)
        elif hit is None:
            found = await _unmatched(manager, wanted, trace, depths.failures)
        else:
            found = _of_hit(manager, wanted, trace, hit)
    return replace(found, store=wanted.store, id=wanted.id, _wanted=wanted)


async def with_suggestions(
    explanation: Explanation,
    manager: HasStores,
    messages: Sequence[Message],
    settings: Injection | None,
    *,
    trace: InjectionTrace | None = None,
    **given: Any,
) -> Explanation:
    """Return the explanation with the changes of settings that bring its entry in.

    Each change is tried in a whole injection of its own; between two of them the event loop is free.

    Args:
        explanation: What :func:`decided` gave for the same stores, messages and settings.
        manager: As for :func:`decided`, like the other arguments.
        messages: The conversation before the model call.
        settings: The checked settings.
        trace: The injection with these settings, where it has been run already.
        **given: ``state``, ``agent`` and ``call``.
    """
    wanted = explanation._wanted or Wanted(explanation.target, explanation.id, explanation.store)
    if explanation.arrived or settings is None or not wanted.known:
        return explanation
    trace = trace or await run_injection(manager.stores, messages, settings, **given)
    changes = [change for change in _changes(settings, wanted.needed) if _fits(change[1], trace)]
    tried = [suggestion async for suggestion in _tried(manager, wanted, messages, settings, changes, trace, given)]
    # The smallest change first: the one that brings the fewest other entries along, then the better place.
    tried.sort(key=lambda suggestion: (suggestion.also, suggestion.rank))
    return replace(explanation, suggestions=tuple(tried))


def _not_searched(wanted: Wanted, trace: InjectionTrace) -> Explanation:
    return Explanation(
        wanted.content,
        arrived=False,
        sentence=f"{wanted.name} did not arrive: nothing was searched, {trace.reason}.",
        stage=trace.skipped_at or "trigger",
        limit=trace.settings.max_entries if trace.settings else None,
    )


def _of_hit(manager: HasStores, wanted: Wanted, trace: InjectionTrace, hit: Hit) -> Explanation:
    """Say where it was decided whether an entry arrives that is a hit."""
    assert trace.query is not None
    assert trace.settings is not None
    common: dict[str, Any] = {
        "rank": hit.rank,
        "limit": trace.settings.max_entries,
        "matched": hit.matched,
        "missing": _missing(manager, hit.store, trace.query, hit.content),
    }
    rank = f"rank {hit.rank}" + (f" in {hit.store!r}" if len(manager.stores) > 1 else "")
    if hit.kept and trace.injected:
        sentence = f"{wanted.name} arrived: {rank}{_on(hit)}."
        return Explanation(wanted.content, True, sentence, "fold", **common)
    if hit.kept:
        sentence = f"{wanted.name} did not arrive: it was kept at {rank}, but {trace.summary}."
        return Explanation(wanted.content, False, sentence, trace.skipped_at or "format", **common)
    if trace.stage("search").status == "failed":
        sentence = f"{wanted.name} did not arrive: the search failed, {trace.reason}."
        return Explanation(wanted.content, False, sentence, "search", **common)
    sentence = f"{wanted.name} did not arrive: {_cut(hit, rank, trace.hits, trace.settings.max_entries)}."
    return Explanation(wanted.content, False, sentence, "search", **common)


def _on(hit: Hit) -> str:
    if not hit.matched or hit.score != len(hit.matched):
        return ""
    from ..ranking import STOP_WORDS

    telling = [word for word in hit.matched if word not in STOP_WORDS]
    return (
        f", matched on {', '.join(telling)}" if telling else f", matched on stop words alone ({', '.join(hit.matched)})"
    )


def _cut(hit: Hit, rank: str, hits: Sequence[Hit], limit: int) -> str:
    if hit.cut_by == "store limit":
        return f"{hit.store!r} ranks it {hit.rank} but returned fewer entries than it was asked for"
    if hit.rank <= limit:
        before = [other.store for other in hits if other.kept and other.store != hit.store]
        if not before:
            return f"{hit.store!r} ranks it {hit.rank} now, but did not when the injection asked"
        names = ", ".join(map(repr, dict.fromkeys(before)))
        took = "filled the" if len(before) == limit else f"took {len(before)} of the"
        return f"{rank}, but {names}, registered before it, {took} {counted(limit, 'place')}"
    return f"{rank}, limit {limit}"


async def _unmatched(
    manager: HasStores, wanted: Wanted, trace: InjectionTrace, failed_later: Mapping[str, BaseException]
) -> Explanation:
    """Say why the entry is not among the hits: its store failed, does not return it, or does not hold it."""
    assert trace.query is not None
    assert trace.settings is not None
    missing = _missing(manager, wanted.store, trace.query, wanted.content)
    failed = failed_stores(trace)
    if failed and (wanted.store or wanted.named) in (None, *failed):
        names = "; ".join(f"{name!r} raised {cropped(repr(error))}" for name, error in failed.items())
        stage, reason, missing = "search", f"store {names}", ()
    elif wanted.store is not None:
        stage, reason = "search", _not_matched(manager, wanted, trace.query, missing, failed_later.get(wanted.store))
    else:
        stage, reason = "store", await _not_held(manager, wanted)
    sentence = f"{wanted.name} did not arrive: {reason}."
    return Explanation(wanted.content, False, sentence, stage, limit=trace.settings.max_entries, missing=missing)


def _not_matched(
    manager: HasStores, wanted: Wanted, query: str, missing: Sequence[str], failure: BaseException | None
) -> str:
    store = next(store for store in manager.stores if store.name == wanted.store)
    if not callable(getattr(store, "tokenizer", None)) or matching_by(store, query)(wanted.content):
        if failure is not None:
            return f"{wanted.store!r} did not return it, and when asked for more it raised {cropped(repr(failure))}"
        return f"{wanted.store!r} does not return it for this query"
    held = f"it is in {wanted.store!r}, but " if len(manager.stores) > 1 else "it "
    return f"{held}shares no word with the query. Searched: {', '.join(missing) or 'nothing'}"


async def _not_held(manager: HasStores, wanted: Wanted) -> str:
    """Say that no store holds the entry, and which of them hold nothing at all."""
    stores = [store for store in manager.stores if wanted.named in (None, store.name)]
    if not stores:
        searched = ", ".join(repr(store.name) for store in manager.stores)
        return f"it is of {wanted.named!r}, which is not among the stores searched ({searched})"
    empty = [store.name for store in stores if await _is_empty(store)]
    unwritten = f"nothing was ever written to {', '.join(map(repr, empty))}"
    if len(empty) == len(stores):
        return unwritten
    if wanted.named is not None:
        return f"{wanted.named!r} does not hold it"
    return "no store here holds it, as far as they can be searched" + (f"; {unwritten}" if empty else "")


async def _is_empty(store: Any) -> bool:
    """Whether a store that can list holds nothing."""
    if not hasattr(store, "page") or not hasattr(store, "count"):
        return False
    try:
        return bool(await store.count() == 0)
    except BaseException as error:  # what cannot be counted is not known to be empty
        if not is_the_stores_own(error):
            raise
        return False


def _missing(manager: HasStores, store: str | None, query: str, content: str) -> tuple[str, ...]:
    holder = next((held for held in manager.stores if held.name == store), manager.stores[0])
    held = set(tokenizer_of(holder)(content))
    return tuple([token for token in tokens_of(holder, query) if token not in held])


def _changes(settings: Injection, needed: int | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Changes worth trying, each in words and as injection keys."""
    if settings.trigger != "everyTurn":
        yield "trigger everyTurn", {"trigger": "everyTurn"}
    if needed is not None and settings.max_entries < needed <= MAX_ENTRIES_TRIED:
        yield f"max_entries {needed}", {"max_entries": needed}
    for words, query in SUGGESTED.items():
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
    manager: HasStores,
    wanted: Wanted,
    messages: Sequence[Message],
    settings: Injection,
    changes: Sequence[tuple[str, dict[str, Any]]],
    before: InjectionTrace,
    given: dict[str, Any],
) -> AsyncIterator[Suggestion]:
    import asyncio

    present = {(hit.store, hit.content) for hit in before.hits if hit.kept} if before.injected else set()
    for words, change in changes:
        await asyncio.sleep(0)
        trace = await run_injection(manager.stores, messages, replace(settings, **change), **given)
        kept = [hit for hit in trace.hits if hit.kept]
        place = next((at for at, hit in enumerate(kept, 1) if wanted.is_hit(hit)), None)
        if place is None or not trace.injected:
            continue
        also = len({(hit.store, hit.content) for hit in kept} - present) - 1
        yield Suggestion(f"{words} → rank {place}{_beside(also)}", change, place, also)


def _beside(also: int) -> str:
    return f" (and {counted(also, 'other new entry', 'other new entries')})" if also else ""
