"""What waits and what runs, counted without reading more than is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidemill.wire import Connection, statement

from tests.queue.conftest import put


def backlog(connection: Connection, most: int = 10_000) -> tuple[Any, ...]:
    row = connection.execute(statement("backlog"), {"most": most}).fetchone()
    assert row is not None
    return row


def test_the_oldest_of_all_lines_counts(connection: Connection) -> None:
    for tenant, priority, minutes in [("a", 0, 1), ("b", -5, 30), ("b", -5, 3), ("b", 9, 5), ("c", 0, 2)]:
        [job] = put(connection, tenant=tenant, priority=priority)
        connection.execute("update jobs set run_at = now() - make_interval(mins => %s) where id = %s", (minutes, job))
    oldest, ready, running, dead = backlog(connection)
    assert 1800 <= oldest < 1900 and (ready, running, dead) == (5, 0, 0)


def test_jobs_parked_until_later_are_not_ready(connection: Connection) -> None:
    put(connection, 3, run_at="2100-01-01")
    assert backlog(connection) == (0, 0, 0, 0)


def test_jobs_under_a_paused_limit_are_not_ready(connection: Connection) -> None:
    connection.execute("insert into limits values ('paused', 1, now() + interval '1 hour'), ('free', 1, null)")
    put(connection, 2, limit_name="paused", run_at="2026-01-01")
    put(connection, status="running", limit_name="paused", locked_until="2100-01-01", run_at="2026-01-01")
    assert backlog(connection) == (0, 0, 1, 0)
    put(connection, limit_name="free")
    assert backlog(connection)[1:] == (1, 1, 0)


def test_counts_are_bounded_by_line_and_in_all(connection: Connection) -> None:
    put(connection, 30)
    put(connection, 30, status="failed", finished_at="2026-01-01")
    assert backlog(connection, most=20)[1:] == (20, 0, 20)
    for number in range(10):
        put(connection, 30, tenant=f"t{number}")
    assert backlog(connection, most=20)[1:] == (100, 0, 20)


def test_the_backlog_does_not_read_finished_jobs(connection: Connection) -> None:
    put(connection, 20_000, status="done", finished_at="2026-01-01")
    put(connection, 3)
    connection.execute("analyze jobs")
    explain = "explain (analyze, format json) " + statement("backlog")
    [plan] = connection.execute(explain, {"most": 100}).fetchall()  # type: ignore[arg-type]
    read = [node["Index Name"] for node in nodes(plan[0][0]["Plan"]) if node.get("Relation Name") == "jobs"]
    assert set(read) == {"jobs_open", "jobs_failed"}


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)
