"""Two workers that resume one run: one history, and what is completed never goes back."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tidemill import queue
from tidemill.attempt import attempt
from tidemill.context import Connections, Context, Tools
from tidemill.db import Database, connect
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.outcome import Suspended
from tidemill.settings import Settings
from tidemill.settlement import settlement_of
from tidemill.telemetry import Log
from tidemill.wire import Connection, Row, run, statement

from tests.queue.conftest import expire_leases, make_due, put, take
from tests.queue.test_worker import row
from tests.queue.workflows import history


def take_over(connection: Connection, database: Database) -> Job:
    """Claim the job whose lease has run out; while its worker writes to the history, it cannot be taken."""
    while True:
        expire_leases(connection)
        queue.reap(database, {"work": 8})
        make_due(connection)
        if jobs := take(database).jobs:
            return jobs[0]


def test_of_two_workers_with_one_run_only_the_claims_holder_writes_the_history(
    database_url: str, connection: Connection, database: Database
) -> None:
    """B97: a hundred times, the second takes the job over while the first is somewhere in the middle of it."""
    connection.execute("create table effects (job bigint, step int, claim bigint)")
    connections = Connections(database_url, connect)
    tools = Tools(Settings({}), Log(lambda line: ""), {}, connections)
    dice = random.Random(97)

    def steps(job: Job, ctx: Any) -> list[int]:
        def effect(number: int) -> int:
            ctx.connection.execute("insert into effects values (%s, %s, %s)", (job.id, number, job.claim_id))
            return job.claim_id

        def covered(number: int, connection: Connection) -> int:
            return effect(number)

        return [ctx.step(f"step {number}", covered if number % 2 else effect, number) for number in range(6)]

    def work(job: Job) -> None:
        ctx = Context(job, tools, time.monotonic() + 60)
        outcomes[job.claim_id] = attempt(job, handler, ctx, tools.log, str)
        ctx.close()

    handler = Handler("work", steps)
    took_over = set()
    for _ in range(100):
        outcomes: dict[int, Any] = {}
        (job_id,) = put(connection)
        (first,) = take(database).jobs
        thread = threading.Thread(target=work, args=(first,))
        thread.start()
        time.sleep(dice.random() * 0.006)
        second = take_over(connection, database)
        work(second)
        thread.join()
        done = settlement_of(second, handler, outcomes[second.claim_id])
        late = settlement_of(first, handler, outcomes[first.claim_id])
        assert queue.settle(database, [done]) == {job_id}
        assert queue.settle(database, [late]) == set()
        written = [result for *_, result in history(connection, job_id)]
        assert len(written) == 6
        assert written == sorted(written, key=lambda claim: claim == second.claim_id)  # never the first again
        assert row(connection, job_id, "status, result") == ("done", written)
        effects = connection.execute("select step, count(*) from effects where job = %s group by 1", (job_id,)).fetchall()
        assert all(number == 1 if step % 2 else number <= 2 for step, number in effects)
        took_over.add(written.count(first.claim_id))
    assert len(took_over) > 2  # at different points
    connections.close()


@pytest.mark.parametrize("name", ["step_record", "step_sleep", "step_wait"])
def test_who_loses_the_claim_at_this_instant_writes_nothing(database_url: str, connection: Connection, name: str) -> None:
    """B97: the claim that takes over is not committed yet when the statement begins, and no snapshot has it."""
    put(connection)
    connection.execute("update jobs set status = 'running', claim_id = 7")
    values = {"job": 1, "claim": 7, "position": 1, "name": "a", "seconds": 5.0}
    values |= {"result": "1", "error_class": None, "error": None}
    wrote: list[list[Row]] = []
    with connect(database_url) as stale:
        thread = threading.Thread(target=lambda: wrote.append(run(stale, statement(name), values)))
        with connection.transaction():
            connection.execute("update jobs set claim_id = 8")
            thread.start()
            thread.join(0.2)
        thread.join()
    assert (wrote, history(connection, 1)) == ([[]], [])


def test_a_stale_worker_can_neither_record_nor_sleep_nor_wait(
    database_url: str, connection: Connection, database: Database
) -> None:
    """And what its code would do next, compensation included, is not done."""
    tools = Tools(Settings({}), Log(lambda line: ""), {}, Connections(database_url, connect))
    reached: list[str] = []
    put(connection, kind="work")
    (job,) = take(database).jobs
    connection.execute("update jobs set claim_id = claim_id + 1")
    before = row(connection, 1, "run_at, status, claim_id")
    calls: list[Callable[[Any], Any]] = [
        lambda ctx: ctx.step("a", lambda: 1),
        lambda ctx: ctx.sleep("a", 5),
        lambda ctx: ctx.wait_for("a", 5),
    ]
    for call in calls:

        def steps(job: Job, ctx: Any, call: Callable[[Any], Any] = call) -> None:
            try:
                call(ctx)
                reached.append("the code behind it")
            except Exception:
                reached.append("compensation")

        ctx = Context(job, tools, time.monotonic() + 60)
        assert attempt(job, Handler("work", steps), ctx, tools.log, str) == Suspended()
        ctx.close()
    assert (reached, history(connection, 1), row(connection, 1, "run_at, status, claim_id")) == ([], [], before)
    tools.connections.close()
