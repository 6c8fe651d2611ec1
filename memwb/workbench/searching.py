"""One text asked in three ways: by the search tool, by the injection, and by each store's own search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .._text import counted, quoted
from ..memory import InjectionTrace, MemoryManager
from ..memory.settings import DEFAULT_MAX_SEARCH_RESULTS

_TEST_STORE_LIMIT = 10
"""Entries that a TestMemoryStore returns where neither the call nor the store says how many."""


@dataclass(frozen=True)
class ComparedEntry:
    """One entry, and which of three ways of asking for the same text brings it.

    Attributes:
        store: The store's name.
        content: Its text.
        rank: Its place in its store's ranking, from 1.
        tool: Whether the search tool returns it.
        injected: Whether the injection brings it to the model.
        reason: Why the two differ about it; "" where they agree.
    """

    store: str
    content: str
    rank: int
    tool: bool
    injected: bool
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """What the search tool returns for a text beside what the injection brings for the same text.

    Attributes:
        text: The text.
        query: What the injection searched for; None where it searched nothing.
        entries: In store order and each store's ranking: what either brings, and what a plain ``store.search`` adds.
        sentence: The outcome in words, with the limits that make the difference.
        trace: The injection.
    """

    text: str
    query: str | None
    entries: tuple[ComparedEntry, ...]
    sentence: str
    trace: InjectionTrace = field(repr=False)

    def __repr__(self) -> str:
        return f"Comparison({self.sentence})"


def is_test_store(store: Any) -> bool:
    """Whether a store is a TestMemoryStore, memwb's or the SDK's, or of a class derived from one."""
    return any(owner.__name__ == "TestMemoryStore" for owner in type(store).__mro__)


async def compared(
    manager: MemoryManager, text: str, trace: InjectionTrace, *, tool: str | None, chosen: Sequence[str]
) -> Comparison:
    """Compare the search tool and the store's own search with an injection of the same text.

    Args:
        manager: Whose stores are asked.
        text: What is searched for.
        trace: The injection for a user who says it.
        tool: The search tool's name; None where the model has none.
        chosen: The names of the stores that the injection asks.
    """
    asking = _Asking(text, trace, tool, frozenset(chosen))
    asking.by_tool = {(entry.store_name, entry.content) for entry in await manager.search(text)}
    entries = [entry for store in manager.stores for entry in await asking.store(store)]
    return Comparison(text, trace.query, tuple(entries), asking.sentence(manager.stores, entries), trace)


class _Asking:
    def __init__(self, text: str, trace: InjectionTrace, tool: str | None, chosen: frozenset[str]) -> None:
        self.text, self.trace, self.tool, self.chosen = text, trace, tool, chosen
        self.by_tool: set[tuple[str | None, str]] = set()
        self.hits = {(hit.store, hit.content): hit for hit in trace.hits}
        self.brought = {key for key, hit in self.hits.items() if hit.kept and trace.injected}
        self.alone = 0  # entries that the stores return by themselves
        self.failed: list[str] = []

    async def store(self, store: Any) -> list[ComparedEntry]:
        """Ask one store by itself, and say of each entry who brings it."""
        ranking: list[Any] = []
        try:
            ranking += await store.search(self.text, None)
        except Exception as error:
            self.failed.append(f"Store {store.name!r} failed: {error!r:.200}.")
        known, found = {(store.name, entry.content) for entry in ranking}, len(ranking)
        self.alone += found
        ranking += [hit.entry for key, hit in self.hits.items() if key[0] == store.name and key not in known]
        return [self._entry(store, entry.content, rank, rank <= found) for rank, entry in enumerate(ranking, 1)]

    def _entry(self, store: Any, content: str, rank: int, by_itself: bool) -> ComparedEntry:
        key = (store.name, content)
        tool, injected = key in self.by_tool, key in self.brought
        reason = "" if tool == injected else self._reason(store, rank, tool, by_itself, key in self.hits)
        return ComparedEntry(store.name, content, rank, tool, injected, reason)

    def _reason(self, store: Any, rank: int, tool: bool, by_itself: bool, found: bool) -> str:
        trace = self.trace
        asked_for = f"the injection searched for {quoted(trace.query or '')}"
        if not tool:
            if not by_itself and trace.query != self.text:
                return f"the text itself does not find it: {asked_for}"
            return f"rank {rank}: the search tool takes {_most(store)} of each store by default"
        if not trace.injected:
            return f"nothing is injected: {trace.summary}"
        if store.name not in self.chosen:
            return "this store is not among those that the injection asks"
        if trace.query != self.text and not found:
            return asked_for
        return f"the injection takes {_limit(trace)} in all, and entries of earlier stores or ranks fill them"

    def sentence(self, stores: Sequence[Any], entries: Sequence[ComparedEntry]) -> str:
        """Say how many each way brings, with its limit, and what else makes the difference."""
        by_tool = counted(sum(entry.tool for entry in entries), "entry", "entries")
        each = " or ".join(str(most) for most in sorted({_most(store) for store in stores}))
        tool = (
            "A search tool, which the model does not have, would return"
            if self.tool is None
            else "The search tool returns"
        )
        alone = " or ".join(str(most) for most in sorted({_own(store) for store in stores if is_test_store(store)}))
        parts = [
            f"{tool} {by_tool} (by default at most {each} of each store), the injection brings "
            f"{sum(entry.injected for entry in entries)} (at most {_limit(self.trace)} in all), store.search alone "
            f"returns {self.alone}{f' (at most {alone} of each store)' if alone else ''}."
        ]
        if not self.trace.injected:
            parts.append(f"Nothing is injected: {self.trace.summary}.")
        elif self.trace.query != self.text:
            parts.append(f"The injection searched for {quoted(self.trace.query or '')}.")
        return " ".join([*parts, *self.failed])


def _most(store: Any) -> int:
    return int(store.max_search_results or DEFAULT_MAX_SEARCH_RESULTS)


def _own(store: Any) -> int:
    return int(store.max_search_results or _TEST_STORE_LIMIT)


def _limit(trace: InjectionTrace) -> int:
    return trace.settings.max_entries if trace.settings else 0
