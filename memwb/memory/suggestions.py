"""Changes of settings that may bring an entry in, each tried in a whole injection before it is suggested."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._text import counted, quoted, shortened
from .deeper import matching
from .explanation import Explanation, Suggestion
from .injection import run_injection
from .messages import copied, latest_index
from .queries import SUGGESTED
from .settings import INJECTION_KEYS, Injection, resolve_injection
from .shown import Watched, filters_of, name_of, without_filter
from .trace import InjectionTrace, in_order, tokenizer_of, tokens_of
from .types import Message
from .wanted import Wanted

if TYPE_CHECKING:
    from ..ranking import Tokenizer

Edits = Callable[[], Awaitable[Sequence["Change"]]]
"""Gives changes of an entry's text that are worth trying."""

MAX_ENTRIES_TRIED = 20
"""No suggestion raises max_entries above this: a block of everything is no finding."""

WORDS_TRIED = 4
"""So many words of the entry are tried one by one, to find the one that brings the fewest others along."""

WORDS_COUNTED = 20
"""Of so many words a store is asked how many of its entries hold them, to try the rare ones."""

NAMED = 3
"""So many of the entries that come along are named."""


@dataclass(frozen=True)
class Change:
    """A change that is worth trying.

    Attributes:
        words: The change in words.
        settings: As for :class:`Suggestion`.
        stores: The stores as they are after the change, where it changes an entry.
        wanted: The entry after the change, where it is changed.
    """

    words: str
    settings: dict[str, Any]
    stores: tuple[Any, ...] | None = None
    wanted: Wanted | None = None


@dataclass(frozen=True)
class Asked:
    """What a change is tried on.

    Attributes:
        stores: The stores that are searched, in order.
        messages: The conversation before the model call.
        settings: The settings, None where injection is off.
        apart: Stores that could be searched as well.
        given: Further arguments of the injection.
    """

    stores: tuple[Any, ...]
    messages: Sequence[Message]
    settings: Injection | None
    apart: tuple[Any, ...]
    given: dict[str, Any]

    def changed(self, change: dict[str, Any]) -> Asked:
        """Return the same with a change."""
        plain = {key: value for key, value in change.items() if key in INJECTION_KEYS}
        settings = resolve_injection(change["injection"]) if "injection" in change else self.settings
        stores = self.stores
        if "stores" in change:
            by_name = {store.name: store for store in (*self.stores, *self.apart)}
            stores = tuple(by_name[name] for name in change["stores"])
        if "tokenizer" in change:
            stores = tuple(retokenized(store, tokenizer_named(change["tokenizer"])) for store in stores)
        return replace(
            self,
            stores=stores,
            messages=change.get("messages", self.messages),
            settings=settings and replace(settings, **plain),
        )

    async def trace(self, wanted: Wanted) -> tuple[InjectionTrace, Watched | None]:
        """Run the injection, and see whether a custom format shows the entry."""
        settings, watched = self.settings, None
        if settings is not None and settings.format is not None:
            watched = Watched(settings.format, wanted)
            settings = replace(settings, format=watched)
        return await run_injection(self.stores, self.messages, settings, **self.given), watched


TOKENIZERS = {
    "words": "tokenize",
    "any script": "tokenize_any_script",
    "without stop words": "tokenize_without_stop_words",
}
"""The tokenizers that can be set by name, and their names in :mod:`memwb.ranking`; the first is the documented one."""


def tokenizer_named(name: str) -> Tokenizer:
    """Return a tokenizer by its name."""
    from .. import ranking

    return getattr(ranking, TOKENIZERS[name])  # type: ignore[no-any-return]


def retokenized(store: Any, tokenizer: Tokenizer | None) -> Any:
    """Return a view of the store that searches with another tokenizer; the store itself where it takes none."""
    if tokenizer is None:
        return store
    return store.with_tokenizer(tokenizer) if callable(getattr(store, "with_tokenizer", None)) else store


