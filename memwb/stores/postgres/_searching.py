"""The three searches: by words, by meaning, and both fused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, LiteralString

from ...ranking import fuse
from .._filters import Narrowed
from ._rows import READ, Row, encoded, facets, query_text, read, storable
from ._schema import Schema

if TYPE_CHECKING:
    from psycopg import Connection

DEPTH = 100
"""The least that each of two rankings is read before they are fused."""

MOST_EXACT = 1 << 25
"""Up to so many bytes of vectors (about 20,000 of 384 numbers) each is looked at; beyond, the index finds most."""

_MOST_LOOKED_AT = 1000  # the most that hnsw.ef_search takes
_ITERATES = (0, 8)  # the pgvector that goes on looking in the index while a filter takes too little

Ranked = list[tuple[Row, float]]

_WORDS: LiteralString = (
    "SELECT {read}, ts_rank(t.words, asked.for_words) FROM {table} t, "
    "(SELECT %(asked)s::tsquery AS for_words) asked WHERE t.words @@ asked.for_words AND {narrowed} "
    "ORDER BY ts_rank(t.words, asked.for_words) DESC, t.created_at DESC, t.place DESC LIMIT %(limit)s"
)
# A vector that was made of another text than the entry's is passed over.
_MEANING: LiteralString = (
    "SELECT {read}, 1 - (v.embedding::vector({size}) <=> %(vector)s::vector({size})) FROM {vectors} v "
    "JOIN {table} t ON t.place = v.place AND t.digest = v.digest WHERE v.model = %(model)s AND {narrowed} "
    "ORDER BY {order} LIMIT %(limit)s"
)
_MEANT: LiteralString = (
    "SELECT {read} FROM {table} t, (SELECT %(asked)s::tsquery AS for_words) asked WHERE t.words @@ asked.for_words "
    "AND {narrowed} AND (%(id)s::text IS NULL OR t.id = %(id)s) AND strpos(t.content, %(content)s) > 0 "
    "AND strpos(t.folded, %(where)s) > 0 "
    "ORDER BY ts_rank(t.words, asked.for_words) DESC, t.created_at DESC, t.place DESC"
)
_BEFORE: LiteralString = (
    "SELECT count(*) FROM {table} t, {table} b, (SELECT %(asked)s::tsquery AS for_words) asked "
    "WHERE b.place = %(place)s AND t.words @@ asked.for_words AND {narrowed} "
    "AND (ts_rank(t.words, asked.for_words), t.created_at, t.place) "
    "> (ts_rank(b.words, asked.for_words), b.created_at, b.place)"
)
_COUNT: LiteralString = "SELECT count(*) FROM {table} t WHERE t.words @@ %(asked)s::tsquery AND {narrowed}"
_BY_INDEX: LiteralString = "v.embedding::vector({size}) <=> %(vector)s::vector({size})"
_EXACTLY: LiteralString = "(" + _BY_INDEX + ") + 0"  # no longer the expression of the index


def vector_text(vector: Any) -> str:
    """Write a vector as pgvector reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def narrowing(owner: str | None, metadata: dict[str, Any]) -> tuple[LiteralString, dict[str, Any]]:
    """Return the condition that entries of an owner with some metadata fulfil, and its parameters."""
    condition: LiteralString = "true"
    given: dict[str, Any] = {}
    if owner is not None:
        condition += " AND t.owner = %(owner)s"
        given["owner"] = encoded(owner)
    if metadata:
        # The first finds them by the index; the second is exact: 1 and 1.0 differ, and a list holds nothing but this.
        condition += (
            " AND t.metadata @> %(metadata)s::jsonb AND NOT EXISTS (SELECT 1 FROM jsonb_each(%(metadata)s::jsonb) a "
            "WHERE a.value::text IS DISTINCT FROM (t.metadata -> a.key)::text)"
        )
        given["metadata"] = facets(metadata)
    return condition, given


def by_words(schema: Schema, tokens: Sequence[str], asked: Narrowed, limit: int) -> Callable[[Connection[Any]], Ranked]:
    """Return the search for entries that share most words, of equal ones the latest first."""
    words = query_text(tokens)

    def work(connection: Connection[Any]) -> Ranked:
        if not words:
            return []
        return _rows(schema, connection, _WORDS, asked, {"asked": words, "limit": limit})

    return work


