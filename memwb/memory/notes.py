"""What surprises in an injection: the documented behaviour that a person would not expect, said in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._text import counted, cropped, estimate_tokens, quoted, visible, xml_forbidden
from ..ranking import STOP_WORDS, STOP_WORDS_NAME
from .trace import Hit, Note

if TYPE_CHECKING:
    from .trace import InjectionTrace

SLOW_SECONDS = 1.0
"""A store that takes longer than this gets a note."""

LARGE_TOKENS = 4000
"""A block estimated above this gets a note: a single huge entry can fill a prompt."""


def stop_words_only(hit: Hit) -> bool:
    """Whether a lexical hit shares nothing with the query but English stop words.

    Only a hit whose score is the number of its matched tokens is lexical; what a semantic store returns is not judged.
    """
    return bool(hit.matched) and hit.score == len(hit.matched) and STOP_WORDS.issuperset(hit.matched)


def notes_of(trace: InjectionTrace, host_placement: str | None = None) -> tuple[Note, ...]:
    """Return the notes of a trace, the most telling first."""
    several = len(trace.answers) > 1
    notes = [
        *_failed_stores(trace),
        *_stop_words(trace),
        *(_starved(trace) if several else ()),
        *(_duplicates(trace) if several else ()),
        *_block(trace),
        *_slow_stores(trace),
        *_placement(trace, host_placement),
    ]
    return tuple(notes)


def _failed_stores(trace: InjectionTrace) -> Iterator[Note]:
    for answer in trace.answers:
        if answer.error is not None:
            raised = cropped(repr(answer.error))
            yield Note("store failed", f"store {answer.store.name!r} raised {raised}; the agent goes on without it")


def _slow_stores(trace: InjectionTrace) -> Iterator[Note]:
    for answer in trace.answers:
        if answer.seconds > SLOW_SECONDS:
            yield Note(
                "store slow", f"store {answer.store.name!r} took {answer.seconds:.1f} s; every model call waits for it"
            )


def _stop_words(trace: InjectionTrace) -> Iterator[Note]:
    kept = [hit for hit in trace.hits if hit.kept]
    noise = tuple(hit for hit in kept if stop_words_only(hit))
    if noise:
        words = ", ".join(dict.fromkeys(word for hit in noise for word in hit.matched))
        of = f"{len(noise)} of {counted(len(kept), 'kept entry', 'kept entries')}"
        yield Note("stop words", f"{of} matched by stop words alone ({words}); list: {STOP_WORDS_NAME}", noise)


def _starved(trace: InjectionTrace) -> Iterator[Note]:
    """Stores registered later lose their entries to the cut, whatever their scores."""
    fed = dict.fromkeys(hit.store for hit in trace.hits if hit.kept)
    lost: dict[str, list[Hit]] = {}
    for hit in trace.hits:
        if fed and hit.store not in fed:
            lost.setdefault(hit.store, []).append(hit)
    before = ", ".join(map(repr, fed))
    for store, hits in lost.items():
        count = counted(len(hits), "entry", "entries")
        text = f"{count} of {store!r} cut: {before}, registered before it, filled the places"
        yield Note("starved", text, tuple(hits))


def _duplicates(trace: InjectionTrace) -> Iterator[Note]:
    same: dict[str, list[Hit]] = {}
    for hit in trace.hits:
        if hit.kept:
            same.setdefault(hit.content.strip(), []).append(hit)
    for content, hits in same.items():
        stores = list(dict.fromkeys(hit.store for hit in hits))
        if len(stores) > 1:
            yield Note(
                "duplicate", f"{quoted(content)} takes a place for each of {', '.join(map(repr, stores))}", tuple(hits)
            )


def _block(trace: InjectionTrace) -> Iterator[Note]:
    if trace.text is None:
        return
    forbidden = xml_forbidden(trace.text)
    if forbidden:
        shown = ", ".join(map(visible, forbidden))
        holders = tuple(hit for hit in trace.hits if hit.kept and xml_forbidden(hit.content))
        yield Note("forbidden characters", f"the block holds characters that XML forbids: {shown}", holders)
    tokens = estimate_tokens(trace.text)
    if tokens > LARGE_TOKENS:
        longest = sorted((hit for hit in trace.hits if hit.kept), key=lambda hit: -len(hit.content))[:1]
        yield Note(
            "large block", f"the block has about {tokens:,} tokens ({len(trace.text):,} characters)", tuple(longest)
        )


def _placement(trace: InjectionTrace, host_placement: str | None) -> Iterator[Note]:
    if host_placement and trace.settings and trace.settings.placement != host_placement:
        yield Note(
            "placement",
            f"the installed Strands SDK does {host_placement!r}, these settings {trace.settings.placement!r}",
        )
