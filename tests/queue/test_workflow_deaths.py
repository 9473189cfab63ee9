"""A process that dies between any two statements of a workflow: it goes on, and does nothing twice that it can help."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from tidemill import queue
from tidemill.db import Database, connect
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.wire import Connection
from tidemill.worker import Worker

from tests.queue.conftest import expire_leases, put
from tests.queue.dying import Death, dying_parts, in_a_process
from tests.queue.test_worker import row
from tests.queue.workflows import history, pass_time, send

STEPS = [
    (1, "step", "charge", "receipt"),
    (2, "step", "provision", "small"),
    (3, "sleep", "a week", None),
    (4, "wait_for", "set up", {"by": "Ada"}),
    (5, "step", "thank", None),
]


def charge(ctx: Any) -> str:
    """An effect that no transaction covers: here, one that is committed before its step is recorded."""
    ctx.connection.execute("insert into effects values ('charge')")
    return "receipt"


def provision(connection: Connection) -> str:
    connection.execute("insert into effects values ('provision')")
    return "small"


def flow(job: Job, ctx: Any) -> str:
    receipt = ctx.step("charge", charge, ctx)
    ctx.step("provision", provision)
    ctx.sleep("a week", 7 * 86400)
    ctx.wait_for("set up", 7 * 86400)
    ctx.step("thank", lambda: None)
    return str(receipt)


def live(url: str, death: Death) -> None:
    """The whole life of the workflow: a drain, a week, another drain, and so on."""
    worker = Worker(dying_parts(url, death, Handler("work", flow)))
    with connect(url) as clock:
        for begun_to_wait in (False, True, True):
            worker.drain(120)
            if begun_to_wait:
                send(clock, "set up", '{"by": "Ada"}')
            pass_time(clock)


@pytest.mark.parametrize("when", ["before", "after"])
def test_sigkill_between_any_two_statements_resumes_and_moves_on(
    database_url: str, connection: Connection, database: Database, worker: Callable[..., Worker], when: str
) -> None:
    """B96: what a transaction covers happens once, what none covers at most once more."""
    connection.execute("create table effects (name text)")
    for number in count(1):
        connection.execute("truncate jobs, job_steps, signals, effects restart identity cascade")
        put(connection)
        killed = in_a_process(lambda number=number: live(database_url, Death(when, number)))  # type: ignore[misc]
        for _ in range(4):
            expire_leases(connection)
            queue.reap(database, {"work": 8})
            send(connection, "set up", '{"by": "Ada"}')
            pass_time(connection)
            worker(Handler("work", flow)).drain(120)
        assert row(connection, 1, "status, result, attempts <= 2") == ("done", "receipt", True)
        assert history(connection, 1) == STEPS
        effects = dict(connection.execute("select name, count(*) from effects group by 1").fetchall())
        assert (effects["provision"], 1 <= effects["charge"] <= 2) == (1, True)
        if not killed:
            break
    assert number > 20  # points at which it was killed