def counted(schema: Schema, tokens: Sequence[str], owner: str | None) -> Callable[[Connection[Any]], int]:
    """Return the count of the entries that share a word."""
    words = query_text(tokens)
    return lambda connection: _number(schema, connection, _COUNT, owner, {"asked": words}) if words else 0


def placed(
    schema: Schema, tokens: Sequence[str], owner: str | None, id: str | None, content: str | None, where: str
) -> Callable[[Connection[Any]], tuple[int, Row] | None]:
    """Return the look for the best entry that is as described, and for its rank among all that share a word.

    The rank is counted in the database: no entry before it is read.
    """
    from psycopg.sql import SQL

    words, text = query_text(tokens), None if content is None else content.strip()
    possible = words and all(storable(given or "") for given in (id, text, where))

    def work(connection: Connection[Any]) -> tuple[int, Row] | None:
        condition, values = narrowing(owner, {})
        given = {"asked": words, "id": encoded(id), "content": encoded(text) or "", "where": encoded(where)}
        statement = schema.sql(_MEANT, read=SQL(READ), narrowed=SQL(condition))
        for row in map(read, connection.execute(statement, {**given, **values})):
            if text in (None, row.content.strip()):
                at = {"asked": words, "place": row.place}
                return _number(schema, connection, _BEFORE, owner, at) + 1, row
        return None

    return work if possible else lambda connection: None


def _number(
    schema: Schema, connection: Connection[Any], text: LiteralString, owner: str | None, given: dict[str, Any]
) -> int:
    from psycopg.sql import SQL

    condition, values = narrowing(owner, {})
    found = connection.execute(schema.sql(text, narrowed=SQL(condition)), {**given, **values}).fetchone()
    return int(found[0]) if found else 0


def by_meaning(
    schema: Schema, vector: Any, asked: Narrowed, limit: int, least: float
) -> Callable[[Connection[Any]], Ranked]:
    """Return the search for entries whose vectors lie nearest, and nearer than the least similarity."""
    from psycopg.sql import SQL

    given = {"vector": vector_text(vector), "model": schema.model, "limit": limit}
    size = SQL(str(len(vector)))

    def work(connection: Connection[Any]) -> Ranked:
        with connection.transaction():
            version, held = _about(connection, schema)
            looked_at = min(max(40, 2 * limit), _MOST_LOOKED_AT)
            connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(looked_at),))
            if version >= _ITERATES:
                connection.execute("SELECT set_config('hnsw.iterative_scan', 'strict_order', true)")
            order = SQL(_EXACTLY if held <= MOST_EXACT else _BY_INDEX).format(size=size)
            ranked = _rows(schema, connection, _MEANING, asked, given, size=size, order=order)
        return [(row, round(score, 6)) for row, score in ranked if score > least]

    return work


def fused(
    words: Callable[[Connection[Any]], Ranked], meaning: Callable[[Connection[Any]], Ranked], limit: int
) -> Callable[[Connection[Any]], Ranked]:
    """Return the fusion of two searches by their places."""

    def work(connection: Connection[Any]) -> Ranked:
        rankings = [search(connection) for search in (words, meaning)]
        rows = {row.place: row for ranking in rankings for row, _ in ranking}
        order = fuse([[row.place for row, _ in ranking] for ranking in rankings])
        return [(rows[place], score) for place, score in order[:limit]]

    return work


def _rows(
    schema: Schema,
    connection: Connection[Any],
    text: LiteralString,
    asked: Narrowed,
    given: dict[str, Any],
    **more: Any,
) -> Ranked:
    from psycopg.sql import SQL

    if asked.owner is not None and not storable(asked.owner):
        return []
    condition, values = narrowing(asked.owner, dict(asked.metadata))
    statement = schema.sql(text, read=SQL(READ), narrowed=SQL(condition), **more)
    return [(read(found), found[8]) for found in connection.execute(statement, {**given, **values})]


def _about(connection: Connection[Any], schema: Schema) -> tuple[tuple[int, ...], int]:
    """Return the version of pgvector, and how many bytes of vectors there are."""
    from psycopg.sql import Identifier

    found = connection.execute(
        "SELECT extversion, pg_table_size(%s::regclass) FROM pg_extension WHERE extname = 'vector'",
        (Identifier(schema.vectors).as_string(connection),),
    ).fetchone()
    return (tuple(map(int, found[0].split(".")[:2])), found[1]) if found else ((0,), 0)
