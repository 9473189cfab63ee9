"""Lines of jobs to drain: the schema, and what is in it besides."""

from __future__ import annotations

from pathlib import Path

import psycopg
from tidemill import migrations

ROOT = Path(__file__).parents[1]


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