async def suggested(
    found: Explanation,
    wanted: Wanted,
    asked: Asked,
    before: InjectionTrace,
    more: Sequence[Change] = (),
    edits: Edits | None = None,
) -> tuple[Suggestion, ...]:
    """Try what may bring the entry in; the smallest change comes first.

    First come settings: one of them, else several at once. Only where none of these helps the entry's text is changed.
    What the user would have to say is no fix, and comes last. Among each of these, the smallest is the change that
    brings the fewest other entries along, then the one with the better place. What a change drops is told beside it.

    Args:
        found: Why it did not arrive.
        wanted: The entry.
        asked: What the changes are tried on.
        before: The injection as it is.
        more: Further changes to try.
        edits: Gives changes of the entry's text to try.
    """

    async def tried(changes: Iterable[Change]) -> list[Suggestion]:
        return sorted([one async for one in _tried(wanted, asked, changes, before)], key=_size)

    fixes = await tried((*_plain(found, wanted, asked, before), *more))
    if not fixes:
        fixes = await tried([change async for change in _several(found, wanted, asked, before)])
    if not fixes and edits is not None:
        fixes = (await tried(await edits()))[:1]
    words = await _telling(wanted, asked, before)
    said = (await tried(_says(found, words, asked, before)))[:1]
    if not fixes and not said:
        said = await tried(_last(found, words, asked, before))
    return (*fixes, *said)


def _size(suggestion: Suggestion) -> tuple[int, int]:
    return suggestion.also, suggestion.rank


async def _tried(
    wanted: Wanted, asked: Asked, changes: Iterable[Change], before: InjectionTrace
) -> AsyncIterator[Suggestion]:
    import asyncio

    others = (hit for hit in before.hits if hit.kept and not wanted.is_hit(hit)) if before.injected else ()
    present = dict.fromkeys((hit.store, hit.content) for hit in others)
    for change in changes:
        await asyncio.sleep(0)
        changed = asked.changed(change.settings)
        meant = change.wanted or wanted
        trace, watched = await replace(changed, stores=change.stores or changed.stores).trace(meant)
        place = _place(meant, trace)
        if place is None or not trace.injected or (watched is not None and watched.shown is False):
            continue
        new = dict.fromkeys((hit.store, hit.content) for hit in trace.hits if hit.kept and not meant.is_hit(hit))
        brings = tuple(shortened(content, 30) for store, content in new if (store, content) not in present)
        drops = tuple(shortened(content, 30) for store, content in present if (store, content) not in new)
        text = f"{change.words} → rank {place}{_beside(brings, drops)}"
        yield Suggestion(text, change.settings, place, len(brings), brings, drops)


def _place(wanted: Wanted, trace: InjectionTrace) -> int | None:
    """Return the entry's place among those that were kept, from 1."""
    kept = (hit for hit in trace.hits if hit.kept)
    return next((at for at, hit in enumerate(kept, 1) if wanted.is_hit(hit)), None)


def _beside(brings: Sequence[str], drops: Sequence[str]) -> str:
    """Say what comes in with it, and what goes out for it."""
    told = []
    if brings:
        told.append(f"and {counted(len(brings), 'other new entry', 'other new entries')}: {_names(brings)}")
    if drops:
        told.append(f"without {counted(len(drops), 'entry that arrives', 'entries that arrive')} now: {_names(drops)}")
    return f" ({'; '.join(told)})" if told else ""


