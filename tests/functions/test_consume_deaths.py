"""Consumers that die, and messages that SQS delivers twice: each job ends once, by one worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pytest
from tidemill import queue
from tidemill.app import App
from tidemill.consume import ConsumeFunction, Sent
from tidemill.db import Database
from tidemill.drain import DrainFunction, Teller
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.settings import Settings
from tidemill.settlement import refused_from_a_queue, settlement_of_sent
from tidemill.telemetry import Log
from tidemill.wire import Connection
from tidemill.worker import Worker

from tests.functions.consuming import column, event, function, put_out, reported
from tests.queue.conftest import expire_leases, make_due
from tests.queue.dying import Death, DyingDatabase, dying_parts, in_a_process

STATEMENTS = ("consume_limits", "consume_claim", "claim", "settle", "consume_end", "drained")


def act(job: Job, ctx: Any) -> str:
    """An effect in the database, which the ledger lets happen once."""
    with ctx.once(job.id) as entry:
        if entry.first:
            ctx.connection.execute("insert into effects values (%s)", (job.id,))
    return "done"


HANDLER = Handler("work", act, via="sqs")


def dying(url: str, death: Death) -> ConsumeFunction:
    parts = replace(dying_parts(url, death, HANDLER), refuse=refused_from_a_queue, settle=settlement_of_sent)
    database = DyingDatabase(url, death, *STATEMENTS)
    parts = replace(parts, database=database)
    app = App(Settings({"DATABASE_URL": url}))
    drain = DrainFunction(Worker(parts), Teller(app.alerts), database, Log(), name="consume")
    return ConsumeFunction(drain, lambda ids: Sent(database, ids, 60, "child"), database, None, Log())


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.mark.parametrize("when", ["before", "after"])
def test_sigkill_between_any_two_statements_ends_each_job_once(
    connection: Connection, database_url: str, database: Database, when: str
) -> None:
    """The message comes again, or the job is sent anew; whichever is first runs it."""
    connection.execute("create table effects (job bigint)")
    for number in count(1):
        connection.execute("truncate jobs, job_executions, effects, outbox restart identity cascade")
        ids = put_out(connection, 2)

        def live(death: Death, messages: dict[str, Any]) -> None:
            dying(database_url, death).handle(messages, None)

        killed = in_a_process(partial(live, Death(when, number), event(*ids)))
        expire_leases(connection)
        queue.reap(database, {"work": 8})
        consume = function(database_url, HANDLER)
        assert reported(consume.handle(event(*ids, receives=2), None)) == []
        make_due(connection)
        App(Settings({"DATABASE_URL": database_url, "DRAIN_LINGER": "0"}), [HANDLER]).drain.handle(None, None)
        assert reported(consume.handle(event(*ids), None)) == []
        assert column(connection, "status, result, attempts <= 2") == [("done", "done", True)] * 2
        assert sorted(job for (job,) in connection.execute("select job from effects").fetchall()) == ids
        if not killed:
            break
    assert number > 10


def test_a_message_that_is_delivered_twice_at_once_runs_its_job_once(connection: Connection, database_url: str) -> None:
    seen: list[int] = []

    def handle(job: Job, ctx: Any) -> None:
        seen.append(job.id)
        time.sleep(0.05)

    ids = put_out(connection, 10)
    answers: list[list[str]] = []
    functions = [function(database_url, Handler("work", handle)) for _ in range(4)]
    threads = [
        threading.Thread(target=lambda one=one: answers.append(reported(one.handle(event(*ids), None))))  # type: ignore[misc]
        for one in functions
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(seen) == ids
    assert len(answers) == 4
    assert column(connection, "status, attempts") == [("done", 1)] * 10
