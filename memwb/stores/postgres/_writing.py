"""Writes, each in one transaction: all of it or nothing.

Two writers may write the same text at the same moment. The unique index lets one of them through; the other begins
again, and finds the text held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, LiteralString

from ...catalog import Record
from ...errors import ConflictError, DuplicateEntryError, EntryNotFoundError
from .._exchange import difference
from .._exchanged import Exchanged
from ._rows import COLUMNS, READ, Row, decoded, encoded, read, storable
from ._schema import Schema

if TYPE_CHECKING:
    from psycopg import Connection

_TRIES = 20
"""So often a write is begun that always meets another one."""

_VECTOR = ("place", "model", "digest", "embedding")

Vectors = Mapping[str, str]
"""Texts, and their vectors as Postgres reads them."""


@dataclass
class PostgresExchange(Exchanged):
    """What an exchange of a PostgresMemoryStore wrote, with its rows."""

    old: dict[str, Row] = field(default_factory=dict, repr=False)


def inserted(
    connection: Connection[Any],
    schema: Schema,
    rows: Sequence[Row],
    vectors: Vectors,
    new_id: Callable[[], str],
    where: str,
) -> list[tuple[str, bool]]:
    """Add rows whose text is not held yet.

    Returns:
        For each row the id of the one that holds its text, and whether that was there before.

    Raises:
        DuplicateEntryError: An id is taken. Nothing is written.
    """
    import psycopg

    for tries in range(_TRIES):
        try:
            with connection.transaction():
                results, new = _told_apart(connection, schema, rows, new_id, where)
                _copy(connection, schema, new, vectors)
                return results
        except (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected):
            if tries == _TRIES - 1:
                raise
    raise AssertionError


def _told_apart(
    connection: Connection[Any], schema: Schema, rows: Sequence[Row], new_id: Callable[[], str], where: str
) -> tuple[list[tuple[str, bool]], list[Row]]:
    given = [row.id for row in rows if row.id]
    taken = _ids(connection, schema, given)
    for id in given:
        if id in taken:
            raise DuplicateEntryError(id, where)
        taken.add(id)
    statement = schema.sql("SELECT digest, id FROM {table} WHERE digest = ANY(%s)")
    digests = [row.digest for row in rows]
    held = {bytes(digest): decoded(id) for digest, id in connection.execute(statement, (digests,))}
    results, new = [], []
    for row, digest in zip(rows, digests, strict=True):
        if digest in held:
            results.append((held[digest], True))
            continue
        id = row.id or _untaken(connection, schema, taken, new_id, where)
        held[digest] = id
        results.append((id, False))
        new.append(replace(row, id=id))
    return results, new


def _ids(connection: Connection[Any], schema: Schema, ids: Sequence[str]) -> set[str]:
    if not ids:
        return set()
    statement = schema.sql("SELECT id FROM {table} WHERE id = ANY(%s)")
    return {decoded(id) for (id,) in connection.execute(statement, (list(map(encoded, ids)),))}


def _untaken(
    connection: Connection[Any], schema: Schema, taken: set[str], new_id: Callable[[], str], where: str
) -> str:
    """Return a new id. Whether the table has it, the index says; a counter that began anew is asked for more."""
    id = new_id()
    while id in taken or (len(id) != _UUID and _ids(connection, schema, [id])):
        taken.add(id)
        following = new_id()
        if following == id:
            raise DuplicateEntryError(id, where)
        id = following
    taken.add(id)
    return id


_UUID = 36  # characters: what is that long is no counter, and not asked for one by one


def _copy(connection: Connection[Any], schema: Schema, rows: Sequence[Row], vectors: Vectors) -> None:
    """Write rows, all at once, and their vectors."""
    for placed in (False, True):
        some = [row for row in rows if (row.place is not None) == placed]
        if not some:
            continue
        columns = [name for name in COLUMNS if placed or name != "place"]
        with connection.cursor().copy(schema.copying(columns)) as copy:
            for row in some:
                values = {**row.values(), "place": row.place}
                copy.write_row([values[name] for name in columns])
    if vectors and rows:
        statement = schema.sql("SELECT place, digest FROM {table} WHERE digest = ANY(%s)")
        places = {bytes(digest): place for place, digest in connection.execute(statement, ([r.digest for r in rows],))}
        with connection.cursor().copy(schema.copying(_VECTOR, vectors=True)) as copy:
            for row in rows:
                copy.write_row((places[row.digest], schema.model, row.digest, vectors[row.content]))


def with_vectors(connection: Connection[Any], schema: Schema, rows: Sequence[Row], vectors: Vectors) -> int:
    """Write the vectors of entries that are there already; return how many there were."""
    statement = schema.sql(
        "INSERT INTO {vectors} (place, model, digest, embedding) "
        "SELECT t.place, %s, t.digest, %s::vector FROM {table} t WHERE t.place = %s AND t.digest = %s "
        "ON CONFLICT (place, model) DO UPDATE SET digest = excluded.digest, embedding = excluded.embedding"
    )
    given = [(schema.model, vectors[row.content], row.place, row.digest) for row in rows if row.content in vectors]
    cursor = connection.cursor()
    cursor.executemany(statement, given)
    return max(cursor.rowcount, 0)


def updated(
    connection: Connection[Any],
    schema: Schema,
    id: str,
    owner: str | None,
    changed: Callable[[Row], Row],
    vectors: Vectors,
    where: str,
) -> Row:
    """Change the row with an id; one that stays as it is is not written."""
    import psycopg

    new = None
    try:
        with connection.transaction():
            rows = _locked(connection, schema, [id])
            if not rows or owner not in (None, rows[0].owner):
                raise EntryNotFoundError(id, where)
            new = changed(rows[0])
            if new != rows[0]:
                _rewrite(connection, schema, new)
                with_vectors(connection, schema, [new], vectors)
            return new
    except psycopg.errors.UniqueViolation:
        assert new is not None
        raise DuplicateEntryError(holder_of(connection, schema, new), where, "content") from None


def _rewrite(connection: Connection[Any], schema: Schema, row: Row) -> None:
    values = row.values()
    names: LiteralString = (
        "digest = %(digest)s, content = %(content)s, folded = %(folded)s, metadata = %(metadata)s::jsonb, "
        "metadata_text = %(metadata_text)s, updated_at = %(updated_at)s, words = %(words)s::tsvector"
    )
    connection.execute(
        schema.sql("UPDATE {table} SET " + names + " WHERE place = %(place)s"), {**values, "place": row.place}
    )


def holder_of(connection: Connection[Any], schema: Schema, row: Row) -> str:
    """Return the id of the entry that holds a text; "?" where it is gone by now."""
    statement = schema.sql("SELECT id FROM {table} WHERE digest = %s")
    found = connection.execute(statement, (row.digest,)).fetchone()
    return decoded(found[0]) if found else "?"


def _locked(connection: Connection[Any], schema: Schema, ids: Sequence[str]) -> list[Row]:
    from psycopg.sql import SQL

    statement = schema.sql(
        "SELECT {read} FROM {table} t WHERE t.id = ANY(%s) ORDER BY t.place FOR UPDATE", read=SQL(READ)
    )
    return [read(found) for found in connection.execute(statement, ([encoded(id) for id in ids if storable(id)],))]


def exchanged(
    connection: Connection[Any],
    schema: Schema,
    before: Sequence[Record],
    after: Sequence[Row],
    vectors: Vectors,
    now: datetime,
    where: str,
    name: str,
    *,
    owner: str | None,
    only_check: bool,
) -> PostgresExchange:
    """Put rows in the place of those that were seen."""
    with connection.transaction(force_rollback=only_check):
        held = _as_seen(connection, schema, before, where, name, owner)
        wanted = [_kept(row, held.get(row.id), now) for row in after]
        taken = _ids(connection, schema, [row.id for row in after if row.id not in held])
        if taken:
            raise DuplicateEntryError(min(taken), where)
        written = _replaced(connection, schema, list(held.values()), wanted, vectors, where)
    records = {row.id: row.record(name) for row in written}
    return PostgresExchange(tuple(before), tuple(records[row.id] for row in after), held)


def _kept(row: Row, old: Row | None, now: datetime) -> Row:
    """Return a row as it is to be: of what was there, all stays but text and metadata."""
    if old is None:
        return row
    new = replace(old, content=row.content, metadata=row.metadata)
    return new if new == old else replace(new, updated_at=now)


def taken_back(
    connection: Connection[Any],
    schema: Schema,
    done: PostgresExchange,
    vectors: Vectors,
    where: str,
    name: str,
    owner: str | None,
) -> None:
    """Undo an exchange."""
    with connection.transaction():
        held = _as_seen(connection, schema, done.after, where, name, owner)
        back = _ids(connection, schema, [id for id in done.old if id not in held])
        if back:
            raise ConflictError(where, [(id, "is there again") for id in sorted(back)])
        again = list(done.old.values())
        _replaced(connection, schema, list(held.values()), again, vectors, where, "delete that entry first")


def _as_seen(
    connection: Connection[Any], schema: Schema, seen: Sequence[Record], where: str, name: str, owner: str | None
) -> dict[str, Row]:
    found = _locked(connection, schema, [record.id for record in seen])
    rows = {row.id: row for row in found if owner in (None, row.owner)}
    conflicts = []
    for record in seen:
        told = difference(record, rows[record.id].record(name) if record.id in rows else None)
        if told:
            conflicts.append((record.id, told))
    if conflicts:
        raise ConflictError(where, conflicts)
    return rows


def _replaced(
    connection: Connection[Any],
    schema: Schema,
    old: Sequence[Row],
    new: Sequence[Row],
    vectors: Vectors,
    where: str,
    advice: str = "",
) -> list[Row]:
    """Write rows in the place of others; two that change texts with each other are no conflict then."""
    import psycopg

    connection.execute(schema.sql("DELETE FROM {table} WHERE place = ANY(%s)"), ([row.place for row in old],))
    for row in new:
        statement = schema.sql("SELECT id FROM {table} WHERE digest = %s")
        if connection.execute(statement, (row.digest,)).fetchone():
            raise DuplicateEntryError(holder_of(connection, schema, row), where, "content", advice=advice)
    try:
        with connection.transaction():
            _copy(connection, schema, new, vectors)
    except psycopg.errors.UniqueViolation:
        twice = next((row for at, row in enumerate(new) if row.digest in {r.digest for r in new[:at]}), new[-1])
        raise DuplicateEntryError(twice.id, where, "content", advice=advice) from None
    return _locked(connection, schema, [row.id for row in new])
