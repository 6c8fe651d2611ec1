"""SessionSearch: what was said in sessions, searched as long-term memory."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..catalog import Record, SessionCatalog, is_session_store, metadata_of, store_of
from ..errors import ConfigError
from ..memory.settings import at_least_one, checked_options
from ..memory.types import RELEVANCE_SCORE, MemoryEntry, SearchOptions, identified
from ..ranking import Index, Tokenizer, tokenize
from ._session_exchange import SessionExchange, exchange, fault, take_back
from .protocols import ScoreKind

if TYPE_CHECKING:
    from .. import sessions

PREFIX = "SessionSearch: "
DEFAULT_MAX_SEARCH_RESULTS = 10


class SessionSearch:
    """A read-only store of long-term memory over the entries of sessions, for a manager, a workbench or an evaluation.

    It ranks as TestMemoryStore does: by how many distinct words of the query an entry holds, of equal ones the most
    recent first. Each search sees what the sessions hold by then; the index of their words is kept, so that only what
    is new has to be read word by word. An entry comes with its ``role``, ``user_id`` and ``session_id`` as metadata.

    ::

        past = SessionSearch(SQLiteStore("memory.db"), user_id="alice")
        manager = MemoryManager([notes, past])

    Args:
        session_store: The store of sessions: memwb's, or any that follows the protocol; or a Memory over one.
        session_id: Only this session; a store that cannot list its sessions needs it.
        user_id: Only this user. Without it, everybody's entries are found.
        name: Names the store in tools, blocks and options.
        description: Told to the model.
        max_search_results: Entries that a search returns where it does not say; 10 where it is left out.
        tokenizer: Gives the words of a text, see :mod:`memwb.ranking`.

    Raises:
        ConfigError: ``session_store`` is none, or a setting has a wrong value.
    """

    writable = False
    extraction = None
    score_kind: ScoreKind = "count"

    def __init__(
        self,
        session_store: Any,
        session_id: str | None = None,
        user_id: str | None = None,
        *,
        name: str = "sessions",
        description: str | None = None,
        max_search_results: int | None = None,
        tokenizer: Tokenizer = tokenize,
    ) -> None:
        session_store = store_of(session_store)
        if not is_session_store(session_store):
            raise ConfigError(
                f"{PREFIX}{type(session_store).__name__} is no store of sessions; give an object with get_entries, "
                'get_entry and delete_session, such as SQLiteStore("memory.db").',
                key="session_store",
                value=session_store,
            )
        if not isinstance(name, str) or not name.strip():
            raise ConfigError(f"{PREFIX}name is {name!r:.80}; it must be a text.", key="name", value=name)
        for key, value in (("session_id", session_id), ("user_id", user_id)):
            if value is not None and not (isinstance(value, str) and value):
                told = f"{PREFIX}{key} is {value!r:.80}; it must be a text that is not empty, or None for all."
                raise ConfigError(told, key=key, value=value)
        if not callable(tokenizer):
            told = f"{PREFIX}tokenizer is {tokenizer!r:.80}; it must be a function from a text to its words."
            raise ConfigError(told, key="tokenizer", value=tokenizer)
        if max_search_results is not None:
            at_least_one(max_search_results, f"{PREFIX}max_search_results", "max_search_results")
        self.name, self.description, self.max_search_results = name, description, max_search_results
        self.tokenizer = tokenizer
        self._views: dict[Tokenizer, SessionSearch] = {}
        self._catalog = SessionCatalog(session_store, session_id, user_id)
        self._ordered: tuple[object, list[sessions.MemoryEntry]] = (None, [])  # what the catalog gave, in order of time
        self._indexed: tuple[list[tuple[str | None, str]], Index, object] = ([], Index([]), None)

    @property
    def damage(self) -> list[tuple[str, str, str]]:
        """What the store of sessions has met and cannot read: file or table, line or key, and the reason."""
        return list(getattr(self._catalog.store, "damage", ()))

    def __repr__(self) -> str:
        return f"SessionSearch({self.name!r} over {self._catalog!r})"

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the entries that share most words with the query; of equal ones, the most recent first.

        Args:
            query: Its words are looked for. Without any word nothing is found.
            options: ``max_search_results``, the most entries to return, at least 1. Default: the store's, else 10.

        Returns:
            New entries with their id and, in their metadata, what belongs to the message and ``_relevanceScore``.

        Raises:
            ConfigError: An unknown option, a bad limit, or a query that is no text.
        """
        limit = checked_options(options, ("max_search_results",), f"{PREFIX}search").get("max_search_results")
        if limit is not None:
            at_least_one(limit, f"{PREFIX}max_search_results", "max_search_results")
        tokens = self._tokens(query)
        if not tokens:
            return []
        entries = await self._entries()
        found = self._index(entries).top(tokens, limit or self.max_search_results or DEFAULT_MAX_SEARCH_RESULTS)
        return [_found(entries[place], score) for place, score in found]

    async def count_matches(self, query: str) -> int:
        """Return how many entries share a word with the query: what :meth:`search` finds without any limit."""
        tokens = self._tokens(query)
        return self._index(await self._entries()).count(tokens) if tokens else 0

    async def count(self, where: str = "") -> int:
        """Return how many entries there are, or how many hold ``where`` in their text, whatever the case."""
        return await self._catalog.count(where)

    async def page(self, offset: int, limit: int, sort: str | None = None, where: str = "") -> list[Record]:
        """Return some of the entries as records, by session, user and time or sorted; see ``SessionCatalog.page``."""
        return await self._catalog.page(offset, limit, sort, where)

    async def get(self, id: str) -> Record | None:
        """Return the entry with this id as a record, or None where there is none in what is searched."""
        return await self._catalog.get(id)

    @property
    def fixed(self) -> str:
        """Why entries cannot be exchanged here; "" where they can."""
        return fault(self._catalog.store)

    async def exchange(
        self, before: Sequence[Record], after: Sequence[Record], *, only_check: bool = False
    ) -> SessionExchange:
        """Put entries in the place of others: each session in one write, and all of the sessions or none.

        An entry of both lists gets the text and metadata of the second, and its message data follows; one of
        ``before`` alone is removed, one of ``after`` alone is added: to the session that its metadata name as
        ``session_id``. What others add to these sessions meanwhile stays.

        Args:
            before: Entries as they were seen, as records. If one is not so any more, nothing is written.
            after: What there is to be of them.
            only_check: Write nothing, only see whether it could be done now.

        Returns:
            What was done, for :meth:`take_back`.

        Raises:
            ConflictError: An entry of ``before`` is gone, or was changed; it says which, and how.
            DuplicateEntryError: An id is taken. A ValueError.
            ConfigError: An entry cannot be stored, or the store cannot change a session as a whole. A ValueError.
        """
        if self.fixed:
            raise ConfigError(f"{PREFIX}entries cannot be exchanged here: {self.fixed}.", key="session_store")
        return await exchange(self._catalog, before, after, only_check=only_check)

    async def take_back(self, done: SessionExchange) -> None:
        """Undo an exchange, with times and message data as they were; what others have written meanwhile stays.

        Raises:
            ConflictError: One of the exchanged entries was changed since then. Nothing is written.
        """
        await take_back(self._catalog, done)

    def with_tokenizer(self, tokenizer: Tokenizer) -> SessionSearch:
        """Return a view that searches the same entries by other tokens, for trying a tokenizer out."""
        view = self._views.get(tokenizer)
        if view is None:
            view = self._views[tokenizer] = copy.copy(self)
            view.tokenizer, view._views, view._indexed = tokenizer, {}, ([], Index([]), None)
        return view

    def _tokens(self, query: str) -> set[str]:
        if not isinstance(query, str):
            raise ConfigError(f"{PREFIX}query must be a text, not {query!r:.80}.", key="query", value=query)
        return set(self.tokenizer(query))

    async def _entries(self) -> list[sessions.MemoryEntry]:
        """Return the entries in order of time; of equal ones those that the store gives first come first."""
        entries = await self._catalog.entries()
        if entries is not self._ordered[0]:
            self._ordered = entries, sorted(entries, key=lambda entry: entry.created_at or 0.0)
        return self._ordered[1]

    def _index(self, entries: Sequence[sessions.MemoryEntry]) -> Index:
        """Return an index over these entries: the one there is, that with what is new at the end, or a new one."""
        known, index, of = self._indexed
        if entries is of:
            return index
        now = [(entry.memory_id, entry.content) for entry in entries]
        if now == known:
            self._indexed = known, index, entries
            return index
        start = len(known)
        more = None
        if known and now[:start] == known:
            more = index.extended([self.tokenizer(content) for _, content in now[start:]], _ranks(start, len(now)))
        if more is None:
            more = Index.build(lambda place: self.tokenizer(now[place][1]), _ranks(0, len(now)))
        self._indexed = now, more, entries
        return more


def _ranks(start: int, stop: int) -> list[str]:
    """Return times for entries that are in order of time: their places."""
    return [f"{place:012}" for place in range(start, stop)]


def _found(entry: sessions.MemoryEntry, score: int) -> MemoryEntry:
    metadata = {**metadata_of(entry), "role": entry.role, "user_id": entry.user_id, RELEVANCE_SCORE: score}
    return identified(MemoryEntry(entry.content, metadata=metadata), entry.memory_id)
