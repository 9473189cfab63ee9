"""Lines of jobs to drain: the schema, and what is in it besides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from tidemill import migrations

if TYPE_CHECKING:
    from local.postgres import Postgres

ROOT = Path(__file__).parents[1]


@contextmanager
def fresh(postgres: Postgres, name: str) -> Iterator[str]:
    """The address of a database of this name with the schema, which is dropped afterwards."""
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute(f"create database {name}")
        try:
            schema(postgres.url(name))
            yield postgres.url(name)
        finally:
            admin.execute(f"drop database {name} with (force)")


def schema(url: str) -> None:
    migrations.migrate(url, ROOT / "sql")


def fill(url: str, count: int) -> None:
    """`count` jobs that are due, with 200 bytes of payload, and a table that the planner knows."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "insert into jobs (kind, payload) "
            "select 'bench.nothing', jsonb_build_object('x', repeat('a', 180)) from generate_series(1, %s)",
            (count,),
        )
        connection.execute("vacuum analyze jobs")


def finish(url: str, count: int) -> None:
    """`count` jobs that were done long ago."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "insert into jobs (kind, payload, status, attempts, finished_at) "
            "select 'bench.nothing', jsonb_build_object('x', repeat('a', 180)), 'done', 1, now() "
            "from generate_series(1, %s)",
            (count,),
        )


def spread(url: str, tenants: int, each: int) -> None:
    """`each` jobs of each of so many tenants."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "insert into jobs (kind, tenant, payload)"
            " select 'bench.nothing', 't' || i, jsonb_build_object('x', repeat('a', 180))"
            " from generate_series(1, %s) i, generate_series(1, %s)",
            (tenants, each),
        )
        connection.execute("vacuum analyze jobs")


_kept: list[psycopg.Connection[tuple[object, ...]]] = []


def open_snapshot(url: str) -> None:
    """What a forgotten transaction or a long report does: no dead row can be removed while it is open, and it stays open for
    as long as the process lasts."""
    connection = psycopg.connect(url)
    connection.execute("set transaction isolation level repeatable read")
    connection.execute("select count(*) from pg_class")
    _kept.append(connection)
