"""Processes that die, and a database that goes away: nothing is lost, nothing is doubled, and the guilty job ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from tidemill import queue
from tidemill.db import Database, connect
from tidemill.handlers import Handler
from tidemill.queue import Entries
from tidemill.wire import Connection
from tidemill.worker import Worker

from local.postgres import Postgres
from tests.conftest import ROOT
from tests.queue.conftest import claim, expire_leases, make_due, put
from tests.queue.hooked import Hooked

BUDGET = {"work": 8, "kill": 8, "hold": 8, "limited": 8}


def run_child(url: str, step: str = "") -> tuple[int, list[str]]:
    """Drain in a process; returns its exit status and the starts that it reported."""
    command = [sys.executable, "-m", "tests.queue.child", url, step]
    ended = subprocess.run(
        command, cwd=ROOT, env=child_environment(), capture_output=True, text=True, timeout=60, check=False
    )
    return ended.returncode, [line for line in ended.stderr.splitlines() if line.startswith("start ")]


def child_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'layers/tidemill/python'}{os.pathsep}{ROOT}"}


def let_time_pass(connection: Connection, database: Database) -> None:
    expire_leases(connection)
    queue.reap(database, BUDGET)
    make_due(connection)


@pytest.mark.parametrize("step", [f"{when}:{number}" for number in range(1, 8) for when in ("before", "after")])
def test_sigkill_between_any_two_steps_loses_nothing_and_doubles_no_row(
    database_url: str, connection: Connection, database: Database, step: str
) -> None:
    ids = put(connection, 6)
    killed, _ = run_child(database_url, step)
    assert killed in (-9, 0)  # a drain has fewer statements than the greatest step
    let_time_pass(connection, database)
    assert run_child(database_url)[0] == 0
    rows = connection.execute("select id, status, result, attempts <= 2 from jobs order by id").fetchall()
    assert rows == [(job_id, "done", "done", True) for job_id in ids]


def test_the_steps_reach_every_statement_of_a_drain(database_url: str, connection: Connection) -> None:
    put(connection, 6)
    assert run_child(database_url, "before:4")[0] == -9


def test_a_job_that_kills_its_process_dies_after_exactly_its_attempts_and_its_neighbours_are_done(
    database_url: str, connection: Connection, database: Database
) -> None:
    """B36, B46"""
    (killer,) = put(connection, kind="kill", max_attempts=3)
    put(connection, 10, max_attempts=3)
    starts: list[str] = []
    for _ in range(12):
        starts += run_child(database_url)[1]
        let_time_pass(connection, database)
    assert starts.count(f"start kill {killer}") == 3
    dead = connection.execute("select status, last_error from jobs where id = %s", (killer,)).fetchone()
    assert dead == ("failed", "lease expired 3 times")
    assert connection.execute("select count(*) from jobs where kind = 'work' and status = 'done'").fetchone() == (10,)


def test_a_job_under_a_limit_that_nobody_declared_has_a_lease(connection: Connection, database: Database) -> None:
    """It has no places to take its lease from; without one it would be running for ever, should its worker die."""
    (job_id,) = put(connection, limit_name="gone")
    entries = Entries(["gone"], [""], [1], [0], [1], [1], [0], [0], [0])
    assert [job.id for job in claim(database, entries, 1).jobs] == [job_id]
    leased = connection.execute("select locked_until > now() + interval '50 seconds' from jobs").fetchone()
    assert leased == (True,)


def test_a_suspect_takes_no_neighbour_with_it(database_url: str, connection: Connection, database: Database) -> None:
    """Once its lease has run out, a job runs with nothing else in hand: those that wait beside it keep their attempts."""
    (killer,) = put(connection, kind="kill", expiries=1, attempts=1)
    put(connection, 10)
    assert run_child(database_url)[0] == 137
    rows = connection.execute("select distinct status, attempts from jobs where kind = 'work' order by 1").fetchall()
    assert rows == [("done", 1), ("pending", 0)]  # claimed with it and done before it, or not claimed beside it
    assert connection.execute("select attempts, status from jobs where id = %s", (killer,)).fetchone() == (2, "running")


def test_suspects_that_wait_behind_a_killer_keep_their_attempts(
    database_url: str, connection: Connection, database: Database
) -> None:
    (killer,) = put(connection, kind="kill", expiries=1, attempts=1)
    ids = put(connection, 5, expiries=1, attempts=1)
    assert run_child(database_url)[0] == 137
    rows = connection.execute("select id, attempts from jobs where status <> 'done' order by id").fetchall()
    assert rows == [(killer, 2), *((job_id, 1) for job_id in ids)]


def test_a_suspect_starts_only_when_what_came_with_it_is_settled(
    connection: Connection, worker: Callable[..., Worker]
) -> None:
    put(connection, kind="suspect", expiries=1)
    put(connection, 3)
    seen: list[object] = []

    def suspect(job: object, ctx: object) -> None:
        seen.extend(connection.execute("select distinct status from jobs where kind = 'work'").fetchall())

    handlers = Handler("suspect", suspect), Handler("work", lambda job, ctx: time.sleep(0.3))
    assert worker(*handlers).drain(120) == {"done": 4}
    assert seen == [("done",)]


def test_several_suspects_run_one_after_the_other(connection: Connection, worker: Callable[..., Worker]) -> None:
    put(connection, 6, expiries=1)
    running = 0
    most = 0
    lock = threading.Lock()

    def handle(job: object, ctx: object) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1

    assert worker(Handler("work", handle)).drain(120) == {"done": 6}
    assert most == 1


def test_the_database_restarted_in_the_middle_of_a_drain_loses_nothing(
    postgres: Postgres, database_url: str, worker: Callable[..., Worker]
) -> None:
    """B77"""
    with connect(database_url) as connection:
        put(connection, 300)
    counts: dict[str, int] = {}
    halfway = threading.Event()
    seen: list[int] = []

    def handle(job: object, ctx: object) -> None:
        seen.append(1)
        if len(seen) == 100:
            halfway.set()
        time.sleep(0.01)

    def drain() -> None:
        counts.update(worker(Handler("work", handle)).drain(120))

    thread = threading.Thread(target=drain)
    thread.start()
    assert halfway.wait(30)
    postgres.restart()
    thread.join(60)
    assert not thread.is_alive()
    with connect(database_url) as connection:
        left = connection.execute("select status, count(*) from jobs group by 1").fetchall()
    assert left == [("done", 300)]


def test_a_claim_whose_answer_was_lost_is_given_back(
    connection: Connection, database_url: str, worker: Callable[..., Worker]
) -> None:
    """The server committed the claim, and the connection broke before the answer: nobody would run these jobs until their
    leases end, and each would have lost an attempt."""
    put(connection, 5)

    class Losing(Hooked):
        lost = False

        @contextmanager
        def around(self, name: str) -> Iterator[None]:
            yield
            if name == "claim" and not self.lost:
                self.lost = True
                self.close()
                raise psycopg.OperationalError("connection lost")

    drain = worker(Handler("work", lambda job, ctx: None))
    drain._parts.__dict__["database"] = Losing(database_url)
    assert drain.drain(120) == {"done": 5}
    assert connection.execute("select distinct attempts from jobs").fetchall() == [(1,)]
