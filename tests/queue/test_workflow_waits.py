"""Sleeps and signals: the worker is given back, no attempt is used, and the job goes on when it is time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tidemill import queue
from tidemill.db import Database
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.wire import Connection
from tidemill.worker import Worker

from tests.queue.conftest import Told, expire_leases, make_due, put
from tests.queue.test_worker import row
from tests.queue.workflows import history, pass_time

MakeWorker = Callable[..., Worker]

IN_A_WEEK = "run_at between now() + interval '6 days 23 hours' and now() + interval '7 days'"


def week(job: Job, ctx: Any) -> str:
    ctx.sleep("a week", timedelta(days=7))
    return "awake"


def test_a_sleep_gives_the_worker_back_and_uses_no_attempt(connection: Connection, worker: MakeWorker) -> None:
    (job_id,) = put(connection, max_attempts=1)
    drain = worker(Handler("work", week))
    assert drain.drain(120) == {"suspended": 1}
    assert row(connection, job_id, f"status, attempts, last_error, {IN_A_WEEK}") == ("pending", 0, None, True)
    assert connection.execute("select count(*) from job_errors").fetchone() == (0,)
    assert drain.drain(120) == {}
    pass_time(connection)
    assert drain.drain(120) == {"done": 1}
    assert row(connection, job_id, "result, attempts") == ("awake", 1)


def test_a_workflow_of_many_sleeps_needs_one_attempt(connection: Connection, worker: MakeWorker, told: Told) -> None:
    (job_id,) = put(connection, max_attempts=1)
    drain = worker(Handler("work", lambda job, ctx: [ctx.sleep("an hour", 3600) for _ in range(12)] and None))
    for _ in range(12):
        assert drain.drain(120) == {"suspended": 1}
        pass_time(connection)
    assert (drain.drain(120), told, row(connection, job_id, "attempts")) == ({"done": 1}, [], (1,))


def test_whoever_wakes_early_sleeps_on_until_the_time_that_was_decided_once(
    connection: Connection, worker: MakeWorker
) -> None:
    (job_id,) = put(connection)
    worker(Handler("work", week)).drain(120)
    before = row(connection, job_id, "run_at")
    make_due(connection)
    assert worker(Handler("work", lambda job, ctx: ctx.sleep("a week", timedelta(days=1)))).drain(120) == {"suspended": 1}
    assert row(connection, job_id, "run_at") == before
    assert connection.execute("select wake_at from job_steps").fetchone() == before


def test_a_sleep_of_no_time_is_none(connection: Connection, worker: MakeWorker) -> None:
    put(connection)
    assert worker(Handler("work", lambda job, ctx: [ctx.sleep("a", 0), ctx.wait_for("b", 0)])).drain(120) == {"done": 1}
    assert row(connection, 1, "result") == ([None, None],)


def test_a_sleep_of_a_moment_ends_in_the_same_drain(connection: Connection, worker: MakeWorker) -> None:
    put(connection)
    drain = worker(Handler("work", lambda job, ctx: ctx.sleep("a moment", timedelta(milliseconds=50))), linger=1)
    assert drain.drain(120) == {"suspended": 1, "done": 1}


def test_suspending_passes_an_except_clause_and_runs_finally_each_time(
    connection: Connection, worker: MakeWorker
) -> None:
    put(connection)
    ran: list[str] = []

    def flow(job: Job, ctx: Any) -> None:
        try:
            ctx.sleep("a week", timedelta(days=7))
        except Exception:
            ran.append("except")
        finally:
            ran.append("finally")
            ctx.step("clean up", ran.append, "step")

    drain = worker(Handler("work", flow))
    drain.drain(120), make_due(connection), drain.drain(120), pass_time(connection)
    assert ran == ["finally"] * 2
    assert drain.drain(120) == {"done": 1}
    assert ran == ["finally"] * 3 + ["step"]


@pytest.mark.parametrize("then", ["return", "raise", "step"])
def test_code_that_takes_the_suspension_for_its_own_changes_nothing(
    connection: Connection, worker: MakeWorker, then: str
) -> None:
    (job_id,) = put(connection)

    def flow(job: Job, ctx: Any) -> str:
        try:
            ctx.sleep("a week", timedelta(days=7))
        except:  # noqa: E722
            if then == "raise":
                raise ValueError("no") from None
            if then == "step":
                ctx.step("a", lambda: None)
        return "too early"

    assert worker(Handler("work", flow)).drain(120) == {"suspended": 1}
    assert row(connection, job_id, f"status, attempts, result, {IN_A_WEEK}") == ("pending", 0, None, True)
    assert history(connection, job_id) == [(1, "sleep", "a week", None)]


def test_a_failure_after_a_sleep_waits_for_its_backoff_only(connection: Connection, worker: MakeWorker) -> None:
    (job_id,) = put(connection)

    def flow(job: Job, ctx: Any) -> None:
        week(job, ctx)
        raise ValueError("no")

    drain = worker(Handler("work", flow))
    drain.drain(120), pass_time(connection)
    assert drain.drain(120) == {"retried": 1}
    assert row(connection, job_id, "attempts, run_at < now() + interval '11 seconds'") == (1, True)


def test_a_worker_that_dies_while_it_suspends_wakes_when_it_was_to(
    connection: Connection, worker: MakeWorker, database: Database
) -> None:
    """Its lease runs out, the job comes back with a backoff, and then sleeps on."""
    (job_id,) = put(connection)
    worker(Handler("work", week)).drain(120)
    before = row(connection, job_id, "run_at")
    connection.execute("update jobs set status = 'running', claim_id = 7, attempts = 1")
    expire_leases(connection)
    queue.reap(database, {"work": 8})
    make_due(connection)
    assert worker(Handler("work", week)).drain(120) == {"suspended": 1}
    assert row(connection, job_id, "run_at, attempts") == (*before, 1)
