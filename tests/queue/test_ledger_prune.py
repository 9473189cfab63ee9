"""The once ledger and the outbox are bounded: what is over goes after the retention, the rest stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tidemill.db import Database
from tidemill.prune import prune
from tidemill.wire import Connection

OLD, YOUNG = "now() - interval '31 days'", "now() - interval '29 days'"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


def left(connection: Connection, table: str) -> list[int]:
    return [row[0] for row in connection.execute(f"select id from {table} order by id")]  # type: ignore[arg-type]


def test_keys_go_when_they_were_completed_long_ago_and_so_does_what_was_never_completed(
    connection: Connection, database: Database
) -> None:
    for key, started, completed, locked in [
        ("done", OLD, OLD, "null"),
        ("done late", OLD, YOUNG, "null"),
        ("abandoned", OLD, "null", OLD),
        ("young", YOUNG, YOUNG, "null"),
    ]:
        connection.execute(
            "insert into job_executions (job_type, idempotency_key, started_at, completed_at, locked_until) "
            f"values ('t', '{key}', {started}, {completed}, {locked})"  # type: ignore[arg-type]
        )
    assert prune(database, 30, 30)["job_executions"] == 2
    assert left(connection, "job_executions") == [2, 4]


def test_rows_of_the_outbox_go_when_they_were_published_long_ago(connection: Connection, database: Database) -> None:
    for created, published, failed in [
        (OLD, OLD, "null"),
        (OLD, YOUNG, "null"),
        (OLD, "null", OLD),
        (OLD, "null", "null"),
        (YOUNG, YOUNG, "null"),
    ]:
        connection.execute(
            f"insert into outbox (topic, created_at, published_at, failed_at) values ('t', {created}, {published}, {failed})"  # type: ignore[arg-type]
        )
    assert prune(database, 30, 30)["outbox"] == 1
    assert left(connection, "outbox") == [2, 3, 4, 5]
