"""What all calls of an SQLiteMemoryStore go through: transactions, the tokenizer, whose entries are seen."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ... import ranking
from ...errors import ConfigError, DuplicateEntryError
from ...ranking import Tokenizer
from ...sessions.stores._database import Transaction
from .._filters import Narrowed, holds
from .._items import Sources, checked_text, told_by
from . import _rows
from ._file import WHERE, MemoryFile, about, set_about
from ._index import Ranking, Search
from ._rows import Row

_T = TypeVar("_T")

_TOKENIZERS = ("tokenize", "tokenize_any_script", "tokenize_without_stop_words")


class FileAccess:
    """The part of ``SQLiteMemoryStore`` that reads and writes the file."""

    name: str
    path: Path | None
    owner: str | None
    writable: bool
    ranking: Ranking
    _file: MemoryFile
    _given: Tokenizer | None
    _own: Tokenizer | None
    _sources: Sources
    _where: str

    @property
    def tokenizer(self) -> Tokenizer:
        """What turns queries and contents into tokens; of a file that was not read yet, the default."""
        return self._own or ranking.tokenize_any_script

    def close(self) -> None:
        """Close the file; the next call opens it again. A store in memory is empty then."""
        self._file.close()

    async def reindex(self) -> None:
        """Index all entries anew, by the tokenizer that this store was given; it takes about a minute for a million.

        Raises:
            ConfigError, StoreBusyError, DamagedFileError, OSError: As for :meth:`add`.
        """
        self._require_writable("reindex")
        tokenizer = self._given or self.tokenizer

        def reindex(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM words")
            connection.execute("DELETE FROM postings")
            set_about(connection, words=0, tokenizer=_name_of(tokenizer))
            _rows.index_all(connection, tokenizer)
            self._own = tokenizer

        await self._file.run(lambda connection: self._in_transaction(connection, reindex))

    async def _read(self, action: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do something that only reads, and sees one state of the file."""

        def read(connection: sqlite3.Connection) -> _T:
            connection.execute("BEGIN")
            try:
                self._check_tokenizer(connection, writing=False)
                return action(connection)
            finally:
                connection.rollback()

        return await self._file.run(read)

    async def _write(self, action: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do something in one transaction: all of it or nothing."""

        def write(connection: sqlite3.Connection) -> _T:
            self._check_tokenizer(connection, writing=True)
            return action(connection)

        return await self._file.run(lambda connection: self._in_transaction(connection, write))

    @staticmethod
    def _in_transaction(connection: sqlite3.Connection, action: Callable[[sqlite3.Connection], _T]) -> _T:
        with Transaction(connection):
            return action(connection)

    def _check_tokenizer(self, connection: sqlite3.Connection, *, writing: bool) -> None:
        """Take over the tokenizer of the file, or refuse another one."""
        row = connection.execute("SELECT value FROM about WHERE key = 'tokenizer'").fetchone()
        if row is None:
            if writing:
                set_about(connection, tokenizer=_name_of(self.tokenizer))
            return
        own = getattr(ranking, row[0]) if row[0] in _TOKENIZERS else None
        if self._given is None and own is not None:
            self._own = own
        elif self._given is None or _name_of(self._given) != row[0]:
            given = "none was given" if self._given is None else f"{_name_of(self._given)} was given"
            raise ConfigError(
                f"{self._where}: its index is made by the tokenizer {row[0]}, and {given}. Give that one as "
                "tokenizer=, or index the file anew by `await store.reindex()`.",
                key="tokenizer",
                value=self._given,
                allowed=(row[0],),
            )

    def _search(self, connection: sqlite3.Connection, query: str, asked: Narrowed) -> tuple[Search, dict[str, Any]]:
        state = about(connection)
        tokens = sorted({token for token in self.tokenizer(query) if _is_storable(token)})
        return Search(connection, tokens, self.ranking, state, self._allowed(connection, asked)), state

    @staticmethod
    def _allowed(connection: sqlite3.Connection, asked: Narrowed) -> Sequence[int] | None:
        """Return the places of the entries that are searched; None: all."""
        if asked.all:
            return None
        if not _is_storable(asked.owner or ""):
            return []
        clause = "" if asked.owner is None else "WHERE owner = ?"
        values = () if asked.owner is None else (asked.owner,)
        if not asked.metadata:
            return [place for (place,) in connection.execute(f"SELECT place FROM memories {clause}", values)]
        rows = connection.execute(f"SELECT place, metadata FROM memories {clause}", values)
        return [place for place, metadata in rows if metadata and holds(_rows.read_metadata(metadata), asked.metadata)]

    def _confined(self, asked: Narrowed) -> Narrowed:
        if self.owner is None:
            return asked
        return asked._replace(owner=self._owner_of(asked.owner))

    def _owner_of(self, owner: str | None, where: str = "") -> str:
        """Return whose an entry is; "" for nobody's."""
        with told_by(WHERE):
            owner = None if owner is None else checked_text(owner, "owner", where)
        if self.owner is not None and owner not in (None, self.owner):
            told = f"{self._where}: {where}owner is {owner!r:.80}, but this store is confined to {self.owner!r:.80}."
            raise ConfigError(told, key="owner", value=owner, allowed=(self.owner,))
        return owner or self.owner or ""

    def _meant(
        self, connection: sqlite3.Connection, id: str | None, content: str | None, folded: str
    ) -> tuple[str, list[Any]]:
        """Return the clause for entries that are as asked, of this store's owner; values are never part of it."""
        if not all(_is_storable(given) for given in (id or "", content or "", folded)):
            return "WHERE false", []
        parts, values = [], []
        wanted = {"owner": self.owner, "id": id, "digest": None if content is None else _rows.digest_of(content)}
        for column, value in wanted.items():
            if value is not None:
                parts.append(f"{column} = ?")
                values.append(value)
        if folded:
            connection.create_function("memwb_folded", 1, str.casefold, deterministic=True)
            parts.append("instr(memwb_folded(content), ?) > 0")
            values.append(folded)
        return f"WHERE {' AND '.join(parts)}" if parts else "", values

    def _row(self, connection: sqlite3.Connection, id: str) -> Row | None:
        if not _is_storable(id):
            return None
        found = _rows.read(connection, "memories WHERE id = ?", (id,))
        return found[0] if found and self.owner in (None, found[0].owner) else None

    def _check_free(self, connection: sqlite3.Connection, row: Row) -> None:
        """Refuse a text that another entry of its owner holds."""
        holder = _rows.by_owner_and_text(connection, row.owner, row.content)
        if holder is not None:
            raise DuplicateEntryError(holder, self._where, "content")

    def _require_writable(self, method: str) -> None:
        if not self.writable:
            message = f"{self._where}: it is not writable. Build it with writable=True to use {method}()."
            raise ConfigError(message, key="writable", value=self.writable)


def _name_of(tokenizer: Tokenizer) -> str:
    name = getattr(tokenizer, "__qualname__", type(tokenizer).__name__)
    if name in _TOKENIZERS and getattr(ranking, name) is tokenizer:
        return str(name)
    return f"{getattr(tokenizer, '__module__', '')}.{name}"


def _is_storable(text: str) -> bool:
    """Whether UTF-8 can hold a text; what is not so is in no entry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
