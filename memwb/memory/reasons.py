"""Says in a sentence where it was decided whether an entry reaches the model, and by what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._text import counted, cropped, quoted
from .deeper import HasStores, failed_stores
from .explanation import Explanation
from .search import is_the_stores_own
from .shown import Watched
from .trace import Hit, InjectionTrace, in_order, matching_by, tokenizer_of, tokens_of
from .wanted import Wanted
from .words import listed, nearly

NOTHING_HELPS = {
    "store failed": "No setting helps: ask the store by itself, `await store.search(...)`, and mend what it raises.",
    "unwritten": "No setting helps: it has to be written first, `await store.add(...)`.",
}
"""What to do where the settings are not the reason."""


def of_nothing_searched(wanted: Wanted, trace: InjectionTrace) -> Explanation:
    """Say why an injection ended before its search."""
    return Explanation(
        wanted.content,
        arrived=False,
        sentence=f"{wanted.name} did not arrive: nothing was searched, {trace.reason}.",
        stage=trace.skipped_at or "trigger",
        limit=trace.settings.max_entries if trace.settings else None,
    )


def of_hit(
    manager: HasStores, wanted: Wanted, trace: InjectionTrace, hit: Hit, watched: Watched | None = None
) -> Explanation:
    """Say where it was decided whether an entry arrives that is a hit.

    Args:
        manager: Whose stores were asked.
        wanted: The entry.
        trace: The injection.
        hit: The entry's.
        watched: What a custom format made of it, where it was given it.
    """
    assert trace.query is not None
    assert trace.settings is not None
    missing, _, near = compared(manager, hit.store, trace.query, hit.content, nearly_too=not hit.kept)
    found = Explanation(
        wanted.content,
        arrived=False,
        sentence="",
        stage="search",
        rank=hit.rank,
        limit=trace.settings.max_entries,
        matched=hit.matched,
        missing=missing,
        near=near,
    )
    rank = f"rank {hit.rank}" + (f" in {hit.store!r}" if len(manager.stores) > 1 else "")
    measured = _measured(manager, hit)
    if hit.kept and watched is not None and watched.shown is False:
        what = f"the filter {watched.dropped_by}" if watched.dropped_by else f"the format {watched.__name__}"
        floor = f" ({measured}, floor {watched.floor:g})" if measured and isinstance(watched.floor, int | float) else ""
        return _out(replace(found, stage="format"), wanted, f"it was kept at {rank}, but {what} left it out{floor}")
    if hit.kept and trace.injected:
        return replace(
            found, arrived=True, sentence=f"{wanted.name} arrived: {rank}{_on(hit, measured)}.", stage="fold"
        )
    if hit.kept:
        stage = trace.skipped_at or "format"
        return _out(replace(found, stage=stage), wanted, f"it was kept at {rank}, but {trace.summary}")
    if trace.stage("search").status == "failed":
        return _out(found, wanted, f"the search failed, {trace.reason}")
    by = f", {measured}" if measured else ""
    return _out(found, wanted, _cut(hit, rank, trace.hits, trace.settings.max_entries) + by)


def _out(found: Explanation, wanted: Wanted, reason: str) -> Explanation:
    return replace(found, sentence=f"{wanted.name} did not arrive: {reason}.")


def _measured(manager: HasStores, hit: Hit) -> str:
    """Say how near a hit is by its store's measure, ``similarity 0.31``; "" where that counts words, or is none."""
    kind = next((getattr(store, "score_kind", None) for store in manager.stores if store.name == hit.store), None)
    name = {"bm25": "BM25", "similarity": "similarity", "distance": "distance", "fused": "fused score"}.get(str(kind))
    return "" if name is None or hit.score is None else f"{name} {hit.score:.3g}"


def _on(hit: Hit, measured: str) -> str:
    if measured:
        return f", {measured}"
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


async def of_no_hit(
    manager: HasStores,
    wanted: Wanted,
    trace: InjectionTrace,
    failed_later: Mapping[str, BaseException],
    apart: Sequence[Any] = (),
) -> Explanation:
    """Say why the entry is not among the hits: its store failed, does not return it, is left out, or lacks it.

    Args:
        manager: Whose stores were asked.
        wanted: The entry.
        trace: The injection.
        failed_later: The exceptions of stores that failed when they were asked for more.
        apart: Stores that were not asked.
    """
    assert trace.query is not None
    assert trace.settings is not None
    missing, words, near = compared(manager, wanted.store, trace.query, wanted.content)
    failed = failed_stores(trace)
    stage, advice = "search", ""
    if wanted.store is not None and wanted.store in [store.name for store in apart]:
        searched = ", ".join(repr(store.name) for store in manager.stores)
        stage, missing, words, near = "store", (), (), ()
        reason = f"it is in {wanted.store!r}, which is not among the stores searched ({searched})"
    elif failed and (wanted.store or wanted.named) in (None, *failed):
        names = "; ".join(f"{name!r} raised {cropped(repr(error))}" for name, error in failed.items())
        reason, missing, words, near, advice = f"store {names}", (), (), (), NOTHING_HELPS["store failed"]
    elif wanted.store is not None:
        reason = _not_matched(manager, wanted, trace.query, (missing, words, near), failed_later.get(wanted.store))
    else:
        stage, reason, words, near = "store", await _not_held(manager, wanted), (), ()
        advice = NOTHING_HELPS["unwritten"]
    return Explanation(
        wanted.content,
        arrived=False,
        sentence=f"{wanted.name} did not arrive: {reason}.",
        stage=stage,
        limit=trace.settings.max_entries,
        missing=missing,
        words=words,
        near=near,
        advice=advice,
    )


Words = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]


def _not_matched(manager: HasStores, wanted: Wanted, query: str, words: Words, failure: BaseException | None) -> str:
    store = next(store for store in manager.stores if store.name == wanted.store)
    if not callable(getattr(store, "tokenizer", None)) or matching_by(store, query)(wanted.content):
        if failure is not None:
            return f"{wanted.store!r} did not return it, and when asked for more it raised {cropped(repr(failure))}"
        return f"{wanted.store!r} does not return it for this query"
    held = f"it is in {wanted.store!r}, but " if len(manager.stores) > 1 else "it "
    missing, own, near = words
    if near:
        pairs = "; ".join(f"{quoted(asked, 30)} is not {quoted(said, 30)}" for asked, said in near[:2])
        return f"{held}shares no word with the query: {pairs}"
    return f"{held}shares no word with the query. Searched: {listed(missing)}; it has: {listed(own)}"


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
    seen = all(hasattr(store, "page") and hasattr(store, "get") for store in stores)
    return (
        "no store here holds it"
        + ("" if seen else ", as far as they can be searched")
        + (f"; {unwritten}" if empty else "")
    )


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


def compared(manager: HasStores, store: str | None, query: str, content: str, *, nearly_too: bool = True) -> Words:
    """Return the words that differ, by the tokenizer of the store that holds the content.

    Returns:
        The query's tokens that the content does not hold, those of the content that the query does not hold, and pairs
        of both that nearly match.
    """
    holder = next((held for held in manager.stores if held.name == store), manager.stores[0])
    asked, held = tokens_of(holder, query), set(tokenizer_of(holder)(content))
    missing = tuple([token for token in asked if token not in held])
    if not nearly_too or not callable(getattr(holder, "tokenizer", None)):
        return missing, (), ()
    own = in_order(held.difference(asked), content)
    return missing, own, nearly(missing, own)
