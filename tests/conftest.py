"""One Postgres for the whole run, and a fresh migrated database for each test that asks for one.

With `--pooler` the tests reach their databases through pgbouncer in transaction mode: a statement may meet another session
each time, so no prepared statement, session setting or session lock may be relied on.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from tidemill import migrations
from tidemill.db import connect
from tidemill.wire import Connection

from local.postgres import FAST, Postgres
from tests.canary import watching
from tests.pooler import Pooler

nothing_leaks, planted = watching.nothing_leaks, watching.planted

ROOT = Path(__file__).parents[1]
_numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pooler", action="store_true", help="reach the databases through pgbouncer in transaction mode")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    folder = Path(tempfile.mkdtemp(prefix="tidemill-test-"))
    try:
        with Postgres(folder / "data", FAST) as server:
            with psycopg.connect(server.url(), autocommit=True) as connection:
                connection.execute("create database template_tidemill")
            migrations.migrate(server.url("template_tidemill"), ROOT / "sql")
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def address(postgres: Postgres, pytestconfig: pytest.Config) -> Iterator[Callable[[str], str]]:
    """Where a database is reached: the server itself, or the pooler before it."""
    if not pytestconfig.getoption("--pooler"):
        yield postgres.url
        return
    with Pooler(postgres) as pooler:
        yield pooler.url


@pytest.fixture
def database_url(postgres: Postgres, address: Callable[[str], str]) -> Iterator[str]:
    """The address of a fresh migrated database."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"create database {name} template template_tidemill strategy file_copy")
    yield address(name)
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    with connect(database_url) as connection:
        yield connection
