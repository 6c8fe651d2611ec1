"""The way to a Postgres server: connections that outlive its restarts, threads to wait in, errors that say what to do.

A store may be used by any number of event loops and threads. Each call waits in one of the store's own threads, of
which there are as many as connections: so a call that waits for its turn is never taken for a server that is away.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import ConfigError, StoreUnavailableError

if TYPE_CHECKING:
    from psycopg import Connection, Error
    from psycopg_pool import ConnectionPool

WHERE = "PostgresMemoryStore"

_T = TypeVar("_T")
_PATIENCE = 1.0  # seconds that a call waits for the pool to connect before it tries by itself
_IDLE = 60.0  # seconds after which a connection that nobody uses is closed
_LEAST_TIMEOUT = 2  # seconds: libpq takes no less
_LIVENESS = {  # a line that is dead is noticed in 25 seconds
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
_AWAY = ("08", "57P01", "57P02", "57P03", "53300")  # SQLSTATEs: the line is cut, or the server takes nobody now
_FORBIDDEN = "42501"


class Server:
    """A database, by its connection string.

    Args:
        dsn: As libpq takes it: ``postgresql://user@host/database`` or ``host=... dbname=...``.
        connections: The most that are open at a time.
        timeout: Seconds that an attempt to connect may take.
    """

    def __init__(self, dsn: str, connections: int, timeout: float) -> None:
        self._dsn, self._connections = dsn, connections
        self._given = _parts(dsn)
        settings = {
            "autocommit": True,
            "prepare_threshold": None,  # a pooler between may give each statement another server process
            "connect_timeout": max(_LEAST_TIMEOUT, math.ceil(timeout)),
            "application_name": "memwb",
            **_LIVENESS,
        }
        self._settings: dict[str, Any] = {key: value for key, value in settings.items() if key not in self._given}
        self._lock = threading.Lock()
        self._opened: tuple[int, ConnectionPool[Any], ThreadPoolExecutor] | None = None

    @property
    def address(self) -> str:
        """Where the database is, without user and password."""
        host = self._given.get("host") or self._given.get("hostaddr") or os.environ.get("PGHOST") or "localhost"
        port = f":{self._given['port']}" if self._given.get("port") else ""
        return f"{host}{port}/{self._given.get('dbname') or os.environ.get('PGDATABASE') or ''}".rstrip("/")

    async def run(self, work: Callable[[Connection[Any]], _T]) -> _T:
        """Return what a function makes of a connection, outside of the event loop.

        Each statement is a transaction of its own, unless the function begins one.

        Raises:
            StoreUnavailableError: The server cannot be reached, or left in the midst of the work.
            ConfigError: The database does not let its user do that.
        """
        import asyncio

        pool, threads = self._open()
        return await asyncio.get_running_loop().run_in_executor(threads, self._run, pool, work)

    def _run(self, pool: ConnectionPool[Any], work: Callable[[Connection[Any]], _T]) -> _T:
        import psycopg
        from psycopg_pool import PoolTimeout

        with self._told():
            try:
                with pool.connection() as connection:
                    return work(connection)
            except PoolTimeout:
                # The pool tries again in ever longer intervals and keeps the reason to itself: seen with own eyes, a
                # server is away for as long as it is, and says why.
                with psycopg.connect(self._dsn, **self._settings) as connection:
                    return work(connection)

    def _open(self) -> tuple[ConnectionPool[Any], ThreadPoolExecutor]:
        with self._lock:
            if self._opened is None or self._opened[0] != os.getpid():  # a forked process opens its own
                threads = ThreadPoolExecutor(self._connections, thread_name_prefix="memwb-postgres")
                self._opened = os.getpid(), self._new_pool(), threads
            return self._opened[1:]

    def _new_pool(self) -> ConnectionPool[Any]:
        import logging

        from psycopg_pool import ConnectionPool

        # The pool logs each attempt to connect. Without a log of the user's own, that would go to the notebook.
        logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
        return ConnectionPool(
            self._dsn,
            kwargs=self._settings,
            min_size=0,
            max_size=self._connections,
            timeout=_PATIENCE,
            reconnect_timeout=_PATIENCE,
            max_idle=_IDLE,
            check=ConnectionPool.check_connection,
            open=True,
        )

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None and opened[0] == os.getpid():
            opened[2].shutdown(wait=True)
            opened[1].close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            if _is_away(error):
                raise StoreUnavailableError(f"{WHERE} ({self.address})", _one_line(error)) from None
            if error.sqlstate == _FORBIDDEN:
                raise ConfigError(f"{WHERE} ({self.address}): {_first_line(error)}. {_GRANTS}", key="dsn") from error
            raise


_GRANTS = (
    "Its user needs SELECT on memwb_schema and on the tables of the store, and INSERT, UPDATE and DELETE on the latter "
    "to write. Tables are made at the first use by a user who may CREATE in the schema: let one of those call "
    "`await store.initialize()` once."
)


def _is_away(error: Error) -> bool:
    import psycopg

    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(_AWAY)


def _first_line(error: Error) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")


def _one_line(error: Error) -> str:
    return " ".join(str(error).split())


def _parts(dsn: object) -> dict[str, Any]:
    """Read a connection string; what is wrong with it is told without quoting it, for it may hold a password."""
    try:
        import psycopg
        import psycopg_pool  # noqa: F401 - said here rather than at the first call
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise ConfigError(
            f"{WHERE} needs psycopg, which cannot be loaded ({error}): pip install 'memwb[postgres]'.", key="dsn"
        ) from error
    if isinstance(dsn, str):
        try:
            return conninfo_to_dict(dsn)
        except (psycopg.Error, UnicodeError):
            pass
    raise ConfigError(
        f"{WHERE}: dsn is no connection string, such as 'postgresql://user@host:5432/database' or 'host=... "
        "dbname=...'; signs like @, / and % in a password are written as %40, %2F and %25. (It is not shown here, for "
        "it may hold a password.)",
        key="dsn",
    )
