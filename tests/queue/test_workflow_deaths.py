"""A process that dies between any two statements of a workflow: it goes on, and does nothing twice that it can help."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import psycopg
import pytest
from tidemill import queue
from tidemill.context import Connections, Tools
from tidemill.db import Connection, Database, Row, connect
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.settings import Settings
from tidemill.telemetry import Log
from tidemill.worker import Parts, Worker

from tests.queue.conftest import expire_leases, put
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


class Death:
    """Kills this process with SIGKILL before or after its n-th statement, on whichever connection."""

    def __init__(self, when: str, number: int) -> None:
        self._when = when
        self._left = number

    def begins(self) -> None:
        self._left -= 1
        self._strike("before")

    def ended(self) -> None:
        self._strike("after")

    def _strike(self, when: str) -> None:
        if self._left == 0 and when == self._when:
            os.kill(os.getpid(), signal.SIGKILL)


def dying_parts(url: str, death: Death) -> Parts:
    class DyingCursor(psycopg.Cursor[Row]):
        def execute(self, *given: Any, **named: Any) -> DyingCursor:
            death.begins()
            super().execute(*given, **named)
            death.ended()
            return self

    class DyingDatabase(Database):
        def execute(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
            if name not in ("settle", "claim"):
                return super().execute(name, parameters)
            death.begins()
            rows = super().execute(name, parameters)
            death.ended()
            return rows

    def dying_connect(url: str) -> Connection:
        connection = connect(url)
        connection.cursor_factory = DyingCursor
        return connection

    settings = Settings({"DATABASE_URL": url})
    tools = Tools(settings, Log(), {}, Connections(url, dying_connect))
    return Parts(DyingDatabase(url), {"work": Handler("work", flow)}, tools, "child", 1, 60, 0, lambda *one: None)


def live(url: str, death: Death) -> None:
    """The whole life of the workflow: a drain, a week, another drain, and so on."""
    worker = Worker(dying_parts(url, death))
    with connect(url) as clock:
        for begun_to_wait in (False, True, True):
            worker.drain(120)
            if begun_to_wait:
                send(clock, "set up", '{"by": "Ada"}')
            pass_time(clock)


def in_a_process(work: Callable[[], None]) -> int:
    """Run it in a process of its own; returns the signal that ended it, 0 for none."""
    if (child := os.fork()) == 0:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


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
