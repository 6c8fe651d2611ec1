"""Stores in a database of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.postgres import PostgresServer

Opens = Callable[..., Any]


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> str:
    """How to reach a database that the tests of a module share, each with a table of its own."""
    return postgres.new_database()


@pytest.fixture
def opens(postgres: PostgresServer, database: str, request: pytest.FixtureRequest) -> Iterator[Opens]:
    """Give a function that opens a store in the test's own table."""
    from memwb.stores import PostgresMemoryStore

    ((number,),) = postgres.execute("SELECT count(*) FROM pg_class", dsn=database)
    opened: list[Any] = []

    def open_store(table: str = f"notes {number}", dsn: str | None = None, **settings: Any) -> Any:
        store = PostgresMemoryStore(database if dsn is None else dsn, table, **settings)
        opened.append(store)
        return store

    yield open_store
    for store in opened:
        store._server.close()
