"""What is old and finished goes, in steps; what failed or waits stays, and so do its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tidemill.db import Database, connect
from tidemill.prune import TABLES, prune
from tidemill.wire import Connection, statement

from tests.queue.conftest import put

NOTHING = dict.fromkeys(TABLES, 0)
OLD, YOUNG = "now() - interval '31 days'", "now() - interval '29 days'"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


def age(connection: Connection, table: str, **columns: str) -> None:
    """Set times of all rows of a table, each a piece of SQL."""
    connection.execute(f"update {table} set " + ", ".join(f"{name} = {value}" for name, value in columns.items()))  # type: ignore[arg-type]


def event(connection: Connection, received_at: str = OLD) -> int:
    row = connection.execute(
        f"insert into events (source, body, received_at) values ('shop', '', {received_at}) returning id"  # type: ignore[arg-type]
    ).fetchone()
    assert row is not None
    return int(row[0])


def ids(connection: Connection, table: str) -> list[int]:
    return [row[0] for row in connection.execute(f"select id from {table} order by id")]  # type: ignore[arg-type]


def walked_to(connection: Connection, table: str = "jobs") -> Any:
    [(place,)] = connection.execute("select walked_to from pruning where table_name = %s", (table,)).fetchall()
    return place


@pytest.mark.parametrize("status", ["done", "discarded"])
def test_a_job_goes_when_it_has_been_finished_for_the_retention(
    status: str, connection: Connection, database: Database
) -> None:
    [job] = put(connection, status=status)
    age(connection, "jobs", created_at=OLD, finished_at=YOUNG)
    assert prune(database, 30, 9)["jobs"] == 0 and ids(connection, "jobs") == [job]
    age(connection, "jobs", finished_at=OLD)
    assert prune(database, 30, 9)["jobs"] == 1 and ids(connection, "jobs") == []


@pytest.mark.parametrize("status", ["failed", "pending", "running"])
def test_a_job_that_failed_or_is_not_finished_stays_and_so_does_its_event(
    status: str, connection: Connection, database: Database
) -> None:
    kept = event(connection)
    put(connection, status=status, event_id=kept)
    age(connection, "jobs", created_at=OLD, finished_at=OLD if status == "failed" else "null")
    assert prune(database, 30, 9) == NOTHING
    assert ids(connection, "events") == [kept]


def test_an_event_goes_in_the_same_tick_as_the_last_of_its_jobs(connection: Connection, database: Database) -> None:
    one, other = event(connection), event(connection)
    put(connection, 2, status="done", event_id=one)
    age(connection, "jobs", created_at=OLD, finished_at=OLD)
    put(connection, status="done", finished_at="2100-01-01", event_id=other)
    assert prune(database, 30, 9) == NOTHING | {"jobs": 2, "events": 1}
    assert ids(connection, "events") == [other]


def test_a_young_event_without_jobs_stays(connection: Connection, database: Database) -> None:
    kept = event(connection, YOUNG)
    assert prune(database, 30, 9)["events"] == 0 and ids(connection, "events") == [kept]


def test_the_errors_of_a_job_go_with_it(connection: Connection, database: Database) -> None:
    [job] = put(connection, status="done")
    connection.execute("insert into job_errors (job_id, attempt, error_class, error) values (%s, 1, 'E', 'e')", (job,))
    age(connection, "jobs", created_at=OLD, finished_at=OLD)
    prune(database, 30, 9)
    assert ids(connection, "job_errors") == []


def test_old_operations_go(connection: Connection, database: Database) -> None:
    for at in (OLD, YOUNG):
        connection.execute(f"insert into operations (by, command, at) values ('me', 'retry', {at})")  # type: ignore[arg-type]
    assert prune(database, 30, 9)["operations"] == 1 and ids(connection, "operations") == [2]


def test_old_counts_of_what_was_refused_go_step_by_step(connection: Connection, database: Database) -> None:
    connection.execute(
        "insert into rejections (source, reason, hour, count, last_at)"
        f" select 'shop', i::text, case when i > 25 then {YOUNG} else {OLD} end, 1, now() from generate_series(1, 30) i"
    )
    assert prune(database, 30, 9, step=4)["rejections"] == 25
    assert connection.execute("select array_agg(reason order by id) from rejections").fetchone() == (
        ["26", "27", "28", "29", "30"],
    )


def test_the_note_of_a_parked_delivery_goes_after_its_event_and_no_sooner_than_a_queue_forgets(
    connection: Connection, database: Database
) -> None:
    kept = event(connection, "now()")
    ages = [(kept, 100), (10**9, 100), (10**9, 14)]
    for number, (one, days) in enumerate(ages):
        connection.execute(
            "insert into parked (token, event_id, stored_at) values (%s, %s, now() - make_interval(days => %s))",
            (str(number), one, days),
        )
        connection.execute(
            "insert into parked_parts (token, part, of, data, arrived_at)"
            " values ('t', %s, 9, '', now() - make_interval(days => %s))",
            (number, days),
        )
    assert prune(database, 1, 9) == NOTHING | {"parked": 1, "parked_parts": 2}
    assert (ids(connection, "parked"), ids(connection, "parked_parts")) == ([1, 3], [3])


def test_a_retention_of_a_thousand_years_is_no_error(connection: Connection, database: Database) -> None:
    put(connection, status="done", finished_at="2026-01-01")
    assert prune(database, 1e300, 9)["jobs"] == 0


def test_a_small_table_is_pruned_in_one_go_step_by_step(connection: Connection, database: Database) -> None:
    put(connection, 25, status="done")
    age(connection, "jobs", created_at=OLD, finished_at=OLD)
    assert prune(database, 30, 9, step=4)["jobs"] == 25
    assert walked_to(connection) == 0


def test_the_next_call_goes_on_where_the_time_was_up(connection: Connection, database: Database) -> None:
    jobs = put(connection, 10, status="failed") + put(connection, 10, status="done")
    age(connection, "jobs", created_at=OLD, finished_at=OLD)
    clock = iter(range(1000))
    assert prune(database, 30, 3 * len(TABLES), step=4, clock=lambda: next(clock))["jobs"] == 0
    assert walked_to(connection) == jobs[7]
    assert prune(database, 30, 9, step=4)["jobs"] == 10
    assert walked_to(connection) == 0


def test_without_time_nothing_is_pruned(connection: Connection, database: Database) -> None:
    put(connection, status="done")
    age(connection, "jobs", created_at=OLD, finished_at=OLD)
    assert prune(database, 30, -1)["jobs"] == 0


def test_a_walk_ends_where_rows_are_too_young(connection: Connection, database: Database) -> None:
    put(connection, 6, status="done")
    age(connection, "jobs", created_at=OLD, finished_at=OLD)
    put(connection, 100, status="done")
    connection.execute("update jobs set finished_at = now() where finished_at is null")
    assert connection.execute(statement("prune_jobs"), {"seconds": 30 * 86400, "size": 4}).fetchone() == (4, True)
    assert connection.execute(statement("prune_jobs"), {"seconds": 30 * 86400, "size": 4}).fetchone() == (2, False)
    assert walked_to(connection) == 0


def test_a_step_reads_by_the_primary_key_alone(connection: Connection) -> None:
    put(connection, 20_000, status="done", finished_at="2026-01-01")
    connection.execute("insert into events (source, body) select 'shop', '' from generate_series(1, 20000)")
    connection.execute("insert into operations (by, command) select 'me', 'retry' from generate_series(1, 20000)")
    connection.execute("insert into signals (name) select i::text from generate_series(1, 20000) i")
    connection.execute(
        "insert into job_executions (job_type, idempotency_key) select 'work', i::text from generate_series(1, 20000) i"
    )
    connection.execute("insert into outbox (topic) select 'news' from generate_series(1, 20000)")
    connection.execute(
        "insert into rejections (source, reason, hour, count, last_at)"
        " select 'shop', 'no', now() - i * interval '1 hour', 1, now() from generate_series(1, 20000) i"
    )
    connection.execute("insert into parked (token, event_id) select i::text, i from generate_series(1, 20000) i")
    connection.execute(
        "insert into parked_parts (token, part, of, data) select 't', i, 1, '' from generate_series(1, 20000) i"
    )
    connection.execute("analyze")
    for table in TABLES:
        explain = "explain (format json) " + statement(f"prune_{table}")
        [(plan,)] = connection.execute(explain, {"seconds": 1.0, "size": 100}).fetchall()  # type: ignore[arg-type]
        assert not list(whole_scans(plan[0]["Plan"]))


def whole_scans(plan: dict[str, Any]) -> Iterator[str]:
    if plan["Node Type"] == "Seq Scan" and plan["Relation Name"] != "pruning":
        yield plan["Relation Name"]
    for child in plan.get("Plans", []):
        yield from whole_scans(child)


def test_while_one_prunes_another_does_nothing(connection: Connection, database: Database, database_url: str) -> None:
    put(connection, 5, status="done")
    age(connection, "jobs", created_at=OLD, finished_at=OLD)
    with connect(database_url) as other, other.transaction():
        assert other.execute(statement("prune_jobs"), {"seconds": 30 * 86400, "size": 2}).fetchone() == (2, True)
        assert prune(database, 30, 9)["jobs"] == 0
    assert prune(database, 30, 9)["jobs"] == 3
