"""retry of one job, on a real database."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from tidemill.db import connect
from tidemill.wire import Connection

from tests.queue.operating import add_event, add_job, one, operations, operator, status_of, wait_for_blocked

OLD = datetime(2026, 4, 28, tzinfo=UTC)


def test_a_retry_gives_a_fresh_budget_and_keeps_the_errors(database_url: str, connection: Connection) -> None:
    """B69: attempts and the traces of the last claim do not outlive a redrive; what is told of the failures does."""
    job = add_job(
        connection, "order.announce", "failed", finished_at=OLD, started_at=OLD, run_at=OLD, expiries=2, unknown_since=OLD,
        sent_at=OLD, alerted_at=OLD, key="17", payload={"number": 1.10}, max_attempts=3,
    )  # fmt: skip
    connection.execute(
        "insert into job_errors (job_id, attempt, error_class, error) values (%s, 3, 'ValueError', 'no')", [job]
    )
    answer = operator(database_url).run({"command": "retry", "job": job, "by": "ann"})
    assert answer == {"ok": True, "job": job, "outcome": "redriven", "changed": 1}
    columns = "status, attempts, expiries, unknown_since, locked_until, claim_id, worker, started_at, finished_at, sent_at"
    values = one(connection, f"select {columns}, alerted_at, failed_at from jobs where id = %s", job)
    assert values == ("pending", 0, 0, *[None] * 9)
    kept = one(
        connection, "select key, payload, max_attempts, error_class, last_error, limit_name from jobs where id = %s", job
    )
    assert kept == ("17", {"number": 1.1}, 3, "ValueError", "no number", "telegram")
    assert one(connection, "select first_failed_at = %s and redriven_at = run_at and run_at <= now() from jobs", OLD)
    assert one(connection, "select count(*) from job_errors") == 1
    assert operations(connection) == [("ann", "retry", {"job": job}, {"job": job, "outcome": "redriven", "changed": 1})]


def test_first_failed_at_survives_a_second_redrive(database_url: str, connection: Connection) -> None:
    job = add_job(connection, status="failed", first_failed_at=OLD)
    operator(database_url).run({"command": "retry", "job": job})
    assert one(connection, "select first_failed_at from jobs") == OLD


@pytest.mark.parametrize(
    ("status", "words"),
    [("running", "is running"), ("pending", "waits already"), ("done", '"force": true'), ("discarded", "force")],
)
def test_a_job_that_has_not_failed_is_a_conflict(database_url: str, connection: Connection, status: str, words: str) -> None:
    """B71"""
    job = add_job(connection, status=status)
    error = operator(database_url).run({"command": "retry", "job": job})["error"]
    assert (error["code"], error["field"]) == ("conflict", "job")
    assert words in error["message"]
    assert status_of(connection, job) == status
    assert operations(connection) == []


@pytest.mark.parametrize("status", ["running", "pending"])
def test_force_does_not_double_a_job_that_has_not_ended(database_url: str, connection: Connection, status: str) -> None:
    job = add_job(connection, status=status)
    assert operator(database_url).run({"command": "retry", "job": job, "force": True})["error"]["code"] == "conflict"
    assert one(connection, "select count(*) from jobs") == 1


def test_a_kind_that_nobody_handles_is_a_conflict(database_url: str, connection: Connection) -> None:
    job = add_job(connection, "gone", "failed")
    error = operator(database_url).run({"command": "retry", "job": job})["error"]
    assert error == {"code": "conflict", "field": "job", "message": "no handler for kind 'gone'"}
    assert status_of(connection, job) == "failed"


def test_force_makes_a_new_job_of_a_done_one(database_url: str, connection: Connection) -> None:
    event = add_event(connection)
    job = add_job(
        connection, "order.announce", "done", key="17", payload={"n": 1}, event_id=event, correlation_id="c-1", tenant="t",
        priority=3, max_attempts=2, slot="2027-04-30T09:00:00+03:00", attempts=2, last_error="once",
    )  # fmt: skip
    answer = operator(database_url).run({"command": "retry", "job": job, "force": True})
    assert (answer["outcome"], answer["copy_of"], answer["changed"]) == ("created", job, 1)
    columns = (
        "kind, payload, key, event_id, correlation_id, tenant, priority, max_attempts, slot, limit_name, status, attempts"
    )
    new = one(connection, f"select {columns}, last_error, copy_of from jobs where id = %s", answer["job"])
    assert new == (
        "order.announce", {"n": 1}, "17:2", event, "c-1", "t", 3, 2, "2027-04-30T09:00:00+03:00", "telegram", "pending", 0,
        None, job,
    )  # fmt: skip
    assert one(connection, "select key, status from jobs where id = %s", job) == ("17", "done")


def test_a_number_survives_a_forced_retry_to_its_last_digit(database_url: str, connection: Connection) -> None:
    job = add_job(connection, status="done")
    connection.execute("update jobs set payload = '{\"n\": 0.12345678901234567890123}'")
    new = operator(database_url).run({"command": "retry", "job": job, "force": True})["job"]
    assert one(connection, "select payload->>'n' from jobs where id = %s", new) == "0.12345678901234567890123"


def test_a_second_click_on_force_makes_no_second_job(database_url: str, connection: Connection) -> None:
    """B71: twice at once"""
    job = add_job(connection, status="done", key="17")
    first = operator(database_url).run({"command": "retry", "job": job, "force": True})["job"]
    error = operator(database_url).run({"command": "retry", "job": job, "force": True})["error"]
    assert error["code"] == "conflict" and f"job {first} does job {job} again already" in error["message"]
    connection.execute("update jobs set status = 'done', finished_at = now() where id = %s", [first])
    again = operator(database_url).run({"command": "retry", "job": first, "force": True})["job"]
    assert one(connection, "select copy_of, key from jobs where id = %s", again) == (job, "17:2:2")


def test_a_forced_job_takes_the_next_key_that_is_free(database_url: str, connection: Connection) -> None:
    job = add_job(connection, status="done", key="17")
    add_job(connection, status="done", key="17:2")
    new = operator(database_url).run({"command": "retry", "job": job, "force": True})["job"]
    assert one(connection, "select key from jobs where id = %s", new) == "17:3"


def test_a_forced_job_of_one_without_a_key_has_none(database_url: str, connection: Connection) -> None:
    job = add_job(connection, status="done")
    new = operator(database_url).run({"command": "retry", "job": job, "force": True})["job"]
    assert one(connection, "select key from jobs where id = %s", new) is None


@pytest.mark.parametrize(("status", "force", "outcome"), [("failed", False, "redriven"), ("done", True, "created")])
def test_a_dry_run_of_one_changes_nothing(
    database_url: str, connection: Connection, status: str, force: bool, outcome: str
) -> None:
    job = add_job(connection, status=status)
    answer = operator(database_url).run({"command": "retry", "job": job, "force": force, "dry_run": True})
    assert (answer["outcome"], answer["changed"]) == (outcome, 0)
    assert one(connection, "select status from jobs") == status
    assert operations(connection) == []


def test_two_retries_at_once_redrive_once(database_url: str, connection: Connection) -> None:
    """B71: the second click is a conflict."""
    job = add_job(connection, status="failed")
    answers: list[dict[str, Any]] = []
    with connect(database_url) as holder, holder.transaction():
        holder.execute("select from jobs for update")
        threads = [
            threading.Thread(target=lambda: answers.append(operator(database_url).run({"command": "retry", "job": job})))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        wait_for_blocked(connection, 2)
    for thread in threads:
        thread.join()
    assert sorted(answer["ok"] for answer in answers) == [False, True]
    assert len(operations(connection)) == 1


def test_a_drain_is_asked_for_after_a_retry_and_not_after_a_dry_run(database_url: str, connection: Connection) -> None:
    woken: list[int] = []
    job = add_job(connection, status="failed")
    operating = operator(database_url, wake=lambda: woken.append(1))
    operating.run({"command": "retry", "job": job, "dry_run": True})
    operating.run({"command": "failed"})
    assert woken == []
    operating.run({"command": "retry", "job": job})
    operating.run({"command": "retry", "job": job})
    assert woken == [1]