def _names(texts: Sequence[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts[:NAMED]) + (", …" if len(texts) > NAMED else "")


# -- what is tried --------------------------------------------------------------------------------------------------


def _plain(found: Explanation, wanted: Wanted, asked: Asked, before: InjectionTrace) -> Iterator[Change]:
    """Changes of one setting."""
    settings = asked.settings
    if settings is None:
        yield Change("injection on", {"injection": True})
        return
    if found.stage == "trigger":
        if settings.trigger != "everyTurn":
            yield Change("trigger everyTurn", {"trigger": "everyTurn"})
        return
    if found.stage == "format":
        yield from _formats(settings)
        if before.error is not None:
            return
    for words, query in SUGGESTED.items():
        if settings.query is not query:
            yield Change(words, {"query": query})
    if found.stage == "query":
        return
    if wanted.needed is not None and settings.max_entries < wanted.needed <= MAX_ENTRIES_TRIED:
        yield Change(f"max_entries {wanted.needed}", {"max_entries": wanted.needed})
    yield from _orders(wanted, asked, before)
    if _more_by("any script", wanted, asked, before):
        yield Change("tokenizer: any script", {"tokenizer": "any script"})


def _formats(settings: Injection) -> Iterator[Change]:
    for name in dict.fromkeys(map(name_of, filters_of(settings.format))):
        yield Change(f"without the filter {name}", {"format": without_filter(settings.format, name)})
    if settings.format is not None:
        yield Change("the default format", {"format": None})


def _orders(wanted: Wanted, asked: Asked, before: InjectionTrace) -> Iterator[Change]:
    """The entry's store first, or without those that took the places before it."""
    names = [store.name for store in asked.stores]
    name = wanted.store
    if name in [store.name for store in asked.apart]:
        yield Change(f"stores: {name} too", {"stores": [*names, name]})
        yield Change(f"stores: {name} first", {"stores": [name, *names]})
        return
    took = [hit.store for hit in before.hits if hit.kept and hit.store != name]
    before_it = names[: names.index(name)] if name in names else []
    if wanted.needed is None or not set(took) & set(before_it):
        return
    yield Change(f"stores: {name} first", {"stores": [name, *(other for other in names if other != name)]})
    for other in dict.fromkeys(took):
        if other in before_it:
            yield Change(f"stores: without {other}", {"stores": [each for each in names if each != other]})


def _more_by(name: str, wanted: Wanted, asked: Asked, before: InjectionTrace) -> bool:
    """Whether the entry shares more words with the query by another tokenizer, which its store takes."""
    holder = next((store for store in asked.stores if store.name == wanted.store), None)
    if holder is None or before.query is None or not callable(getattr(holder, "with_tokenizer", None)):
        return False
    tokenizer, own = tokenizer_named(name), tokenizer_of(holder)
    if tokenizer is own:
        return False
    return len(_shared(tokenizer, before.query, wanted)) > len(_shared(own, before.query, wanted))


def _shared(tokenizer: Any, query: str, wanted: Wanted) -> set[str]:
    return set(tokenizer(query)) & set(tokenizer(wanted.content))


def _says(found: Explanation, words: Sequence[str], asked: Asked, before: InjectionTrace) -> Iterator[Change]:
    """One more word in what the user says; of several, only the one that brings the fewest others along is told."""
    if found.stage in ("search", "query") and before.error is None:
        near = [other for _, other in found.near]
        for word in dict.fromkeys((*near, *words[:WORDS_TRIED])):
            yield from _saying(word, asked)


async def _telling(wanted: Wanted, asked: Asked, before: InjectionTrace) -> list[str]:
    """Return the words of the entry that the query lacks, rare ones first, stop words where there are no others."""
    from ..ranking import STOP_WORDS

    holder = next((store for store in asked.stores if store.name == wanted.store), None)
    if holder is None or not callable(getattr(holder, "tokenizer", None)):
        return []
    own = set(tokenizer_of(holder)(wanted.content)).difference(tokens_of(holder, before.query or ""))
    words = sorted(in_order(own, wanted.content), key=len, reverse=True)
    words = [word for word in words if word not in STOP_WORDS] or words
    held = {word: await matching(holder, word) or 0 for word in words[:WORDS_COUNTED]}
    return sorted(held, key=held.__getitem__)


def _saying(words: str, asked: Asked) -> Iterator[Change]:
    """The conversation with words at the end of what the user said last."""
    at = latest_index(asked.messages, "user")
    if at is None:
        return
    message = copied(asked.messages[at])
    block = next((block for block in reversed(message["content"]) if isinstance(block.get("text"), str)), None)
    if block is not None:
        block["text"] = f"{block['text']} {words}".strip()
        messages = [*asked.messages[:at], message, *asked.messages[at + 1 :]]
        yield Change(f"the user would have to say {quoted(words, 40)}", {"messages": messages})


def _last(found: Explanation, words: Sequence[str], asked: Asked, before: InjectionTrace) -> Iterator[Change]:
    """Several words at once, where no other change helps."""
    if words and found.stage in ("search", "query") and before.error is None:
        yield from _saying(" ".join(words[:WORDS_TRIED]), asked)


async def _several(found: Explanation, wanted: Wanted, asked: Asked, before: InjectionTrace) -> AsyncIterator[Change]:
    """Two or three settings at once, where no single one helps: when, what and how much is searched."""
    if asked.settings is None or found.stage not in ("trigger", "query", "search") or before.error is not None:
        return
    begins = "trigger everyTurn, " if found.stage == "trigger" else ""
    always = {"trigger": "everyTurn"} if begins else {}
    for name, query in SUGGESTED.items():
        change = {**always, "query": query}
        if begins:
            yield Change(f"{begins}{name}", change)
        trace, _ = await asked.changed({**change, "max_entries": MAX_ENTRIES_TRIED}).trace(wanted)
        place = _place(wanted, trace)
        if place is not None and place > asked.settings.max_entries:
            yield Change(f"{begins}{name}, max_entries {place}", {**change, "max_entries": place})
