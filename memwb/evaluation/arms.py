"""What settings are compared with: the same pipeline over stores that answer in another way.

An :class:`Arm` is a set of injection settings together with a function that wraps each store before it is asked.
:func:`everything` and :func:`at_random` are the two that put other figures in their place: what the whole memory in
every prompt would cost, and what blind luck would bring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any

from ..catalog import Record
from ..errors import ConfigError
from ..memory import MemoryEntry, MemoryInjectionConfig, SearchOptions
from ..memory.settings import at_least_one
from ..memory.types import identified
from ..stores import Listable, TestMemoryStore

__all__ = ["ALL", "Arm", "Wrap", "at_random", "everything", "tokenized"]

Wrap = Callable[[Any], Any]
"""Takes a store and returns the store that is asked in its place."""

ALL = 1_000_000
"""The ``max_entries`` of :func:`everything`: more than any prompt holds."""


@dataclass(frozen=True)
class Arm:
    """Injection settings, and what is done to each store before it is asked.

    Attributes:
        injection: As ``MemoryManager(injection=...)`` takes it.
        stores: None, a function that wraps a store, or a sequence of them: then every case runs once with each, and
            its figures are the means of these draws.
        over: What is searched in place of the stores that :func:`evaluate` is given, in every form that it takes.
    """

    injection: bool | MemoryInjectionConfig = True
    stores: Wrap | Sequence[Wrap] | None = None
    over: Any = None

    @property
    def draws(self) -> tuple[Wrap, ...]:
        """The functions, one a draw; without any the stores are asked as they are."""
        if self.stores is None:
            return (_as_it_is,)
        return (self.stores,) if callable(self.stores) else tuple(self.stores)


def everything(injection: MemoryInjectionConfig | None = None) -> Arm:
    """Inject all that the stores hold, in insertion order, whatever was asked.

    Its ranking is that order and says nothing; its tokens are what it costs never to miss anything.

    Args:
        injection: Further settings, such as a format; ``max_entries`` is set here.
    """
    return Arm({**(injection or {}), "max_entries": ALL}, _Everything)


def at_random(seed: int = 0, draws: int = 10, injection: MemoryInjectionConfig | None = None) -> Arm:
    """Inject entries drawn by lot, as many as the settings allow.

    The figures are means of ``draws`` runs of every case, so they come near to the expectation but do not equal it:
    over 159 cases and 10 draws recall@5 strays by about .01. A draw depends on the seed, its number, the store's name
    and the query alone: it is the same in every process and on every system.

    Args:
        seed: Another one gives other draws.
        draws: Runs of each case, at least 1.
        injection: Further settings, such as ``max_entries``.

    Raises:
        ConfigError: ``draws`` is no whole number of at least 1.
    """
    at_least_one(draws, "at_random: draws", "draws")
    return Arm(injection or {}, [partial(_Shuffled, seed=seed, draw=draw) for draw in range(draws)])


def tokenized(store: Any, tokenizer: Callable[[str], Any]) -> Any:
    """Return a store that holds another one's entries and searches them with this tokenizer."""
    return _Tokenized(store, tokenizer)


def _as_it_is(store: Any) -> Any:
    return store


class _Everything:
    """A store that answers every query with all that another one holds, in insertion order and without scores."""

    writable = False
    extraction = None

    def __init__(self, store: Any) -> None:
        if not isinstance(store, Listable):
            raise ConfigError(
                f"Store {getattr(store, 'name', store)!r} cannot list its entries (it has no methods count, page and "
                "get), so there is no telling what everything, or a random part of it, would be.",
                key="stores",
                value=store,
            )
        self.name: str = store.name  # type: ignore[attr-defined]
        self.description: str | None = getattr(store, "description", None)
        self.max_search_results: int | None = getattr(store, "max_search_results", None)
        self._store: Listable = store
        self._records: list[Record] | None = None

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        limit = (options or {}).get("max_search_results")
        return [
            identified(MemoryEntry(record.content, metadata=record.metadata), record.id)
            for record in self._ordered(await self._all(), query)[:limit]
        ]

    async def _all(self) -> list[Record]:
        """Read the store once: an evaluation looks at one state of it."""
        if self._records is None:
            self._records = await self._store.page(0, max(1, await self._store.count()))
        return self._records

    def _ordered(self, records: list[Record], query: str) -> list[Record]:
        return records


class _Shuffled(_Everything):
    """A store that answers with another one's entries in an order drawn by lot for each query."""

    def __init__(self, store: Any, seed: int, draw: int) -> None:
        super().__init__(store)
        self._lot = f"{seed}/{draw}/{self.name}/"

    def _ordered(self, records: list[Record], query: str) -> list[Record]:
        lots = [self._drawn(place, query) for place in range(len(records))]
        return [records[place] for _, place in sorted(zip(lots, range(len(records)), strict=True))]

    def _drawn(self, place: int, query: str) -> bytes:
        return blake2b(f"{self._lot}{place}/{query}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


class _Tokenized(_Everything):
    """A store of words with another tokenizer: a copy in memory answers for it."""

    def __init__(self, store: Any, tokenizer: Callable[[str], Any]) -> None:
        super().__init__(store)
        self.tokenizer = tokenizer
        self._copy: TestMemoryStore | None = None

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        return await (await self._made()).search(query, options)

    async def best_match(self, query: str, **meant: Any) -> tuple[int, MemoryEntry] | None:
        return await (await self._made()).best_match(query, **meant)

    async def count_matches(self, query: str) -> int:
        return await (await self._made()).count_matches(query)

    async def count(self, where: str = "") -> int:
        return await self._store.count(where)

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Record]:
        return await self._store.page(offset, limit, sort, where)

    async def get(self, id: str) -> Record | None:
        return await self._store.get(id)

    async def _made(self) -> TestMemoryStore:
        if self._copy is None:
            self._copy = TestMemoryStore.from_records(await self._all(), name=self.name, tokenizer=self.tokenizer)
        return self._copy
