"""Why an entry reached the model or did not, and the smallest change of settings that brings it in.

Every suggestion has been tried on the same conversation before it is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._text import quoted
from .deeper import Depths, HasStores, OnlyStores, Ranking, matching, ranking_of
from .explanation import NAMED_BEFORE, Explanation, Suggestion
from .injection import run_injection
from .reasons import of_hit, of_no_hit, of_nothing_searched
from .settings import Injection
from .shown import Watched
from .suggestions import Asked, Change, Edits, suggested
from .trace import Hit, InjectionTrace
from .types import Message
from .unwritten import Unwritten, why_unwritten
from .wanted import Target, Wanted, others_of

__all__ = [
    "Change",
    "Edits",
    "Explanation",
    "Ranking",
    "Suggestion",
    "decided",
    "explain",
    "matching",
    "ranking_of",
    "with_suggestions",
]


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
    apart: Sequence[Any] = (),
    writer: Any = None,
    **given: Any,
) -> Explanation:
    """Say whether an entry arrived, and why; no change of settings is tried yet.

    Args:
        manager: Whose stores are asked.
        target: As for ``MemoryManager.why``.
        messages: The conversation before the model call.
        settings: The checked settings, None where injection is off.
        trace: The injection with these settings, where it has been run already.
        apart: Stores that are not asked, in which an entry may be all the same.
        writer: The MemoryManager that writes to the stores; by default ``manager``, where it is one.
        **given: ``state``, ``agent`` and ``call``, as for ``MemoryManager.why``.
    """
    trace = trace or await run_injection(manager.stores, messages, settings, **given)
    asked = Target.of(target)
    searched = trace.query is not None and trace.stage("search").status != "not reached"
    wanted, failures = asked.arrived(trace), {}
    hit = next(filter(wanted.is_hit, trace.hits)) if wanted is not None else None
    if wanted is None:
        depths = await Depths.of(manager.stores, trace) if searched else None
        wanted, hit = await asked.find(manager, depths, trace)
        failures = depths.failures if depths else {}
        if hit is None and wanted.store is None and apart:
            wanted = await asked.elsewhere(apart, trace) or wanted
    if not searched:
        found = of_nothing_searched(wanted, trace)
    elif hit is None:
        found = await of_no_hit(manager, wanted, trace, failures, apart)
    else:
        tried = Asked(manager.stores, messages, settings, (), given)
        found = of_hit(manager, wanted, trace, hit, await _watched(tried, wanted, trace, hit))
    if found.stage == "store" and not wanted.known:
        found = _unwritten(found, why_unwritten(manager if writer is None else writer, wanted.content, messages))
    return replace(found, store=wanted.store, id=wanted.id, _wanted=wanted)


def _unwritten(found: Explanation, why: Unwritten | None) -> Explanation:
    """Add why an entry is in no store."""
    if why is None:
        return found
    return replace(found, sentence=f"{found.sentence.removesuffix('.')}; {why.reason}.", advice=why.advice)


async def _watched(asked: Asked, wanted: Wanted, trace: InjectionTrace, hit: Hit) -> Watched | None:
    """Return what a custom format makes of an entry that it was given and that may be missing in its text."""
    if asked.settings is None or asked.settings.format is None or not hit.kept:
        return None
    given = trace.injected or (trace.skipped_at == "format" and trace.error is None)
    return (await asked.trace(wanted))[1] if given else None


async def with_suggestions(
    explanation: Explanation,
    manager: HasStores,
    messages: Sequence[Message],
    settings: Injection | None,
    *,
    trace: InjectionTrace | None = None,
    apart: Sequence[Any] = (),
    listed: Sequence[Any] | None = None,
    more: Sequence[Change] = (),
    edits: Edits | None = None,
    **given: Any,
) -> Explanation:
    """Return the explanation with the changes of settings that bring its entry in, and with what stands around it.

    Each change is tried in a whole injection of its own; between two of them the event loop is free.

    Args:
        explanation: What :func:`decided` gave for the same stores, messages and settings.
        manager: As for :func:`decided`, like the other arguments.
        messages: The conversation before the model call.
        settings: The checked settings.
        trace: The injection with these settings, where it has been run already.
        apart: As for :func:`decided`: stores that could be searched as well.
        listed: The stores in which others that hold the same text are looked for; by default the manager's.
        more: Further changes to try.
        edits: Gives changes of the entry's text, to be tried where no settings help.
        **given: ``state``, ``agent`` and ``call``.
    """
    wanted = explanation._wanted or Wanted(explanation.target, explanation.id, explanation.store)
    found = await _among(explanation, wanted, manager.stores if listed is None else listed)
    if found.arrived or not wanted.known:
        return found
    trace = trace or await run_injection(manager.stores, messages, settings, **given)
    asked = Asked(manager.stores, messages, settings, tuple(apart), given)
    return replace(
        found,
        before=await _before(found, asked.stores, trace),
        suggestions=await suggested(found, wanted, asked, trace, more, edits),
    )


async def _among(found: Explanation, wanted: Wanted, stores: Sequence[Any]) -> Explanation:
    """Say which of several entries this is, where a part of a text was given that others hold too."""
    total, others = await others_of(stores, wanted)
    if not others:
        return found
    sentence = f"1 of {total:,} entries that hold {quoted(wanted.held, 30)}: {found.sentence}"
    return replace(found, sentence=sentence, others=others, among=total)


async def _before(found: Explanation, stores: Sequence[Any], trace: InjectionTrace) -> tuple[Hit, ...]:
    """Return the hits that an entry's store ranks before it, where the cut parts them."""
    if found.stage != "search" or found.rank is None or found.limit is None or found.rank <= found.limit:
        return ()
    holder = OnlyStores(tuple(store for store in stores if store.name == found.store))
    ranked = await ranking_of(holder, trace.query or "", min(found.rank, NAMED_BEFORE + 1), trace=trace)
    return tuple(hit for hit in ranked if hit.rank < found.rank)[:NAMED_BEFORE]
