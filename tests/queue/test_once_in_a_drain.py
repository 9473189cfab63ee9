"""What the once ledger does for the handlers of a drain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tidemill.db import connect
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.once import idempotency_key
from tidemill.wire import Connection
from tidemill.worker import Worker

from tests.queue.conftest import Told, expire_leases, make_due, put, status
from tests.queue.ledger import EFFECTS, count, die, running


@pytest.fixture(autouse=True)
def effects(connection: Connection) -> None:
    connection.execute(EFFECTS)


def test_a_drain_runs_an_effect_once_for_two_jobs(connection: Connection, worker: Callable[..., Worker]) -> None:
    put(connection, 2)

    def handle(job: Job, ctx: Any) -> Any:
        with ctx.once("k") as entry:
            if entry.first:
                ctx.connection.execute("insert into effects values ('paid')")
                entry.result = "paid"
        return entry.result

    assert worker(Handler("work", handle)).drain(120) == {"done": 2}
    assert connection.execute("select distinct result from jobs").fetchall() == [("paid",)]
    assert (count(connection), connection.execute("select job_type from job_executions").fetchall()) == (1, [("work",)])


def test_once_can_be_given_a_connection(database_url: str, connection: Connection, worker: Callable[..., Worker]) -> None:
    put(connection)

    def handle(job: Job, ctx: Any) -> None:
        with connect(database_url) as own, ctx.once("k", connection=own) as entry:
            own.execute("insert into effects values ('paid')")
            assert entry.first
            assert ctx.connection.execute("select count(*) from effects").fetchone() == (0,)

    assert worker(Handler("work", handle)).drain(120) == {"done": 1}


def test_a_reused_key_fails_the_job_at_once(connection: Connection, worker: Callable[..., Worker], told: Told) -> None:
    put(connection, payload='{"amount": 1}')
    put(connection, payload='{"amount": 2}')

    def handle(job: Job, ctx: Any) -> None:
        with ctx.once("invoice:1", request=job.payload):
            pass

    assert worker(Handler("work", handle), threads=1).drain(120) == {"done": 1, "failed": 1}
    assert [error_class for _, error_class, _ in told] == ["KeyReused"]


def test_a_job_that_finds_an_effect_in_progress_waits_and_uses_no_attempt(
    connection: Connection, worker: Callable[..., Worker]
) -> None:
    die(connection, running(connection, kind="work"))
    [waiting] = put(connection)

    def handle(job: Job, ctx: Any) -> Any:
        return ctx.call_once("k", lambda key: key)

    drain = worker(Handler("work", handle))
    assert drain.drain(120) == {"snoozed": 1}
    assert connection.execute("select status, attempts from jobs where id = %s", (waiting,)).fetchone() == ("pending", 0)
    expire_leases(connection)
    make_due(connection)
    assert drain.drain(120) == {"done": 1}
    assert status(connection, waiting) == "done"
    assert connection.execute("select result from jobs where id = %s", (waiting,)).fetchone() == (
        idempotency_key("work", "k"),
    )
