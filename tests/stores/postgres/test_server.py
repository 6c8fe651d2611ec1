"""A server that is away, restarted, or that refuses: what a user is told, and that the store goes on afterwards."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from memwb import Workbench
from memwb.errors import ConfigError, StoreUnavailableError
from memwb.memory import MemoryManager
from memwb.stores import PostgresMemoryStore, TestMemoryStore
from memwb.workbench.source import open_source
from tests.postgres import PostgresServer, required, running

from .conftest import Opens

QUOTED = "s3cret" + "%2Fword"  # in two parts: tracebacks show this very line
SECRET = QUOTED.replace("%2F", "/")
AWAY = f"postgresql://ann:{QUOTED}@127.0.0.1:1/team"


@pytest.fixture(autouse=True)
def _a_client() -> None:
    required()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """Give a server that a test may stop."""
    with running() as server:
        yield server


async def test_a_server_that_is_away_is_told_in_the_stated_time() -> None:
    store = PostgresMemoryStore(AWAY)
    begin = time.monotonic()
    with pytest.raises(StoreUnavailableError) as caught:
        await store.search("tea")
    assert time.monotonic() - begin < 10
    told = str(caught.value)
    assert told.startswith("PostgresMemoryStore (127.0.0.1:1/team) cannot be reached: ")
    assert "refused" in caught.value.cause
    assert "See that the server runs" in told
    await store.close()


async def test_no_password_is_told_anywhere(caplog: pytest.LogCaptureFixture) -> None:
    store = PostgresMemoryStore(AWAY)
    told = [repr(store), str(store), store._where]
    for broken in (AWAY.replace(":1/", ":x y/"), f"password={SECRET} host", 7, f"postgresql://ann:{SECRET}%@h/d"):
        with pytest.raises(ConfigError) as refused:
            PostgresMemoryStore(broken)  # type: ignore[arg-type]
        told += traceback.format_exception(refused.value)
        told.append(repr(vars(refused.value)))
    with pytest.raises(StoreUnavailableError) as caught:
        await store.add("tea")
    told += [*traceback.format_exception(caught.value), repr(vars(caught.value)), caplog.text]
    workbench = Workbench(AWAY)
    told.append(repr(workbench))
    shown = "\n".join(told)
    assert SECRET not in shown
    assert QUOTED not in shown
    await store.close()


async def test_a_manager_goes_on_with_its_other_stores() -> None:
    away = PostgresMemoryStore(AWAY, name="team")
    notes = TestMemoryStore.from_records(["green tea"], name="notes")
    manager = MemoryManager([away, notes], injection=True)
    assert [entry.content for entry in await manager.search("tea")] == ["green tea"]
    trace = await manager.trace_injection([{"role": "user", "content": [{"text": "tea?"}]}])
    assert "green tea" in str(trace.messages)
    assert [type(answer.error) for answer in trace.answers] == [StoreUnavailableError, type(None)]
    await away.close()


async def test_it_connects_anew_after_a_restart(own_server: PostgresServer) -> None:
    store = PostgresMemoryStore(own_server.new_database())
    await asyncio.gather(*(store.add(f"tea {number}") for number in range(8)))
    for mode in ("fast", "immediate"):
        own_server.stop(mode)
        with pytest.raises(StoreUnavailableError):
            await store.search("tea")
        own_server.start()
        found = await asyncio.gather(*(store.search("tea", {"max_search_results": 99}) for _ in range(8)))
        assert [len(entries) for entries in found] == [8] * 8
        await store.add(f"coffee {mode}")
    assert await store.count() == 10
    await store.close()


async def test_a_call_that_loses_its_connection_says_so(postgres: PostgresServer, database: str, opens: Opens) -> None:
    store = opens()
    await store.initialize()

    def cut(connection: Any) -> None:
        postgres.execute("SELECT pg_terminate_backend(%s)", connection.info.backend_pid)
        connection.execute("SELECT 1")

    with pytest.raises(StoreUnavailableError, match=r"cannot be reached: .*terminat"):
        await store._run(cut)
    assert await store.count() == 0


def left(server: PostgresServer, dsn: str) -> int:
    """Return how many connections stay: the server needs a moment to notice that one was closed."""
    until = time.monotonic() + 60
    while server.connections(dsn) and time.monotonic() < until:
        time.sleep(0.05)
    return server.connections(dsn)


async def test_connections_are_bounded_shared_and_given_back(postgres: PostgresServer, opens: Opens) -> None:
    dsn = postgres.new_database()
    stores = [opens(dsn=dsn, connections=2) for _ in range(3)]
    await asyncio.gather(*(store.add(f"tea {number}") for store in stores for number in range(40)))
    assert postgres.connections(dsn) <= 6
    assert await stores[0].count() == 40
    for store in stores:
        await store.close()
        await store.close()
    assert left(postgres, dsn) == 0
    assert await stores[0].count() == 40  # it opens again


def test_a_store_that_is_let_go_leaves_no_connection(postgres: PostgresServer) -> None:
    dsn = postgres.new_database()
    code = (
        "import asyncio, os, sys\n"
        "from memwb.stores import PostgresMemoryStore\n"
        "async def use():\n"
        "    store = PostgresMemoryStore(sys.argv[1])\n"
        "    await store.add(str(os.getpid()))\n"
        "asyncio.run(use()); asyncio.run(use())\n"
        "if pid := os.fork(): sys.exit(os.waitpid(pid, 0)[1])\n"
        "store = PostgresMemoryStore(sys.argv[1]); asyncio.run(store.add('child'))\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code, dsn], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert left(postgres, dsn) == 0
    assert postgres.execute("SELECT count(*) FROM memories", dsn=dsn) == [(2,)]


async def test_a_store_used_before_a_fork_works_in_the_child(postgres: PostgresServer) -> None:
    dsn = postgres.new_database()
    code = (
        "import asyncio, os, sys\n"
        "from memwb.stores import PostgresMemoryStore\n"
        "store = PostgresMemoryStore(sys.argv[1])\n"
        "asyncio.run(store.add('parent'))\n"
        "pid = os.fork()\n"
        "asyncio.run(store.add(f'{pid == 0}'))\n"
        "assert pid == 0 or os.waitpid(pid, 0)[1] == 0\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, dsn]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    rows = postgres.execute("SELECT content FROM memories ORDER BY 1", dsn=dsn)
    assert rows == [("False",), ("True",), ("parent",)]


async def test_a_workbench_opens_the_address_of_a_database(postgres: PostgresServer) -> None:
    dsn = postgres.new_database()
    name = dsn.split("dbname=")[1].split()[0]
    store = PostgresMemoryStore(dsn)
    await store.add("likes green tea")
    address = f"postgresql://postgres@/{name}?host={postgres.folder}"
    (opened,) = open_source(address).stores
    assert isinstance(opened, PostgresMemoryStore)
    assert await opened.page(0, 9) == await store.page(0, 9)
    workbench = Workbench(address, "Which tea?")
    await workbench
    assert "likes green tea" in str(workbench.trace.messages)
    for each in (store, opened):
        await each.close()
