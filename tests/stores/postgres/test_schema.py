"""The tables: made once however many start, recorded, under any name, and usable with few rights."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from memwb.errors import ConfigError
from memwb.ranking import HashingEmbedder
from memwb.stores import PostgresMemoryStore
from tests.postgres import PostgresServer

from .conftest import Opens

START = """
import asyncio, sys
from memwb.stores import PostgresMemoryStore
store = PostgresMemoryStore(sys.argv[1])
sys.stdin.read(1)
asyncio.run(store.add("tea"))
"""


def test_eight_processes_that_start_at_once_make_one_table(postgres: PostgresServer) -> None:
    dsn = postgres.new_database()
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", START, dsn],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(8)
    ]
    told = [process.communicate(b"x", timeout=120)[1] for process in started]
    assert told == [b""] * 8
    assert postgres.execute("SELECT entries, step FROM memwb_schema", dsn=dsn) == [("memories", "1")]
    assert postgres.execute("SELECT content FROM memories", dsn=dsn) == [("tea",)]


@pytest.mark.parametrize(
    "table",
    ['"; DROP TABLE memwb_schema; --', "select a.b", "%s %(x)s {table}", "ÄÖ 表'", "x" * 63],
)
async def test_any_name_of_a_table_works(opens: Opens, postgres: PostgresServer, table: str) -> None:
    dsn = postgres.new_database()
    embedder = HashingEmbedder(8)
    embedder.name = table
    stores = [opens(table, dsn=dsn, embedder=embedder) for _ in range(2)]
    added = await stores[0].add("green tea", {"n": 1})
    await stores[0].update(added.id, content="black tea")
    (entry,) = await stores[1].search("tea", {"metadata": {"n": 1}})
    assert (entry.content, stores[1].name) == ("black tea", table)
    names = {
        name for (name,) in postgres.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", dsn=dsn)
    }
    assert {table, "memwb_schema"} < names
    assert len(names) == 3


@pytest.mark.parametrize("table", ["", "  ", "a\0b", "x" * 64, "ä" * 32, "\ud800", "memwb_schema", 7, None])
def test_a_name_that_no_table_can_have_is_refused(opens: Opens, table: Any) -> None:
    with pytest.raises(ConfigError, match=r"^PostgresMemoryStore: table is ") as caught:
        opens(table)
    assert caught.value.key == "table"


async def test_tables_in_one_database_are_stores_of_their_own(opens: Opens, postgres: PostgresServer) -> None:
    dsn = postgres.new_database()
    notes, plans = opens("notes", dsn=dsn), opens("plans", dsn=dsn)
    await notes.add("tea")
    await plans.add("tea")
    await notes.clear()
    assert (await notes.count(), await plans.count()) == (0, 1)


async def test_a_table_of_somebody_elses_is_left_alone(opens: Opens, postgres: PostgresServer) -> None:
    dsn = postgres.new_database()
    postgres.execute("CREATE TABLE notes (id int)", dsn=dsn)
    with pytest.raises(ConfigError, match=r'"notes" already exists, and memwb has not made it .*Give another table'):
        await opens("notes", dsn=dsn).search("tea")
    assert postgres.execute("SELECT * FROM notes", dsn=dsn) == []


async def test_what_a_newer_memwb_has_made_is_not_touched(opens: Opens, postgres: PostgresServer) -> None:
    dsn = postgres.new_database()
    await opens("notes", dsn=dsn).add("tea")
    postgres.execute("INSERT INTO memwb_schema (entries, step) VALUES ('notes', '7')", dsn=dsn)
    with pytest.raises(ConfigError, match=r"brought to step 7 by a newer memwb.*Update memwb here"):
        await opens("notes", dsn=dsn).search("tea")


GRANTS = [
    "GRANT SELECT ON memwb_schema TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON memories, memories_vectors TO {role}",
]


async def test_a_role_that_may_not_create_works_with_the_stated_rights(opens: Opens, postgres: PostgresServer) -> None:
    dsn, role = postgres.new_database(), "app_role"
    postgres.execute(f"CREATE ROLE {role} LOGIN")
    postgres.execute(f"REVOKE TEMPORARY ON DATABASE {dsn.split('dbname=')[1].split()[0]} FROM PUBLIC", dsn=dsn)
    postgres.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC", dsn=dsn)
    weak = dsn.replace("user=postgres", f"user={role}")
    embedder = HashingEmbedder(8)
    with pytest.raises(ConfigError, match=r"permission denied.* needs SELECT on memwb_schema"):
        await opens("memories", dsn=weak).search("tea")
    await opens("memories", dsn=dsn, embedder=embedder).initialize()
    with pytest.raises(ConfigError, match=r"permission denied.* needs SELECT on memwb_schema"):
        await opens("memories", dsn=weak).search("tea")
    for grant in GRANTS:
        postgres.execute(grant.format(role=role), dsn=dsn)
    store = opens("memories", dsn=weak, embedder=embedder)
    added = await store.add_many(["green tea", "black tea"])
    await store.update(added[0].id, content="white tea", metadata={"n": 1})
    first, second = await store.page(0, 9)
    await store.take_back(await store.exchange([first], []))
    assert await store.delete(second.id)
    assert [entry.content for entry in await store.search("tea")] == ["white tea"]
    await store.clear()
    postgres.execute("REVOKE INSERT, UPDATE, DELETE ON memories FROM app_role", dsn=dsn)
    reader = opens("memories", dsn=weak, writable=False)
    assert await reader.search("tea") == []
    with pytest.raises(ConfigError, match="permission denied for table memories"):
        await store.add("tea")


async def test_a_store_that_is_not_writable_makes_no_table(opens: Opens, postgres: PostgresServer) -> None:
    dsn = postgres.new_database()
    with pytest.raises(ConfigError, match=r"writable=False makes none"):
        await opens(dsn=dsn, writable=False).count()
    assert postgres.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", dsn=dsn) == [(0,)]


async def test_without_pgvector_words_work_and_an_embedder_says_what_it_needs(
    opens: Opens, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memwb.stores.postgres import _schema

    dsn = postgres.new_database()
    postgres.execute("CREATE ROLE nobody_much LOGIN")
    postgres.execute("GRANT CREATE ON SCHEMA public TO nobody_much", dsn=dsn)
    weak = dsn.replace("user=postgres", "user=nobody_much")
    store = opens("memories", dsn=weak)
    await store.add("tea")
    assert len(await store.search("tea")) == 1

    def not_there(connection: Any) -> None:
        connection.execute("SET LOCAL role nobody_much")
        before(connection)

    before = _schema._require_pgvector
    monkeypatch.setattr(_schema, "_require_pgvector", not_there)
    with pytest.raises(ConfigError, match=r"permission denied.*CREATE EXTENSION vector, or leave the embedder out"):
        await opens("memories", dsn=dsn, embedder=HashingEmbedder(8)).search("tea")
    assert len(await store.search("tea")) == 1


async def test_starting_again_changes_nothing(opens: Opens, postgres: PostgresServer) -> None:
    dsn = postgres.new_database()
    tables = "SELECT oid, relname FROM pg_class WHERE relname LIKE '%memories%' ORDER BY 1"
    await opens("memories", dsn=dsn, embedder=HashingEmbedder(8)).add("tea")
    before = postgres.execute(tables, dsn=dsn)
    stores = [opens("memories", dsn=dsn, embedder=HashingEmbedder(8)) for _ in range(4)]
    await asyncio.gather(*(store.initialize() for store in stores))
    assert postgres.execute(tables, dsn=dsn) == before
    steps = postgres.execute("SELECT step FROM memwb_schema ORDER BY step", dsn=dsn)
    assert steps == [("1",), ("index of hashing-8 8",), ("vectors",)]
    assert isinstance(stores[0], PostgresMemoryStore)
